//! Shell completions and the manual page, made from the command line's own description.

use super::args::Cli;
use super::out;
use clap::CommandFactory;

pub(super) fn completions(shell: clap_complete::Shell) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "handback", &mut text);
    out::print(|out| Ok(out.write_all(&text)?))
}

pub(super) fn man() -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text)?;
    out::print(|out| Ok(out.write_all(&text)?))
}
