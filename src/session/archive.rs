//! A list that grows at its end and whose older items are kept packed: a session may have tens of
//! thousands of turns, of which a few are looked at.
//!
//! Packed is: as JSON, compressed, a page of neighbours at once. JSON, because the items have it
//! anyway and its keys cost nothing once compressed; a page, because a turn alone is too small to
//! be compressed well. What is asked for again and again of every item is its key, which is small
//! and stays at hand.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// So many items make a page, or so many bytes of JSON.
const PAGE: usize = 64;
const PAGE_BYTES: usize = 64 << 10;
/// The last items stay as they are: what is told next is told of them.
const KEPT: usize = 4;
/// So many more items there are before it is tried again to make a page of them.
const AGAIN: usize = 8;
/// So many pages may stand open at once, to be changed.
const OPEN: usize = 2;
/// So many pages are remembered as they were read last.
const READ: usize = 2;

/// Something that can be kept in an [`Archive`].
pub trait Item: Serialize + DeserializeOwned {
    /// What is to be known of every item at any time.
    type Key: Copy + fmt::Debug;

    /// This item's key.
    fn key(&self) -> Self::Key;
}

/// The list. Nothing is packed before [`Archive::pack`] is called.
pub struct Archive<T: Item> {
    pages: Vec<Page<T>>,
    /// The items behind the pages.
    tail: Vec<T>,
    /// So long the tail was when it made no page.
    tried: usize,
    /// The pages that stand open, the earliest opened first.
    open: Vec<usize>,
    /// What was read last of packed pages, the latest last.
    read: Mutex<Vec<(usize, Arc<Vec<T>>)>>,
}

#[derive(Clone)]
struct Page<T: Item> {
    /// The 0-based index of its first item.
    first: usize,
    len: usize,
    items: Items<T>,
}

#[derive(Clone)]
enum Items<T: Item> {
    Packed {
        keys: Arc<[T::Key]>,
        bytes: Arc<[u8]>,
        /// How long the bytes are when decompressed.
        len: usize,
    },
    Whole(Vec<T>),
}

/// An item of an [`Archive`], or of another list, to be read.
#[derive(Debug)]
pub enum Entry<'a, T> {
    /// It stands in its list.
    Whole(&'a T),
    /// It was unpacked, with others, and is the one at this index of them.
    Unpacked(Arc<Vec<T>>, usize),
}

impl<T> Deref for Entry<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Whole(item) => item,
            Self::Unpacked(page, at) => &page[*at],
        }
    }
}

impl<T: Item> Default for Archive<T> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            tail: Vec::new(),
            tried: 0,
            open: Vec::new(),
            read: Mutex::default(),
        }
    }
}

impl<T: Item> Archive<T> {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.packed_len() + self.tail.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items stand in pages.
    pub fn packed_len(&self) -> usize {
        self.pages.last().map_or(0, |page| page.first + page.len)
    }

    /// The page that an item stands in, if it stands in one.
    fn page_of(&self, at: usize) -> Option<usize> {
        let page = self.pages.partition_point(|page| page.first <= at).checked_sub(1)?;
        (at < self.packed_len()).then_some(page)
    }

    /// The key of the item at a 0-based index.
    pub fn key(&self, at: usize) -> Option<T::Key> {
        let Some(page) = self.page_of(at) else {
            return self.tail.get(at - self.packed_len()).map(Item::key);
        };
        let page = self.pages.get(page)?;
        match &page.items {
            Items::Packed { keys, .. } => keys.get(at - page.first).copied(),
            Items::Whole(items) => items.get(at - page.first).map(Item::key),
        }
    }

    /// The keys of all items, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = T::Key> + '_ {
        (0..self.len()).filter_map(|at| self.key(at))
    }

    /// The index of the first item whose key is not meant; those before it are.
    pub fn partition_point(&self, is_meant: impl Fn(T::Key) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from.midpoint(to);
            match self.key(middle) {
                Some(key) if is_meant(key) => from = middle + 1,
                _ => to = middle,
            }
        }
        from
    }

    /// The items at the end that were never packed, to be changed.
    pub fn newest_mut(&mut self) -> &mut [T] {
        &mut self.tail
    }

    /// The item at a 0-based index.
    pub fn get(&self, at: usize) -> Option<Entry<'_, T>> {
        let Some(place) = self.page_of(at) else {
            return self.tail.get(at - self.packed_len()).map(Entry::Whole);
        };
        let page = self.pages.get(place)?;
        let at = at - page.first;
        if let Items::Whole(items) = &page.items {
            return items.get(at).map(Entry::Whole);
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let items = match read.iter().position(|(known, _)| *known == place) {
            Some(known) => read.remove(known).1,
            None => Arc::new(page.unpacked()),
        };
        if read.len() == READ {
            read.remove(0);
        }
        read.push((place, Arc::clone(&items)));
        (at < items.len()).then_some(Entry::Unpacked(items, at))
    }

    /// The last item.
    pub fn last(&self) -> Option<Entry<'_, T>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All items, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entry<'_, T>> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The item at a 0-based index, to be changed. Its page stands open until [`Archive::pack`].
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        let Some(place) = self.page_of(at) else {
            let packed = self.packed_len();
            return self.tail.get_mut(at - packed);
        };
        self.open(place);
        let page = self.pages.get_mut(place)?;
        match &mut page.items {
            Items::Whole(items) => items.get_mut(at - page.first),
            Items::Packed { .. } => None,
        }
    }

    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        self.tail.push(item);
    }

    /// Adds an item before the one at a 0-based index, or at the end.
    pub fn insert(&mut self, at: usize, item: T) {
        let Some(place) = self.page_of(at) else {
            let at = (at - self.packed_len()).min(self.tail.len());
            return self.tail.insert(at, item);
        };
        self.open(place);
        let Some((page, later)) = self.pages.get_mut(place..).and_then(<[_]>::split_first_mut)
        else {
            return;
        };
        if let Items::Whole(items) = &mut page.items {
            items.insert((at - page.first).min(items.len()), item);
            page.len = items.len();
            for page in later {
                page.first += 1;
            }
        }
    }

    /// Drops the items from a 0-based index on.
    pub fn truncate(&mut self, len: usize) {
        drop(self.split_off(len));
    }

    /// Takes the items from a 0-based index on for a list of their own.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Self {
        self.tried = 0;
        let Some(place) = self.page_of(at) else {
            let at = (at - self.packed_len()).min(self.tail.len());
            return Self { tail: self.tail.split_off(at), ..Self::default() };
        };
        let mut pages = self.pages.split_off(place).into_iter();
        let mut rest = Self::default();
        if let Some(page) = pages.next() {
            let first = page.first;
            let mut before = page.unpacked_into();
            rest.push_page(before.split_off((at - first).min(before.len())));
            let tail = std::mem::replace(&mut self.tail, before);
            for page in pages {
                rest.pages.push(Page { first: rest.packed_len(), ..page });
            }
            rest.tail = tail;
        }
        let open = std::mem::take(&mut self.open);
        let (open, later): (Vec<_>, Vec<_>) = open.into_iter().partition(|page| *page < place);
        self.open = open;
        rest.open.extend(later.into_iter().filter(|page| *page > place).map(|page| page - place));
        self.forget(|page| page >= place);
        rest
    }

    /// Adds items as a page that stands open.
    fn push_page(&mut self, items: Vec<T>) {
        if !items.is_empty() {
            self.open.push(self.pages.len());
            let first = self.packed_len();
            self.pages.push(Page { first, len: items.len(), items: Items::Whole(items) });
        }
    }

    /// Adds all items of another one at the end.
    pub fn append(&mut self, other: Self) {
        if !other.pages.is_empty() {
            let items = std::mem::take(&mut self.tail);
            self.push_page(items);
        }
        let (before, pages) = (self.len(), self.pages.len());
        self.open.extend(other.open.into_iter().map(|page| page + pages));
        self.pages.extend(
            other.pages.into_iter().map(|page| Page { first: page.first + before, ..page }),
        );
        self.tail.extend(other.tail);
        self.tried = 0;
    }

    /// Packs what need not stand as it is: all but the last items.
    pub fn pack(&mut self) {
        while let Some(page) = self.open.pop() {
            self.close(page);
        }
        while self.tail.len() >= self.tried + AGAIN && self.tail.len() > KEPT {
            let first = self.packed_len();
            let may_go = self.tail.get(..self.tail.len() - KEPT).unwrap_or_default();
            if let Some((len, items)) = page(may_go) {
                self.pages.push(Page { first, len, items });
                self.tail.drain(..len);
                self.tried = 0;
            } else {
                self.tried = self.tail.len();
            }
        }
    }

    /// Unpacks a page, so that its items can be changed.
    fn open(&mut self, place: usize) {
        self.forget(|page| page == place);
        let Some(page) = self.pages.get_mut(place) else { return };
        if let Items::Packed { .. } = page.items {
            page.items = Items::Whole(page.unpacked());
        }
        self.open.push(place);
        if self.open.len() > OPEN {
            let first = self.open.remove(0);
            self.close(first);
        }
    }

    /// Packs a page. One that cannot be packed stays as it is.
    fn close(&mut self, place: usize) {
        if let Some(page) = self.pages.get_mut(place)
            && let Items::Whole(items) = &page.items
            && let Ok(json) = serde_json::to_vec(items)
            && let Some(packed) = packed(items, &json)
        {
            page.items = packed;
        }
    }

    /// Forgets what is known of pages as they were.
    fn forget(&mut self, is_meant: impl Fn(usize) -> bool) {
        self.open.retain(|page| !is_meant(*page));
        let read = self.read.get_mut().unwrap_or_else(PoisonError::into_inner);
        read.retain(|(page, _)| !is_meant(*page));
    }
}

/// The lowest level: a higher one makes such pages no smaller.
const LEVEL: i32 = 1;

/// The first of these items, packed, and how many they are; none where they are too few for a page.
fn page<T: Item>(items: &[T]) -> Option<(usize, Items<T>)> {
    let mut json = Vec::new();
    for (at, item) in items.iter().enumerate() {
        json.push(if at == 0 { b'[' } else { b',' });
        serde_json::to_writer(&mut json, item).ok()?;
        if json.len() >= PAGE_BYTES || at + 1 == PAGE {
            json.push(b']');
            return Some((at + 1, packed(items.get(..=at)?, &json)?));
        }
    }
    None
}

fn packed<T: Item>(items: &[T], json: &[u8]) -> Option<Items<T>> {
    let bytes = zstd::bulk::compress(json, LEVEL).ok()?.into();
    Some(Items::Packed { keys: items.iter().map(Item::key).collect(), bytes, len: json.len() })
}

impl<T: Item> Page<T> {
    /// The items of a packed page.
    fn unpacked(&self) -> Vec<T> {
        let Items::Packed { bytes, len, .. } = &self.items else { return Vec::new() };
        let json = zstd::bulk::decompress(bytes, *len).unwrap_or_default();
        // What was packed here is whole.
        serde_json::from_slice(&json).unwrap_or_default()
    }

    fn unpacked_into(self) -> Vec<T> {
        match self.items {
            Items::Whole(items) => items,
            Items::Packed { .. } => self.unpacked(),
        }
    }
}

impl<T: Item> FromIterator<T> for Archive<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut archive = Self::default();
        for item in items {
            archive.push(item);
            if archive.tail.len() >= PAGE + KEPT {
                archive.pack();
            }
        }
        archive
    }
}

impl<T: Item + Clone> Clone for Archive<T> {
    fn clone(&self) -> Self {
        Self {
            pages: self.pages.clone(),
            tail: self.tail.clone(),
            tried: self.tried,
            open: self.open.clone(),
            read: Mutex::default(),
        }
    }
}

impl<T: Item + PartialEq> PartialEq for Archive<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| *a == *b)
    }
}

impl<T: Item + fmt::Debug> fmt::Debug for Archive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|item| format!("{:?}", *item))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Note {
        number: u32,
        text: String,
    }

    impl Item for Note {
        type Key = u32;

        fn key(&self) -> u32 {
            self.number
        }
    }

    fn note(number: u32) -> Note {
        Note { number, text: format!("{number} \u{1b} \"é\" ").repeat(number as usize % 300) }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push(u32),
        Insert(usize, u32),
        Change(usize, u32),
        Truncate(usize),
        Cut(usize),
        Pack,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            12 => (1..200_u32).prop_map(Step::Push),
            1 => (any::<usize>(), any::<u32>()).prop_map(|(at, n)| Step::Insert(at, n)),
            2 => (any::<usize>(), any::<u32>()).prop_map(|(at, n)| Step::Change(at, n)),
            1 => any::<usize>().prop_map(Step::Truncate),
            1 => any::<usize>().prop_map(Step::Cut),
            3 => Just(Step::Pack),
        ]
    }

    fn check(archive: &Archive<Note>, list: &[Note]) {
        assert_eq!(archive.len(), list.len());
        assert_eq!(archive.keys().collect::<Vec<_>>(), keys(list));
        assert!(archive.iter().map(|item| item.clone()).eq(list.iter().cloned()));
        assert!(archive.get(list.len()).is_none() && archive.key(list.len()).is_none());
        assert_eq!(archive.last().map(|item| item.number), list.last().map(|item| item.number));
    }

    fn keys(list: &[Note]) -> Vec<u32> {
        list.iter().map(Item::key).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn it_holds_what_a_plain_list_would(steps in prop::collection::vec(step(), 1..60)) {
            let (mut archive, mut list) = (Archive::default(), Vec::new());
            for step in steps {
                match step {
                    Step::Push(more) => {
                        for number in 0..more {
                            archive.push(note(number));
                            list.push(note(number));
                        }
                    }
                    Step::Insert(at, number) => {
                        let at = at % (list.len() + 1);
                        archive.insert(at, note(number));
                        list.insert(at, note(number));
                    }
                    Step::Change(at, number) => {
                        let at = at % (list.len() + 1);
                        if let Some(item) = list.get_mut(at) {
                            *item = note(number);
                            *archive.get_mut(at).unwrap() = note(number);
                        } else {
                            assert!(archive.get_mut(at).is_none());
                        }
                    }
                    Step::Truncate(at) => {
                        let at = at % (list.len() + 1);
                        let at = at.max(list.len() / 2);
                        archive.truncate(at);
                        list.truncate(at);
                    }
                    Step::Cut(at) => {
                        let rest = archive.split_off(at % (list.len() + 1));
                        check(&rest, &list[at % (list.len() + 1)..]);
                        archive.append(rest);
                    }
                    Step::Pack => archive.pack(),
                }
                if let Some(at) = list.len().checked_sub(1).map(|last| last / 2) {
                    prop_assert_eq!(&*archive.get(at).unwrap(), &list[at]);
                }
            }
            check(&archive, &list);
            archive.pack();
            check(&archive, &list);
            check(&archive.clone(), &list);
            let first = list.first().map_or(0, |item| item.number);
            let before = list.iter().position(|item| item.number != first);
            if list.is_sorted_by_key(|item| item.number != first) {
                let found = archive.partition_point(|number| number == first);
                prop_assert_eq!(found, before.unwrap_or(list.len()));
            }
        }
    }

    #[test]
    fn all_but_the_last_items_are_packed_and_small() {
        let mut archive: Archive<Note> = (0..10_000).map(note).collect();
        archive.pack();
        assert!(archive.tail.len() < KEPT + PAGE + AGAIN, "{} stay", archive.tail.len());
        let size = |page: &Page<Note>| match &page.items {
            Items::Packed { bytes, .. } => bytes.len(),
            Items::Whole(_) => panic!("a page is not packed"),
        };
        let (packed, whole): (usize, usize) = (
            archive.pages.iter().map(size).sum(),
            archive.iter().map(|item| item.text.len()).sum(),
        );
        assert!(packed * 20 < whole, "{packed} of {whole}");
        // What is changed is packed again.
        for at in [5, 5000, 9000, 7] {
            archive.get_mut(at).unwrap().number = 1;
        }
        let open = archive.pages.iter().filter(|page| matches!(page.items, Items::Whole(_)));
        assert!(open.count() <= OPEN);
        archive.pack();
        assert!(archive.pages.iter().all(|page| size(page) > 0));
        assert_eq!(archive.keys().filter(|number| *number == 1).count(), 5);
    }

    #[test]
    fn what_cannot_be_packed_stays_as_it_is() {
        use std::ffi::OsString;
        use std::os::unix::ffi::OsStringExt;
        use std::path::PathBuf;

        #[derive(Serialize, Deserialize)]
        struct Odd(PathBuf);

        impl Item for Odd {
            type Key = ();

            fn key(&self) {}
        }

        let name = || PathBuf::from(OsString::from_vec(vec![b'a', 0xff]));
        let mut archive: Archive<Odd> = (0..500).map(|_| Odd(name())).collect();
        archive.pack();
        assert!(archive.len() == 500 && archive.iter().all(|odd| odd.0 == name()));
    }
}
