//! Any two texts: the changes turn one into the other, and every hunk's lines are there.
#![no_main]

use handback::diff::{Limit, compare};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|sides: (&[u8], &[u8])| {
    let (old, new) = sides;
    let limit = Limit::default();
    let Ok(comparison) = compare(Some(Arc::from(old)), Some(Arc::from(new)), &limit) else {
        panic!("nobody cancelled it");
    };
    let (mut old_at, mut new_at) = (0, 0);
    for change in &comparison.changes {
        assert_eq!(change.old.start - old_at, change.new.start - new_at);
        let kept = comparison.old.lines(old_at..change.old.start);
        assert!(kept.eq(comparison.new.lines(new_at..change.new.start)));
        (old_at, new_at) = (change.old.end, change.new.end);
    }
    let kept = comparison.old.lines(old_at..u32::MAX);
    assert!(kept.eq(comparison.new.lines(new_at..u32::MAX)));
});
