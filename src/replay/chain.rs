//! Every file's edits in log order, and what the file held between them.

use super::apply::{after_of_itself, before_of_itself, redo, undo};
use super::locate::{Mismatch, has_own_ends, same_but_ends};
use super::{State, Texts};
use crate::session::event::{EditBody, EditOutcome};
use crate::session::path::resolve;
use crate::session::transcript::{TurnKey, TurnList, TurnRecord};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A state is kept after so many steps, so that no later question walks further than that.
const STRIDE: usize = 32;

/// One thing that the log tells of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The place of its turn in the transcript.
    pub(super) turn: u32,
    pub(super) what: What,
}

/// What a step is; places are in its turn's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// An applied edit, and its number among the edits of its call.
    Edit { at: u32, nth: u32 },
    /// A whole text, and how many edits of its turn stand before it.
    Known { at: u32, edits: u32 },
}

/// One file's steps. States are numbered by the step that they stand before.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) path: PathBuf,
    pub(super) steps: Vec<Step>,
    /// Walked to from the beginning.
    forward: HashMap<usize, State>,
    /// The last one walked to: turns that are asked for in order go on from there.
    newest: Option<(usize, State)>,
    /// Walked to from the end.
    backward: HashMap<usize, State>,
    /// The end that `backward` was walked from: steps, and hash of the text on disk.
    end: (usize, u64),
}

/// The chains of all files that a log's edits name.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// The directory that the log's paths are relative to.
    cwd: PathBuf,
    pub(super) all: Vec<Chain>,
    by_path: HashMap<PathBuf, usize>,
    /// What was seen of each turn of the transcript.
    turns: Vec<Seen>,
    /// The chains that the turns edit, those of the first turn first.
    edited: Vec<u32>,
}

/// A turn that was taken in. There may be tens of thousands.
#[derive(Debug, Clone, Copy)]
struct Seen {
    turn: u32,
    /// Its revision: while that is the same, its steps are.
    revision: u64,
    /// How many edits, applied edits and known texts it had: while these are the same, its steps are.
    counts: [u32; 3],
    /// Where its chains end in `Chains::edited`; they begin where those of the turn before it end.
    edited: u32,
}

impl Chains {
    pub(super) fn new(cwd: &Path) -> Self {
        Self { cwd: cwd.to_path_buf(), ..Self::default() }
    }

    /// Takes in what the transcript has more by now, and again the turns that changed.
    pub(super) fn update(&mut self, turns: &dyn TurnList, texts: &dyn Texts) {
        let mut same = 0;
        while let Some(seen) = self.turns.get_mut(same)
            && seen.is_still(same, turns)
        {
            same += 1;
        }
        if same < self.turns.len() {
            self.turns.truncate(same);
            self.edited.truncate(self.turns.last().map_or(0, |seen| seen.edited as usize));
            for chain in &mut self.all {
                chain.forget_from(same as u32);
            }
        }
        for place in same..turns.len() {
            let Some(record) = turns.record(place) else { break };
            let edited = self.take_turn(place as u32, &record, texts);
            self.edited.extend(edited);
            self.turns.push(Seen::new(&record, self.edited.len() as u32));
        }
    }

    fn take_turn(&mut self, turn: u32, record: &TurnRecord, texts: &dyn Texts) -> Vec<u32> {
        let mut edited = Vec::new();
        let mut of_call: HashMap<&str, u32> = HashMap::new();
        let mut known = record.known_texts.iter().enumerate().peekable();
        for (at, edit) in record.edits.iter().enumerate() {
            while let Some((place, (edits, text))) = known.next_if(|(_, (before, _))| *before <= at)
            {
                let chain = self.chain(&text.path, texts);
                self.push(chain, Step { turn, what: known_at(place, *edits) });
            }
            let next = of_call.entry(edit.call_id.as_str()).or_default();
            let nth = *next;
            *next += 1;
            if edit.outcome == EditOutcome::Applied {
                let chain = self.chain(&edit.path, texts);
                self.push(chain, Step { turn, what: What::Edit { at: at as u32, nth } });
                edited.push(chain as u32);
            }
        }
        for (place, (edits, text)) in known {
            let chain = self.chain(&text.path, texts);
            self.push(chain, Step { turn, what: known_at(place, *edits) });
        }
        edited.sort_unstable();
        edited.dedup();
        edited
    }

    /// The chain of a file, whichever way its path is spelled.
    fn chain(&mut self, spelled: &str, texts: &dyn Texts) -> usize {
        let path = resolve(&self.cwd, spelled);
        if let Some(chain) = self.by_path.get(&path) {
            return *chain;
        }
        let real = texts.real_path(&path);
        let chain = self.by_path.get(&real).copied().unwrap_or_else(|| {
            self.all.push(Chain { path: real.clone(), ..Chain::default() });
            self.all.len() - 1
        });
        self.by_path.insert(real, chain);
        self.by_path.insert(path, chain);
        chain
    }

    fn push(&mut self, chain: usize, step: Step) {
        if let Some(chain) = self.all.get_mut(chain) {
            chain.steps.push(step);
        }
    }

    pub(super) fn of_path(&self, path: &Path) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The chains that a turn edits.
    pub(super) fn edited_in(&self, turn: usize) -> impl Iterator<Item = usize> + use<> {
        let end = |turn: usize| self.turns.get(turn).map_or(0, |seen| seen.edited as usize);
        let edited = turn.checked_sub(1).map_or(0, end)..end(turn);
        let edited = self.edited.get(edited).unwrap_or_default().to_vec();
        edited.into_iter().map(|chain| chain as usize)
    }
}

impl Chain {
    /// Forgets the steps of the turns from this place on.
    fn forget_from(&mut self, turn: u32) {
        let kept = self.steps.partition_point(|step| step.turn < turn);
        self.steps.truncate(kept);
        self.forward.retain(|at, _| *at <= kept);
        self.newest = self.newest.take().filter(|(at, _)| *at <= kept);
    }

    /// The state before a step, if it was walked to from the beginning already.
    fn known_before(&self, step: usize) -> Option<&State> {
        let newest = self.newest.as_ref().filter(|(at, _)| *at == step);
        self.forward.get(&step).or(newest.map(|(_, state)| state))
    }

    /// How many steps stand before an edit of a turn.
    fn steps_before(&self, turn: u32, edit: u32) -> usize {
        self.steps.partition_point(|step| match step.what {
            What::Edit { at, .. } => (step.turn, at) < (turn, edit),
            What::Known { edits, .. } => (step.turn, edits) <= (turn, edit),
        })
    }

    /// Where the steps of a turn stand.
    pub(super) fn steps_of(&self, turn: u32) -> std::ops::Range<usize> {
        let from = self.steps.partition_point(|step| step.turn < turn);
        let to = self.steps.partition_point(|step| step.turn <= turn);
        from..to
    }
}

impl Seen {
    fn new(record: &TurnRecord, edited: u32) -> Self {
        let applied = record.applied_edits().count();
        let counts = [record.edits.len(), applied, record.known_texts.len()].map(|n| n as u32);
        Self { turn: record.turn, revision: record.revision, counts, edited }
    }

    /// Whether the turn at this place is still the one that was seen, with the same steps.
    fn is_still(&mut self, at: usize, turns: &dyn TurnList) -> bool {
        let Some(TurnKey { turn, revision, .. }) = turns.key(at) else { return false };
        if (self.turn, self.revision) != (turn, revision) {
            let Some(now) = turns.record(at).map(|record| Self::new(&record, self.edited)) else {
                return false;
            };
            if (now.turn, now.counts) != (self.turn, self.counts) {
                return false;
            }
            *self = now;
        }
        true
    }
}

fn known_at(at: usize, edits: usize) -> What {
    What::Known { at: at as u32, edits: edits as u32 }
}

/// Answers what one chain's file held, from the log and the texts around it.
pub(super) struct Walk<'a> {
    pub(super) chains: &'a mut Chains,
    /// Which chain.
    pub(super) this: usize,
    pub(super) turns: &'a dyn TurnList,
    pub(super) texts: &'a dyn Texts,
}

impl Walk<'_> {
    pub(super) fn path(&self) -> &Path {
        self.chains.all.get(self.this).map_or(Path::new(""), |chain| &chain.path)
    }

    fn steps(&self) -> usize {
        self.chains.all.get(self.this).map_or(0, |chain| chain.steps.len())
    }

    fn step_at(&self, at: usize) -> Option<Step> {
        self.chains.all.get(self.this)?.steps.get(at).copied()
    }

    /// What the edit at a step did; none if it is no edit, or cannot be read.
    pub(super) fn body(&self, at: usize) -> Option<Arc<EditBody>> {
        let step = self.step_at(at)?;
        let What::Edit { at, nth } = step.what else { return None };
        let record = self.turns.record(step.turn as usize)?;
        self.texts.edit_body(record.edits.get(at as usize)?, nth as usize)
    }

    /// The whole text that a step tells; unknown if it is an edit.
    fn known(&self, step: Step) -> State {
        let What::Known { at, .. } = step.what else { return State::Unknown };
        let Some(record) = self.turns.record(step.turn as usize) else { return State::Unknown };
        let known = record.known_texts.get(at as usize);
        known.map_or(State::Unknown, |(_, known)| self.texts.known_text(known))
    }

    /// The state before a step, from what came before it.
    pub(super) fn forward(&mut self, at: usize) -> State {
        let mut from = at;
        let mut state = loop {
            let kept = self.chains.all.get(self.this).and_then(|chain| chain.known_before(from));
            if let Some(state) = kept {
                break state.clone();
            }
            let Some(before) = from.checked_sub(1) else {
                break self.texts.at_base(self.path());
            };
            // A text that was only read may lack what the text before it shows: its line ends.
            match self.body(before).and_then(|body| after_of_itself(&body)) {
                None => from = before,
                Some(state) => break state,
            }
        };
        for step in from..at {
            if step.is_multiple_of(STRIDE)
                && let Some(chain) = self.chains.all.get_mut(self.this)
            {
                chain.forward.insert(step, state.clone());
            }
            state = self.step(step, &state).unwrap_or_default();
        }
        if let Some(chain) = self.chains.all.get_mut(self.this) {
            chain.newest = Some((at, state.clone()));
        }
        state
    }

    /// The state behind a step, from the one before it.
    pub(super) fn step(&mut self, at: usize, before: &State) -> Result<State, Mismatch> {
        let Some(step) = self.step_at(at) else { return Err(Mismatch::NotEnough) };
        let What::Edit { at: edit, .. } = step.what else {
            return Ok(prefer(before, self.known(step)));
        };
        let body = self.body(at).ok_or(Mismatch::NotEnough)?;
        let carried = match &body.moved_from {
            None => before.clone(),
            Some(origin) => self.before_move(origin, step.turn, edit),
        };
        let own = before_of_itself(&body).unwrap_or_default();
        redo(&body, &prefer(&carried, own))
    }

    /// What the file held that an edit moved away.
    fn before_move(&mut self, origin: &str, turn: u32, edit: u32) -> State {
        let origin = self.texts.real_path(&resolve(&self.chains.cwd, origin));
        let Some(chain) = self.chains.of_path(&origin) else { return self.texts.at_base(&origin) };
        // Only earlier steps are looked at, so a circle of moves comes to an end.
        let before = self.chains.all.get(chain).map_or(0, |chain| chain.steps_before(turn, edit));
        let mut there =
            Walk { chains: &mut *self.chains, this: chain, turns: self.turns, texts: self.texts };
        there.forward(before)
    }

    /// The state before a step, from what came after it, down to what the disk holds now.
    pub(super) fn backward(&mut self, at: usize) -> State {
        let on_disk = self.texts.on_disk(self.path());
        let end = (self.steps(), hash(&on_disk));
        if let Some(chain) = self.chains.all.get_mut(self.this)
            && chain.end != end
        {
            chain.backward.clear();
            chain.end = end;
        }
        let mut from = at;
        let mut state = loop {
            let kept = self.chains.all.get(self.this).and_then(|chain| chain.backward.get(&from));
            if let Some(state) = kept {
                break state.clone();
            }
            let told = if from > at { self.after_of_itself(from - 1) } else { State::Unknown };
            let told = prefer(&self.before_of_itself(from), told);
            if told != State::Unknown {
                break told;
            }
            if from >= end.0 {
                break on_disk;
            }
            from += 1;
        };
        for step in (at..from).rev() {
            state = self.unstep(step, &state).unwrap_or_default();
            if step.is_multiple_of(STRIDE)
                && let Some(chain) = self.chains.all.get_mut(self.this)
            {
                chain.backward.insert(step, state.clone());
            }
        }
        state
    }

    /// The state before a write whose hunks the log has: they lead back from what it wrote.
    pub(super) fn before_write(&self, at: usize) -> State {
        let told = || {
            let body = self.body(at).filter(|body| !body.hunks.is_empty())?;
            undo(&body, &after_of_itself(&body)?).ok()
        };
        told().unwrap_or_default()
    }

    pub(super) fn disk_has_own_ends(&self) -> bool {
        matches!(self.texts.on_disk(self.path()), State::Text(text) if has_own_ends(&text))
    }

    /// The state before a step, from the one behind it.
    fn unstep(&self, at: usize, after: &State) -> Result<State, Mismatch> {
        let Some(step) = self.step_at(at) else { return Err(Mismatch::NotEnough) };
        if let What::Known { .. } = step.what {
            return Ok(prefer(after, self.known(step)));
        }
        let body = self.body(at).ok_or(Mismatch::NotEnough)?;
        // What it held before, it held under another name.
        if body.moved_from.is_some() { Err(Mismatch::NotEnough) } else { undo(&body, after) }
    }

    /// The state behind a step, where that step alone tells it.
    fn after_of_itself(&self, at: usize) -> State {
        let told = || after_of_itself(&*self.body(at)?);
        told().unwrap_or_else(|| self.step_at(at).map_or(State::Unknown, |step| self.known(step)))
    }

    /// The state before a step, where that step alone tells it.
    pub(super) fn before_of_itself(&self, at: usize) -> State {
        let told = || before_of_itself(&*self.body(at)?);
        told().unwrap_or_else(|| self.step_at(at).map_or(State::Unknown, |step| self.known(step)))
    }
}

/// What the log tells wins, but the text that was worked out stays where the log's differs only by
/// what logs lose: byte order mark, line ends, final newline.
pub(super) fn prefer(worked_out: &State, told: State) -> State {
    match (worked_out, &told) {
        (_, State::Unknown) => worked_out.clone(),
        (State::Text(ours), State::Text(theirs)) if same_but_ends(ours, theirs) => {
            worked_out.clone()
        }
        _ => told,
    }
}

fn hash(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
