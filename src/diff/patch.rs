//! A comparison → a unified diff as git writes it and `git apply` takes it.

use super::hunk::{hunks, rows};
use super::{Change, Comparison, HunkRange};
use std::io::{self, Write};

/// The mode of a regular file, where none is given.
const REGULAR: u32 = 0o100_644;

/// What stands above the hunks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchHeader<'a> {
    /// The path before, slash-separated, relative to the repository's root; any bytes but NUL.
    pub old_path: &'a [u8],
    /// The path after.
    pub new_path: &'a [u8],
    /// The git mode before; none: a regular file.
    pub old_mode: Option<u32>,
    /// The git mode after; none: as before, or a regular file.
    pub new_mode: Option<u32>,
    /// How the file came from the old path, where that is not the new one.
    pub movement: Movement,
}

/// How a file came to its path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Movement {
    /// It was there.
    #[default]
    None,
    /// It was moved; the similarity of both sides in percent.
    Renamed(u8),
    /// It was copied; the similarity of both sides in percent.
    Copied(u8),
}

/// Writes a comparison with so many lines of context. Writes nothing where nothing changed.
///
/// Two lines that differ only in the final newline are equal to the comparison and are not to a
/// patch: that line is then deleted and added again, as by git. A piece without a known place gets
/// its place among the known lines, which `git apply` takes as a hint.
///
/// # Errors
/// What `out` says.
pub fn write(
    out: &mut dyn Write,
    header: &PatchHeader<'_>,
    comparison: &Comparison,
    context: u32,
) -> io::Result<()> {
    let changes = with_newlines(comparison);
    let sides = (comparison.has_old, comparison.has_new);
    if changes.is_empty() && header.says_nothing(sides) {
        return Ok(());
    }
    header.write(out, sides)?;
    if changes.is_empty() {
        return Ok(());
    }
    out.write_all(b"--- ")?;
    write_name(out, sides.0.then_some((b"a/", header.old_path)))?;
    out.write_all(b"+++ ")?;
    write_name(out, sides.1.then_some((b"b/", header.new_path)))?;
    for hunk in hunks(&changes, &comparison.pieces, context) {
        write_hunk(out, comparison, &changes, &hunk)?;
    }
    Ok(())
}

/// Writes that a file's sides differ where one is binary; `old` and `new` say which are there.
///
/// # Errors
/// What `out` says.
pub fn write_binary(
    out: &mut dyn Write,
    header: &PatchHeader<'_>,
    (old, new): (bool, bool),
) -> io::Result<()> {
    header.write(out, (old, new))?;
    out.write_all(b"Binary files ")?;
    out.write_all(&side_name(old.then_some((b"a/", header.old_path))))?;
    out.write_all(b" and ")?;
    out.write_all(&side_name(new.then_some((b"b/", header.new_path))))?;
    out.write_all(b" differ\n")
}

impl PatchHeader<'_> {
    fn modes(&self) -> (u32, u32) {
        let old = self.old_mode.or(self.new_mode).unwrap_or(REGULAR);
        (old, self.new_mode.unwrap_or(old))
    }

    /// Whether there would be nothing below the `diff --git` line.
    fn says_nothing(&self, (old, new): (bool, bool)) -> bool {
        let (old_mode, new_mode) = self.modes();
        old == new && (!old || (old_mode == new_mode && self.movement == Movement::None))
    }

    fn write(&self, out: &mut dyn Write, (old, new): (bool, bool)) -> io::Result<()> {
        // A side that is not there is called like the other one.
        let old_path = if old { self.old_path } else { self.new_path };
        let new_path = if new { self.new_path } else { self.old_path };
        out.write_all(b"diff --git ")?;
        out.write_all(&quoted(b"a/", old_path))?;
        out.write_all(b" ")?;
        out.write_all(&quoted(b"b/", new_path))?;
        out.write_all(b"\n")?;
        let (old_mode, new_mode) = self.modes();
        match (old, new) {
            (false, _) => writeln!(out, "new file mode {new_mode:06o}"),
            (_, false) => writeln!(out, "deleted file mode {old_mode:06o}"),
            _ if old_mode == new_mode => Ok(()),
            _ => writeln!(out, "old mode {old_mode:06o}\nnew mode {new_mode:06o}"),
        }?;
        let (word, similarity) = match self.movement {
            Movement::None => return Ok(()),
            Movement::Renamed(similarity) => ("rename", similarity),
            Movement::Copied(similarity) => ("copy", similarity),
        };
        writeln!(out, "similarity index {similarity}%")?;
        for (way, path) in [("from", self.old_path), ("to", self.new_path)] {
            write!(out, "{word} {way} ")?;
            out.write_all(&quoted(b"", path))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// The changes as git sees them: a last line without its newline equals only another such line.
fn with_newlines(comparison: &Comparison) -> Vec<Change> {
    let (old, new) = (&comparison.old, &comparison.new);
    let mut changes = comparison.changes.clone();
    let last = |lines: u32, ended: bool| (!ended).then(|| lines.checked_sub(1)).flatten();
    let old_last = last(old.len(), old.ends_with_newline());
    let new_last = last(new.len(), new.ends_with_newline());
    let other_of_old = old_last.and_then(|line| partner(&comparison.changes, line, false));
    let other_of_new = new_last.and_then(|line| partner(&comparison.changes, line, true));
    if let (Some(old), Some(new)) = (old_last, other_of_old)
        && new_last != Some(new)
    {
        insert(&mut changes, old, new);
    }
    if let (Some(new), Some(old)) = (new_last, other_of_new)
        && old_last != Some(old)
    {
        insert(&mut changes, old, new);
    }
    changes
}

/// The unchanged line of the other side that stands beside a line, if that is unchanged.
fn partner(changes: &[Change], line: u32, of_new: bool) -> Option<u32> {
    let sides = |change: &Change| {
        let (old, new) = (change.old.clone(), change.new.clone());
        if of_new { (new, old) } else { (old, new) }
    };
    let behind = changes.partition_point(|change| sides(change).0.end <= line);
    if changes.get(behind).is_some_and(|change| sides(change).0.contains(&line)) {
        return None;
    }
    let before = behind.checked_sub(1).and_then(|before| changes.get(before));
    let (here, other) = before.map_or((0, 0), |change| (sides(change).0.end, sides(change).1.end));
    Some(other + (line - here))
}

/// Takes an unchanged pair of lines in as changed.
fn insert(changes: &mut Vec<Change>, old: u32, new: u32) {
    let at = changes.partition_point(|change| change.old.end <= old && change.new.end <= new);
    let mut change = Change { old: old..old + 1, new: new..new + 1 };
    let mut replaced = at..at;
    if let Some(next) = changes.get(at)
        && (next.old.start, next.new.start) == (change.old.end, change.new.end)
    {
        (change.old.end, change.new.end) = (next.old.end, next.new.end);
        replaced.end += 1;
    }
    if let Some(before) = at.checked_sub(1).and_then(|before| changes.get(before))
        && (before.old.end, before.new.end) == (change.old.start, change.new.start)
    {
        (change.old.start, change.new.start) = (before.old.start, before.new.start);
        replaced.start -= 1;
    }
    changes.splice(replaced, [change]);
}

fn write_hunk(
    out: &mut dyn Write,
    comparison: &Comparison,
    changes: &[Change],
    hunk: &HunkRange,
) -> io::Result<()> {
    let piece = comparison.pieces.get(hunk.piece);
    let start = |line: u32, first: u32, known: Option<u32>| match known {
        Some(known) => known.saturating_add(line - first),
        // Never 1: `git apply` would hold the hunk to the file's very start.
        None => line.saturating_add(2),
    };
    let old = piece.map_or(1, |piece| start(hunk.old.start, piece.old.start, piece.old_start));
    let new = piece.map_or(1, |piece| start(hunk.new.start, piece.new.start, piece.new_start));
    write!(out, "@@ -")?;
    write_range(out, old, hunk.old.end - hunk.old.start)?;
    write!(out, " +")?;
    write_range(out, new, hunk.new.end - hunk.new.start)?;
    writeln!(out, " @@")?;
    for row in rows(&comparison.old, &comparison.new, changes, hunk) {
        out.write_all(&[row.sign])?;
        out.write_all(row.text)?;
        out.write_all(b"\n")?;
        let side = if row.sign == b'+' { &comparison.new } else { &comparison.old };
        if row.line + 1 == side.len() && !side.ends_with_newline() {
            out.write_all(b"\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}

/// A range is told by its first line and length; one without lines by the line before it.
fn write_range(out: &mut dyn Write, start: u32, lines: u32) -> io::Result<()> {
    match lines {
        0 => write!(out, "{},0", start.saturating_sub(1)),
        1 => write!(out, "{start}"),
        _ => write!(out, "{start},{lines}"),
    }
}

/// Ends a `---` or `+++` line. A name with a space is followed by a tab, so that what comes behind
/// is not taken for a part of it.
fn write_name(out: &mut dyn Write, side: Option<(&[u8], &[u8])>) -> io::Result<()> {
    let name = side_name(side);
    out.write_all(&name)?;
    out.write_all(if name.contains(&b' ') { b"\t\n" } else { b"\n" })
}

/// The prefix and path of a side that is there.
fn side_name(side: Option<(&[u8], &[u8])>) -> Vec<u8> {
    side.map_or_else(|| b"/dev/null".to_vec(), |(prefix, path)| quoted(prefix, path))
}

/// A path as git prints it: in double quotes with C escapes where it has control characters,
/// quotes, backslashes or bytes beyond ASCII (`core.quotePath`), as it is otherwise.
fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let special = |byte: &u8| !(b' '..0x7f).contains(byte) || matches!(byte, b'"' | b'\\');
    let mut name = prefix.to_vec();
    if !path.iter().any(special) {
        name.extend_from_slice(path);
        return name;
    }
    name.insert(0, b'"');
    for byte in path {
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => *byte,
            _ if special(byte) => {
                name.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
            _ => {
                name.push(*byte);
                continue;
            }
        };
        name.extend_from_slice(&[b'\\', letter]);
    }
    name.push(b'"');
    name
}
