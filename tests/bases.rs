//! Bases, file history and the session picker: on logs and repositories made here.

use crate::person::Person;
use handback::app::{Base, Effect, Event, Item, SessionRow, Subject, TurnCount};
use handback::content::{Changes, ContentId, Pair};
use handback::log::open::{LogFile, OpenOptions};
use handback::log::source::Stored;
use handback::reader::{Brief, Counts, ReadOptions, Reader};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A log of dsh that is written row by row.
pub struct Log {
    rows: Vec<Value>,
    calls: usize,
}

impl Log {
    pub fn new(cwd: &Path) -> Self {
        let header = json!({"type": "session", "version": 0, "id": "s", "createdAt": 1,
            "delegationDepth": 0, "cwd": cwd});
        Self { rows: vec![header], calls: 0 }
    }

    fn row(&mut self, kind: &str, data: &Value) {
        let at = self.rows.len() - 1;
        self.rows.push(json!({"type": kind, "seq": at, "time": at, "data": data}));
    }

    pub fn turn(&mut self, turn: u32, prompt: &str) -> &mut Self {
        self.row("turn/start", &json!({"turn": turn}));
        self.row(
            "user/message",
            &json!({"id": format!("u{turn}"), "source": {"kind": "user"},
                "content": [{"type": "text", "text": prompt}]}),
        );
        self
    }

    pub fn end(&mut self, turn: u32) -> &mut Self {
        self.row("turn/end", &json!({"turn": turn, "reason": {"kind": "completed"}}));
        self
    }

    pub fn call(&mut self, turn: u32, name: &str, arguments: &Value, answer: &str) -> &mut Self {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        self.row(
            "tool/call",
            &json!({"turn": turn, "step": 1, "callId": id, "name": name,
                "arguments": arguments.to_string()}),
        );
        self.row(
            "tool/result",
            &json!({"turn": turn, "step": 1, "message": {"role": "tool",
                "source": {"kind": "tool", "callId": id}, "toolCallId": id, "isError": false,
                "content": [{"type": "text", "text": answer}]}}),
        );
        self
    }

    pub fn create(&mut self, turn: u32, path: &str, content: &str) -> &mut Self {
        let arguments = json!({"file_path": path, "content": content});
        self.call(turn, "write", &arguments, &answer(path, "Created file"))
    }

    fn write(&mut self, turn: u32, path: &str, content: &str) -> &mut Self {
        let arguments = json!({"file_path": path, "content": content});
        self.call(turn, "write", &arguments, &answer(path, "Updated file"))
    }

    pub fn edit(&mut self, turn: u32, path: &str, old: &str, new: &str) -> &mut Self {
        let arguments = json!({"file_path": path, "old_string": old, "new_string": new});
        self.call(turn, "edit", &arguments, "ok")
    }

    fn trees(&mut self, turn: u32, before: &str, after: &str) -> &mut Self {
        let snapshot = json!({"before": before, "after": after});
        self.row("workspace/changes", &json!({"turn": turn, "snapshot": snapshot}));
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect()
    }

    fn person(&self, size: (u16, u16)) -> Person {
        Person::at(&self.bytes(), options(), size)
    }
}

fn answer(path: &str, words: &str) -> String {
    format!("<path>{path}</path>\n<type>file</type>\n<content>\n{words}\n</content>")
}

fn options() -> ReadOptions {
    ReadOptions { max_file_bytes: 1 << 20, ..ReadOptions::default() }
}

/// What git prints, without the last newline; the person's settings do not count.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let done = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b")])
        .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@b")])
        .output()
        .unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A repository with one commit.
fn repository() -> (tempfile::TempDir, std::path::PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    fs::write(root.join("kept"), "kept\n").unwrap();
    fs::write(root.join("a"), "one\ntwo\nthree\n").unwrap();
    commit(&root, "first");
    (temp, root)
}

fn commit(root: &Path, message: &str) -> String {
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", message]);
    git(root, &["rev-parse", "HEAD^{tree}"])
}

/// The tree of the work tree as it is now.
fn tree(root: &Path) -> String {
    git(root, &["add", "-A"]);
    git(root, &["write-tree"])
}

/// The files of the list: letter and path.
fn listed(person: &Person) -> Vec<String> {
    let Some(changes) = person.app.open_turn().unwrap().known() else { return Vec::new() };
    let files = changes.files.iter().map(|change| &change.file);
    let shown = files.map(|file| match &file.old_path {
        Some(old) => format!("{:?} {old} → {}", file.status, file.display),
        None => format!("{:?} {}", file.status, file.display),
    });
    shown.collect()
}

fn notes(person: &Person) -> Vec<String> {
    person.app.open_turn().unwrap().known().map(|changes| changes.notes.clone()).unwrap_or_default()
}

fn title(person: &Person) -> String {
    person.screen().lines().next().unwrap().to_owned()
}

/// Three turns by edits alone: `gone` is changed and changed back, `stays` is changed twice.
fn edits_only() -> Log {
    let mut log = Log::new(Path::new("/nowhere"));
    log.turn(1, "Make them").create(1, "gone", "a\n").create(1, "stays", "1\n2\n").end(1);
    log.turn(2, "Change them").edit(2, "gone", "a", "b").edit(2, "stays", "1", "one").end(2);
    log.turn(3, "Change back").edit(3, "gone", "b", "a").edit(3, "stays", "2", "two").end(3);
    log
}

#[test]
fn what_is_changed_and_changed_back_is_not_listed_since_the_turn_before() {
    let mut person = edits_only().person((120, 24));
    person.keys("(");
    assert_eq!(listed(&person), ["Modified gone", "Modified stays"]);
    assert!(title(&person).contains("turn 2 · replayed"), "{}", title(&person));
    person.keys(". b");
    assert_eq!(person.app.base, Base::Since);
    assert_eq!(listed(&person), ["Modified stays"]);
    assert!(title(&person).contains("stays") && title(&person).contains("since turn 2 · replayed"));
    let counts = person.app.open_turn().unwrap().counts[0];
    assert_eq!(counts, Some(Counts { added: 2, deleted: 2, ..Counts::default() }));
    assert_eq!(person.app.viewer.comparison().unwrap().added(), 2);
    person.keys("b");
    assert_eq!(listed(&person), ["Added gone", "Added stays"]);
    assert!(title(&person).contains("whole session · replayed"), "{}", title(&person));
}

#[test]
fn a_base_that_is_not_there_is_passed_over_with_a_message() {
    let mut person = edits_only().person((140, 24));
    person.keys("b b b");
    assert_eq!(person.app.base, Base::Turn, "neither HEAD nor a merge base is there");
    assert!(person.screen().contains("merge base is passed over"), "{}", person.screen());
    assert_eq!(listed(&person), ["Modified gone", "Modified stays"]);
}

#[test]
fn everything_changed_back_says_so() {
    let mut log = Log::new(Path::new("/nowhere"));
    log.turn(1, "Make").create(1, "x", "a\n").end(1);
    log.turn(2, "Change").edit(2, "x", "a", "b").end(2);
    log.turn(3, "Back").edit(3, "x", "b", "a").end(3);
    let mut person = log.person((100, 20));
    person.keys("( b");
    assert!(listed(&person).is_empty());
    assert!(person.screen().contains("no file differs from this base"), "{}", person.screen());
    assert!(title(&person).contains("since turn 2"), "{}", title(&person));
    assert_eq!(person.app.viewer.subject, None, "no file of another base stays on the screen");
    person.keys("b b");
    assert_eq!(person.app.base, Base::Turn);
    assert_eq!(listed(&person), ["Modified x"]);
}

/// A repository and a log with its trees: `a` is renamed, edited, and another takes its name.
fn trees() -> (tempfile::TempDir, std::path::PathBuf, Log) {
    let (temp, root) = repository();
    let first = tree(&root);
    let mut log = Log::new(&root);
    fs::rename(root.join("a"), root.join("b")).unwrap();
    fs::write(root.join("kept"), "changed\n").unwrap();
    let second = tree(&root);
    log.turn(1, "Rename").call(1, "bash", &json!({"command": "mv a b"}), "");
    log.trees(1, &first, &second).end(1);
    fs::write(root.join("b"), "one\n2\nthree\n").unwrap();
    fs::write(root.join("kept"), "kept\n").unwrap();
    let third = tree(&root);
    log.turn(2, "Edit").call(2, "bash", &json!({"command": "sed"}), "");
    log.trees(2, &second, &third).end(2);
    (temp, root, log)
}

#[test]
fn a_range_of_trees_is_the_first_against_the_last() {
    let (_temp, root, log) = trees();
    let mut person = log.person((120, 24));
    assert_eq!(listed(&person), ["Modified b", "Modified kept"]);
    person.keys("b b");
    assert_eq!(listed(&person), ["Renamed a → b"]);
    assert!(title(&person).contains("whole session · snapshot"), "{}", title(&person));
    // git tells the same.
    let told = git(&root, &["diff-tree", "-r", "-M", "--name-status", "HEAD^{tree}", &tree(&root)]);
    assert!(told.starts_with('R') && told.ends_with("a\tb"), "{told}");
}

#[test]
fn the_commit_that_is_checked_out_against_the_last_tree_or_the_disk() {
    let (_temp, root, mut log) = trees();
    let mut person = log.person((120, 24));
    person.keys("b b b");
    assert_eq!(person.app.base, Base::Head);
    assert_eq!(listed(&person), ["Renamed a → b"]);
    assert!(notes(&person)[0].contains("as turn 2 left it"), "{:?}", notes(&person));
    assert!(title(&person).contains("HEAD · snapshot"), "{}", title(&person));
    // A later turn that is known by its edits only: the disk tells what there is now.
    log.turn(3, "Go on").write(3, "kept", "again\n").create(3, "/elsewhere/x", "x\n").end(3);
    fs::write(root.join("kept"), "again\n").unwrap();
    let mut person = log.person((120, 24));
    person.keys("b b b");
    assert_eq!(listed(&person), ["Deleted a", "Added b", "Modified kept"]);
    assert!(title(&person).contains("HEAD · disk"), "{}", title(&person));
    assert!(notes(&person)[0].contains("as they are on disk now"), "{:?}", notes(&person));
    assert!(notes(&person)[1].contains("1 of its files"), "{:?}", notes(&person));
    // Once it is committed, nothing is left.
    commit(&root, "second");
    person.keys("b b b b");
    assert_eq!(person.app.base, Base::Head);
    assert!(listed(&person).is_empty(), "{:?}", listed(&person));
}

#[test]
fn the_merge_base_is_where_the_branch_left_its_upstream() {
    let (_temp, root, log) = trees();
    let mut person = log.person((120, 24));
    person.keys("b b b b");
    assert_eq!(person.app.base, Base::Turn, "no upstream");
    let screen = person.screen();
    assert!(screen.contains("branch main: it has no upstream branch"), "{screen}");
    let clone = tempfile::tempdir().unwrap();
    let clone = clone.path().canonicalize().unwrap().join("clone");
    git(&root, &["stash", "-q"]);
    git(&root, &["clone", "-q", root.to_str().unwrap(), clone.to_str().unwrap()]);
    // Upstream and branch each went on.
    fs::write(root.join("theirs"), "theirs\n").unwrap();
    commit(&root, "theirs");
    git(&clone, &["fetch", "-q"]);
    fs::write(clone.join("ours"), "ours\n").unwrap();
    let before = commit(&clone, "ours");
    fs::write(clone.join("kept"), "mine\n").unwrap();
    let after = tree(&clone);
    let mut log = Log::new(&clone);
    log.turn(1, "Do").call(1, "bash", &json!({"command": "x"}), "");
    log.trees(1, &before, &after).end(1);
    let mut person = log.person((140, 24));
    person.keys("b b b b");
    assert_eq!(person.app.base, Base::MergeBase);
    assert_eq!(listed(&person), ["Modified kept", "Added ours"]);
    assert!(title(&person).contains("merge base"), "{}", title(&person));
    assert!(
        notes(&person)[0].contains("merge base of HEAD and origin/main"),
        "{:?}",
        notes(&person)
    );
    // A branch that follows another of the same repository.
    git(&clone, &["checkout", "-q", "-b", "topic"]);
    git(&clone, &["branch", "-q", "--set-upstream-to=main"]);
    let mut person = log.person((140, 24));
    person.keys("b b b b");
    assert_eq!(listed(&person), ["Modified kept"]);
    assert!(notes(&person)[0].contains("HEAD and main"), "{:?}", notes(&person));
}

#[test]
fn turns_with_and_without_trees_are_put_together() {
    let (_temp, root, mut log) = trees();
    fs::write(root.join("b"), "one\n2\nthree\nfour\n").unwrap();
    log.turn(3, "Go on").edit(3, "b", "three", "three\nfour").create(3, "c", "c\n").end(3);
    fs::write(root.join("c"), "c\n").unwrap();
    let mut person = log.person((120, 24));
    person.keys("b b");
    assert_eq!(listed(&person), ["Renamed a → b", "Added c"], "kept was changed back");
    assert!(notes(&person)[0].contains("not every turn"), "{:?}", notes(&person));
    let comparison = person.app.viewer.comparison().unwrap();
    assert_eq!((comparison.added(), comparison.deleted()), (2, 1));
}

#[test]
fn the_history_of_a_file_goes_through_its_names() {
    let (_temp, _root, mut log) = trees();
    log.turn(3, "Nothing").end(3);
    log.turn(4, "Go on").edit(4, "b", "three", "three\nfour").end(4);
    let mut person = log.person((140, 24));
    assert_eq!(listed(&person), ["Modified b"]);
    person.keys("t");
    let open = |person: &Person| {
        let Some(Subject::Change(change)) = &person.app.viewer.subject else { panic!("no file") };
        (person.app.open_turn().unwrap().head.turn.turn, change.file.display.clone())
    };
    assert!(person.screen().contains("history of b: 3/3"), "{}", person.screen());
    person.keys("(");
    assert_eq!(open(&person), (2, "b".into()));
    assert!(person.screen().contains("history of b: 2/3"));
    person.keys("(");
    assert_eq!(open(&person), (1, "b".into()), "there it was renamed");
    person.keys("(");
    assert!(person.screen().contains("the first turn that changed it"), "{}", person.screen());
    person.keys(") )");
    assert_eq!(open(&person), (4, "b".into()));
    person.keys("t (");
    assert_eq!(person.app.open_turn().unwrap().head.turn.turn, 3, "turn by turn again");
    // From the older name forwards.
    let mut person = log.person((140, 24));
    person.keys("b b t");
    assert_eq!(person.app.base, Base::Turn, "a history goes turn by turn");
    assert_eq!(open(&person), (4, "b".into()));
}

#[test]
fn an_answer_for_another_base_is_dropped() {
    let mut person = edits_only().person((100, 20));
    person.keys("b");
    let since = person.app.open_turn().unwrap().known().cloned();
    let revision = person.app.open_turn().unwrap().head.revision;
    for (revision, base) in [(revision, Base::Session), (revision + 1, Base::Since)] {
        person.see(Event::Changes { turn: 3, revision, base, changes: Ok(None) });
    }
    assert_eq!(person.app.open_turn().unwrap().known().cloned(), since);
    let counts = vec![(0, Counts { added: 77, ..Counts::default() })];
    person.see(Event::Counted { turn: 3, revision, base: Base::Session, counts });
    assert_ne!(person.app.open_turn().unwrap().counts[0].unwrap().added, 77);
}

#[test]
fn a_range_grows_with_its_session_and_stays_where_it_began() {
    let mut log = edits_only();
    let mut person = log.person((120, 24));
    person.keys("( b");
    assert_eq!(listed(&person), ["Modified stays"]);
    log.turn(4, "More").create(4, "new", "n\n").end(4);
    person.goes_on(&log.bytes(), options());
    assert_eq!(person.app.open_turn().unwrap().head.turn.turn, 2);
    assert_eq!(listed(&person), ["Added new", "Modified stays"]);
}

#[test]
fn a_net_of_moves_and_exchanges_is_told_path_by_path() {
    let (_temp, root) = repository();
    fs::write(root.join("b"), "completely\nother\nlines\n").unwrap();
    let first = tree(&root);
    let mut log = Log::new(&root);
    // Turn 1: a → c. Turn 2: b → a. Turn 3, by an edit: c.
    fs::rename(root.join("a"), root.join("c")).unwrap();
    let second = tree(&root);
    log.turn(1, "1").call(1, "bash", &json!({"command": "x"}), "");
    log.trees(1, &first, &second).end(1);
    fs::rename(root.join("b"), root.join("a")).unwrap();
    let third = tree(&root);
    log.turn(2, "2").call(2, "bash", &json!({"command": "x"}), "");
    log.trees(2, &second, &third).end(2);
    fs::write(root.join("c"), "one\ntwo\n3\n").unwrap();
    log.turn(3, "3").edit(3, "c", "three", "3").end(3);
    let mut person = log.person((120, 24));
    person.keys("b b");
    // `a` holds what `b` held, so neither can be told as moved away from `a`.
    assert_eq!(listed(&person), ["Modified a", "Deleted b", "Added c"]);
}

fn sessions() -> Vec<SessionRow> {
    let row = |agent, id: &str, title: &str, cwd: &str, age| SessionRow {
        agent,
        id: id.into(),
        title: title.into(),
        cwd: cwd.into(),
        path: format!("/logs/{id}").into(),
        age,
        turns: TurnCount::Awaited,
    };
    vec![
        row("claude", "one", "Fix the parser", "/home/u/acme", 30),
        row("codex", "two", "evil \u{1b}]0;owned\u{7}\u{202e}title", "/home/u/\u{1b}[2Jx", 4000),
        row("dsh", "three", "Add a paper trail", "/home/u/other", 90_000),
    ]
}

#[test]
fn the_picker_narrows_opens_and_goes_back() {
    let mut person = edits_only().person((100, 24));
    person.keys("S");
    assert!(person.screen().contains("looking…"), "{}", person.screen());
    assert_eq!(person.left_over.pop(), Some(Effect::FindSessions));
    person.see(Event::Sessions(sessions()));
    let screen = person.screen();
    assert!(screen.contains(" 30s  claude       … turns  Fix the parser"), "{screen}");
    assert!(screen.contains("  1d  dsh          … turns  Add a paper trail"), "{screen}");
    assert!(screen.contains("␛]0;owned␇"), "it is shown:\n{screen}");
    let sent = screen.chars().any(|c| c != '\n' && c.is_control() || c == '\u{202e}');
    assert!(!sent, "{screen}");
    person.keys("p a p");
    assert!(person.screen().contains("1/3"), "{}", person.screen());
    person.keys("BS BS BS p a r");
    let screen = person.screen();
    let (parser, paper) = (screen.find("Fix the parser"), screen.find("Add a paper trail"));
    assert!(parser.is_some() && parser < paper, "letters that stand together first:\n{screen}");
    person.keys("z z");
    assert!(person.screen().contains("none matches"));
    person.keys("Enter");
    assert!(!person.left_over.iter().any(|left| matches!(left, Effect::OpenSession(_))));
    person.keys("Esc");
    assert!(person.screen().contains("Change back"), "back where it was:\n{}", person.screen());
    person.keys("S");
    person.see(Event::Sessions(sessions()));
    person.keys("Down Down Enter");
    let Some(Effect::OpenSession(row)) = person.left_over.pop() else { panic!("not opened") };
    assert_eq!(row.id, "three");
    assert!(person.app.turns.is_empty() && person.app.choices.follow);
}

/// The rows that are to be counted, by their places, and the number of the request.
fn counted(person: &mut Person) -> Option<(u64, Vec<usize>)> {
    let left = person.left_over.drain(..).filter_map(|effect| match effect {
        Effect::CountTurns { request, rows } => {
            Some((request, rows.into_iter().map(|(at, _)| at).collect()))
        }
        _ => None,
    });
    left.collect::<Vec<_>>().pop()
}

#[test]
fn turns_are_counted_behind_the_picker_what_is_seen_first() {
    let brief = |turns, title: &str| Brief { turns, title: Some(title.into()) };
    let mut person = edits_only().person((100, 5));
    person.keys("S");
    person.see(Event::Sessions(sessions()));
    let (request, rows) = counted(&mut person).unwrap();
    assert_eq!(rows, [0, 1, 2]);
    // Two rows have room.
    person.see(Event::Brief { request, at: 0, brief: brief(Some(12), "Fix it") });
    person.see(Event::Brief { request, at: 1, brief: brief(None, "gone") });
    let screen = person.screen();
    assert!(screen.contains("30s  claude      12 turns  Fix it "), "{screen}");
    assert!(screen.contains("1h  codex        ? turns  gone"), "{screen}");
    person.keys("p a p e r");
    let (next, rows) = counted(&mut person).unwrap();
    assert!(next > request && rows == [2], "{rows:?}");
    person.see(Event::Brief { request, at: 2, brief: brief(Some(5), "stale") });
    assert!(!person.screen().contains("stale"));
    person.see(Event::Brief { request: next, at: 2, brief: brief(Some(5), "Paper") });
    assert!(person.screen().contains("1d  dsh          5 turns  Paper"), "{}", person.screen());
    person.keys("BS");
    assert_eq!(counted(&mut person), None, "all are known");
    person.keys("Esc");
    assert_eq!(person.left_over.pop(), Some(Effect::StopCounting));
    person.keys("S");
    person.see(Event::Sessions(sessions()));
    let narrow = person.app.size.1;
    person.see(Event::Resize(60, narrow));
    assert!(person.screen().contains("30s  claude       …  Fix"), "{}", person.screen());
    person.keys("Enter");
    assert!(person.left_over.contains(&Effect::StopCounting));
}

#[test]
fn a_newer_session_is_offered_and_never_forced() {
    let mut person = edits_only().person((120, 24));
    let turns = person.app.turns.len();
    let row = sessions().remove(0);
    person.see(Event::Newer(Box::new(row)));
    assert!(person.screen().contains("a newer session: S"), "{}", person.screen());
    assert_eq!(person.app.turns.len(), turns);
    person.keys("S");
    person.see(Event::Sessions(sessions()));
    person.keys("Esc");
    assert!(!person.screen().contains("a newer session"), "it was seen");
    // The one that is open is none.
    let row = SessionRow { path: "log".into(), ..SessionRow::default() };
    person.see(Event::Newer(Box::new(row)));
    assert!(!person.screen().contains("a newer session"));
}

#[test]
fn the_list_keeps_the_chosen_file_when_others_come_before_it() {
    let mut log = Log::new(Path::new("/nowhere"));
    log.turn(1, "Make").create(1, "m", "1\n").create(1, "n", "2\n");
    let mut person = log.person((100, 20));
    person.keys(".");
    assert_eq!(person.app.outline.chosen(), Item::File(1));
    log.create(1, "a", "3\n");
    person.goes_on(&log.bytes(), options());
    assert_eq!(person.app.outline.chosen(), Item::File(2), "n is chosen still");
    assert!(title(&person).contains("│n +1"), "{}", title(&person));
}

#[test]
fn a_net_of_one_turn_is_that_turn() {
    let log = edits_only();
    let mut reader = reader(&log);
    let since = reader.changes_against(3, Base::Since).unwrap();
    assert_eq!(since, reader.changes(3).unwrap());
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }
}

/// Changes a few files of a work tree in ways that cross each other.
fn stir(root: &Path, dice: &mut Dice) {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
    for _ in 0..=dice.roll(4) {
        let (one, other) = (root.join(NAMES[dice.roll(5)]), root.join(NAMES[dice.roll(5)]));
        match dice.roll(5) {
            0 => drop(fs::remove_file(one)),
            1 => drop(fs::rename(one, other)),
            2 => {
                let third = root.join("third");
                let _ = fs::rename(&one, &third);
                let _ = fs::rename(&other, &one);
                let _ = fs::rename(&third, &other);
            }
            3 => {
                let kind = dice.roll(3);
                let lines: Vec<_> =
                    (0..12).map(|line| format!("text {kind} line {line}")).collect();
                fs::write(one, lines.join("\n") + "\n").unwrap();
            }
            _ => {
                let Ok(text) = fs::read_to_string(&one) else { continue };
                let line = format!("line {}\n", dice.roll(12));
                let text = if text.contains("changed ") {
                    text.replace("changed ", "")
                } else {
                    text.replace(&line, &format!("changed {line}"))
                };
                fs::write(one, text).unwrap();
            }
        }
    }
}

/// Every path whose content differs, with both contents; a move is two of them.
fn by_path(changes: &Changes) -> BTreeMap<String, [ContentId; 2]> {
    let mut paths: BTreeMap<String, [ContentId; 2]> = BTreeMap::new();
    let none = || [ContentId::Absent, ContentId::Absent];
    for change in &changes.files {
        let Pair::Sides { old, new } = &change.pair else { panic!("{change:?}") };
        let from = change.file.old_path.as_ref().unwrap_or(&change.file.path);
        paths.entry(from.clone()).or_insert_with(none)[0] = old.clone();
        paths.entry(change.file.path.clone()).or_insert_with(none)[1] = new.clone();
    }
    paths
}

/// Turns whose trees are known, put together one by one, come to what the first and the last tree
/// differ by, whatever was moved, exchanged, changed and changed back in between.
#[test]
fn turns_put_together_come_to_what_their_ends_differ_by() {
    let (_temp, root) = repository();
    for name in ["kept", "a"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    let mut dice = Dice(7);
    let mut moved = 0;
    for round in 0..40 {
        let mut log = Log::new(&root);
        let mut trees = vec![tree(&root)];
        for turn in 1..=4 {
            stir(&root, &mut dice);
            trees.push(tree(&root));
            log.turn(turn, "Stir").call(turn, "bash", &json!({"command": "stir"}), "");
            log.trees(turn, &trees[trees.len() - 2], &trees[trees.len() - 1]).end(turn);
        }
        let mut ends = reader(&log);
        let ends = ends.changes_against(1, Base::Session).unwrap().unwrap();
        assert!(ends.snapshot.is_some());
        // An edit that is in no tree: now the turns are put together one by one.
        log.turn(5, "Elsewhere").create(5, "/elsewhere/x", "x\n").end(5);
        let mut steps = reader(&log);
        let steps = steps.changes_against(1, Base::Session).unwrap().unwrap();
        assert!(steps.snapshot.is_none());
        let mut stepped = by_path(&steps);
        assert!(stepped.remove("/elsewhere/x").is_some());
        assert_eq!(stepped, by_path(&ends), "round {round}: {trees:?}");
        moved += steps.files.iter().filter(|change| change.file.old_path.is_some()).count();
    }
    assert!(moved > 3, "some of it is told as moved: {moved}");
}

fn reader(log: &Log) -> Reader {
    let mut reader = Reader::new(options());
    let stored = Stored::Bytes(log.bytes().into());
    let opened = LogFile::from_stored("log".as_ref(), stored, &OpenOptions::default()).unwrap();
    reader.read_all(opened).unwrap();
    reader
}
