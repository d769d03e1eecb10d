//! Where replay gets its texts from: the log's own rows, the work tree, the base commit.

use crate::content::disk::canonical;
use crate::content::{Content, ContentId, GitObjects, Source};
use crate::log::again::LogRows;
use crate::replay::{State, Texts};
use crate::session::event::{Edit, EditBody, KnownText, KnownTextSource};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The texts of one opened session.
pub(super) struct LogTexts<'a> {
    pub(super) rows: LogRows,
    pub(super) objects: &'a GitObjects,
    /// Whether the session's directory is on this machine.
    pub(super) is_here: bool,
    /// The tree of the commit that the session began on.
    pub(super) base_tree: Option<String>,
}

impl LogTexts<'_> {
    fn in_tree(&self, tree: &str, path: &[u8]) -> State {
        self.objects.find(tree, path).map_or(State::Unknown, |id| self.read(&id))
    }

    fn read(&self, id: &ContentId) -> State {
        match self.objects.read(id) {
            Ok(Content::Text(bytes)) => State::Text(bytes),
            Ok(Content::Absent) => State::Absent,
            _ => State::Unknown,
        }
    }
}

impl Texts for LogTexts<'_> {
    fn edit_body(&self, edit: &Edit, nth: usize) -> Option<Arc<EditBody>> {
        self.rows.edit_body(edit, nth)
    }

    fn known_text(&self, known: &KnownText) -> State {
        let text = match &known.text {
            KnownTextSource::Absent => return State::Absent,
            KnownTextSource::Kept(text) => Some(text.to_string()),
            KnownTextSource::InLog(place) => {
                let row = self.rows.row(place);
                row.and_then(|row| self.rows.format()?.known_text(&row))
            }
            KnownTextSource::File(path) => return self.read(&ContentId::File(path.into())),
            KnownTextSource::InTree { tree, path, .. } => {
                let tree = self.objects.resolve_tree(tree);
                let text = tree.map(|tree| self.in_tree(&tree, path.as_bytes()));
                // What is not in the tree may have been ignored there.
                return text.ok().filter(|text| *text != State::Absent).unwrap_or_default();
            }
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
        self.in_tree(tree, inside.as_os_str().as_encoded_bytes())
    }
}
