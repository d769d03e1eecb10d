//! `handback snapshot`: the work tree as it is, into the store.

use super::environment::Environment;
use super::{out, record};
use crate::record::keep_snapshot;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;

/// What `snapshot` takes.
#[derive(Debug, Args)]
pub(super) struct SnapshotArgs {
    /// A directory of the work tree [default: the current one]
    dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    tree: String,
    root: String,
    objects: String,
    files: usize,
    ms: u64,
    skipped: Vec<Skipped>,
}

#[derive(Serialize)]
struct Skipped {
    path: String,
    cause: String,
}

pub(super) fn run(environment: &Environment, args: &SnapshotArgs) -> anyhow::Result<()> {
    let dir =
        args.dir.as_ref().map_or_else(|| environment.cwd.clone(), |dir| environment.path(dir));
    let settings = record::settings(environment)?;
    let git_dir = environment.git_dir.as_deref();
    let kept = keep_snapshot(&environment.store, &settings, &dir, git_dir)?;
    let skipped = kept.snapshot.skipped.iter();
    if !args.json {
        for (path, cause) in skipped {
            out::warn(&format!("{}: {cause}", path.display()));
        }
        return out::print(|out| Ok(writeln!(out, "{}", kept.snapshot.tree)?));
    }
    let skipped = skipped
        .map(|(path, cause)| Skipped { path: path.display().to_string(), cause: cause.clone() });
    out::json(&Report {
        tree: kept.snapshot.tree.clone(),
        root: kept.root.display().to_string(),
        objects: kept.objects.display().to_string(),
        files: kept.snapshot.files,
        ms: kept.snapshot.millis,
        skipped: skipped.collect(),
    })
}
