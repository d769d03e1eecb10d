//! The `apply_patch` text: sections of files, chunks of lines without numbers.
//!
//! Grammar as Codex has it: `*** Begin Patch` … `*** End Patch`; in between `*** Add File: p` (all
//! lines `+`), `*** Delete File: p`, `*** Update File: p` with an optional `*** Move to: q` and
//! chunks that begin with `@@` or `@@ a context line`, then lines with space, `-` or `+`, and
//! perhaps `*** End of File`.

use super::unified::joined;
use crate::session::event::{AppliedHunk, EditAction, EditBody};

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatchSection {
    /// The path as the patch names it first.
    pub(super) path: String,
    /// For a move: the path after.
    pub(super) moved_to: Option<String>,
    /// What happens.
    pub(super) kind: SectionKind,
}

/// What happens to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// It is written whole.
    Add(String),
    /// It goes away.
    Delete,
    /// Chunks replace lines.
    Update(Vec<AppliedHunk>),
}

impl PatchSection {
    /// The path that the file has afterwards.
    pub(super) fn path_after(&self) -> &str {
        self.moved_to.as_deref().unwrap_or(&self.path)
    }

    /// What this section did, as far as its text tells.
    pub(super) fn body(self) -> EditBody {
        let moved_from = self.moved_to.is_some().then_some(self.path);
        match self.kind {
            SectionKind::Add(content) => added(content),
            SectionKind::Delete => EditBody { action: EditAction::Delete, ..EditBody::default() },
            SectionKind::Update(hunks) => {
                let action = if hunks.is_empty() { EditAction::Keep } else { EditAction::Unknown };
                EditBody { action, hunks, moved_from, ..EditBody::default() }
            }
        }
    }
}

/// The files that an `apply_patch` text names, in its order and spelling: for a move both.
pub fn patched_paths(text: &str) -> Vec<String> {
    let paths = sections(text).into_iter().map(|section| [Some(section.path), section.moved_to]);
    paths.flatten().flatten().collect()
}

/// The body of a file written whole by a patch. A patch says "add" of a file that it overwrites
/// too, so this only repeats what the log says.
pub(super) fn added(content: String) -> EditBody {
    EditBody {
        after: Some(content.clone()),
        action: EditAction::Write { content, created: Some(true) },
        ..EditBody::default()
    }
}

/// The sections of all patches in a text, in order. Two updates of one file become one.
pub(super) fn sections(text: &str) -> Vec<PatchSection> {
    let mut found: Vec<PatchSection> = Vec::new();
    let mut inside = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        match line.trim() {
            "*** Begin Patch" => inside = true,
            "*** End Patch" => inside = false,
            marker if inside => {
                if let Some(path) = marker.strip_prefix("*** Add File: ") {
                    found.push(section(path, SectionKind::Add(add_lines(&mut lines))));
                } else if let Some(path) = marker.strip_prefix("*** Delete File: ") {
                    found.push(section(path, SectionKind::Delete));
                } else if let Some(path) = marker.strip_prefix("*** Update File: ") {
                    let moved_to = lines
                        .next_if(|next| next.trim().starts_with("*** Move to: "))
                        .and_then(|next| next.trim().strip_prefix("*** Move to: "))
                        .map(str::to_owned);
                    let hunks = chunks(&mut lines);
                    add_update(&mut found, path, moved_to, hunks);
                }
            }
            _ => {}
        }
    }
    found
}

fn section(path: &str, kind: SectionKind) -> PatchSection {
    PatchSection { path: path.trim().to_owned(), moved_to: None, kind }
}

fn add_update(
    found: &mut Vec<PatchSection>,
    path: &str,
    moved_to: Option<String>,
    hunks: Vec<AppliedHunk>,
) {
    let earlier = found.iter_mut().find(|s| s.path == path.trim() && s.moved_to.is_none());
    if let Some(PatchSection { moved_to: to, kind: SectionKind::Update(before), .. }) = earlier {
        before.extend(hunks);
        *to = moved_to;
    } else {
        found.push(PatchSection { moved_to, ..section(path, SectionKind::Update(hunks)) });
    }
}

/// Whether a line belongs to the section above it: no marker but that of a chunk's end.
fn goes_on(line: &str) -> bool {
    !line.starts_with("*** ") || line.trim() == "*** End of File"
}

fn add_lines<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> String {
    let mut content = String::new();
    while let Some(line) = lines.next_if(|next| goes_on(next)) {
        if let Some(added) = line.strip_prefix('+') {
            content.push_str(added);
            content.push('\n');
        }
    }
    content
}

fn chunks<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Vec<AppliedHunk> {
    let mut found = Vec::new();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let mut close = |old: &mut Vec<&str>, new: &mut Vec<&str>| {
        if old != new {
            let (old_text, new_text) = (joined(old), joined(new));
            found.push(AppliedHunk { old_text, new_text, ..AppliedHunk::default() });
        }
        old.clear();
        new.clear();
    };
    while let Some(line) = lines.next_if(|next| goes_on(next)) {
        match line.as_bytes().first() {
            Some(b'@') => close(&mut old, &mut new),
            Some(b'-') => old.extend(line.get(1..)),
            Some(b'+') => new.extend(line.get(1..)),
            Some(b' ') | None => {
                old.extend(line.get(1..).or(Some("")));
                new.extend(line.get(1..).or(Some("")));
            }
            _ => {}
        }
    }
    close(&mut old, &mut new);
    found
}

/// A patch that a shell script hands to `apply_patch`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScriptPatch<'a> {
    /// The directory that the script changes to before.
    pub(super) directory: Option<&'a str>,
    /// The patch text.
    pub(super) text: &'a str,
    /// The script does nothing else; Codex then runs no shell for it.
    pub(super) alone: bool,
}

/// The patch in a script, as here-document or quoted argument. A script that merely holds a patch
/// text has none.
pub(super) fn in_script(script: &str) -> Option<ScriptPatch<'_>> {
    let begin = script.find("*** Begin Patch")?;
    let (before, rest) = script.split_at_checked(begin)?;
    before.rfind("apply_patch").or_else(|| before.rfind("applypatch"))?;
    let end = rest.rfind("*** End Patch").map_or(rest.len(), |at| at + "*** End Patch".len());
    let (text, after) = rest.split_at_checked(end)?;
    let before = before.trim_start();
    let changed = before.strip_prefix("cd ").and_then(|tail| tail.split_once("&&"));
    let directory = changed.map(|(directory, _)| directory.trim().trim_matches(['\'', '"']));
    let call = changed.map_or(before, |(_, call)| call.trim_start());
    // Behind the patch may stand the end of the here-document or of the quotes.
    let alone = call.starts_with("apply") && !after.trim().contains([' ', ';', '&', '|', '\n']);
    Some(ScriptPatch { directory, text, alone })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: new.rs\n+fn x() {}\n+\n\
        *** Delete File: old.txt\n*** Update File: a.txt\n*** Move to: b.txt\n@@ fn head()\n same\n-one\n+uno\n@@\n-two\n\
        *** End of File\n*** End Patch\n";

    fn update(old: Option<&str>, new: Option<&str>) -> AppliedHunk {
        AppliedHunk {
            old_text: old.map(str::to_owned),
            new_text: new.map(str::to_owned),
            ..AppliedHunk::default()
        }
    }

    #[test]
    fn every_kind_of_section_is_read() {
        let found = sections(PATCH);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].kind, SectionKind::Add("fn x() {}\n\n".into()));
        assert_eq!(found[1].kind, SectionKind::Delete);
        assert_eq!((found[2].path.as_str(), found[2].path_after()), ("a.txt", "b.txt"));
        let hunks = vec![update(Some("same\none"), Some("same\nuno")), update(Some("two"), None)];
        assert_eq!(found[2].kind, SectionKind::Update(hunks));
    }

    #[test]
    fn bodies_say_what_is_known() {
        let bodies: Vec<EditBody> = sections(PATCH).into_iter().map(PatchSection::body).collect();
        assert_eq!(bodies[0].after.as_deref(), Some("fn x() {}\n\n"));
        assert_eq!(bodies[1].action, EditAction::Delete);
        assert_eq!(bodies[2].moved_from.as_deref(), Some("a.txt"));
        assert_eq!(bodies[2].action, EditAction::Unknown);
        let moved = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch";
        assert_eq!(sections(moved).remove(0).body().action, EditAction::Keep);
    }

    #[test]
    fn blank_context_may_be_an_empty_line_and_a_file_named_twice_is_one() {
        let text = "*** Begin Patch\n*** Update File: a\n@@\n x\n\n-y\n+z\n*** Update File: a\n+end\n*** End Patch";
        let found = sections(text);
        assert_eq!(found.len(), 1);
        let hunks = vec![update(Some("x\n\ny"), Some("x\n\nz")), update(None, Some("end"))];
        assert_eq!(found[0].kind, SectionKind::Update(hunks));
    }

    #[test]
    fn text_outside_of_a_patch_is_none() {
        assert_eq!(sections("*** Add File: x\n+a\n"), vec![]);
        assert_eq!(sections("*** Begin Patch\n*** Add File: x\n+cut"), {
            vec![PatchSection {
                path: "x".into(),
                moved_to: None,
                kind: SectionKind::Add("cut\n".into()),
            }]
        });
    }

    #[test]
    fn a_script_hands_its_patch_over_with_its_directory() {
        let script = format!("cd 'sub dir' && apply_patch <<'EOF'\n{PATCH}EOF\n");
        let found = in_script(&script).unwrap();
        assert_eq!((found.directory, found.alone), (Some("sub dir"), true));
        assert_eq!(sections(found.text).len(), 3);
        assert!(!in_script(&format!("{script}cargo fmt")).unwrap().alone);
        assert!(!in_script(&format!("make; {script}")).unwrap().alone);
        assert_eq!(in_script(&format!("cat > x <<EOF\n{PATCH}EOF")), None);
    }
}
