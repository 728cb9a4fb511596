//! Lists that may be long, page by page: the pods of a target, and HPAs.

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

/// How much of a page is searched for its metadata first: far more than API servers need for it.
const HEAD: u64 = 64 << 10;

/// Objects per page, the same as in kubectl.
const PAGE: usize = 500;

/// The maximum number of pages: a list of 100,000 objects.
const PAGES: usize = 200;

/// The maximum length of all pages of a list together, inflated.
const LONGEST: usize = 2 << 30;

/// How many pages may be unread, or being read, before the next one is requested.
const UNREAD: usize = 4;

impl Fetch<'_> {
    /// Returns all pods that a selector matches.
    pub(super) async fn pods(&self, selector: &str) -> Result<Vec<Shared<Pod>>, Failure> {
        let (namespace, selector) = (segment(self.namespace), segment(selector));
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        Ok(self.pages(&path, &format!("labelSelector={selector}"), "PodList").await?.0)
    }

    /// Returns all items of a list, with the server's clock at its start; starts again if a continue
    /// token expires. While a page is on its way, other threads read the previous ones.
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
                    // A single list without pages cannot expire.
                    let whole = format!("{path}?{query}");
                    let (list, date): (List<T>, _) = self.dated(&whole, kind).await?;
                    return Ok((list.items.unwrap_or_default(), date));
                }
                next => next?,
            };
            asked = following;
        }
    }

    /// Waits for the items of a page; an error names the request.
    async fn finished<T>(
        &self,
        (asked, reading): (String, JoinHandle<io::Result<Vec<T>>>),
    ) -> Result<Vec<T>, Failure> {
        let read = self.session.finished(reading).await;
        read.map_err(|cause| self.unreadable(&asked, cause.to_string()))
    }

    /// Returns the token of the next page. It is searched for on this thread where API servers put it,
    /// and beyond that on another thread, because that may take long.
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

/// Reads pages, and reuses the memory of earlier ones.
#[derive(Default)]
struct Reader {
    spare: Mutex<Vec<Vec<u8>>>,
    /// How much has been read so far.
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

/// Joins the items of all pages; each is moved once, however many pages there are.
fn in_one<T>(pages: Vec<Vec<T>>) -> Vec<T> {
    let mut items = Vec::with_capacity(pages.iter().map(Vec::len).sum());
    items.extend(pages.into_iter().flatten());
    items
}
