//! Loose looks at JSON that other programs wrote: any value may be missing or of another kind.

use super::Output;
use crate::session::Damage;
use crate::session::event::Place;
use serde_json::Value;
use std::borrow::Cow;

/// Milliseconds since the epoch of an RFC 3339 time (`2026-12-01T00:32:31.025Z`), or none.
pub(super) fn milliseconds(time: &str) -> Option<i64> {
    let (date, clock) = time.split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let zone_at = clock.find(['Z', 'z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at_checked(zone_at)?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut seconds = 0;
    for part in whole.splitn(3, ':') {
        seconds = seconds * 60 + i64::from(part.parse::<u8>().ok()?);
    }
    let digits = fraction.bytes().take(3).chain(std::iter::repeat(b'0')).take(3);
    let mut thousandths = 0;
    for digit in digits {
        thousandths = thousandths * 10 + i64::from(digit.checked_sub(b'0').filter(|d| *d < 10)?);
    }
    let seconds = days_since_epoch(year, month, day) * 86_400 + seconds - offset_seconds(zone)?;
    Some(seconds * 1000 + thousandths)
}

/// Days from 1970-01-01 in the Gregorian calendar. Years begin in March here, so that the leap day
/// is the last of its year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468
}

fn offset_seconds(zone: &str) -> Option<i64> {
    let Some(offset) = zone.strip_prefix(['+', '-']) else { return Some(0) };
    let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
    let seconds =
        i64::from(hours.parse::<u8>().ok()?) * 3600 + i64::from(minutes.parse::<u8>().ok()?) * 60;
    Some(if zone.starts_with('-') { -seconds } else { seconds })
}

/// The JSON values of a line: one, or several where two rows were glued. What does not parse
/// becomes one damage; what stands before it still counts.
pub(super) fn values(place: Place, line: &[u8], out: &mut Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(line);
    let mut damage = |message: String| {
        out.damages.push(Damage { line: Some(place.line), offset: Some(place.offset), message });
    };
    if matches!(text, Cow::Owned(_)) {
        damage("not UTF-8: read with replacement characters".to_owned());
    }
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(&text).into_iter() {
        match value {
            Ok(value) => found.push(value),
            Err(error) => {
                damage(format!("not a JSON row: {error}"));
                break;
            }
        }
    }
    found
}

/// The JSON values of a row that is read again; nothing is said of what does not parse.
pub(super) fn values_again(row: &[u8]) -> Vec<Value> {
    values(Place::default(), row, &mut Output::default())
}

/// The text of a content that is a string, a block with `text`, or a list of such blocks.
pub(super) fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> =
                blocks.iter().map(plain_text).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(block) => block.get("text").map(plain_text).unwrap_or_default(),
        _ => String::new(),
    }
}

/// A string that is not empty.
pub(super) fn word(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// The same, owned.
pub(super) fn owned(value: &Value) -> Option<String> {
    word(value).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_millisecond_in_any_zone() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(milliseconds("2026-12-01T00:32:31.025Z"), Some(1_796_085_151_025));
        assert_eq!(milliseconds("2024-02-29T23:59:59.9Z"), Some(1_709_251_199_900));
        assert_eq!(milliseconds("2024-03-01T01:00:00+01:00"), Some(1_709_251_200_000));
        for wrong in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-12-01T00:00:xxZ", "é-T-Z"] {
            assert_eq!(milliseconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn glued_rows_are_both_read_and_a_torn_one_is_one_damage() {
        let mut out = Output::default();
        let place = Place { line: 7, offset: 90, ..Place::default() };
        let found = values(place, br#"{"a":1}{"b":2}{"c":"#, &mut out);
        assert_eq!(found.len(), 2);
        assert_eq!(out.damages.len(), 1);
        assert_eq!((out.damages[0].line, out.damages[0].offset), (Some(7), Some(90)));
        let found = values(place, b"{\"a\":\"\xff\"}", &mut out);
        assert_eq!((found.len(), out.damages.len()), (1, 2));
        assert_eq!(values(place, b" \r", &mut out), Vec::<Value>::new());
    }
}
