//! One snapshot of a work tree, kept without a session.

use super::hand::now;
use super::workspace::Site;
use crate::content::disk::canonical;
use crate::snapshot::{Snapshot, Snapshotter};
use crate::store::kept::{Baseline, KeptSession};
use crate::store::{Recording, SessionKey, Settings, Store};
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

/// A snapshot that was kept.
#[derive(Debug, Clone)]
pub struct KeptSnapshot {
    /// What was taken.
    pub snapshot: Snapshot,
    /// The top of its work tree.
    pub root: PathBuf,
    /// The object directory that holds what the repository does not.
    pub objects: PathBuf,
}

/// Takes the work tree around `directory` into the store at `root`. All snapshots of a work tree
/// stand together, each with a number of its own.
///
/// # Errors
/// There is no repository, it cannot be read, or the store cannot be written.
pub fn keep_snapshot(
    root: &Path,
    settings: &Settings,
    directory: &Path,
    git_dir: Option<&Path>,
) -> anyhow::Result<KeptSnapshot> {
    let directory = canonical(directory);
    let site =
        Site { cwd: directory.clone(), git_dir: git_dir.map(Path::to_path_buf), ..Site::default() };
    let name = directory.display().to_string();
    let info = KeptSession {
        format: "snapshot".into(),
        path: name.clone(),
        cwd: Some(name.clone()),
        objects: site.object_format(),
        created_at: now(),
        ..KeptSession::default()
    };
    let top = site.work_tree().with_context(|| format!("{name}: not in a git repository"))?;
    let key = SessionKey::of_log("snapshot", &top);
    let store = Store::open(root)?;
    let mut writer = wait_for_writer(&store, &key, &info, settings)?;
    let number = store.session(&key)?.and_then(|s| s.baselines.keys().last().copied());
    let objects = writer.objects().path().to_path_buf();
    let cache = writer.stat_cache();
    let mut snapshotter = Snapshotter::open(&directory, git_dir, &objects, Some(&cache))?
        .with_context(|| format!("{name}: not in a git repository"))?;
    let snapshot = snapshotter.take(&AtomicBool::new(false))?;
    writer.baseline(Baseline {
        turn: number.unwrap_or(0).saturating_add(1),
        tree: Some(snapshot.tree.clone()),
        ms: snapshot.millis,
        at: now(),
        ..Baseline::default()
    })?;
    Ok(KeptSnapshot { snapshot, root: snapshotter.root().to_path_buf(), objects })
}

/// Two snapshots of one work tree at the same time wait for each other.
fn wait_for_writer(
    store: &Store,
    key: &SessionKey,
    info: &KeptSession,
    settings: &Settings,
) -> anyhow::Result<Box<crate::store::Writer>> {
    for _ in 0..600 {
        match store.writer(key, info, settings.clone())? {
            Recording::Writer(writer) => return Ok(writer),
            Recording::Follower => thread::sleep(Duration::from_millis(100)),
        }
    }
    anyhow::bail!("{}: another snapshot of this work tree takes too long", store.root().display())
}
