//! One opened session: the log's transcript, and what each of its turns changed.

use super::commands::{Commands, Printed};
use super::head::TurnHead;
use super::present::presented;
use super::recorded::{self, Recorded};
use super::texts::LogTexts;
use super::told::Told;
use crate::content::disk::canonical;
use crate::content::{Changes, ContentError, GitObjects};
use crate::log::again::LogRows;
use crate::log::open::{LogError, LogFile, OpenOptions};
use crate::log::source::Stored;
use crate::log::{LogFormat, Output};
use crate::record::session_key;
use crate::replay::Replay;
use crate::session::archive::{Archive, Entry};
use crate::session::path::PathRules;
use crate::session::transcript::{LongTranscript, TurnRecord};
use crate::session::{Branch, Damage, RanCommand, SessionInfo, TreePair, Turn};
use crate::snapshot::compare::{TreePlace, changes_between};
use crate::store::kept::KeptTurn;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How a session is read. Paths are absolute.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The log's format, where it is not to be found out.
    pub format: Option<String>,
    /// `--cwd`: stands for the session's own working directory.
    pub cwd: Option<PathBuf>,
    /// The home directory; empty where it is not known.
    pub home: PathBuf,
    /// `--git-dir`: stands for the repository around the working directory.
    pub git_dir: Option<PathBuf>,
    /// Further object directories.
    pub objects: Vec<PathBuf>,
    /// The branch to show, where the session has several; none: the live one.
    pub branch: Option<u32>,
    /// Larger sides are not compared, in bytes.
    pub max_file_bytes: u64,
    /// The root of the store that holds what was recorded; none: it is not looked at.
    pub store: Option<PathBuf>,
}

impl ReadOptions {
    /// How the log is opened.
    pub fn open_options(&self) -> OpenOptions {
        let (format, branch) = (self.format.clone(), self.branch);
        OpenOptions { format, session: None, branch, alone: false }
    }
}

/// An opened session.
pub struct Reader {
    options: ReadOptions,
    /// The log's path, or the name that stands for it.
    path: PathBuf,
    format: Option<&'static dyn LogFormat>,
    /// The log's bytes, to read rows again; none for a log that is not lines.
    stored: Option<Stored>,
    told: Told,
    /// What the log tells behind an early look at its newest turn.
    behind: Option<Told>,
    commands: Commands,
    /// Made when the working directory is known.
    place: Option<Place>,
    recorded: Recorded,
}

/// What depends on the session's working directory.
struct Place {
    /// As the transcript spells it.
    cwd: Option<String>,
    rules: PathRules,
    objects: GitObjects,
    /// Object directories that turns named.
    added: Vec<PathBuf>,
    replay: Replay,
    is_here: bool,
    warning: Option<String>,
}

/// The objects that a session in `cwd` (or an explicit git directory) can be compared by.
///
/// # Errors
/// A repository or object directory that was named and cannot be opened.
pub fn open_objects(options: &ReadOptions, cwd: &Path) -> Result<GitObjects, ContentError> {
    let mut objects = match &options.git_dir {
        Some(git_dir) => GitObjects::open(git_dir)?,
        None => GitObjects::discover(cwd)?.unwrap_or_default(),
    };
    for directory in &options.objects {
        objects = objects.with_objects(directory)?;
    }
    Ok(objects.with_max_file_bytes(options.max_file_bytes))
}

/// How paths are shown for a working directory.
pub fn rules(cwd: &Path, objects: &GitObjects, home: &Path) -> PathRules {
    let cwd = canonical(cwd);
    let root = objects.work_tree().map(canonical).filter(|root| cwd.starts_with(root));
    PathRules { root: root.unwrap_or_else(|| cwd.clone()), home: canonical(home), cwd }
}

impl Reader {
    /// A reader of nothing yet.
    pub fn new(options: ReadOptions) -> Self {
        Self {
            recorded: Recorded::new(options.store.clone()),
            options,
            path: PathBuf::new(),
            format: None,
            stored: None,
            told: Told::default(),
            behind: None,
            commands: Commands::default(),
            place: None,
        }
    }

    /// What is needed to read rows of the log again. Comes before what the log tells.
    pub fn opened(
        &mut self,
        path: PathBuf,
        format: Option<&'static dyn LogFormat>,
        stored: Option<Stored>,
    ) {
        (self.path, self.format, self.stored) = (path, format, stored);
        self.behind = None;
    }

    /// Reads a whole log to its end, and takes that for its end.
    ///
    /// # Errors
    /// It cannot be read, or is no log of a known format.
    pub fn read_all(&mut self, mut log: LogFile) -> Result<(), LogError> {
        const SLICE: u64 = 16 << 20;
        let mut output = Output::default();
        loop {
            let progress = log.step(SLICE, &mut output)?;
            self.opened(log.path().to_owned(), log.format(), log.stored().cloned());
            self.apply(std::mem::take(&mut output));
            if progress.caught_up {
                break;
            }
        }
        let end = log.read_all(&mut output);
        self.apply(output);
        end
    }

    /// What the log has told so far.
    pub fn transcript(&self) -> &LongTranscript {
        &self.told.transcript
    }

    /// Takes what the log tells; gives the 0-based index of the first turn that changed.
    pub fn apply(&mut self, output: Output) -> Option<usize> {
        if self.told.take(output) {
            self.begin_anew();
        }
        self.told.transcript.take_changed()
    }

    /// Takes what the log tells while an early look at its newest turn stands.
    pub fn apply_behind(&mut self, output: Output) {
        self.behind.get_or_insert_with(|| self.told.anew()).take(output);
    }

    /// Puts what was told behind an early look in its place, if there was one; gives the 0-based
    /// index of the first turn that changed.
    pub fn take_behind(&mut self) -> Option<usize> {
        self.told = self.behind.take()?;
        self.begin_anew();
        self.told.transcript.take_changed()
    }

    /// Forgets what depends on what was told.
    fn begin_anew(&mut self) {
        self.commands = Commands::default();
        self.place = None;
    }

    /// What is known of the session as a whole.
    pub fn info(&mut self) -> SessionInfo {
        self.look_at_store();
        let header = self.told.transcript.header.clone();
        let warning = self.place().warning.clone().into_iter();
        let mut warnings = self.told.damages.clone();
        warnings.extend(warning.chain(self.recorded.problems()).map(|message| Damage {
            line: None,
            offset: None,
            message,
        }));
        SessionInfo {
            id: header.id.unwrap_or_default(),
            format: self.format.map(|format| format.name().to_owned()).unwrap_or_default(),
            path: self.path.to_string_lossy().into_owned(),
            cwd: header.cwd,
            title: header.title,
            created_at: header.created_at,
            branch: self.told.transcript.branch,
            warnings,
        }
    }

    /// The turns from an index on, without their changes.
    pub fn heads(&mut self, from: usize) -> Archive<TurnHead> {
        self.look_at_store();
        let rules = self.place().rules.clone();
        let turns = self.records(from..self.told.transcript.turns.len());
        let recorded = |turn| self.kept(turn).map_or(0, |kept| kept.at.unsigned_abs());
        turns.map(|record| head(&record, &rules, recorded(record.turn))).collect()
    }

    /// What a turn changed; none where nothing is known to have changed. What was recorded goes
    /// before what the log's own trees and edits tell.
    ///
    /// # Errors
    /// One line: the trees that the log names cannot be compared and its edits tell nothing.
    pub fn changes(&mut self, turn: u32) -> Result<Option<Changes>, String> {
        let record = self.told.transcript.turn(turn).map(|record| record.clone());
        let Some(record) = record else { return Ok(None) };
        self.look_at_store();
        let Some(kept) = self.kept(turn).cloned() else {
            return Ok(self.of_log(&record));
        };
        let is_whole = recorded::is_whole(&kept);
        let log = if is_whole { None } else { self.of_log(&record) };
        let changes = recorded::changes(&kept, log, self.options.max_file_bytes);
        if changes.files.is_empty() && kept.snapshot.is_none() {
            return Ok(self.of_log(&record));
        }
        Ok((!changes.files.is_empty()).then_some(changes))
    }

    /// What a turn changed, from the log alone.
    fn of_log(&mut self, record: &TurnRecord) -> Option<Changes> {
        let rows = LogRows::new(self.format, self.stored.clone());
        self.look_at_git_dirs();
        let place = self.place.as_mut()?;
        let from_trees = place.compare_trees(record);
        if let Some(Ok(changes)) = from_trees {
            return Some(changes);
        }
        let base = self.told.transcript.header.base_commit.as_deref();
        let texts = LogTexts {
            rows,
            objects: &place.objects,
            is_here: place.is_here,
            base_tree: base.and_then(|commit| place.objects.resolve_tree(commit).ok()),
        };
        let mut changes = place.replay.turn(record.turn, &self.told.transcript, &texts);
        if let (Some(Err(error)), Some(changes)) = (&from_trees, &mut changes) {
            changes.notes.push(format!("the log's own trees cannot be read: {error}"));
        }
        let told = changes.as_ref().is_some_and(|c| !c.files.is_empty() || !c.notes.is_empty());
        if record.changes_noticed && !told {
            let note = "the host saw changes in this turn that the log does not hold";
            let mut empty = changes.unwrap_or_default();
            empty.notes.push(note.into());
            return Some(empty);
        }
        changes.filter(|_| told)
    }

    /// The turns at these 0-based indexes.
    pub(super) fn records(
        &self,
        turns: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = Entry<'_, TurnRecord>> {
        turns.filter_map(|at| self.told.transcript.turns.get(at))
    }

    /// Why the branch that was asked for is not shown, once the log has been read.
    pub fn missing_branch(&self) -> Option<String> {
        let wanted = self.options.branch?;
        let total = self.told.transcript.branch.map_or(1, |branch| branch.total);
        let path = self.path.display();
        let why = || format!("{path}: no branch {wanted} (there are {total})");
        (!(1..=total).contains(&wanted)).then(why)
    }

    /// What was recorded of a turn. Turns are recorded by their numbers, which those of other branches
    /// have too: what was written before the turn began is another's, and of a branch that the agent
    /// has left nothing can be said.
    fn kept(&self, turn: u32) -> Option<&KeptTurn> {
        let is_aside = self.told.transcript.branch.is_some_and(Branch::is_aside);
        let kept = self.recorded.turn(turn).filter(|_| !is_aside)?;
        let began = self.told.transcript.turn(turn).and_then(|record| record.started_at);
        began.is_none_or(|began| kept.is_after(began)).then_some(kept)
    }

    /// The trees between which a recorder saw a turn's changes.
    pub(super) fn recorded_trees(&self, turn: u32) -> Option<TreePair> {
        self.kept(turn)?.snapshot.clone()
    }

    /// Compares two trees of turns or of the repository.
    pub(super) fn between(&mut self, before: &str, after: &str) -> Result<Changes, ContentError> {
        self.look_at_git_dirs();
        self.place().compare(before, after)
    }

    /// Looks for what a recorder has kept by now.
    fn look_at_store(&mut self) {
        let id = self.told.transcript.header.id.as_deref().unwrap_or_default();
        let Some(format) = self.format else { return };
        self.recorded.look(session_key(format.name(), id, &self.path));
        if let Some(directory) = self.recorded.objects().map(Path::to_path_buf) {
            self.place().add_objects(directory);
        }
    }

    /// The shell commands that the agent ran in a turn, in order. Their outputs are read only where
    /// nothing else tells how they went; what is known of a command is kept.
    pub fn commands(&mut self, turn: u32) -> Vec<RanCommand> {
        let Some(record) = self.told.transcript.turn(turn) else { return Vec::new() };
        let mut printed = Printed::new(self.format, self.stored.clone());
        self.commands.of(&record, &mut printed)
    }

    /// What a command printed; `nth` is its 0-based place in [`Reader::commands`].
    ///
    /// # Errors
    /// One line: the log does not hold it, or it cannot be read.
    pub fn command_output(&self, turn: u32, nth: usize) -> Result<String, String> {
        let record = self.told.transcript.turn(turn).ok_or("there is no such turn")?;
        Printed::new(self.format, self.stored.clone()).nth(&record, nth)
    }

    /// A source for comparisons, for a thread of its own.
    pub fn objects(&mut self) -> GitObjects {
        self.look_at_store();
        self.place().objects.clone()
    }

    /// How paths are shown.
    pub fn rules(&mut self) -> PathRules {
        self.place().rules.clone()
    }

    /// Takes the objects of the agent's own git directories among those that are looked at.
    fn look_at_git_dirs(&mut self) {
        self.place();
        let Some(place) = &mut self.place else { return };
        for git_dir in &self.told.git_dirs {
            place.add_objects(Path::new(git_dir).join("objects"));
        }
    }

    /// What depends on the working directory, made anew when the log names another one.
    fn place(&mut self) -> &mut Place {
        let cwd = &self.told.transcript.header.cwd;
        if self.place.as_ref().is_some_and(|place| place.cwd != *cwd) {
            self.place = None;
        }
        self.place.get_or_insert_with(|| Place::new(cwd.clone(), &self.options))
    }
}

impl Place {
    fn new(cwd: Option<String>, options: &ReadOptions) -> Self {
        let directory = options.cwd.clone().or_else(|| cwd.as_ref().map(PathBuf::from));
        let directory = directory.unwrap_or_default();
        let (objects, warning) = match open_objects(options, &directory) {
            Ok(objects) => (objects, None),
            Err(error) => (
                GitObjects::default().with_max_file_bytes(options.max_file_bytes),
                Some(error.to_string()),
            ),
        };
        let rules = rules(&directory, &objects, &options.home);
        let is_here = directory.is_dir();
        let replay = Replay::new(rules.clone());
        Self { cwd, rules, objects, added: Vec::new(), replay, is_here, warning }
    }

    fn add_objects(&mut self, directory: PathBuf) {
        if self.added.contains(&directory) {
            return;
        }
        // One that is gone shows when its objects are read.
        if let Ok(objects) = self.objects.clone().with_objects(&directory) {
            self.objects = objects;
        }
        self.added.push(directory);
    }

    fn compare_trees(&self, record: &TurnRecord) -> Option<Result<Changes, ContentError>> {
        let (before, after) = (record.tree_before.as_ref()?, record.tree_after.as_ref()?);
        Some(self.compare(before, after))
    }

    fn compare(&self, before: &str, after: &str) -> Result<Changes, ContentError> {
        let place = TreePlace { root: &self.rules.root, rules: &self.rules };
        changes_between(&self.objects, before, after, &place)
    }
}

fn head(record: &TurnRecord, rules: &PathRules, recorded: u64) -> TurnHead {
    let (files, deliverables) =
        record.presented.iter().map(|declared| presented(declared, rules)).unzip();
    TurnHead {
        turn: Turn {
            turn: record.turn,
            state: record.state,
            prompt: record.prompt.clone(),
            started_at: record.started_at,
            ended_at: record.ended_at,
            presented: files,
            commands: Vec::new(),
            changes: None,
        },
        deliverables,
        inherited: record.inherited,
        rolled_back: record.rolled_back,
        // When it was recorded only goes up.
        revision: record.revision.saturating_add(recorded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::event::LogEvent;

    fn told(turns: std::ops::RangeInclusive<u32>) -> Output {
        let start = |turn| LogEvent::TurnStart { turn, at: None };
        let events = std::iter::once(LogEvent::Reset).chain(turns.map(start)).collect();
        let message = "torn".to_owned();
        Output { events, damages: vec![Damage { line: Some(1), offset: None, message }] }
    }

    #[test]
    fn an_early_look_stands_until_the_whole_log_takes_its_place() {
        let mut reader = Reader::new(ReadOptions::default());
        assert_eq!(reader.take_behind(), None);
        reader.apply(told(9..=9));
        let early = reader.transcript().turns.key(0).unwrap().revision;
        reader.apply_behind(told(1..=5));
        let rest = told(6..=9).events.split_off(1);
        reader.apply_behind(Output { events: rest, damages: Vec::new() });
        assert_eq!(reader.transcript().turns.len(), 1);
        assert_eq!(reader.take_behind(), Some(0));
        assert_eq!(reader.transcript().turns.len(), 9);
        assert!(reader.transcript().turns.keys().all(|turn| turn.revision > early));
        assert_eq!(reader.info().warnings.len(), 1);
        assert_eq!(reader.take_behind(), None);
        // A log that is opened anew leaves nothing of the one before.
        reader.apply_behind(told(1..=2));
        reader.opened(PathBuf::new(), None, None);
        assert_eq!(reader.take_behind(), None);
    }
}
