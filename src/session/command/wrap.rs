//! What only wraps a command: `sudo`, `timeout 60`, `env A=b`, `npx`, `uv run`, `bash -lc "…"`.

/// What a wrapped command really is.
pub(super) enum Real {
    /// A program and its arguments.
    Words(Vec<String>),
    /// A command line for a shell, and the shell's options.
    Line { text: String, options: Vec<String> },
}

/// A program that runs the command that follows it.
struct Wrapper {
    name: &'static str,
    /// Words that must stand first (`run` of `uv run`); one of them, or none.
    verbs: &'static [&'static str],
    /// Its options that take the next word as their value.
    valued: &'static [&'static str],
    /// How many words of its own stand before the command.
    own: usize,
}

const fn plain(name: &'static str, valued: &'static [&'static str], own: usize) -> Wrapper {
    Wrapper { name, verbs: &[], valued, own }
}

const fn verb(name: &'static str, verbs: &'static [&'static str]) -> Wrapper {
    let valued = &["-p", "--python", "--with", "--project", "--directory", "-C", "--package", "-e"];
    Wrapper { name, verbs, valued, own: 0 }
}

#[rustfmt::skip] // one a line
const WRAPPERS: &[Wrapper] = &[
    plain("sudo", &["-u", "-g", "-C", "-D", "-h", "-p"], 0),
    plain("doas", &["-u"], 0),
    plain("env", &["-u", "-C", "--unset", "--chdir"], 0),
    plain("cross-env", &[], 0),
    plain("time", &["-f", "-o", "--format", "--output"], 0),
    plain("gtime", &["-f", "-o"], 0),
    plain("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    plain("gtimeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    plain("nice", &["-n"], 0),
    plain("ionice", &["-c", "-n"], 0),
    plain("taskset", &[], 1),
    plain("nohup", &[], 0),
    plain("setsid", &[], 0),
    plain("command", &[], 0),
    plain("builtin", &[], 0),
    plain("exec", &["-a"], 0),
    plain("stdbuf", &["-o", "-e", "-i"], 0),
    plain("unbuffer", &[], 0),
    plain("xvfb-run", &["-s", "-n", "--server-args"], 0),
    plain("caffeinate", &[], 0),
    plain("npx", &["-p", "--package"], 0),
    plain("bunx", &[], 0),
    plain("pnpx", &[], 0),
    plain("uvx", &["--from", "--with", "--python", "-p"], 0),
    plain("c8", &[], 0),
    plain("nyc", &[], 0),
    plain("dotenv", &["-e", "-c"], 0),
    verb("npm", &["exec", "x"]),
    verb("pnpm", &["exec", "dlx"]),
    verb("yarn", &["exec", "dlx"]),
    verb("bun", &["x"]),
    verb("uv", &["run"]),
    verb("poetry", &["run"]),
    verb("pipenv", &["run"]),
    verb("pdm", &["run"]),
    verb("rye", &["run"]),
    verb("pixi", &["run"]),
    verb("bundle", &["exec"]),
    verb("mise", &["exec", "x"]),
    verb("asdf", &["exec"]),
    verb("opam", &["exec"]),
    Wrapper { name: "conda", verbs: &["run"], valued: &["-n", "--name", "-p"], own: 0 },
    Wrapper { name: "direnv", verbs: &["exec"], valued: &[], own: 1 },
    Wrapper { name: "rustup", verbs: &["run"], valued: &[], own: 1 },
];

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish", "busybox"];

/// The name of a program without its folders and endings.
pub(super) fn name_of(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let endings = [".exe", ".cmd", ".bat", ".ps1"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Takes off what only wraps a command; none where nothing is run.
pub(super) fn unwrapped(words: &[String]) -> Option<Real> {
    let mut rest = words;
    loop {
        let (first, behind) = rest.split_first()?;
        if is_assignment(first) {
            rest = behind;
            continue;
        }
        let name = name_of(first);
        if let Some(real) = shell(name, behind) {
            return Some(real);
        }
        match WRAPPERS.iter().find_map(|wrapper| wrapper.behind(name, behind)) {
            // A wrapper with nothing to wrap is a command of its own.
            Some(inner) if !inner.is_empty() => rest = inner,
            _ => return Some(Real::Words(rest.to_vec())),
        }
    }
}

impl Wrapper {
    /// The command behind this wrapper.
    fn behind<'w>(&self, name: &str, words: &'w [String]) -> Option<&'w [String]> {
        let only_asks =
            name == "command" && words.first().is_some_and(|word| word.eq_ignore_ascii_case("-v"));
        if self.name != name || only_asks {
            return None;
        }
        let mut rest = words;
        if !self.verbs.is_empty() {
            rest = options_skipped(rest, self.valued);
            let (verb, behind) = rest.split_first()?;
            if !self.verbs.contains(&verb.as_str()) {
                return None;
            }
            rest = behind;
        }
        rest = options_skipped(rest, self.valued);
        rest.get(self.own..)
    }
}

/// The words behind the options.
pub(super) fn options_skipped<'w>(words: &'w [String], valued: &[&str]) -> &'w [String] {
    let mut rest = words;
    while let Some((option, behind)) = rest.split_first() {
        if option == "--" {
            return behind;
        }
        if !option.starts_with('-') {
            break;
        }
        let skipped = usize::from(valued.contains(&option.as_str()));
        rest = behind.get(skipped..).unwrap_or_default();
    }
    rest
}

/// `bash -lc "…"`, `eval "…"`, `powershell -Command "…"`, `cmd /c …`.
fn shell(name: &str, words: &[String]) -> Option<Real> {
    let is_command_option = |word: &String| match name {
        "powershell" | "pwsh" => ["-command", "-c"].contains(&word.to_lowercase().as_str()),
        "cmd" => word.eq_ignore_ascii_case("/c"),
        _ if SHELLS.contains(&name) => {
            word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
        }
        _ => false,
    };
    if name == "eval" {
        return Some(Real::Line { text: words.join(" "), options: Vec::new() });
    }
    let at = words.iter().position(is_command_option)?;
    // Behind a script's name its own arguments stand.
    let options = words.get(..=at)?;
    let mut before = options.iter();
    while let Some(option) = before.next() {
        if option == "-o" || option.ends_with('o') && option.starts_with('-') {
            before.next();
        } else if !option.starts_with(['-', '/']) {
            return None;
        }
    }
    let rest = words.get(at + 1..)?;
    let takes_all = matches!(name, "powershell" | "pwsh" | "cmd");
    let text = if takes_all { rest.join(" ") } else { rest.first()?.clone() };
    Some(Real::Line { text, options: options.to_vec() })
}
