//! Every command once: name, title, keys, where it holds, what it does.
//!
//! The key map, the help, the hint bar and the README's list are made from this table.

use super::chord::Chord;
use super::event::Effect;
use super::{App, Focus, acts, base, branch, history, moves, picker, ran};

/// Where a command's keys hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Everywhere,
    /// With the focus on the list.
    List,
    /// With the focus on the file.
    File,
}

/// Something a person can do.
pub struct Command {
    /// One word, for settings and the palette.
    pub name: &'static str,
    /// A word or two, for the hint bar.
    pub title: &'static str,
    /// A line, for the help and the README.
    pub help: &'static str,
    /// Its keys; the first one is shown in the hint bar.
    pub keys: &'static [&'static str],
    /// Where they hold.
    pub scope: Scope,
    /// Whether the hint bar names it.
    pub hinted: bool,
    /// What it does.
    pub run: fn(&mut App) -> Vec<Effect>,
}

macro_rules! commands {
    ($($scope:ident $name:literal $title:literal [$($key:literal)*] $hinted:literal $help:literal $run:path;)*) => {
        &[$(Command {
            name: $name, title: $title, help: $help, keys: &[$($key),*],
            scope: Scope::$scope, hinted: $hinted, run: $run,
        },)*]
    };
}

/// Every command, in the order of the help.
pub const COMMANDS: &[Command] = commands! {
    Everywhere "down" "down" ["j" "Down"] false "Go one row down" moves::down;
    Everywhere "up" "up" ["k" "Up"] false "Go one row up" moves::up;
    Everywhere "half-page-down" "half page" ["C-d"] false "Go half a page down in the file" moves::half_page_down;
    Everywhere "half-page-up" "half page" ["C-u"] false "Go half a page up in the file" moves::half_page_up;
    Everywhere "page-down" "page" ["PgDn" "C-f"] false "Go a page down in the file" moves::page_down;
    Everywhere "page-up" "page" ["PgUp" "C-b"] false "Go a page up in the file" moves::page_up;
    Everywhere "top" "top" ["g" "Home"] false "Go to the top" moves::top;
    Everywhere "bottom" "bottom" ["G" "End"] false "Go to the bottom" moves::bottom;
    File "left" "left" ["h" "Left"] false "Scroll to the left" moves::left;
    File "right" "right" ["l" "Right"] false "Scroll to the right" moves::right;
    Everywhere "next-change" "change" ["]" "J"] true "Go to the next change" moves::next_change;
    Everywhere "previous-change" "change" ["[" "K"] false "Go to the previous change" moves::previous_change;
    Everywhere "next-file" "file" ["."] true "Go to the next file" moves::next_file;
    Everywhere "previous-file" "file" [","] false "Go to the previous file" moves::previous_file;
    Everywhere "next-turn" "turn" [")"] true "Go to the next turn" acts::next_turn;
    Everywhere "previous-turn" "turn" ["("] false "Go to the previous turn" acts::previous_turn;
    List "open" "open" ["Enter" "l" "Right"] true "Open the turn or file under the cursor" acts::open;
    File "unfold" "unfold" ["Enter"] false "Show folded lines, or a file that is too large" acts::unfold;
    List "close" "close" ["h" "Left"] false "Close the open turn" acts::close;
    Everywhere "focus" "focus" ["Tab" "S-Tab"] true "Move the focus between list and file" acts::focus;
    Everywhere "sidebar" "list" ["s"] false "Show or hide the list" acts::sidebar;
    Everywhere "layout" "layout" ["v"] true "Change the layout: auto, unified, side by side" acts::layout;
    Everywhere "wrap" "wrap" ["w"] false "Wrap long lines, or cut them" acts::wrap;
    Everywhere "follow" "follow" ["F"] false "Follow the newest turn, or stay" acts::follow;
    Everywhere "output" "output" ["o"] false "Show the commands of the turn and their output" ran::output;
    Everywhere "base" "base" ["b"] false "Change what the diff is against" base::next;
    Everywhere "history" "history" ["t"] false "Step through the turns that changed this file" history::toggle;
    Everywhere "branch" "branch" ["B"] false "Show the next branch of the session" branch::next;
    Everywhere "sessions" "sessions" ["S"] false "Pick another session" picker::open;
    Everywhere "search" "search" ["/"] true "Search in the file" acts::search;
    Everywhere "next-match" "match" ["n"] false "Go to the next match" acts::next_match;
    Everywhere "previous-match" "match" ["N"] false "Go to the previous match" acts::previous_match;
    Everywhere "messages" "messages" ["!"] false "Show warnings and messages" acts::messages;
    Everywhere "back" "back" ["Esc"] false "Leave the search, the help, or the file" acts::back;
    Everywhere "help" "help" ["?"] true "Show this help" acts::help;
    Everywhere "suspend" "suspend" ["C-z"] false "Stop, and go on with `fg`" acts::suspend;
    Everywhere "quit" "quit" ["q" "C-c"] true "Quit" acts::quit;
};

/// The command of a key with this focus: the narrower scope first.
pub fn lookup(chord: Chord, focus: Focus) -> Option<&'static Command> {
    let narrow = match focus {
        Focus::List => Scope::List,
        Focus::File => Scope::File,
    };
    let holds = |scope: Scope| {
        COMMANDS.iter().find(|command| {
            command.scope == scope
                && command.keys.iter().any(|key| Chord::parse(key) == Some(chord))
        })
    };
    holds(narrow).or_else(|| holds(Scope::Everywhere))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_key_parses_and_none_is_bound_twice_in_one_scope() {
        let mut seen = HashSet::new();
        for command in COMMANDS {
            for key in command.keys {
                let chord = Chord::parse(key);
                assert!(chord.is_some(), "{key}");
                assert_eq!(chord.map(|c| c.to_string()).as_deref(), Some(*key));
                assert!(seen.insert((command.scope as u8, *key)), "{key} is bound twice");
            }
        }
    }

    #[test]
    fn names_are_unique_and_help_is_one_short_line() {
        let mut names = HashSet::new();
        for command in COMMANDS {
            assert!(names.insert(command.name), "{}", command.name);
            assert!(command.help.len() < 60 && !command.help.ends_with('.'), "{}", command.help);
            assert!(!command.keys.is_empty(), "{}", command.name);
        }
    }

    #[test]
    fn every_motion_has_a_key_without_altgr() {
        let needs_altgr = ["[", "]", "{", "}", "@", "\\", "|", "~"];
        for command in COMMANDS {
            let plain = command.keys.iter().any(|key| !needs_altgr.contains(key));
            assert!(plain, "{} can only be reached with AltGr on some keyboards", command.name);
        }
    }
}
