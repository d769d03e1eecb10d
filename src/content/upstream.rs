//! What a repository has checked out, and where that left the branch it follows.

use super::ContentError;
use super::objects::{GitObjects, failed};
use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::refs::FullName;
use gix::remote::Direction;

/// A commit to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Hexadecimal id of the commit.
    pub id: String,
    /// Hexadecimal id of its tree.
    pub tree: String,
    /// What a person calls it: `HEAD`, or whose merge base it is.
    pub name: String,
}

impl GitObjects {
    /// The commit that is checked out.
    ///
    /// # Errors
    /// There is no repository, or no commit yet, or it cannot be read.
    pub fn head(&self) -> Result<Commit, ContentError> {
        let id = self.head_id()?;
        self.commit(id, "HEAD".into())
    }

    /// The newest commit that the checked-out branch shares with its upstream (`git merge-base HEAD @{upstream}`).
    ///
    /// # Errors
    /// There is no repository, no branch, no upstream, or no commit that both share.
    pub fn merge_base(&self) -> Result<Commit, ContentError> {
        let head = self.head_id()?;
        let upstream = self.upstream()?;
        let short = upstream.shorten().to_str_lossy().into_owned();
        let repository = self.repository_or_error()?;
        let found = repository.find_reference(&upstream);
        let mut reference = found.map_err(|_| gone(&short, "it was never fetched, or is gone"))?;
        let theirs = reference.peel_to_id().map_err(|error| failed(&short, &error))?;
        let base = repository
            .merge_base(head, theirs)
            .map_err(|error| failed("merge base", &error))?
            .ok_or_else(|| gone(&short, "HEAD shares no commit with it"))?;
        self.commit(base.detach(), format!("merge base of HEAD and {short}"))
    }

    fn head_id(&self) -> Result<ObjectId, ContentError> {
        let id = self.repository_or_error()?.head_id();
        id.map(gix::Id::detach).map_err(|error| failed("HEAD", &error))
    }

    /// The name under which the repository keeps what the checked-out branch follows.
    fn upstream(&self) -> Result<FullName, ContentError> {
        let repository = self.repository_or_error()?;
        let head = repository.head_name().map_err(|error| failed("HEAD", &error))?;
        let branch =
            head.ok_or_else(|| gone("HEAD", "it is on no branch, so it has no upstream"))?;
        let short = branch.shorten().to_str_lossy().into_owned();
        let remote = repository.branch_remote_name(branch.shorten(), Direction::Fetch);
        // A branch that follows another one of the same repository.
        let is_local = remote.is_some_and(|remote| remote.as_bstr() == ".");
        let upstream = if is_local {
            repository.branch_remote_ref_name(branch.as_ref(), Direction::Fetch)
        } else {
            repository.branch_remote_tracking_ref_name(branch.as_ref(), Direction::Fetch)
        };
        upstream
            .ok_or_else(|| gone(&format!("branch {short}"), "it has no upstream branch"))?
            .map_err(|error| failed(format!("upstream of {short}"), &error))
    }

    fn commit(&self, id: ObjectId, name: String) -> Result<Commit, ContentError> {
        let id = id.to_string();
        let tree = self.resolve_tree(&id)?;
        Ok(Commit { id, tree, name })
    }

    fn repository_or_error(&self) -> Result<&gix::Repository, ContentError> {
        self.repository().ok_or_else(|| gone("HEAD", "there is no repository here"))
    }
}

fn gone(what: &str, cause: &str) -> ContentError {
    ContentError { what: what.into(), cause: cause.into() }
}
