//! Where replay gets its texts from: the log's own rows, the work tree, the base commit.

use crate::content::disk::canonical;
use crate::content::{Content, ContentId, GitObjects, Source};
use crate::log::LogFormat;
use crate::log::source::Rows;
use crate::replay::{State, Texts};
use crate::session::event::{Edit, EditBody, EditSource, KnownText, KnownTextSource};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The texts of one opened session.
pub(super) struct LogTexts<'a> {
    pub(super) format: Option<&'static dyn LogFormat>,
    pub(super) rows: Option<RefCell<Rows>>,
    pub(super) objects: &'a GitObjects,
    /// Whether the session's directory is on this machine.
    pub(super) is_here: bool,
    /// The tree of the commit that the session began on.
    pub(super) base_tree: Option<String>,
}

impl LogTexts<'_> {
    fn read(&self, id: &ContentId) -> State {
        match self.objects.read(id) {
            Ok(Content::Text(bytes)) => State::Text(bytes),
            Ok(Content::Absent) => State::Absent,
            _ => State::Unknown,
        }
    }

    fn row(&self, place: &crate::session::event::Place) -> Option<Vec<u8>> {
        self.rows.as_ref()?.borrow_mut().row(place).ok()
    }
}

impl Texts for LogTexts<'_> {
    fn edit_body(&self, edit: &Edit, nth: usize) -> Option<Arc<EditBody>> {
        match &edit.body {
            EditSource::Kept(body) => Some(Arc::clone(body)),
            EditSource::InLog { call, result } => {
                let call = self.row(call)?;
                let result = result.as_ref().and_then(|place| self.row(place));
                Some(Arc::new(self.format?.edit_body(&call, result.as_deref(), nth)))
            }
        }
    }

    fn known_text(&self, known: &KnownText) -> State {
        let text = match &known.text {
            KnownTextSource::Absent => return State::Absent,
            KnownTextSource::Kept(text) => Some(text.to_string()),
            KnownTextSource::InLog(place) => {
                let row = self.row(place);
                row.and_then(|row| self.format?.known_text(&row))
            }
            KnownTextSource::File(path) => return self.read(&ContentId::File(path.into())),
        };
        text.map_or(State::Unknown, |text| State::Text(text.into_bytes().into()))
    }

    fn on_disk(&self, path: &Path) -> State {
        if self.is_here { self.read(&ContentId::File(path.to_owned())) } else { State::Unknown }
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        if self.is_here { canonical(path) } else { path.to_owned() }
    }

    fn at_base(&self, path: &Path) -> State {
        let Some(tree) = &self.base_tree else { return State::Unknown };
        let Some(inside) = self.objects.work_tree().and_then(|root| path.strip_prefix(root).ok())
        else {
            return State::Unknown;
        };
        match self.objects.find(tree, inside.as_os_str().as_encoded_bytes()) {
            Ok(id) => self.read(&id),
            Err(_) => State::Unknown,
        }
    }
}
