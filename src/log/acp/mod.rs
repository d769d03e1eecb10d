//! The Agent Client Protocol: saved JSON-RPC traffic between a client and any agent.

mod message;
mod reader;
mod tool;

use super::loose::{plain_text, values_again};
use super::{LogFormat, LogReader};
use crate::session::event::EditBody;
use message::Message;
use serde_json::Value;

/// The format of saved traffic.
#[derive(Debug)]
pub(super) struct Acp;

impl LogFormat for Acp {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn recognizes(&self, rows: &[Value]) -> bool {
        rows.iter().any(|row| Message::of(row.clone()).is_some())
    }

    fn reader(&self) -> Box<dyn LogReader> {
        Box::<reader::AcpReader>::default()
    }

    fn edit_body(&self, call: &[u8], result: Option<&[u8]>, nth: usize) -> EditBody {
        tool::edit_body(call, result, nth)
    }

    /// A file that the client read whole for the agent, or wrote for it.
    fn known_text(&self, row: &[u8]) -> Option<String> {
        messages(row).find_map(|body| {
            let content = body["result"]["content"].as_str();
            content.or_else(|| body["params"]["content"].as_str()).map(str::to_owned)
        })
    }

    fn command_output(&self, row: &[u8]) -> Option<String> {
        messages(row).find_map(|body| {
            let update = &body["params"]["update"];
            let blocks = update["content"].as_array().into_iter().flatten();
            let texts: Vec<String> = blocks.map(|block| plain_text(&block["content"])).collect();
            let raw = || update["rawOutput"]["output"].as_str().unwrap_or_default().to_owned();
            update.is_object().then(|| if texts.is_empty() { raw() } else { texts.join("\n") })
        })
    }
}

fn messages(row: &[u8]) -> impl Iterator<Item = Value> {
    values_again(row).into_iter().filter_map(Message::of).map(|message| message.body)
}
