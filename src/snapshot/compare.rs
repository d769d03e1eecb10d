//! Two trees → the files that differ, as `git diff-tree -r -M` lists them.

use super::renames;
use crate::content::{Changes, ContentError, ContentId, FileChange, GitObjects, Pair};
use crate::session::path::{PathRules, cmp_utf16, escape_bytes};
use crate::session::{ChangedFile, ChangesSource, FileStatus, Origin, TreePair};
use gix::ObjectId;
use gix::bstr::BStr;
use gix::diff::tree::{Visit, visit};
use gix::objs::tree::{EntryKind, EntryMode};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Slash-separated path from the tree's root; any bytes but NUL.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: EntryKind,
    /// Its object.
    pub id: ObjectId,
}

/// A file that differs between two trees; at least one side is there. Two sides with different
/// paths are a rename.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    /// Before.
    pub old: Option<TreeEntry>,
    /// After.
    pub new: Option<TreeEntry>,
}

/// Where the compared trees stand on disk, for the paths shown.
#[derive(Debug, Clone)]
pub struct TreePlace<'a> {
    /// The absolute directory that the trees are of.
    pub root: &'a Path,
    /// How paths are shown.
    pub rules: &'a PathRules,
}

impl TreeChange {
    /// What happened to the file.
    pub fn status(&self) -> FileStatus {
        match (&self.old, &self.new) {
            (None, _) => FileStatus::Added,
            (_, None) => FileStatus::Deleted,
            (Some(old), Some(new)) if old.path != new.path => FileStatus::Renamed,
            (Some(old), Some(new)) if !same_class(old.kind, new.kind) => FileStatus::TypeChanged,
            (Some(old), Some(new)) if old.id == new.id => FileStatus::ModeChanged,
            _ => FileStatus::Modified,
        }
    }
}

/// Compares two trees by hexadecimal id. The answer is in byte order of the path after (before,
/// where there is none after). No file's text is read but those of possible renames.
///
/// # Errors
/// A tree that cannot be read.
pub fn compare_trees(
    objects: &GitObjects,
    before: &str,
    after: &str,
) -> Result<Vec<TreeChange>, ContentError> {
    let mut differing = Differing::default();
    let (old, new) = (tree_id(before)?, tree_id(after)?);
    let (mut old_buffer, mut new_buffer) = (Vec::new(), Vec::new());
    let old_tree = objects.tree(&old, &mut old_buffer)?;
    let new_tree = objects.tree(&new, &mut new_buffer)?;
    gix::diff::tree(old_tree, new_tree, gix::diff::tree::State::default(), objects, &mut differing)
        .map_err(|error| ContentError {
            what: format!("trees {before} and {after}"),
            cause: error.to_string().replace('\n', " "),
        })?;
    let mut changes = differing.changes;
    changes.sort_by(|a, b| place_of(a).cmp(place_of(b)));
    Ok(renames::pair_up(objects, changes))
}

/// Compares two trees and lists what differs for the outside, uncounted, in display order.
///
/// # Errors
/// A tree that cannot be read.
pub fn changes_between(
    objects: &GitObjects,
    before: &str,
    after: &str,
    place: &TreePlace,
) -> Result<Changes, ContentError> {
    let mut files = Vec::new();
    let mut notes = Vec::new();
    for change in compare_trees(objects, before, after)? {
        if [&change.old, &change.new].into_iter().flatten().all(|entry| stays_inside(&entry.path)) {
            files.extend(file_change(&change, place));
        } else {
            let path = escape_bytes(place_of(&change));
            notes.push(format!("{path:?} is no path that git allows in a tree: left out"));
        }
    }
    files.sort_by(|a, b| cmp_utf16(&a.file.display, &b.file.display));
    Ok(Changes {
        source: ChangesSource::Snapshot,
        cwd: escape_bytes(place.rules.cwd.as_os_str().as_encoded_bytes()),
        snapshot: Some(TreePair { before: before.into(), after: after.into() }),
        files,
        notes,
    })
}

/// A tree's change as a listed file; none if it has no side at all.
pub fn file_change(change: &TreeChange, place: &TreePlace) -> Option<FileChange> {
    let shown =
        place.rules.show(&on_disk(place.root, &change.new.as_ref().or(change.old.as_ref())?.path));
    let status = change.status();
    let old_path = (status == FileStatus::Renamed)
        .then(|| {
            change.old.as_ref().map(|old| place.rules.show(&on_disk(place.root, &old.path)).path)
        })
        .flatten();
    let (old, new) = (change.old.as_ref(), change.new.as_ref());
    let differ = old.zip(new).is_some_and(|(old, new)| old.kind != new.kind);
    let mode = |entry: Option<&TreeEntry>| {
        let kind = entry?.kind;
        (differ || kind != EntryKind::Blob).then(|| format!("{:06o}", kind as u16))
    };
    let file = ChangedFile {
        path: shown.path,
        display: shown.display,
        origin: Origin::default(),
        status,
        old_path,
        old_mode: mode(old),
        new_mode: mode(new),
        ..ChangedFile::default()
    };
    let pair = Pair::Sides { old: content(old), new: content(new) };
    Some(FileChange { file, pair, counted: false, note: None })
}

fn content(entry: Option<&TreeEntry>) -> ContentId {
    entry.map_or(ContentId::Absent, |entry| ContentId::Blob {
        id: entry.id.to_string(),
        mode: u32::from(entry.kind as u16),
    })
}

#[cfg(unix)]
fn on_disk(root: &Path, path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    root.join(std::ffi::OsStr::from_bytes(path))
}

#[cfg(not(unix))]
fn on_disk(root: &Path, path: &[u8]) -> PathBuf {
    root.join(escape_bytes(path))
}

fn tree_id(hex: &str) -> Result<ObjectId, ContentError> {
    ObjectId::from_hex(hex.as_bytes()).map_err(|_| ContentError {
        what: format!("tree {}", hex.escape_debug()),
        cause: "not an object id".into(),
    })
}

/// Whether a tree's path leads to a file below its root. Trees that were not made by git can hold
/// any names.
fn stays_inside(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

/// The path that a change is listed under.
fn place_of(change: &TreeChange) -> &[u8] {
    change.new.as_ref().or(change.old.as_ref()).map_or(&[], |entry| &entry.path)
}

/// Files of one class can follow each other without a change of type.
fn same_class(a: EntryKind, b: EntryKind) -> bool {
    let regular = |kind| matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable);
    a == b || (regular(a) && regular(b))
}

/// Takes the files out of a walk over two trees. gix's own recorder of paths takes a name with a
/// slash in it for two, and so misnames what comes behind it.
#[derive(Default)]
struct Differing {
    path: Vec<u8>,
    /// How long the path was before each name that can be taken off again.
    ends: Vec<usize>,
    /// The paths of trees that the walk comes to later.
    waiting: VecDeque<Vec<u8>>,
    changes: Vec<TreeChange>,
}

impl Differing {
    fn entry(&self, mode: EntryMode, id: ObjectId) -> Option<TreeEntry> {
        (!mode.is_tree()).then(|| TreeEntry { path: self.path.clone(), kind: mode.kind(), id })
    }
}

impl Visit for Differing {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.path = self.waiting.pop_front().unwrap_or_default();
        self.ends.clear();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.push_path_component(component);
        self.waiting.push_back(self.path.clone());
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.ends.push(self.path.len());
        if self.ends.len() > 1 || !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(component);
    }

    fn pop_path_component(&mut self) {
        self.path.truncate(self.ends.pop().unwrap_or(0));
    }

    fn visit(&mut self, change: visit::Change) -> visit::Action {
        let (old, new) = match change {
            visit::Change::Addition { entry_mode, oid, .. } => (None, self.entry(entry_mode, oid)),
            visit::Change::Deletion { entry_mode, oid, .. } => (self.entry(entry_mode, oid), None),
            visit::Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid } => {
                (self.entry(previous_entry_mode, previous_oid), self.entry(entry_mode, oid))
            }
        };
        // Old trees hold modes like 100664, which mean the same as 100644.
        let same = old.as_ref().zip(new.as_ref()).is_some_and(|(old, new)| old == new);
        if !same && (old.is_some() || new.is_some()) {
            self.changes.push(TreeChange { old, new });
        }
        visit::Action::Continue(())
    }
}
