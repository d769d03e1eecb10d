//! `handback hook`: one call of an agent's hook.

use super::args::Common;
use super::environment::Environment;
use super::record;
use crate::bridge::hook::{self, HookOptions};
use clap::Args;
use std::io::stdin;

/// What `hook` takes.
#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// The agent that calls: claude, codex or dsh
    agent: String,
}

/// Never fails and prints nothing: an agent would take that for an answer.
pub(super) fn run(common: &Common, args: &HookArgs) {
    // Settings that cannot be read name no place to complain at.
    let Ok(environment) = Environment::of(common) else { return };
    let Ok(record) = record::options(&environment) else { return };
    if !environment.no_record {
        let options = HookOptions { record, places: environment.places };
        hook::run(&args.agent, stdin().lock(), &options);
    }
}
