//! Lists that may be long, read page by page: HPAs, namespaces, pods, targets and their ReplicaSets.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Read as _};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::de::IoRead;
use tokio::task::{JoinHandle, spawn_blocking};

use super::super::Failure;
use super::Fetch;
use super::discovery::collection;
use super::read::{LimitedSum, List, NextPages, SharingList, check_whole, next_page};
use crate::apimachinery::json::{self, Elements};
use crate::apimachinery::names::{query, segment};
use crate::cluster::http::body::Packed;
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;

/// The length of the part of a page that is searched for its metadata first: far more than API servers need
/// for it.
const HEAD: u64 = 64 << 10;

/// The number of objects per page, the same as in kubectl.
const PAGE: usize = 500;

/// The maximum number of pages.
const PAGES: usize = 200;

/// The maximum number of objects in a list, which a server may also return at once.
pub(super) const OBJECTS: usize = PAGES * PAGE;

/// The maximum length of all pages of a list together, inflated.
const LONGEST: usize = 2 << 30;

/// The maximum length of the fields that may be kept, without the lists that are cut out.
const LONGEST_KEPT: usize = 1 << 30;

/// The number of pages that may be unread, or being read, before the next one is requested.
const UNREAD: usize = 4;

/// The maximum number of elements in the objects of a list, all pages together: 100,000 pods of a usual
/// size have fewer.
const ELEMENTS: usize = 4_000_000;

type Read<T> = Box<dyn Fn(&[u8], &Elements) -> Result<Vec<T>, String> + Send + Sync>;

/// Reads all items.
fn all_items<T: DeserializeOwned>(page: &[u8], elements: &Elements) -> Result<Vec<T>, String> {
    let page: List<T> = json::read_within(page, elements)?;
    Ok(page.items)
}

/// Reads the pods that are selected.
pub(super) fn selected_pods(
    selects: impl Fn(&Pod) -> bool + Send + Sync + 'static,
) -> PageReader<Shared<Pod>> {
    let reader = PageReader::new(move |page, elements| {
        let mut pods = json::read_within::<SharingList<Pod>>(page, elements)?.items();
        pods.retain(|pod| selects(pod));
        Ok(pods)
    });
    PageReader {
        unread: Some("managedFields"),
        ..reader
    }
}

/// A list, and the server's clock at its start.
pub(super) type Dated<T> = (Vec<T>, Option<Timestamp>);

impl Fetch<'_> {
    /// Returns all pods that a selector matches.
    pub(super) async fn pods(&self, selector: &str) -> Result<Vec<Shared<Pod>>, Failure> {
        let path = self.pods_path(selector);
        let listed = self.lists.and_then(|lists| lists.pods(selector));
        if let Some(listed) = listed {
            return listed.map_err(|e| e.of_path(format!("{path}&limit={PAGE}")));
        }
        let reader = selected_pods(|_| true);
        let pods = self.pages_of(&path, "PodList", usize::MAX, reader).await?;
        Ok(pods.unwrap_or_default().0)
    }

    /// Returns the path of the pods that a selector matches, or of all pods if it is empty.
    pub(super) fn pods_path(&self, selector: &str) -> String {
        collection("/api/v1", Some(self.namespace), "pods") + &query(&[("labelSelector", selector)])
    }

    /// Returns all items of a list, with the server's clock at its start.
    pub(super) async fn pages<T: DeserializeOwned + Send + 'static>(
        &self,
        path: &str,
        kind: &str,
    ) -> Result<Dated<T>, Failure> {
        let reader = PageReader::new(all_items);
        let list = self.pages_of(path, kind, usize::MAX, reader).await?;
        Ok(list.unwrap_or_default())
    }

    /// Returns the items of a list, with the server's clock at its start; `None` if it has more than `most`
    /// pages, which is mostly known from the first page. Starts again if a continue token expires. While a page
    /// is being received, other threads read the previous ones.
    pub(super) async fn pages_of<T: Send + 'static>(
        &self,
        path: &str,
        kind: &str,
        most: usize,
        reader: PageReader<T>,
    ) -> Result<Option<Dated<T>>, Failure> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let first = format!("{path}{separator}limit={PAGE}");
        let mut asked = first.clone();
        let mut page = self.session.get_packed(&asked).await?;
        let date = page.date;
        let reader = Arc::new(reader);
        let mut items = Vec::new();
        let mut reading = VecDeque::new();
        let mut tokens = HashSet::new();
        loop {
            let (next, body) = self.next(kind, page.body).await;
            let next = next.map_err(|cause| self.unreadable(&asked, cause))?;
            let Some(NextPages { token, objects }) = next else {
                if reading.is_empty() && body.is_short() {
                    let items = reader.items(&body);
                    return items
                        .map(|items| Some((items, date)))
                        .map_err(|cause| self.unreadable(&asked, cause));
                }
                reading.push_back((asked, self.read_aside(&reader, body)));
                for earlier in reading {
                    items.extend(self.finished(earlier).await?);
                }
                return Ok(Some((items, date)));
            };
            let more = objects.map_or(1, |objects| objects.div_ceil(PAGE));
            if tokens.len() + 1 + more > most {
                return Ok(None);
            }
            let following = format!("{first}&continue={}", segment(&token));
            let is_new = tokens.insert(token);
            if tokens.len() >= PAGES {
                let cause = format!("the list has more than {PAGES} pages");
                return Err(self.unreadable(&asked, cause));
            }
            if !is_new {
                return Err(self.unreadable(&asked, "the server repeats a continue token"));
            }
            reading.push_back((asked, self.read_aside(&reader, body)));
            if reading.len() > UNREAD
                && let Some(earliest) = reading.pop_front()
            {
                items.extend(self.finished(earliest).await?);
            }
            page = match self.session.get_packed(&following).await {
                Err(e) if e.is_expired() => return self.whole(path, kind, reader).await.map(Some),
                next => next?,
            };
            asked = following;
        }
    }

    /// Requests a list without pages, which cannot expire.
    async fn whole<T: Send + 'static>(
        &self,
        path: &str,
        kind: &str,
        reader: Arc<PageReader<T>>,
    ) -> Result<Dated<T>, Failure> {
        let response = self.session.get(path).await?;
        let kind = kind.to_owned();
        let items = self.session.object(&response, move |body| {
            check_whole(&kind, body)?;
            (reader.read)(body, &Elements::of_answer())
        });
        Ok((items.await?, response.date))
    }

    /// Starts reading a page on another thread.
    fn read_aside<T: Send + 'static>(
        &self,
        reader: &Arc<PageReader<T>>,
        page: Packed,
    ) -> JoinHandle<io::Result<Vec<T>>> {
        let (reader, session) = (Arc::clone(reader), self.session.clone());
        spawn_blocking(move || {
            let items = reader.items(&page);
            session.reuse(page);
            items.map_err(io::Error::other)
        })
    }

    /// Waits for the items of a page; an error names the request.
    async fn finished<T>(
        &self,
        (asked, reading): (String, JoinHandle<io::Result<Vec<T>>>),
    ) -> Result<Vec<T>, Failure> {
        let read = self.session.finished(reading).await;
        read.map_err(|cause| self.unreadable(&asked, cause.to_string()))
    }

    /// Returns the pages that follow a page. They are looked up on this thread where API servers put them, and
    /// beyond that on another thread, because that may take long.
    async fn next(&self, kind: &str, body: Packed) -> (Result<Option<NextPages>, String>, Packed) {
        if let Ok(next) = next_page(kind, IoRead::new(body.reader().take(HEAD))) {
            return (Ok(next), body);
        }
        let kind = kind.to_owned();
        let look = move || Ok((next_page(&kind, IoRead::new(body.reader())), body));
        let looked = self.session.finished(spawn_blocking(look)).await;
        looked.unwrap_or_else(|e| (Err(e.to_string()), Packed::default()))
    }
}

/// Reads the items of pages, and reuses the memory of earlier pages.
pub(super) struct PageReader<T> {
    /// The function that reads the items, and may leave some out.
    read: Read<T>,
    /// A field of the items with a list that is not read.
    unread: Option<&'static str>,
    spare: Mutex<Vec<Vec<u8>>>,
    /// The number of bytes that have been read so far.
    length: LimitedSum,
    /// The number of these bytes in fields that may be kept.
    kept: LimitedSum,
    /// The number of items that are kept.
    count: LimitedSum,
    /// The number of elements in these items.
    elements: LimitedSum,
}

impl<T> PageReader<T> {
    pub(super) fn new(
        read: impl Fn(&[u8], &Elements) -> Result<Vec<T>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            read: Box::new(read),
            unread: None,
            spare: Mutex::default(),
            length: LimitedSum::default(),
            kept: LimitedSum::default(),
            count: LimitedSum::default(),
            elements: LimitedSum::default(),
        }
    }

    fn items(&self, page: &Packed) -> Result<Vec<T>, String> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = spare().pop().unwrap_or_default();
        let content = page.unpack_into(&mut memory).map_err(|e| e.to_string())?;
        let length = content.len();
        self.length.add(length, LONGEST, || {
            format!("the list is longer than {} GiB", LONGEST >> 30)
        })?;
        let Self { read, unread, .. } = self;
        let kept = unread.map_or(length, |field| json::cut_lists(content, field));
        self.kept.add(kept, LONGEST_KEPT, || {
            let most = LONGEST_KEPT >> 30;
            format!("the objects of the list are longer than {most} GiB")
        })?;
        let elements = Elements::of_answer();
        let items = match read(&content[..kept], &elements) {
            // The place in an error must be that in the whole page.
            Err(_) if kept < length => {
                let whole = page.unpack_into(&mut memory).map_err(|e| e.to_string())?;
                read(whole, &Elements::of_answer())?
            }
            items => items?,
        };
        self.elements.add(elements.used(), ELEMENTS, || {
            format!("the objects of the list have more than {ELEMENTS} elements")
        })?;
        self.count.add(items.len(), OBJECTS, too_many)?;
        spare().push(memory);
        Ok(items)
    }
}

/// Returns the cause of failure for a list that is too long to be read.
pub(super) fn too_many() -> String {
    format!("the list has more than {OBJECTS} objects")
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use serde::de::IgnoredAny;

    use super::{Packed, PageReader, json};
    use crate::cluster::http::body::{HeldMemory, MOST};

    #[test]
    fn all_pages_of_a_list_have_a_limit_together() {
        let reader = PageReader::new(|page, elements| {
            json::read_within::<Vec<IgnoredAny>>(page, elements).map(|_| vec![()])
        });
        let page = format!("[{}0]", "0,".repeat(399_999)).into_bytes();
        let page = Packed::new(page, HeldMemory::default(), &HeaderMap::new(), MOST);
        assert!((0..10).all(|_| reader.items(&page).is_ok()));
        let e = reader.items(&page).unwrap_err();
        assert_eq!(e, "the objects of the list have more than 4000000 elements");
    }
}
