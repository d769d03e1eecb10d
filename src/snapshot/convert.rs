//! A file of the work tree → the blob that git would make of it; and what git would ignore.

use super::disk::{Directory, FileStat, as_path, stat_of};
use super::objects::Objects;
use super::sparse::Sparse;
use super::tracked;
use gix::attrs::Search;
use gix::attrs::search::{MetadataCollection, Outcome};
use gix::bstr::BStr;
use gix::filter::plumbing::pipeline::CrlfRoundTripCheck;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::filter::plumbing::{Driver, Pipeline};
use gix::glob::pattern::Case;
use gix::index::State;
use gix::index::entry::Mode;
use gix::objs::Kind;
use gix::worktree::Stack;
use gix::worktree::stack::state::{attributes, ignore};
use gix::{ObjectId, Repository};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Larger files are streamed instead of held in memory.
const HELD_BYTES: u64 = 32 << 20;

/// The attributes that change what `git add` makes of a file.
const ATTRIBUTES: [&str; 6] = ["crlf", "ident", "filter", "eol", "text", "working-tree-encoding"];

/// Converts files and knows what is ignored. Each thread has its own.
pub(super) struct Converter<'a> {
    repository: &'a Repository,
    stack: Stack,
    pipeline: Pipeline,
    /// For files whose attributes are rewritten: the two know attributes by different numbers.
    rewriting: Pipeline,
    names: MetadataCollection,
    outcome: Outcome,
    /// A digest of the settings that conversions depend on, without attributes.
    settings: u64,
}

/// One file that is to become a blob.
pub(super) struct Candidate<'a> {
    /// The directory that it is in.
    pub(super) directory: &'a Directory,
    /// Its name there.
    pub(super) name: &'a [u8],
    /// Its path in the repository.
    pub(super) path: &'a [u8],
    /// The blob that the index has for it.
    pub(super) indexed: Option<ObjectId>,
}

impl<'a> Converter<'a> {
    pub(super) fn new(
        repository: &'a Repository,
        index: &State,
        sparse: Option<&Sparse>,
    ) -> gix::Result<Self> {
        let patterns = pattern_files(index, sparse);
        let stack = repository
            .attributes(
                &patterns,
                attributes::Source::WorktreeThenIdMapping,
                ignore::Source::WorktreeThenIdMappingIfNotSkipped,
                None,
            )?
            .detach();
        let mut options = gix::filter::Pipeline::options(repository)?;
        // Git refuses the whole `add` where `core.safecrlf` is true; a snapshot is no place to.
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        let mut digest = DefaultHasher::new();
        format!("{:?}{:?}", options.drivers, options.eol_config).hash(&mut digest);
        let mut context = repository.command_context()?;
        // What a filter program has to say would spoil the screen.
        context.stderr = Some(false);
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&MetadataCollection::default(), ATTRIBUTES);
        Ok(Self {
            repository,
            stack,
            pipeline: Pipeline::new(context.clone(), repository.object_hash(), options.clone()),
            rewriting: Pipeline::new(context, repository.object_hash(), options),
            names: MetadataCollection::default(),
            outcome,
            settings: digest.finish(),
        })
    }

    /// Whether git ignores an untracked file or directory at `path`. A parent that is ignored counts.
    pub(super) fn ignores(&mut self, path: &[u8], directory: bool) -> gix::Result<bool> {
        let mode = if directory { Mode::DIR } else { Mode::FILE };
        let platform = self
            .stack
            .at_path(BStr::new(path), Some(mode), &self.repository.objects)
            .map_err(gix::Error::from_error)?;
        Ok(platform.is_excluded())
    }

    /// Finds the attributes of a file.
    fn look_up(&mut self, path: &[u8]) -> gix::Result<()> {
        let platform = self
            .stack
            .at_path(BStr::new(path), Some(Mode::FILE), &self.repository.objects)
            .map_err(gix::Error::from_error)?;
        self.outcome.reset();
        platform.matching_attributes(&mut self.outcome);
        Ok(())
    }

    /// A digest of all that decides what the file's bytes become, besides the bytes.
    pub(super) fn digest(&mut self, candidate: &Candidate<'_>) -> gix::Result<u64> {
        self.look_up(candidate.path)?;
        let mut digest = DefaultHasher::new();
        self.settings.hash(&mut digest);
        candidate.indexed.hash(&mut digest);
        for found in self.outcome.iter_selected() {
            format!("{:?}", found.assignment).hash(&mut digest);
        }
        Ok(digest.finish())
    }

    /// The blob of a regular file, written if it is new, with what `fstat` said of the file if it
    /// did not change while it was read.
    pub(super) fn blob(
        &mut self,
        candidate: &Candidate<'_>,
        objects: &Objects,
        cancel: &AtomicBool,
    ) -> gix::Result<(ObjectId, Option<FileStat>)> {
        let (mut file, before) =
            candidate.directory.file(candidate.name).map_err(gix::Error::from_error)?;
        let id = match self.read(candidate, &mut file, &before, objects, cancel) {
            // A filter program that fails is as none, unless it is required.
            Err(_) if self.filter_may_fail(candidate)? => {
                file.rewind().map_err(gix::Error::from_error)?;
                let drivers = self.exchange_drivers(Vec::new());
                let id = self.read(candidate, &mut file, &before, objects, cancel);
                self.exchange_drivers(drivers);
                id?
            }
            id => id?,
        };
        let unchanged = stat_of(&file).is_ok_and(|after| after == before);
        Ok((id, unchanged.then_some(before)))
    }

    fn exchange_drivers(&mut self, drivers: Vec<Driver>) -> Vec<Driver> {
        self.rewriting.options_mut().drivers.clone_from(&drivers);
        std::mem::replace(&mut self.pipeline.options_mut().drivers, drivers)
    }

    /// Whether the file has a filter program that git would do without.
    fn filter_may_fail(&mut self, candidate: &Candidate<'_>) -> gix::Result<bool> {
        self.look_up(candidate.path)?;
        let name = self
            .outcome
            .iter_selected()
            .find(|found| found.assignment.name.as_str() == "filter")
            .and_then(|found| found.assignment.state.as_bstr().map(ToOwned::to_owned));
        let drivers = &self.pipeline.options_mut().drivers;
        Ok(name.is_some_and(|name| {
            drivers.iter().any(|driver| driver.name == name && !driver.required)
        }))
    }

    fn read(
        &mut self,
        candidate: &Candidate<'_>,
        file: &mut File,
        stat: &FileStat,
        objects: &Objects,
        cancel: &AtomicBool,
    ) -> gix::Result<ObjectId> {
        if stat.size > HELD_BYTES {
            self.large(candidate, file, stat, objects, cancel)
        } else {
            self.held(candidate, file, stat, objects)
        }
    }

    fn held(
        &mut self,
        candidate: &Candidate<'_>,
        file: &mut File,
        stat: &FileStat,
        objects: &Objects,
    ) -> gix::Result<ObjectId> {
        let mut content = Vec::with_capacity(usize::try_from(stat.size).unwrap_or_default() + 1);
        file.read_to_end(&mut content).map_err(gix::Error::from_error)?;
        match self.convert(candidate, &content, content.as_slice(), objects)? {
            ToGitOutcome::Unchanged(_) => objects.put(Kind::Blob, &content),
            converted => put_converted(converted, objects),
        }
    }

    fn large(
        &mut self,
        candidate: &Candidate<'_>,
        file: &mut File,
        stat: &FileStat,
        objects: &Objects,
        cancel: &AtomicBool,
    ) -> gix::Result<ObjectId> {
        let mut head = [0; 2];
        file.read_exact(&mut head).and_then(|()| file.rewind()).map_err(gix::Error::from_error)?;
        match self.convert(candidate, &head, file, objects)? {
            ToGitOutcome::Unchanged(file) => objects.put_file(file, stat, cancel),
            converted => put_converted(converted, objects),
        }
    }

    /// Converts a source that begins with `head`.
    fn convert<R: Read>(
        &mut self,
        candidate: &Candidate<'_>,
        head: &[u8],
        source: R,
        objects: &Objects,
    ) -> gix::Result<ToGitOutcome<'_, R>> {
        let path = BStr::new(candidate.path);
        let mut indexed = |buffer: &mut Vec<u8>| {
            let found = candidate.indexed.is_some_and(|id| objects.blob(&id, buffer));
            Ok(found.then_some(()))
        };
        if let Some(search) = self.marked_encoding(candidate, head)? {
            let names = &self.names;
            let mut attributes = |_: &BStr, outcome: &mut Outcome| {
                outcome.initialize(names);
                search.pattern_matching_relative_path(path, Case::Sensitive, None, outcome);
            };
            let path = as_path(candidate.path);
            return self.rewriting.convert_to_git(source, path, &mut attributes, &mut indexed);
        }
        let platform = self
            .stack
            .at_path(path, Some(Mode::FILE), &self.repository.objects)
            .map_err(gix::Error::from_error)?;
        let mut attributes = |_: &BStr, outcome: &mut Outcome| {
            platform.matching_attributes(outcome);
        };
        let path = as_path(candidate.path);
        self.pipeline.convert_to_git(source, path, &mut attributes, &mut indexed)
    }

    /// The file's attributes with another encoding in place of one whose byte order only a mark
    /// at the beginning tells: the filters go by the name alone.
    fn marked_encoding(
        &mut self,
        candidate: &Candidate<'_>,
        head: &[u8],
    ) -> gix::Result<Option<Search>> {
        self.look_up(candidate.path)?;
        let (mut line, mut marked) = (b"*".to_vec(), false);
        for found in self.outcome.iter_selected() {
            let assignment = match found.assignment.state.as_bstr() {
                Some(name)
                    if found.assignment.name.as_str() == "working-tree-encoding"
                        && is_marked(name) =>
                {
                    marked = true;
                    let order = if head.starts_with(b"\xfe\xff") { "BE" } else { "LE" };
                    format!("working-tree-encoding=UTF-16{order}")
                }
                _ => found.assignment.to_string(),
            };
            line.extend_from_slice(format!(" {assignment}").as_bytes());
        }
        if !marked {
            return Ok(None);
        }
        let mut search = Search::default();
        search
            .add_patterns_buffer(&line, PathBuf::new(), None, &mut self.names, false)
            .map_err(gix::Error::from_error)?;
        Ok(Some(search))
    }
}

/// Whether a mark tells the byte order of this encoding (`reencode_string_len` in git's utf8.c
/// reads `UTF-16LE-BOM` as `UTF-16`).
fn is_marked(encoding: &[u8]) -> bool {
    let name = encoding.to_ascii_uppercase();
    let width = name.strip_prefix(b"UTF-").or(name.strip_prefix(b"UTF"));
    matches!(width, Some(b"16" | b"16LE-BOM"))
}

fn put_converted<R>(converted: ToGitOutcome<'_, R>, objects: &Objects) -> gix::Result<ObjectId>
where
    R: Read,
{
    match converted {
        ToGitOutcome::Buffer(content) => objects.put(Kind::Blob, content),
        mut stream => {
            let mut content = Vec::new();
            stream.read_to_end(&mut content).map_err(gix::Error::from_error)?;
            objects.put(Kind::Blob, &content)
        }
    }
}

/// The pattern files that git would read from the index where the work tree has none: those that
/// stay in the index though they are not there. The others are gone before git looks.
fn pattern_files(index: &State, sparse: Option<&Sparse>) -> State {
    let mut found = State::new(index.object_hash());
    for (at, entry) in index.entries().iter().enumerate() {
        let path = entry.path(index);
        let is_pattern_file = path.ends_with(b".gitattributes") || path.ends_with(b".gitignore");
        let stays = || {
            tracked::assumed(entry)
                || tracked::skipped(entry)
                || sparse.is_some_and(|sparse| sparse.is_out(at))
        };
        if is_pattern_file && stays() {
            found.dangerously_push_entry(entry.stat, entry.id, entry.flags, entry.mode, path);
        }
    }
    found
}

impl Drop for Converter<'_> {
    fn drop(&mut self) {
        use gix::filter::plumbing::driver::shutdown::Mode;
        // How a filter program ends tells nothing about what it gave before.
        for pipeline in [&mut self.pipeline, &mut self.rewriting] {
            let _ = pipeline.driver_state_mut().shutdown(Mode::WaitForProcesses);
        }
    }
}
