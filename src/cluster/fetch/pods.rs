//! The pods of a target, page after page.

use super::super::Failure;
use super::super::discovery::segment;
use super::{Fetch, List};
use crate::snapshot::pod::Pod;

/// As many pods a page as kubectl asks for.
const PAGE: usize = 500;

impl Fetch<'_> {
    /// All pods of a selector, page after page; from the start again where a page's token expires.
    pub(super) async fn pods(&self, selector: &str) -> Result<Vec<Pod>, Failure> {
        let (namespace, selector) = (segment(self.namespace), segment(selector));
        let base = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={selector}");
        let mut pods = Vec::new();
        let mut token = String::new();
        loop {
            let path = format!("{base}&limit={PAGE}{token}");
            let page: List<Pod> = match self.json(&path, "PodList").await {
                Err(e) if e.is_expired() && !token.is_empty() => {
                    // One list without pages cannot expire.
                    let list: List<Pod> = self.json(&base, "PodList").await?;
                    return Ok(list.items.unwrap_or_default());
                }
                page => page?,
            };
            pods.extend(page.items.into_iter().flatten());
            match page.metadata.and_then(|metadata| metadata.next).filter(|next| !next.is_empty()) {
                Some(next) => token = format!("&continue={}", segment(&next)),
                None => return Ok(pods),
            }
        }
    }
}
