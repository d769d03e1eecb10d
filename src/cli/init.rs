//! `handback init`: our hooks in an agent's settings.

use super::environment::Environment;
use super::out;
use crate::bridge::settings::{self, Change, Wish};
use crate::text::clean;
use anyhow::Context;
use clap::Args;
use std::env;

/// What `init` takes.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// Whose settings
    #[arg(value_parser = settings::agents().collect::<Vec<_>>())]
    agent: String,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct How {
    /// Print the change of the agent's settings file, as a patch (the default)
    #[arg(long)]
    print: bool,
    /// Make the change; the file as it was stays beside it
    #[arg(long)]
    write: bool,
    /// Take our hooks out again
    #[arg(long)]
    remove: bool,
}

pub(super) fn run(environment: &Environment, args: &InitArgs) -> anyhow::Result<()> {
    let program = env::current_exe().context("this program's own path is not known")?;
    let wish = if args.how.remove { Wish::Remove } else { Wish::Install };
    let plan = settings::plan(&args.agent, wish, &program, &environment.places)?;
    let Some(plan) = plan else { return Ok(()) };
    match &plan.change {
        None if wish == Wish::Remove => say(&format!("{}: there are no hooks of ours", args.agent)),
        None => say(plan.word),
        Some(change) if change.is_nothing() => {
            let what = if wish == Wish::Remove { "there are no" } else { "it has these" };
            say(&format!("{}: {what} hooks of ours", change.path.display()))
        }
        Some(change) if args.how.write || args.how.remove => make(change, wish, plan.word),
        Some(change) => {
            out::print(|out| Ok(change.write_patch(out)?))?;
            out::warn(&format!("`handback init {} --write` makes this change", args.agent));
            out::warn(plan.word);
            Ok(())
        }
    }
}

fn make(change: &Change, wish: Wish, word: &str) -> anyhow::Result<()> {
    let backup = change.make()?;
    let done = if wish == Wish::Remove { "hooks removed" } else { "hooks installed" };
    let before = backup.map(|path| format!("; as it was: {}", path.display())).unwrap_or_default();
    say(&format!("{}: {done}{before}", change.path.display()))?;
    if wish == Wish::Install { say(word) } else { Ok(()) }
}

fn say(line: &str) -> anyhow::Result<()> {
    out::print(|out| Ok(writeln!(out, "{}", clean(line))?))
}
