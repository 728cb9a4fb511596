//! Lists that may be long, page after page: the pods of a target, and HPAs.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::de::IoRead;
use tokio::task::{JoinHandle, spawn_blocking};

use super::super::Failure;
use super::read::{List, next_page};
use super::{Fetch, JSON};
use crate::apimachinery::json;
use crate::cluster::fetch::discovery::segment;
use crate::cluster::http::body::Packed;
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;

/// As far as a page is read for what it says about itself: far more than API servers take for it.
const HEAD: u64 = 64 << 10;

/// As many objects a page as kubectl asks for.
const PAGE: usize = 500;

/// As many pages may follow one another: a list of 100,000 objects.
const PAGES: usize = 200;

/// As long may all pages of a list be together, inflated.
const LONGEST: usize = 2 << 30;

/// As many pages wait to be read, or are, before the next one is asked for.
const UNREAD: usize = 4;

impl Fetch<'_> {
    /// All pods of a selector.
    pub(super) async fn pods(&self, selector: &str) -> Result<Vec<Shared<Pod>>, Failure> {
        let (namespace, selector) = (segment(self.namespace), segment(selector));
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        Ok(self.pages(&path, &format!("labelSelector={selector}"), "PodList").await?.0)
    }

    /// All items of a list with the server's clock at its start; from the start again where a
    /// page's token expires. While a page comes, other threads read those before.
    pub(super) async fn pages<T: DeserializeOwned + Send + 'static>(
        &self,
        path: &str,
        query: &str,
        kind: &str,
    ) -> Result<(Vec<T>, Option<Timestamp>), Failure> {
        let and = if query.is_empty() { "" } else { "&" };
        let pages = format!("{path}?{query}{and}limit={PAGE}");
        let mut asked = pages.clone();
        let mut page = self.session.get_packed(&asked, JSON).await?;
        let date = page.date;
        let reader = Arc::new(Reader::default());
        let mut read = Vec::new();
        let mut reading = VecDeque::new();
        let mut tokens = HashSet::new();
        loop {
            let (token, body) = self.token(kind, page.body).await;
            page.body = body;
            let token = token.map_err(|cause| self.unreadable(&asked, cause))?;
            if let Some(token) = &token
                && (!tokens.insert(token.clone()) || tokens.len() >= PAGES)
            {
                let cause = match tokens.len() {
                    PAGES.. => format!("the list has more than {PAGES} pages"),
                    _ => "the server repeats a continue token".to_owned(),
                };
                return Err(self.unreadable(&asked, cause));
            }
            if token.is_none() && reading.is_empty() {
                let items = reader.items(&page.body);
                return Ok((items.map_err(|cause| self.unreadable(&asked, cause))?, date));
            }
            let (reader, session, body) = (Arc::clone(&reader), self.session.clone(), page.body);
            let read_page = move || {
                let items = reader.items(&body);
                session.reuse(body);
                items.map_err(io::Error::other)
            };
            reading.push_back((asked, spawn_blocking(read_page)));
            let Some(token) = token else {
                for earlier in reading {
                    read.push(self.finished(earlier).await?);
                }
                return Ok((in_one(read), date));
            };
            if reading.len() > UNREAD
                && let Some(earliest) = reading.pop_front()
            {
                read.push(self.finished(earliest).await?);
            }
            let following = format!("{pages}&continue={}", segment(&token));
            page = match self.session.get_packed(&following, JSON).await {
                Err(e) if e.is_expired() => {
                    // One list without pages cannot expire.
                    let whole = format!("{path}?{query}");
                    let (list, date): (List<T>, _) = self.dated(&whole, kind).await?;
                    return Ok((list.items.unwrap_or_default(), date));
                }
                next => next?,
            };
            asked = following;
        }
    }

    /// The items of a page, with what was asked for.
    async fn finished<T>(
        &self,
        (asked, reading): (String, JoinHandle<io::Result<Vec<T>>>),
    ) -> Result<Vec<T>, Failure> {
        let read = self.session.finished(reading).await;
        read.map_err(|cause| self.unreadable(&asked, cause.to_string()))
    }

    /// The token of the page after this one. It is looked for on this thread where API servers have
    /// it, and on another beyond that, where it may take long.
    async fn token(&self, kind: &str, body: Packed) -> (Result<Option<String>, String>, Packed) {
        if let Ok(token) = next_page(kind, IoRead::new(body.reader().take(HEAD))) {
            return (Ok(token), body);
        }
        let kind = kind.to_owned();
        let look = move || Ok((next_page(&kind, IoRead::new(body.reader())), body));
        let looked = self.session.finished(spawn_blocking(look)).await;
        looked.unwrap_or_else(|e| (Err(e.to_string()), Packed::default()))
    }
}

/// Reads pages, in memory that has served before where there is some.
#[derive(Default)]
struct Reader {
    spare: Mutex<Vec<Vec<u8>>>,
    /// How much has been read.
    length: AtomicUsize,
}

impl Reader {
    fn items<T: DeserializeOwned>(&self, page: &Packed) -> Result<Vec<T>, String> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = spare().pop().unwrap_or_default();
        let content = page.unpack_into(&mut memory).map_err(|e| e.to_string())?;
        if self.length.fetch_add(content.len(), Ordering::Relaxed) + content.len() > LONGEST {
            return Err(format!("the list is longer than {} GiB", LONGEST >> 30));
        }
        let page: List<T> = json::read(content)?;
        spare().push(memory);
        Ok(page.items.unwrap_or_default())
    }
}

/// The items of all pages; they are moved once, however many there are.
fn in_one<T>(pages: Vec<Vec<T>>) -> Vec<T> {
    let mut items = Vec::with_capacity(pages.iter().map(Vec::len).sum());
    items.extend(pages.into_iter().flatten());
    items
}
