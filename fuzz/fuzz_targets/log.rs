//! Any bytes as a session's log: never a panic, and the same whether read at once or in slices.
#![no_main]

use handback::log::Output;
use handback::log::open::{LogFile, OpenOptions};
use handback::log::source::Stored;
use handback::session::transcript::Transcript;
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::Arc;

fn read(bytes: &[u8], slice: u64) -> (Output, bool) {
    let stored = Stored::Bytes(Arc::from(bytes));
    let mut out = Output::default();
    let Ok(mut log) = LogFile::from_stored(Path::new("log"), stored, &OpenOptions::default())
    else {
        return (out, false);
    };
    loop {
        match log.step(slice, &mut out) {
            Ok(progress) if progress.caught_up => break,
            Ok(_) => {}
            Err(_) => return (out, false),
        }
    }
    let whole = log.read_all(&mut out).is_ok();
    (out, whole)
}

fuzz_target!(|bytes: &[u8]| {
    let (at_once, whole) = read(bytes, u64::MAX);
    let (in_slices, whole_too) = read(bytes, 1);
    assert_eq!(whole, whole_too);
    assert_eq!(at_once.events, in_slices.events);
    assert_eq!(at_once.damages, in_slices.damages);
    let mut transcript = Transcript::default();
    at_once.events.into_iter().for_each(|event| transcript.apply(event));
});
