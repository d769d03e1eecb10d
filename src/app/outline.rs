//! The list of turns and files: which rows it has, and where its cursor stands.
//!
//! One turn is open at a time; its files stand below it, presented ones first.

use super::viewport::Viewport;
use crate::content::Changes;
use crate::reader::Counts;
use crate::reader::TurnHead;
use std::collections::HashMap;
use std::sync::Arc;

/// A turn with what has been found out about its changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnView {
    /// The turn.
    pub head: TurnHead,
    /// What it changed.
    pub changes: Load,
    /// For which state of the turn `changes` is the answer.
    pub loaded: Option<u64>,
    /// Counts by index of `Changes::files`; none: not counted yet.
    pub counts: Vec<Option<Counts>>,
}

/// Something asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Load {
    /// Nobody asked.
    #[default]
    Unasked,
    /// Asked, no answer yet.
    Asked,
    /// The answer; none where nothing is known to have changed.
    Known(Option<Arc<Changes>>),
    /// It failed, and why.
    Failed(String),
}

impl TurnView {
    /// The changes, where they are known and there are any.
    pub fn known(&self) -> Option<&Arc<Changes>> {
        match &self.changes {
            Load::Known(changes) => changes.as_ref(),
            _ => None,
        }
    }

    /// The changes that are still to be counted. A single file is counted by being looked at.
    pub fn uncounted(&self) -> Option<Arc<Changes>> {
        let changes = self.known().filter(|changes| changes.files.len() > 1)?;
        self.counts.iter().any(Option::is_none).then(|| Arc::clone(changes))
    }

    /// Takes an answer, and what it holds counted already. A file that is as it was keeps its
    /// counts.
    pub fn set_changes(&mut self, changes: Result<Option<Arc<Changes>>, String>) {
        let files = changes.as_ref().ok().and_then(Option::as_ref).map(|c| c.files.as_slice());
        let before = self.known().cloned();
        let before = before.iter().flat_map(|changes| &changes.files).zip(&self.counts);
        let before: HashMap<&str, _> = before
            .map(|(change, counts)| (change.file.display.as_str(), (change, counts)))
            .collect();
        let counts = files.unwrap_or_default().iter().map(|change| {
            let earlier = before.get(change.file.display.as_str());
            let earlier = earlier.filter(|(earlier, _)| earlier.pair == change.pair);
            counted(change).or_else(|| earlier.and_then(|(_, counts)| **counts))
        });
        let counts = counts.collect();
        self.loaded = Some(self.head.revision);
        self.counts = counts;
        self.changes = match changes {
            Ok(changes) => Load::Known(changes),
            Err(why) => Load::Failed(why),
        };
    }

    /// Lines added and deleted over all files, and whether every file is counted.
    pub fn totals(&self) -> (u64, u64, bool) {
        let known = self.counts.iter().flatten();
        let (added, deleted) = known.fold((0, 0), |(added, deleted), counts| {
            (added + u64::from(counts.added), deleted + u64::from(counts.deleted))
        });
        (added, deleted, self.counts.iter().all(Option::is_some))
    }
}

fn counted(change: &crate::content::FileChange) -> Option<Counts> {
    let file = &change.file;
    change.counted.then(|| Counts {
        added: u32::try_from(file.added).unwrap_or(u32::MAX),
        deleted: u32::try_from(file.deleted).unwrap_or(u32::MAX),
        binary: file.binary,
        oversized: file.oversized,
        coarse: false,
        failed: false,
    })
}

/// One row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A turn, by index.
    Turn(usize),
    /// A word above a group.
    Heading(&'static str),
    /// A presented file of the open turn, by index.
    Presented(usize),
    /// A changed file of the open turn, by index.
    File(usize),
    /// "N files · +a −d".
    Total,
    /// A note of the open turn, by index.
    Note(usize),
    /// A word in the place of what is not there.
    Plain(&'static str),
}

impl Item {
    /// Whether it can be chosen.
    pub fn is_choice(self) -> bool {
        matches!(self, Self::Turn(_) | Self::Presented(_) | Self::File(_))
    }
}

/// The list's state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// Cursor and window, in rows of the list.
    pub view: Viewport,
    /// The open turn, by index.
    pub open: Option<usize>,
    items: Vec<Item>,
}

impl Outline {
    /// How many rows there are for `turns` turns.
    pub fn len(&self, turns: usize) -> usize {
        turns + if self.open.is_some() { self.items.len() } else { 0 }
    }

    /// The item in a row.
    pub fn item(&self, row: usize) -> Item {
        let open = self.open.unwrap_or(usize::MAX);
        if row <= open {
            return Item::Turn(row);
        }
        let below = row - open - 1;
        self.items.get(below).copied().unwrap_or_else(|| Item::Turn(row - self.items.len()))
    }

    /// The choice nearest to a row: from there on in a direction, else the last one before it.
    pub fn choice_from(&self, row: usize, forward: bool, len: usize) -> Option<usize> {
        let row = row.min(len.checked_sub(1)?);
        let is_choice = |row: &usize| self.item(*row).is_choice();
        let (below, above) = (|| (row..len).find(is_choice), || (0..=row).rev().find(is_choice));
        if forward { below().or_else(above) } else { above().or_else(below) }
    }

    /// Closes the open turn; gives its index.
    pub fn close(&mut self) -> Option<usize> {
        self.items.clear();
        self.open.take()
    }

    /// The row of an item; the open turn's row where it is not there.
    pub fn row_of(&self, item: Item) -> usize {
        let open = self.open.unwrap_or(usize::MAX);
        match item {
            Item::Turn(turn) if turn <= open => turn,
            Item::Turn(turn) => turn + self.items.len(),
            item => {
                let at = self.items.iter().position(|i| *i == item);
                at.map_or(self.open.unwrap_or(0), |at| self.open.unwrap_or(0) + 1 + at)
            }
        }
    }

    /// The item under the cursor.
    pub fn chosen(&self) -> Item {
        self.item(self.view.cursor)
    }

    /// The files that can be opened, in order, as items.
    pub fn files(&self) -> impl DoubleEndedIterator<Item = Item> + '_ {
        let is_file = |item: &Item| matches!(item, Item::Presented(_) | Item::File(_));
        self.items.iter().copied().filter(is_file)
    }

    /// The first changed file, else the first presented one.
    pub fn first_file(&self) -> Option<Item> {
        let changed = self.files().find(|item| matches!(item, Item::File(_)));
        changed.or_else(|| self.files().next())
    }

    /// Lists what stands below the open turn.
    pub fn fill(&mut self, turn: &TurnView) {
        self.items.clear();
        let presented = turn.head.turn.presented.len();
        if presented > 0 {
            self.items.push(Item::Heading("presented"));
            self.items.extend((0..presented).map(Item::Presented));
        }
        match &turn.changes {
            Load::Unasked | Load::Asked => self.items.push(Item::Plain("reading…")),
            Load::Failed(_) => self.items.push(Item::Note(0)),
            Load::Known(None) if presented == 0 => self.items.push(Item::Plain("no change known")),
            Load::Known(None) => {}
            Load::Known(Some(changes)) => {
                // The total stands above its files: below a thousand of them nobody would see it.
                if !changes.files.is_empty() {
                    self.items.push(Item::Total);
                }
                self.items.extend((0..changes.files.len()).map(Item::File));
                self.items.extend((0..changes.notes.len()).map(Item::Note));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{ContentId, FileChange, Pair};
    use crate::session::ChangedFile;

    #[test]
    fn rows_and_items_are_each_others_inverse() {
        let file = FileChange {
            file: ChangedFile::default(),
            pair: Pair::Sides { old: ContentId::Absent, new: ContentId::Absent },
            counted: false,
            note: None,
        };
        let mut turn = TurnView::default();
        turn.set_changes(Ok(Some(Arc::new(Changes {
            files: vec![file; 3],
            ..Changes::default()
        }))));
        for open in [None, Some(0), Some(2), Some(4)] {
            let mut outline = Outline { open, ..Outline::default() };
            outline.fill(&turn);
            for row in 0..outline.len(5) {
                let item = outline.item(row);
                assert_eq!(outline.row_of(item), row, "{open:?} {item:?}");
            }
        }
    }
}
