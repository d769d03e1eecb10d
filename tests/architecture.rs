//! The floors of the house as a test: no import upwards, no circle, every file says what it is for.

use std::fs;
use std::path::{Path, PathBuf};

/// Every room with its floor; a room may name rooms of lower floors only.
const FLOORS: &[(&str, u8)] = &[
    ("session", 0),
    ("text", 0),
    ("diff", 1),
    ("log", 1),
    ("content", 1),
    ("snapshot", 2),
    ("replay", 2),
    ("store", 2),
    ("layout", 2),
    ("record", 3),
    ("tool", 3),
    ("reader", 4),
    ("bridge", 4),
    ("app", 5),
    ("view", 6),
    ("shell", 7),
    ("cli", 8),
];

/// What only some rooms may name of other people's crates.
const KEPT_IN: &[(&str, &[&str])] = &[
    ("gix::", &["content", "snapshot", "store", "diff", "record"]),
    ("ratatui::", &["view", "shell", "layout"]),
    ("crossterm::", &["shell"]),
    ("notify::", &["log", "record"]),
    ("rusqlite::", &["log"]),
    ("print!(", &["cli"]),
    ("println!(", &["cli"]),
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn all() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    found.sort();
    assert!(found.len() > 10, "the walk found next to nothing");
    found
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path.strip_prefix(&root).unwrap().to_path_buf(), text)
        })
        .collect()
}

fn room(path: &Path) -> Option<&str> {
    let first = path.components().next()?.as_os_str().to_str()?;
    (path.components().count() > 1).then_some(first)
}

fn floor(name: &str) -> u8 {
    FLOORS
        .iter()
        .find(|(room, _)| *room == name)
        .unwrap_or_else(|| panic!("room `{name}` has no floor in tests/architecture.rs"))
        .1
}

/// The code of a file: no comments, and no unit tests (they stand last in their file).
fn code(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..end].lines().filter(|line| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with("//")
    })
}

#[test]
fn a_room_names_only_rooms_below_it() {
    let mut wrong = Vec::new();
    for (path, text) in all() {
        let Some(here) = room(&path) else { continue };
        for line in code(&text) {
            for (at, _) in line.match_indices("crate::") {
                let name: String = line[at + 7..]
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                if name.is_empty() || name == here || !FLOORS.iter().any(|(r, _)| *r == name) {
                    continue;
                }
                if floor(&name) >= floor(here) {
                    wrong.push(format!("{}: {here} names {name}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "upward imports:\n{}", wrong.join("\n"));
}

#[test]
fn other_peoples_types_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    for (path, text) in all() {
        let here = room(&path).unwrap_or("main");
        for line in code(&text) {
            for (name, rooms) in KEPT_IN {
                let named = line.match_indices(name).any(|(at, _)| {
                    !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                });
                if named && !rooms.contains(&here) {
                    wrong.push(format!("{}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "names that belong elsewhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = all()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| path)
        .collect();
    assert!(silent.is_empty(), "no opening `//!` line: {silent:?}");
}

#[test]
fn no_file_is_over_400_lines_of_code() {
    let long: Vec<_> = all()
        .into_iter()
        .map(|(path, text)| (path, code(&text).count()))
        .filter(|(_, lines)| *lines > 400)
        .collect();
    assert!(long.is_empty(), "split along a noun: {long:?}");
}
