//! Journeys of a person: keys in, screens out.

use crate::person::Person;
use expect_test::expect_file;
use handback::app::{Effect, Event, Focus, Live, Shown};
use handback::diff::{Limit, compare};
use handback::reader::{ReadOptions, TurnHead};
use handback::session::archive::Archive;
use serde_json::json;
use std::sync::Arc;

fn check(person: &Person, name: &str) {
    let path = format!("{}/tests/screens/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    expect_file![path].assert_eq(&person.screen());
}

#[test]
fn the_demo_opens_on_its_newest_turn() {
    for (width, height) in [(80, 24), (120, 40), (200, 60), (40, 12)] {
        let person = Person::at_demo((width, height));
        check(&person, &format!("demo-{width}x{height}"));
    }
}

#[test]
fn a_file_side_by_side_and_unified() {
    let mut person = Person::at_demo((160, 30));
    check(person.keys("( ( ."), "main-160x30-split");
    check(person.keys("v"), "main-160x30-unified");
    let mut person = Person::at_demo((80, 24));
    check(person.keys("( ( . Tab"), "main-80x24");
}

#[test]
fn every_kind_of_change_is_told() {
    let mut person = Person::at_demo((100, 24));
    let mut screens = String::new();
    person.keys("(");
    for _ in 0..5 {
        screens.push_str(&person.screen());
        person.keys(".");
    }
    for told in ["binary: ", "renamed from src/count.rs", "deleted file", "mode 100644 → 100755"]
    {
        assert!(screens.contains(told), "{told}\n{screens}");
    }
    person.keys(") .");
    let mut screens = String::new();
    for _ in 0..6 {
        person.keys(".");
        screens.push_str(&person.screen());
    }
    assert!(screens.contains("final newline removed"), "{screens}");
}

#[test]
fn help_lists_every_command_and_closes() {
    let mut person = Person::at_demo((100, 40));
    check(person.keys("?"), "help-100x40");
    person.keys("q");
    assert!(person.left_over.iter().all(|effect| *effect != Effect::Quit));
    assert!(!person.screen().contains("Go one row down"));
    person.keys("q");
    assert!(person.left_over.contains(&Effect::Quit));
}

#[test]
fn changes_are_walked_in_order_and_back() {
    let mut person = Person::at_demo((100, 24));
    person.keys("( ( . Tab g");
    let mut forward = vec![person.line()];
    for _ in 0..5 {
        person.keys("]");
        forward.push(person.line());
    }
    let mut back = vec![person.line()];
    for _ in 0..5 {
        person.keys("K");
        back.push(person.line());
    }
    back.reverse();
    assert_eq!(forward, back);
    assert_eq!(forward.len(), 6);
    person.keys("G ]");
    assert!(person.screen().contains("no further change here"), "{}", person.screen());
}

#[test]
fn a_search_goes_round_and_says_when_there_is_nothing() {
    let mut person = Person::at_demo((100, 24));
    person.keys("( ( / w o r d s Enter");
    let first = person.line();
    assert!(first.to_lowercase().contains("words"), "{first}");
    let mut seen = vec![first.clone()];
    while seen.len() < 50 {
        person.keys("n");
        if person.line() == first {
            break;
        }
        seen.push(person.line());
    }
    assert!(seen.len() > 3 && seen.iter().all(|line| line.to_lowercase().contains("words")));
    person.keys("N");
    assert_eq!(Some(&person.line()), seen.last());
    person.keys("/ z z z Enter");
    assert!(person.screen().contains("not found: zzz"));
    person.keys("/ a b Esc");
    assert!(!person.screen().contains("/ab"));
}

#[test]
fn the_layout_keeps_the_line_under_the_cursor() {
    let mut person = Person::at_demo((150, 24));
    person.keys("( ( . Tab ] ] ]");
    let place = |person: &Person| {
        let row = person.app.viewer.plan.rows[person.app.viewer.view.cursor];
        (row.old(), row.new_line())
    };
    let mut before = place(&person);
    let mut stays = |person: &Person| {
        let after = place(person);
        let same =
            before.0.is_some() && before.0 == after.0 || before.1.is_some() && before.1 == after.1;
        assert!(same, "{before:?} {after:?}");
        before = after;
    };
    for _ in 0..3 {
        stays(person.keys("v"));
    }
    stays(person.keys("s"));
    person.see(Event::Resize(50, 12));
    stays(&person);
}

#[test]
fn the_list_and_the_viewer_tell_the_same_counts() {
    let mut person = Person::at_demo((120, 40));
    for _ in 0..3 {
        let turn = person.app.open_turn().unwrap();
        let files = turn.known().unwrap().files.len();
        for at in 0..files {
            let counts = person.app.open_turn().unwrap().counts[at].unwrap();
            person.app.outline.view.cursor =
                person.app.outline.row_of(handback::app::Item::File(at));
            person.keys("j k");
            let is_chosen = person.app.outline.chosen() == handback::app::Item::File(at);
            if let Some(comparison) = person.app.viewer.comparison().filter(|_| is_chosen) {
                assert_eq!(comparison.added(), counts.added);
                assert_eq!(comparison.deleted(), counts.deleted);
            }
        }
        person.keys("(");
    }
}

#[test]
fn a_screen_of_any_size_is_drawn() {
    let mut person = Person::at_demo((80, 24));
    for width in (1..40).chain([59, 60, 61, 110, 300]) {
        for height in [1, 4, 5, 6, 11, 60] {
            person.see(Event::Resize(width, height));
            let screen = person.screen();
            let small = width < 20 || height < 5;
            assert!(screen.lines().count() == usize::from(height));
            assert!(!small || screen.starts_with(&format!("{width}×{height}")[..1]), "{screen}");
            person.keys("Tab j ] v ? Esc PgDn");
        }
    }
}

#[test]
fn focus_sidebar_and_back() {
    let mut person = Person::at_demo((100, 24));
    person.keys("Enter");
    assert_eq!(person.app.focus, Focus::File);
    person.keys("Esc");
    assert_eq!(person.app.focus, Focus::List);
    person.keys("s");
    assert_eq!(person.app.focus, Focus::File);
    assert!(!person.screen().contains("presented"));
    person.keys("Tab");
    assert!(person.screen().contains("presented"));
}

fn list(heads: impl IntoIterator<Item = TurnHead>) -> Archive<TurnHead> {
    heads.into_iter().collect()
}

#[test]
fn a_new_turn_is_followed_or_announced() {
    let mut person = Person::at_demo((100, 24));
    let mut heads: Vec<_> = person.app.turns.iter().map(|head| head.clone()).collect();
    let mut new = heads[2].clone();
    new.turn.turn = 4;
    new.turn.prompt = "The fourth".into();
    new.revision = 1_000;
    person.see(Event::Turns { from: 3, turns: list([new.clone()]) });
    assert_eq!(person.app.outline.open, Some(3), "the newest turn is followed");
    let mut person = Person::at_demo((100, 24));
    person.keys("(");
    person.see(Event::Turns { from: 3, turns: list([new.clone()]) });
    assert_eq!(person.app.outline.open, Some(1), "whoever moved stays");
    assert!(person.screen().contains("turn 4 is new"), "{}", person.screen());
    person.keys("F");
    assert_eq!(person.app.outline.open, Some(3));
    heads.truncate(1);
    person.see(Event::Turns { from: 0, turns: list(heads) });
    assert_eq!(person.app.turns.len(), 1, "a log that was cut shows what is left");
    assert_eq!(person.app.outline.open, Some(0));
}

#[test]
fn a_file_that_is_too_large_is_compared_when_asked() {
    let mut person = Person::at_demo_with((100, 24), 100);
    person.keys("( ( . Enter");
    assert!(person.screen().contains("Enter compares it anyway"), "{}", person.screen());
    person.keys("Enter");
    assert!(person.screen().contains("fn main()"), "{}", person.screen());
}

/// A comparison of two texts that stands for the answer to the person's last request.
fn answer(person: &mut Person, old: &str, new: &str, coarse: bool) {
    let bytes = |text: &str| Some(text.as_bytes().into());
    let deadline = coarse.then(std::time::Instant::now);
    let limit = Limit { deadline, ..Limit::default() };
    let comparison = compare(bytes(old), bytes(new), &limit).unwrap();
    assert_eq!(comparison.coarse, coarse);
    let request = person.app.viewer.request;
    person.see(Event::Compared { request, shown: Shown::Text(Arc::new(comparison)) });
}

#[test]
fn an_exact_comparison_takes_the_place_of_a_coarse_one_under_the_cursor() {
    let mut person = Person::at_demo((100, 24));
    let old: String = (0..300).map(|n| format!("line {n}\n")).collect();
    let new = old.replace("line 100\n", "line one hundred\n").replace("line 200\n", "");
    person.keys("( ( .");
    person.app.viewer.is_waiting = true;
    person.app.viewer.keeps_place = false;
    answer(&mut person, &old, &new, true);
    assert!(person.screen().contains("coarse: the comparison ran out of time"));
    person.keys("Tab G k k k k");
    let line = person.line();
    answer(&mut person, &old, &new, false);
    assert_eq!(person.app.viewer.comparison().map(|c| (c.added(), c.deleted())), Some((1, 2)));
    assert!(!person.screen().contains("coarse"), "{}", person.screen());
    // The line itself is folded away now: the fold that hides it stands for it.
    let row = person.app.viewer.plan.rows[person.app.viewer.view.cursor];
    let number = row.new_line().unwrap();
    let new_line: u32 = new.lines().position(|l| l == line).unwrap().try_into().unwrap();
    assert!((number..number + row.hidden.max(1)).contains(&new_line), "{line} {row:?}");
    person.keys("Enter");
    let shown = person.app.viewer.plan.rows.iter().any(|row| row.new_line() == Some(new_line));
    assert!(shown, "the fold is open");
}

#[test]
fn an_answer_that_is_no_longer_awaited_is_dropped() {
    let mut person = Person::at_demo((100, 24));
    let before = person.screen();
    let shown = Shown::Failed("stale".into());
    person.see(Event::Compared { request: person.app.viewer.request - 1, shown });
    assert_eq!(person.screen(), before);
}

fn rows(rows: &[serde_json::Value]) -> Vec<u8> {
    rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect()
}

#[test]
fn a_presented_file_that_is_there_is_read_whole() {
    let directory = tempfile::tempdir().unwrap();
    let text: String = (1..60).map(|n| format!("point {n}\r\n")).collect();
    std::fs::write(directory.path().join("notes.md"), text).unwrap();
    let log = rows(&[
        json!({"type": "session", "version": 0, "id": "s", "createdAt": 1, "delegationDepth": 0,
               "cwd": directory.path()}),
        json!({"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}),
        json!({"type": "deliverables/presented", "seq": 1, "time": 4_000_000_000_000_u64,
               "data": {"turn": 1, "callId": "p", "files": [{"path": "notes.md"}]}}),
    ]);
    let options = ReadOptions { max_file_bytes: 1 << 20, ..ReadOptions::default() };
    let mut person = Person::at(&log, options, (100, 30));
    let screen = person.screen();
    assert!(screen.contains("point 1␍") && screen.contains("point 20"), "{screen}");
    assert!(screen.contains("presented, as it is now"), "{screen}");
    // Line ends of an unchanged file paint nothing as changed.
    assert!(person.app.viewer.plan.rows.iter().all(|row| !row.is_change()));
    person.keys("Tab G");
    assert!(person.screen().contains("point 59"), "{}", person.screen());
}

#[test]
fn a_list_read_anew_leaves_the_reader_where_he_is() {
    let mut person = Person::at_demo((100, 24));
    person.keys("( ( . Tab ] ] ]");
    let line = person.line();
    let mut head = person.app.turns.get(0).unwrap().clone();
    head.revision += 1_000;
    person.see(Event::Turns { from: 0, turns: list([head]) });
    assert_eq!(person.line(), line);
    assert_eq!(person.app.focus, Focus::File);
}

#[test]
fn a_long_line_is_paged_through_when_wrapped() {
    let mut person = Person::at_demo((100, 24));
    let words: String = (0..5_000).map(|n| format!("word{n} ")).collect();
    person.keys("( ( .");
    person.app.viewer.is_waiting = true;
    person.app.viewer.keeps_place = false;
    answer(&mut person, "a\n", &format!("a\n{words}\nlast\n"), false);
    person.keys("Tab w g");
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let screen = person.screen();
        seen.extend((0..5_000).filter(|n| screen.contains(&format!("word{n} "))));
        if screen.contains("last") {
            break;
        }
        person.keys("PgDn");
    }
    // A word that a wrap cuts in two is not found whole: one in ten.
    assert!(seen.len() > 4_000, "{}", seen.len());
    assert!(person.screen().contains("last"), "{}", person.screen());
    let at_end = person.screen();
    person.keys("PgDn PgDn");
    assert_eq!(person.screen(), at_end, "the last page stays full");
    for _ in 0..200 {
        person.keys("PgUp");
    }
    assert_eq!((person.app.viewer.view.top, person.app.viewer.skip), (0, 0));
}

#[test]
fn the_status_bar_tells_how_the_log_is_followed() {
    let mut person = Person::at_demo((120, 24));
    for (live, words) in
        [(Live::Watching, "● live"), (Live::Polling, "◌ polling"), (Live::Gone, "✗ log gone")]
    {
        person.see(Event::Live(live));
        assert!(person.screen().contains(words), "{}", person.screen());
    }
    person.see(Event::Warning("session.jsonl: permission denied".into()));
    assert!(person.screen().contains("permission denied"));
    person.keys("j");
    assert!(!person.screen().contains("permission denied"));
    person.keys("!");
    assert!(person.screen().contains("permission denied"), "{}", person.screen());
}

#[test]
fn keys_do_nothing_behind_the_help() {
    let mut person = Person::at_demo((100, 14));
    let open = person.app.outline.open;
    person.keys("? G ) v Tab / s");
    assert_eq!(person.app.outline.open, open);
    let at_end = person.screen();
    person.keys("j j j j k");
    assert_ne!(person.screen(), at_end, "one key back from the end moves");
    person.keys("Esc");
    assert!(person.screen().contains("presented"));
}

#[test]
fn a_list_that_ends_in_notes_can_be_walked() {
    let mut person = Person::at_demo((100, 24));
    let mut changes = (**person.app.opened[&3].known().unwrap()).clone();
    changes.notes = vec!["one".into(), "two".into(), "three".into()];
    let revision = person.app.opened[&3].head.revision;
    let base = handback::app::Base::default();
    let changes = Ok(Some(Arc::new(changes)));
    person.see(Event::Changes { turn: 3, revision, base, changes });
    person.keys("j j j j j j j j j j G g G k");
    assert!(person.app.outline.chosen().is_choice());
}
