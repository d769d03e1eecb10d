//! The walk over all directories, on several threads, and the trees from the bottom up.

use super::SnapshotError;
use super::folder::{Findings, Visitor};
use super::job::{Job, Presence};
use super::objects::Objects;
use super::scene::Scene;
use super::snapshotter::with_causes;
use super::tree::{Rows, tree_mode};
use gix::ObjectId;
use gix::ThreadSafeRepository;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A directory whose trees below are not all known yet.
struct Node {
    parent: Option<usize>,
    name: Vec<u8>,
    /// Rows that come from it are kept ones: the disk does not show the directory.
    kept: bool,
    rows: Rows,
    waiting: usize,
}

/// A job and the node that waits for it.
struct Task {
    job: Job,
    parent: Option<usize>,
}

/// What the threads share.
#[derive(Default)]
struct Board {
    tasks: Vec<Task>,
    nodes: Vec<Option<Node>>,
    files: usize,
    /// The end of it all: the tree of the top, or why there is none.
    result: Option<Result<ObjectId, SnapshotError>>,
}

/// What a walk gives.
pub(super) struct Walked {
    pub(super) tree: ObjectId,
    /// How many rows are no trees.
    pub(super) files: usize,
    pub(super) findings: Findings,
}

/// Walks the work tree on `threads` threads. `progress` hears of the number of files so far, from
/// any of them.
pub(super) fn walk(
    scene: &Scene<'_>,
    repository: &ThreadSafeRepository,
    objects: &Path,
    threads: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Walked, SnapshotError> {
    let walk = Walk { scene, progress, board: Mutex::default(), news: Condvar::new() };
    walk.board().tasks.push(Task {
        job: Job {
            path: Vec::new(),
            entries: 0..scene.index.entries().len(),
            presence: Presence::Present,
        },
        parent: None,
    });
    let mut findings = Findings::default();
    std::thread::scope(|scope| {
        let helpers: Vec<_> =
            (1..threads).map(|_| scope.spawn(|| walk.work(repository, objects))).collect();
        merge(&mut findings, walk.work(repository, objects));
        for helper in helpers {
            match helper.join() {
                Ok(found) => merge(&mut findings, found),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    let board = walk.board.into_inner().unwrap_or_else(PoisonError::into_inner);
    findings.skipped.sort();
    findings.nested.sort();
    Ok(Walked {
        tree: board.result.unwrap_or(Err(SnapshotError::Cancelled))?,
        files: board.files,
        findings,
    })
}

fn merge(all: &mut Findings, mut more: Findings) {
    all.skipped.append(&mut more.skipped);
    all.nested.append(&mut more.nested);
    all.records.append(&mut more.records);
    all.fresh |= more.fresh;
}

struct Walk<'a> {
    scene: &'a Scene<'a>,
    progress: &'a (dyn Fn(usize) + Sync),
    board: Mutex<Board>,
    news: Condvar,
}

impl Walk<'_> {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What one thread does until there is a result.
    fn work(&self, repository: &ThreadSafeRepository, directory: &Path) -> Findings {
        let repository = repository.to_thread_local();
        let objects = match Objects::new(&repository, directory) {
            Ok(objects) => objects,
            Err(error) => {
                self.end(Err(error));
                return Findings::default();
            }
        };
        let mut visitor = Visitor::new(self.scene, &repository, &objects);
        while let Some(task) = self.next() {
            if let Err(error) = self.visit(&mut visitor, &task) {
                self.end(Err(error));
            }
        }
        visitor.findings
    }

    /// The next task, when there is one; none at the end.
    fn next(&self) -> Option<Task> {
        let mut board = self.board();
        loop {
            if board.result.is_some() {
                return None;
            }
            if let Some(task) = board.tasks.pop() {
                return Some(task);
            }
            board = self.news.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self, result: Result<ObjectId, SnapshotError>) {
        self.board().result.get_or_insert(result);
        self.news.notify_all();
    }

    fn visit(&self, visitor: &mut Visitor<'_>, task: &Task) -> Result<(), SnapshotError> {
        if self.scene.cancel.load(Ordering::Relaxed) {
            return Err(SnapshotError::Cancelled);
        }
        let (rows, below) = visitor.visit(&task.job)?;
        let path = &task.job.path;
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let mut node = Node {
            parent: task.parent,
            name: name.to_vec(),
            kept: task.job.presence != Presence::Present,
            rows,
            waiting: below.len(),
        };
        let files = node.rows.files();
        let mut board = self.board();
        board.files += files;
        let files = board.files;
        if below.is_empty() {
            drop(board);
            while let Some(parent) = self.finish(visitor.objects, &node)? {
                node = parent;
            }
        } else {
            let parent = board.nodes.len();
            board.nodes.push(Some(node));
            board.tasks.extend(below.into_iter().map(|job| Task { job, parent: Some(parent) }));
            drop(board);
            self.news.notify_all();
        }
        (self.progress)(files);
        Ok(())
    }

    /// Writes the tree of a node that waits for nothing, and gives its parent if that now waits
    /// for nothing either.
    fn finish(&self, objects: &Objects, node: &Node) -> Result<Option<Node>, SnapshotError> {
        let tree = node
            .rows
            .write(objects, node.parent.is_none())
            .map_err(|cause| SnapshotError::write(objects.directory(), with_causes(&cause)))?;
        let Some(at) = node.parent else {
            if let Some(tree) = tree {
                self.end(Ok(tree));
            }
            return Ok(None);
        };
        let mut board = self.board();
        let Some(slot) = board.nodes.get_mut(at) else {
            return Ok(None);
        };
        if let Some(parent) = slot {
            if let Some(tree) = tree {
                if node.kept {
                    parent.rows.keep(&node.name, tree_mode(), tree);
                } else {
                    parent.rows.push(&node.name, tree_mode(), tree);
                }
            }
            parent.waiting -= 1;
            if parent.waiting == 0 {
                return Ok(slot.take());
            }
        }
        Ok(None)
    }
}
