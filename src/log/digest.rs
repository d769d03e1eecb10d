//! Decoded text without the stretches that tell nothing: what one thread keeps of it for another.

use super::decode::{Lines, Sink, Start, TextSink};
use super::{Skim, Stretch};
use crate::session::Damage;
use memchr::memchr;

/// What is left of decoded text, in order.
#[derive(Debug, Default)]
pub(super) struct Digest {
    /// The texts of all items, one behind the other.
    text: Vec<u8>,
    items: Vec<Item>,
}

#[derive(Debug)]
enum Item {
    /// So many bytes of text.
    Text(Start, usize),
    Passed(Start, Stretch),
    Lost(Option<Damage>),
}

impl Digest {
    /// How many bytes it holds, about.
    pub(super) fn size(&self) -> usize {
        self.text.len() + self.items.len() * size_of::<Item>()
    }

    /// Gives what it holds, and is empty.
    pub(super) fn give<S: Sink>(&mut self, lines: &mut Lines, sink: &mut S) {
        let mut text = self.text.as_slice();
        for item in self.items.drain(..) {
            match item {
                Item::Text(start, len) => {
                    let (now, later) = text.split_at_checked(len).unwrap_or((text, &[]));
                    lines.push(now, start, sink);
                    text = later;
                }
                Item::Passed(start, stretch) => lines.pass(start, &stretch, sink),
                Item::Lost(damage) => lines.lose(damage, sink),
            }
        }
        self.text.clear();
    }

    fn keep(&mut self, bytes: &[u8], start: Start) {
        self.text.extend_from_slice(bytes);
        match self.items.last_mut() {
            Some(Item::Text(first, len)) if first.ahead(*len) == start => *len += bytes.len(),
            _ => self.items.push(Item::Text(start, bytes.len())),
        }
    }
}

/// Makes a digest of decoded text, and hands it on whenever it has grown so far.
pub(super) struct Digester<F> {
    skim: Option<Skim>,
    /// The next byte may stand inside a line.
    inside: bool,
    digest: Digest,
    hand_on: F,
}

/// A digest is handed on when it holds so many bytes.
const FULL: usize = 64 << 10;

impl<F: FnMut(Digest) -> Digest> Digester<F> {
    /// `hand_on` takes a digest and gives an empty one. The text may begin inside a line.
    pub(super) fn new(skim: Option<Skim>, hand_on: F) -> Self {
        Self { skim, inside: true, digest: Digest::default(), hand_on }
    }

    /// Takes decoded bytes.
    pub(super) fn push(&mut self, bytes: &[u8], start: Start) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if !self.inside
                && let Some(stretch) = self.skim.and_then(|skim| skim(rest))
            {
                self.digest.items.push(Item::Passed(start.ahead(at), stretch));
                at += stretch.bytes;
                continue;
            }
            let end = if self.skim.is_some() { memchr(b'\n', rest) } else { None };
            self.inside = end.is_none();
            let line = end.and_then(|end| rest.get(..=end)).unwrap_or(rest);
            self.digest.keep(line, start.ahead(at));
            at += line.len();
            if self.digest.size() >= FULL {
                self.flush();
            }
        }
    }

    /// Hands on what there is.
    pub(super) fn flush(&mut self) {
        self.digest = (self.hand_on)(std::mem::take(&mut self.digest));
    }
}

impl<F: FnMut(Digest) -> Digest> TextSink for Digester<F> {
    fn text(&mut self, decoded: &[u8], start: Start) {
        self.push(decoded, start);
    }

    fn lost(&mut self, damage: Option<Damage>) {
        self.digest.items.push(Item::Lost(damage));
        self.inside = false;
    }
}
