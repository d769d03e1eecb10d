//! What is kept of one session, read without changing anything, while a recorder may be writing.

use super::kept::{Baseline, Capture, KeptSession, KeptTurn, ObjectFormat};
use super::objects::Objects;
use super::rows::{self, Note, Position, Row};
use super::{SESSION_FILE, StoreError, io_error};
use crate::session::Damage;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// One session of the store. While it lives, `gc` leaves the session alone.
pub struct SessionStore {
    folder: PathBuf,
    rows: File,
    position: Position,
    objects: Objects,
    /// The session as a whole.
    pub info: KeptSession,
    /// The latest row of each turn, by turn.
    pub turns: BTreeMap<u32, KeptTurn>,
    /// The latest baseline of each turn, by turn.
    pub baselines: BTreeMap<u32, Baseline>,
    /// Every capture, in order.
    pub captures: Vec<Capture>,
    /// Lines for a person, in order.
    pub notes: Vec<Note>,
    /// What could not be read, in file order. Each cost only itself.
    pub damages: Vec<Damage>,
}

impl SessionStore {
    /// Reads a session's folder; none where no session was recorded there.
    pub(super) fn open(folder: &Path) -> Result<Option<Self>, StoreError> {
        let mut damages = Vec::new();
        let Some(info) = read_info(folder, &mut damages)? else { return Ok(None) };
        let spoilt = !damages.is_empty();
        let path = rows_path(folder);
        let rows = File::open(&path).map_err(io_error("open", &path))?;
        // Best effort: it keeps `gc` away where the file system has locks.
        let _ = rows.try_lock_shared();
        let mut session = Self {
            folder: folder.to_path_buf(),
            rows,
            position: Position::default(),
            objects: Objects::at(objects_path(folder), info.objects),
            info,
            turns: BTreeMap::new(),
            baselines: BTreeMap::new(),
            captures: Vec::new(),
            notes: Vec::new(),
            damages,
        };
        session.refresh()?;
        if spoilt && session.turns.values().flat_map(KeptTurn::kept_ids).any(|id| id.len() == 64) {
            session.info.objects = ObjectFormat::Sha256;
            session.objects = Objects::at(objects_path(folder), ObjectFormat::Sha256);
        }
        Ok(Some(session))
    }

    /// Reads what a recorder has added since; tells whether there was anything.
    pub fn refresh(&mut self) -> Result<bool, StoreError> {
        let path = rows_path(&self.folder);
        let failed = io_error("read", &path);
        let mut source = BufReader::with_capacity(1 << 16, &self.rows);
        if let Err(cause) = source.seek(SeekFrom::Start(self.position.offset)) {
            return Err(failed(cause));
        }
        let mut position = self.position;
        let mut found = Vec::new();
        let read = rows::read(source, &mut position, &mut self.damages, |row| found.push(row));
        let moved = position != self.position;
        self.position = position;
        for row in found {
            self.apply(row);
        }
        read.map_err(failed)?;
        Ok(moved)
    }

    /// Both sides of the session's files.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// How many bytes stand behind the last whole row: a row that is being written, or one that was
    /// torn.
    pub fn unfinished_bytes(&self) -> u64 {
        self.rows.metadata().map_or(0, |meta| meta.len().saturating_sub(self.position.offset))
    }

    /// The baseline that was taken last, unless it was withdrawn.
    pub fn latest_baseline(&self) -> Option<&Baseline> {
        let latest = self.baselines.values().max_by_key(|baseline| baseline.at);
        latest.filter(|baseline| !baseline.withdrawn)
    }

    fn apply(&mut self, row: Row) {
        match row {
            Row::Baseline(baseline) => drop(self.baselines.insert(baseline.turn, baseline)),
            // A row whose sync failed may have been written again.
            Row::Capture(capture) if self.captures.last() == Some(&capture) => {}
            Row::Note(note) if self.notes.last() == Some(&note) => {}
            Row::Capture(capture) => self.captures.push(capture),
            Row::Turn(turn) => drop(self.turns.insert(turn.turn, turn)),
            Row::Note(note) => self.notes.push(note),
            Row::Unknown => {}
        }
    }
}

/// Reads `session.json`; one that is spoilt is damage, and the session goes on without it.
pub(super) fn read_info(
    folder: &Path,
    damages: &mut Vec<Damage>,
) -> Result<Option<KeptSession>, StoreError> {
    let path = folder.join(SESSION_FILE);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(io_error("read", &path))?,
    };
    Ok(Some(serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        let message = format!("{SESSION_FILE}: {error}");
        damages.push(Damage { line: None, offset: None, message });
        KeptSession::default()
    })))
}

/// Where a session's rows stand.
pub(super) fn rows_path(folder: &Path) -> PathBuf {
    folder.join("rows.log")
}

/// Where a session's objects stand.
pub(super) fn objects_path(folder: &Path) -> PathBuf {
    folder.join("objects")
}
