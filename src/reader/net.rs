//! The changes of several turns put together: each path as the first of them found it and the last
//! left it. What was changed and changed back is not listed.

use super::compare::{Shown, compare};
use crate::content::{Changes, Content, ContentId, FileChange, Pair, Source};
use crate::diff::{Limit, Text};
use crate::session::event::AppliedHunk;
use crate::session::path::{PathRules, cmp_utf16, escape_name, resolve};
use crate::session::{ChangedFile, ChangesSource, FileStatus, Origin};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// The turns taken in so far.
#[derive(Debug, Default)]
pub(super) struct Net {
    /// Every path that a turn named, in the spelling of `ChangedFile::path`.
    paths: BTreeMap<String, Story>,
    /// Where a file that was moved stood before all turns, by where it stands now.
    origins: HashMap<String, String>,
    /// Where the turns are known from, the best source first.
    sources: Vec<ChangesSource>,
    notes: Vec<String>,
}

/// What became of one path.
#[derive(Debug, Default)]
struct Story {
    before: Option<Side>,
    after: Side,
    /// The changes of the file that stands here now, in turn order.
    steps: Vec<FileChange>,
}

/// What stood at a path.
#[derive(Debug, Clone, Default, PartialEq)]
struct Side {
    /// None: nobody can tell.
    content: Option<ContentId>,
    /// Octal git mode, where it is known.
    mode: Option<String>,
}

impl Side {
    fn absent() -> Self {
        Self { content: Some(ContentId::Absent), mode: None }
    }

    fn is_absent(&self) -> bool {
        self.content == Some(ContentId::Absent)
    }

    fn old(change: &FileChange) -> Self {
        match &change.pair {
            _ if matches!(change.file.status, FileStatus::Added | FileStatus::Copied) => {
                Self::absent()
            }
            Pair::Sides { old, .. } => Self::new(old, change.file.old_mode.as_ref()),
            Pair::Hunks(_) => Self::default(),
        }
    }

    fn new_of(change: &FileChange) -> Self {
        match &change.pair {
            _ if change.file.status == FileStatus::Deleted => Self::absent(),
            Pair::Sides { new, .. } => Self::new(new, change.file.new_mode.as_ref()),
            Pair::Hunks(_) => Self::default(),
        }
    }

    fn new(content: &ContentId, mode: Option<&String>) -> Self {
        let mode = match content {
            ContentId::Blob { mode, .. } => Some(format!("{mode:06o}")),
            _ => mode.cloned(),
        };
        Self { content: Some(content.clone()), mode }
    }
}

impl Net {
    /// Takes in the next turn's changes.
    pub(super) fn add(&mut self, turn: u32, changes: Changes) {
        if !self.sources.contains(&changes.source) && !changes.files.is_empty() {
            self.sources.push(changes.source);
        }
        self.notes.extend(changes.notes.iter().map(|note| format!("turn {turn}: {note}")));
        // Files may change places within a turn: what all were comes before what any became.
        let mut carried = Vec::new();
        for change in &changes.files {
            let path = path_before(change);
            let moves = path != change.file.path;
            let story = self.paths.entry(path.to_owned()).or_default();
            story.before.get_or_insert_with(|| Side::old(change));
            let mut steps = Vec::new();
            let mut origin = None;
            if moves {
                story.after = Side::absent();
                steps = std::mem::take(&mut story.steps);
                let earlier = self.origins.remove(path);
                origin = Some(earlier.unwrap_or_else(|| path.to_owned()));
            }
            carried.push((steps, origin));
        }
        for (change, (steps, origin)) in changes.files.into_iter().zip(carried) {
            let path = change.file.path.clone();
            let story = self.paths.entry(path.clone()).or_default();
            story.before.get_or_insert_with(Side::absent);
            story.after = Side::new_of(&change);
            if origin.is_some() {
                story.steps = steps;
            }
            story.steps.push(change);
            match origin {
                Some(origin) => drop(self.origins.insert(path, origin)),
                None if story.after.is_absent() => drop(self.origins.remove(&path)),
                None => {}
            }
        }
    }

    /// Adds a line for a person.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// What all turns come to; none where they told nothing at all.
    pub(super) fn finish(mut self, source: &dyn Source, rules: &PathRules) -> Option<Changes> {
        if self.paths.is_empty() && self.notes.is_empty() {
            return None;
        }
        if self.sources.len() > 1 {
            let note = "not every turn is known equally well: put together turn by turn";
            self.notes.insert(0, note.into());
        }
        self.notes.dedup();
        let moved = self.moved();
        // These are listed where they went.
        let left: HashSet<&String> = moved.values().collect();
        let mut files: Vec<_> = self
            .paths
            .iter()
            .filter(|(path, _)| !left.contains(path))
            .filter_map(|(path, story)| {
                let origin = moved.get(path);
                let before = origin.and_then(|origin| self.paths.get(origin));
                let before = before.unwrap_or(story).before.clone().unwrap_or_default();
                net(path, origin.map(String::as_str), &before, story, source, rules)
            })
            .collect();
        files.sort_by(|a, b| cmp_utf16(&a.file.display, &b.file.display));
        let worst = self.sources.iter().copied().max_by_key(|source| *source as u8);
        Some(Changes {
            source: worst.unwrap_or_default(),
            cwd: escape_name(rules.cwd.as_os_str()),
            snapshot: None,
            files,
            notes: self.notes,
        })
    }

    /// The files that stand at a new path, with nothing at the old one and nothing there before:
    /// new path → old path. All others are told path by path.
    fn moved(&self) -> HashMap<String, String> {
        let was_there = |path: &String| {
            self.paths
                .get(path)
                .and_then(|story| story.before.as_ref())
                .is_some_and(|side| !side.is_absent())
        };
        let is_there =
            |path: &String| self.paths.get(path).is_some_and(|story| !story.after.is_absent());
        let moved = self.origins.iter().filter(|(path, origin)| {
            is_there(path) && !was_there(path) && was_there(origin) && !is_there(origin)
        });
        moved.map(|(path, origin)| (path.clone(), origin.clone())).collect()
    }
}

/// Where a changed file stood before.
fn path_before(change: &FileChange) -> &str {
    match (&change.file.old_path, change.file.status) {
        (Some(old), FileStatus::Renamed) => old,
        _ => &change.file.path,
    }
}

/// A path's story as one change; none where it comes to nothing.
fn net(
    path: &str,
    origin: Option<&str>,
    before: &Side,
    story: &Story,
    source: &dyn Source,
    rules: &PathRules,
) -> Option<FileChange> {
    let after = &story.after;
    let modes_differ =
        before.mode.as_ref().zip(after.mode.as_ref()).is_some_and(|(old, new)| old != new);
    let status = match (before.is_absent(), after.is_absent()) {
        (true, true) => return None,
        (true, false) => FileStatus::Added,
        (false, true) => FileStatus::Deleted,
        _ if origin.is_some() => FileStatus::Renamed,
        _ if modes_differ && class(before) != class(after) => FileStatus::TypeChanged,
        _ if !same(before, after, source) => FileStatus::Modified,
        _ if modes_differ => FileStatus::ModeChanged,
        _ => return None,
    };
    if let [only] = story.steps.as_slice() {
        let is_copy = only.file.status == FileStatus::Copied && status == FileStatus::Added;
        if is_copy || only.file.status == status && only.file.old_path.as_deref() == origin {
            return Some(only.clone());
        }
    }
    let mode = |side: &Side| side.mode.clone().filter(|mode| modes_differ || mode != "100644");
    let shown = rules.show(&resolve(&rules.cwd, path));
    let file = ChangedFile {
        path: path.to_owned(),
        // A name that is not UTF-8 is shown as the turns showed it.
        display: story.steps.last().map_or(shown.display, |step| step.file.display.clone()),
        origin: story.steps.iter().map(|step| step.file.origin).reduce(joined).unwrap_or_default(),
        status,
        old_path: origin.map(str::to_owned),
        old_mode: mode(before),
        new_mode: mode(after),
        ..ChangedFile::default()
    };
    let pair = match (&before.content, &after.content) {
        (Some(old), Some(new)) => Pair::Sides { old: old.clone(), new: new.clone() },
        _ => Pair::Hunks(story.steps.iter().flat_map(|step| hunks(step, source)).collect()),
    };
    let note = story.steps.iter().find_map(|step| step.note.clone());
    Some(FileChange { file, pair, counted: false, note })
}

/// Whether both hold the same; not where nobody can tell.
fn same(before: &Side, after: &Side, source: &dyn Source) -> bool {
    match (&before.content, &after.content) {
        (Some(ContentId::Blob { id: old, .. }), Some(ContentId::Blob { id: new, .. }))
            if old.len() == new.len() =>
        {
            old == new
        }
        (Some(old), Some(new)) if old == new => true,
        (Some(old), Some(new)) => match (source.read(old), source.read(new)) {
            (Ok(Content::Text(old)), Ok(Content::Text(new))) => old == new,
            _ => false,
        },
        _ => false,
    }
}

/// What kind of thing a mode is; regular files of either mode are of one kind.
fn class(side: &Side) -> Option<&str> {
    side.mode.as_deref().map(|mode| mode.get(..3).unwrap_or(mode))
}

fn joined(one: Origin, other: Origin) -> Origin {
    if one == other { one } else { Origin::Mixed }
}

/// A step's hunks; those of whole texts are found out.
fn hunks(step: &FileChange, source: &dyn Source) -> Vec<AppliedHunk> {
    if let Pair::Hunks(hunks) = &step.pair {
        return hunks.clone();
    }
    let Ok(Shown::Text(comparison)) = compare(source, step, &Limit::default()) else {
        return Vec::new();
    };
    let text = |side: &Text, lines: Range<u32>| {
        let lines: Vec<_> =
            side.lines(lines).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    let hunks = comparison.changes.iter().map(|change| AppliedHunk {
        old_start: Some(change.old.start + 1),
        new_start: Some(change.new.start + 1),
        old_text: text(&comparison.old, change.old.clone()),
        new_text: text(&comparison.new, change.new.clone()),
    });
    hunks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::GitObjects;

    fn change(path: &str, status: FileStatus, pair: Pair) -> FileChange {
        let file = ChangedFile {
            path: path.into(),
            display: path.into(),
            status,
            ..ChangedFile::default()
        };
        FileChange { file, pair, counted: false, note: None }
    }

    fn bytes(old: Option<&str>, new: Option<&str>) -> Pair {
        let side = |text: Option<&str>| {
            text.map_or(ContentId::Absent, |text| ContentId::Bytes(text.as_bytes().into()))
        };
        Pair::Sides { old: side(old), new: side(new) }
    }

    fn hunk(old: &str, new: &str) -> Pair {
        Pair::Hunks(vec![AppliedHunk {
            old_text: Some(old.into()),
            new_text: Some(new.into()),
            ..AppliedHunk::default()
        }])
    }

    fn net(turns: Vec<(ChangesSource, Vec<FileChange>)>) -> Changes {
        let mut net = Net::default();
        for (turn, (source, files)) in (1..).zip(turns) {
            net.add(turn, Changes { source, files, ..Changes::default() });
        }
        let rules = PathRules { cwd: "/w".into(), root: "/w".into(), home: "/home".into() };
        net.finish(&GitObjects::default(), &rules).unwrap()
    }

    #[test]
    fn a_step_whose_state_nobody_knows_leaves_the_hunks_of_all() {
        let told = net(vec![
            (ChangesSource::Hunks, vec![change("x", FileStatus::Modified, hunk("a", "b"))]),
            (
                ChangesSource::Replayed,
                vec![change("x", FileStatus::Modified, bytes(Some("1\nb\n"), Some("1\nc\n")))],
            ),
        ]);
        assert_eq!(told.source, ChangesSource::Hunks, "no better than the worst");
        assert!(told.notes[0].contains("not every turn"), "{:?}", told.notes);
        let Pair::Hunks(hunks) = &told.files[0].pair else { panic!("{:?}", told.files) };
        let told: Vec<_> = hunks.iter().map(|h| (h.old_start, h.new_text.as_deref())).collect();
        assert_eq!(told, [(None, Some("b")), (Some(2), Some("c"))]);
    }

    #[test]
    fn what_comes_and_goes_is_not_listed_however_it_is_known() {
        let added = || change("x", FileStatus::Added, bytes(None, Some("a\n")));
        let deleted = |pair| change("x", FileStatus::Deleted, pair);
        for pair in [bytes(Some("a\n"), None), hunk("a", "")] {
            let told = net(vec![
                (ChangesSource::Replayed, vec![added()]),
                (ChangesSource::Replayed, vec![deleted(pair)]),
            ]);
            assert_eq!(told.files, []);
        }
        let told = net(vec![
            (ChangesSource::Replayed, vec![deleted(bytes(Some("a\n"), None))]),
            (ChangesSource::Replayed, vec![added()]),
        ]);
        assert_eq!(told.files, [], "the same text came back");
    }

    #[test]
    fn a_mode_set_and_set_back_is_not_listed_and_one_set_is() {
        let blob = |mode| ContentId::Blob { id: "1".repeat(40), mode };
        let step = |old: u32, new: u32| {
            let pair = Pair::Sides { old: blob(old), new: blob(new) };
            change("x", FileStatus::ModeChanged, pair)
        };
        let (plain, exec) = (0o100_644, 0o100_755);
        let turn = |step| (ChangesSource::Snapshot, vec![step]);
        assert_eq!(net(vec![turn(step(plain, exec)), turn(step(exec, plain))]).files, []);
        let told = net(vec![turn(step(plain, exec)), turn(step(exec, exec))]);
        let file = &told.files[0].file;
        assert_eq!(file.status, FileStatus::ModeChanged);
        assert_eq!(file.old_mode.as_deref(), Some("100644"));
        assert_eq!(file.new_mode.as_deref(), Some("100755"));
    }

    #[test]
    fn a_file_moved_there_and_back_is_where_it_was() {
        let moved = |from: &str, to: &str| {
            let mut change = change(to, FileStatus::Renamed, bytes(Some("a\n"), Some("a\n")));
            change.file.old_path = Some(from.into());
            (ChangesSource::Replayed, vec![change])
        };
        assert_eq!(net(vec![moved("x", "y"), moved("y", "x")]).files, []);
        let told = net(vec![moved("x", "y"), moved("y", "z")]);
        let [only] = told.files.as_slice() else { panic!("{:?}", told.files) };
        assert_eq!((only.file.old_path.as_deref(), only.file.path.as_str()), (Some("x"), "z"));
    }
}
