//! The session picker: a list that grows narrower as one types.

use super::App;
use super::Overlay;
use super::chord::{Chord, Key};
use super::event::Effect;
use super::prompt::{Prompt, Typed};
use super::viewport::Viewport;
use crate::reader::Brief;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::PathBuf;

/// A session that can be opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionRow {
    /// The format's name.
    pub agent: &'static str,
    /// The agent's own id.
    pub id: String,
    /// Its title or first prompt.
    pub title: String,
    /// Its working directory; empty where it is not known.
    pub cwd: String,
    /// What opens it.
    pub path: PathBuf,
    /// How long ago its log changed, in seconds.
    pub age: u64,
    /// How many turns it has.
    pub turns: TurnCount,
}

/// How many turns a session has, which only its whole log tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TurnCount {
    /// Not counted yet.
    #[default]
    Awaited,
    /// The log cannot be read.
    Unreadable,
    /// So many.
    Known(usize),
}

/// The picker's state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picker {
    /// What is typed.
    pub prompt: Prompt,
    /// All sessions, newest first; none until they are found.
    pub rows: Option<Vec<SessionRow>>,
    /// Those that match, by index of `rows`, the best first.
    pub matches: Vec<usize>,
    /// Cursor and window on the matches.
    pub view: Viewport,
    /// The rows being counted were asked for by this number.
    pub request: u64,
}

/// What a key did.
enum Picked {
    /// It goes on.
    More,
    /// Nothing shall be opened.
    None,
    /// This one shall be opened.
    Row(SessionRow),
}

/// Opens the picker.
pub(super) fn open(app: &mut App) -> Vec<Effect> {
    app.overlay = Overlay::Sessions(Box::default());
    app.newer = None;
    vec![Effect::FindSessions]
}

/// Takes what was found.
pub(super) fn take(app: &mut App, rows: Vec<SessionRow>) -> Vec<Effect> {
    if let Overlay::Sessions(picker) = &mut app.overlay {
        picker.rows = Some(rows);
        picker.narrow();
    }
    count(app)
}

/// Takes what was found out of one row.
pub(super) fn take_brief(app: &mut App, request: u64, at: usize, brief: Brief) {
    let Overlay::Sessions(picker) = &mut app.overlay else { return };
    let row = picker.rows.as_mut().and_then(|rows| rows.get_mut(at));
    if let Some(row) = row.filter(|_| picker.request == request) {
        row.turns = brief.turns.map_or(TurnCount::Unreadable, TurnCount::Known);
        row.title = brief.title.unwrap_or_default();
    }
}

/// Has the rows counted whose turns are not known, those that are seen first. What is being
/// counted goes on where nothing that is seen waits.
pub(super) fn count(app: &mut App) -> Vec<Effect> {
    let (height, request) = (app.picker_height(), app.requests + 1);
    let Overlay::Sessions(picker) = &mut app.overlay else { return Vec::new() };
    let rows = picker.rows.as_deref().unwrap_or_default();
    let awaited = |at: &usize| rows.get(*at).is_some_and(|row| row.turns == TurnCount::Awaited);
    let seen = picker.matches.iter().copied().skip(picker.view.top).take(height);
    let mut wanted: Vec<usize> = seen.filter(awaited).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let first: HashSet<usize> = wanted.iter().copied().collect();
    wanted.extend((0..rows.len()).filter(|at| awaited(at) && !first.contains(at)));
    let row = |at: usize| Some((at, rows.get(at)?.clone()));
    let rows = wanted.into_iter().filter_map(row).collect();
    picker.request = request;
    app.requests = request;
    vec![Effect::CountTurns { request, rows }]
}

/// A key while the picker is open.
pub(super) fn key(app: &mut App, chord: Chord) -> Vec<Effect> {
    let height = app.picker_height();
    let Overlay::Sessions(picker) = &mut app.overlay else { return Vec::new() };
    match picker.key(chord, height) {
        Picked::More => return count(app),
        Picked::None => app.overlay = Overlay::None,
        Picked::Row(row) if row.path.to_string_lossy() == app.info.path => {
            app.overlay = Overlay::None;
            app.message = Some("this session is open".into());
        }
        Picked::Row(row) => {
            app.begin_session();
            return vec![Effect::StopCounting, Effect::OpenSession(Box::new(row))];
        }
    }
    vec![Effect::StopCounting]
}

impl Picker {
    fn key(&mut self, chord: Chord, height: usize) -> Picked {
        let page = height as isize;
        let by = match (chord.key, chord.ctrl) {
            (Key::Down, _) | (Key::Char('n' | 'j'), true) => 1,
            (Key::Up, _) | (Key::Char('p' | 'k'), true) => -1,
            (Key::PgDn, _) | (Key::Char('f'), true) => page,
            (Key::PgUp, _) | (Key::Char('b'), true) => -page,
            (Key::Home, _) => isize::MIN / 2,
            (Key::End, _) => isize::MAX / 2,
            (Key::Backspace, _) if self.prompt.text.is_empty() => return Picked::More,
            _ => {
                return match self.prompt.key(chord) {
                    Typed::More => {
                        self.narrow();
                        Picked::More
                    }
                    Typed::Given => Picked::None,
                    Typed::Done => self.chosen().cloned().map_or(Picked::More, Picked::Row),
                };
            }
        };
        self.view.step(by, self.matches.len(), height);
        Picked::More
    }

    /// Takes pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        self.prompt.paste(text);
        self.narrow();
    }

    /// The row under the cursor.
    pub fn chosen(&self) -> Option<&SessionRow> {
        self.row(self.view.cursor)
    }

    /// The session in a row of the list.
    pub fn row(&self, at: usize) -> Option<&SessionRow> {
        self.rows.as_ref()?.get(*self.matches.get(at)?)
    }

    /// Lists what matches; the best is first and chosen.
    fn narrow(&mut self) {
        let rows = self.rows.as_deref().unwrap_or_default();
        let words: Vec<Vec<char>> =
            self.prompt.text.split_whitespace().map(|word| word.chars().collect()).collect();
        let scored = rows.iter().enumerate().filter_map(|(at, row)| {
            let text = format!("{} {} {} {}", row.title, row.cwd, row.agent, row.id);
            let scores: Option<Vec<u32>> = words.iter().map(|word| score(word, &text)).collect();
            Some((Reverse(scores?.iter().sum::<u32>()), at))
        });
        let mut scored: Vec<_> = scored.collect();
        scored.sort_unstable();
        self.matches = scored.into_iter().map(|(_, at)| at).collect();
        self.view = Viewport::default();
    }
}

/// How well the letters of a word stand in a text, in this order but perhaps with others between;
/// none where they do not. Letters that stand together count more, and so do first letters of
/// words. A lower-case letter matches both cases.
fn score(word: &[char], text: &str) -> Option<u32> {
    /// So many beginnings are tried: the first one is not always the best.
    const TRIED: usize = 16;
    let text: Vec<char> = text.chars().collect();
    let matches = |wanted: char, c: char| c == wanted || c.to_lowercase().eq([wanted]);
    let from = |start: usize| {
        let (mut score, mut at) = (0, start);
        let mut last = None;
        for wanted in word {
            let found = at + text.get(at..)?.iter().position(|c| matches(*wanted, *c))?;
            let is_next = last.is_some_and(|last| last + 1 == found);
            let before = found.checked_sub(1).and_then(|before| text.get(before));
            let begins = before.is_none_or(|before| !before.is_alphanumeric());
            score += 1 + 4 * u32::from(is_next) + 2 * u32::from(begins);
            (last, at) = (Some(found), found + 1);
        }
        Some(score)
    };
    let Some(first) = word.first() else { return Some(0) };
    let starts = text.iter().enumerate().filter(|(_, c)| matches(*first, **c)).map(|(at, _)| at);
    starts.take(TRIED).filter_map(from).max()
}

/// An age as a person reads it, at most four letters.
pub fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

impl App {
    /// How many sessions the picker shows at once.
    pub fn picker_height(&self) -> usize {
        usize::from(self.size.1).saturating_sub(3).max(1)
    }

    /// Nothing of the session so far stays; what the person chose does.
    pub(super) fn begin_session(&mut self) {
        let mut choices = self.choices;
        choices.follow = true;
        *self = Self { size: self.size, choices, requests: self.requests, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(word: &str, text: &str) -> Option<u32> {
        score(&word.chars().collect::<Vec<_>>(), text)
    }

    #[test]
    fn letters_that_stand_together_and_begin_words_count_more() {
        assert!(scored("par", "the parser") > scored("par", "pay a rat"));
        assert!(scored("fp", "fix parser") > scored("fp", "off a lap"));
        assert!(scored("ab", "a b ab") == scored("ab", "ab"), "not only the first place is tried");
        assert_eq!(scored("rap", "par"), None);
        assert_eq!(scored("", "x"), Some(0));
        assert!(scored("É", "é").is_none() && scored("é", "É").is_some());
    }

    #[test]
    fn ages_are_short() {
        let shown: Vec<_> = [0, 59, 60, 3599, 3600, 86_399, 86_400].map(age).into();
        assert_eq!(shown, ["0s", "59s", "1m", "59m", "1h", "23h", "1d"]);
    }
}
