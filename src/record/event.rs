//! What a recorder tells, and its line in `record --json`.

use crate::session::ChangesSummary;
use serde_json::{Value, json};

/// What a recorder tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordEvent {
    /// The session is known, and what its log held at the start has been passed over.
    Ready {
        /// The agent's own session id; empty where it has none.
        session: String,
    },
    /// A turn's baseline was taken.
    Baseline {
        /// 1-based turn.
        turn: u32,
        /// The tree, hexadecimal; none where there is no repository, or no snapshot could be taken.
        tree: Option<String>,
        /// A tool had been called already.
        late: bool,
        /// How long it took, in milliseconds.
        ms: u64,
    },
    /// What a file tool is about to touch is known: from the baseline, or read just now.
    Capture {
        /// 1-based turn.
        turn: u32,
        /// The tool call.
        call_id: String,
        /// Canonical and absolute.
        path: String,
    },
    /// What a turn changed; a later one of the same turn replaces it.
    Changes(ChangesSummary),
    /// A turn ended (or settled later) and changed nothing.
    Unchanged {
        /// 1-based turn.
        turn: u32,
    },
    /// Something went wrong: one line with file, place and cause.
    Warning(String),
    /// One line for a person, of no interest to a program.
    Notice(String),
    /// The recorder has ended by itself.
    Ended,
}

impl RecordEvent {
    /// The object that `record --json` prints; none for what only a person wants to know.
    pub fn to_json(&self) -> Option<Value> {
        Some(match self {
            Self::Ready { session } => json!({ "type": "ready", "session": session }),
            Self::Baseline { turn, tree, late, ms } => {
                json!({ "type": "baseline", "turn": turn, "tree": tree, "late": late, "ms": ms })
            }
            Self::Capture { turn, call_id, path } => {
                json!({ "type": "capture", "turn": turn, "callId": call_id, "path": path })
            }
            Self::Changes(summary) => {
                let mut object = serde_json::to_value(summary).ok()?;
                object.as_object_mut()?.insert("type".into(), "changes".into());
                object
            }
            Self::Unchanged { turn } => json!({ "type": "unchanged", "turn": turn }),
            Self::Warning(message) => json!({ "type": "warning", "message": message }),
            Self::Notice(_) | Self::Ended => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_shape_of_the_outside_interface() {
        let baseline = RecordEvent::Baseline { turn: 3, tree: None, late: true, ms: 4 };
        let expected = json!({"type":"baseline","turn":3,"tree":Value::Null,"late":true,"ms":4});
        assert_eq!(baseline.to_json(), Some(expected));
        let capture =
            RecordEvent::Capture { turn: 3, call_id: "c".into(), path: "/a".into() }.to_json();
        assert_eq!(capture, Some(json!({"type":"capture","turn":3,"callId":"c","path":"/a"})));
        let changes = RecordEvent::Changes(ChangesSummary { turn: Some(2), ..Default::default() });
        let changes = changes.to_json().unwrap();
        assert_eq!((&changes["type"], &changes["turn"]), (&json!("changes"), &json!(2)));
        assert_eq!(RecordEvent::Notice(String::new()).to_json(), None);
    }
}
