//! Checks that everything kept is whole: rows, objects, and every object that a row names.

use super::kept::KeptSide;
use super::session::SessionStore;
use super::{Store, StoreError, lock};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// How many sessions were checked.
    pub sessions: usize,
    /// How many turns are kept.
    pub turns: usize,
    /// How many objects were read and hashed.
    pub objects: usize,
    /// What is wrong, a line each that names the session, the place and the cause.
    pub problems: Vec<String>,
}

impl Store {
    /// Checks every session in full.
    pub fn verify(&self) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        for folder in self.session_folders()? {
            match SessionStore::open(&folder) {
                Ok(Some(session)) => verify_session(&folder, &session, &mut report),
                Ok(None) => {}
                Err(error) => report.problems.push(error.to_string()),
            }
        }
        Ok(report)
    }
}

fn verify_session(folder: &Path, session: &SessionStore, report: &mut VerifyReport) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut problem = |text: String| report.problems.push(format!("{name}: {text}"));
    for damage in &session.damages {
        match damage.line {
            Some(line) => problem(format!("rows.log line {line}: {}", damage.message)),
            None => problem(damage.message.clone()),
        }
    }
    let unfinished = session.unfinished_bytes();
    if unfinished > 0 && !lock::is_recorded(folder).unwrap_or(true) {
        problem(format!(
            "rows.log: {unfinished} bytes of a torn last row (the next recording removes them)"
        ));
    }
    let mut whole = BTreeSet::new();
    let mut objects = 0;
    for id in session.objects().ids() {
        objects += 1;
        match id.and_then(|id| session.objects().check(&id).map(|()| id)) {
            Ok(id) => drop(whole.insert(id.to_string())),
            Err(error) => problem(error.to_string()),
        }
    }
    let of_turns =
        session.turns.values().flat_map(|turn| turn.kept_ids().map(move |id| (turn.turn, id)));
    let of_captures = session
        .captures
        .iter()
        .filter_map(|capture| KeptSide::kept_id(&capture.side).map(|id| (capture.turn, id)));
    for (turn, id) in of_turns.chain(of_captures) {
        if !whole.contains(id) && !session.objects().contains(id) {
            problem(format!("turn {turn}: object {id} is missing"));
        }
    }
    report.sessions += 1;
    report.turns += session.turns.len();
    report.objects += objects;
}
