//! A snapshot's tree against the one that git itself writes, in every state that a repository can be in.

use handback::snapshot::{Snapshot, Snapshotter};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A repository to be compared, with a place of ours beside it.
struct Repo {
    dir: TempDir,
    /// Further arguments of `git add` and `git write-tree`.
    root: PathBuf,
}

impl Repo {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(init: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        fs::create_dir(&root).unwrap();
        let repo = Self { dir, root };
        let mut args = vec!["init", "-q", "-b", "main"];
        args.extend(init);
        repo.git(&args);
        repo.git(&["config", "user.name", "Test"]);
        repo.git(&["config", "user.email", "test@example.com"]);
        repo.git(&["config", "commit.gpgsign", "false"]);
        repo.git(&["config", "gc.auto", "0"]);
        repo
    }

    fn git(&self, args: &[&str]) -> String {
        let (ok, out) = self.try_git(&self.root, args, &[]);
        assert!(ok, "git {args:?}: {out}");
        out
    }

    fn try_git(&self, dir: &Path, args: &[&str], env: &[(&str, &OsStr)]) -> (bool, String) {
        let mut command = Command::new("git");
        command.current_dir(dir).args(args);
        command.env("GIT_CEILING_DIRECTORIES", self.dir.path());
        for (name, value) in env {
            command.env(name, value);
        }
        let out = command.output().unwrap();
        let mut text = String::from_utf8_lossy(&out.stdout).into_owned();
        if !out.status.success() {
            text.push_str(&String::from_utf8_lossy(&out.stderr));
        }
        (out.status.success(), text.trim().to_owned())
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn remove(&self, name: &str) -> &Self {
        let path = self.path(name);
        if path.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
        self
    }

    fn mode(&self, name: &str, mode: u32) -> &Self {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    fn commit(&self) -> &Self {
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "state"]);
        self
    }

    /// Makes every file old enough that its entry is believed without a look at its content.
    fn age(&self) -> &Self {
        let old = SystemTime::now() - Duration::from_secs(100);
        for name in self.git(&["ls-files"]).lines() {
            if let Ok(file) = fs::File::open(self.path(name)) {
                file.set_modified(old).unwrap();
            }
        }
        self.git(&["update-index", "-q", "--refresh"]);
        self
    }

    fn git_path(&self, name: &str) -> PathBuf {
        self.root.join(self.git(&["rev-parse", "--git-path", name]))
    }

    /// What git itself makes of it, on a copy of the index; none where git gives no tree.
    fn expected(&self) -> Option<String> {
        let place = tempfile::tempdir_in(self.dir.path()).unwrap();
        let index = place.path().join("index");
        let objects = place.path().join("objects");
        fs::create_dir(&objects).unwrap();
        let original = self.git_path("index");
        if original.exists() {
            let time = fs::metadata(&original).unwrap().modified().unwrap();
            fs::copy(&original, &index).unwrap();
            // What is racy for the original is racy for the copy.
            fs::File::options().append(true).open(&index).unwrap().set_modified(time).unwrap();
        }
        let theirs = self.git_path("objects");
        let env = [
            ("GIT_INDEX_FILE", index.as_os_str()),
            ("GIT_OBJECT_DIRECTORY", objects.as_os_str()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", theirs.as_os_str()),
        ];
        let _ = self.try_git(&self.root, &["add", "--all", "--ignore-errors"], &env);
        let (ok, tree) = self.try_git(&self.root, &["write-tree"], &env);
        ok.then_some(tree)
    }

    fn snapshotter(&self) -> Snapshotter {
        let (objects, cache) = (self.dir.path().join("ours"), self.dir.path().join("cache"));
        Snapshotter::open(&self.root, None, &objects, Some(&cache)).unwrap().unwrap()
    }

    fn take(&self) -> Snapshot {
        self.snapshotter().take(&AtomicBool::new(false)).unwrap()
    }

    /// The rows of a tree of ours, as git reads them.
    fn rows(&self, tree: &str) -> String {
        let ours = self.dir.path().join("ours");
        let env = [("GIT_ALTERNATE_OBJECT_DIRECTORIES", ours.as_os_str())];
        let (ok, out) = self.try_git(&self.root, &["ls-tree", "-r", "-t", tree], &env);
        assert!(ok, "{out}");
        out
    }

    /// Compares twice, the second time with what was seen the first time; gives the snapshot.
    fn check(&self) -> Snapshot {
        let expected = self.expected().expect("git gives a tree");
        let first = self.take();
        self.same(&expected, &first, "cold");
        let second = self.take();
        self.same(&expected, &second, "warm");
        first
    }

    fn same(&self, expected: &str, found: &Snapshot, what: &str) {
        if found.tree != expected {
            let theirs: Vec<PathBuf> =
                fs::read_dir(self.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
            panic!(
                "{what}: not git's tree {expected}, but {}\n{}\nskipped {:?}\nstatus {}\n{theirs:?}",
                found.tree,
                self.rows(&found.tree),
                found.skipped,
                self.git(&["status", "--porcelain", "--ignored", "-uall"]),
            );
        }
    }

    /// Whether the tree has this path.
    fn has(&self, snapshot: &Snapshot, path: &str) -> bool {
        self.rows(&snapshot.tree).lines().any(|line| line.ends_with(&format!("\t{path}")))
    }
}

#[test]
fn an_empty_repository() {
    let repo = Repo::new();
    assert_eq!(repo.check().tree, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

#[test]
fn an_unborn_head_with_files_staged_and_not() {
    let repo = Repo::new();
    repo.write("a", "1").write("d/e/f", "2");
    repo.git(&["add", "a"]);
    repo.write("a", "changed").write("z", "3");
    let snapshot = repo.check();
    assert_eq!(snapshot.files, 3);
}

#[test]
fn changed_added_deleted_and_moved_files() {
    let repo = Repo::new();
    repo.write("keep", "k")
        .write("change", "c")
        .write("delete", "d")
        .write("dir/move", "m")
        .write("dir/deep/er", "x");
    repo.commit().age();
    repo.check();
    repo.write("change", "C").remove("delete").write("new/file", "n");
    fs::rename(repo.path("dir/move"), repo.path("moved")).unwrap();
    repo.remove("dir/deep");
    let snapshot = repo.check();
    assert_eq!(snapshot.files, 4);
    assert!(!repo.has(&snapshot, "dir"));
}

#[test]
fn names_sort_as_git_sorts_them() {
    let repo = Repo::new();
    for name in ["a", "a-b", "a.b", "a0", "ab/c", "ab-c", "ab.c", "ab0", "b/x", "b-", "b.", "b0"] {
        repo.write(name, name);
    }
    repo.check();
    repo.commit().age();
    repo.remove("a").write("a/inner", "1");
    repo.check();
}

#[test]
fn names_that_are_not_utf8_or_odd() {
    let repo = Repo::new();
    for name in [
        b"caf\xe9".as_slice(),
        b"\xff\xfe",
        b"tab\there",
        b"new\nline",
        b"quote\"",
        b"back\\slash",
        b" lead",
        b"-dash",
        b":colon",
    ] {
        repo.write(OsStr::from_bytes(name), "x");
    }
    repo.check();
    repo.commit().age();
    repo.write(OsStr::from_bytes(b"caf\xe9"), "changed")
        .write(OsStr::from_bytes(b"d\xe9/\xe9"), "new");
    repo.check();
}

#[test]
fn modes_and_types_change() {
    let repo = Repo::new();
    repo.write("run", "#!/bin/sh\n")
        .write("plain", "p")
        .write("to-link", "t")
        .write("to-dir", "d")
        .write("dir/x", "x");
    repo.mode("run", 0o755);
    symlink("plain", repo.path("link")).unwrap();
    symlink("nowhere", repo.path("dangling")).unwrap();
    symlink("dir", repo.path("link-to-dir")).unwrap();
    repo.commit().age();
    repo.check();
    repo.mode("run", 0o644).mode("plain", 0o744);
    repo.remove("to-link").remove("link").remove("to-dir").remove("dir");
    symlink("elsewhere", repo.path("to-link")).unwrap();
    repo.write("link", "now a file").write("to-dir/inner", "1").write("dir", "now a file");
    repo.check();
}

#[test]
fn a_directory_becomes_a_link_to_one_with_the_same_files() {
    let repo = Repo::new();
    repo.write("real/a", "1").write("other/a", "1");
    repo.commit().age();
    repo.remove("real");
    symlink("other", repo.path("real")).unwrap();
    let snapshot = repo.check();
    assert!(!repo.has(&snapshot, "real/a"));
}

#[test]
fn file_mode_and_symlinks_not_believed() {
    let repo = Repo::new();
    repo.write("run", "r").write("plain", "p");
    repo.mode("run", 0o755);
    symlink("plain", repo.path("link")).unwrap();
    repo.commit().age();
    repo.git(&["config", "core.fileMode", "false"]);
    repo.git(&["config", "core.symlinks", "false"]);
    repo.mode("run", 0o644).mode("plain", 0o755);
    repo.remove("link").write("link", "plain2");
    repo.write("new", "n").mode("new", 0o755);
    repo.check();
    repo.write("run", "changed");
    repo.check();
}

#[test]
fn conflicts_take_what_the_work_tree_has() {
    let repo = Repo::new();
    repo.write("both", "base\n").write("gone", "base\n").write("other", "o\n").commit();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("both", "side\n").write("gone", "side\n").commit();
    repo.git(&["checkout", "-q", "main"]);
    repo.write("both", "main\n").remove("gone").commit();
    let (merged, _) = repo.try_git(&repo.root, &["merge", "side"], &[]);
    assert!(!merged);
    repo.check();
    repo.remove("both");
    repo.check();
}

#[test]
fn a_conflict_between_a_file_and_a_directory() {
    let repo = Repo::new();
    repo.write("x", "base").commit();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("a", "file").commit();
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a/b", "dir").commit();
    let (merged, _) = repo.try_git(&repo.root, &["merge", "side"], &[]);
    assert!(!merged);
    repo.check();
}

#[test]
fn entries_that_only_announce_a_file() {
    let repo = Repo::new();
    repo.write("a", "1").commit();
    repo.write("announced", "x").write("d/announced", "y").write("empty", "").write("flagged", "z");
    repo.git(&["add", "--intent-to-add", "announced", "d/announced", "empty", "flagged"]);
    repo.check();
    repo.git(&["update-index", "--assume-unchanged", "flagged"]);
    repo.remove("d/announced");
    let snapshot = repo.check();
    assert!(!repo.has(&snapshot, "flagged"));
}

#[test]
fn assume_unchanged_and_skip_worktree_keep_their_entries() {
    let repo = Repo::new();
    for name in [
        "assumed",
        "assumed-gone",
        "skipped",
        "skipped-gone",
        "d/skipped",
        "d/assumed-gone",
        "e/f/gone",
    ] {
        repo.write(name, name);
    }
    repo.commit().age();
    repo.git(&[
        "update-index",
        "--assume-unchanged",
        "assumed",
        "assumed-gone",
        "d/assumed-gone",
        "e/f/gone",
    ]);
    repo.git(&["update-index", "--skip-worktree", "skipped", "skipped-gone", "d/skipped"]);
    repo.write("assumed", "changed").write("skipped", "changed").write("d/skipped", "changed");
    repo.remove("assumed-gone").remove("skipped-gone").remove("d/assumed-gone").remove("e");
    let snapshot = repo.check();
    assert!(repo.has(&snapshot, "e/f/gone"));
    assert_eq!(snapshot.files, 7);
}

#[test]
fn kept_entries_give_way_to_what_the_disk_has_in_their_place() {
    let repo = Repo::new();
    repo.write("a", "1").write("b/c", "2").write("e", "3").commit().age();
    repo.git(&["update-index", "--assume-unchanged", "a", "b/c", "e"]);
    repo.remove("a").write("a/inside", "x");
    repo.remove("b").write("b", "file");
    repo.remove("e");
    fs::create_dir(repo.path("e")).unwrap();
    let snapshot = repo.check();
    assert!(repo.has(&snapshot, "a/inside") && repo.has(&snapshot, "e"));
}

#[test]
fn ignored_files_and_tracked_ones_that_are_ignored() {
    let repo = Repo::new();
    repo.write("tracked.log", "t")
        .write("build/tracked", "t")
        .write("deep/build/keep", "k")
        .commit()
        .age();
    repo.write(".gitignore", "*.log\nbuild/\n!important.log\n/top-only\ndeep/**/x\n");
    repo.write("deep/.gitignore", "!*.log\nlocal\n");
    for name in [
        "a.log",
        "important.log",
        "deep/b.log",
        "deep/local",
        "build/new",
        "build/sub/new",
        "top-only",
        "deep/top-only",
        "deep/q/x",
        "deep/build/new",
        "other/build/z",
    ] {
        repo.write(name, name);
    }
    repo.write("tracked.log", "changed").write("build/tracked", "changed");
    repo.check();
    repo.remove("build/tracked");
    repo.check();
}

#[test]
fn info_exclude_and_the_excludes_file() {
    let repo = Repo::new();
    let global = repo.dir.path().join("global-ignore");
    fs::write(&global, "*.global\n").unwrap();
    repo.git(&["config", "core.excludesFile", global.to_str().unwrap()]);
    fs::create_dir_all(repo.path(".git/info")).unwrap();
    fs::write(repo.path(".git/info/exclude"), "*.info\n").unwrap();
    repo.write("a.global", "1")
        .write("b.info", "2")
        .write("c", "3")
        .write(".gitignore", "!b.info\n");
    let snapshot = repo.check();
    assert!(repo.has(&snapshot, "b.info") && !repo.has(&snapshot, "a.global"));
}

#[test]
fn an_ignore_file_that_is_a_link_is_not_followed() {
    let repo = Repo::new();
    repo.write("patterns", "*.x\n").write("a.x", "1");
    symlink("patterns", repo.path(".gitignore")).unwrap();
    repo.check();
}

#[test]
fn nested_repositories_and_submodules() {
    let repo = Repo::new();
    let inner = Repo::new();
    inner.write("i", "1").commit();
    repo.write("a", "1").commit();
    let inside = |name: &str| {
        let path = repo.path(name);
        fs::create_dir_all(&path).unwrap();
        let (ok, out) =
            repo.try_git(&path, &["clone", "-q", inner.root.to_str().unwrap(), "."], &[]);
        assert!(ok, "{out}");
    };
    inside("nested");
    inside("deep/er/nested");
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        inner.root.to_str().unwrap(),
        "sub",
    ]);
    let snapshot = repo.check();
    let nested: Vec<_> = snapshot.nested.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(nested, ["deep/er/nested", "nested", "sub"]);
    repo.git(&["commit", "-q", "-m", "sub"]);
    // The submodule moves on; its own dirt is its own affair.
    repo.write("sub/dirt", "d");
    repo.check();
    let (ok, out) = repo.try_git(
        &repo.path("sub"),
        &["-c", "user.name=T", "-c", "user.email=t@e", "commit", "-q", "--allow-empty", "-m", "on"],
        &[],
    );
    assert!(ok, "{out}");
    repo.check();
    // Uninitialized: an empty directory, or one with files of no repository.
    repo.remove("sub");
    repo.check();
    fs::create_dir(repo.path("sub")).unwrap();
    repo.check();
    repo.write("sub/stray", "s");
    repo.check();
    repo.remove("sub").write("sub", "a file");
    repo.check();
}

#[test]
fn nested_repositories_without_a_commit_or_broken() {
    let repo = Repo::new();
    repo.write("file", "f").commit();
    fs::create_dir_all(repo.path("unborn")).unwrap();
    let (ok, _) = repo.try_git(&repo.path("unborn"), &["init", "-q"], &[]);
    assert!(ok);
    repo.write("unborn/x", "x");
    repo.write("no-repo/.git/stuff", "s").write("no-repo/y", "y");
    repo.write("git-file/.git", "gitdir: ../nowhere\n").write("git-file/z", "z");
    repo.write("garbage/.git", "what?").write("garbage/q", "q");
    // A tracked file whose place an unborn repository takes.
    repo.remove("file");
    fs::create_dir_all(repo.path("file")).unwrap();
    let (ok, _) = repo.try_git(&repo.path("file"), &["init", "-q"], &[]);
    assert!(ok);
    let snapshot = repo.check();
    assert!(repo.has(&snapshot, "no-repo/y") && repo.has(&snapshot, "git-file/z"));
    assert!(snapshot.skipped.iter().any(|(path, _)| path == Path::new("unborn")));
}

#[test]
fn an_ignored_nested_repository_and_one_in_place_of_tracked_files() {
    let repo = Repo::new();
    repo.write("dir/tracked", "t")
        .write("plain", "p")
        .write(".gitignore", "ignored/\n")
        .commit()
        .age();
    for name in ["ignored", "dir", "plain-dir"] {
        fs::create_dir_all(repo.path(name)).unwrap();
        let (ok, _) = repo.try_git(&repo.path(name), &["init", "-q"], &[]);
        assert!(ok);
        let (ok, _) = repo.try_git(
            &repo.path(name),
            &[
                "-c",
                "user.name=T",
                "-c",
                "user.email=t@e",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "x",
            ],
            &[],
        );
        assert!(ok);
    }
    repo.write("dir/new", "n");
    repo.remove("plain");
    fs::rename(repo.path("plain-dir"), repo.path("plain")).unwrap();
    repo.check();
}

#[test]
fn line_endings_by_configuration() {
    for (key, value) in
        [("core.autocrlf", "true"), ("core.autocrlf", "input"), ("core.eol", "crlf")]
    {
        let repo = Repo::new();
        repo.write("crlf-in-index", "a\r\nb\r\n").write("lf", "a\nb\n").commit().age();
        repo.git(&["config", key, value]);
        repo.write("crlf-in-index", "a\r\nb\r\nc\r\n").write("lf", "a\r\nb\r\nc\r\n");
        repo.write("new", "x\r\ny\r\n")
            .write("mixed", "x\r\ny\n")
            .write("bare-cr", "x\ry\r\n")
            .write("binary", b"\0\r\n")
            .write("eof-mark", b"x\r\n\x1a");
        repo.check();
    }
}

#[test]
fn line_endings_by_attribute() {
    let repo = Repo::new();
    repo.write("old.txt", "a\r\nb\r\n").write("old.auto", "a\r\n").commit().age();
    repo.write(".gitattributes", "*.txt text\n*.auto text=auto\n*.crlf text eol=crlf\n*.lf eol=lf\n*.no -text\n*.old crlf\n*.bin binary\n*.input crlf=input\n[attr]mine text\n*.mine mine\n");
    repo.write("sub/.gitattributes", "*.txt -text\n");
    for name in [
        "a.txt",
        "a.auto",
        "a.crlf",
        "a.lf",
        "a.no",
        "a.old",
        "a.bin",
        "a.input",
        "a.mine",
        "sub/a.txt",
        "sub/a.auto",
    ] {
        repo.write(name, "one\r\ntwo\r\n");
    }
    repo.write("old.txt", "a\r\nb\r\nc\r\n").write("old.auto", "a\r\nb\r\n");
    repo.check();
    // Attributes come from the index where the work tree has none.
    repo.git(&["add", ".gitattributes"]);
    repo.remove(".gitattributes");
    repo.check();
    // A change of attributes alone changes what was seen before.
    repo.write(".gitattributes", "* -text\n");
    repo.check();
    fs::create_dir_all(repo.path(".git/info")).unwrap();
    fs::write(repo.path(".git/info/attributes"), "*.no text\n").unwrap();
    repo.check();
}

#[test]
fn attributes_of_a_conflicted_file_go_by_our_side() {
    let repo = Repo::new();
    repo.write("f", "base\r\n").write("x", "1").commit();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("f", "side\n").commit();
    repo.git(&["checkout", "-q", "main"]);
    repo.write("f", "main\r\n").commit();
    let _ = repo.try_git(&repo.root, &["merge", "side"], &[]);
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("f", "resolved\r\n");
    repo.check();
}

#[test]
fn ident_and_encodings() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.id ident\n*.u16 text working-tree-encoding=UTF-16\n*.le text working-tree-encoding=UTF-16LE\n*.bom text working-tree-encoding=UTF-16LE-BOM\n*.latin text working-tree-encoding=ISO-8859-1\n*.sjis text working-tree-encoding=SHIFT-JIS\n");
    repo.write("a.id", "$Id: deadbeef $ and $Id$ and $Id: open\n");
    let wide = |bom: bool, text: &str| -> Vec<u8> {
        let units = bom.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    repo.write("a.u16", wide(true, "h\u{e9}llo\r\n"))
        .write("a.le", wide(false, "w\u{f6}rld\n"))
        .write("a.bom", wide(true, "b\n"));
    repo.write("a.latin", b"caf\xe9\n").write("a.sjis", b"\x83\x65\x83\x58\x83\x67\n");
    repo.write("be.u16", b"\xfe\xff\0b\0i\0g\0\r\0\n");
    repo.check();
    repo.commit().age();
    repo.write("a.id", "$Id: other $\nmore\n");
    repo.check();
}

#[test]
fn clean_filters_run_as_git_runs_them() {
    let repo = Repo::new();
    repo.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.named.clean", "printf '%s:' %f; cat"]);
    repo.git(&["config", "filter.fails.clean", "false"]);
    repo.git(&["config", "filter.missing.clean", "no-such-program-here"]);
    repo.write(".gitattributes", "*.up filter=upper\n*.named filter=named\n*.fails filter=fails\n*.missing filter=missing\n*.none filter=undefined\n*.both filter=upper text\n");
    for name in ["a.up", "dir/a.named", "a.fails", "a.missing", "a.none"] {
        repo.write(name, "some text\n");
    }
    repo.write("a.both", "x\r\n").write("odd name.named", "y\n").write("empty.up", "");
    repo.check();
    // Another program, the same files: what was seen before no longer holds.
    repo.git(&["config", "filter.upper.clean", "tr a-z b-za"]);
    repo.check();
}

#[test]
fn a_required_filter_that_fails_costs_its_file() {
    let repo = Repo::new();
    repo.write("old.x", "kept").write("plain", "p").commit().age();
    repo.git(&["config", "filter.must.clean", "false"]);
    repo.git(&["config", "filter.must.required", "true"]);
    repo.write(".gitattributes", "*.x filter=must\n")
        .write("old.x", "changed")
        .write("new.x", "n")
        .write("plain", "P");
    let snapshot = repo.take();
    let skipped: Vec<_> = snapshot.skipped.iter().map(|(path, _)| path.to_str().unwrap()).collect();
    assert_eq!(skipped, ["new.x", "old.x"]);
    assert!(!repo.has(&snapshot, "new.x"));
    let kept = repo.git(&["rev-parse", "HEAD:old.x"]);
    assert!(repo.rows(&snapshot.tree).contains(&kept));
}

#[test]
fn unsafe_line_endings_do_not_stop_a_snapshot() {
    let repo = Repo::new();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("mixed", "a\r\nb\n").write("lf", "a\n");
    let expected = repo.expected().unwrap();
    repo.git(&["config", "core.safecrlf", "true"]);
    assert_eq!(repo.take().tree, expected);
}

#[test]
fn case_is_ignored_where_the_repository_says_so() {
    let repo = Repo::new();
    repo.write("README", "r").write("dir/File", "f").commit().age();
    repo.git(&["config", "core.ignoreCase", "true"]);
    repo.write(".gitignore", "*.LOG\n").write("a.log", "l");
    fs::rename(repo.path("README"), repo.path("readme")).unwrap();
    repo.write("dir/file", "lower").write("new", "n");
    repo.check();
}

#[test]
fn index_versions_and_a_split_index() {
    for version in ["2", "3", "4"] {
        let repo = Repo::new();
        for name in ["a/b/c", "a/b/d", "a/e", "f"] {
            repo.write(name, name);
        }
        repo.commit().age();
        repo.git(&["update-index", "--index-version", version]);
        repo.write("a/b/c", "changed").write("new", "n");
        repo.check();
    }
    let repo = Repo::new();
    for name in ["a/b/c", "a/b/d", "a/e", "f"] {
        repo.write(name, name);
    }
    repo.commit().age();
    repo.git(&["update-index", "--split-index"]);
    repo.write("a/b/c", "changed").write("new", "n").remove("f");
    repo.git(&["add", "a/b/c"]);
    repo.git(&["rm", "-q", "--cached", "a/e"]);
    repo.check();
}

#[test]
fn a_linked_work_tree_and_a_subdirectory() {
    let repo = Repo::new();
    repo.write("a", "1").write("d/b", "2").write(".gitignore", "*.o\n").commit();
    fs::create_dir_all(repo.path(".git/info")).unwrap();
    fs::write(repo.path(".git/info/exclude"), "*.info\n").unwrap();
    let linked = repo.dir.path().join("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let linked = Repo { dir: tempfile::tempdir().unwrap(), root: linked };
    linked.write("a", "other").write("x.o", "o").write("y.info", "i").write("new", "n");
    linked.check();
    repo.check();
    let objects = repo.dir.path().join("ours");
    let below = Snapshotter::open(&repo.path("d"), None, &objects, None).unwrap().unwrap();
    assert_eq!(below.root(), repo.root.canonicalize().unwrap());
}

#[test]
fn a_separate_git_dir_and_a_named_one() {
    let dir = tempfile::tempdir().unwrap();
    let apart = dir.path().join("apart.git");
    let repo = Repo::with(&["--separate-git-dir", apart.to_str().unwrap()]);
    repo.write("a", "1").write("b/c", "2");
    repo.check();
    let expected = repo.expected().unwrap();
    fs::remove_file(repo.path(".git")).unwrap();
    let objects = dir.path().join("ours");
    let mut named = Snapshotter::open(&repo.root, Some(&apart), &objects, None).unwrap().unwrap();
    assert_eq!(named.take(&AtomicBool::new(false)).unwrap().tree, expected);
}

#[test]
fn sha256_repositories() {
    let repo = Repo::with(&["--object-format=sha256"]);
    repo.write("a", "1").write("d/b", "2").commit().age();
    repo.write("a", "changed").write("n/e/w", "3");
    assert_eq!(repo.check().tree.len(), 64);
}

#[test]
fn sparse_checkouts() {
    for (cone, sparse_index) in [("--cone", false), ("--cone", true), ("--no-cone", false)] {
        let repo = Repo::new();
        for name in ["top", "in/a", "in/deep/b", "out/c", "out/deep/d", "half/e", "half/way/f"] {
            repo.write(name, name);
        }
        repo.commit();
        let mut args = vec!["sparse-checkout", "set", cone];
        if sparse_index {
            args.push("--sparse-index");
        }
        args.extend(["in", "half/way"]);
        repo.git(&args);
        repo.check();
        repo.write("in/a", "changed")
            .write("in/new", "n")
            .write("top", "t")
            .write("out/c", "present though out");
        repo.write("out/new", "x")
            .write("half/new", "h")
            .write("half/way/new", "w")
            .write("brand/new", "b");
        repo.remove("half/way/f");
        repo.check();
    }
}

#[test]
fn things_that_are_no_files_and_empty_directories() {
    let repo = Repo::new();
    repo.write("tracked", "t").write("d/f", "f").commit().age();
    fs::create_dir_all(repo.path("empty/er")).unwrap();
    repo.remove("tracked").remove("d/f");
    for name in ["pipe", "tracked", "d/pipe"] {
        assert!(Command::new("mkfifo").arg(repo.path(name)).status().unwrap().success());
    }
    let snapshot = repo.check();
    assert!(repo.has(&snapshot, "tracked") && !repo.has(&snapshot, "pipe"));
    assert_eq!(snapshot.skipped.len(), 1);
}

#[test]
fn names_that_git_refuses() {
    let repo = Repo::new();
    repo.write("git~1/x", "1").write("d/.GIT/y", "2").write("ok", "3").write(".git./z", "4");
    symlink("x", repo.path(".gitmodules")).unwrap();
    let snapshot = repo.check();
    assert!(repo.has(&snapshot, "ok"));
    assert_eq!(snapshot.files, 1);
}

#[test]
fn a_file_changed_in_the_second_of_its_entry() {
    for _ in 0..20 {
        let repo = Repo::new();
        repo.write("a", "1111");
        repo.git(&["add", "a"]);
        repo.write("a", "2222");
        repo.check();
        repo.write("a", "3333");
        repo.check();
    }
}

#[test]
fn nothing_is_written_into_the_repository() {
    let repo = Repo::new();
    repo.write("a", "1")
        .write("d/b", "2")
        .write(".gitattributes", "*.up filter=upper\n")
        .commit()
        .age();
    repo.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    repo.git(&["config", "core.fsmonitor", "touch fsmonitor-ran; false"]);
    repo.write("a", "changed").write("new/c.up", "x").remove("d/b");
    let before = listing(&repo.root);
    let first = repo.take();
    let second = repo.take();
    assert_eq!(before, listing(&repo.root));
    assert_eq!(first.tree, second.tree);
    // What the repository has already is not written again.
    let ours = listing(&repo.dir.path().join("ours"));
    let known = repo.git(&["rev-parse", "HEAD:.gitattributes"]);
    assert!(!ours.iter().any(|line| line.contains(&known[2..])));
    assert!(ours.iter().any(|line| line.contains(&first.tree[2..])));
}

/// Every path below with its kind, size, and times.
fn listing(dir: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let mut found = Vec::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(path) = left.pop() {
        let meta = path.symlink_metadata().unwrap();
        found.push(format!(
            "{} {} {} {}.{} {}.{}",
            path.display(),
            meta.mode(),
            meta.size(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec()
        ));
        if meta.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.sort();
    found
}

#[test]
fn no_repository_a_bare_one_and_a_damaged_index() {
    let dir = tempfile::tempdir().unwrap();
    let objects = dir.path().join("ours");
    assert!(Snapshotter::open(dir.path(), None, &objects, None).unwrap().is_none());
    let (bare, _) = Repo::new().try_git(dir.path(), &["init", "-q", "--bare", "b.git"], &[]);
    assert!(bare);
    assert!(Snapshotter::open(&dir.path().join("b.git"), None, &objects, None).unwrap().is_none());
    let repo = Repo::new();
    repo.write("a", "1").commit();
    for content in [b"".as_slice(), b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xff", &[0xff; 500]] {
        fs::write(repo.path(".git/index"), content).unwrap();
        let error = repo.snapshotter().take(&AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.contains("index") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_raised_flag_ends_it() {
    let repo = Repo::new();
    repo.write("a", "1");
    let error = repo.snapshotter().take(&AtomicBool::new(true)).unwrap_err();
    assert!(matches!(error, handback::snapshot::SnapshotError::Cancelled));
}

/// One step towards a random state of a repository.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, usize),
    Remove(usize),
    Link(usize, usize),
    Executable(usize, bool),
    EmptyDirectory(usize),
    Nested(usize, bool),
    Patterns(usize, usize),
    Attributes(usize),
    Git(usize, usize),
    Setting(usize),
    Commit,
    Merge,
    Age,
    Check,
}

/// Paths that get in each other's way.
const PATHS: &[&str] = &[
    "a",
    "a/b",
    "a/b/c",
    "a-b",
    "a.b",
    "d.log",
    "d/x.log",
    "d/y",
    "e",
    "e/f.o",
    "e/g/h.txt",
    "A",
    "z.txt",
    "build/i",
];

const CONTENTS: &[&str] =
    &["", "one\n", "two\n", "one\r\n", "mixed\r\nend\n", "$Id: x $\n", "\0binary\r\n"];

/// Commands on one path.
const COMMANDS: &[&[&str]] = &[
    &["add"],
    &["add", "--force"],
    &["add", "--intent-to-add"],
    &["rm", "-q", "-r", "--cached"],
    &["rm", "-q", "-r", "-f"],
    &["update-index", "--assume-unchanged"],
    &["update-index", "--no-assume-unchanged"],
    &["update-index", "--skip-worktree"],
    &["update-index", "--no-skip-worktree"],
    &["update-index", "--chmod=+x"],
    &["checkout", "-q", "HEAD"],
    &["reset", "-q", "HEAD"],
];

const SETTINGS: &[(&str, &str)] = &[
    ("core.autocrlf", "true"),
    ("core.autocrlf", "input"),
    ("core.autocrlf", "false"),
    ("core.fileMode", "false"),
    ("core.fileMode", "true"),
    ("core.symlinks", "false"),
    ("core.symlinks", "true"),
    ("core.trustCtime", "false"),
    ("core.checkStat", "minimal"),
    ("core.eol", "crlf"),
    ("index.version", "4"),
];

const PATTERNS: &[&str] = &[
    "",
    "*.log\n",
    "/build/\n",
    "*\n!*.txt\n!*/\n",
    "a/**/c\n",
    "d/\n!d/y\n",
    "b\n",
    "*.o\n!f.o\n",
    "e/*\n!e/g\n",
    "\\!x\n# no\n\n/A\n",
];

const ATTRIBUTES: &[&str] = &[
    "",
    "* text=auto\n",
    "*.txt text eol=crlf\n",
    "* -text\n*.log ident\n",
    "a/** filter=up\n",
    "*.o text\ne/** -text\n",
];

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    use proptest::prelude::*;
    let path = || 0..PATHS.len();
    prop_oneof![
        8 => (path(), 0..CONTENTS.len()).prop_map(|(path, content)| Step::Write(path, content)),
        3 => path().prop_map(Step::Remove),
        1 => (path(), path()).prop_map(|(path, target)| Step::Link(path, target)),
        1 => (path(), any::<bool>()).prop_map(|(path, on)| Step::Executable(path, on)),
        1 => path().prop_map(Step::EmptyDirectory),
        1 => (path(), any::<bool>()).prop_map(|(path, born)| Step::Nested(path, born)),
        1 => (0..3_usize, 0..PATTERNS.len()).prop_map(|(place, patterns)| Step::Patterns(place, patterns)),
        1 => (0..ATTRIBUTES.len()).prop_map(Step::Attributes),
        6 => (0..COMMANDS.len(), path()).prop_map(|(command, path)| Step::Git(command, path)),
        1 => (0..SETTINGS.len()).prop_map(Step::Setting),
        2 => Just(Step::Commit),
        1 => Just(Step::Merge),
        1 => Just(Step::Age),
        2 => Just(Step::Check),
    ]
}

impl Repo {
    /// Makes room for a path: what stands in the way goes.
    fn clear(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let mut parent = self.root.clone();
        for part in Path::new(name).parent().unwrap() {
            parent.push(part);
            if parent.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
                fs::remove_file(&parent).unwrap();
            }
        }
        fs::create_dir_all(&parent).unwrap();
        if path.symlink_metadata().is_ok() {
            self.remove(name);
        }
        path
    }

    fn step(&self, step: &Step) {
        let git = |args: &[&str]| {
            let _ = self.try_git(&self.root, args, &[]);
        };
        match step {
            Step::Write(path, content) => {
                fs::write(self.clear(PATHS[*path]), CONTENTS[*content]).unwrap();
            }
            Step::Remove(path) => {
                self.clear(PATHS[*path]);
            }
            Step::Link(path, target) => symlink(PATHS[*target], self.clear(PATHS[*path])).unwrap(),
            Step::Executable(path, on) => {
                let path = self.path(PATHS[*path]);
                if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                    let mode = if *on { 0o755 } else { 0o644 };
                    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
            Step::EmptyDirectory(path) => fs::create_dir(self.clear(PATHS[*path])).unwrap(),
            Step::Nested(path, born) => {
                let path = self.clear(PATHS[*path]);
                fs::create_dir(&path).unwrap();
                fs::write(path.join("file"), "nested").unwrap();
                assert!(self.try_git(&path, &["init", "-q"], &[]).0);
                if *born {
                    let who =
                        ["-c", "user.name=T", "-c", "user.email=t@e", "-c", "commit.gpgsign=false"];
                    let what = ["commit", "-q", "--allow-empty", "-m", "nested"];
                    assert!(self.try_git(&path, &[who.as_slice(), &what].concat(), &[]).0);
                }
            }
            Step::Patterns(place, patterns) => {
                let place = [".gitignore", "e/.gitignore", ".git/info/exclude"][*place];
                fs::write(self.clear(place), PATTERNS[*patterns]).unwrap();
            }
            Step::Attributes(attributes) => {
                fs::write(self.clear(".gitattributes"), ATTRIBUTES[*attributes]).unwrap();
            }
            Step::Git(command, path) => git(&[COMMANDS[*command], &["--", PATHS[*path]]].concat()),
            Step::Setting(setting) => git(&["config", SETTINGS[*setting].0, SETTINGS[*setting].1]),
            Step::Commit => {
                git(&["add", "--all", "--ignore-errors"]);
                git(&["commit", "-q", "--allow-empty", "-m", "state"]);
            }
            Step::Merge => {
                git(&["branch", "-f", "side", "HEAD"]);
                git(&["commit", "-q", "--allow-empty", "-a", "-m", "ours"]);
                git(&["merge", "-q", "HEAD~1", "side", "-m", "merged"]);
                git(&["stash", "-q"]);
                fs::write(self.clear("e"), "after the stash").unwrap();
                git(&["stash", "pop", "-q"]);
            }
            Step::Age => {
                self.age();
            }
            Step::Check => self.check_if_any(),
        }
    }

    /// Like `check`, where git itself gives a tree.
    fn check_if_any(&self) {
        if let Some(expected) = self.expected() {
            self.same(&expected, &self.take(), "first");
            self.same(&expected, &self.take(), "second");
        }
    }
}

/// Random states, always the same ones; `HANDBACK_SEED` gives others and `HANDBACK_CASES` more.
#[test]
fn random_states_give_the_tree_that_git_gives() {
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let number = |name: &str, default: u32| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let config = Config {
        cases: number("HANDBACK_CASES", 40),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&number("HANDBACK_SEED", 1).to_le_bytes());
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let steps = proptest::collection::vec(step(), 1..30);
    let tried = runner.run(&steps, |steps| {
        let repo = Repo::new();
        repo.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
        for step in &steps {
            repo.step(step);
        }
        repo.check_if_any();
        Ok(())
    });
    if let Err(failure) = tried {
        panic!("{failure}");
    }
}
