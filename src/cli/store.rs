//! `handback store`: what is kept, how large it is, whether it is whole.

use super::environment::Environment;
use super::{out, record};
use crate::store::{SessionSize, Store};
use crate::text;
use clap::{Args, Subcommand};
use std::io::Write;
use std::time::SystemTime;

/// What `store` takes.
#[derive(Debug, Args)]
pub(super) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum StoreCommand {
    /// List what is kept of each session, the one recorded last first
    Status,
    /// Remove what is too old, and the oldest while the store is too large
    Gc,
    /// Check every row and every object
    Verify,
}

pub(super) fn run(environment: &Environment, args: &StoreArgs) -> anyhow::Result<()> {
    let store = Store::open(&environment.store)?;
    match args.command {
        StoreCommand::Status => status(&store, args.json),
        StoreCommand::Gc => gc(environment, &store, args.json),
        StoreCommand::Verify => verify(&store, args.json),
    }
}

fn status(store: &Store, json: bool) -> anyhow::Result<()> {
    let sizes = store.status()?;
    let bytes: u64 = sizes.iter().map(|size| size.bytes).sum();
    if json {
        return out::json(&serde_json::json!({
            "path": store.root(),
            "bytes": bytes,
            "sessions": sizes,
        }));
    }
    for problem in sizes.iter().filter_map(|size| size.problem.as_ref()) {
        out::warn(problem);
    }
    out::print(|out| {
        let count = sizes.len();
        writeln!(out, "{}: {count} sessions, {}", store.root().display(), size(bytes))?;
        for session in &sizes {
            line(out, session)?;
        }
        Ok(())
    })
}

fn line(out: &mut dyn Write, session: &SessionSize) -> std::io::Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let state = if session.recorded { "recording" } else { "" };
    let kept = &session.session;
    let name = if kept.id.is_empty() { &kept.path } else { &kept.id };
    writeln!(
        out,
        "{:>9}  {:>8}  {:<9}  {:<8}  {}",
        size(session.bytes),
        age(now.saturating_sub(session.changed_at)),
        state,
        text::clean(&kept.format),
        text::clean(name),
    )
}

fn gc(environment: &Environment, store: &Store, json: bool) -> anyhow::Result<()> {
    let report = store.gc(&record::settings(environment)?, SystemTime::now())?;
    if json {
        return out::json(&report);
    }
    for problem in &report.problems {
        out::warn(problem);
    }
    out::print(|out| {
        let (removed, freed) = (report.removed.len(), size(report.freed));
        writeln!(out, "removed {removed} sessions, freed {freed}, {} left", size(report.left))?;
        Ok(())
    })
}

fn verify(store: &Store, json: bool) -> anyhow::Result<()> {
    let report = store.verify()?;
    if json {
        out::json(&report)?;
    } else {
        out::print(|out| {
            for problem in &report.problems {
                writeln!(out, "{}", text::clean(problem))?;
            }
            writeln!(
                out,
                "{} sessions, {} turns, {} objects: {}",
                report.sessions,
                report.turns,
                report.objects,
                if report.problems.is_empty() { "all whole" } else { "not whole" }
            )?;
            Ok(())
        })?;
    }
    match report.problems.first() {
        None => Ok(()),
        Some(first) => anyhow::bail!("{}: {first}", store.root().display()),
    }
}

/// Bytes for a person.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes.saturating_mul(10) / 1024;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while tenths >= 10_240
        && let Some(next) = units.next()
    {
        (tenths, unit) = (tenths / 1024, Some(next));
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, unit.unwrap_or(&""))
}

/// Milliseconds for a person.
fn age(ms: i64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        ..1 => "just now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1440 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_read_well() {
        assert_eq!([size(0), size(1023), size(1024)], ["0 B", "1023 B", "1.0 KiB"]);
        assert_eq!([size(1 << 20), size(3 << 30)], ["1.0 MiB", "3.0 GiB"]);
        assert!(size(u64::MAX).ends_with("TiB"));
        assert_eq!([age(-5), age(59_999), age(60_000)], ["just now", "just now", "1 min"]);
        assert_eq!([age(7_200_000), age(200_000_000)], ["2 h", "2 days"]);
    }
}
