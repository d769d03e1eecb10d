//! Arguments → one command each. Errors become exit codes here and nowhere else.

mod args;
mod config;
mod demo;
mod diff;
mod environment;
mod hook;
mod init;
mod listing;
mod manual;
mod out;
mod record;
mod review;
mod sessions;
mod show;
mod snapshot;
mod store;

use args::{Cli, Command};
use clap::Parser;
use environment::Environment;
use std::process::ExitCode;

/// Runs the program: reads the command line, does what it says, tells how that went.
///
/// Exit codes: 0 done; 1 something was found and is wrong, said in one line on standard error;
/// 2 the command line is wrong.
pub fn run() -> ExitCode {
    // A wrong command line ends here, with clap's message and code 2.
    let cli = Cli::parse();
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if out::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            out::complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(cli: Cli) -> anyhow::Result<()> {
    let command = match cli.command {
        Some(Command::Completions { shell }) => return manual::completions(shell),
        Some(Command::Man) => return manual::man(),
        Some(Command::Hook(args)) => {
            hook::run(&cli.common, &args);
            return Ok(());
        }
        other => other,
    };
    let environment = Environment::of(&cli.common)?;
    match command {
        None => review::run(&environment),
        Some(Command::Show(args)) => show::run(&environment, &args),
        Some(Command::Diff(args)) => diff::run(&environment, &args),
        Some(Command::Sessions(args)) => sessions::run(&environment, &args),
        Some(Command::Record(args)) => record::run(&environment, &args),
        Some(Command::Snapshot(args)) => snapshot::run(&environment, &args),
        Some(Command::Store(args)) => store::run(&environment, &args),
        Some(Command::Init(args)) => init::run(&environment, &args),
        Some(Command::Hook(_) | Command::Completions { .. } | Command::Man) => Ok(()),
    }
}
