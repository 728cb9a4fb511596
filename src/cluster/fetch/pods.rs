//! Lists that may be long, page after page: the pods of a target, and HPAs.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use tokio::join;
use tokio::task::spawn_blocking;

use super::super::Failure;
use super::super::discovery::segment;
use super::read::{List, next_page};
use super::{Fetch, JSON};
use crate::snapshot::pod::Pod;

/// As many objects a page as kubectl asks for.
const PAGE: usize = 500;

impl Fetch<'_> {
    /// All pods of a selector.
    pub(super) async fn pods(&self, selector: &str) -> Result<Vec<Pod>, Failure> {
        let (namespace, selector) = (segment(self.namespace), segment(selector));
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        Ok(self.pages(&path, &format!("labelSelector={selector}"), "PodList").await?.0)
    }

    /// All items of a list with the server's clock at its start; from the start again where a
    /// page's token expires. While a page comes, another thread reads the one before.
    pub(super) async fn pages<T: DeserializeOwned + Send + 'static>(
        &self,
        path: &str,
        query: &str,
        kind: &str,
    ) -> Result<(Vec<T>, Option<Timestamp>), Failure> {
        let and = if query.is_empty() { "" } else { "&" };
        let pages = format!("{path}?{query}{and}limit={PAGE}");
        let mut asked = pages.clone();
        let mut page = self.session.get(&asked, JSON).await?;
        let date = page.date;
        let mut items = Vec::new();
        loop {
            let unreadable = |cause| self.unreadable(&asked, cause);
            let Some(token) = next_page(kind, &page.body).map_err(unreadable)? else {
                items.extend(read_items(&page.body).map_err(unreadable)?);
                return Ok((items, date));
            };
            let following = format!("{pages}&continue={}", segment(&token));
            let (read, next) = join!(
                spawn_blocking(move || read_items(&page.body)),
                self.session.get(&following, JSON),
            );
            let read = read.unwrap_or_else(|e| Err(e.to_string()));
            items.extend(read.map_err(unreadable)?);
            page = match next {
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
}

fn read_items<T: DeserializeOwned>(page: &[u8]) -> Result<Vec<T>, String> {
    let page: List<T> = serde_json::from_slice(page).map_err(|e| e.to_string())?;
    Ok(page.items.unwrap_or_default())
}
