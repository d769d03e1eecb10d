//! `handback`: the reviewer on a session.

use super::args::{Form, OneFile, Turns};
use super::demo::Demo;
use super::environment::Environment;
use super::{record, show};
use crate::log::discover;
use crate::log::open::LogFile;
use crate::log::source::Stored;
use crate::reader::ReadOptions;
use crate::record::RecordOptions;
use crate::shell::{self, Opening, Settings};
use crate::view::Theme;
use std::io::IsTerminal;
use std::path::PathBuf;

/// The session that a command is about.
pub(super) enum Session {
    /// A log on disk.
    Path(PathBuf),
    /// A log whose bytes are at hand.
    Bytes(LogFile),
    /// The embedded demo session.
    Demo(Demo, LogFile),
}

impl Session {
    /// `--session`, else the newest session of this directory, else the demo.
    pub(super) fn of(environment: &Environment) -> anyhow::Result<Self> {
        let how = environment.read_options().open_options();
        match environment.session.as_deref() {
            Some("-") => {
                let stored = Stored::spool(std::io::stdin().lock())?;
                Ok(Self::Bytes(LogFile::from_stored("-".as_ref(), stored, &how)?))
            }
            Some(session) => Ok(Self::Path(discover::resolve(session, &environment.places)?)),
            None => {
                let found = discover::discover_all(&environment.places, Some(&environment.cwd));
                match found.into_iter().next() {
                    Some(newest) => Ok(Self::Path(newest.path)),
                    None => Self::demo(),
                }
            }
        }
    }

    fn demo() -> anyhow::Result<Self> {
        let demo = Demo::unpack()?;
        let log = Demo::log()?;
        Ok(Self::Demo(demo, log))
    }

    /// How it is read: the demo brings its own objects.
    pub(super) fn read_options(&self, environment: &Environment) -> ReadOptions {
        let mut options = environment.read_options();
        if let Self::Demo(demo, _) = self {
            options.objects.push(demo.objects());
        }
        options
    }
}

pub(super) fn run(environment: &Environment) -> anyhow::Result<()> {
    if !std::io::stdout().is_terminal() {
        let one = OneFile { file: None, index: None };
        return show::print(environment, Turns::All, &one, Form::Stat);
    }
    let session = Session::of(environment)?;
    let options = session.read_options(environment);
    // The demo's objects are there until the reviewer ends.
    let (opening, _demo) = match session {
        Session::Path(path) => {
            // What cannot be opened at all is said before the screen is taken.
            LogFile::open(&path, &options.open_options())?;
            (Opening::Log { path, options }, None)
        }
        Session::Bytes(log) => (Opening::Read { log: Box::new(log), options }, None),
        Session::Demo(demo, log) => (Opening::Read { log: Box::new(log), options }, Some(demo)),
    };
    review(environment, opening)
}

/// Opens the reviewer.
pub(super) fn review(environment: &Environment, opening: Opening) -> anyhow::Result<()> {
    if !std::io::stdout().is_terminal() {
        anyhow::bail!("the reviewer needs a terminal on standard output");
    }
    let record = RecordOptions { waits_for_turn: true, ..record::options(environment)? };
    let record = (!environment.no_record).then_some(record);
    let settings = Settings {
        choices: environment.choices(),
        diff_timeout: environment.diff_timeout,
        theme: Theme::dark(environment.depth()),
        erases_in_colour: Environment::erases_in_colour(),
        places: environment.places.clone(),
        cwd: environment.cwd.clone(),
        // A picked session has a directory and a repository of its own.
        picked: ReadOptions {
            cwd: None,
            git_dir: None,
            branch: None,
            ..environment.read_options()
        },
        record,
    };
    shell::run(opening, settings)
}
