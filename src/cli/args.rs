//! The command line. Names of options are fixed by the outside interface.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A terminal reviewer for what a coding agent's turn hands back.
///
/// Without a command: opens the reviewer on `--session`, else on the newest session of this
/// directory, else on a demo session. If standard output is no terminal, prints what `show` prints.
#[derive(Debug, Parser)]
#[command(name = "handback", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print turns, presented files and changes without a screen
    Show(ShowArgs),
    /// Compare two files, or two revisions or trees of a repository
    Diff(DiffArgs),
    /// List the sessions of this directory, newest first
    Sessions(SessionsArgs),
    /// Follow a session's log and keep what each of its turns changes
    Record(super::record::RecordArgs),
    /// Keep the work tree as it is, and print its tree id
    Snapshot(super::snapshot::SnapshotArgs),
    /// Look after what is kept
    Store(super::store::StoreArgs),
    /// Take one call of an agent's hook: its JSON on standard input
    Hook(super::hook::HookArgs),
    /// Show, install or remove the hooks of an agent
    Init(super::init::InitArgs),
    /// Print shell completions
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ColorWhen {
    /// On a terminal that has colours, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Options that every command takes. What is not given stands in the settings file, or is as said.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Common options")]
pub(super) struct Common {
    /// A log, a session's folder, or a session's id; `-` reads a log from standard input
    #[arg(long, global = true, value_name = "PATH|ID|-")]
    pub(super) session: Option<String>,
    /// The log's format [default: auto]
    #[arg(long, global = true, value_name = "FORMAT", value_parser = format_names())]
    pub(super) format: Option<String>,
    /// The branch of a session that went back and on from an earlier turn [default: the live one]
    #[arg(long, global = true, value_name = "N")]
    pub(super) branch: Option<u32>,
    /// The working directory, in place of the session's own or the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Where recordings are kept [default: `$XDG_STATE_HOME/handback`]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) store: Option<PathBuf>,
    /// Another git object directory to read snapshot trees from; may be repeated
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) objects: Vec<PathBuf>,
    /// The repository, in place of the one around the working directory
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) git_dir: Option<PathBuf>,
    /// Unchanged lines around a change [default: 3]
    #[arg(long, global = true, value_name = "N")]
    pub(super) context: Option<u32>,
    /// How long one comparison may take before it is shown coarse [default: 100]
    #[arg(long, global = true, value_name = "N")]
    pub(super) diff_timeout_ms: Option<u64>,
    /// Larger files are not compared [default: 2097152]
    #[arg(long, global = true, value_name = "N")]
    pub(super) max_file_bytes: Option<u64>,
    /// At most so many files of a turn are listed in JSON [default: 500]
    #[arg(long, global = true, value_name = "N")]
    pub(super) max_files: Option<usize>,
    /// Look only: record nothing
    #[arg(long, global = true)]
    pub(super) no_record: bool,
    /// The settings file [default: `$XDG_CONFIG_HOME/handback/config.toml`]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// When to use colours [default: auto]
    #[arg(long, global = true, value_name = "WHEN")]
    pub(super) color: Option<ColorWhen>,
}

fn format_names() -> clap::builder::PossibleValuesParser {
    let known = crate::log::FORMATS.iter().map(|format| format.name());
    std::iter::once("auto").chain(known).collect::<Vec<_>>().into()
}

/// In which form something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Stat,
    Json,
    Patch,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(super) struct Forms {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print a patch that `git apply` takes
    #[arg(long)]
    patch: bool,
    /// Print a list with counts (the default)
    #[arg(long)]
    stat: bool,
}

impl Forms {
    pub(super) fn form(&self) -> Form {
        match (self.json, self.patch) {
            (true, _) => Form::Json,
            (_, true) => Form::Patch,
            _ => Form::Stat,
        }
    }
}

/// Which file of a list is meant.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(super) struct OneFile {
    /// One file, by its path as listed
    #[arg(long, value_name = "PATH")]
    pub(super) file: Option<String>,
    /// One file, by its 0-based place in the list
    #[arg(long, value_name = "I")]
    pub(super) index: Option<usize>,
}

impl OneFile {
    pub(super) fn is_given(&self) -> bool {
        self.file.is_some() || self.index.is_some()
    }
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Which turns: a number, a range, the last one, or all
    #[arg(long, value_name = "N|N..M|last|all", default_value = "all")]
    pub(super) turn: Turns,
    #[command(flatten)]
    pub(super) one: OneFile,
    #[command(flatten)]
    pub(super) forms: Forms,
}

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// A file, a revision or a tree id; `/dev/null` for no file
    pub(super) old: String,
    /// The same, after
    pub(super) new: String,
    /// Open the reviewer on it
    #[arg(long)]
    pub(super) review: bool,
    #[command(flatten)]
    pub(super) one: OneFile,
    #[command(flatten)]
    pub(super) forms: Forms,
}

#[derive(Debug, Args)]
pub(super) struct SessionsArgs {
    /// Those of every directory
    #[arg(long)]
    pub(super) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Which turns are meant. Both ends are 1-based and included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    All,
    Last,
    Range(u32, u32),
}

impl Turns {
    pub(super) fn contains(self, turn: u32, last: u32) -> bool {
        match self {
            Self::All => true,
            Self::Last => turn == last,
            Self::Range(from, to) => (from..=to).contains(&turn),
        }
    }
}

impl std::str::FromStr for Turns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("`{text}` is no turn number (they begin at 1)"))
        };
        match text {
            "all" => return Ok(Self::All),
            "last" => return Ok(Self::Last),
            _ => {}
        }
        let (from, to) = match text.split_once("..") {
            Some((from, to)) => (number(from)?, number(to)?),
            None => (number(text)?, number(text)?),
        };
        if from > to {
            return Err(format!("the range {text} is empty"));
        }
        Ok(Self::Range(from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn turns_parse() {
        assert_eq!("3".parse(), Ok(Turns::Range(3, 3)));
        assert_eq!("2..5".parse(), Ok(Turns::Range(2, 5)));
        assert_eq!(("last".parse(), "all".parse()), (Ok(Turns::Last), Ok(Turns::All)));
        for wrong in ["0", "5..2", "x", "1..", "-1", ""] {
            assert!(wrong.parse::<Turns>().is_err(), "{wrong}");
        }
    }
}
