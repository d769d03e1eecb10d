//! Two trees compared, against git.

use handback::content::{Content, ContentId, GitObjects, Pair, Source};
use handback::session::FileStatus;
use handback::session::path::PathRules;
use handback::snapshot::compare::{TreeChange, TreePlace, changes_between, compare_trees};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn git(dir: &Path, args: &[&str]) -> Vec<u8> {
    git_with_input(dir, args, b"")
}

fn git_with_input(dir: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@b")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@b")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

fn line(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap().trim().to_owned()
}

/// A file of a tree to be made: path, git mode, bytes.
type File = (Vec<u8>, &'static str, Vec<u8>);

/// Writes trees into a new bare repository and gives their ids.
fn make_trees(dir: &Path, format: &str, trees: &[Vec<File>]) -> Vec<String> {
    git(dir, &["init", "-q", "--bare", &format!("--object-format={format}"), "."]);
    let mut stream = Vec::new();
    for (at, files) in trees.iter().enumerate() {
        write!(stream, "commit refs/heads/t{at}\ncommitter a <a@b> 0 +0000\ndata 0\ndeleteall\n")
            .unwrap();
        for (path, mode, bytes) in files {
            write!(stream, "M {mode} ").unwrap();
            if *mode == "160000" {
                stream.extend_from_slice(bytes);
            } else {
                stream.extend_from_slice(b"inline");
            }
            stream.push(b' ');
            stream.extend(path);
            stream.push(b'\n');
            if *mode != "160000" {
                writeln!(stream, "data {}", bytes.len()).unwrap();
                stream.extend(bytes);
                stream.push(b'\n');
            }
        }
    }
    git_with_input(dir, &["fast-import", "--quiet"], &stream);
    (0..trees.len()).map(|at| line(git(dir, &["rev-parse", &format!("t{at}^{{tree}}")]))).collect()
}

/// (status letter, old mode, new mode, old path, new path), as git lists it.
type Row = (char, String, String, Vec<u8>, Vec<u8>);

fn rows_of_git(dir: &Path, old: &str, new: &str) -> Vec<Row> {
    let out = git(dir, &["diff-tree", "-r", "-M", "--raw", "-z", "--no-commit-id", old, new]);
    let mut fields = out.split(|byte| *byte == 0);
    let mut rows = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head: Vec<&str> = std::str::from_utf8(&head[1..]).unwrap().split(' ').collect();
        let status = head[4].chars().next().unwrap();
        let from = fields.next().unwrap().to_vec();
        let to = if status == 'R' { fields.next().unwrap().to_vec() } else { from.clone() };
        rows.push((status, head[0].to_owned(), head[1].to_owned(), from, to));
    }
    rows.sort();
    rows
}

fn rows_of(changes: &[TreeChange]) -> Vec<Row> {
    let mut rows: Vec<Row> = changes
        .iter()
        .map(|change| {
            let side = change.new.as_ref().or(change.old.as_ref()).unwrap();
            let mode = |entry: &Option<_>| {
                entry.as_ref().map_or(
                    "000000".to_owned(),
                    |entry: &handback::snapshot::compare::TreeEntry| {
                        format!("{:06o}", entry.kind as u16)
                    },
                )
            };
            let letter = match change.status() {
                FileStatus::Added => 'A',
                FileStatus::Deleted => 'D',
                FileStatus::Renamed => 'R',
                FileStatus::TypeChanged => 'T',
                _ => 'M',
            };
            let from = change.old.as_ref().unwrap_or(side).path.clone();
            (letter, mode(&change.old), mode(&change.new), from, side.path.clone())
        })
        .collect();
    rows.sort();
    rows
}

/// A small generator of numbers, so that a failure can be had again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

fn text(dice: &mut Dice) -> Vec<u8> {
    let lines = dice.roll(30);
    let words = [3, 12, 500][dice.roll(3)];
    let mut out = Vec::new();
    for _ in 0..lines {
        let _ = write!(out, "line {}", dice.roll(words));
        if dice.roll(12) == 0 {
            out.extend(vec![b'x'; dice.roll(200)]);
        }
        out.extend_from_slice(if dice.roll(20) == 0 { b"\r\n" } else { b"\n" });
    }
    if dice.roll(4) == 0 {
        out.pop();
    }
    if dice.roll(15) == 0 {
        out.push(0);
    }
    out
}

fn name(dice: &mut Dice) -> Vec<u8> {
    let dirs: [&[u8]; 6] = [b"", b"a/", b"b/", b"a/deep/", b"a-b/", b"caf\xe9/"];
    let names: [&[u8]; 8] =
        [b"mod.rs", b"lib.rs", b"x", b"y", b"README.md", b"..z", b"n\xffm", b"a"];
    let mut path = dirs[dice.roll(dirs.len())].to_vec();
    path.extend_from_slice(names[dice.roll(names.len())]);
    path
}

fn put(files: &mut Vec<File>, file: File) {
    // A name cannot be a file and a directory at once.
    let clashes = |a: &[u8], b: &[u8]| a == b || a.starts_with(&[b, b"/"].concat());
    files.retain(|(path, _, _)| !clashes(path, &file.0) && !clashes(&file.0, path));
    files.push(file);
}

fn some_file(dice: &mut Dice) -> File {
    match dice.roll(12) {
        0 => (name(dice), "120000", format!("to{}", dice.roll(4)).into_bytes()),
        1 => (name(dice), "160000", [b"1", b"2"][dice.roll(2)].repeat(40)),
        2 => (name(dice), "100755", text(dice)),
        3 => (name(dice), "100644", Vec::new()),
        _ => (name(dice), "100644", text(dice)),
    }
}

fn changed(dice: &mut Dice, files: &[File]) -> Vec<File> {
    let mut out: Vec<File> = files.to_vec();
    for _ in 0..=dice.roll(12) {
        if out.is_empty() {
            break;
        }
        let at = dice.roll(out.len());
        match dice.roll(8) {
            0 => drop(out.swap_remove(at)),
            1 => {
                let one = some_file(dice);
                put(&mut out, one);
            }
            2 => out[at].1 = if out[at].1 == "100644" { "100755" } else { out[at].1 },
            3 | 4 => {
                let mut one = out.swap_remove(at);
                one.0 = name(dice);
                put(&mut out, one);
            }
            5 => {
                let mut one = out[at].clone();
                one.0 = name(dice);
                put(&mut out, one);
            }
            _ => {
                let mut one = out.swap_remove(at);
                if one.1.starts_with("100") {
                    let more = text(dice);
                    let cut = dice.roll(one.2.len() + 1);
                    one.2.truncate(cut);
                    one.2.extend_from_slice(&more[..dice.roll(more.len() + 1)]);
                }
                if dice.roll(2) == 0 {
                    one.0 = name(dice);
                }
                put(&mut out, one);
            }
        }
    }
    out
}

#[test]
fn random_trees_differ_as_git_says() {
    let mut dice = Dice(7);
    let mut trees: Vec<Vec<File>> = Vec::new();
    for _ in 0..200 {
        let mut files = Vec::new();
        for _ in 0..dice.roll(25) {
            let one = some_file(&mut dice);
            put(&mut files, one);
        }
        let after = changed(&mut dice, &files);
        trees.extend([files, after]);
    }
    let dir = tempfile::tempdir().unwrap();
    let ids = make_trees(dir.path(), "sha1", &trees);
    let objects = GitObjects::open(dir.path()).unwrap();
    let mut renames = 0;
    for pair in ids.chunks(2) {
        let theirs = rows_of_git(dir.path(), &pair[0], &pair[1]);
        let ours = rows_of(&compare_trees(&objects, &pair[0], &pair[1]).unwrap());
        assert_eq!(ours, theirs, "{} {}", pair[0], pair[1]);
        renames += theirs.iter().filter(|row| row.0 == 'R').count();
    }
    assert!(renames > 100, "only {renames} renames were tried");
}

#[test]
fn more_files_than_git_measures_are_paired_only_where_git_pairs_them() {
    let many = |dir: &str, count: usize, last: &str| -> Vec<File> {
        let text = |at: usize| format!("a line of {at}\nanother of {at}\n{last}\n");
        (0..count).map(|at| file(&format!("{dir}/{dir}{at}"), "100644", &text(at))).collect()
    };
    for (count, renames) in [(1000, 1000), (1001, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let trees = [many("old", count, "x"), many("new", count, "y")];
        let ids = make_trees(dir.path(), "sha1", &trees);
        let objects = GitObjects::open(dir.path()).unwrap();
        let ours = rows_of(&compare_trees(&objects, &ids[0], &ids[1]).unwrap());
        assert_eq!(ours, rows_of_git(dir.path(), &ids[0], &ids[1]));
        assert_eq!(ours.iter().filter(|row| row.0 == 'R').count(), renames);
    }
}

fn file(path: &str, mode: &'static str, text: &str) -> File {
    (path.into(), mode, text.into())
}

fn rules(cwd: &str) -> PathRules {
    PathRules { cwd: cwd.into(), root: "/repo".into(), home: "/home".into() }
}

#[test]
fn every_kind_of_change_is_listed_with_its_status_modes_and_sides() {
    let long = "one\ntwo\nthree\nfour\nfive\n";
    let before = vec![
        file("gone", "100644", "never seen again"),
        file("script", "100644", "run\n"),
        file("kind", "100644", "target"),
        file("old/name", "100644", long),
        file("same", "100644", "same"),
        file("sub", "160000", &"1".repeat(40)),
        file("text", "100644", "a\n"),
        file("was_dir/in", "100644", "in a directory"),
    ];
    let after = vec![
        file("kind", "120000", "target"),
        file("new", "100755", "#!/bin/sh\n"),
        file("other/name", "100644", &long.replace("two", "2")),
        file("same", "100644", "same"),
        file("script", "100755", "run\n"),
        file("sub", "160000", &"2".repeat(40)),
        file("text", "100644", "b\n"),
        file("was_dir", "100644", "a file now"),
    ];
    for format in ["sha1", "sha256"] {
        let dir = tempfile::tempdir().unwrap();
        let (before, after) = (fit(&before, format), fit(&after, format));
        let ids = make_trees(dir.path(), format, &[before, after]);
        let objects = GitObjects::open(dir.path()).unwrap();
        let rules = rules("/repo/other");
        let place = TreePlace { root: Path::new("/repo"), rules: &rules };
        let changes = changes_between(&objects, &ids[0], &ids[1], &place).unwrap();
        let seen: Vec<String> = changes
            .files
            .iter()
            .map(|change| {
                let file = &change.file;
                let mode = |mode: &Option<String>| mode.clone().unwrap_or_default();
                let (old, new) = (mode(&file.old_mode), mode(&file.new_mode));
                let from = file.old_path.clone().unwrap_or_default();
                format!("{:?} {} {from} {old} {new}", file.status, file.display)
            })
            .collect();
        assert_eq!(
            seen,
            [
                "Deleted ../gone   ",
                "TypeChanged ../kind  100644 120000",
                "Added ../new   100755",
                "ModeChanged ../script  100644 100755",
                "Modified ../sub  160000 160000",
                "Modified ../text   ",
                "Added ../was_dir   ",
                "Deleted ../was_dir/in   ",
                "Renamed name /repo/old/name  ",
            ]
        );
        let renamed = changes.files.last().unwrap();
        assert_eq!(renamed.file.path, "name");
        let Pair::Sides { old, new } = &renamed.pair else { panic!("whole sides") };
        assert_eq!(objects.read(old).unwrap(), Content::Text(long.as_bytes().into()));
        assert_ne!(objects.read(new).unwrap(), objects.read(old).unwrap());
        let sub = changes.files.iter().find(|change| change.file.path.ends_with("sub")).unwrap();
        let Pair::Sides { new, .. } = &sub.pair else { panic!("whole sides") };
        let Content::Text(text) = objects.read(new).unwrap() else { panic!("a submodule is text") };
        assert!(text.starts_with(b"Subproject commit 222") && text.ends_with(b"2\n"));
    }
}

/// Submodule ids as long as the format has them.
fn fit(files: &[File], format: &str) -> Vec<File> {
    let mut files = files.to_vec();
    for file in files.iter_mut().filter(|file| file.1 == "160000" && format == "sha256") {
        file.2 = file.2.repeat(2)[..64].to_vec();
    }
    files
}

#[test]
fn objects_are_found_in_packs_alternates_and_bare_object_directories() {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    let side = dir.path().join("side");
    let empty = dir.path().join("empty");
    let borrower = dir.path().join("borrower");
    for place in [&repo, &side, &empty, &borrower] {
        fs::create_dir(place).unwrap();
    }
    let old = make_trees(&repo, "sha1", &[vec![file("a/f", "100644", "old\n")]]).remove(0);
    let new = make_trees(&side, "sha1", &[vec![file("a/f", "100644", "new\n")]]).remove(0);
    git(&repo, &["repack", "-adq"]);
    git(&empty, &["init", "-q", "--bare", "."]);
    git(&borrower, &["init", "-q", "--bare", "."]);
    fs::write(
        borrower.join("objects/info/alternates"),
        format!("{}\n{}\n", repo.join("objects").display(), side.join("objects").display()),
    )
    .unwrap();

    let both = GitObjects::open(&repo).unwrap().with_objects(&side.join("objects")).unwrap();
    let alone = GitObjects::default()
        .with_objects(&side.join("objects"))
        .unwrap()
        .with_objects(&repo.join("objects"))
        .unwrap();
    let beside = GitObjects::open(&empty).unwrap().with_objects(&borrower.join("objects")).unwrap();
    let lent = GitObjects::open(&borrower).unwrap();
    for objects in [both, alone, beside, lent] {
        let changes = compare_trees(&objects, &old, &new).unwrap();
        assert_eq!(changes.len(), 1);
        assert_eq!(objects.resolve_tree(&new).unwrap(), new);
        let id = objects.find(&new, b"a/f").unwrap();
        assert_eq!(objects.read(&id).unwrap(), Content::Text((*b"new\n").into()));
        assert_eq!(objects.find(&new, b"a").unwrap(), ContentId::Absent);
        assert_eq!(objects.find(&new, b"a/f/g").unwrap(), ContentId::Absent);
    }
    let error = GitObjects::open(&repo).unwrap().resolve_tree(&new).unwrap_err().to_string();
    assert!(error.contains(&new) && error.lines().count() == 1, "{error}");
}

#[test]
fn objects_that_come_later_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let first = make_trees(dir.path(), "sha1", &[vec![file("f", "100644", "1")]]).remove(0);
    let objects = GitObjects::open(dir.path()).unwrap();
    objects.find(&first, b"f").unwrap();
    let blob = line(git_with_input(dir.path(), &["hash-object", "-w", "--stdin"], b"later"));
    git(
        dir.path(),
        &["update-ref", "refs/heads/keep", &line(git(dir.path(), &["rev-parse", "t0"]))],
    );
    let pack =
        git_with_input(dir.path(), &["pack-objects", "--stdout"], format!("{blob}\n").as_bytes());
    fs::remove_file(dir.path().join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    git_with_input(dir.path(), &["unpack-objects", "-n"], &pack);
    git_with_input(dir.path(), &["index-pack", "--stdin"], &pack);
    let content = objects.read(&ContentId::Blob { id: blob, mode: 0o100_644 }).unwrap();
    assert_eq!(content, Content::Text((*b"later").into()));
}

#[test]
fn sizes_and_kinds_are_told_before_anything_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let files = vec![
        file("big", "100644", &"x".repeat(101)),
        file("fits", "100644", &"x".repeat(100)),
        (b"binary".to_vec(), "100644", b"a\0b".to_vec()),
        (b"late".to_vec(), "100644", [vec![b'x'; 90], vec![0]].concat()),
        file("link", "120000", "big"),
    ];
    let tree = make_trees(dir.path(), "sha1", &[files]).remove(0);
    let objects = GitObjects::open(dir.path()).unwrap().with_max_file_bytes(100);
    let read = |path: &str| objects.read(&objects.find(&tree, path.as_bytes()).unwrap()).unwrap();
    assert_eq!(read("big"), Content::Oversized { len: 101 });
    assert_eq!(read("fits"), Content::Text(vec![b'x'; 100].into()));
    assert_eq!(read("binary"), Content::Binary { len: 3 });
    assert_eq!(read("late"), Content::Binary { len: 91 });
    assert_eq!(read("link"), Content::Text((*b"big").into()));
    assert_eq!(read("none"), Content::Absent);
}

#[test]
fn revisions_of_every_syntax_name_trees_and_errors_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let trees = [vec![file("d/f", "100644", "1")], vec![file("d/f", "100644", "2")]];
    let ids = make_trees(dir.path(), "sha1", &trees);
    git(dir.path(), &["tag", "-a", "-m", "x", "v1", "t1"]);
    let objects = GitObjects::open(dir.path()).unwrap();
    for revision in
        ["t1", "v1", "refs/heads/t1", "t1^{tree}", "v1^{commit}", &ids[1], &ids[1][..12]]
    {
        assert_eq!(objects.resolve_tree(revision).unwrap(), ids[1], "{revision}");
    }
    let deep = line(git(dir.path(), &["rev-parse", "t0:d"]));
    assert_eq!(objects.resolve_tree("t0:d").unwrap(), deep);
    for wrong in ["nothing", "t0:d/f", "", "t0..t1", "--all", "HEAD~99999", "a\nb", &"0".repeat(40)]
    {
        let error = objects.resolve_tree(wrong).unwrap_err().to_string();
        assert!(error.lines().count() == 1, "{wrong:?}: {error:?}");
    }
}

#[test]
fn a_missing_blob_of_a_partial_clone_is_named_as_such_and_nothing_is_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let full = dir.path().join("full");
    fs::create_dir(&full).unwrap();
    let tree = make_trees(&full, "sha1", &[vec![file("f", "100644", "never fetched")]]).remove(0);
    git(&full, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", full.display());
    git(dir.path(), &["clone", "-q", "--bare", "--filter=blob:none", &url, "partial"]);
    let objects = GitObjects::open(&dir.path().join("partial")).unwrap();
    let id = objects.find(&tree, b"f").unwrap();
    let error = objects.read(&id).unwrap_err().to_string();
    assert!(error.contains("partial clone"), "{error}");

    let objects = GitObjects::open(&full).unwrap();
    let gone = ContentId::Blob { id: "e".repeat(40), mode: 0o100_644 };
    let error = objects.read(&gone).unwrap_err().to_string();
    assert!(error.contains("no such object"), "{error}");
}

#[test]
fn a_broken_object_costs_one_line() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "--bare", "."]);
    let blob = line(git_with_input(dir.path(), &["hash-object", "-w", "--stdin"], b"x"));
    let path = dir.path().join("objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(&path).unwrap();
    fs::write(&path, b"not zlib").unwrap();
    let objects = GitObjects::open(dir.path()).unwrap();
    let error = objects.read(&ContentId::Blob { id: blob.clone(), mode: 0o100_644 }).unwrap_err();
    assert!(error.to_string().contains(&blob) && error.to_string().lines().count() == 1, "{error}");
    for wrong in ["", "zz", "é", &blob[..39]] {
        objects.read(&ContentId::Blob { id: wrong.into(), mode: 0o100_644 }).unwrap_err();
        compare_trees(&objects, wrong, wrong).unwrap_err();
    }
    compare_trees(&objects, &blob, &blob).unwrap_err();
}

#[test]
fn hostile_trees_cost_only_themselves() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "--bare", "."]);
    let tree = |bytes: &[u8]| {
        let args = ["hash-object", "-w", "-t", "tree", "--literally", "--stdin"];
        line(git_with_input(dir.path(), &args, bytes))
    };
    let entry =
        |mode: &str, name: &str| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[7; 20]].concat();
    let empty = tree(b"");
    let objects = GitObjects::open(dir.path()).unwrap();
    let rules = rules("/repo");
    let place = TreePlace { root: Path::new("/repo"), rules: &rules };
    let names = [entry("100644", "/etc/passwd"), entry("100644", ".."), entry("100644", "fine")];
    let changes = changes_between(&objects, &empty, &tree(&names.concat()), &place).unwrap();
    let shown: Vec<_> = changes.files.iter().map(|change| change.file.path.as_str()).collect();
    assert_eq!(shown, ["fine"]);
    assert_eq!(changes.notes.len(), 2);
    // Cut off, of no known mode, and naming a tree that is not there.
    for bytes in [&names[0][..15], b"100644 x", b"\xff\xff", &entry("40000", "missing")] {
        let error = compare_trees(&objects, &empty, &tree(bytes)).unwrap_err().to_string();
        assert!(error.lines().count() == 1, "{error}");
    }
}

#[test]
fn a_repository_is_discovered_from_below_and_nothing_in_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "."]);
    let marker = dir.path().join("ran");
    let command = format!("touch {}", marker.display());
    for key in
        ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.external"]
    {
        git(dir.path(), &["config", key, &command]);
    }
    fs::write(dir.path().join(".gitattributes"), "* filter=x diff=x\n").unwrap();
    fs::create_dir_all(dir.path().join("a/b")).unwrap();
    let blob = line(git_with_input(dir.path(), &["hash-object", "-w", "--stdin"], b"x\n"));
    let objects = GitObjects::discover(&dir.path().join("a/b")).unwrap().unwrap();
    assert_eq!(
        objects.work_tree().unwrap().canonicalize().unwrap(),
        dir.path().canonicalize().unwrap()
    );
    objects.read(&ContentId::Blob { id: blob, mode: 0o100_644 }).unwrap();
    assert!(!marker.exists(), "a configured program ran");
    let outside = tempfile::tempdir().unwrap();
    assert!(GitObjects::discover(outside.path()).unwrap().is_none());
}
