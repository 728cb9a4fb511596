//! Lists that may be long, page after page: the pods of a target, and HPAs.

use jiff::Timestamp;
use serde::Deserialize;

use super::super::Failure;
use super::super::discovery::segment;
use super::{Fetch, List};
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
    /// page's token expires.
    pub(super) async fn pages<T: for<'de> Deserialize<'de>>(
        &self,
        path: &str,
        query: &str,
        kind: &str,
    ) -> Result<(Vec<T>, Option<Timestamp>), Failure> {
        let and = if query.is_empty() { "" } else { "&" };
        let mut items = Vec::new();
        let mut date = None;
        let mut token = String::new();
        loop {
            let page = format!("{path}?{query}{and}limit={PAGE}{token}");
            let (page, answered): (List<T>, _) = match self.dated(&page, kind).await {
                Err(e) if e.is_expired() && !token.is_empty() => {
                    // One list without pages cannot expire.
                    let whole = format!("{path}?{query}");
                    let (list, date): (List<T>, _) = self.dated(&whole, kind).await?;
                    return Ok((list.items.unwrap_or_default(), date));
                }
                page => page?,
            };
            date = date.or(answered);
            items.extend(page.items.into_iter().flatten());
            match page.metadata.and_then(|metadata| metadata.next).filter(|next| !next.is_empty()) {
                Some(next) => token = format!("&continue={}", segment(&next)),
                None => return Ok((items, date)),
            }
        }
    }
}
