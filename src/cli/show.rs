//! `handback show`: turns, presented files and changes without a screen.

use super::args::{Form, OneFile, ShowArgs, Turns};
use super::environment::Environment;
use super::listing::{self, List};
use super::out;
use super::review::Session;
use crate::app::branch_words;
use crate::log::open::LogFile;
use crate::reader::{Reader, TurnHead, summary};
use crate::session::{Damage, RanCommand, SessionInfo, Turn, TurnState};
use crate::text;
use anyhow::Context;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Report {
    session: SessionInfo,
    turns: Vec<Turn>,
}

pub(super) fn run(environment: &Environment, args: &ShowArgs) -> anyhow::Result<()> {
    print(environment, args.turn, &args.one, args.forms.form())
}

/// Prints what `show` prints.
pub(super) fn print(
    environment: &Environment,
    which: Turns,
    one: &OneFile,
    form: Form,
) -> anyhow::Result<()> {
    let session = Session::of(environment)?;
    let mut reader = Reader::new(session.read_options(environment));
    // The demo's objects are there until this returns.
    let (log, _demo) = match session {
        Session::Path(path) => {
            (LogFile::open(&path, &environment.read_options().open_options())?, None)
        }
        Session::Bytes(log) => (log, None),
        Session::Demo(demo, log) => (log, Some(demo)),
    };
    reader.read_all(log)?;
    if let Some(missing) = reader.missing_branch() {
        anyhow::bail!(missing);
    }
    let heads = reader.heads(0);
    let last = heads.last().map_or(0, |head| head.turn.turn);
    let wanted = heads.iter().filter(|head| which.contains(head.turn.turn, last));
    let heads: Vec<TurnHead> = wanted.map(|head| head.clone()).collect();
    if heads.is_empty() && which != Turns::All {
        anyhow::bail!("{}: no such turn (there are {last})", reader.info().path);
    }
    if one.is_given() {
        return one_file(environment, &mut reader, &heads, one, form);
    }
    match form {
        Form::Json => report(environment, &mut reader, heads),
        Form::Patch => patches(environment, &mut reader, &heads),
        Form::Stat => stat(environment, &mut reader, &heads),
    }
}

/// The file list of a turn, if anything is known to have changed in it.
fn list(reader: &mut Reader, turn: u32) -> anyhow::Result<Option<List>> {
    let changes = reader.changes(turn).map_err(anyhow::Error::msg);
    let changes = changes.with_context(|| format!("turn {turn}"))?;
    Ok(changes.map(|changes| List { changes, objects: reader.objects(), rules: reader.rules() }))
}

fn report(
    environment: &Environment,
    reader: &mut Reader,
    heads: Vec<TurnHead>,
) -> anyhow::Result<()> {
    let (time, most) = (environment.diff_timeout, environment.max_files);
    let (mut turns, mut told) = (Vec::new(), Vec::new());
    for head in heads {
        let number = head.turn.turn;
        let mut changes = None;
        if let Some(list) = list(reader, number)? {
            let (summary, failures) =
                summary(&list.objects, &list.changes, Some(number), time, most);
            told.extend(failures.iter().map(|failure| format!("turn {number}: {failure}")));
            changes = Some(summary).filter(|summary| summary.total > 0);
        }
        let commands = reader.commands(number);
        turns.push(Turn { commands, changes, ..head.turn });
    }
    let mut session = reader.info();
    let warning = |message| Damage { line: None, offset: None, message };
    session.warnings.extend(told.into_iter().map(warning));
    out::json(&Report { session, turns })
}

/// One file of the last of the turns that has it.
fn one_file(
    environment: &Environment,
    reader: &mut Reader,
    heads: &[TurnHead],
    one: &OneFile,
    form: Form,
) -> anyhow::Result<()> {
    for head in heads.iter().rev() {
        let Some(list) = list(reader, head.turn.turn)? else { continue };
        if let Some(change) = list.find(one) {
            return listing::one(environment, &list, change, form);
        }
    }
    let turns = match heads {
        [only] => format!("turn {}", only.turn.turn),
        _ => "these turns".into(),
    };
    anyhow::bail!("{}: {turns}: {}", reader.info().path, listing::missing(one))
}

fn patches(
    environment: &Environment,
    reader: &mut Reader,
    heads: &[TurnHead],
) -> anyhow::Result<()> {
    out::print(|out| {
        for head in heads {
            if let Some(list) = list(reader, head.turn.turn)? {
                list.patch(environment, out)?;
            }
        }
        Ok(())
    })
}

fn stat(environment: &Environment, reader: &mut Reader, heads: &[TurnHead]) -> anyhow::Result<()> {
    let info = reader.info();
    for damage in &info.warnings {
        let place = match (damage.line, damage.offset) {
            (Some(line), _) => format!("line {line}: "),
            (None, Some(offset)) => format!("byte {offset}: "),
            (None, None) => String::new(),
        };
        out::warn(&format!("{}: {place}{}", info.path, damage.message));
    }
    out::print(|out| {
        let title = info.title.as_deref().map(text::first_line).unwrap_or_default();
        let branch = info.branch.and_then(branch_words);
        let branch = branch.map_or_else(String::new, |branch| format!(" · {branch}"));
        writeln!(out, "{} session {} {title}{branch}", info.format, text::clean(&info.id))?;
        for head in heads {
            turn(out, head)?;
            for command in reader.commands(head.turn.turn) {
                writeln!(out, "  {}", ran(&command))?;
            }
            if let Some(list) = list(reader, head.turn.turn)? {
                for failure in list.stat(environment, out)? {
                    out::warn(&failure);
                }
            }
        }
        Ok(())
    })
}

fn turn(out: &mut dyn Write, head: &TurnHead) -> std::io::Result<()> {
    let state = match head.turn.state {
        TurnState::Open => " · open",
        TurnState::Completed => "",
        TurnState::Interrupted => " · interrupted",
        TurnState::Failed => " · failed",
        TurnState::Blocked => " · blocked",
    };
    let prompt = text::fit(&text::first_line(&head.turn.prompt), 72);
    writeln!(out, "\nturn {}{state} · {prompt}", head.turn.turn)?;
    for file in &head.turn.presented {
        let status = match file.status {
            crate::session::PresentStatus::Present => "presented",
            crate::session::PresentStatus::Missing => "presented, missing now",
            crate::session::PresentStatus::Changed => "presented, changed since",
            crate::session::PresentStatus::Denied => "presented, not readable",
        };
        let what = file.description.as_deref().map(text::first_line).unwrap_or_default();
        writeln!(out, "  ◆ {}  {status}  {what}", text::clean(&file.display))?;
    }
    Ok(())
}

/// `✗ test (exit 101)  cargo test`
fn ran(command: &RanCommand) -> String {
    let (mark, kind) = (command.outcome.mark(), command.kind.word());
    let code = command.exit_code.filter(|code| *code != 0);
    let code = code.map_or_else(String::new, |code| format!(" (exit {code})"));
    format!("{mark} {kind}{code}  {}", text::fit(&text::first_line(&command.command), 72))
}
