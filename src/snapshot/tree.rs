//! The rows of one directory → a git tree object.

use super::objects::Objects;
use gix::ObjectId;
use gix::objs::tree::{EntryKind, EntryMode, EntryRef, name_order};
use gix::objs::{Kind, TreeRef, WriteTo};

/// The rows of one tree, in the making.
#[derive(Debug, Default)]
pub(super) struct Rows {
    names: Vec<u8>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    start: u32,
    len: u32,
    mode: EntryMode,
    id: ObjectId,
    /// Taken from the index though the disk does not show it: gives way to what the disk shows.
    kept: bool,
}

impl Rows {
    /// Adds what the disk shows under a name.
    pub(super) fn push(&mut self, name: &[u8], mode: EntryMode, id: ObjectId) {
        self.add(name, mode, id, false);
    }

    /// Adds what the index says of a name whose file git does not look at.
    pub(super) fn keep(&mut self, name: &[u8], mode: EntryMode, id: ObjectId) {
        self.add(name, mode, id, true);
    }

    fn add(&mut self, name: &[u8], mode: EntryMode, id: ObjectId, kept: bool) {
        if let (Ok(start), Ok(len)) = (u32::try_from(self.names.len()), u32::try_from(name.len())) {
            self.names.extend_from_slice(name);
            self.rows.push(Row { start, len, mode, id, kept });
        }
    }

    /// How many of the rows are no trees.
    pub(super) fn files(&self) -> usize {
        self.rows.iter().filter(|row| !row.mode.is_tree()).count()
    }

    fn name(&self, row: &Row) -> &[u8] {
        let start = row.start as usize;
        self.names.get(start..start + row.len as usize).unwrap_or_default()
    }

    /// Writes the tree, if it is new, and gives its id; none where it has no rows, unless it is `root`.
    pub(super) fn write(&self, objects: &Objects, root: bool) -> gix::Result<Option<ObjectId>> {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| self.name(a).cmp(self.name(b)).then(a.kept.cmp(&b.kept)));
        rows.dedup_by(|later, first| self.name(later) == self.name(first));
        if rows.is_empty() && !root {
            return Ok(None);
        }
        rows.sort_unstable_by(|a, b| {
            name_order(self.name(a), a.mode.is_tree(), self.name(b), b.mode.is_tree())
        });
        let tree = TreeRef {
            entries: rows
                .iter()
                .map(|row| EntryRef {
                    mode: row.mode,
                    filename: self.name(row).into(),
                    oid: &row.id,
                })
                .collect(),
        };
        let mut content = Vec::with_capacity(self.names.len() + rows.len() * 28);
        tree.write_to(&mut content).map_err(gix::Error::from_error)?;
        objects.put(Kind::Tree, &content).map(Some)
    }
}

/// The mode of a row that is a tree.
pub(super) fn tree_mode() -> EntryMode {
    EntryKind::Tree.into()
}
