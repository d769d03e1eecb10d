//! The turn model: log events in, turns out. Pure; one `apply`, no clock and no disk.

use super::archive::{Archive, Entry, Item};
use super::event::{Command, Edit, EditOutcome, EditSource, Header, KnownText, LogEvent, Place};
use super::{Branch, CommandOutcome, TurnState};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// All that a log has told so far, with its turns as they are.
pub type Transcript = TranscriptOf<Vec<TurnRecord>>;

/// The same, for a session of any length: its older turns can be packed.
pub type LongTranscript = TranscriptOf<Archive<TurnRecord>>;

/// All that a log has told so far.
#[derive(Debug, Clone, Default)]
pub struct TranscriptOf<L> {
    /// What is known of the session as a whole.
    pub header: Header,
    /// Which branch this is, where the session has several.
    pub branch: Option<Branch>,
    /// The turns, by ascending number.
    pub turns: L,
    /// Goes up with every change to what stands here, so that a reader can tell whether to look.
    pub revision: u64,
    /// The first turn, by index, that changed since `take_changed`.
    changed_from: Option<usize>,
}

/// A list of turns, by ascending number.
pub trait TurnList {
    /// How many there are.
    fn len(&self) -> usize;

    /// What can be told at once of the turn at a 0-based index.
    fn key(&self, at: usize) -> Option<TurnKey>;

    /// The turn at a 0-based index.
    fn record(&self, at: usize) -> Option<Entry<'_, TurnRecord>>;

    /// The same, to be changed.
    fn record_mut(&mut self, at: usize) -> Option<&mut TurnRecord>;

    /// Adds a turn before the one at a 0-based index, or at the end.
    fn insert(&mut self, at: usize, record: TurnRecord);

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of the first turn whose number is not lower.
    fn first_from(&self, turn: u32) -> usize;

    /// The index of a turn, by its number.
    fn find(&self, turn: u32) -> Option<usize> {
        let at = self.first_from(turn);
        self.key(at).is_some_and(|key| key.turn == turn).then_some(at)
    }
}

/// What can be told of a turn without unpacking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnKey {
    /// 1-based number.
    pub turn: u32,
    /// `TurnRecord::revision`.
    pub revision: u64,
    /// `TurnRecord::inherited`.
    pub inherited: bool,
    /// `TurnRecord::rolled_back`.
    pub rolled_back: bool,
}

impl TurnList for Vec<TurnRecord> {
    fn len(&self) -> usize {
        Self::len(self)
    }

    fn key(&self, at: usize) -> Option<TurnKey> {
        self.get(at).map(Item::key)
    }

    fn record(&self, at: usize) -> Option<Entry<'_, TurnRecord>> {
        self.get(at).map(Entry::Whole)
    }

    fn record_mut(&mut self, at: usize) -> Option<&mut TurnRecord> {
        self.get_mut(at)
    }

    fn insert(&mut self, at: usize, record: TurnRecord) {
        Self::insert(self, at, record);
    }

    fn first_from(&self, turn: u32) -> usize {
        self.partition_point(|record| record.turn < turn)
    }
}

impl TurnList for Archive<TurnRecord> {
    fn len(&self) -> usize {
        Self::len(self)
    }

    fn key(&self, at: usize) -> Option<TurnKey> {
        Self::key(self, at)
    }

    fn record(&self, at: usize) -> Option<Entry<'_, TurnRecord>> {
        self.get(at)
    }

    fn record_mut(&mut self, at: usize) -> Option<&mut TurnRecord> {
        self.get_mut(at)
    }

    fn insert(&mut self, at: usize, record: TurnRecord) {
        Self::insert(self, at, record);
    }

    fn first_from(&self, turn: u32) -> usize {
        self.partition_point(|key| key.turn < turn)
    }
}

impl Item for TurnRecord {
    type Key = TurnKey;

    fn key(&self) -> TurnKey {
        let Self { turn, revision, inherited, rolled_back, .. } = *self;
        TurnKey { turn, revision, inherited, rolled_back }
    }
}

/// One turn as the log tells it: what was said and done, not what the disk shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub struct TurnRecord {
    /// 1-based number.
    pub turn: u32,
    /// The transcript's revision when something of this turn changed last.
    pub revision: u64,
    /// How it stands.
    pub state: TurnState,
    /// The first human message; empty where there is none.
    pub prompt: String,
    /// Milliseconds since the epoch.
    pub started_at: Option<i64>,
    /// Milliseconds since the epoch.
    pub ended_at: Option<i64>,
    /// Came from a parent session (fork).
    pub inherited: bool,
    /// Left the conversation by a roll-back; its files stay as they are.
    pub rolled_back: bool,
    /// Deliverables: the latest per exact path, in first-seen order.
    pub presented: Vec<Presented>,
    /// File tool calls in log order.
    pub edits: Vec<Edit>,
    /// Shell commands and programs in log order.
    pub commands: Vec<CommandRecord>,
    /// Whole texts known in this turn, each with the number of edits that stand before it.
    pub known_texts: Vec<(usize, KnownText)>,
    /// The host said that the work tree changed.
    pub changes_noticed: bool,
    /// Any tool gave a result.
    pub tool_settled: bool,
    /// The work tree before, hexadecimal tree id.
    pub tree_before: Option<String>,
    /// The work tree after, hexadecimal tree id.
    pub tree_after: Option<String>,
    /// The git directory that holds those trees, where it is not the repository's.
    pub git_dir: Option<String>,
}

/// A declared deliverable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presented {
    /// In the agent's spelling.
    pub path: String,
    /// What it is.
    pub description: Option<String>,
    /// The call that declared it last.
    pub call_id: String,
    /// When, in milliseconds since the epoch.
    pub at: Option<i64>,
}

/// A command and, once there is one, its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The call.
    pub call: Command,
    /// The exit code where the log has it.
    pub exit_code: Option<i32>,
    /// How it went, as far as the log says so itself.
    pub outcome: CommandOutcome,
    /// Where the output stands.
    pub result: Option<Place>,
    /// The output, where it is kept.
    pub output: Option<Arc<str>>,
    /// It has a result.
    pub settled: bool,
}

impl<L: TurnList + Default> TranscriptOf<L> {
    /// An empty one to take this one's place. Its revisions go on from here: a turn that comes again
    /// is another one.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { revision: self.revision, changed_from: Some(0), ..Self::default() }
    }

    /// Adds one event. Turns that nobody started are begun here: a log may lack its first rows.
    pub fn apply(&mut self, event: LogEvent) {
        self.revision += 1;
        match event {
            LogEvent::Reset => *self = self.anew(),
            LogEvent::Header(header) => self.header.merge(header),
            LogEvent::Branches(branch) => self.branch = Some(branch),
            LogEvent::Delegated(_) => {}
            LogEvent::Inherited => {
                let other = |key: TurnKey| !key.inherited;
                let turns = self.turns.len();
                self.mark(turns, other, |record| record.inherited = true);
            }
            LogEvent::RolledBack { turns } => {
                let live = |key: TurnKey| !key.rolled_back;
                self.mark(turns as usize, live, |record| record.rolled_back = true);
            }
            event => {
                if let Some(record) = event.turn().and_then(|turn| self.turn_mut(turn)) {
                    record.take(event);
                }
            }
        }
    }

    /// Marks the last `most` of those turns that are meant.
    fn mark(
        &mut self,
        most: usize,
        is_meant: impl Fn(TurnKey) -> bool,
        change: impl Fn(&mut TurnRecord),
    ) {
        let meant = (0..self.turns.len()).rev();
        let meant = meant.filter(|at| self.turns.key(*at).is_some_and(&is_meant)).take(most);
        for at in meant.collect::<Vec<_>>() {
            if let Some(record) = self.turns.record_mut(at) {
                change(record);
                self.changed_from = Some(self.changed_from.map_or(at, |first| first.min(at)));
            }
        }
    }

    /// The first turn, by 0-based index, that changed since this was asked last.
    pub fn take_changed(&mut self) -> Option<usize> {
        self.changed_from.take()
    }

    fn turn_mut(&mut self, turn: u32) -> Option<&mut TurnRecord> {
        let at = self.turns.first_from(turn);
        if self.turns.key(at).is_none_or(|key| key.turn != turn) {
            if let Some(before) = at.checked_sub(1).and_then(|at| self.turns.record_mut(at)) {
                before.give_back();
            }
            self.turns.insert(at, TurnRecord { turn, ..TurnRecord::default() });
        }
        self.changed_from = Some(self.changed_from.map_or(at, |first| first.min(at)));
        let record = self.turns.record_mut(at)?;
        record.revision = self.revision;
        Some(record)
    }
}

impl Transcript {
    /// The record of a turn, if the log has told of it.
    pub fn turn(&self, turn: u32) -> Option<&TurnRecord> {
        self.turns.get(self.turns.find(turn)?)
    }
}

impl LongTranscript {
    /// The record of a turn, if the log has told of it.
    pub fn turn(&self, turn: u32) -> Option<Entry<'_, TurnRecord>> {
        self.turns.get(self.turns.find(turn)?)
    }
}

/// How many of a list stand before something that goes before those at its end which are later.
fn standing_before<T>(list: &[T], later: impl Fn(&T) -> bool) -> usize {
    list.iter().rposition(|one| !later(one)).map_or(0, |last| last + 1)
}

impl TurnRecord {
    /// Takes what is told of this turn.
    fn take(&mut self, event: LogEvent) {
        match event {
            // A start that comes again (a resumed log) reopens nothing that has ended.
            LogEvent::TurnStart { at, .. } => self.started_at = self.started_at.or(at),
            LogEvent::Prompt { text, .. } => {
                if self.prompt.is_empty() {
                    self.prompt = text;
                }
            }
            LogEvent::TurnEnd { at, state, .. } => {
                self.state = state;
                self.ended_at = at.or(self.ended_at);
            }
            LogEvent::Edit(edit) => self.take_edit(edit),
            LogEvent::EditSettled { call_id, outcome, result, body, .. } => {
                self.tool_settled = true;
                for edit in self.edits.iter_mut().rev().filter(|e| e.call_id == call_id) {
                    edit.outcome = outcome;
                    match (&body, &mut edit.body) {
                        (Some(body), kept) => *kept = EditSource::Kept(Arc::clone(body)),
                        (None, EditSource::InLog { result: place, .. }) => {
                            *place = result.or(*place);
                        }
                        (None, EditSource::Kept(_)) => {}
                    }
                }
            }
            LogEvent::Command(call) => self.take_command(call),
            LogEvent::CommandSettled { call_id, exit_code, outcome, result, output, .. } => {
                self.tool_settled = true;
                let found = self.commands.iter_mut().rev().find(|c| c.call.call_id == call_id);
                if let Some(command) = found {
                    command.exit_code = exit_code.or(command.exit_code);
                    command.outcome = outcome;
                    command.result = result.or(command.result);
                    command.output = output.or(command.output.take());
                    command.settled = true;
                }
            }
            LogEvent::Presented { call_id, at, files, .. } => {
                for (path, description) in files {
                    let entry = Presented { path, description, call_id: call_id.clone(), at };
                    match self.presented.iter_mut().find(|p| p.path == entry.path) {
                        Some(earlier) => *earlier = entry,
                        None => self.presented.push(entry),
                    }
                }
            }
            LogEvent::ChangesNoticed { .. } => self.changes_noticed = true,
            LogEvent::ToolSettled { .. } => self.tool_settled = true,
            LogEvent::KnownText(known) => self.take_text(known),
            LogEvent::Trees { before, after, git_dir, .. } => {
                if self.tree_before.is_none() {
                    self.tree_before = before;
                }
                self.tree_after = after.or(self.tree_after.take());
                self.git_dir = git_dir.or(self.git_dir.take());
            }
            // What is told of the session, or of no turn's own doing.
            LogEvent::Reset
            | LogEvent::Header(_)
            | LogEvent::Branches(_)
            | LogEvent::Delegated(_)
            | LogEvent::Inherited
            | LogEvent::RolledBack { .. } => {}
        }
    }

    /// Gives back the room that its lists do not need: little is added to a turn behind which
    /// another begins, and a session may have thousands.
    fn give_back(&mut self) {
        self.presented.shrink_to_fit();
        self.edits.shrink_to_fit();
        self.commands.shrink_to_fit();
        self.known_texts.shrink_to_fit();
    }

    /// Puts an edit in its place, which is the end but where a sub-agent's log tells it late.
    fn take_edit(&mut self, edit: Edit) {
        let at = standing_before(&self.edits, |other| edit.stamp.goes_before(&other.stamp));
        for (before, known) in &mut self.known_texts {
            let stays = *before < at || *before == at && !edit.stamp.goes_before(&known.stamp);
            *before += usize::from(!stays);
        }
        self.edits.insert(at, edit);
    }

    fn take_command(&mut self, call: Command) {
        let later = |command: &CommandRecord| call.stamp.goes_before(&command.call.stamp);
        let at = standing_before(&self.commands, later);
        let record = CommandRecord {
            call,
            exit_code: None,
            outcome: CommandOutcome::Unknown,
            result: None,
            output: None,
            settled: false,
        };
        self.commands.insert(at, record);
    }

    fn take_text(&mut self, known: KnownText) {
        // While an edit of that very file waits for its result, this is the text before it.
        let waiting = |edit: &Edit| {
            edit.outcome == EditOutcome::Pending
                && edit.path == known.path
                && edit.stamp.agent == known.stamp.agent
        };
        let later = |edit: &Edit| known.stamp.goes_before(&edit.stamp);
        let at = self.edits.iter().position(waiting);
        let at = at.unwrap_or_else(|| standing_before(&self.edits, later));
        self.known_texts.push((at, known));
    }

    /// The edits that took effect.
    pub fn applied_edits(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().filter(|edit| edit.outcome == EditOutcome::Applied)
    }

    /// A shell or a program ran, so that files may have changed which no edit names.
    pub fn ran_shell(&self) -> bool {
        self.commands.iter().any(|command| command.call.is_shell)
    }
}

impl Header {
    fn merge(&mut self, later: Self) {
        fn take<T>(old: &mut Option<T>, new: Option<T>) {
            if new.is_some() {
                *old = new;
            }
        }
        take(&mut self.id, later.id);
        take(&mut self.cwd, later.cwd);
        take(&mut self.title, later.title);
        take(&mut self.created_at, later.created_at);
        take(&mut self.parent, later.parent);
        take(&mut self.is_subagent, later.is_subagent);
        take(&mut self.base_commit, later.base_commit);
        take(&mut self.agent_version, later.agent_version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event::{KnownTextSource, Stamp};

    fn presented(turn: u32, call: &str, path: &str) -> LogEvent {
        LogEvent::Presented {
            turn,
            call_id: call.into(),
            at: None,
            files: vec![(path.into(), None)],
        }
    }

    #[test]
    fn the_latest_presentation_of_a_path_keeps_the_first_place() {
        let mut t = Transcript::default();
        t.apply(presented(1, "a", "x.html"));
        t.apply(presented(1, "b", "./x.html"));
        t.apply(presented(1, "c", "x.html"));
        let seen: Vec<_> =
            t.turns[0].presented.iter().map(|p| (p.path.as_str(), p.call_id.as_str())).collect();
        assert_eq!(seen, [("x.html", "c"), ("./x.html", "b")]);
    }

    #[test]
    fn events_belong_to_the_turn_they_name_whatever_their_order() {
        let mut t = Transcript::default();
        t.apply(LogEvent::TurnStart { turn: 1, at: Some(1) });
        t.apply(LogEvent::TurnEnd { turn: 1, at: Some(2), state: TurnState::Interrupted });
        t.apply(LogEvent::TurnStart { turn: 2, at: Some(3) });
        t.apply(LogEvent::ChangesNoticed { turn: 1 });
        assert!(t.turns[0].changes_noticed && !t.turns[1].changes_noticed);
        assert_eq!(t.turn(2).map(|r| r.state), Some(TurnState::Open));
    }

    #[test]
    fn only_the_first_human_message_is_the_prompt() {
        let mut t = Transcript::default();
        t.apply(LogEvent::Prompt { turn: 1, text: "first".into() });
        t.apply(LogEvent::Prompt { turn: 1, text: "steering".into() });
        assert_eq!(t.turns[0].prompt, "first");
    }

    #[test]
    fn a_roll_back_counts_live_turns_from_the_end() {
        let mut t = Transcript::default();
        for turn in 1..=3 {
            t.apply(LogEvent::TurnStart { turn, at: None });
        }
        t.apply(LogEvent::RolledBack { turns: 1 });
        t.apply(LogEvent::RolledBack { turns: 1 });
        let gone: Vec<bool> = t.turns.iter().map(|t| t.rolled_back).collect();
        assert_eq!(gone, [false, true, true]);
    }

    #[test]
    fn what_another_log_tells_late_goes_where_its_time_is() {
        let stamp = |at, agent: Option<&str>| Stamp { at: Some(at), agent: agent.map(Arc::from) };
        let edit = |path: &str, at, agent| {
            let (turn, call_id, tool) = (1, path.into(), "edit".into());
            let (outcome, body) = (EditOutcome::Applied, EditSource::Kept(Arc::default()));
            let stamp = stamp(at, agent);
            LogEvent::Edit(Edit { turn, call_id, tool, path: path.into(), outcome, body, stamp })
        };
        let known = |path: &str, at, agent| {
            let (text, stamp) = (KnownTextSource::Absent, stamp(at, agent));
            LogEvent::KnownText(KnownText { turn: 1, path: path.into(), text, stamp })
        };
        let mut t = Transcript::default();
        // One log's own order stands, whatever its clock says.
        for event in [edit("a", 10, None), edit("b", 9, None), known("k", 15, None)] {
            t.apply(event);
        }
        for event in [edit("c", 20, None), edit("d", 14, Some("x")), edit("e", 16, Some("x"))] {
            t.apply(event);
        }
        t.apply(known("l", 12, Some("y")));
        let paths: Vec<_> = t.turns[0].edits.iter().map(|edit| edit.path.as_str()).collect();
        assert_eq!(paths, ["a", "b", "d", "e", "c"]);
        let texts: Vec<_> = t.turns[0].known_texts.iter().map(|(at, k)| (*at, &*k.path)).collect();
        assert_eq!(texts, [(3, "k"), (2, "l")]);
    }

    #[test]
    fn a_text_told_while_an_edit_of_its_file_waits_stands_before_it() {
        let edit = |path: &str| {
            LogEvent::Edit(Edit {
                turn: 1,
                call_id: path.into(),
                tool: "edit".into(),
                path: path.into(),
                outcome: EditOutcome::Pending,
                body: EditSource::InLog { call: Place::default(), result: None },
                stamp: Stamp::default(),
            })
        };
        let known = |path: &str| {
            let text = KnownTextSource::Absent;
            LogEvent::KnownText(KnownText {
                turn: 1,
                path: path.into(),
                text,
                stamp: Stamp::default(),
            })
        };
        let mut t = Transcript::default();
        for event in [edit("a"), edit("b"), known("b"), known("c")] {
            t.apply(event);
        }
        t.apply(LogEvent::EditSettled {
            turn: 1,
            call_id: "b".into(),
            outcome: EditOutcome::Applied,
            result: None,
            body: None,
        });
        t.apply(known("b"));
        let places: Vec<usize> = t.turns[0].known_texts.iter().map(|(at, _)| *at).collect();
        assert_eq!(places, [1, 2, 2]);
    }
}
