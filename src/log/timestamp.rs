//! Points in time as logs write them (ISO 8601, or milliseconds) → milliseconds since the epoch.

use super::lazy::Json;

/// Milliseconds since the epoch of `2026-12-01T00:46:16.518Z`, or of a number of milliseconds.
pub(crate) fn millis(value: Json<'_>) -> Option<i64> {
    value.number().or_else(|| iso_millis(&value.text()?))
}

/// Milliseconds since the epoch of an ISO 8601 point in time; without a zone it is UTC.
pub(crate) fn iso_millis(text: &str) -> Option<i64> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let (time, zone) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => (time.get(..at)?, time.get(at..)?),
        None => (time, "Z"),
    };
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':');
    let hour: i64 = time.next()?.parse().ok()?;
    let minute: i64 = time.next()?.parse().ok()?;
    let second = time.next().unwrap_or("0");
    let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
    let second: i64 = second.parse().ok()?;
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millis: i64 = fraction.parse().ok()?;
    let sane = (0..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !sane {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some((seconds - zone_seconds(zone)?) * 1000 + millis)
}

/// Days since 1970-01-01 in the Gregorian calendar (years counted from March, so that the leap
/// day is a year's last).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 306 + 5) / 10
        + (day - 1)
        - 719_468
}

/// Seconds east of Greenwich of `Z`, `+02:00` or `-0530`.
fn zone_seconds(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("Z") {
        return Some(0);
    }
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 = digits.get(2..4).unwrap_or("0").parse().ok()?;
    let seconds = hours * 3600 + minutes * 60;
    Some(if zone.starts_with('-') { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_time_of_known_clocks() {
        assert_eq!(iso_millis("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(iso_millis("2000-02-29T12:00:00.5Z"), Some(951_825_600_500));
        assert_eq!(iso_millis("2026-12-01T00:46:16.518Z"), Some(1_796_085_976_518));
        assert_eq!(iso_millis("2026-12-01T02:46:16.518+02:00"), Some(1_796_085_976_518));
        assert_eq!(iso_millis("2024-02-29t23:59:59.9z"), Some(1_709_251_199_900));
        assert_eq!(iso_millis("2024-03-01T01:00:00+01:00"), Some(1_709_251_200_000));
        let no_date = ["", "yesterday", "2026-12-01", "é-T-Z", "é-é-éTé:é:é"];
        for wrong in no_date.into_iter().chain(["2026-13-01T00:00:00Z", "2026-12-01T00:xxZ"]) {
            assert_eq!(iso_millis(wrong), None, "{wrong}");
        }
    }
}
