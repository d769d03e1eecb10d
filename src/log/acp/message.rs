//! One JSON-RPC message of a saved traffic, bare or wrapped, and which request a response answers.

use crate::log::timestamp::iso_millis;
use serde_json::Value;

/// A message with what its wrapper says.
pub(super) struct Message {
    /// The JSON-RPC object.
    pub(super) body: Value,
    /// Which side sent it, in the wrapper's own word.
    pub(super) side: Option<String>,
    /// When, in milliseconds since the epoch.
    pub(super) at: Option<i64>,
}

impl Message {
    /// Takes a row: the message itself, or `{dir|direction|from, msg|message, ts|…}`.
    pub(super) fn of(mut row: Value) -> Option<Self> {
        if row["jsonrpc"] == "2.0" {
            return Some(Self { body: row, side: None, at: None });
        }
        let side = ["dir", "direction", "from"].iter().find_map(|key| row[*key].as_str());
        let side = side.map(str::to_owned);
        let at = ["ts", "timestamp", "time"].iter().find_map(|key| time(&row[*key]));
        let body = ["msg", "message"].iter().find_map(|key| inner(row.get_mut(key)?.take()))?;
        Some(Self { body, side, at })
    }
}

fn inner(value: Value) -> Option<Value> {
    let value = match value {
        Value::String(text) => serde_json::from_str(&text).ok()?,
        other => other,
    };
    (value["jsonrpc"] == "2.0").then_some(value)
}

/// Seconds with a fraction, milliseconds, or RFC 3339.
fn time(value: &Value) -> Option<i64> {
    if let Some(text) = value.as_str() {
        return iso_millis(text);
    }
    // In milliseconds, the year 1973 is at 10^11; in seconds that is the year 5138.
    let number = value.as_f64()?;
    Some(if number < 1e11 { (number * 1000.0) as i64 } else { number as i64 })
}

/// A request that has no response yet.
#[derive(Debug)]
pub(super) struct Open<T> {
    id: Value,
    side: Option<String>,
    /// What is remembered of it.
    pub(super) what: T,
}

/// The requests of both sides, which may use the same ids.
#[derive(Debug)]
pub(super) struct Requests<T>(Vec<Open<T>>);

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// More open requests than this are not remembered: the oldest goes.
const MOST: usize = 4096;

impl<T> Requests<T> {
    /// Remembers a request.
    pub(super) fn open(&mut self, message: &Message, what: T) {
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Open { id: message.body["id"].clone(), side: message.side.clone(), what });
    }

    /// The request that a response answers: of the other side where sides are known; of several
    /// with its id the latest that fits.
    pub(super) fn close(&mut self, response: &Message, fits: impl Fn(&T) -> bool) -> Option<T> {
        let at = self.0.iter().rposition(|open| {
            open.id == response.body["id"]
                && (open.side.is_none() || open.side != response.side)
                && fits(&open.what)
        })?;
        Some(self.0.remove(at).what)
    }

    /// Whether a request of this kind waits.
    pub(super) fn waits(&self, is: impl Fn(&T) -> bool) -> bool {
        self.0.iter().any(|open| is(&open.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(row: Value) -> Message {
        Message::of(row).unwrap()
    }

    #[test]
    fn a_wrapper_tells_side_and_time() {
        let body = json!({"jsonrpc": "2.0", "id": 1});
        let one = message(json!({"dir": "out", "ts": 1_796_086_693.996, "msg": body}));
        assert_eq!((one.side.as_deref(), one.at), (Some("out"), Some(1_796_086_693_996)));
        let other = message(json!({"from": "agent", "timestamp": "1970-01-01T00:00:01Z",
            "message": body.to_string()}));
        assert_eq!((other.side.as_deref(), other.at), (Some("agent"), Some(1000)));
        assert!(Message::of(json!({"msg": {"id": 1}})).is_none());
    }

    #[test]
    fn both_sides_may_use_an_id() {
        let row = |side: &str| message(json!({"dir": side, "msg": {"jsonrpc": "2.0", "id": 3}}));
        let mut requests = Requests::default();
        requests.open(&row("out"), "prompt");
        requests.open(&row("in"), "write");
        assert_eq!(requests.close(&row("in"), |_| true), Some("prompt"));
        assert_eq!(requests.close(&row("in"), |_| true), None);
        assert_eq!(requests.close(&row("out"), |_| true), Some("write"));
    }

    #[test]
    fn without_sides_the_latest_that_fits_is_answered() {
        let row = || message(json!({"jsonrpc": "2.0", "id": 3}));
        let mut requests = Requests::default();
        requests.open(&row(), "prompt");
        requests.open(&row(), "write");
        assert_eq!(requests.close(&row(), |what| *what != "prompt"), Some("write"));
        assert_eq!(requests.close(&row(), |_| true), Some("prompt"));
    }
}
