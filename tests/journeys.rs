//! Journeys of a person: keys in, screens out.

use crate::person::Person;
use expect_test::expect_file;
use handback::app::{Effect, Event, Focus};

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
            if let Some(comparison) = person.app.viewer.comparison() {
                if person.app.outline.chosen() == handback::app::Item::File(at) {
                    assert_eq!(comparison.added(), counts.added);
                    assert_eq!(comparison.deleted(), counts.deleted);
                }
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

#[test]
fn a_new_turn_is_followed_or_announced() {
    let mut person = Person::at_demo((100, 24));
    let mut heads: Vec<_> = person.app.turns.iter().map(|turn| turn.head.clone()).collect();
    let mut new = heads[2].clone();
    new.turn.turn = 4;
    new.turn.prompt = "The fourth".into();
    new.revision = 1_000;
    person.see(Event::Turns { from: 3, turns: vec![new.clone()] });
    assert_eq!(person.app.outline.open, Some(3), "the newest turn is followed");
    let mut person = Person::at_demo((100, 24));
    person.keys("(");
    person.see(Event::Turns { from: 3, turns: vec![new.clone()] });
    assert_eq!(person.app.outline.open, Some(1), "whoever moved stays");
    assert!(person.screen().contains("turn 4 is new"), "{}", person.screen());
    person.keys("F");
    assert_eq!(person.app.outline.open, Some(3));
    heads.truncate(1);
    person.see(Event::Turns { from: 0, turns: heads });
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
