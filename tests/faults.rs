//! The store when things go wrong: kills, full and read-only disks, torn and spoilt files.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test says what it skips")]

use handback::session::{ChangedFile, FileStatus};
use handback::store::disk::{Disk, RealDisk};
use handback::store::kept::{Capture, KeptFile, KeptSession, KeptSide, KeptTurn, ObjectFormat};
use handback::store::{Named, Note, Recording, SessionKey, Settings, Store, StoreError, Writer};
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// What becomes of the disk at the chosen step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nothing is done from then on, as after a kill.
    Kill,
    /// This step alone fails, with this error.
    Once(ErrorKind),
}

/// A disk that fails at its n-th change (0-based); a write that fails has written half.
#[derive(Debug)]
struct FaultyDisk {
    fault: Fault,
    at: usize,
    steps: AtomicUsize,
}

impl FaultyDisk {
    fn new(fault: Fault, at: usize) -> Arc<Self> {
        Arc::new(Self { fault, at, steps: AtomicUsize::new(0) })
    }

    fn fired(&self) -> bool {
        self.steps.load(Ordering::Relaxed) > self.at
    }

    fn step(&self) -> io::Result<()> {
        let step = self.steps.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::Kill if step >= self.at => Err(io::Error::other("killed")),
            Fault::Once(kind) if step == self.at => Err(kind.into()),
            _ => Ok(()),
        }
    }
}

impl Disk for FaultyDisk {
    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.step().and_then(|()| RealDisk.make_dir(path))
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.step().and_then(|()| RealDisk.create(path))
    }

    fn append_to(&self, path: &Path) -> io::Result<File> {
        self.step().and_then(|()| RealDisk.append_to(path))
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let was_killed = self.fired();
        let step = self.step();
        let written = if step.is_ok() { bytes.len() } else { bytes.len() / 2 };
        if !(was_killed && self.fault == Fault::Kill) {
            RealDisk.write(file, &bytes[..written])?;
        }
        step
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step().and_then(|()| RealDisk.sync(file))
    }

    fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        self.step().and_then(|()| RealDisk.truncate(file, len))
    }

    fn rename(&self, old: &Path, new: &Path) -> io::Result<()> {
        self.step().and_then(|()| RealDisk.rename(old, new))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step().and_then(|()| RealDisk.remove(path))
    }
}

/// A disk on which a loss of power is looked for: what is written and not synced, by inode.
#[derive(Debug, Default)]
struct CarefulDisk {
    unsynced: Mutex<BTreeSet<u64>>,
    rows: AtomicUsize,
}

impl CarefulDisk {
    fn changed(&self, inode: u64) {
        self.unsynced.lock().unwrap().insert(inode);
    }

    fn name_changed(&self, path: &Path) {
        self.changed(fs::metadata(path.parent().unwrap()).unwrap().ino());
    }
}

impl Disk for CarefulDisk {
    fn make_dir(&self, path: &Path) -> io::Result<()> {
        if !path.exists() {
            self.name_changed(path);
        }
        RealDisk.make_dir(path)
    }

    fn append_to(&self, path: &Path) -> io::Result<File> {
        if !path.exists() {
            self.name_changed(path);
        }
        RealDisk.append_to(path)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        if bytes.starts_with(b"\n") {
            let unsynced = self.unsynced.lock().unwrap().clone();
            assert_eq!(unsynced, BTreeSet::new(), "a row is written before what it names");
            self.rows.fetch_add(1, Ordering::Relaxed);
        }
        self.changed(file.metadata()?.ino());
        RealDisk.write(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.unsynced.lock().unwrap().remove(&file.metadata()?.ino());
        RealDisk.sync(file)
    }

    fn rename(&self, old: &Path, new: &Path) -> io::Result<()> {
        let inode = fs::metadata(old)?.ino();
        assert!(!self.unsynced.lock().unwrap().contains(&inode), "renamed before it is synced");
        self.name_changed(new);
        RealDisk.rename(old, new)
    }
}

fn key() -> SessionKey {
    SessionKey::named("dsh", "s-1")
}

fn info() -> KeptSession {
    KeptSession { format: "dsh".into(), id: "s-1".into(), ..KeptSession::default() }
}

fn open_writer(store: &Store, key: &SessionKey) -> Result<Box<Writer>, StoreError> {
    match store.writer(key, &info(), Settings::default())? {
        Recording::Writer(writer) => Ok(writer),
        Recording::Follower => panic!("another recorder has the session"),
    }
}

fn named(turn: u32, path: &str) -> Named<'_> {
    Named { turn, path, display: path, mode: 0o100_644 }
}

fn text(turn: u32) -> Vec<u8> {
    format!("the text of turn {turn}\n").repeat(turn as usize * 40).into_bytes()
}

/// Calls again after a failure, `retries` times.
fn trying<T>(
    retries: usize,
    mut step: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut result = step();
    for _ in 0..retries {
        if result.is_err() {
            result = step();
        }
    }
    result
}

/// Records one turn that changes one file: its capture, its sides, its summary.
fn record_turn(writer: &mut Writer, turn: u32, retries: usize) -> Result<KeptTurn, StoreError> {
    let old = trying(retries, || writer.put_blob(named(turn, "a.txt"), &text(turn)))?;
    let new = trying(retries, || writer.put_blob(named(turn, "a.txt"), &text(turn + 1)))?;
    let capture = Capture {
        turn,
        call_id: format!("call-{turn}"),
        path: "/w/a.txt".into(),
        side: old.clone(),
        at: i64::from(turn),
    };
    trying(retries, || writer.capture(capture.clone()))?;
    let file = ChangedFile {
        path: "a.txt".into(),
        display: "a.txt".into(),
        added: 40,
        status: FileStatus::Modified,
        ..ChangedFile::default()
    };
    let kept = KeptTurn {
        turn,
        at: i64::from(turn),
        cwd: "/w".into(),
        files: vec![KeptFile { file, old, new, counted: true, note: None }],
        ..KeptTurn::default()
    };
    trying(retries, || writer.turn(kept.clone()))?;
    Ok(kept)
}

/// Records three turns; `confirmed` holds those that the store has said to be kept.
fn record(
    root: &Path,
    disk: Arc<dyn Disk>,
    retries: usize,
    confirmed: &mut Vec<KeptTurn>,
) -> Result<(), StoreError> {
    let store = Store::open_on(root, disk)?;
    let mut writer = trying(retries, || open_writer(&store, &key()))?;
    for turn in 1..=3 {
        confirmed.push(record_turn(&mut writer, turn, retries)?);
    }
    let note = Note { at: 9, text: "done".into() };
    trying(retries, || writer.note(note.clone()))
}

fn recorded(root: &Path) -> Vec<KeptTurn> {
    let mut confirmed = Vec::new();
    record(root, Arc::new(RealDisk), 0, &mut confirmed).unwrap();
    confirmed
}

fn turns(root: &Path) -> Vec<KeptTurn> {
    let session = Store::open(root).unwrap().session(&key()).unwrap();
    session.map_or_else(Vec::new, |session| session.turns.into_values().collect())
}

fn folder(root: &Path) -> PathBuf {
    root.join("sessions/dsh-s-1")
}

fn assert_whole(root: &Path, place: &str) {
    let report = Store::open(root).unwrap().verify().unwrap();
    assert_eq!(report.problems, Vec::<String>::new(), "{place}");
}

fn files_under(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_under(&path, found);
        }
        found.push(path);
    }
}

#[test]
fn a_kill_at_any_point_costs_the_turn_in_hand_and_nothing_else() {
    let wanted = recorded(tempfile::tempdir().unwrap().path());
    let mut points = 0;
    loop {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        let disk = FaultyDisk::new(Fault::Kill, points);
        let mut confirmed = Vec::new();
        let result = record(&root, disk.clone(), 0, &mut confirmed);
        if !disk.fired() {
            result.unwrap();
            break;
        }
        let place = format!("killed at change {points}");
        assert!(result.is_err(), "{place}");

        let seen = turns(&root);
        assert!(seen.len() - confirmed.len() <= 1, "{place}");
        assert_eq!(seen, wanted[..seen.len()], "{place}: a half-written summary is shown");
        assert_eq!(confirmed, seen[..confirmed.len()], "{place}: a kept turn is lost");

        let store = Store::open(&root).unwrap();
        drop(open_writer(&store, &key()).unwrap());
        assert_whole(&root, &place);
        assert_eq!(turns(&root), seen, "{place}: the repair changed what is kept");

        assert_eq!(recorded(&root), wanted, "{place}");
        assert_eq!(turns(&root), wanted, "{place}");
        assert_whole(&root, &place);
        let mut files = Vec::new();
        files_under(&folder(&root), &mut files);
        let unfinished = files.iter().find(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("tmp_obj_")
        });
        assert_eq!(unfinished, None, "{place}");
        points += 1;
    }
    assert!(points > 50, "only {points} changes were made to the disk");
}

#[test]
fn a_failure_anywhere_is_an_error_and_the_same_call_works_later() {
    let wanted = recorded(tempfile::tempdir().unwrap().path());
    for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied] {
        let mut point = 0;
        loop {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("store");
            let disk = FaultyDisk::new(Fault::Once(kind), point);
            let mut confirmed = Vec::new();
            record(&root, disk.clone(), 1, &mut confirmed).unwrap();
            let place = format!("{kind:?} at change {point}");
            assert_eq!(turns(&root), wanted, "{place}");
            assert_whole(&root, &place);
            let session = Store::open(&root).unwrap().session(&key()).unwrap().unwrap();
            assert_eq!((session.captures.len(), session.notes.len()), (3, 1), "{place}");
            if !disk.fired() {
                break;
            }
            point += 1;
        }
        assert!(point > 50, "only {point} changes were made to the disk");
    }
}

#[test]
fn all_that_a_row_names_is_on_the_disk_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    let disk = Arc::new(CarefulDisk::default());
    for _ in 0..2 {
        record(&root, disk.clone(), 0, &mut Vec::new()).unwrap();
    }
    assert_eq!(disk.rows.load(Ordering::Relaxed), 2 * 7);
    assert_eq!(*disk.unsynced.lock().unwrap(), BTreeSet::new(), "the last row may be lost");
}

#[test]
fn an_error_names_the_file_and_the_cause_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("store");
    recorded(&root);
    let mut point = 0;
    loop {
        let disk = FaultyDisk::new(Fault::Once(ErrorKind::StorageFull), point);
        let result = record(&root, disk.clone(), 0, &mut Vec::new());
        if !disk.fired() {
            break;
        }
        let line = result.unwrap_err().to_string();
        assert!(line.starts_with("cannot "), "{line}");
        assert!(line.contains(root.to_str().unwrap()) && !line.contains('\n'), "{line}");
        assert!(line.ends_with(&io::Error::from(ErrorKind::StorageFull).to_string()), "{line}");
        point += 1;
    }
}

#[test]
fn a_clean_up_that_is_killed_leaves_each_session_whole_or_gone() {
    let settings = Settings { max_bytes: 0, ..Settings::default() };
    let other = SessionKey::named("claude", "s-2");
    // By then, scratch objects go on their own.
    let now = SystemTime::now() + Duration::from_secs(2 * 24 * 60 * 60);
    let mut point = 0;
    loop {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("store");
        let wanted = recorded(&root);
        let store = Store::open(&root).unwrap();
        let mut writer = open_writer(&store, &other).unwrap();
        record_turn(&mut writer, 1, 0).unwrap();
        fs::create_dir(writer.scratch_objects().unwrap().join("aa")).unwrap();
        drop(writer);

        let disk = FaultyDisk::new(Fault::Kill, point);
        let killed = Store::open_on(&root, disk.clone()).unwrap();
        let report = killed.gc(&settings, now).unwrap();
        assert_eq!(report.problems.is_empty(), !disk.fired(), "{report:?}");
        assert_whole(&root, &format!("killed at change {point}"));
        let left = turns(&root);
        assert!(left.is_empty() || left == wanted);

        store.gc(&settings, now).unwrap();
        assert_eq!(fs::read_dir(root.join("sessions")).unwrap().count(), 0, "change {point}");
        if !disk.fired() {
            break;
        }
        point += 1;
    }
    assert!(point > 5, "only {point} changes were made to the disk");
}

#[test]
fn a_torn_last_row_of_any_length_is_cut_off_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = recorded(dir.path());
    let path = folder(dir.path()).join("rows.log");
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for len in last + 1..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(turns(dir.path()), wanted, "{len} bytes");
        assert_eq!(store.verify().unwrap().problems.len(), 1, "{len} bytes");
        let writer = open_writer(&store, &key()).unwrap();
        let torn = len - last;
        assert_eq!(
            writer.repairs,
            [format!("{}: removed {torn} bytes of a torn last row", path.display())]
        );
        drop(writer);
        assert_whole(dir.path(), &format!("{len} bytes"));
        assert_eq!(fs::read(&path).unwrap(), whole[..last]);
    }
}

#[test]
fn a_flipped_bit_costs_its_row_and_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = recorded(dir.path());
    let path = folder(dir.path()).join("rows.log");
    let whole = fs::read(&path).unwrap();
    for at in (0..whole.len() - 1).step_by(7) {
        let mut spoilt = whole.clone();
        spoilt[at] ^= 1 << (at % 8);
        fs::write(&path, &spoilt).unwrap();
        let store = Store::open(dir.path()).unwrap();
        let session = store.session(&key()).unwrap().unwrap();
        let rows = session.turns.len() + session.captures.len() + session.notes.len();
        assert!(rows >= 6, "byte {at}: {:?}", session.damages);
        assert!(session.turns.values().all(|turn| wanted.contains(turn)), "byte {at}");
        assert_eq!(rows == 7, session.damages.is_empty(), "byte {at}");
        let problems = store.verify().unwrap().problems;
        assert_eq!(problems.len(), session.damages.len(), "byte {at}");
        assert!(problems.iter().all(|line| line.starts_with("dsh-s-1: rows.log line ")));
        // The next recorder goes on behind it.
        record_turn(&mut open_writer(&store, &key()).unwrap(), 4, 0).unwrap();
        assert_eq!(turns(dir.path()).last().unwrap().turn, 4, "byte {at}");
    }
}

#[test]
fn a_spoilt_or_missing_object_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = recorded(dir.path());
    let store = Store::open(dir.path()).unwrap();
    let id = wanted[0].files[0].new.kept_id().unwrap().to_owned();
    let path = folder(dir.path()).join("objects").join(&id[..2]).join(&id[2..]);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut spoilt = whole.clone();
        spoilt[at] ^= 0x10;
        fs::write(&path, spoilt).unwrap();
        let problems = store.verify().unwrap().problems;
        // The last bits before the four bytes of the sum fill up a byte and mean nothing.
        let fills_up = at + 5 == whole.len();
        assert!(problems.len() == 1 || fills_up, "byte {at} of {}: {problems:?}", whole.len());
        assert!(problems.iter().all(|line| line.contains(&id) && !line.contains('\n')));
    }
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(!store.verify().unwrap().problems.is_empty(), "{len} bytes");
    }
    fs::remove_file(&path).unwrap();
    let problems = store.verify().unwrap().problems;
    assert_eq!(
        problems,
        [
            format!("dsh-s-1: turn 1: object {id} is missing"),
            format!("dsh-s-1: turn 2: object {id} is missing"),
            format!("dsh-s-1: turn 2: object {id} is missing"),
        ]
    );
}

#[test]
fn a_spoilt_description_of_a_session_costs_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = recorded(dir.path());
    fs::write(folder(dir.path()).join("session.json"), b"{\"format\": \xff").unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(turns(dir.path()), wanted);
    assert_eq!(store.verify().unwrap().problems.len(), 1);
    drop(open_writer(&store, &key()).unwrap());
    assert_whole(dir.path(), "after the next recording");
}

#[test]
fn nobody_else_may_look_into_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("made/on/the/way/store");
    recorded(&root);
    let mut paths = vec![root.clone()];
    files_under(&root, &mut paths);
    assert!(paths.len() > 10);
    for path in paths {
        let meta = fs::metadata(&path).unwrap();
        let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.permissions().mode() & 0o777, wanted, "{}", path.display());
    }
}

#[test]
fn git_reads_the_objects() {
    let dir = tempfile::tempdir().unwrap();
    let key = SessionKey::named("dsh", "git");
    for (format, name) in [(ObjectFormat::Sha1, "sha1"), (ObjectFormat::Sha256, "sha256")] {
        let repository = dir.path().join(name);
        let format_option = format!("--object-format={name}");
        let made = Command::new("git")
            .args(["init", "-q", "--bare", &format_option])
            .arg(&repository)
            .status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no git that makes {name} repositories");
            continue;
        }
        let store = Store::open(&dir.path().join(format!("store-{name}"))).unwrap();
        let info = KeptSession { objects: format, ..info() };
        let Recording::Writer(mut writer) = store.writer(&key, &info, Settings::default()).unwrap()
        else {
            panic!("nobody else has the session")
        };
        for bytes in [b"".to_vec(), b"a\0b\xff\r\n".to_vec(), text(500)] {
            let side = writer.put_blob(named(1, "x"), &bytes).unwrap();
            let id = side.kept_id().unwrap();
            let read = Command::new("git")
                .args(["cat-file", "blob", id])
                .env("GIT_DIR", &repository)
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", writer.objects().path())
                .output()
                .unwrap();
            assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
            assert!(read.stdout == bytes);
            assert!(writer.objects().blob(id).unwrap().unwrap() == bytes);
            let file = KeptFile {
                file: ChangedFile::default(),
                old: KeptSide::Absent,
                new: side,
                counted: true,
                note: None,
            };
            let files = vec![file];
            writer.turn(KeptTurn { turn: 1, files, ..KeptTurn::default() }).unwrap();
        }
        // The objects are found without the session's description too.
        let description = writer.objects().path().with_file_name("session.json");
        fs::write(&description, "{").unwrap();
        let session = store.session(&key).unwrap().unwrap();
        assert_eq!((session.info.objects, session.damages.len()), (format, 1));
        for id in session.turns[&1].kept_ids() {
            assert!(session.objects().contains(id));
        }
    }
}

/// Where the recorder of `two_recorders_…` writes; the test starts itself again with it.
const CHILD: &str = "HANDBACK_TEST_RECORDER";

/// Not a test of its own: the recorder that `two_recorders_…` starts and kills.
#[test]
fn recorder_that_is_killed() {
    let Some(root) = env::var_os(CHILD) else { return };
    let store = Store::open(Path::new(&root)).unwrap();
    let mut writer = open_writer(&store, &key()).unwrap();
    // Should nobody kill it, it ends.
    for turn in 1..500 {
        record_turn(&mut writer, turn, 0).unwrap();
        println!("\nkept {turn}");
        io::stdout().flush().unwrap();
    }
}

#[test]
fn two_recorders_of_a_session_never_both_write_and_kill_9_loses_no_kept_turn() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "faults::recorder_that_is_killed", "--nocapture"])
        .env(CHILD, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut kept = lines.filter_map(|line| line.strip_prefix("kept ")?.parse::<u32>().ok());
    assert_eq!(kept.next(), Some(1));

    let second = store.writer(&key(), &info(), Settings::default()).unwrap();
    assert!(matches!(second, Recording::Follower));
    let mut follower = store.session(&key()).unwrap().unwrap();
    let known = *follower.turns.keys().last().unwrap();
    let seen = kept.find(|turn| *turn > known + 5).unwrap();
    assert!(follower.refresh().unwrap());
    assert!(follower.turns.contains_key(&seen));
    assert!(store.status().unwrap()[0].recorded);
    let everything = Settings { max_bytes: 0, max_age: Duration::ZERO, ..Settings::default() };
    drop(follower);
    assert_eq!(store.gc(&everything, SystemTime::now()).unwrap().removed, []);

    child.kill().unwrap();
    child.wait().unwrap();
    let last = kept.last().unwrap_or(seen);
    drop(open_writer(&store, &key()).unwrap());
    let numbers: Vec<u32> = turns(dir.path()).iter().map(|turn| turn.turn).collect();
    assert!(numbers.len() as u32 - last <= 1, "{} turns, {last} confirmed", numbers.len());
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
    assert_whole(dir.path(), "after kill -9");
}

/// A small file system of its own; unmounted when dropped.
struct Mount(tempfile::TempDir);

impl Mount {
    fn new(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(dir.path())
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(dir));
        }
        eprintln!("skipped: no right to mount a tmpfs");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Bytes that do not shrink.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
    .take(len)
    .collect()
}

#[test]
fn a_full_disk_is_an_error_and_recording_goes_on_when_there_is_room() {
    let Some(mount) = Mount::new("256k") else { return };
    let filler = mount.0.path().join("filler");
    fs::write(&filler, noise(1, 120_000)).unwrap();
    let root = mount.0.path().join("store");
    let store = Store::open(&root).unwrap();
    let mut writer = open_writer(&store, &key()).unwrap();
    let kept = record_turn(&mut writer, 1, 0).unwrap();
    let mut turn = 2;
    let error = loop {
        if let Err(error) = writer.put_blob(named(turn, "n"), &noise(turn.into(), 30_000)) {
            break error;
        }
        turn += 1;
        assert!(turn < 20, "the disk never filled");
    };
    assert!(
        matches!(&error, StoreError::Io { cause, .. } if cause.kind() == ErrorKind::StorageFull),
        "{error}"
    );
    // Not even a row fits.
    let long = Note { at: 0, text: "x".repeat(100_000) };
    assert!(writer.note(long).is_err());
    assert_eq!(turns(&root), [kept]);

    fs::remove_file(&filler).unwrap();
    record_turn(&mut writer, 2, 0).unwrap();
    assert_eq!(turns(&root).len(), 2);
    drop(writer);
    drop(open_writer(&store, &key()).unwrap());
    assert_whole(&root, "after the disk was full");
}

#[test]
fn a_read_only_store_is_read_and_not_written() {
    let Some(mount) = Mount::new("1m") else { return };
    let remount = |options: &str| {
        let status =
            Command::new("mount").args(["-o", options]).arg(mount.0.path()).status().unwrap();
        assert!(status.success());
    };
    let root = mount.0.path().join("store");
    let wanted = recorded(&root);
    remount("remount,ro");
    let store = Store::open(&root).unwrap();
    assert_eq!(turns(&root), wanted);
    assert_whole(&root, "read-only");
    assert_eq!(store.status().unwrap().len(), 1);
    let error = open_writer(&store, &key()).err().unwrap();
    assert!(
        matches!(&error, StoreError::Io { cause, .. } if cause.kind() == ErrorKind::ReadOnlyFilesystem),
        "{error}"
    );
    let everything = Settings { max_bytes: 0, ..Settings::default() };
    let report = store.gc(&everything, SystemTime::now()).unwrap();
    assert_eq!((report.removed.len(), report.problems.len()), (0, 1), "{report:?}");
    remount("remount,rw");
    assert_eq!(recorded(&root), wanted);
}

#[test]
fn a_session_that_is_removed_under_its_recorder_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut writer = open_writer(&store, &key()).unwrap();
    record_turn(&mut writer, 1, 0).unwrap();
    fs::remove_dir_all(dir.path().join("sessions")).unwrap();
    assert!(record_turn(&mut writer, 2, 0).is_err());
    let mut again = open_writer(&store, &key()).unwrap();
    record_turn(&mut again, 2, 0).unwrap();
    assert_eq!(turns(dir.path()).len(), 1);
}

#[test]
fn sides_are_absent_where_there_was_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut writer = open_writer(&store, &key()).unwrap();
    let new = writer.put_blob(named(1, "new"), b"x").unwrap();
    let file = ChangedFile { status: FileStatus::Added, ..ChangedFile::default() };
    let files = vec![KeptFile { file, old: KeptSide::Absent, new, counted: true, note: None }];
    let kept = KeptTurn { turn: 1, files, ..KeptTurn::default() };
    writer.turn(kept.clone()).unwrap();
    assert_eq!(turns(dir.path()), [kept]);
}
