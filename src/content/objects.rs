//! Git objects: of a repository, and of object directories that stand alone or beside it.

use super::loose::LooseBlobs;
use super::{Content, ContentError, ContentId, Source, disk};
use gix::objs::{Kind, TreeRefIter};
use gix::odb::{Header as _, pack::Find as _};
use gix::{ObjectId, bstr::ByteSlice, oid};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `--max-file-bytes` where nothing else is said.
pub const MAX_FILE_BYTES: u64 = 2_097_152;

/// Reads objects from a repository, from further object directories, or from both. A clone shares
/// the opened packs, so each worker has its own.
///
/// Nothing is ever executed or fetched: no filter, no text conversion, no configuration from
/// outside the repository.
#[derive(Clone)]
pub struct GitObjects {
    repository: Option<gix::Repository>,
    stores: Vec<gix::odb::Handle>,
    loose: LooseBlobs,
    /// Blobs may be missing here because they were never fetched.
    partial_clone: bool,
    max_file_bytes: u64,
}

impl Default for GitObjects {
    /// No repository and no objects: only files and bytes can be read.
    fn default() -> Self {
        Self {
            repository: None,
            stores: Vec::new(),
            loose: LooseBlobs::default(),
            partial_clone: false,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }
}

impl GitObjects {
    /// Opens a repository by its git directory or its work tree.
    pub fn open(git_dir: &Path) -> Result<Self, ContentError> {
        let repository = gix::open_opts(git_dir, gix::open::Options::isolated())
            .map_err(|error| failed(git_dir.display(), &error))?;
        Ok(Self::of_repository(repository))
    }

    /// Opens the repository that a directory lies in; none where it lies in none.
    pub fn discover(directory: &Path) -> Result<Option<Self>, ContentError> {
        let git_dir = directory.ancestors().find_map(|place| {
            let dot_git = place.join(".git");
            if gix::discover::is_git(&dot_git).is_ok() || dot_git.is_file() {
                Some(dot_git)
            } else {
                gix::discover::is_git(place).is_ok().then(|| place.to_path_buf())
            }
        });
        git_dir.map(|git_dir| Self::open(&git_dir)).transpose()
    }

    fn of_repository(repository: gix::Repository) -> Self {
        let stores = vec![repository.objects.clone().into_inner()];
        let partial_clone = is_partial_clone(&repository);
        Self { repository: Some(repository), stores, partial_clone, ..Self::default() }
    }

    /// Adds an object directory (what `.git/objects` is, with its alternates).
    pub fn with_objects(mut self, directory: &Path) -> Result<Self, ContentError> {
        if !directory.is_dir() {
            let cause = "not an object directory".into();
            return Err(ContentError { what: directory.display().to_string(), cause });
        }
        let known = self.stores.first().map(|store| store.store_ref().object_hash());
        let kind = hash_kind(directory).or(known).unwrap_or_default();
        let store =
            gix::odb::at(directory, kind).map_err(|error| failed(directory.display(), &error))?;
        self.stores.push(store);
        Ok(self)
    }

    /// Sides larger than this many bytes are `Oversized`.
    #[must_use]
    pub fn with_max_file_bytes(self, max_file_bytes: u64) -> Self {
        Self { max_file_bytes, ..self }
    }

    pub(super) fn repository(&self) -> Option<&gix::Repository> {
        self.repository.as_ref()
    }

    /// The repository's work tree, if it has one.
    pub fn work_tree(&self) -> Option<&Path> {
        self.repository.as_ref()?.workdir()
    }

    /// The repository's git directory, if there is a repository.
    pub fn git_dir(&self) -> Option<&Path> {
        Some(self.repository.as_ref()?.git_dir())
    }

    /// How many hexadecimal digits an object id has (40 or 64); none where there are no objects.
    pub fn id_digits(&self) -> Option<usize> {
        Some(self.stores.first()?.store_ref().object_hash().len_in_hex())
    }

    /// The tree that a revision names: any revision syntax of git where there is a repository, and
    /// always a full object id of a tree, commit or tag. Hexadecimal.
    pub fn resolve_tree(&self, revision: &str) -> Result<String, ContentError> {
        let id = match ObjectId::from_hex(revision.as_bytes()) {
            Ok(id) if self.header(&id).is_ok() => id,
            _ => self.parse_revision(revision)?,
        };
        self.peel_to_tree(id).map(|tree| tree.to_string())
    }

    fn parse_revision(&self, revision: &str) -> Result<ObjectId, ContentError> {
        let unknown = |cause: &dyn std::fmt::Display| ContentError {
            what: format!("revision {}", revision.escape_debug()),
            cause: one_line(&cause.to_string()),
        };
        let repository = self
            .repository
            .as_ref()
            .ok_or_else(|| unknown(&"no repository to look it up in, and no such object"))?;
        match repository.rev_parse_single(revision) {
            Ok(id) => Ok(id.detach()),
            Err(error) => Err(unknown(&error)),
        }
    }

    fn peel_to_tree(&self, id: ObjectId) -> Result<ObjectId, ContentError> {
        /// Tags of tags of tags: more than anyone makes, and an end to a long chain.
        const MOST_TAGS: usize = 16;
        let mut id = id;
        let mut buffer = Vec::new();
        for _ in 0..MOST_TAGS {
            let object = self.object(&id, &mut buffer)?;
            let next = match object.kind {
                Kind::Tree => return Ok(id),
                Kind::Commit => {
                    gix::objs::CommitRefIter::from_bytes(object.data, id.kind()).tree_id()
                }
                Kind::Tag => gix::objs::TagRefIter::from_bytes(object.data, id.kind()).target_id(),
                Kind::Blob => {
                    let cause = "a blob, not a tree".into();
                    return Err(ContentError { what: format!("object {id}"), cause });
                }
            };
            id = next.map_err(|error| failed(format!("object {id}"), &error))?;
        }
        Err(ContentError { what: format!("object {id}"), cause: "a chain of too many tags".into() })
    }

    /// Finds a file in a tree by its slash-separated path; a path that is not there, or is a
    /// directory, is `Absent`.
    pub fn find(&self, tree: &str, path: &[u8]) -> Result<ContentId, ContentError> {
        let mut id = parse_id(tree)?;
        let mut buffer = Vec::new();
        let mut names = path.split(|byte| *byte == b'/').peekable();
        while let Some(name) = names.next() {
            let entries = self.tree(&id, &mut buffer)?;
            let found = entries
                .filter_map(Result::ok)
                .find(|entry| entry.filename.as_bytes() == name)
                .map(|entry| (entry.mode, entry.oid.to_owned()));
            match found {
                Some((mode, next)) if mode.is_tree() && names.peek().is_some() => id = next,
                Some((mode, blob)) if !mode.is_tree() && names.peek().is_none() => {
                    let mode = u32::from(mode.kind() as u16);
                    return Ok(ContentId::Blob { id: blob.to_string(), mode });
                }
                _ => return Ok(ContentId::Absent),
            }
        }
        Ok(ContentId::Absent)
    }

    /// The entries of a tree.
    pub(crate) fn tree<'a>(
        &self,
        id: &oid,
        buffer: &'a mut Vec<u8>,
    ) -> Result<TreeRefIter<'a>, ContentError> {
        let object = self.object(id, buffer)?;
        match object.kind {
            Kind::Tree => Ok(TreeRefIter::from_bytes(object.data, id.kind())),
            other => Err(wrong_kind(id, other, Kind::Tree)),
        }
    }

    /// The bytes of a blob, whatever its size.
    pub(crate) fn blob(&self, id: &oid) -> Result<Arc<[u8]>, ContentError> {
        let mut buffer = Vec::new();
        let object = self.object(id, &mut buffer)?;
        match object.kind {
            Kind::Blob => Ok(object.data.into()),
            other => Err(wrong_kind(id, other, Kind::Blob)),
        }
    }

    /// What a loose blob is.
    fn loose_blob(&self, id: &oid) -> Option<Content> {
        let most = self.max_file_bytes;
        self.stores_of(id).find_map(|store| self.loose.read(store.store_ref().path(), id, most))
    }

    /// The size of a blob in bytes, without reading it all.
    pub(crate) fn blob_size(&self, id: &oid) -> Result<u64, ContentError> {
        match self.header(id)? {
            (Kind::Blob, size) => Ok(size),
            (other, _) => Err(wrong_kind(id, other, Kind::Blob)),
        }
    }

    fn object<'a>(
        &self,
        id: &oid,
        buffer: &'a mut Vec<u8>,
    ) -> Result<gix::objs::Data<'a>, ContentError> {
        let found = gix::objs::Find::try_find(self, id, buffer);
        found
            .map_err(|error| failed(format!("object {id}"), &error))?
            .ok_or_else(|| self.missing(id))
    }

    fn header(&self, id: &oid) -> Result<(Kind, u64), ContentError> {
        let store = self.holder(id).ok_or_else(|| self.missing(id))?;
        match store.try_header(id) {
            Ok(Some(header)) => Ok((header.kind(), header.size())),
            Ok(None) => Err(self.missing(id)),
            Err(error) => Err(failed(format!("object {id}"), &error)),
        }
    }

    /// The store that an object is to be read from. All are asked for what they know before any looks on disk
    /// whether there is more by now.
    fn holder(&self, id: &oid) -> Option<&gix::odb::Handle> {
        // Where there is no choice, looking it up twice would be for nothing.
        if let [only] = self.stores.as_slice() {
            return Some(only).filter(|store| store.store_ref().object_hash() == id.kind());
        }
        self.stores_of(id)
            .find(|store| store.exists_without_refresh(id))
            .or_else(|| self.stores_of(id).find(|store| store.contains(id)))
    }

    /// The stores that can hold such an id; another kind of hash has another length.
    fn stores_of(&self, id: &oid) -> impl Iterator<Item = &gix::odb::Handle> {
        let kind = id.kind();
        self.stores.iter().filter(move |store| store.store_ref().object_hash() == kind)
    }

    fn missing(&self, id: &oid) -> ContentError {
        let cause = if self.partial_clone {
            "not here: this is a partial clone, and the object was never fetched"
        } else {
            "no such object"
        };
        ContentError { what: format!("object {id}"), cause: cause.into() }
    }
}

impl gix::objs::Find for GitObjects {
    fn try_find<'a>(
        &self,
        id: &oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix::Result<Option<gix::objs::Data<'a>>> {
        match self.holder(id) {
            Some(store) => gix::objs::Find::try_find(store, id, buffer),
            None => Ok(None),
        }
    }
}

impl Source for GitObjects {
    fn read(&self, id: &ContentId) -> Result<Content, ContentError> {
        match id {
            ContentId::Absent => Ok(Content::Absent),
            ContentId::Bytes(bytes) => Ok(Content::classify(bytes.clone(), self.max_file_bytes)),
            ContentId::File(path) => disk::read(path, self.max_file_bytes),
            ContentId::TooLarge { len, .. } if *len > self.max_file_bytes => {
                Ok(Content::Oversized { len: *len })
            }
            ContentId::Blob { id, mode: 0o160_000 } => {
                Ok(Content::Text(format!("Subproject commit {id}\n").into_bytes().into()))
            }
            ContentId::Blob { id, .. } | ContentId::TooLarge { id, .. } => {
                let id = parse_id(id)?;
                if let Some(blob) = self.loose_blob(&id) {
                    return Ok(blob);
                }
                let len = self.blob_size(&id)?;
                if len > self.max_file_bytes {
                    return Ok(Content::Oversized { len });
                }
                Ok(Content::classify(self.blob(&id)?, self.max_file_bytes))
            }
        }
    }
}

fn parse_id(hex: &str) -> Result<ObjectId, ContentError> {
    ObjectId::from_hex(hex.as_bytes()).map_err(|_| ContentError {
        what: format!("object {}", hex.escape_debug()),
        cause: "not an object id".into(),
    })
}

fn wrong_kind(id: &oid, is: Kind, should: Kind) -> ContentError {
    ContentError { what: format!("object {id}"), cause: format!("a {is}, not a {should}") }
}

pub(super) fn failed(what: impl std::fmt::Display, error: &dyn std::error::Error) -> ContentError {
    let mut cause = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let text = source.to_string();
        if !text.is_empty() && !cause.contains(&text) {
            cause = format!("{cause}: {text}");
        }
        next = source.source();
    }
    ContentError { what: what.to_string(), cause: one_line(&cause) }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether some remote promises objects that are not here (`git clone --filter`).
fn is_partial_clone(repository: &gix::Repository) -> bool {
    let config = repository.config_snapshot();
    let config = config.plumbing();
    let promised = |name: &str, key: &str| {
        config.sections_by_name(name).is_some_and(|mut found| {
            found.any(|section| {
                section.value(key).is_some_and(|value| !value.is_empty() && value != "false")
            })
        })
    };
    promised("remote", "promisor") || promised("extensions", "partialClone")
}

/// The hash of an object directory, told by the length of the names in it.
fn hash_kind(directory: &Path) -> Option<gix::hash::Kind> {
    let names = |dir: PathBuf| {
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name())
    };
    let hex_len = |name: &std::ffi::OsStr| {
        name.as_encoded_bytes().iter().take_while(|byte| byte.is_ascii_hexdigit()).count()
    };
    let loose = names(directory.to_path_buf())
        .filter(|name| name.len() == 2 && hex_len(name) == 2)
        .flat_map(|name| names(directory.join(name)))
        .map(|name| hex_len(&name) + 2);
    let packed = names(directory.join("pack")).filter_map(|name| {
        let rest = name.to_str()?.strip_prefix("pack-")?.to_owned();
        Some(hex_len(rest.as_ref()))
    });
    loose.chain(packed).find_map(|len| match len {
        40 => Some(gix::hash::Kind::Sha1),
        64 => Some(gix::hash::Kind::Sha256),
        _ => None,
    })
}
