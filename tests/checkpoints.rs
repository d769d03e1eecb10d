//! Gemini CLI's checkpoints: the bytes that its logs lose are in its own repository.

use crate::bases::git;
use crate::shared::shared;
use handback::content::{Content, FileChange, Pair, Source};
use handback::log::open::{LogFile, OpenOptions};
use handback::reader::{ReadOptions, Reader};
use handback::session::event::KnownTextSource;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn reader(log: &Path) -> Reader {
    let mut reader = Reader::new(ReadOptions { max_file_bytes: 2 << 20, ..ReadOptions::default() });
    reader.read_all(LogFile::open(log, &OpenOptions::default()).unwrap()).unwrap();
    reader
}

fn sides(reader: &mut Reader, turn: u32, display: &str) -> (String, String) {
    let changes = reader.changes(turn).unwrap().unwrap();
    let is_it = |change: &&FileChange| change.file.display == display;
    let change = changes.files.iter().find(is_it).unwrap();
    let Pair::Sides { old, new } = &change.pair else { panic!("{change:?}") };
    let mut text = |id| match reader.objects().read(id).unwrap() {
        Content::Text(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => format!("{other:?}"),
    };
    (text(old), text(new))
}

/// A client's home with one project, its shadow repository and one checkpoint.
struct Scene {
    home: tempfile::TempDir,
    log: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (project, work) = (home.path().join("tmp/p"), home.path().join("work"));
        let shadow = home.path().join("history/p");
        for dir in [&project.join("chats"), &project.join("checkpoints"), &work, &shadow] {
            fs::create_dir_all(dir).unwrap();
        }
        fs::write(project.join(".project_root"), work.to_str().unwrap()).unwrap();
        fs::write(work.join("dos.txt"), "one\r\ntwo\r\n").unwrap();
        let git_dir = shadow.join(".git");
        let run = |arguments: &[&str]| {
            let places = ["--git-dir", git_dir.to_str().unwrap(), "--work-tree", "."];
            git(&work, &[&places[..], arguments].concat())
        };
        run(&["init", "-q"]);
        run(&["add", "-A"]);
        run(&["commit", "-qm", "Snapshot for replace"]);
        let commit = run(&["rev-parse", "HEAD"]);
        let checkpoint = format!(
            "{{\n  \"history\": [],\n  \"toolCall\": {{}},\n  \"commitHash\": \"{commit}\",\n  \"messageId\": \"s########0\"\n}}",
        );
        let name = "2026-12-01T00-00-01_500Z-dos.txt-replace.json";
        fs::write(project.join("checkpoints").join(name), checkpoint).unwrap();
        fs::remove_dir_all(&work).unwrap();
        let path = work.join("dos.txt");
        let at = |second: u32| format!("2026-12-01T00:00:0{second}.000Z");
        let call = json!({"id": "c", "name": "replace", "status": "success", "timestamp": at(2),
            "args": {"file_path": path, "old_string": "two", "new_string": "2"},
            "resultDisplay": {"filePath": path, "originalContent": "one\ntwo\n",
                "newContent": "one\n2\n", "isNewFile": false}});
        let rows: [Value; 3] = [
            json!({"sessionId": "s", "projectHash": "h", "startTime": at(0), "kind": "main"}),
            json!({"id": "1", "type": "user", "timestamp": at(1), "content": [{"text": "Do"}]}),
            json!({"id": "2", "type": "gemini", "timestamp": at(1), "content": "",
                "toolCalls": [call]}),
        ];
        let log = project.join("chats/session-1.jsonl");
        fs::write(&log, rows.map(|row| format!("{row}\n")).concat()).unwrap();
        Self { home, log }
    }
}

#[test]
fn line_ends_come_from_the_checkpoint() {
    let scene = Scene::new();
    let both = ("one\r\ntwo\r\n".to_owned(), "one\r\n2\r\n".to_owned());
    assert_eq!(sides(&mut reader(&scene.log), 1, "dos.txt"), both);
}

/// Breaks something in a client's home.
type Breaks = fn(&Path);

#[test]
fn a_broken_checkpoint_costs_only_itself() {
    let as_logged = ("one\ntwo\n".to_owned(), "one\n2\n".to_owned());
    let broken: [(&str, usize, Breaks); 4] = [
        ("no shadow repository", 1, |home| fs::remove_dir_all(home.join("history")).unwrap()),
        ("no objects", 0, |home| fs::remove_dir_all(home.join("history/p/.git/objects")).unwrap()),
        ("no checkpoints", 0, |home| fs::remove_dir_all(home.join("tmp/p/checkpoints")).unwrap()),
        ("a torn checkpoint", 1, |home| {
            let folder = fs::read_dir(home.join("tmp/p/checkpoints")).unwrap();
            for file in folder {
                fs::write(file.unwrap().path(), "{\"history\":[").unwrap();
            }
        }),
    ];
    for (what, warned, breaks) in broken {
        let scene = Scene::new();
        breaks(scene.home.path());
        let mut reader = reader(&scene.log);
        assert_eq!(sides(&mut reader, 1, "dos.txt"), as_logged, "{what}");
        let warnings: Vec<_> =
            reader.info().warnings.into_iter().map(|warning| warning.message).collect();
        let named = warnings.iter().filter(|text| text.contains("-dos.txt-replace.json")).count();
        assert_eq!((warnings.len(), named), (warned, warned), "{what}: {warnings:?}");
    }
}

#[test]
fn a_real_session_finds_its_checkpoints() {
    let Some(shared) = shared() else { return };
    let produced = shared.join("fixtures/agents/gemini/produced");
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("tmp/proj");
    fs::create_dir_all(project.join("chats")).unwrap();
    fs::create_dir_all(project.join("checkpoints")).unwrap();
    fs::create_dir_all(home.path().join("history")).unwrap();
    let root = "/home/devwork/work-gemini-tui/proj";
    fs::write(project.join(".project_root"), root).unwrap();
    let log = project.join("chats/session-tui.jsonl");
    fs::copy(produced.join("tui-0.61.0.jsonl"), &log).unwrap();
    let real = produced.join("checkpoints-0.61.0");
    for file in fs::read_dir(&real).unwrap().flatten() {
        if file.path().extension().is_some_and(|extension| extension == "json") {
            fs::copy(file.path(), project.join("checkpoints").join(file.file_name())).unwrap();
        }
    }
    let tar = real.join("shadow-history.tar");
    let history = home.path().join("history");
    assert!(
        Command::new("tar").arg("xf").arg(tar).current_dir(history).status().unwrap().success()
    );
    let mut reader = reader(&log);
    let turns: Vec<_> = reader.transcript().turns.iter().collect();
    let known = turns.iter().flat_map(|turn| &turn.known_texts);
    let known: Vec<_> = known
        .filter_map(|(_, known)| match &known.text {
            KnownTextSource::InTree { tree, path, .. } => {
                Some((known.turn, &tree[..7], path.as_str()))
            }
            _ => None,
        })
        .collect();
    // The rejected write has a checkpoint and is no edit; the edit after that comes from the same commit.
    assert_eq!(known, [(1, "f6ccc8f", "greet.py"), (2, "bcee608", "greet.py")]);
    let shadow = home.path().join("history/proj");
    let committed = git(&shadow, &["show", "bcee6082:greet.py"]);
    assert_eq!(sides(&mut reader, 2, "greet.py").0, committed + "\n");
}
