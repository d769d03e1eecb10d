//! How a line's class is written for the search: as small as the number of classes allows.

/// A line's class, as the search compares it.
pub(super) trait Token: Copy + Eq {
    /// How many tokens are equal, from these places on. A place behind the end has none.
    fn run(old: &[Self], new: &[Self], old_at: usize, new_at: usize) -> usize;
}

impl Token for u32 {
    fn run(old: &[Self], new: &[Self], old_at: usize, new_at: usize) -> usize {
        run(old, new, old_at, new_at)
    }
}

impl Token for u8 {
    /// Where few lines are distinct, runs are short and nobody can foresee how short: eight tokens
    /// are compared at once, without a branch for each.
    fn run(old: &[Self], new: &[Self], old_at: usize, new_at: usize) -> usize {
        let mut start = 0;
        while let (Some(old), Some(new)) = (eight(old, old_at + start), eight(new, new_at + start))
        {
            let equal = (old ^ new).trailing_zeros() as usize / 8;
            start += equal;
            if equal < 8 {
                return start;
            }
        }
        start + run(old, new, old_at + start, new_at + start)
    }
}

fn run<T: Eq>(old: &[T], new: &[T], old_at: usize, new_at: usize) -> usize {
    let mut run = 0;
    while let (Some(old), Some(new)) = (old.get(old_at + run), new.get(new_at + run))
        && old == new
    {
        run += 1;
    }
    run
}

/// Eight tokens, the first in the lowest bits.
fn eight(tokens: &[u8], start: usize) -> Option<u64> {
    tokens.get(start..start + 8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_count_the_same_run() {
        for len in 0..40 {
            for differing in 0..=len {
                let old: Vec<u8> = (0..len).collect();
                let mut new = old.clone();
                if let Some(token) = new.get_mut(usize::from(differing)) {
                    *token += 100;
                }
                let wide = |side: &[u8]| side.iter().copied().map(u32::from).collect::<Vec<_>>();
                assert_eq!(u8::run(&old, &new, 0, 0), usize::from(differing));
                assert_eq!(u32::run(&wide(&old), &wide(&new), 0, 0), usize::from(differing));
                assert_eq!(
                    u8::run(&old, &new[..new.len() / 2], 0, 0),
                    usize::from(differing.min(len / 2))
                );
            }
        }
    }
}
