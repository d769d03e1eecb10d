//! One turn's changed files: whole sides where both are known, else the applied hunks.

use super::apply::undo;
use super::chain::{Chains, Walk, What, prefer};
use super::locate::{Mismatch, Normal, has_own_ends};
use super::{State, Texts};
use crate::content::{Changes, ContentId, FileChange, Pair};
use crate::session::event::{AppliedHunk, EditAction, EditBody, SNAPSHOT_TOOL};
use crate::session::path::{PathRules, cmp_utf16, escape_name, resolve};
use crate::session::transcript::TurnList;
use crate::session::{ChangedFile, ChangesSource, FileStatus, Origin};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is needed to list a turn.
pub(super) struct Listing<'a> {
    pub(super) rules: &'a PathRules,
    pub(super) chains: &'a mut Chains,
    pub(super) turns: &'a dyn TurnList,
    pub(super) texts: &'a dyn Texts,
}

/// What a turn made of one file.
struct Net {
    before: State,
    after: State,
    /// Where it was moved from in this turn.
    origin: Option<PathBuf>,
    /// Why a state is not known.
    reason: Option<String>,
}

impl Listing<'_> {
    /// The changed files of the turn at a place of the transcript.
    pub(super) fn turn(&mut self, turn: usize) -> Changes {
        let mut files = Vec::new();
        let mut moved_away = HashSet::new();
        for chain in self.chains.edited_in(turn) {
            if let Some(net) = self.net(chain, turn) {
                moved_away.extend(net.origin.clone());
                files.push((chain, net));
            }
        }
        let mut files: Vec<FileChange> = files
            .into_iter()
            .filter_map(|(chain, net)| self.file(chain, turn, net, &moved_away))
            .collect();
        files.sort_by(|a, b| cmp_utf16(&a.file.display, &b.file.display));
        let all_whole = files.iter().all(|file| matches!(file.pair, Pair::Sides { .. }));
        Changes {
            source: if all_whole { ChangesSource::Replayed } else { ChangesSource::Hunks },
            cwd: escape_name(self.rules.cwd.as_os_str()),
            snapshot: None,
            files,
            notes: Vec::new(),
        }
    }

    fn walk(&mut self, chain: usize) -> Walk<'_> {
        Walk { chains: &mut *self.chains, this: chain, turns: self.turns, texts: self.texts }
    }

    /// From the first to the last edit of a chain in a turn; known texts may stand between.
    fn edits(&self, chain: usize, turn: usize) -> Option<Range<usize>> {
        let chain = self.chains.all.get(chain)?;
        let steps = chain.steps_of(turn as u32);
        let is_edit = |at: &usize| {
            chain.steps.get(*at).is_some_and(|step| matches!(step.what, What::Edit { .. }))
        };
        let first = steps.clone().find(is_edit)?;
        let last = steps.rev().find(is_edit)?;
        Some(first..last + 1)
    }

    fn net(&mut self, chain: usize, turn: usize) -> Option<Net> {
        let edits = self.edits(chain, turn)?;
        let mut walk = self.walk(chain);
        let moved = edits.clone().find_map(|at| {
            let body = walk.body(at)?;
            Some((at, body.moved_from.clone()?, body))
        });
        let Some((at, spelled, body)) = moved else {
            let before = before_edits(&mut walk, &edits);
            return Some(finish(&mut walk, edits, before, None));
        };
        let origin = self.texts.real_path(&resolve(&self.rules.cwd, &spelled));
        let carried = self.held_before(&origin, turn);
        let mut walk = self.walk(chain);
        let mut before = prefer(&carried, walk.before_of_itself(at));
        if before == State::Unknown {
            let after = walk.backward(at + 1);
            before = undo(&body, &after).unwrap_or_default();
        }
        // What stood at the new path before is gone with the move.
        Some(finish(&mut walk, at..edits.end, before, Some(origin)))
    }

    /// What a path held when a turn began.
    fn held_before(&mut self, path: &Path, turn: usize) -> State {
        let Some(chain) = self.chains.of_path(path) else { return self.texts.at_base(path) };
        let edits = self.edits(chain, turn);
        let end = self.chains.all.get(chain).map_or(0, |chain| chain.steps_of(turn as u32).end);
        let mut walk = self.walk(chain);
        match edits {
            Some(edits) => before_edits(&mut walk, &edits),
            None => walk.forward(end),
        }
    }

    fn file(
        &mut self,
        chain: usize,
        turn: usize,
        net: Net,
        moved_away: &HashSet<PathBuf>,
    ) -> Option<FileChange> {
        let path = self.chains.all.get(chain)?.path.clone();
        if moved_away.contains(&path) && net.after != State::Absent && net.origin.is_none() {
            // Its edits before the move are in the file that it became.
            return None;
        }
        let shown = self.rules.show(&path);
        let old_path = net.origin.as_ref().map(|origin| self.rules.show(origin).path);
        let status = match (&net.before, &net.after) {
            (State::Absent, State::Absent) => return None,
            (State::Absent, _) => FileStatus::Added,
            (_, State::Absent) => FileStatus::Deleted,
            _ if old_path.is_some() => FileStatus::Renamed,
            (State::Text(before), State::Text(after)) if before == after => return None,
            _ => FileStatus::Modified,
        };
        let (pair, note) = match (content(&net.before), content(&net.after)) {
            (Some(old), Some(new)) => (Pair::Sides { old, new }, None),
            _ => (Pair::Hunks(self.hunks(chain, turn, &net)), net.reason),
        };
        let file = ChangedFile {
            path: shown.path,
            display: shown.display,
            origin: self.origin(chain, turn),
            status,
            old_path: old_path.filter(|_| status == FileStatus::Renamed),
            ..ChangedFile::default()
        };
        Some(FileChange { file, pair, counted: false, note })
    }

    /// Who changed a file in a turn: a tool, if any of its edits is a tool's own. What only the
    /// agent's snapshots show is a command's, where one ran.
    fn origin(&self, chain: usize, turn: usize) -> Origin {
        let Some(record) = self.turns.record(turn) else { return Origin::default() };
        let Some(chain) = self.chains.all.get(chain) else { return Origin::default() };
        let steps = chain.steps.get(chain.steps_of(turn as u32)).unwrap_or_default();
        let by_tool = steps.iter().any(|step| {
            let What::Edit { at, .. } = step.what else { return false };
            record.edits.get(at as usize).is_some_and(|edit| edit.tool != SNAPSHOT_TOOL)
        });
        match (by_tool, record.ran_shell()) {
            (true, _) => Origin::Tool,
            (false, true) => Origin::Shell,
            (false, false) => Origin::Outside,
        }
    }

    /// The applied hunks of a turn's edits in the order of the edits, numbered where they are found.
    fn hunks(&mut self, chain: usize, turn: usize, net: &Net) -> Vec<AppliedHunk> {
        let Some(edits) = self.edits(chain, turn) else { return Vec::new() };
        let mut walk = self.walk(chain);
        let on_disk = walk.texts.on_disk(walk.path());
        let mut before = net.before.clone();
        let mut out = Vec::new();
        for at in edits.clone() {
            let mut after = walk.step(at, &before).unwrap_or_default();
            if at + 1 == edits.end && after == State::Unknown {
                after = net.after.clone();
            }
            if let Some(body) = walk.body(at) {
                out.extend(numbered(&body, [(&before, &after), (&on_disk, &on_disk)]));
            }
            before = after;
        }
        out
    }
}

fn before_edits(walk: &mut Walk, edits: &Range<usize>) -> State {
    let carried = walk.forward(edits.start);
    let told = match walk.before_of_itself(edits.start) {
        State::Unknown => walk.before_write(edits.start),
        told => told,
    };
    let before = prefer(&carried, told);
    match &before {
        State::Unknown => walk.backward(edits.start),
        // What the log shows of a text has lost its line ends; the disk may still have them.
        State::Text(text) if !has_own_ends(text) && walk.disk_has_own_ends() => {
            prefer(&walk.backward(edits.start), before)
        }
        _ => before,
    }
}

/// Does a turn's edits one after the other. Where one does not fit, what comes later may still tell
/// what they led to.
fn finish(walk: &mut Walk, edits: Range<usize>, before: State, origin: Option<PathBuf>) -> Net {
    let mut before = before;
    let mut reason = None;
    if before == State::Unknown {
        reason = Some("what it held before is not in the log".to_owned());
    }
    let mut after = before.clone();
    for at in edits.clone() {
        after = walk.step(at, &after).unwrap_or_else(|mismatch| {
            if after != State::Unknown || mismatch != Mismatch::NotEnough {
                reason = Some(format!("edit {} of the turn: {mismatch}", at - edits.start + 1));
                if at == edits.start {
                    // So it did not hold what it seemed to.
                    before = State::Unknown;
                }
            }
            State::Unknown
        });
    }
    if after == State::Unknown {
        // The disk is believed only if the turn's last edit can be undone on it.
        let last = edits.end.saturating_sub(1);
        if walk.backward(last) != State::Unknown {
            after = walk.backward(edits.end);
        }
    }
    if before == State::Unknown && origin.is_none() {
        before = walk.backward(edits.start);
    }
    let reason = reason.map(|reason| format!("only the applied hunks are known: {reason}"));
    Net { before, after, origin, reason }
}

fn content(state: &State) -> Option<ContentId> {
    match state {
        State::Unknown => None,
        State::Absent => Some(ContentId::Absent),
        State::Text(text) => Some(ContentId::Bytes(Arc::clone(text))),
    }
}

/// An edit's hunks; from its instruction where the log has no others.
fn hunks_of(body: &EditBody) -> Vec<AppliedHunk> {
    if !body.hunks.is_empty() {
        return body.hunks.clone();
    }
    // A newline at the end of a text ends its last line.
    let lines =
        |text: &str| (!text.is_empty()).then(|| text.strip_suffix('\n').unwrap_or(text).to_owned());
    match &body.action {
        EditAction::Replace { pairs } => pairs
            .iter()
            .map(|(old, new, _)| AppliedHunk {
                old_text: lines(old),
                new_text: lines(new),
                ..AppliedHunk::default()
            })
            .collect(),
        EditAction::Insert { after_line, text } => vec![AppliedHunk {
            old_start: after_line.checked_add(1),
            new_start: after_line.checked_add(1),
            old_text: None,
            new_text: Some(text.clone()),
        }],
        EditAction::Write { content, .. } => vec![AppliedHunk {
            new_start: Some(1),
            new_text: lines(content),
            ..AppliedHunk::default()
        }],
        EditAction::Unknown | EditAction::Delete | EditAction::Keep => Vec::new(),
    }
}

/// An edit's hunks with line numbers, where their old lines stand once in a text of before, or
/// their new lines in a text of after.
fn numbered(body: &EditBody, known: [(&State, &State); 2]) -> Vec<AppliedHunk> {
    let mut hunks = hunks_of(body);
    // Only hunks from the log are in file order, so that earlier ones move later ones.
    let in_order = !body.hunks.is_empty();
    let mut moved = 0_i64;
    for (at, hunk) in hunks.iter_mut().enumerate() {
        let from = if in_order || at == 0 { Some(moved) } else { None };
        if hunk.old_start.is_none() && hunk.new_start.is_none() {
            let place = known.iter().find_map(|(before, after)| {
                let old = line_of(hunk.old_text.as_deref(), before);
                let new = || line_of(hunk.new_text.as_deref(), after);
                old.map(|old| (Some(old), shifted(old, from)))
                    .or_else(|| new().map(|new| (shifted(new, from.map(|by| -by)), Some(new))))
            });
            (hunk.old_start, hunk.new_start) = place.unwrap_or_default();
        }
        moved += lines_in(hunk.new_text.as_deref()) - lines_in(hunk.old_text.as_deref());
    }
    hunks
}

fn shifted(line: u32, by: Option<i64>) -> Option<u32> {
    u32::try_from(i64::from(line) + by?).ok().filter(|line| *line > 0)
}

fn lines_in(text: Option<&str>) -> i64 {
    text.map_or(0, |text| i64::try_from(text.split('\n').count()).unwrap_or(i64::MAX))
}

fn line_of(lines: Option<&str>, state: &State) -> Option<u32> {
    let State::Text(text) = state else { return None };
    let normal = Normal::of(text);
    normal.find_lines(lines?, 0).ok().map(|place| normal.line_of(place.start))
}
