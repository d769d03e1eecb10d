//! `handback record`: the recorder without a screen.

use super::environment::Environment;
use super::out;
use super::review::Session;
use crate::log::open::{LogFile, OpenOptions};
use crate::record::{RecordEvent, RecordOptions, follow};
use crate::session::path::escape_name;
use crate::store::{Exclude, Settings};
use crate::text;
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// What `record` takes.
#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    /// End when the log has told nothing for so long
    #[arg(long, value_name = "SECONDS")]
    until_idle: Option<f64>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// What wakes the command.
enum Message {
    Told(RecordEvent),
    Stop,
}

pub(super) fn run(environment: &Environment, args: &RecordArgs) -> anyhow::Result<()> {
    if environment.no_record {
        anyhow::bail!("--no-record: there is nothing to record");
    }
    let Session::Path(path) = Session::of(environment)? else {
        anyhow::bail!("record needs the log of a session: --session LOG");
    };
    let how = OpenOptions { format: environment.format.clone(), ..OpenOptions::default() };
    // What cannot be opened at all is an error, and not a log that is still to come.
    LogFile::open(&path, &how)?;
    let mut options = options(environment)?;
    options.until_idle = args.until_idle.map(Duration::try_from_secs_f64).transpose()?;

    let (sender, inbox) = channel();
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let handle = signals.handle();
    let stop = sender.clone();
    let waiting = thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in &mut signals {
            let _ = stop.send(Message::Stop);
        }
    })?;
    let following = follow(path, how, options, move |event| {
        let _ = sender.send(Message::Told(event));
    });
    let mut printed = Ok(());
    while let Ok(Message::Told(event)) = inbox.recv() {
        let is_over = event == RecordEvent::Ended;
        printed = print(&event, args.json);
        if is_over || printed.is_err() {
            break;
        }
    }
    following.stop();
    handle.close();
    let _ = waiting.join();
    for message in inbox.try_iter() {
        if let (Message::Told(event), Ok(())) = (message, &printed) {
            printed = print(&event, args.json);
        }
    }
    printed
}

/// How a session is recorded.
pub(super) fn options(environment: &Environment) -> anyhow::Result<RecordOptions> {
    Ok(RecordOptions {
        store: environment.store.clone(),
        settings: settings(environment)?,
        home: environment.places.home.clone(),
        cwd: environment.is_cwd_given.then(|| environment.cwd.clone()),
        git_dir: environment.git_dir.clone(),
        max_files: environment.max_files,
        diff_timeout: environment.diff_timeout,
        ..RecordOptions::default()
    })
}

/// The bounds of the store.
pub(super) fn settings(environment: &Environment) -> anyhow::Result<Settings> {
    let (store, record) = (&environment.config.store, &environment.config.record);
    let usual = Settings::default();
    let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 60 * 60);
    Ok(Settings {
        max_age: store.max_age.map_or(usual.max_age, days),
        max_bytes: store.max_bytes.unwrap_or(usual.max_bytes),
        record_max_bytes: record.max_bytes.unwrap_or(usual.record_max_bytes),
        max_file_bytes: environment.max_file_bytes.unwrap_or(usual.max_file_bytes),
        exclude: Exclude::new(&record.exclude)?,
    })
}

fn print(event: &RecordEvent, json: bool) -> anyhow::Result<()> {
    if json {
        if let RecordEvent::Notice(notice) = event {
            out::warn(notice);
        }
        return event.to_json().map_or(Ok(()), |line| out::json(&line));
    }
    let line = match event {
        RecordEvent::Warning(message) | RecordEvent::Notice(message) => {
            out::warn(message);
            return Ok(());
        }
        RecordEvent::Ended => return Ok(()),
        RecordEvent::Ready { session } => format!("recording session {session}"),
        RecordEvent::Baseline { turn, tree, late, ms } => {
            let late = if *late { ", late" } else { "" };
            let tree = tree.as_deref().unwrap_or("no repository");
            format!("turn {turn} · baseline {tree} ({ms} ms{late})")
        }
        RecordEvent::Capture { turn, path, .. } => {
            format!("turn {turn} · captured {}", escape_name(path.as_ref()))
        }
        RecordEvent::Changes(summary) => format!(
            "turn {} · {} files +{} -{}",
            summary.turn.unwrap_or_default(),
            summary.total,
            summary.added,
            summary.deleted
        ),
        RecordEvent::Unchanged { turn } => format!("turn {turn} · nothing changed"),
    };
    out::print(|out| Ok(writeln!(out, "{}", text::clean(&line))?))
}
