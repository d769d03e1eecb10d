//! What is kept, and for how long.

use super::StoreError;
use gix::bstr::{BStr, ByteSlice};
use gix::glob::pattern::Case;
use gix::glob::wildmatch::Mode;
use std::time::Duration;

/// The bounds of the store.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `store.max-age`: a session that was not recorded for longer goes. Default 30 days.
    pub max_age: Duration,
    /// `store.max-bytes`: the oldest sessions go until the store is no larger. Default 2 GiB.
    pub max_bytes: u64,
    /// `record.max-bytes`: what one turn may add, in bytes of content. Default 512 MiB.
    pub record_max_bytes: u64,
    /// `max-file-bytes`: a larger file's content is not kept. Default 2 MiB, and that size is kept.
    pub max_file_bytes: u64,
    /// `record.exclude`: files whose content is not kept.
    pub exclude: Exclude,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(30 * 24 * 60 * 60),
            max_bytes: 2 << 30,
            record_max_bytes: 512 << 20,
            max_file_bytes: 2 << 20,
            exclude: Exclude::default(),
        }
    }
}

/// Globs as in a `.gitignore` at the root of the work tree: the last one that matches a file or a
/// directory above it decides, and `!` takes back.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    patterns: Vec<gix::glob::Pattern>,
}

impl Exclude {
    /// Reads globs, in order.
    ///
    /// # Errors
    /// A glob that says nothing (empty, or a comment).
    pub fn new<S: AsRef<str>>(globs: impl IntoIterator<Item = S>) -> Result<Self, StoreError> {
        let patterns = globs.into_iter().map(|glob| {
            let glob = glob.as_ref();
            let parsed = gix::glob::Pattern::from_bytes(glob.as_bytes());
            parsed.ok_or_else(|| StoreError::Glob { glob: glob.to_owned() })
        });
        Ok(Self { patterns: patterns.collect::<Result<_, _>>()? })
    }

    /// Whether a file is meant, by either spelling of its path.
    pub fn matches(&self, path: &str, display: &str) -> bool {
        self.matches_one(path) || self.matches_one(display)
    }

    fn matches_one(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/').as_bytes().as_bstr();
        path.find_iter("/")
            .map(|end| (path.get(..end).unwrap_or_default().as_bstr(), true))
            .chain([(path, false)])
            .any(|(part, is_dir)| self.decides(part, is_dir))
    }

    fn decides(&self, path: &BStr, is_dir: bool) -> bool {
        let name = path.rfind_byte(b'/').map(|at| at + 1);
        let last = self.patterns.iter().rev().find(|pattern| {
            pattern.matches_repo_relative_path(
                path,
                name,
                Some(is_dir),
                Case::Sensitive,
                Mode::NO_MATCH_SLASH_LITERAL,
            )
        });
        last.is_some_and(|pattern| !pattern.is_negative())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(globs: &[&str], path: &str) -> bool {
        Exclude::new(globs).unwrap().matches(path, path)
    }

    #[test]
    fn globs_match_as_in_a_gitignore() {
        assert!(excluded(&[".env*"], ".env.local"));
        assert!(excluded(&[".env*"], "deep/down/.env"));
        assert!(!excluded(&["/.env"], "deep/.env"));
        assert!(excluded(&["secrets/"], "a/secrets/b/c.txt"));
        assert!(!excluded(&["secrets/"], "secrets"));
        assert!(excluded(&["a/**/key.pem"], "a/b/c/key.pem"));
        assert!(!excluded(&["*.pem", "!public.pem"], "x/public.pem"));
        assert!(excluded(&["keys/", "!keys/public.pem"], "keys/public.pem"));
        assert!(!excluded(&[], "anything"));
    }

    #[test]
    fn either_spelling_of_a_path_counts() {
        let home = Exclude::new(["~/.ssh/"]).unwrap();
        assert!(home.matches("/home/me/.ssh/id", "~/.ssh/id"));
        let whole = Exclude::new(["/home/me/.ssh/"]).unwrap();
        assert!(whole.matches("/home/me/.ssh/id", "~/.ssh/id"));
        assert!(!whole.matches("", ""));
    }

    #[test]
    fn a_glob_that_says_nothing_is_refused() {
        let error = Exclude::new(["ok", ""]).unwrap_err();
        assert_eq!(error.to_string(), "record.exclude: `` is not a glob");
    }
}
