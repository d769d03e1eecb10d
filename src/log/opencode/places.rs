//! Where opencode keeps its things.

use crate::log::Places;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of opencode's data.
pub(super) fn data_folder(places: &Places) -> PathBuf {
    let set =
        |name: &str| places.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("OPENCODE_DATA_DIR").unwrap_or_else(|| {
        let share = set("XDG_DATA_HOME").unwrap_or_else(|| places.home.join(".local/share"));
        share.join("opencode")
    })
}

/// The git directory that holds the snapshots of a project's work tree, if it is there:
/// `snapshot/<project>` (to 1.2) or `snapshot/<project>/<hash of the work tree>`. Its own
/// configuration names the work tree.
pub(super) fn snapshot_dir(folder: &Path, project: &str, worktree: &str) -> Option<String> {
    if project.contains(['/', '\\']) || project.starts_with('.') {
        return None;
    }
    let base = folder.join("snapshot").join(project);
    let inner = fs::read_dir(&base).ok()?.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = std::iter::once(base.clone()).chain(inner).collect();
    found.retain(|dir| dir.join("objects").is_dir() && dir.join("HEAD").is_file());
    let named = found.iter().position(|dir| configured_worktree(dir).as_deref() == Some(worktree));
    let dir = match (named, found.as_slice()) {
        (Some(at), dirs) => dirs.get(at)?,
        (None, [only]) if configured_worktree(only).is_none() => only,
        _ => return None,
    };
    dir.to_str().map(str::to_owned)
}

fn configured_worktree(git_dir: &Path) -> Option<String> {
    let config = fs::read_to_string(git_dir.join("config")).ok()?;
    let value = config.lines().find_map(|line| line.trim().strip_prefix("worktree"))?;
    Some(value.trim().strip_prefix('=')?.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git_dir(path: &Path, worktree: &str) {
        fs::create_dir_all(path.join("objects")).unwrap();
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(path.join("config"), format!("[core]\n\tworktree = {worktree}\n")).unwrap();
    }

    #[test]
    fn the_snapshots_of_the_work_tree_are_found_in_either_layout() {
        let data = tempfile::tempdir().unwrap();
        let base = data.path().join("snapshot/p");
        git_dir(&base.join("one"), "/w");
        git_dir(&base.join("two"), "/other");
        let found = snapshot_dir(data.path(), "p", "/w").unwrap();
        assert!(found.ends_with("snapshot/p/one"));
        git_dir(&data.path().join("snapshot/q"), "/w");
        assert!(snapshot_dir(data.path(), "q", "/w").unwrap().ends_with("snapshot/q"));
        assert_eq!(snapshot_dir(data.path(), "q", "/elsewhere"), None);
        assert_eq!(snapshot_dir(data.path(), "../p", "/w"), None);
        assert_eq!(snapshot_dir(data.path(), "none", "/w"), None);
    }

    #[test]
    fn the_data_folder_follows_the_environment() {
        let mut places = Places { home: "/home/u".into(), ..Places::default() };
        assert_eq!(data_folder(&places), Path::new("/home/u/.local/share/opencode"));
        places.env.insert("XDG_DATA_HOME".into(), "/data".into());
        assert_eq!(data_folder(&places), Path::new("/data/opencode"));
    }
}
