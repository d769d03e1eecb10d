//! `rows.log`: one row a line, each with its checksum, only ever appended.
//!
//! A row is `<16 hexadecimal digits> <JSON>`: the first 8 bytes of the JSON's SHA-256, then the
//! JSON. A line end stands before and behind each row, so that a spoilt byte (a line end too) costs
//! one row. A row without its line end has not been written: readers wait, the next writer cuts it off.

use super::StoreError;
use super::kept::{Baseline, Capture, KeptTurn};
use crate::session::Damage;
use gix::ObjectId;
use gix::hash::Kind;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// The longest row that is read or written, in bytes: some 600,000 changed files.
const LONGEST: u64 = 256 << 20;

/// One row. Kinds that are not known here are kept in the file and skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum Row {
    /// A turn's baseline; a later one of the same turn replaces it.
    Baseline(Baseline),
    /// A captured file.
    Capture(Capture),
    /// A turn's changes; later ones of the same turn replace them.
    Turn(KeptTurn),
    /// A line for a person about the session.
    Note(Note),
    /// A kind that a later program of the same store version writes.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// A line for a person about the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, in milliseconds since the Unix epoch.
    pub at: i64,
    /// The line.
    pub text: String,
}

/// How far a file has been read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// Offset of the next line, in bytes.
    pub(super) offset: u64,
    /// How many lines were read.
    pub(super) lines: u64,
}

/// The bytes to append for a row.
pub(super) fn encode(row: &Row) -> Result<Vec<u8>, StoreError> {
    let unwritable = |cause: String| StoreError::Row { cause };
    let json = serde_json::to_vec(row).map_err(|error| unwritable(error.to_string()))?;
    if json.len() as u64 + 19 > LONGEST {
        return Err(unwritable(format!("{} bytes are too many for a row", json.len())));
    }
    let mut bytes = Vec::with_capacity(json.len() + 19);
    bytes.push(b'\n');
    bytes.extend_from_slice(checksum(&json).as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(&json);
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads the rows from `position` on, which stands behind the last whole line afterwards.
pub(super) fn read(
    mut source: impl BufRead,
    position: &mut Position,
    damages: &mut Vec<Damage>,
    mut take: impl FnMut(Row),
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut len = source.by_ref().take(LONGEST).read_until(b'\n', &mut line)? as u64;
        let mut decoded = None;
        if line.last() == Some(&b'\n') {
            line.pop();
            decoded = Some(decode(&line));
        } else if len == LONGEST {
            let rest = source.skip_until(b'\n')? as u64;
            len += rest;
            decoded = Some(Err("the row is too long".to_owned()));
        }
        let Some(decoded) = decoded else { return Ok(()) };
        match decoded {
            Ok(Some(row)) => take(row),
            Ok(None) => {}
            Err(message) => damages.push(Damage {
                line: Some(position.lines + 1),
                offset: Some(position.offset),
                message,
            }),
        }
        position.offset += len;
        position.lines += 1;
    }
}

/// Where the bytes behind the last line end begin.
pub(super) fn end_of_last_line<F: Read + Seek>(file: &mut F) -> io::Result<u64> {
    const STEP: u64 = 8192;
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.by_ref().take(end - start).read_to_end(&mut bytes)?;
        if let Some(at) = memchr::memrchr(b'\n', &bytes) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// One line without its line end: a row, or nothing (an empty line, a kind not known here).
fn decode(line: &[u8]) -> Result<Option<Row>, String> {
    if line.is_empty() {
        return Ok(None);
    }
    let Some((sum, json)) = line.split_at_checked(17) else {
        return Err("too short for a row".into());
    };
    if sum != format!("{} ", checksum(json)).as_bytes() {
        return Err("the row's checksum does not match".into());
    }
    match serde_json::from_slice(json) {
        Ok(Row::Unknown) => Ok(None),
        Ok(row) => Ok(Some(row)),
        Err(error) => Err(error.to_string()),
    }
}

/// 16 hexadecimal digits.
fn checksum(json: &[u8]) -> String {
    sha256(json).to_hex_with_len(16).to_string()
}

/// The SHA-256 of these bytes. Only SHA-1, which looks for attacks, can refuse.
pub(super) fn sha256(bytes: &[u8]) -> ObjectId {
    let mut hasher = gix::hash::hasher(Kind::Sha256);
    hasher.update(bytes);
    hasher.try_finalize().unwrap_or_else(|_| Kind::Sha256.null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn note(text: &str) -> Row {
        Row::Note(Note { at: 1, text: text.into() })
    }

    fn read_all(bytes: &[u8]) -> (Vec<Row>, Vec<Damage>, Position) {
        let (mut rows, mut damages, mut position) = (Vec::new(), Vec::new(), Position::default());
        read(bytes, &mut position, &mut damages, |row| rows.push(row)).unwrap();
        (rows, damages, position)
    }

    fn with_checksum(json: &str) -> Vec<u8> {
        format!("\n{} {json}\n", checksum(json.as_bytes())).into_bytes()
    }

    #[test]
    fn rows_come_back_as_written() {
        let rows = [note("a\nb"), note("\u{1b}[2J \u{0} é")];
        let bytes: Vec<u8> = rows.iter().flat_map(|row| encode(row).unwrap()).collect();
        let (found, damages, position) = read_all(&bytes);
        assert_eq!((found.as_slice(), damages.len()), (rows.as_slice(), 0));
        assert_eq!(position, Position { offset: bytes.len() as u64, lines: 4 });
    }

    #[test]
    fn a_flipped_bit_anywhere_costs_one_row() {
        let rows = [note("one"), note("two"), note("three")];
        let bytes: Vec<u8> = rows.iter().flat_map(|row| encode(row).unwrap()).collect();
        for at in 0..bytes.len() - 1 {
            for bit in 0..8 {
                let mut spoilt = bytes.clone();
                spoilt[at] ^= 1 << bit;
                let (found, damages, _) = read_all(&spoilt);
                assert!(found.iter().all(|row| rows.contains(row)), "byte {at} bit {bit}");
                assert!(found.len() >= 2, "byte {at} bit {bit}: {damages:?}");
                assert!(found.len() == 3 || !damages.is_empty(), "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn a_row_without_its_line_end_is_not_there_yet() {
        let first = encode(&note("one")).unwrap();
        let bytes = [first.clone(), encode(&note("two")).unwrap()].concat();
        for len in first.len()..bytes.len() {
            let (found, damages, position) = read_all(&bytes[..len]);
            assert_eq!((found.len(), damages.len()), (1, 0), "{len}");
            let end = end_of_last_line(&mut Cursor::new(&bytes[..len])).unwrap();
            assert_eq!(end, position.offset, "{len}");
        }
    }

    #[test]
    fn the_end_of_the_last_line_is_found_however_long_the_rest() {
        for (head, tail) in
            [(0_usize, 0_usize), (0, 9000), (1, 8191), (20_000, 8192), (8192, 30_000)]
        {
            let bytes = [vec![b'\n'; head], vec![b'x'; tail]].concat();
            assert_eq!(end_of_last_line(&mut Cursor::new(bytes)).unwrap(), head as u64);
        }
    }

    #[test]
    fn an_unknown_kind_is_skipped_and_a_spoilt_known_one_is_damage() {
        let bytes = [
            with_checksum(r#"{"kind":"mark","turn":{"x":1}}"#),
            with_checksum(r#"{"kind":"turn","turn":"four"}"#),
            with_checksum(r#"{"kind":"note","at":1,"text":"x","newKey":[]}"#),
            with_checksum("[]"),
            b"short\n".to_vec(),
        ]
        .concat();
        let (found, damages, _) = read_all(&bytes);
        assert_eq!(found, [note("x")]);
        let lines: Vec<_> = damages.iter().map(|damage| damage.line).collect();
        assert_eq!(lines, [Some(4), Some(8), Some(9)]);
    }

    proptest! {
        #[test]
        fn rows_stand_whatever_stands_between_them(
            before in any::<Vec<u8>>(),
            between in any::<Vec<u8>>(),
            text in any::<String>(),
        ) {
            let rows = [note("one"), note(&text)];
            let bytes = [
                before,
                encode(&rows[0]).unwrap(),
                between,
                encode(&rows[1]).unwrap(),
            ]
            .concat();
            let (found, _, position) = read_all(&bytes);
            prop_assert_eq!(found.as_slice(), rows.as_slice());
            prop_assert_eq!(position.offset, bytes.len() as u64);
        }
    }
}
