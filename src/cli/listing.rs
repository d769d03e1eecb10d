//! A list of changed files on standard output: counted, as a patch, or one file of it.

use super::args::{Form, OneFile};
use super::environment::Environment;
use super::out;
use crate::content::{Changes, FileChange, GitObjects};
use crate::diff::Limit;
use crate::reader::{Shown, compare, summary, write_patch};
use crate::session::path::PathRules;
use crate::session::{ChangesSource, FileDiff};
use crate::text;
use std::io::Write;

/// Changed files with what is needed to compare them.
pub(super) struct List {
    pub(super) changes: Changes,
    pub(super) objects: GitObjects,
    pub(super) rules: PathRules,
}

impl List {
    /// The file that is meant: by its path, as listed or as shown, or by its place.
    pub(super) fn find(&self, one: &OneFile) -> Option<&FileChange> {
        let files = &self.changes.files;
        match (&one.file, one.index) {
            (_, Some(index)) => files.get(index),
            (Some(path), None) => {
                let path_is = |change: &&FileChange| change.file.path == *path;
                let display_is = |change: &&FileChange| change.file.display == *path;
                files.iter().find(path_is).or_else(|| files.iter().find(display_is))
            }
            (None, None) => None,
        }
    }

    /// Compares within the time that the settings give.
    fn compare(&self, environment: &Environment, change: &FileChange) -> Shown {
        let limit = Limit::within(environment.diff_timeout);
        compare(&self.objects, change, &limit).unwrap_or_else(|e| Shown::Failed(e.to_string()))
    }

    pub(super) fn patch(
        &self,
        environment: &Environment,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        for note in &self.changes.notes {
            out::warn(note);
        }
        for change in &self.changes.files {
            self.patch_one(environment, change, out)?;
        }
        Ok(())
    }

    /// One file's patch. What a patch cannot carry is left out, and that is said: `git apply`
    /// refuses a whole patch for it.
    fn patch_one(
        &self,
        environment: &Environment,
        change: &FileChange,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let shown = self.compare(environment, change);
        let file = &change.file.display;
        match &shown {
            Shown::Failed(why) => anyhow::bail!("{file}: {why}"),
            Shown::Oversized(..) => {
                out::warn(&format!("{file}: left out: larger than --max-file-bytes"));
            }
            Shown::Binary(..) => out::warn(&format!("{file}: left out: binary")),
            Shown::Text(comparison) if comparison.coarse => {
                out::warn(&format!("{file}: coarse: the comparison ran out of time"));
            }
            Shown::Text(_) => {}
        }
        let is_text = matches!(shown, Shown::Text(_));
        if is_text || is_moved_only(change) {
            write_patch(out, change, &shown, &self.rules, environment.context)?;
        }
        Ok(())
    }

    /// The list with counts; gives a line for each file that cannot be read.
    pub(super) fn stat(
        &self,
        environment: &Environment,
        out: &mut dyn Write,
    ) -> anyhow::Result<Vec<String>> {
        let time = environment.diff_timeout;
        let (summary, failures) = summary(&self.objects, &self.changes, None, time, usize::MAX);
        let widest = summary.files.iter().map(|f| text::width(&f.display)).max().unwrap_or(0);
        for file in &summary.files {
            let letter = file.status.letter();
            let display = text::clean(&file.display);
            let padding = widest.min(60).saturating_sub(text::width(&display));
            let counts = match (file.binary, file.oversized) {
                (true, _) => "binary".to_owned(),
                (_, true) => "too large".to_owned(),
                _ => format!("+{} -{}", file.added, file.deleted),
            };
            let from = file.old_path.as_deref().map(text::clean);
            let from = from.map_or_else(String::new, |from| format!("  from {from}"));
            writeln!(out, "  {letter} {display}{:padding$}  {counts}{from}", "")?;
        }
        for note in &self.changes.notes {
            writeln!(out, "  ! {}", text::clean(note))?;
        }
        if summary.total > 0 {
            let noun = if summary.total == 1 { "file" } else { "files" };
            let source = match summary.source {
                ChangesSource::Recorded => "recorded",
                ChangesSource::Snapshot => "snapshot",
                ChangesSource::Replayed => "replayed from the log",
                ChangesSource::Hunks => "hunks of the log",
            };
            let (total, added, deleted) = (summary.total, summary.added, summary.deleted);
            writeln!(out, "  {total} {noun} · +{added} -{deleted} · {source}")?;
        }
        Ok(failures)
    }

    /// Prints the list; a file that cannot be read is an error.
    pub(super) fn print_stat(&self, environment: &Environment) -> anyhow::Result<()> {
        let mut failures = Vec::new();
        out::print(|out| {
            failures = self.stat(environment, out)?;
            Ok(())
        })?;
        match failures.into_iter().next() {
            Some(failure) => anyhow::bail!(failure),
            None => Ok(()),
        }
    }
}

/// Why no file could be found.
pub(super) fn missing(one: &OneFile) -> String {
    match (&one.file, one.index) {
        (Some(file), _) => format!("no changed file {file}"),
        (None, Some(index)) => format!("no changed file at index {index}"),
        (None, None) => "no changed file".into(),
    }
}

/// Prints the comparison of one file.
pub(super) fn one(
    environment: &Environment,
    list: &List,
    change: &FileChange,
    form: Form,
) -> anyhow::Result<()> {
    let shown = list.compare(environment, change);
    match form {
        Form::Json => {
            let diff = file_diff(change, &shown, environment.context)?;
            out::json(&diff)
        }
        Form::Patch => out::print(|out| list.patch_one(environment, change, out)),
        Form::Stat => {
            let changes = Changes { files: vec![change.clone()], ..list.changes.clone() };
            let list = List { changes, objects: list.objects.clone(), rules: list.rules.clone() };
            list.print_stat(environment)
        }
    }
}

/// Both sides are the same object: nothing but the header is to be written.
fn is_moved_only(change: &FileChange) -> bool {
    use crate::content::{ContentId, Pair};
    let Pair::Sides { old: ContentId::Blob { id: old, .. }, new: ContentId::Blob { id: new, .. } } =
        &change.pair
    else {
        return false;
    };
    old == new
}

/// The comparison of the outside interface.
pub(super) fn file_diff(
    change: &FileChange,
    shown: &Shown,
    context: u32,
) -> anyhow::Result<FileDiff> {
    let (path, display) = (change.file.path.clone(), change.file.display.clone());
    Ok(match shown {
        Shown::Text(comparison) => comparison.to_file_diff(&path, &display, context),
        Shown::Binary(..) => FileDiff::Binary { path, display },
        Shown::Oversized(..) => FileDiff::Oversized { path, display },
        Shown::Failed(why) => anyhow::bail!("{display}: {why}"),
    })
}
