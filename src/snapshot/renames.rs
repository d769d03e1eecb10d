//! Which deleted file lives on under which new name, by the rules of git's default `-M`.
//!
//! git's documentation (`git help diff`, `-M`; `diff.renameLimit`; gitdiffcore(7)) gives the rules:
//! files with one object id first; then files that keep a base name which is unique on both sides,
//! from 75 % similarity; then all pairs from 50 %, best first, unless there are more than 1000 × 1000.
//! gix has a rename tracker too, but it measures similarity by lines and so finds other pairs.

use super::compare::{TreeChange, TreeEntry};
use crate::content::GitObjects;
use gix::ObjectId;
use gix::objs::tree::EntryKind;
use std::collections::{HashMap, HashSet, VecDeque};

/// Similarity is counted in these parts.
const WHOLE: u64 = 60_000;
/// A rename has at least this much in common.
const LEAST: u64 = WHOLE / 2;
/// With an unchanged, unique base name: this much (halfway from `LEAST` to all).
const LEAST_WITH_NAME: u64 = LEAST + (WHOLE - LEAST) / 2;
/// git's `diff.renameLimit`: no more than this many, squared, pairs are measured.
const LIMIT: usize = 1000;
/// Of files with one object id, so many are looked at for one that keeps the base name.
const IDENTICAL: usize = 100;
/// For each new file so many of the most similar old files are kept.
const CANDIDATES: usize = 4;
/// Larger blobs are never measured, so that no rename costs more memory than this, in bytes.
const LARGEST: u64 = 32 << 20;
/// Pieces that old and new files share, counted for each pair, before the search gives up: about
/// half a second.
const MOST_WORK: usize = 100_000_000;

/// Joins deletions and additions that are renames; the rest stays as it is, and so does the order.
/// `changes` are in byte order of their path.
pub(super) fn pair_up(objects: &GitObjects, changes: Vec<TreeChange>) -> Vec<TreeChange> {
    let gone = changes.iter().filter(|change| change.new.is_none()).filter_map(|c| c.old.as_ref());
    let come = changes.iter().filter(|change| change.old.is_none()).filter_map(|c| c.new.as_ref());
    let mut search = Search {
        old: gone.map(|entry| File::new(entry.clone())).collect(),
        new: come.map(|entry| File::new(entry.clone())).collect(),
        pairs: HashMap::new(),
        objects,
    };
    if search.old.is_empty() || search.new.is_empty() {
        return changes;
    }
    search.by_identity();
    search.by_base_name();
    search.by_similarity();

    let mut origin: HashMap<Vec<u8>, TreeEntry> = HashMap::new();
    let mut moved: HashSet<Vec<u8>> = HashSet::new();
    for (new, old) in &search.pairs {
        if let (Some(new), Some(old)) = (search.new.get(*new), search.old.get(*old)) {
            moved.insert(old.entry.path.clone());
            origin.insert(new.entry.path.clone(), old.entry.clone());
        }
    }
    changes
        .into_iter()
        .filter_map(|change| match (change.old, change.new) {
            (None, Some(new)) => {
                let old = origin.remove(&new.path);
                Some(TreeChange { old, new: Some(new) })
            }
            (Some(old), None) if moved.contains(&old.path) => None,
            (old, new) => Some(TreeChange { old, new }),
        })
        .collect()
}

/// One side of a possible rename.
struct File {
    entry: TreeEntry,
    paired: bool,
    /// Size in bytes, once looked at; 0, which is like nothing, where it cannot be measured.
    size: Option<u64>,
    /// Its text in pieces, once read; none in it where it cannot be read.
    chunks: Option<Vec<Chunk>>,
}

/// How many bytes of a text lie in equal pieces: (hash of the piece, bytes).
type Chunk = (u64, u64);

impl File {
    fn new(entry: TreeEntry) -> Self {
        Self { entry, paired: false, size: None, chunks: None }
    }

    fn base_name(&self) -> &[u8] {
        self.entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    fn is_regular(&self) -> bool {
        matches!(self.entry.kind, EntryKind::Blob | EntryKind::BlobExecutable)
    }

    fn size(&mut self, objects: &GitObjects) -> u64 {
        let id = self.entry.id;
        *self.size.get_or_insert_with(|| {
            objects.blob_size(&id).ok().filter(|size| *size <= LARGEST).unwrap_or(0)
        })
    }

    fn chunks(&mut self, objects: &GitObjects) -> &[Chunk] {
        let id = self.entry.id;
        self.chunks
            .get_or_insert_with(|| objects.blob(&id).map(|text| chunks(&text)).unwrap_or_default())
    }
}

/// The search for pairs. `pairs` is new → old, both places in the lists.
struct Search<'a> {
    old: Vec<File>,
    new: Vec<File>,
    pairs: HashMap<usize, usize>,
    objects: &'a GitObjects,
}

impl Search<'_> {
    fn pair(&mut self, old: usize, new: usize) {
        if let (Some(from), Some(to)) = (self.old.get_mut(old), self.new.get_mut(new)) {
            from.paired = true;
            to.paired = true;
            self.pairs.insert(new, old);
        }
    }

    fn by_identity(&mut self) {
        let mut places: HashMap<ObjectId, VecDeque<usize>> = HashMap::new();
        for (at, file) in self.old.iter().enumerate() {
            places.entry(file.entry.id).or_default().push_back(at);
        }
        let mut found = Vec::new();
        for (new, file) in self.new.iter().enumerate() {
            let Some(waiting) = places.get_mut(&file.entry.id) else { continue };
            let fits = |old: &&File| {
                (old.is_regular() && file.is_regular()) || old.entry.kind == file.entry.kind
            };
            let mut first = None;
            let mut named = None;
            for (at, old) in waiting.iter().take(IDENTICAL).enumerate() {
                let Some(old) = self.old.get(*old).filter(fits) else { continue };
                first = first.or(Some(at));
                if old.base_name() == file.base_name() {
                    named = Some(at);
                    break;
                }
            }
            if let Some(old) = named.or(first).and_then(|at| waiting.remove(at)) {
                found.push((old, new));
            }
        }
        for (old, new) in found {
            self.pair(old, new);
        }
    }

    fn by_base_name(&mut self) {
        let old = unique_base_names(&self.old);
        let new = unique_base_names(&self.new);
        let mut both: Vec<(usize, usize)> = old
            .iter()
            .filter_map(|(name, old)| Some(((*old)?, new.get(name).copied().flatten()?)))
            .collect();
        both.sort_unstable();
        for (old, new) in both {
            if self.are_similar(old, new, LEAST_WITH_NAME) {
                self.pair(old, new);
            }
        }
    }

    fn by_similarity(&mut self) {
        let free = |files: &[File]| -> Vec<usize> {
            let all = files.iter().enumerate().filter(|(_, file)| !file.paired);
            all.filter(|(_, file)| file.is_regular()).map(|(at, _)| at).collect()
        };
        let (old_free, new_free) = (free(&self.old), free(&self.new));
        if old_free.len().saturating_mul(new_free.len()) > LIMIT * LIMIT {
            return;
        }
        let Some(mut scored) = self.score_all(&old_free, &new_free) else { return };
        // Stable: of equals, the first new file and its first found old file win.
        scored.sort_by_key(|one| std::cmp::Reverse(one.rank()));
        for one in scored {
            let taken = |files: &[File], at: usize| files.get(at).is_none_or(|file| file.paired);
            if !taken(&self.old, one.old) && !taken(&self.new, one.new) {
                self.pair(one.old, one.new);
            }
        }
    }

    /// The best candidates of each new file; none where that is too much work.
    fn score_all(&mut self, old_free: &[usize], new_free: &[usize]) -> Option<Vec<Scored>> {
        let objects = self.objects;
        let sizes = |files: &mut [File], free: &[usize]| -> Vec<u64> {
            free.iter().map(|at| files.get_mut(*at).map_or(0, |file| file.size(objects))).collect()
        };
        let old_sizes = sizes(&mut self.old, old_free);
        let new_sizes = sizes(&mut self.new, new_free);
        let like_any = |size: u64, others: &[u64]| {
            others.iter().any(|other| larger_of_like(size, *other, LEAST).is_some())
        };

        let mut holders = Holders::default();
        for (place, (at, size)) in old_free.iter().zip(&old_sizes).enumerate() {
            if like_any(*size, &new_sizes)
                && let Some(file) = self.old.get_mut(*at)
            {
                holders.add(place, file.chunks(objects));
            }
        }
        let mut scored = Vec::new();
        for (new, new_size) in new_free.iter().zip(&new_sizes) {
            if !like_any(*new_size, &old_sizes) {
                continue;
            }
            let Some(file) = self.new.get_mut(*new) else { continue };
            let mut shared = vec![0; old_free.len()];
            holders.count(file.chunks(objects), &mut shared);
            if holders.work > MOST_WORK {
                return None;
            }
            let mut best: Vec<Scored> = Vec::new();
            for ((old, old_size), shared) in old_free.iter().zip(&old_sizes).zip(shared) {
                let large = larger_of_like(*old_size, *new_size, LEAST);
                let score = large.map_or(0, |large| shared * WHOLE / large);
                if score >= LEAST {
                    let same_name = self.same_name(*old, *new);
                    keep_best(&mut best, Scored { score, same_name, old: *old, new: *new });
                }
            }
            scored.append(&mut best);
        }
        Some(scored)
    }

    fn same_name(&self, old: usize, new: usize) -> bool {
        let (old, new) = (self.old.get(old), self.new.get(new));
        old.zip(new).is_some_and(|(old, new)| old.base_name() == new.base_name())
    }

    /// Whether at least so much of the larger text, in parts of `WHOLE`, is in the smaller one.
    fn are_similar(&mut self, old: usize, new: usize, least: u64) -> bool {
        let (Some(old), Some(new)) = (self.old.get_mut(old), self.new.get_mut(new)) else {
            return false;
        };
        if !old.is_regular() || !new.is_regular() {
            return false;
        }
        let sizes = (old.size(self.objects), new.size(self.objects));
        larger_of_like(sizes.0, sizes.1, least).is_some_and(|large| {
            common(old.chunks(self.objects), new.chunks(self.objects)) * WHOLE / large >= least
        })
    }
}

/// The larger of two sizes, unless they alone tell that the texts are too different (or that there
/// is none). No text needs to be read for that.
fn larger_of_like(a: u64, b: u64, least: u64) -> Option<u64> {
    let (small, large) = (a.min(b), a.max(b));
    (small > 0 && large * (WHOLE - least) >= (large - small) * WHOLE).then_some(large)
}

/// Piece → the old files that have it, which spares comparing each file with each: most pairs have
/// no piece in common.
#[derive(Default)]
struct Holders {
    of: HashMap<u64, Vec<(usize, u64)>>,
    /// How many pieces were counted so far.
    work: usize,
}

impl Holders {
    fn add(&mut self, place: usize, chunks: &[Chunk]) {
        for (hash, bytes) in chunks {
            self.of.entry(*hash).or_default().push((place, *bytes));
        }
    }

    /// Adds to each old file's place what it shares with a new file, in bytes.
    fn count(&mut self, chunks: &[Chunk], shared: &mut [u64]) {
        for (hash, bytes) in chunks {
            let holders = self.of.get(hash).map_or(&[][..], Vec::as_slice);
            self.work += holders.len();
            for (place, others) in holders {
                if let Some(shared) = shared.get_mut(*place) {
                    *shared += bytes.min(others);
                }
            }
        }
    }
}

/// A possible pair.
struct Scored {
    score: u64,
    same_name: bool,
    old: usize,
    new: usize,
}

impl Scored {
    fn rank(&self) -> (u64, bool) {
        (self.score, self.same_name)
    }
}

/// Keeps the best few: a better one takes the place of the worst.
fn keep_best(best: &mut Vec<Scored>, one: Scored) {
    if best.len() < CANDIDATES {
        best.push(one);
    } else if let Some(worst) = best.iter_mut().min_by_key(|kept| kept.rank())
        && worst.rank() < one.rank()
    {
        *worst = one;
    }
}

/// Base name → the one unpaired file that has it; none where several do.
fn unique_base_names(files: &[File]) -> HashMap<Vec<u8>, Option<usize>> {
    let mut names = HashMap::new();
    for (at, file) in files.iter().enumerate().filter(|(_, file)| !file.paired) {
        names.entry(file.base_name().to_vec()).and_modify(|one| *one = None).or_insert(Some(at));
    }
    names
}

/// Cuts a text behind each newline and behind 64 bytes without one, and adds up equal pieces, in
/// order of their hash. In a text (no NUL in the first 8000 bytes) CR LF counts as LF.
fn chunks(bytes: &[u8]) -> Vec<Chunk> {
    const PIECE: usize = 64;
    let is_text = memchr::memchr(0, bytes.get(..8000).unwrap_or(bytes)).is_none();
    let mut pieces: Vec<Chunk> = Vec::new();
    let mut piece: Vec<u8> = Vec::with_capacity(PIECE);
    let mut rest = bytes.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if is_text && byte == b'\r' && rest.peek() == Some(&b'\n') {
            continue;
        }
        piece.push(byte);
        if byte == b'\n' || piece.len() == PIECE {
            pieces.push((hash(&piece), piece.len() as u64));
            piece.clear();
        }
    }
    if !piece.is_empty() {
        pieces.push((hash(&piece), piece.len() as u64));
    }
    pieces.sort_unstable();
    pieces.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    pieces
}

/// FNV-1a: short pieces, no adversary to gain anything but a wrong rename of his own files.
fn hash(piece: &[u8]) -> u64 {
    piece.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Bytes that lie in pieces of both.
fn common(old: &[Chunk], new: &[Chunk]) -> u64 {
    let mut shared = 0;
    let mut rest = new.iter().peekable();
    for (hash, bytes) in old {
        while rest.next_if(|other| other.0 < *hash).is_some() {}
        if let Some(other) = rest.next_if(|other| other.0 == *hash) {
            shared += bytes.min(&other.1);
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(old: &[u8], new: &[u8]) -> u64 {
        common(&chunks(old), &chunks(new))
    }

    #[test]
    fn equal_lines_count_once_a_copy_wherever_they_stand() {
        assert_eq!(shared(b"a\nbb\nccc\n", b"ccc\na\n"), 6);
        assert_eq!(shared(b"a\na\n", b"a\na\na\n"), 4);
        assert_eq!(shared(b"a\r\nb\r\n", b"a\nb\n"), 4);
        assert_eq!(shared(b"no newline", b"no newline"), 10);
        assert_eq!(shared(b"", b"a\n"), 0);
    }

    #[test]
    fn long_lines_are_cut_into_pieces() {
        let old = [vec![b'x'; 64], vec![b'y'; 64]].concat();
        let new = [vec![b'x'; 64], vec![b'z'; 64]].concat();
        assert_eq!(shared(&old, &new), 64);
    }
}
