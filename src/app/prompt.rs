//! A line that is being typed.

use super::chord::{Chord, Key};

/// A line that is being typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// What stands there.
    pub text: String,
}

/// What a key did to the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// It goes on.
    More,
    /// It is done.
    Done,
    /// It is given up.
    Given,
}

impl Prompt {
    /// Takes a key.
    pub fn key(&mut self, chord: Chord) -> Typed {
        match chord {
            Chord { key: Key::Enter, .. } => return Typed::Done,
            Chord { key: Key::Esc, .. } | Chord { key: Key::Char('c'), ctrl: true, .. } => {
                return Typed::Given;
            }
            Chord { key: Key::Backspace, .. } if self.text.is_empty() => return Typed::Given,
            Chord { key: Key::Backspace, .. } => drop(self.text.pop()),
            Chord { key: Key::Char('u'), ctrl: true, .. } => self.text.clear(),
            Chord { key: Key::Char('w'), ctrl: true, .. } => {
                let kept = self.text.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.text.truncate(kept);
            }
            Chord { key: Key::Char(c), ctrl: false, alt: false } => self.text.push(c),
            _ => {}
        }
        Typed::More
    }

    /// Takes pasted text; it stays one line.
    pub fn paste(&mut self, text: &str) {
        const MOST: usize = 1000;
        let room = MOST.saturating_sub(self.text.len());
        self.text.extend(text.chars().filter(|c| !c.is_control()).take(room));
    }
}
