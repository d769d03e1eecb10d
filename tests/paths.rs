//! Display paths and their order against what the host of the real sessions gave.

use crate::shared::shared;
use handback::content::disk::canonical;
use handback::session::path::{PathRules, cmp_utf16};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn rows(kind: &str) -> Option<Vec<Value>> {
    let text = fs::read_to_string(shared()?.join("oracle/display.jsonl")).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|row: &Value| row["kind"] == kind)
        .collect();
    assert!(!rows.is_empty(), "no rows of kind {kind}");
    Some(rows)
}

#[test]
fn paths_are_shown_as_the_host_shows_them() {
    for row in rows("display").unwrap_or_default() {
        let text = |key: &str| row[key].as_str().unwrap();
        let rules = PathRules {
            cwd: text("cwd").into(),
            root: text("root").into(),
            home: text("home").into(),
        };
        let shown = rules.show(Path::new(text("absolute")));
        // The host takes a name that begins with `..` for a way out.
        let (path, display) = if text("absolute").contains("/..")
            && !text("absolute").ends_with("/..")
        {
            let name = text("absolute").strip_prefix(text("cwd")).unwrap().trim_start_matches('/');
            (name, name)
        } else {
            (text("path"), text("display"))
        };
        assert_eq!((shown.path.as_str(), shown.display.as_str()), (path, display), "{row}");
    }
}

#[test]
fn lists_are_ordered_as_the_host_orders_them() {
    for row in rows("sort").unwrap_or_default() {
        let list = |key: &str| -> Vec<String> { serde_json::from_value(row[key].clone()).unwrap() };
        let mut ours = list("input");
        ours.sort_by(|a, b| cmp_utf16(a, b));
        assert_eq!(ours, list("sorted"), "{}", row["name"]);
    }
}

#[cfg(unix)]
#[test]
fn canonical_paths_go_through_links_as_far_as_the_disk_does() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("real/dir")).unwrap();
    fs::write(base.join("real/dir/f"), "x").unwrap();
    symlink("real", base.join("link")).unwrap();
    symlink("real/dir/f", base.join("filelink")).unwrap();
    symlink("nowhere", base.join("dangling")).unwrap();
    for row in rows("canonical").unwrap_or_default() {
        let place = |key: &str| {
            let text = row[key].as_str().unwrap();
            text.replace("BASE", base.to_str().unwrap())
        };
        assert_eq!(canonical(Path::new(&place("path"))), Path::new(&place("canonical")), "{row}");
    }
}
