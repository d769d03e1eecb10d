//! Keys with their modifiers: parsed, printed, compared. No terminal here.

use std::fmt;

/// A key as it is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A character; shifted ones are their own character.
    Char(char),
    /// Return.
    Enter,
    /// Escape.
    Esc,
    /// Tabulator.
    Tab,
    /// Tabulator with shift.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Arrow.
    Up,
    /// Arrow.
    Down,
    /// Arrow.
    Left,
    /// Arrow.
    Right,
    /// Page up.
    PgUp,
    /// Page down.
    PgDn,
    /// Home.
    Home,
    /// End.
    End,
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    /// The key.
    pub key: Key,
    /// Control.
    pub ctrl: bool,
    /// Alt or Meta.
    pub alt: bool,
}

const NAMED: &[(&str, Key)] = &[
    ("Enter", Key::Enter),
    ("Esc", Key::Esc),
    ("Tab", Key::Tab),
    ("S-Tab", Key::BackTab),
    ("BS", Key::Backspace),
    ("Del", Key::Delete),
    ("Up", Key::Up),
    ("Down", Key::Down),
    ("Left", Key::Left),
    ("Right", Key::Right),
    ("PgUp", Key::PgUp),
    ("PgDn", Key::PgDn),
    ("Home", Key::Home),
    ("End", Key::End),
    ("Space", Key::Char(' ')),
];

impl Chord {
    /// A plain character.
    pub const fn char(c: char) -> Self {
        Self { key: Key::Char(c), ctrl: false, alt: false }
    }

    /// A plain key.
    pub const fn key(key: Key) -> Self {
        Self { key, ctrl: false, alt: false }
    }

    /// Reads `j`, `C-d`, `A-x`, `PgDn`, `Space`; none where it names no key.
    pub fn parse(text: &str) -> Option<Self> {
        let mut chord = Self::char(' ');
        let mut rest = text;
        while let Some((modifier, behind)) = rest.split_once('-') {
            match modifier {
                "C" => chord.ctrl = true,
                "A" => chord.alt = true,
                _ => break,
            }
            rest = behind;
        }
        let mut chars = rest.chars();
        chord.key = match (chars.next(), chars.next()) {
            (Some(c), None) => Key::Char(c),
            _ => NAMED.iter().find(|(name, _)| *name == rest)?.1,
        };
        Some(chord)
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            out.write_str("C-")?;
        }
        if self.alt {
            out.write_str("A-")?;
        }
        match (NAMED.iter().find(|(_, key)| *key == self.key), self.key) {
            (Some((name, _)), _) => out.write_str(name),
            (None, Key::Char(c)) => write!(out, "{c}"),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_and_prints_back() {
        for text in ["j", "C-d", "A-x", "C-A-PgDn", "-", "C--", "Space", "S-Tab", "]", "é"] {
            assert_eq!(Chord::parse(text).map(|c| c.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Chord::parse("Nope"), None);
        assert_eq!(Chord::parse(""), None);
    }
}
