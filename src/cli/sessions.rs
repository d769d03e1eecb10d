//! `handback sessions`: the sessions of this directory, or of all, newest first.

use super::args::SessionsArgs;
use super::environment::Environment;
use super::out;
use crate::app::age;
use crate::log::FoundSession;
use crate::log::discover::discover_all;
use crate::reader::brief;
use crate::text;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    agent: &'static str,
    id: String,
    title: Option<String>,
    cwd: Option<String>,
    turns: Option<usize>,
    /// Milliseconds since the epoch.
    modified: u128,
    path: String,
}

pub(super) fn run(environment: &Environment, args: &SessionsArgs) -> anyhow::Result<()> {
    let cwd = (!args.all).then_some(environment.cwd.as_path());
    let found = discover_all(&environment.places, cwd);
    let rows: Vec<Row> = found.iter().map(row).collect();
    if args.json {
        return out::json(&rows);
    }
    let now = SystemTime::now();
    out::print(|out| {
        for (row, found) in rows.iter().zip(&found) {
            let age = age(now.duration_since(found.modified).unwrap_or_default().as_secs());
            let turns = row.turns.map_or_else(|| "?".into(), |turns| turns.to_string());
            let title = text::fit(&text::first_line(row.title.as_deref().unwrap_or("")), 60);
            let cwd = row.cwd.as_deref().filter(|_| args.all).map(text::clean).unwrap_or_default();
            let id = text::clean(&row.id);
            writeln!(out, "{age:>4}  {:<8}  {turns:>4} turns  {id}  {title}  {cwd}", row.agent)?;
        }
        if rows.is_empty() {
            out::warn("no session of this directory (--all lists those of every directory)");
        }
        Ok(())
    })
}

/// A row; a log that cannot be read is listed all the same.
fn row(found: &FoundSession) -> Row {
    let brief = brief(found, &|| true).unwrap_or_default();
    let modified = found.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Row {
        agent: found.format,
        id: found.id.clone(),
        title: brief.title,
        cwd: found.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
        turns: brief.turns,
        modified: modified.as_millis(),
        path: found.path.to_string_lossy().into_owned(),
    }
}
