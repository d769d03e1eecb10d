//! The shapes of rows that matter. What fails its shape is no row; what is not needed is not looked at.

use crate::session::TreePair;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The envelope of every row.
#[derive(Debug, Deserialize)]
pub(super) struct Row<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    seq: Value,
    /// A packed row has this in place of `seq`.
    #[serde(default)]
    seq0: Value,
    #[serde(default)]
    pub(super) time: Value,
    #[serde(default, borrow)]
    pub(super) data: Option<&'a RawValue>,
    /// `"append"`, or an object where the row replaces earlier rows of the conversation.
    #[serde(default, rename = "surfaceOp", borrow)]
    pub(super) surface: Option<&'a RawValue>,
}

impl<'a> Row<'a> {
    /// The row's data in the shape that its type promises.
    pub(super) fn data<T: Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_str(self.data?.get()).ok()
    }

    /// The number of the first event that the row stands for, and of how many.
    pub(super) fn numbers(&self) -> Option<(u64, u64)> {
        if let Some(seq) = self.seq.as_u64() {
            return Some((seq, 1));
        }
        let packed: PackedData = self.data()?;
        Some((self.seq0.as_u64()?, packed.dt.len() as u64 + 1))
    }

    /// Whether the row rewrites what was said before (compaction, pruning). It did nothing new.
    pub(super) fn replaces(&self) -> bool {
        self.surface.is_some_and(|op| op.get().starts_with('{'))
    }

    /// Milliseconds since the epoch.
    pub(super) fn at(&self) -> Option<i64> {
        milliseconds(&self.time)
    }
}

/// A whole number of milliseconds; a fraction is cut off.
pub(super) fn milliseconds(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
    value.as_i64().or_else(|| value.as_f64().map(|ms| ms as i64))
}

/// Line 1.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeaderRow {
    pub(super) id: Option<String>,
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) created_at: Value,
    pub(super) parent_session: Option<String>,
    /// v0 and v1: so many events came from the parent.
    #[serde(default)]
    pub(super) seed_length: Value,
    #[serde(default)]
    pub(super) origin: Value,
    #[serde(default)]
    pub(super) delegation_depth: Value,
}

/// The gaps between the members of a packed row.
#[derive(Debug, Deserialize)]
struct PackedData {
    dt: Vec<IgnoredAny>,
}

/// The data of rows that name a turn and perhaps how it ended.
#[derive(Debug, Deserialize)]
pub(super) struct TurnData {
    pub(super) turn: u32,
    #[serde(default)]
    pub(super) reason: Value,
    /// `workspace/changes`: the trees before and after, where the row has them.
    #[serde(default)]
    snapshot: Value,
}

impl TurnData {
    /// The trees before and after the turn, if the row names both.
    pub(super) fn trees(&self) -> Option<TreePair> {
        serde_json::from_value(self.snapshot.clone()).ok()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct TitleData {
    pub(super) title: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct EndSeedData {
    #[serde(default)]
    pub(super) inherited: Value,
}

/// A message of the conversation: the data of `user/message`, or the message of a `tool/result`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message<'a> {
    #[serde(default)]
    pub(super) source: Source,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
    tool_call_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Source {
    #[serde(default)]
    pub(super) kind: Option<String>,
    call_id: Option<String>,
}

/// One block of a message. A wrapped tool result holds blocks of its own.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
    tool_call_id: Option<String>,
}

fn blocks<'a>(content: Option<&'a RawValue>) -> Vec<Block<'a>> {
    let items = content.and_then(|raw| serde_json::from_str::<Vec<&'a RawValue>>(raw.get()).ok());
    let read = |raw: &'a RawValue| serde_json::from_str(raw.get()).ok();
    items.unwrap_or_default().into_iter().filter_map(read).collect()
}

/// The texts of content blocks, joined as lines; or the content where it is a mere string.
pub(super) fn text(content: Option<&RawValue>) -> String {
    if let Some(text) = content.and_then(|raw| serde_json::from_str(raw.get()).ok()) {
        return text;
    }
    let texts = blocks(content).into_iter().filter(|b| b.kind.as_deref() == Some("text"));
    texts.filter_map(|block| block.text).collect::<Vec<_>>().join("\n")
}

impl<'a> Message<'a> {
    /// The message's text.
    pub(super) fn text(&self) -> String {
        text(self.content)
    }

    /// The call, its text and whether it failed, from either shape of a result: wrapped in a
    /// `tool-result` block (v0 to v3), or flat (v4).
    pub(super) fn result(&self) -> ToolOutput<'a> {
        let wrapped =
            blocks(self.content).into_iter().find(|b| b.kind.as_deref() == Some("tool-result"));
        let named = self.source.call_id.clone();
        match wrapped {
            Some(block) => ToolOutput {
                call_id: named.or(block.tool_call_id).or_else(|| self.tool_call_id.clone()),
                content: block.content,
                failed: block.is_error.or(self.is_error).unwrap_or(false),
            },
            None => ToolOutput {
                call_id: named.or_else(|| self.tool_call_id.clone()),
                content: self.content,
                failed: self.is_error.unwrap_or(false),
            },
        }
    }
}

/// What a tool answered.
#[derive(Debug)]
pub(super) struct ToolOutput<'a> {
    pub(super) call_id: Option<String>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) failed: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallData<'a> {
    pub(super) turn: u32,
    pub(super) call_id: String,
    pub(super) name: String,
    /// JSON as a string.
    #[serde(default, borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ResultData<'a> {
    pub(super) turn: Option<u32>,
    #[serde(borrow)]
    pub(super) message: Message<'a>,
    #[serde(default)]
    pub(super) error: Value,
    #[serde(default, borrow)]
    pub(super) meta: Option<&'a RawValue>,
}

/// A call made by a program inside `run_code`; the settled row repeats it with its outcome.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DispatchData<'a> {
    pub(super) root_call_id: String,
    pub(super) sub_call_id: String,
    pub(super) name: String,
    #[serde(default, borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
    #[serde(default, borrow)]
    pub(super) content: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PresentedData {
    pub(super) turn: u32,
    pub(super) call_id: String,
    pub(super) files: Vec<Value>,
}

impl PresentedData {
    /// The entries that are well formed: a path that is not blank, a description that is text.
    pub(super) fn entries(self) -> Vec<(String, Option<String>)> {
        let entry = |file: Value| {
            let path = file["path"].as_str().filter(|path| !path.trim().is_empty())?;
            let description = match file.get("description") {
                None => None,
                Some(text) => Some(text.as_str()?.to_owned()),
            };
            Some((path.to_owned(), description))
        };
        self.files.into_iter().filter_map(entry).collect()
    }
}
