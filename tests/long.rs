//! Sessions of very many turns: what is kept packed is told as if it were not.

use crate::bases::Log;
use crate::person::Person;
use crate::shared::shared;
use handback::app::Item;
use handback::log::Output;
use handback::log::open::{LogFile, OpenOptions};
use handback::log::source::Stored;
use handback::reader::{ReadOptions, Reader, TurnHead};
use handback::session::TurnState;
use handback::session::event::{
    Command, Edit, EditOutcome, EditSource, KnownText, KnownTextSource, LogEvent, Place, Stamp,
};
use handback::session::transcript::{LongTranscript, Transcript};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

const TURNS: u32 = 300;

/// A log of so many turns; each changes one of a few files, and some declare one.
fn log(turns: u32) -> Log {
    let mut log = Log::new(Path::new("/nowhere"));
    for turn in 1..=turns {
        let path = format!("file {}", turn % 7);
        log.turn(turn, &format!("Prompt {turn} {}", "and so on ".repeat(40)));
        match turn {
            1..=7 => log.create(turn, &path, &format!("made in {turn}\nkept\n")),
            _ => log.edit(turn, &path, &format!("in {}\n", turn - 7), &format!("in {turn}\n")),
        };
        if turn <= 7 {
            log.edit(turn, &path, "made ", "");
        }
        log.end(turn);
    }
    log
}

fn options() -> ReadOptions {
    ReadOptions { max_file_bytes: 1 << 20, ..ReadOptions::default() }
}

fn reader(log: &Log) -> Reader {
    let mut reader = Reader::new(options());
    let stored = Stored::Bytes(log.bytes().into());
    let log = LogFile::from_stored(Path::new("log"), stored, &OpenOptions::default()).unwrap();
    reader.read_all(log).unwrap();
    reader
}

#[test]
fn a_turn_of_a_long_session_is_told_as_if_it_were_the_last() {
    let mut long = reader(&log(TURNS));
    let heads = long.heads(0);
    assert_eq!(heads.len(), TURNS as usize);
    assert!(long.transcript().turns.packed_len() > 200 && heads.packed_len() > 200);
    for turn in [1, 2, 63, 64, 65, 150, 299, 300] {
        let mut short = reader(&log(turn));
        let head = |heads: &handback::session::archive::Archive<TurnHead>| TurnHead {
            revision: 0,
            ..heads.get(turn as usize - 1).unwrap().clone()
        };
        assert_eq!(head(&heads), head(&short.heads(0)));
        let changes = long.changes(turn).unwrap().unwrap();
        assert_eq!(Some(&changes), short.changes(turn).unwrap().as_ref(), "turn {turn}");
        assert_eq!(changes.files.len(), 1);
    }
}

#[test]
fn a_person_goes_through_a_long_session() {
    let mut log = log(TURNS);
    let mut person = Person::at(&log.bytes(), options(), (120, 20));
    assert!(person.screen().contains("300 Prompt 300"), "{}", person.screen());
    person.keys("g Enter");
    assert_eq!(person.app.outline.open, Some(0));
    assert!(person.screen().contains("1 Prompt 1 and"), "{}", person.screen());
    assert!(person.screen().contains("in 1"), "{}", person.screen());
    person.keys(") ) )");
    assert_eq!(
        (person.app.outline.open, person.app.open_turn().unwrap().head.turn.turn),
        (Some(3), 4)
    );
    // The log goes on; who looks at an early turn stays there.
    log.turn(TURNS + 1, "One more").create(TURNS + 1, "new", "n\n").end(TURNS + 1);
    person.goes_on(&log.bytes(), options());
    assert_eq!(person.app.outline.open, Some(3));
    person.keys("F");
    assert_eq!(person.app.outline.open, Some(TURNS as usize));
    assert!(matches!(person.app.outline.chosen(), Item::File(0)), "{}", person.screen());
}

#[test]
fn commands_are_told_of_all_turns() {
    let mut log = Log::new(Path::new("/nowhere"));
    for turn in 1..=TURNS {
        let arguments = serde_json::json!({"command": format!("cargo test {turn}")});
        log.turn(turn, "Test")
            .call(turn, "bash", &arguments, "test result: ok. 1 passed")
            .end(turn);
    }
    let person = Person::at(&log.bytes(), ReadOptions::default(), (120, 20));
    let commands = person.app.turns.iter().map(|head| head.turn.commands.len());
    assert_eq!(commands.sum::<usize>(), TURNS as usize);
    let first = person.app.turns.get(0).unwrap().turn.commands[0].command.clone();
    assert_eq!(first, "cargo test 1");
}

fn event() -> impl Strategy<Value = LogEvent> {
    let turn = 1..200_u32;
    let text = "[a-z\u{1b}é\"\\\\]{0,40}";
    let at = prop::option::of(0..1000_i64);
    let stamp = (at.clone(), prop::option::of("[ab]"))
        .prop_map(|(at, agent)| Stamp { at, agent: agent.map(Into::into) });
    let place = any::<(u64, u16, u32)>().prop_map(|(offset, inner, len)| Place {
        offset,
        inner: inner.into(),
        len: len.into(),
        line: 7,
    });
    let edit = (turn.clone(), "[cd]", text, place.clone(), stamp.clone()).prop_map(
        |(turn, call_id, path, call, stamp)| {
            let (outcome, body) = (EditOutcome::Pending, EditSource::InLog { call, result: None });
            LogEvent::Edit(Edit { turn, call_id, tool: "edit".into(), path, outcome, body, stamp })
        },
    );
    let command = (turn.clone(), "[cd]", text, any::<bool>(), stamp.clone()).prop_map(
        |(turn, call_id, command, is_shell, stamp)| {
            LogEvent::Command(Command { turn, call_id, command, is_shell, stamp })
        },
    );
    let known = (turn.clone(), text, stamp).prop_map(|(turn, path, stamp)| {
        let text = KnownTextSource::Kept("text\n".into());
        LogEvent::KnownText(KnownText { turn, path, text, stamp })
    });
    let settled =
        (turn.clone(), "[cd]", prop::option::of(place)).prop_map(|(turn, call_id, result)| {
            LogEvent::EditSettled {
                turn,
                call_id,
                outcome: EditOutcome::Applied,
                result,
                body: None,
            }
        });
    let ended = (turn.clone(), at.clone()).prop_map(|(turn, at)| LogEvent::TurnEnd {
        turn,
        at,
        state: TurnState::Completed,
    });
    prop_oneof![
        8 => (turn.clone(), at).prop_map(|(turn, at)| LogEvent::TurnStart { turn, at }),
        8 => (turn.clone(), text).prop_map(|(turn, text)| LogEvent::Prompt { turn, text }),
        4 => ended,
        4 => edit,
        4 => command,
        4 => known,
        4 => settled,
        2 => (turn.clone(), text).prop_map(|(turn, path)| LogEvent::Presented {
            turn, call_id: "p".into(), at: None, files: vec![(path, None)],
        }),
        2 => turn.prop_map(|turn| LogEvent::ChangesNoticed { turn }),
        1 => (0..9_u32).prop_map(|turns| LogEvent::RolledBack { turns }),
        1 => Just(LogEvent::Inherited),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// In whatever order events come, and of whatever turns.
    #[test]
    fn a_packed_transcript_is_that_which_is_not(
        events in prop::collection::vec(event(), 1..1500),
        every in 1..200_usize,
    ) {
        let (mut plain, mut long) = (Transcript::default(), LongTranscript::default());
        for (at, event) in events.into_iter().enumerate() {
            plain.apply(event.clone());
            long.apply(event);
            if at % every == 0 {
                long.turns.pack();
                prop_assert_eq!(plain.take_changed(), long.take_changed());
            }
        }
        long.turns.pack();
        prop_assert_eq!(plain.turns.len(), long.turns.len());
        for (plain, long) in plain.turns.iter().zip(long.turns.iter()) {
            prop_assert_eq!(plain, &*long);
        }
        for turn in 0..201 {
            let found = long.turn(turn).map(|record| record.clone());
            prop_assert_eq!(plain.turn(turn), found.as_ref());
        }
    }
}

#[test]
fn what_real_logs_tell_can_be_packed() {
    let Some(shared) = shared() else { return };
    let mut told = 0;
    for path in files(&shared.join("fixtures")) {
        let mut out = Output::default();
        let Ok(mut log) = LogFile::open(&path, &OpenOptions::default()) else { continue };
        if log.read_all(&mut out).is_err() {
            continue;
        }
        let mut transcript = Transcript::default();
        for event in out.events {
            let packed = serde_json::to_vec(&event).unwrap();
            let again: LogEvent = serde_json::from_slice(&packed).unwrap();
            assert_eq!(again, event, "{}", path.display());
            transcript.apply(event);
            told += 1;
        }
        let packed = serde_json::to_vec(&transcript.turns).unwrap();
        let again: Vec<_> = serde_json::from_slice(&packed).unwrap();
        assert_eq!(transcript.turns, again, "{}", path.display());
        let stored = Stored::Bytes(fs::read(&path).unwrap().into());
        let mut reader = Reader::new(ReadOptions::default());
        let log = LogFile::from_stored(&path, stored, &OpenOptions::default());
        if log.is_ok_and(|log| reader.read_all(log).is_ok()) {
            for head in reader.heads(0).iter() {
                let packed = serde_json::to_vec(&*head).unwrap();
                assert_eq!(serde_json::from_slice::<TurnHead>(&packed).unwrap(), *head);
            }
        }
    }
    assert!(told > 5_000, "{told}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| self::files(folder)));
    files
}
