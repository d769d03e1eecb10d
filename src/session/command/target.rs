//! The names that people give to targets and scripts: `test:unit`, `lint-fix`, `assembleDebug`.

use super::line::stronger;
use super::wrap::name_of;
use crate::session::CommandKind::{self, Build, Lint, Other, Test};

/// Parts of a target's name and what they say; what stands first here wins over what follows.
#[rustfmt::skip]
const PARTS: &[(CommandKind, &[&str])] = &[
    // What prepares, cleans or watches is none of these, whatever else its name says.
    (Other, &["clean", "setup", "deps", "watch", "dev", "serve", "start", "generate", "gen", "update", "server", "open"]),
    (Test, &["test", "tests", "testing", "spec", "specs", "e2e", "unit", "integration", "coverage", "jest", "vitest",
        "pytest", "mocha", "cypress", "playwright", "smoke", "verify"]),
    (Lint, &["lint", "lints", "linter", "eslint", "clippy", "stylelint", "prettier", "ruff", "flake8", "pylint",
        "rubocop", "phpstan", "phpcs", "style", "vet", "checkstyle", "ktlint", "detekt", "spotlessCheck"]),
    (Build, &["build", "compile", "typecheck", "types", "tsc", "mypy", "pyright", "all", "package", "assemble", "bundle",
        "dist", "bootjar", "jar", "archive", "typescript"]),
];

/// What a target or script of this name is for; a bare `check` is what `check` says.
pub(super) fn target_kind(name: &str, check: CommandKind) -> CommandKind {
    // `app:test` of a workspace, `:module:test`, `compiler:compile`: the last one is the deed.
    let parts = parts(name);
    let has = |wanted: &str| parts.iter().any(|part| part == wanted);
    if has("check") {
        // `type-check`, `format:check`, `check-types`.
        return match () {
            () if has("type") || has("types") || has("ts") => Build,
            () if has("format") || has("fmt") || has("formatting") => Lint,
            () => stronger(check, named(&parts)),
        };
    }
    if (has("format") || has("fmt")) && !has("test") {
        return Other;
    }
    named(&parts)
}

fn named(parts: &[String]) -> CommandKind {
    let says = |names: &[&str]| parts.iter().any(|part| names.contains(&part.as_str()));
    PARTS.iter().find(|(_, names)| says(names)).map_or(Other, |(kind, _)| *kind)
}

/// Cuts a name at what is no letter and where a capital begins a word, into lower case.
fn parts(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars().take(200) {
        let begins = c.is_uppercase() && was_lower;
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        if !c.is_alphanumeric() || begins {
            out.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(last) = out.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    out.retain(|part| !part.is_empty());
    out
}

/// Endings of scripts.
const SCRIPTS: &[&str] =
    &["sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "ps1"];

/// A script by its name: `./test.sh`, `scripts/run-tests.sh`, `test_parser.py`, `./build.sh`. Only
/// names that say nothing else.
pub(super) fn script_kind(path: &str) -> CommandKind {
    let name = name_of(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_path = path.contains('/') || SCRIPTS.contains(&ending);
    if !is_path || !(ending.is_empty() || SCRIPTS.contains(&ending)) {
        return Other;
    }
    let parts = parts(stem);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["test" | "tests" | "runtests" | "runtest" | "check"] | ["run", "test" | "tests", ..] => {
            Test
        }
        ["test" | "tests", ..] | [.., "test" | "tests" | "spec"] if !ending.is_empty() => Test,
        ["build" | "compile"] => Build,
        ["lint" | "linter"] | ["run", "lint"] => Lint,
        _ => Other,
    }
}
