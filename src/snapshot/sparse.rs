//! A sparse checkout: which paths `git add` leaves alone because they are out of it.

use super::SnapshotError;
use gix::bstr::BStr;
use gix::glob::pattern::Case;
use gix::index::State;
use gix::index::entry::{Flags, Mode, Stat};
use gix::{ObjectId, Repository};
use std::path::PathBuf;

/// The patterns of a sparse checkout.
#[derive(Debug)]
pub(super) struct Sparse {
    patterns: Vec<u8>,
    source: PathBuf,
    cone: bool,
    case: Case,
    /// Whether files are expected out of the patterns (`sparse.expectFilesOutsideOfPatterns`).
    expects_files: bool,
    /// For each entry of the index, by place: whether it is out.
    out: Vec<bool>,
}

impl Sparse {
    /// None where the checkout is not sparse.
    pub(super) fn new(
        repository: &Repository,
        index: &State,
    ) -> Result<Option<Self>, SnapshotError> {
        let config = repository.config_snapshot();
        let on = |key: &str| config.boolean(key).unwrap_or_default();
        if !on("core.sparseCheckout") {
            return Ok(None);
        }
        let source = repository.git_dir().join("info/sparse-checkout");
        let patterns = gix::worktree::sparse::read_patterns(repository.git_dir())
            .map_err(|cause| SnapshotError::open(&source, gix::Error::from_error(cause)))?;
        let Some(patterns) = patterns else {
            return Ok(None);
        };
        let mut sparse = Self {
            patterns,
            source,
            cone: on("core.sparseCheckoutCone"),
            case: if on("core.ignoreCase") { Case::Fold } else { Case::Sensitive },
            expects_files: on("sparse.expectFilesOutsideOfPatterns"),
            out: Vec::new(),
        };
        let mut all = index.clone();
        for entry in all.entries_mut() {
            entry.flags.remove(Flags::SKIP_WORKTREE);
        }
        sparse.mark(&mut all)?;
        sparse.out = all.entries().iter().map(super::tracked::skipped).collect();
        Ok(Some(sparse))
    }

    fn mark(&self, index: &mut State) -> Result<(), SnapshotError> {
        gix::worktree::sparse::apply_patterns(
            index,
            &self.patterns,
            &self.source,
            self.cone,
            self.case,
        )
        .map_err(|cause| SnapshotError::open(&self.source, cause))
    }

    /// Whether the index entry at this place is out of the checkout.
    pub(super) fn is_out(&self, entry: usize) -> bool {
        self.out.get(entry).copied().unwrap_or_default()
    }

    /// Whether a skip-worktree entry loses its mark when its file is there all the same.
    pub(super) fn unmarks_present(&self) -> bool {
        !self.expects_files
    }

    /// Whether an untracked path is out of the checkout.
    pub(super) fn leaves_out(
        &self,
        path: &[u8],
        mode: Mode,
        null: ObjectId,
    ) -> Result<bool, SnapshotError> {
        let mut one = State::new(null.kind());
        one.dangerously_push_entry(Stat::default(), null, Flags::empty(), mode, BStr::new(path));
        self.mark(&mut one)?;
        Ok(one.entries().first().is_some_and(super::tracked::skipped))
    }
}
