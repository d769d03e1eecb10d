//! Hints that something in a folder changed. A hint is never an answer: who gets one looks at the file itself.

use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::SyncSender;

/// A watched folder, until it is dropped. The folder and not the file is watched, because a file
/// that is replaced by rename is another file under the same name.
#[derive(Debug)]
pub(super) struct Watch {
    _watcher: RecommendedWatcher,
}

impl Watch {
    /// Watches `dir` and sends a hint for each change of an entry whose name begins as one of
    /// `names` (any entry where there are none). Hints that nobody took yet are not sent twice.
    pub(super) fn new(
        dir: &Path,
        names: Vec<OsString>,
        hints: SyncSender<()>,
    ) -> notify::Result<Self> {
        let handler = move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| matters(&event, &names)) {
                // Full: a hint waits already. Closed: nobody wants hints any more.
                let _ = hints.try_send(());
            }
        };
        let mut watcher = RecommendedWatcher::new(handler, Config::default())?;
        watcher.watch(dir, RecursiveMode::NonRecursive)?;
        Ok(Self { _watcher: watcher })
    }
}

fn matters(event: &Event, names: &[OsString]) -> bool {
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    let wanted = |path: &Path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        names.iter().any(|start| name.starts_with(start.as_encoded_bytes()))
    };
    names.is_empty() || event.paths.is_empty() || event.paths.iter().any(|path| wanted(path))
}
