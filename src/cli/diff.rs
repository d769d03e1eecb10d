//! `handback diff`: two files, or two revisions or trees of a repository.

use super::args::{DiffArgs, Form};
use super::environment::Environment;
use super::listing::{self, List};
use super::{out, review};
use crate::content::disk::canonical;
use crate::content::{Changes, ContentId, FileChange, Pair};
use crate::reader::{open_objects, rules, summary};
use crate::session::path::PathRules;
use crate::session::{ChangedFile, ChangesSource, FileStatus};
use crate::shell::Opening;
use crate::snapshot::compare::{TreePlace, changes_between};
use std::path::Path;

const NO_FILE: &str = "/dev/null";

pub(super) fn run(environment: &Environment, args: &DiffArgs) -> anyhow::Result<()> {
    let is_file = |given: &str| {
        let path = environment.path(Path::new(given));
        given == NO_FILE || path.exists() && !path.is_dir()
    };
    let looks_like_path =
        |given: &str| given.contains('/') || environment.path(Path::new(given)).exists();
    let (old, new) = (args.old.as_str(), args.new.as_str());
    // Two names that are both files are files; a path beside one says that files are meant.
    let files = is_file(old) && is_file(new)
        || (old == NO_FILE || new == NO_FILE)
        || is_file(old) && looks_like_path(new)
        || is_file(new) && looks_like_path(old);
    let list =
        if files { of_files(environment, old, new)? } else { of_trees(environment, old, new)? };
    if args.review {
        let title = format!("{old} → {new}");
        let List { changes, objects, .. } = list;
        return review::review(environment, Opening::Changes { title, changes, objects });
    }
    let form = args.forms.form();
    if args.one.is_given() {
        let change = list.find(&args.one);
        let change = change
            .ok_or_else(|| anyhow::anyhow!("{old}..{new}: {}", listing::missing(&args.one)))?;
        return listing::one(environment, &list, change, form);
    }
    match form {
        Form::Json if files => {
            let Some(change) = list.changes.files.first() else { return Ok(()) };
            listing::one(environment, &list, change, form)
        }
        Form::Json => {
            let (time, most) = (environment.diff_timeout, environment.max_files);
            let (summary, failures) = summary(&list.objects, &list.changes, None, time, most);
            match failures.into_iter().next() {
                Some(failure) => anyhow::bail!(failure),
                None => out::json(&summary),
            }
        }
        Form::Patch => out::print(|out| list.patch(environment, out)),
        Form::Stat => list.print_stat(environment),
    }
}

/// Two files as one changed file. They were named one by one, so they are compared whatever their
/// size, unless a limit was given.
fn of_files(environment: &Environment, old: &str, new: &str) -> anyhow::Result<List> {
    let mut options = environment.read_options();
    options.max_file_bytes = environment.max_file_bytes.unwrap_or(u64::MAX);
    let objects = crate::content::GitObjects::default().with_max_file_bytes(options.max_file_bytes);
    let side = |given: &str| -> anyhow::Result<ContentId> {
        if given == NO_FILE {
            return Ok(ContentId::Absent);
        }
        let path = environment.path(Path::new(given));
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => anyhow::bail!("{given}: is a directory"),
            // The person named it: a link is followed.
            Ok(metadata) if metadata.is_file() => Ok(ContentId::File(canonical(&path))),
            // `<(command)` of a shell is a pipe.
            Ok(_) => match std::fs::read(&path) {
                Ok(bytes) => Ok(ContentId::Bytes(bytes.into())),
                Err(error) => anyhow::bail!("{given}: {error}"),
            },
            Err(error) => anyhow::bail!("{given}: {error}"),
        }
    };
    let (old_side, new_side) = (side(old)?, side(new)?);
    let status = match (&old_side, &new_side) {
        (ContentId::Absent, _) => FileStatus::Added,
        (_, ContentId::Absent) => FileStatus::Deleted,
        _ => FileStatus::Modified,
    };
    let name = if new == NO_FILE { old } else { new };
    let file =
        ChangedFile { path: name.into(), display: name.into(), status, ..ChangedFile::default() };
    let pair = Pair::Sides { old: old_side, new: new_side };
    let change = FileChange { file, pair, counted: false, note: None };
    let changes = Changes {
        source: ChangesSource::Snapshot,
        cwd: environment.cwd.to_string_lossy().into_owned(),
        files: vec![change],
        ..Changes::default()
    };
    let root = environment.cwd.clone();
    let rules = PathRules { cwd: root.clone(), root, home: environment.places.home.clone() };
    Ok(List { changes, objects, rules })
}

fn of_trees(environment: &Environment, old: &str, new: &str) -> anyhow::Result<List> {
    let objects = open_objects(&environment.read_options(), &environment.cwd)?;
    let (before, after) = (objects.resolve_tree(old)?, objects.resolve_tree(new)?);
    let cwd = match objects.work_tree() {
        // A repository named by its git directory: its paths are shown from its own root.
        Some(root) if environment.git_dir.is_some() => root.to_owned(),
        _ => environment.cwd.clone(),
    };
    let rules = rules(&cwd, &objects, &environment.places.home);
    let place = TreePlace { root: &rules.root, rules: &rules };
    let changes = changes_between(&objects, &before, &after, &place)?;
    Ok(List { changes, objects, rules })
}
