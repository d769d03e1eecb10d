//! The README says what the program says: its screen and its key list are made from the program.
//!
//! `UPDATE_EXPECT=1 cargo test docs` writes them anew.

use crate::person::Person;
use handback::app::{COMMANDS, Scope};
use std::path::PathBuf;

fn readme() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

/// Holds the README's part between two marks to what it should be.
fn hold(name: &str, expected: &str) {
    let text = std::fs::read_to_string(readme()).unwrap();
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let from = text.find(&begin).unwrap() + begin.len();
    let to = from + text[from..].find(&end).unwrap();
    if text[from..to] == *expected {
        return;
    }
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    assert!(
        update,
        "README's {name} is stale; UPDATE_EXPECT=1 cargo test docs writes it:\n{expected}"
    );
    std::fs::write(readme(), format!("{}{expected}{}", &text[..from], &text[to..])).unwrap();
}

#[test]
fn the_readme_is_what_the_program_says() {
    // One after the other: both may write the file.
    the_readme_lists_the_keys();
    the_readme_shows_the_demo();
}

fn the_readme_lists_the_keys() {
    let mut rows = String::from("| keys | does | where |\n|---|---|---|\n");
    for command in COMMANDS {
        let keys: Vec<String> = command.keys.iter().map(|key| format!("`{key}`")).collect();
        let place = match command.scope {
            Scope::Everywhere => "",
            Scope::List => "list",
            Scope::File => "file",
        };
        rows.push_str(&format!("| {} | {} | {place} |\n", keys.join(" "), command.help));
    }
    hold("keys", &rows);
}

fn the_readme_shows_the_demo() {
    let mut person = Person::at_demo((100, 22));
    hold("screen", &format!("```text\n{}```\n", person.keys("( ( .").screen()));
}
