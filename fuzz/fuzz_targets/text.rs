//! Any bytes as a line: nothing that a terminal acts on is left of them, and no cell is lost.
#![no_main]

use handback::text::{clean, glyphs, window};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut end = 0;
    for glyph in glyphs(bytes) {
        assert_eq!(glyph.start(), end, "every byte belongs to one glyph");
        end = glyph.end();
        assert!(!glyph.text().chars().any(char::is_control), "{glyph:?}");
    }
    assert_eq!(end, bytes.len());
    for from in [0, 1, 7, 1000] {
        let _ = window(bytes, from, 80);
    }
    assert!(!clean(&String::from_utf8_lossy(bytes)).chars().any(char::is_control));
});
