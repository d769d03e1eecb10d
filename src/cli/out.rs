//! Standard output and standard error: the one place that prints.

use serde::Serialize;
use std::io::{self, BufWriter, Write};

/// Prints with `write`; what comes through is on standard output when this returns.
pub(super) fn print(
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    write(&mut out)?;
    out.flush()?;
    Ok(())
}

/// Prints one JSON value and a newline.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    print(|out| {
        serde_json::to_writer(&mut *out, value)?;
        out.write_all(b"\n")?;
        Ok(())
    })
}

/// Says in one line on standard error what went wrong.
pub(super) fn complain(error: &anyhow::Error) {
    warn(&format!("{error:#}"));
}

/// Says something in one line on standard error; nothing raw comes through.
pub(super) fn warn(text: &str) {
    // Nobody can be told that standard error is gone.
    let _ = writeln!(io::stderr(), "handback: {}", crate::text::clean(text));
}

/// Whether whoever read our output has gone: that ends quietly.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json =
            cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
