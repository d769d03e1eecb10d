//! Rows of a log read again, and what edits did out of them.

use super::LogFormat;
use super::source::{Rows, Stored};
use crate::session::event::{Edit, EditBody, EditSource, Place};
use std::cell::RefCell;
use std::sync::Arc;

/// A log whose rows can be read again; without its bytes only what events keep is known.
#[derive(Default)]
pub struct LogRows {
    format: Option<&'static dyn LogFormat>,
    rows: Option<RefCell<Rows>>,
}

impl LogRows {
    /// The rows of a log of this format; `stored` is none for a log that is not lines.
    pub fn new(format: Option<&'static dyn LogFormat>, stored: Option<Stored>) -> Self {
        let rows = stored.and_then(|stored| Rows::new(stored).ok()).map(RefCell::new);
        Self { format, rows }
    }

    /// The log's format, once it is known.
    pub fn format(&self) -> Option<&'static dyn LogFormat> {
        self.format
    }

    /// The row at a place; none where it cannot be read (any more).
    pub fn row(&self, place: &Place) -> Option<Vec<u8>> {
        self.rows.as_ref()?.borrow_mut().row(place).ok()
    }

    /// What an edit did; `nth` is its 0-based place among the edits of its call.
    pub fn edit_body(&self, edit: &Edit, nth: usize) -> Option<Arc<EditBody>> {
        match &edit.body {
            EditSource::Kept(body) => Some(Arc::clone(body)),
            EditSource::InLog { call, result } => {
                let call = self.row(call)?;
                let result = result.as_ref().and_then(|place| self.row(place));
                Some(Arc::new(self.format?.edit_body(&call, result.as_deref(), nth)))
            }
        }
    }
}
