//! Which program with which arguments is for what. Data first; one rule for each shape of data.

use super::line::stronger;
use super::target::{script_kind, target_kind};
use super::wrap::{name_of, options_skipped};
use crate::session::CommandKind::{self, Build, Lint, Other, Test};

/// Programs that are for one thing, whatever their arguments.
#[rustfmt::skip]
const ALWAYS: &[(CommandKind, &[&str])] = &[
    (Test, &[
        "pytest", "py.test", "tox", "nox", "nosetests", "trial", "behave", "jest", "vitest", "mocha",
        "ava", "tap", "karma", "wtr", "jasmine", "ctest", "rspec", "minitest", "cucumber", "phpunit",
        "pest", "paratest", "codecept", "bats", "prove", "busted", "gotestsum", "ginkgo", "shellspec",
        "cargo-nextest", "nextest", "elm-test", "tasty-discover", "runtests", "testem", "robot",
    ]),
    (Build, &[
        "tsc", "vue-tsc", "tsgo", "mypy", "pyright", "basedpyright", "pyre", "gcc", "g++", "cc", "c++",
        "clang", "clang++", "rustc", "javac", "kotlinc", "scalac", "ghc", "nvcc", "msbuild", "webpack",
        "rollup", "esbuild", "tsup", "parcel", "swc", "samu", "scons", "wasm-pack", "trunk", "svelte-check",
    ]),
    (Lint, &[
        "eslint", "oxlint", "stylelint", "standard", "xo", "jshint", "tslint", "flake8", "pylint",
        "pycodestyle", "pydocstyle", "bandit", "vulture", "codespell", "typos", "golangci-lint",
        "staticcheck", "revive", "golint", "shellcheck", "hadolint", "yamllint", "markdownlint",
        "markdownlint-cli2", "actionlint", "ansible-lint", "tflint", "cppcheck", "clang-tidy", "cpplint",
        "rubocop", "standardrb", "reek", "erb_lint", "phpstan", "psalm", "phpcs", "phan", "hlint",
        "ktlint", "detekt", "checkstyle", "swiftlint", "luacheck", "selene", "credo", "commitlint",
        "htmlhint", "proselint", "vale", "dprint", "spectral", "gitleaks", "semgrep", "knip",
    ]),
];

/// A program whose first word tells what it is for.
struct Tool {
    names: &'static [&'static str],
    /// Its options that take the next word as their value.
    valued: &'static [&'static str],
    verbs: &'static [(&'static str, CommandKind)],
    /// What it is for without a word.
    bare: CommandKind,
}

const JS_VALUED: &[&str] =
    &["--prefix", "-C", "--cwd", "--dir", "-w", "--workspace", "--filter", "-F", "-c", "--config"];

#[rustfmt::skip] // one verb list a tool
const TOOLS: &[Tool] = &[
    Tool { names: &["cargo"], valued: &["--manifest-path", "-C", "--config", "-Z", "--color", "--target-dir"],
        verbs: &[("test", Test), ("t", Test), ("nextest", Test), ("llvm-cov", Test), ("tarpaulin", Test),
            ("insta", Test), ("build", Build), ("b", Build), ("check", Build), ("c", Build), ("doc", Build),
            ("rustc", Build), ("zigbuild", Build), ("clippy", Lint), ("deny", Lint), ("machete", Lint), ("udeps", Lint)],
        bare: Other },
    Tool { names: &["go"], valued: &["-C"],
        verbs: &[("test", Test), ("build", Build), ("install", Build), ("vet", Lint)], bare: Other },
    Tool { names: &["npm", "pnpm", "yarn", "bun"], valued: JS_VALUED,
        verbs: &[("test", Test), ("t", Test), ("tst", Test)], bare: Other },
    Tool { names: &["deno"], valued: &[],
        verbs: &[("test", Test), ("check", Build), ("compile", Build), ("lint", Lint)], bare: Other },
    Tool { names: &["swift"], valued: &["--package-path"],
        verbs: &[("test", Test), ("build", Build)], bare: Other },
    Tool { names: &["dotnet"], valued: &[],
        verbs: &[("test", Test), ("vstest", Test), ("build", Build), ("publish", Build), ("msbuild", Build)], bare: Other },
    Tool { names: &["mix"], valued: &[],
        verbs: &[("test", Test), ("compile", Build), ("credo", Lint), ("dialyzer", Lint)], bare: Other },
    Tool { names: &["zig"], valued: &[],
        verbs: &[("test", Test), ("build-exe", Build), ("build-lib", Build), ("build-obj", Build), ("ast-check", Lint)], bare: Other },
    Tool { names: &["meson"], valued: &["-C"],
        verbs: &[("test", Test), ("compile", Build)], bare: Other },
    Tool { names: &["bazel", "bazelisk", "buck", "buck2", "pants", "please", "plz"], valued: &[],
        verbs: &[("test", Test), ("coverage", Test), ("build", Build), ("lint", Lint), ("check", Build)], bare: Other },
    Tool { names: &["stack", "cabal", "dune", "forge", "flutter", "dart", "rebar3", "gleam", "moon", "elm", "hatch",
            "uv", "poetry", "pdm", "maturin", "hardhat", "anchor", "lein", "crystal", "nimble", "vite", "next", "nuxt",
            "astro", "ng", "nx", "turbo", "lerna", "react-scripts", "vue-cli-service", "playwright", "cypress",
            "julia", "ant", "clj", "clojure", "xmake"], valued: JS_VALUED,
        verbs: &[("test", Test), ("tests", Test), ("runtest", Test), ("eunit", Test), ("ct", Test), ("e2e", Test),
            ("t", Test), ("tester", Test), ("build", Build), ("compile", Build), ("make", Build), ("develop", Build),
            ("check", Build), ("uberjar", Build), ("lint", Lint), ("analyze", Lint)], bare: Other },
    Tool { names: &["cypress"], valued: &[], verbs: &[("run", Test)], bare: Other },
    Tool { names: &["docker", "podman"], valued: &[], verbs: &[("build", Build), ("buildx", Build)], bare: Other },
    Tool { names: &["ruff"], valued: &["--config"], verbs: &[("check", Lint)], bare: Other },
    Tool { names: &["biome"], valued: &[],
        verbs: &[("check", Lint), ("lint", Lint), ("ci", Lint)], bare: Other },
    Tool { names: &["buf", "helm", "sqlfluff", "swift-format", "redocly", "prisma"], valued: &[],
        verbs: &[("lint", Lint), ("validate", Lint)], bare: Other },
    Tool { names: &["terraform", "tofu"], valued: &[], verbs: &[("validate", Lint), ("test", Test)], bare: Other },
    Tool { names: &["pre-commit", "prek", "lefthook"], valued: &[], verbs: &[("run", Lint)], bare: Other },
    Tool { names: &["ninja"], valued: &["-C", "-f", "-j", "-k", "-l", "-d", "-t"],
        verbs: &[("test", Test), ("check", Test), ("tests", Test), ("clean", Other), ("install", Other)], bare: Build },
];

/// Programs that run targets by name, any number of them; `check` is for tests there.
struct Runner {
    names: &'static [&'static str],
    valued: &'static [&'static str],
    /// What they do without a target.
    bare: CommandKind,
}

const RUNNERS: &[Runner] = &[
    Runner {
        names: &["make", "gmake", "mingw32-make", "remake"],
        valued: &["-C", "-f", "-j", "-I", "-o", "-W", "--directory", "--file"],
        bare: Build,
    },
    Runner {
        names: &["just", "task", "go-task", "mage", "invoke", "inv", "poe", "doit", "earthly"],
        valued: &["-f", "-d", "--justfile", "--working-directory", "-t", "--taskfile", "--dir"],
        bare: Other,
    },
    Runner { names: &["rake", "sbt", "mill", "bb"], valued: &["-f"], bare: Other },
    Runner { names: &["gradle", "gradlew"], valued: &["-p", "-b", "-c", "-x"], bare: Other },
    Runner { names: &["mvn", "mvnw", "mvnd"], valued: &["-pl", "-f", "-s", "-P"], bare: Other },
    Runner { names: &["xcodebuild"], valued: XCODE_VALUED, bare: Build },
];

const XCODE_VALUED: &[&str] = &[
    "-scheme",
    "-project",
    "-workspace",
    "-destination",
    "-sdk",
    "-configuration",
    "-target",
    "-derivedDataPath",
    "-arch",
    "-testPlan",
    "-resultBundlePath",
];

/// Formatters are for a check only where they are told to change nothing.
#[rustfmt::skip] // one a line
const FORMATTERS: &[(&[&str], &[&str])] = &[
    (&["cargo", "fmt"], &["--check"]),
    (&["rustfmt"], &["--check"]),
    (&["prettier"], &["--check", "-c", "-l", "--list-different"]),
    (&["black"], &["--check"]),
    (&["isort"], &["--check", "--check-only", "-c"]),
    (&["autopep8"], &["--diff", "--exit-code"]),
    (&["ruff", "format"], &["--check", "--diff"]),
    (&["gofmt"], &["-l", "-d"]),
    (&["goimports"], &["-l", "-d"]),
    (&["gofumpt"], &["-l", "-d"]),
    (&["clang-format"], &["--dry-run", "-n"]),
    (&["dotnet", "format"], &["--verify-no-changes", "--verify"]),
    (&["mix", "format"], &["--check-formatted"]),
    (&["zig", "fmt"], &["--check"]),
    (&["deno", "fmt"], &["--check"]),
    (&["dart", "format"], &["--set-exit-if-changed"]),
    (&["terraform", "fmt"], &["-check", "--check"]),
    (&["shfmt"], &["-d", "-l", "--diff", "--list"]),
    (&["stylua"], &["--check", "-c"]),
    (&["taplo", "fmt"], &["--check"]),
    (&["taplo", "format"], &["--check"]),
    (&["php-cs-fixer"], &["--dry-run"]),
    (&["pint"], &["--test"]),
    (&["ormolu"], &["check"]),
    (&["hatch", "fmt"], &["--check"]),
    (&["nixfmt"], &["--check"]),
];

/// Words of a command that only asks what there is, and so runs nothing.
const ASKING: &[&str] = &[
    "--help",
    "-h",
    "--version",
    "--collect-only",
    "--co",
    "--listTests",
    "--list-tests",
    "--list",
    "-list",
    "--showConfig",
    "--print-config",
    "--dry-run",
];

/// What a program (without wrappers) is for.
pub(super) fn kind_of_words(words: &[String]) -> CommandKind {
    let Some((first, args)) = words.split_first() else { return Other };
    let name = name_of(first);
    let has = |wanted: &[&str]| args.iter().any(|word| wanted.contains(&word.as_str()));
    if let Some(kind) = format_check(name, args) {
        return kind;
    }
    if has(ASKING) {
        return Other;
    }
    if let Some((kind, _)) = ALWAYS.iter().find(|(_, names)| names.contains(&name)) {
        return *kind;
    }
    match name {
        "cargo" => cargo(args),
        "npm" | "pnpm" | "yarn" | "bun" => javascript(name, args),
        "deno" if verb(args, &[]) == Some("task") => target_of(args),
        "nx" | "turbo" | "lerna" | "ng" | "moon" => {
            stronger(by_verb(name, args), runs_target(args))
        }
        "composer" => target_of_or_verb(args),
        "go" if has(&["-exec"]) => Other,
        "zig" if verb(args, &[]) == Some("build") => {
            if has(&["test"]) {
                Test
            } else {
                Build
            }
        }
        "cmake" => cmake(args),
        "node" if has(&["--test"]) => Test,
        "coverage" if verb(args, &[]) == Some("run") => behind(args, "-m"),
        "php" if has(&["artisan"]) => {
            if has(&["test"]) {
                Test
            } else {
                Other
            }
        }
        _ if is_python(name) => python(args),
        "php" | "ruby" | "node" | "tsx" | "ts-node" | "perl" | "sh" | "bash" | "zsh" | "uv"
        | "Rscript"
            if verb(args, &[]).is_some_and(|word| word.contains(['/', '.'])) =>
        {
            let script = options_skipped(args, &["-r", "-I"]);
            kind_of_script(script)
        }
        _ => match runner(name, args) {
            Some(kind) => kind,
            None if TOOLS.iter().any(|tool| tool.names.contains(&name)) => by_verb(name, args),
            None => script_kind(first),
        },
    }
}

/// The first word that is no option.
fn verb<'w>(args: &'w [String], valued: &[&str]) -> Option<&'w str> {
    options_skipped(args, valued).first().map(String::as_str)
}

fn by_verb(name: &str, args: &[String]) -> CommandKind {
    let kinds = TOOLS.iter().filter(|tool| tool.names.contains(&name)).map(|tool| {
        let Some(word) = verb(args, tool.valued) else { return tool.bare };
        let known = tool.verbs.iter().find(|(verb, _)| *verb == word);
        known.map_or(tool.bare, |(_, kind)| *kind)
    });
    kinds.fold(Other, stronger)
}

fn format_check(name: &str, args: &[String]) -> Option<CommandKind> {
    let (_, flags) = FORMATTERS.iter().find(|(words, _)| {
        let mut wanted = words.iter();
        wanted.next() == Some(&name)
            && wanted.next().is_none_or(|w| verb(toolchain_skipped(args), &[]) == Some(w))
    })?;
    let checks = args.iter().any(|word| flags.contains(&word.as_str()));
    // A formatter that changes files is for something else.
    Some(if checks { Lint } else { Other })
}

/// `cargo +nightly test`.
fn toolchain_skipped(args: &[String]) -> &[String] {
    match args.split_first() {
        Some((first, rest)) if first.starts_with('+') => rest,
        _ => args,
    }
}

fn cargo(args: &[String]) -> CommandKind {
    let args = toolchain_skipped(args);
    match verb(args, &["--manifest-path", "-C", "--config", "-Z", "--color"]) {
        Some("xtask" | "make" | "hack" | "miri" | "watch") => target_of(args),
        Some("test" | "t" | "nextest") if args.iter().any(|word| word == "--no-run") => Build,
        _ => by_verb("cargo", args),
    }
}

/// The kind of the target that follows the first word.
fn target_of(args: &[String]) -> CommandKind {
    let behind = options_skipped(args, JS_VALUED).get(1..).unwrap_or_default();
    verb(behind, JS_VALUED).map_or(Other, |name| target_kind(name, Lint))
}

fn target_of_or_verb(args: &[String]) -> CommandKind {
    match verb(args, &[]) {
        Some("run" | "run-script" | "exec") => target_of(args),
        Some("install" | "require" | "update" | "remove" | "dump-autoload") | None => Other,
        Some(name) => target_kind(name, Lint),
    }
}

/// Managers of JavaScript packages: verbs of their own, else the scripts of the package.
fn javascript(name: &str, args: &[String]) -> CommandKind {
    let rest = options_skipped(args, JS_VALUED);
    match rest.first().map(String::as_str) {
        Some("run" | "run-script" | "rum" | "foreach") => target_of(rest),
        Some("workspace") => javascript(name, rest.get(2..).unwrap_or_default()),
        Some("workspaces" | "-r" | "recursive" | "m" | "multi") => {
            javascript(name, rest.get(1..).unwrap_or_default())
        }
        Some("build") if name == "bun" => Build,
        // `npm build` is none of its commands; the others take a script's name, or a program's.
        Some(word) if name != "npm" => {
            let own = ["add", "install", "i", "remove", "up", "upgrade", "link", "why", "info"];
            let known = by_verb(name, rest);
            match () {
                () if own.contains(&word) => Other,
                () if known != Other => known,
                () => stronger(target_kind(word, Lint), kind_of_words(rest)),
            }
        }
        _ => by_verb(name, rest),
    }
}

/// `nx run app:test`, `nx run-many -t test`, `turbo run test lint`, `nx affected --target=test`.
fn runs_target(args: &[String]) -> CommandKind {
    let verbs = ["run", "run-many", "affected", "exec"];
    if !verb(args, &[]).is_some_and(|word| verbs.contains(&word)) {
        return Other;
    }
    let names = args.iter().skip(1).map(|word| {
        let word =
            word.strip_prefix("--target=").or(word.strip_prefix("--targets=")).unwrap_or(word);
        if word.starts_with('-') { Other } else { target_kind(word, Lint) }
    });
    names.fold(Other, stronger)
}

fn cmake(args: &[String]) -> CommandKind {
    if !args.iter().any(|word| word == "--build") {
        return Other;
    }
    let target = args.iter().skip_while(|word| !matches!(word.as_str(), "--target" | "-t")).nth(1);
    match target.map(|target| target_kind(target, Test)) {
        Some(Test) => Test,
        Some(Lint) => Lint,
        _ => Build,
    }
}

fn is_python(name: &str) -> bool {
    let rest = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    name == "py" || rest.is_some_and(|r| r.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

fn python(args: &[String]) -> CommandKind {
    if args.iter().take_while(|word| word.starts_with('-')).any(|word| word == "-m") {
        return behind(args, "-m");
    }
    let script = options_skipped(args, &["-W", "-X", "-c"]);
    match script.first().map(|word| name_of(word)) {
        Some("manage.py" | "setup.py") => {
            script.get(1).map_or(Other, |verb| target_kind(verb, Lint))
        }
        _ => kind_of_script(script),
    }
}

/// The module behind `-m`, as a program.
fn behind(args: &[String], option: &str) -> CommandKind {
    let Some(at) = args.iter().position(|word| word == option) else { return Other };
    let module = args.get(at + 1..).unwrap_or_default();
    match module.first().map(String::as_str) {
        Some("unittest" | "doctest" | "django") => Test,
        Some("build" | "compileall" | "py_compile") => Build,
        Some("coverage") => behind(module.get(1..).unwrap_or_default(), option),
        _ => kind_of_words(module),
    }
}

/// A script by its file name, or a tool that an interpreter runs (`php vendor/bin/phpunit`).
fn kind_of_script(words: &[String]) -> CommandKind {
    let Some(script) = words.first() else { return Other };
    let name = name_of(script);
    let known = ALWAYS.iter().find(|(_, names)| names.contains(&name));
    known.map_or_else(|| script_kind(script), |(kind, _)| *kind)
}

fn runner(name: &str, args: &[String]) -> Option<CommandKind> {
    let runner = RUNNERS.iter().find(|runner| runner.names.contains(&name))?;
    let mut rest = options_skipped(args, runner.valued);
    let mut kind = None;
    while let Some((target, behind)) = rest.split_first() {
        // `NAME=value` sets a variable.
        if !target.contains('=') {
            let target = target_kind(target, Test);
            kind = Some(stronger(kind.unwrap_or_default(), target));
        }
        rest = options_skipped(behind, runner.valued);
    }
    Some(kind.unwrap_or(runner.bare))
}
