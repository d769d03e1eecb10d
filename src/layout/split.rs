//! Two columns: old lines at the left, new lines at the right, paired in order.

use super::{Layout, Row, RowKind};
use crate::diff::Change;

pub(super) struct Split;

impl Layout for Split {
    fn name(&self) -> &'static str {
        "side by side"
    }

    fn is_split(&self) -> bool {
        true
    }

    fn rows(&self, change: &Change, out: &mut Vec<Row>) {
        let (mut old, mut new) = (change.old.clone(), change.new.clone());
        loop {
            let row = match (old.next(), new.next()) {
                (None, None) => return,
                (Some(old), None) => Row::new(RowKind::Deleted, Some(old), None),
                (None, Some(new)) => Row::new(RowKind::Added, None, Some(new)),
                (old, new) => Row::new(RowKind::Changed, old, new),
            };
            out.push(row);
        }
    }
}
