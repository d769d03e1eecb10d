//! Did it work? What a command was for, and how it went, from its line, its status and its output.
//!
//! The line is read as a shell reads it (`words`, `line`), without what only wraps a command
//! (`wrap`); tables say which program is for what (`tools`, `target`). The status is believed
//! where the line does not hide it (`status`); else the output decides (`output`, `summary`).

mod line;
mod output;
mod status;
mod summary;
mod target;
mod tools;
mod words;
mod wrap;

use super::transcript::CommandRecord;
use super::{CommandKind, CommandOutcome, RanCommand};

/// So much of a command line is looked at, in bytes: what is longer is text for a file.
const MAX_LINE: usize = 64 << 10;

/// What a command line was for: the strongest of what its commands are for (tests before a build
/// before a linter). Quoted text and comments are no commands.
pub fn kind_of(command: &str) -> CommandKind {
    line::parse(head(command)).kind
}

/// How a command went. `output` is asked only where the status does not tell: for tests, builds and
/// linters whose status the log lacks or the command line hides.
pub fn outcome_of(
    record: &CommandRecord,
    output: impl FnOnce() -> Option<String>,
) -> CommandOutcome {
    outcome(&line::parse(head(&record.call.command)), record, output)
}

/// The command as the outside sees it; `output` as for [`outcome_of`].
pub fn ran(record: &CommandRecord, output: impl FnOnce() -> Option<String>) -> RanCommand {
    let line = line::parse(head(&record.call.command));
    RanCommand {
        command: record.call.command.clone(),
        exit_code: record.exit_code,
        kind: line.kind,
        outcome: outcome(&line, record, output),
    }
}

/// The latest outcome of tests, builds and linters, in this order; none of a kind that did not run.
pub fn latest(commands: &[RanCommand]) -> impl Iterator<Item = (CommandKind, CommandOutcome)> + '_ {
    [CommandKind::Test, CommandKind::Build, CommandKind::Lint].into_iter().filter_map(|kind| {
        let latest = commands.iter().rev().find(|command| command.kind == kind)?;
        Some((kind, latest.outcome))
    })
}

fn outcome(
    line: &line::Line,
    record: &CommandRecord,
    output: impl FnOnce() -> Option<String>,
) -> CommandOutcome {
    let is_zero = match (record.exit_code, record.outcome) {
        (Some(code), _) => Some(code == 0),
        (None, CommandOutcome::Passed) => Some(true),
        (None, CommandOutcome::Failed) => Some(false),
        (None, CommandOutcome::Unknown) => None,
    };
    let by_status =
        is_zero.map_or(CommandOutcome::Unknown, |zero| status::told_by_status(line, zero));
    // A log's mere word for success is not the command's own status: its output may know better.
    let is_word = record.exit_code.is_none() && by_status == CommandOutcome::Passed;
    if line.kind == CommandKind::Other || by_status != CommandOutcome::Unknown && !is_word {
        return by_status;
    }
    let by_output = output()
        .map_or(CommandOutcome::Unknown, |output| output::told_by_output(line.kind, &output));
    match by_output {
        CommandOutcome::Unknown if is_word => by_status,
        // What failed may have been filtered out.
        CommandOutcome::Passed if line.picks_success => CommandOutcome::Unknown,
        told => told,
    }
}

fn head(command: &str) -> &str {
    let mut end = command.len().min(MAX_LINE);
    while !command.is_char_boundary(end) {
        end -= 1;
    }
    command.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::CommandKind::{Build, Lint, Other, Test};
    use crate::session::CommandOutcome::{Failed, Passed, Unknown};
    use crate::session::event::{Command, Stamp};

    fn record(line: &str, exit_code: Option<i32>, outcome: CommandOutcome) -> CommandRecord {
        CommandRecord {
            call: Command {
                turn: 1,
                call_id: String::new(),
                command: line.into(),
                is_shell: true,
                stamp: Stamp::default(),
            },
            exit_code,
            outcome,
            result: None,
            output: None,
            settled: true,
        }
    }

    #[rustfmt::skip]
    const KINDS: &[(CommandKind, &[&str])] = &[
        (Test, &[
            "cargo test", "cargo +nightly test --all", "cargo nextest run", "cargo t", "cargo --color always test",
            "cargo test -- --nocapture", "cargo xtask test", "cargo llvm-cov nextest", "cargo hack test",
            "npm test", "npm t", "npm run test", "npm run test:unit -- --watch=false", "npm --prefix web test",
            "pnpm test", "pnpm -r test", "pnpm --filter app test", "yarn test", "yarn workspace app test", "bun test",
            "bun run test", "npx vitest run", "npx --yes jest src/a.test.ts", "pnpm exec playwright test", "yarn jest",
            "pnpm dlx vitest", "node --test", "node --import tsx --test test/", "npx nyc mocha", "deno test -A",
            "deno task test", "npx cypress run", "nx test app", "nx run app:test", "npx turbo run test", "turbo run lint test",
            "pytest", "pytest -q tests/test_a.py::test_b", "python -m pytest", "python3.12 -m unittest discover", "tox -e py311",
            "nox -s tests", "uv run pytest", "uv run --with x pytest", "poetry run pytest -x", "coverage run -m pytest",
            "python -m coverage run -m pytest", "python manage.py test", "python -X dev -m pytest", ".venv/bin/pytest",
            "./venv/bin/python -m pytest", "hatch test", "python tests/test_parser.py", "python -B -m pytest", "uvx tox",
            "go test ./...", "go -C sub test ./...", "gotestsum --", "make test", "make -C sub check", "make -j4 build test",
            "gmake check", "just test", "task test", "mvn test", "mvn -q -pl core verify", "./mvnw -B test", "gradle test",
            "./gradlew :app:testDebugUnitTest", "gradlew.bat check", "dotnet test", "swift test --parallel",
            "xcodebuild -scheme App test", "xcodebuild test-without-building -scheme App", "ctest --output-on-failure", "ctest -V",
            "cmake --build build --target test", "ninja -C build test", "meson test -C build", "bundle exec rspec",
            "rake test", "bin/rake spec", "vendor/bin/phpunit", "php vendor/bin/phpunit --filter x", "php artisan test",
            "composer test", "composer run test", "mix test", "zig build test", "zig test src/a.zig", "sbt test", "stack test",
            "cabal test", "dune runtest", "flutter test", "forge test -vvv", "bazel test //...", "bats test/", "prove -l t/",
            "./test.sh", "bash scripts/run-tests.sh", "sh ./test.sh", "./scripts/run_tests.py",
            // Wrapped.
            "bash -lc 'cargo test'", "sh -c \"cd x && npm test\"", "/bin/bash -lc \"pytest -q\"", "bash -euo pipefail -c 'go test'",
            "cd x && cargo test", "cd x; RUST_BACKTRACE=1 cargo test", "FOO=1 BAR='a b' pytest", "env A=b pytest", "timeout 60 cargo test",
            "timeout -k 5 60s npm test", "sudo -u app pytest", "time cargo test", "nice -n 10 make test", "nohup npm test &",
            "cargo test 2>&1 | tail -20", "cargo test |& tee log", "cargo test || true", "! cargo test", "(cd x && cargo test)",
            "{ cargo test; }", "cargo build && cargo test", "cargo clippy; cargo test", "cargo fmt --check && cargo clippy && cargo test",
            "for i in 1 2; do cargo test; done", "if cargo test; then echo ok; fi", "out=$(cargo test 2>&1); echo \"$out\"",
            "echo `npm test`", "cat <<E > f\nx\nE\ncargo test", "set -e\ncargo test", "cargo \\\n  test", "cmd /c npm test",
            "pwsh -Command \"dotnet test\"", "eval 'cargo test'", "echo \"$(pytest)\"", "npx -p jest jest", "xvfb-run -a npm test",
        ]),
        (Build, &[
            "cargo build --release", "cargo check", "cargo doc --no-deps", "cargo test --no-run", "cargo b", "npm run build",
            "npm run typecheck", "npm run type-check", "npm run check:types", "pnpm build", "yarn build", "bun run build",
            "npx tsc --noEmit", "tsc -p .", "npx vite build", "next build", "npx webpack", "mypy src", "uv run pyright", "go build ./...",
            "go install ./cmd/x", "make", "make all", "make -j8", "make CC=clang", "mvn package -DskipTests", "mvn -q compile",
            "./gradlew assembleDebug", "gradle build", "dotnet build -c Release", "swift build", "xcodebuild -scheme App", "cmake --build build",
            "ninja", "ninja -C out", "meson compile -C build", "mix compile", "zig build", "stack build", "sbt compile",
            "gcc -o a a.c", "clang++ a.cc", "rustc a.rs", "javac A.java", "docker build .", "python -m build", "deno check a.ts",
            "just build", "./build.sh", "cargo clippy && cargo build", "bazel build //...", "uv build", "turbo build",
        ]),
        (Lint, &[
            "cargo clippy --all-targets -- -D warnings", "cargo fmt --check", "cargo fmt -- --check", "cargo fmt --all -- --check",
            "cargo +nightly fmt --check", "npm run lint", "npm run lint:fix", "npm run format:check", "pnpm lint", "yarn lint", "npx eslint .",
            "npx prettier --check .", "npx biome check src", "biome ci .", "next lint", "ruff check .", "ruff format --check", "uvx ruff check",
            "flake8", "pylint src", "black --check .", "isort --check-only .", "python -m black --check .", "golangci-lint run", "go vet ./...",
            "gofmt -l .", "staticcheck ./...", "make lint", "just lint", "./gradlew lintDebug", "dotnet format --verify-no-changes",
            "bundle exec rubocop", "vendor/bin/phpstan analyse", "composer lint", "mix credo --strict", "mix format --check-formatted",
            "deno lint", "deno fmt --check", "pre-commit run -a", "shellcheck a.sh", "hadolint Dockerfile", "yamllint .", "flutter analyze",
            "terraform validate", "terraform fmt -check", "clang-tidy a.c", "swiftlint", "helm lint chart", "npx stylelint '**/*.css'",
            "cargo clippy 2>&1 | head -50", "cargo deny check", "npm run check",
        ]),
        (Other, &[
            "", "   ", "# cargo test", "ls", "echo \"cargo test\"", "echo cargo test", "grep cargo test", "grep -rn 'cargo test' .",
            "cat test.rs", "git commit -m 'npm test'", "git commit -m \"fix: run cargo test && go build\"", "rg pytest", "cargo run",
            "cargo run test", "cargo add test", "cargo fmt", "npm install", "npm i jest", "npm run dev", "npm start", "npm run clean",
            "npm run test:watch", "yarn add jest", "pnpm add -D vitest", "pip install pytest", "python -m pip install pytest", "python build_index.py",
            "python -c 'import pytest'", "prettier --write .", "black .", "ruff format .", "gofmt -w .", "go run .", "go mod tidy",
            "make clean", "make install", "which cargo", "command -v pytest", "pytest --version", "cargo test --help", "cargo --version",
            "pytest --collect-only", "npx jest --listTests", "cargo test -- --list", "mkdir test", "cd test", "test -f x", "[ -f test ]",
            "rm -rf build", "./run.sh", "cat <<'EOF' > a.sh\ncargo test\nEOF", "find . -name '*.test.ts'", "sed -n 1,5p tests/a.rs", "vim test.py",
            "docker run x", "xargs cargo test", "ssh host cargo test", "printf 'make test'", "bash -c 'echo cargo test'", "bash", "sudo", "env",
            "timeout", "cmake -S . -B build", "npm", "tree src/test", "node test", "git bisect run cargo test", "touch tests/test_a.py", "cp test.sh x",
            "alias t='cargo test'", "export CMD='cargo test'", "watch", "tail -f test.log", "ruff", "docker ps", "curl x | python3", "exit 1",
        ]),
    ];

    #[test]
    fn what_command_lines_are_for() {
        let mut wrong = Vec::new();
        for (kind, lines) in KINDS {
            for line in *lines {
                let told = kind_of(line);
                if told != *kind {
                    wrong.push(format!("{line}: {told:?}, not {kind:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// With exit status 0, and with another.
    #[rustfmt::skip]
    const STATUSES: &[(&str, CommandOutcome, CommandOutcome)] = &[
        ("cargo test", Passed, Failed),
        ("ls", Passed, Failed),
        ("ls | head", Passed, Failed),
        ("cd x && cargo test", Passed, Failed),
        ("cargo test && echo ok", Passed, Failed),
        ("cargo test && git push", Passed, Failed),
        ("cargo build && cargo test", Passed, Failed),
        ("cargo test && cargo clippy", Passed, Failed),
        ("cargo test | tail", Unknown, Unknown),
        ("cargo test 2>&1 | tee log | tail", Unknown, Unknown),
        ("cat in | cargo test", Passed, Failed),
        ("set -o pipefail; cargo test | tail", Passed, Unknown),
        ("set -o pipefail && cargo test | cat", Passed, Unknown),
        ("bash -o pipefail -c 'cargo test | tail'", Passed, Unknown),
        ("bash -euo pipefail -c 'cargo test | tail; echo done'", Passed, Unknown),
        ("cargo test || true", Unknown, Unknown),
        ("cargo test || echo failed", Unknown, Unknown),
        ("cargo test || exit 1", Passed, Failed),
        ("cargo test || (echo failed; exit 1)", Passed, Failed),
        ("cargo test || { echo failed; exit 1; }", Passed, Failed),
        ("cargo test || false", Passed, Failed),
        ("cargo test || cat log", Unknown, Failed),
        ("cargo test; echo done", Unknown, Unknown),
        ("cargo test; echo $?", Unknown, Unknown),
        ("cargo test; exit 0", Unknown, Unknown),
        ("echo start; cargo test", Passed, Failed),
        ("set -e; cargo test; echo done", Passed, Failed),
        ("set -e\ncargo test\nls", Passed, Unknown),
        ("cargo test\nls", Unknown, Unknown),
        ("cargo test -p a; cargo test -p b", Unknown, Failed),
        ("cargo test -p a && cargo test -p b", Passed, Failed),
        ("! cargo test", Failed, Passed),
        ("cargo test &", Unknown, Unknown),
        ("cargo test && echo ok || echo bad", Unknown, Unknown),
        ("(cd x && cargo test)", Passed, Failed),
        ("bash -lc 'cargo test'", Passed, Failed),
        ("bash -lc 'cargo test | tail'", Unknown, Unknown),
        ("bash -lc 'cargo test; true'", Unknown, Unknown),
        ("bash -lc 'cargo test || exit 3' && echo x", Passed, Failed),
        ("timeout 60 cargo test", Passed, Failed),
        ("if cargo test; then echo; fi", Unknown, Unknown),
        ("for x in a b; do cargo test; done", Unknown, Unknown),
        ("out=$(cargo test); echo $out", Unknown, Unknown),
        ("npm test || yarn test", Unknown, Failed),
        ("cargo clippy; cargo test", Passed, Failed),
        ("cargo test; cargo clippy", Unknown, Unknown),
        ("cargo fmt --check && cargo clippy", Passed, Failed),
    ];

    #[test]
    fn statuses_that_tell_and_those_that_are_hidden() {
        for (line, zero, other) in STATUSES {
            let of = |code| outcome_of(&record(line, Some(code), Unknown), || None);
            assert_eq!((of(0), of(101)), (*zero, *other), "{line}");
        }
    }

    #[rustfmt::skip]
    const OUTPUTS: &[(&str, CommandOutcome, &str)] = &[
        ("cargo test", Passed, "running 2 tests\ntest a_failed_thing ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n"),
        ("cargo test", Failed, "test result: FAILED. 1 passed; 1 failed; 0 ignored\n\nerror: test failed, to rerun pass `--lib`"),
        ("cargo test", Failed, "test result: ok. 5 passed; 0 failed\ntest result: FAILED. 0 passed; 1 failed"),
        ("cargo test", Failed, "error[E0308]: mismatched types\nerror: could not compile `x` (lib test) due to 1 previous error"),
        ("cargo test", Passed, "error: this is what a test prints\ntest result: ok. 1 passed; 0 failed; 0 ignored"),
        ("cargo test", Unknown, "   Compiling x v0.1.0\n    Finished `test` profile [unoptimized] target(s) in 0.1s"),
        ("cargo test", Unknown, "test shows::test_result_failed ... ok"),
        ("cargo test --no-fail-fast", Failed, "test result: ok. 1 passed; 0 failed\nerror: 2 targets failed:\n    `-p a --lib`"),
        ("cargo nextest run", Failed, "     Summary [   0.005s] 5 tests run: 4 passed, 1 failed, 0 skipped"),
        ("cargo nextest run", Passed, "     Summary [   0.005s] 5 tests run: 5 passed, 0 skipped"),
        ("cargo build", Failed, "error: could not compile `x` (bin \"x\") due to 2 previous errors"),
        ("cargo build", Passed, "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.05s"),
        ("cargo clippy", Passed, "    Finished `dev` profile [unoptimized] target(s) in 0.05s"),
        ("cargo clippy", Failed, "error: unused\nerror: could not compile `x` (lib) due to 1 previous error"),
        ("cargo fmt --check", Failed, "Diff in /w/src/a.rs:3:\n-a\n+b"),
        ("pytest", Failed, "FAILED tests/a.py::t - assert\n========= 1 failed, 2 passed in 0.12s ========="),
        ("pytest", Passed, "\u{1b}[32m======= \u{1b}[32m\u{1b}[1m5 passed\u{1b}[0m\u{1b}[32m in 0.03s\u{1b}[0m\u{1b}[32m =======\u{1b}[0m"),
        ("pytest -q", Passed, ".....\n5 passed in 0.03s"),
        ("pytest", Failed, "=== 1 error in 0.5s ==="),
        ("pytest", Unknown, "=== no tests ran in 0.01s ==="),
        ("pytest -v", Passed, "tests/a.py::test_3_failed PASSED\n== 1 passed in 0.1s =="),
        ("python -m unittest", Passed, "...\n------\nRan 3 tests in 0.001s\n\nOK"),
        ("python -m unittest", Failed, "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)"),
        ("python -m unittest", Unknown, "OK"),
        ("npm test", Failed, "Tests:       1 failed, 2 passed, 3 total\nSnapshots:   0 total"),
        ("npm test", Passed, "PASS src/a.test.js\n  ✓ shows 1 failed, 2 passed\nTest Suites: 1 passed, 1 total\nTests:       3 passed, 3 total"),
        ("npm test", Unknown, "Tests:       0 total"),
        ("npx vitest run", Failed, " ❯ a.test.ts (2)\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n   Start at  10:00:00\n   Duration  300ms"),
        ("npx vitest run", Passed, " Test Files  1 passed (1)\n      Tests  2 passed (2)"),
        ("npx mocha", Failed, "  3 passing (20ms)\n  2 failing\n"),
        ("npx mocha", Passed, "  a\n    ✔ survives 2 failing calls\n\n  1 passing (3ms)"),
        ("npx playwright test", Failed, "  1 failed\n    [chromium] › a.spec.ts:3:1 › x\n  5 passed (3.2s)"),
        ("npx playwright test", Passed, "  5 passed (3.2s)"),
        ("go test ./...", Failed, "--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tx/y\t0.003s\nok  \tx/z\t0.1s"),
        ("go test ./...", Passed, "ok  \tx/y\t0.003s\n?   \tx/z\t[no test files]"),
        ("go test ./...", Failed, "# x/y\n./a.go:3:1: undefined: q\nFAIL\tx/y [build failed]"),
        ("node --test", Failed, "# tests 3\n# pass 2\n# fail 1"),
        ("node --test", Passed, "ℹ tests 3\nℹ pass 3\nℹ fail 0"),
        ("bats t", Passed, "1..2\nok 1 a\nok 2 b"),
        ("bats t", Failed, "1..2\nok 1 a\nnot ok 2 b"),
        ("bats t", Unknown, "1..3\nok 1 a\nok 2 b"),
        ("bats t", Passed, "1..2\nok 1 a\nnot ok 2 later # TODO\nResult: PASS"),
        ("prove", Passed, "t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=3\nResult: PASS"),
        ("./gradlew test", Failed, "> Task :test FAILED\n\nFAILURE: Build failed with an exception.\nBUILD FAILED in 3s"),
        ("./gradlew test", Passed, "BUILD SUCCESSFUL in 3s\n3 actionable tasks: 3 executed"),
        ("mvn test", Failed, "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE"),
        ("mvn test", Passed, "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS"),
        ("dotnet test", Failed, "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5, Duration: 20 ms - x.dll (net8.0)"),
        ("dotnet test", Passed, "Passed!  - Failed:     0, Passed:     4, Skipped:     0, Total:     4, Duration: 20 ms - x.dll (net8.0)"),
        ("dotnet build", Failed, "Build FAILED.\n    0 Warning(s)\n    1 Error(s)"),
        ("dotnet build", Passed, "Build succeeded.\n    0 Warning(s)\n    0 Error(s)"),
        ("swift test", Failed, "Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds"),
        ("swift test", Passed, "Executed 5 tests, with 0 failures (0 unexpected) in 0.1 (0.1) seconds"),
        ("xcodebuild test", Failed, "** TEST FAILED **"),
        ("ctest", Passed, "100% tests passed, 0 tests failed out of 5"),
        ("ctest", Failed, "80% tests passed, 1 tests failed out of 5"),
        ("vendor/bin/phpunit", Passed, "OK (5 tests, 10 assertions)"),
        ("vendor/bin/phpunit", Failed, "FAILURES!\nTests: 5, Assertions: 10, Failures: 1."),
        ("bundle exec rspec", Failed, "5 examples, 1 failure\n\nFailed examples:"),
        ("bundle exec rspec", Passed, "Finished in 0.1 seconds\n5 examples, 0 failures"),
        ("mix test", Passed, "5 tests, 0 failures"),
        ("rake test", Failed, "3 runs, 3 assertions, 1 failures, 0 errors, 0 skips"),
        ("bun test", Passed, " 5 pass\n 0 fail\n 9 expect() calls\nRan 5 tests across 1 files. [10.00ms]"),
        ("bun test", Failed, " 4 pass\n 1 fail\n"),
        ("deno test", Passed, "ok | 5 passed | 0 failed (10ms)"),
        ("deno test", Failed, "FAILED | 4 passed | 1 failed (10ms)"),
        ("npx tsc --noEmit", Failed, "src/a.ts(3,5): error TS2322: Type 'string' is not assignable"),
        ("npx tsc --noEmit", Failed, "src/a.ts:3:5 - error TS2322: Type\n\nFound 1 error in src/a.ts:3"),
        ("npx tsc --noEmit", Unknown, ""),
        ("gcc a.c", Failed, "a.c:3:5: error: expected ';'"),
        ("gcc a.c", Unknown, "a.c:3:5: warning: unused"),
        ("make", Failed, "make: *** [Makefile:3: all] Error 1"),
        ("ninja", Failed, "ninja: build stopped: subcommand failed."),
        ("npx eslint .", Failed, "✖ 3 problems (3 errors, 0 warnings)"),
        ("npx eslint .", Passed, "✖ 3 problems (0 errors, 3 warnings)"),
        ("npx eslint .", Unknown, ""),
        ("mypy .", Failed, "a.py:3: error: Incompatible types  [assignment]\nFound 1 error in 1 file (checked 3 source files)"),
        ("mypy .", Passed, "Success: no issues found in 3 source files"),
        ("pyright", Passed, "0 errors, 0 warnings, 0 informations"),
        ("pyright", Failed, "2 errors, 0 warnings, 0 informations"),
        ("ruff check", Passed, "All checks passed!"),
        ("ruff check", Failed, "Found 3 errors.\n[*] 2 fixable with the `--fix` option."),
        ("black --check .", Failed, "would reformat a.py\n1 file would be reformatted."),
        ("npx prettier --check .", Passed, "Checking formatting...\nAll matched files use Prettier code style!"),
        ("npx prettier --check .", Failed, "[warn] a.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix."),
        ("bundle exec rubocop", Failed, "3 files inspected, 2 offenses detected"),
        ("bundle exec rubocop", Passed, "3 files inspected, no offenses detected"),
        ("golangci-lint run", Failed, "3 issues:\n* errcheck: 3"),
        ("golangci-lint run", Passed, "0 issues."),
        ("cargo test", Unknown, "3 failed attempts are retried\nretry 3 failed\n10:15\n"),
        ("cargo test", Unknown, "\u{1b}[\u{1b}\u{0}\u{fffd}"),
    ];

    #[test]
    fn outputs_decide_where_the_status_is_hidden() {
        let mut wrong = Vec::new();
        for (line, outcome, output) in OUTPUTS {
            for line in [format!("{line} | tail -50"), format!("{line} || true")] {
                let told = outcome_of(&record(&line, Some(0), Unknown), || Some((*output).into()));
                if told != *outcome {
                    wrong.push(format!("{line}: {told:?}, not {outcome:?}: {output}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_filter_may_hide_what_failed() {
        let output = "test result: ok. 2 passed; 0 failed";
        let of = |filter: &str| {
            let line = format!("cargo test 2>&1 | {filter}");
            outcome_of(&record(&line, Some(0), Unknown), || Some(output.into()))
        };
        assert_eq!(of("grep 'test result: ok'"), Unknown);
        assert_eq!(of("grep -c passed | cat"), Unknown);
        assert_eq!(of("grep 'test result'"), Passed);
        assert_eq!(of("grep -E 'passed|failed'"), Passed);
        assert_eq!(of("grep -v ok"), Passed);
        assert_eq!(of("tail -3"), Passed);
    }

    #[test]
    fn an_output_is_read_only_where_it_is_needed() {
        let unread = || -> Option<String> { panic!("it was read") };
        assert_eq!(outcome_of(&record("cargo test", Some(0), Unknown), unread), Passed);
        assert_eq!(outcome_of(&record("cargo test", Some(1), Passed), unread), Failed);
        assert_eq!(outcome_of(&record("cargo test", None, Failed), unread), Failed);
        assert_eq!(outcome_of(&record("ls", None, Unknown), unread), Unknown);
        assert_eq!(outcome_of(&record("ls", None, Passed), unread), Passed);
    }

    #[test]
    fn a_mere_word_for_success_gives_way_to_what_the_output_says() {
        let of =
            |output: &str| outcome_of(&record("npm test", None, Passed), || Some(output.into()));
        assert_eq!(of("Tests:  1 failed, 2 passed, 3 total"), Failed);
        assert_eq!(of("nothing known"), Passed);
        let unknown =
            outcome_of(&record("npm test", None, Unknown), || Some("nothing known".into()));
        assert_eq!(unknown, Unknown);
    }

    #[test]
    fn hostile_lines_end_and_cost_little() {
        let deep = "(".repeat(100_000);
        let shells = "bash -c \"".repeat(10_000);
        let substitutions = "$(".repeat(100_000);
        let joined = "cargo test && ".repeat(50_000);
        let braces = "{ ".repeat(50_000);
        let pipes = "a | ".repeat(100_000);
        let documents = "<<E ".repeat(50_000) + "\n";
        let glued = "é`'\"\\\u{0}\n".repeat(20_000);
        for line in [deep, shells, substitutions, joined, braces, pipes, documents, glued] {
            let record = record(&line, Some(0), Unknown);
            let begin = std::time::Instant::now();
            let _ = (kind_of(&line), outcome_of(&record, || Some(line.clone())));
            let time = begin.elapsed();
            assert!(time.as_secs() < 2, "{time:?} {}", line.chars().take(20).collect::<String>());
        }
    }
}
