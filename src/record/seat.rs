//! Who writes a session: this recorder, another one that is followed, or nobody yet.

use super::RecordOptions;
use super::event::RecordEvent;
use super::hand::{Hands, now};
use super::summary::told;
use super::workspace::{Site, Workspace};
use crate::session::event::Header;
use crate::store::kept::KeptSession;
use crate::store::{Recording, SessionKey, SessionStore, Store, StoreError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A recorder's place at its session.
#[derive(Default)]
pub(super) enum Seat {
    /// Not asked for yet.
    #[default]
    Waiting,
    /// The store refused, for this reason.
    Refused(String),
    /// Another recorder has the session.
    Following(Box<Followed>),
    /// This one writes.
    Recording(Box<Hands>),
}

/// The session that is to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) key: SessionKey,
    pub(super) info: KeptSession,
    pub(super) cwd: PathBuf,
}

impl Wanted {
    /// What the log's header says; none where it names no working directory.
    pub(super) fn of(
        header: &Header,
        format: &str,
        log: &Path,
        options: &RecordOptions,
    ) -> Option<Self> {
        let cwd = options.cwd.clone().or_else(|| header.cwd.as_ref().map(PathBuf::from))?;
        let id = header.id.clone().unwrap_or_default();
        let key = session_key(format, &id, log);
        let info = KeptSession {
            format: format.to_owned(),
            id,
            path: log.to_string_lossy().into_owned(),
            cwd: Some(cwd.to_string_lossy().into_owned()),
            ..KeptSession::default()
        };
        Some(Self { key, info, cwd })
    }
}

/// A session's name in the store: by its id, else by its log.
pub fn session_key(format: &str, id: &str, log: &Path) -> SessionKey {
    if id.is_empty() {
        SessionKey::of_log(format, &crate::content::disk::canonical(log))
    } else {
        SessionKey::named(format, id)
    }
}

/// A seat that was taken, with what there is to say of it.
pub(super) struct Taking {
    pub(super) seat: Seat,
    /// What an earlier recorder left.
    pub(super) earlier: Option<SessionStore>,
    pub(super) events: Vec<RecordEvent>,
}

impl Seat {
    /// Asks for the session.
    pub(super) fn ask(wanted: &Wanted, options: &RecordOptions) -> Taking {
        let mut events = Vec::new();
        match try_seat(wanted, options, &mut events) {
            Ok((seat, earlier)) => Taking { seat, earlier, events },
            Err(error) => Taking { seat: Self::Refused(error), earlier: None, events },
        }
    }

    /// What another recorder has written since this was asked last.
    pub(super) fn news(&mut self, max_files: usize) -> Vec<RecordEvent> {
        match self {
            Self::Following(followed) => followed.news(max_files),
            _ => Vec::new(),
        }
    }
}

fn try_seat(
    wanted: &Wanted,
    options: &RecordOptions,
    events: &mut Vec<RecordEvent>,
) -> Result<(Seat, Option<SessionStore>), String> {
    let words = |error: StoreError| error.to_string();
    let site = Site {
        cwd: wanted.cwd.clone(),
        git_dir: options.git_dir.clone(),
        home: options.home.clone(),
        temp: options.temp.clone(),
        max_file_bytes: options.settings.max_file_bytes,
    };
    let info =
        KeptSession { objects: site.object_format(), created_at: now(), ..wanted.info.clone() };
    let store = Store::open(&options.store).map_err(words)?;
    let recording = store.writer(&wanted.key, &info, options.settings.clone()).map_err(words)?;
    let known = store.session(&wanted.key).map_err(words)?;
    let Recording::Writer(writer) = recording else {
        return Ok((Seat::Following(Box::new(Followed::new(known))), None));
    };
    events.extend(writer.repairs.iter().cloned().map(RecordEvent::Warning));
    if writer.is_first {
        events.push(RecordEvent::Notice(format!(
            "what each turn changes is kept in {}; --no-record keeps nothing",
            options.store.display()
        )));
    }
    let (workspace, problem) = Workspace::open(site, &writer)?;
    events.extend(problem.map(RecordEvent::Warning));
    let (max_file_bytes, time) = (options.settings.max_file_bytes, options.diff_timeout);
    Ok((Seat::Recording(Box::new(Hands::new(writer, workspace, max_file_bytes, time))), known))
}

/// A session that another recorder writes.
pub(super) struct Followed {
    store: Option<SessionStore>,
    /// When the rows that were told already had been written, by turn.
    turns: HashMap<u32, i64>,
    baselines: HashMap<u32, i64>,
}

impl Followed {
    fn new(store: Option<SessionStore>) -> Self {
        let turns = store.iter().flat_map(|s| &s.turns).map(|(turn, row)| (*turn, row.at));
        let baselines = store.iter().flat_map(|s| &s.baselines).map(|(turn, row)| (*turn, row.at));
        Self { turns: turns.collect(), baselines: baselines.collect(), store }
    }

    fn news(&mut self, max_files: usize) -> Vec<RecordEvent> {
        let Some(store) = &mut self.store else { return Vec::new() };
        match store.refresh() {
            Ok(false) => return Vec::new(),
            Ok(true) => {}
            Err(error) => return vec![RecordEvent::Warning(error.to_string())],
        }
        let mut events = Vec::new();
        for (turn, row) in &store.baselines {
            if self.baselines.insert(*turn, row.at) != Some(row.at) {
                let (tree, late, ms) = (row.tree.clone(), row.late, row.ms);
                events.push(RecordEvent::Baseline { turn: *turn, tree, late, ms });
            }
        }
        for (turn, row) in &store.turns {
            if self.turns.insert(*turn, row.at) != Some(row.at) {
                events.push(told(row, max_files));
            }
        }
        events
    }
}
