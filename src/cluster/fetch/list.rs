//! Several HPAs at once. First, the HPAs are listed. Then the objects that the passes of a namespace need
//! are fetched for a few namespaces at a time, and listed for all namespaces where that takes fewer
//! requests. If something cannot be read for one HPA, the others still get their answers. Earlier states of
//! the HPAs are not requested.

use std::collections::HashSet;

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt, stream};
use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::join;

use super::super::{Failure, Session};
use super::common::{AboutAll, Answers, Common, Whole, by_namespace};
use super::discovery::Discovery;
use super::items::{HPAS, HpaItem, unreadable};
use super::namespace::answer;
use super::optional::{is_unserved, unserved};
use super::surroundings::Wish;
use super::{AT_ONCE, Fetch, GRACE, ReadingTime, graceful, hpas_path, needs_discovery};
use crate::args::Named;
use crate::cluster::progress::Progress;
use crate::error::Error;
use crate::snapshot::Listed;
use crate::snapshot::right::MissingRight;
use crate::snapshot::selection::Selection;

/// Fetches the selected HPAs of one or all namespaces, and everything that their passes need. Their places
/// are ordered by namespace and name, followed by an error for each name that matches none of them. Returns
/// the rights that lists lacked, so that more was requested HPA by HPA.
///
/// # Errors
///
/// The list itself cannot be read.
pub async fn fetch_all(
    session: &Session,
    namespace: Option<&str>,
    selection: &Selection,
    progress: &Progress,
    answers: &Answers<'_>,
) -> Result<Vec<MissingRight>, Error> {
    let (asked, about) = (
        &Fetch::new(session, session.namespace()),
        &AboutAll::default(),
    );
    // Each namespace repeats a request once it is refused for all namespaces.
    let vpas = async {
        let wish = Wish::vertical_pod_autoscalers(namespace);
        let read = asked.surrounding(wish.clone(), &about.surroundings).await;
        about.refuses_vpas.set(!read && namespace.is_none());
        let vpas = about.surroundings.take(&wish).vertical_pod_autoscalers;
        *about.vpas.borrow_mut() = by_namespace(vpas, |it| it.metadata.namespace.as_deref());
    }
    .boxed_local()
    .shared();
    let events = async {
        let grouped = async || {
            let all = asked.events(namespace, None).await?;
            Ok(by_namespace(all, |event| Some(&event.namespace)))
        };
        about.events.get_or_init(grouped).await;
    }
    .boxed_local()
    .shared();
    let others = [vpas.clone(), events.clone()];
    let more = async {
        join!(
            about.version.get_or_init(|| asked.version()),
            asked.controller(&about.controller),
            join_all(others)
        );
    }
    .boxed_local()
    .shared();
    let whole = Whole {
        namespace,
        about,
        more: more.clone(),
        vpas,
        events,
        progress,
        answers,
    };
    let needed = asked.list(selection, &whole);
    // An API server of another version may not serve the list.
    let grace = |needed: &Result<_, Failure>| {
        let is_404 = needed.as_ref().is_err_and(Failure::is_404);
        is_404.then_some(GRACE)
    };
    let refused = graceful(needed, &more, grace).await.map_err(|e| {
        if is_unserved(&e, &about.version) {
            unserved(&about.version)
        } else {
            e.into()
        }
    })?;
    for right in &refused {
        session.note(format!("requested HPA by HPA: {}", right.advice()));
    }
    Ok(refused)
}

/// Returns the error about an HPA that is not in the list, in the server's words.
fn no_hpa(name: &str) -> Error {
    let reason = "NotFound".to_owned();
    let message = format!(
        "Error from server ({reason}): horizontalpodautoscalers.autoscaling \"{name}\" not found"
    );
    Error {
        reason: Some(reason),
        ..Error::bare(message)
    }
}

impl Fetch<'_> {
    async fn list(
        &self,
        selection: &Selection,
        whole: &Whole<'_>,
    ) -> Result<Vec<MissingRight>, Failure> {
        let (mut items, date) = self.items(whole.namespace, selection).await?;
        let read = ReadingTime::now(date);
        let wanted = items.iter().filter(|item| item.wanted);
        whole.progress.expect(wanted.clone().count());
        let namespaces: HashSet<String> = wanted.map(|item| item.namespace.clone()).collect();
        let missing: Vec<&Named> = selection
            .missing(|named| items.iter().any(|item| item.is(named)))
            .collect();
        let unreadable = unreadable(items.iter().filter_map(HpaItem::failure));
        items.retain(|item| namespaces.contains(&item.namespace));
        self.session.read_many();

        let mut hpas = items.iter().filter_map(|item| item.hpa.as_ref().ok());
        let discovery = if hpas.any(needs_discovery) {
            Discovery::ask(self.session).await
        } else {
            Ok(Discovery::default())
        };
        let common = &Common { read, discovery };
        let mut place = 0;
        let answers: Vec<_> = items
            .chunk_by(|one, other| one.namespace == other.namespace)
            .map(|items| {
                let first = place;
                place += items.iter().filter(|item| item.wanted).count();
                async move {
                    (
                        first,
                        answer(self.session, items, first, common, whole).await,
                    )
                }
            })
            .collect();
        let mut refused: Vec<(usize, Vec<MissingRight>)> = stream::iter(answers)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        refused.sort_by_key(|(first, _)| *first);
        for (place, named) in (place..).zip(missing) {
            let why = match named {
                Named::Hpa(name) => no_hpa(name),
                Named::Target(_) => Error {
                    hint: unreadable.clone(),
                    ..Error::failed("no HorizontalPodAutoscaler has this target")
                },
            };
            let namespace = whole.namespace.unwrap_or_default().to_owned();
            (whole.answers)(place, Listed::missing(namespace, named, why));
        }
        Ok(refused
            .into_iter()
            .flat_map(|(_, refused)| refused)
            .collect())
    }

    /// Lists all HPAs. The requested ones are selected here, because the others may select the same pods.
    pub(super) async fn items(
        &self,
        namespace: Option<&str>,
        selection: &Selection,
    ) -> Result<(Vec<HpaItem>, Option<Timestamp>), Failure> {
        let path = hpas_path(namespace);
        let (list, date): (Vec<Box<RawValue>>, _) = self.pages(&path, HPAS).await?;
        let mut items = self.read_items(&path, namespace, list).await?;
        items.iter_mut().for_each(|item| item.select(selection));
        items.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok((items, date))
    }
}
