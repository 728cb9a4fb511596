//! Reads the bodies of answers. An object's kind and list metadata are read first, so that an
//! unexpected object is reported as such, and the next page of a list can be requested before the items
//! of this one are read.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::de::{Read, SliceRead};

use crate::apimachinery::json::{self, Elements, expecting};
use crate::cluster::http::body::MOST;
use crate::snapshot::shared::{Share, Shared, Sharing};

/// A list of objects, or a page of one.
#[derive(Deserialize)]
pub(super) struct List<T> {
    #[serde(default = "Vec::new")]
    pub(super) items: Vec<T>,
}

/// A list of objects, or a page of one, whose items share their common parts.
#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de> + Share")]
pub(super) struct SharingList<T> {
    items: Option<Sharing<T>>,
}

impl<T> SharingList<T> {
    pub(super) fn items(self) -> Vec<Shared<T>> {
        self.items.map(|items| items.0).unwrap_or_default()
    }
}

/// Reads an object of a kind; an empty kind accepts any object.
pub(in super::super) fn read<T: DeserializeOwned>(kind: &str, body: &[u8]) -> Result<T, String> {
    read_within(kind, body, &Elements::of_answer())
}

/// Reads an object of a kind with at most these elements.
pub(super) fn read_within<T: DeserializeOwned>(
    kind: &str,
    body: &[u8],
    elements: &Elements,
) -> Result<T, String> {
    if !kind.is_empty() {
        check_whole(kind, body)?;
    }
    json::read_within(body, elements)
}

/// Checks that an answer is of a kind, and not the first page of a list, all of which was requested.
pub(super) fn check_whole(kind: &str, body: &[u8]) -> Result<(), String> {
    next_page(kind, SliceRead::new(body))?.map_or(Ok(()), |_| {
        Err("the list has more pages (continue), although all of it was requested".to_owned())
    })
}

/// A sum with a limit, to which several threads add.
#[derive(Debug, Default)]
pub(super) struct LimitedSum(AtomicUsize);

impl LimitedSum {
    /// Adds a number. Fails for `cause` if the sum is then larger than `most`.
    pub(super) fn add(
        &self,
        number: usize,
        most: usize,
        cause: impl FnOnce() -> String,
    ) -> Result<(), String> {
        if self.0.fetch_add(number, Ordering::Relaxed) + number > most {
            return Err(cause());
        }
        Ok(())
    }
}

/// The limit for several answers that are kept together: the same as for one.
#[derive(Debug, Default)]
pub(super) struct Together {
    bytes: LimitedSum,
    elements: LimitedSum,
}

impl Together {
    /// Reads one of the answers.
    pub(super) fn read<T>(
        &self,
        body: &[u8],
        read: impl FnOnce(&Elements) -> Result<T, String>,
    ) -> Result<T, String> {
        self.bytes.add(body.len(), MOST, || {
            let most = MOST >> 20;
            format!("the answers of all metrics are larger than {most} MiB")
        })?;
        let elements = Elements::of_answer();
        let answer = read(&elements)?;
        self.elements.add(elements.used(), Elements::MOST, || {
            let most = Elements::MOST;
            format!("the answers of all metrics have more than {most} elements")
        })?;
        Ok(answer)
    }
}

/// The pages after one.
pub(super) struct NextPages {
    /// The token of the first of these pages.
    pub(super) token: String,
    /// The number of objects in these pages, if the server knows.
    pub(super) objects: Option<usize>,
}

/// Returns the pages that follow a page, if any. Reads no further than necessary: up to the items, in lists
/// as API servers write them.
///
/// # Errors
///
/// The object is of another kind, or malformed up to there.
pub(super) fn next_page<'de>(
    kind: &str,
    body: impl Read<'de>,
) -> Result<Option<NextPages>, String> {
    let mut head = Head::default();
    let read = head.deserialize(&mut serde_json::Deserializer::new(body));
    match read {
        // Stopping early makes the parser fail.
        Err(e) if !head.is_complete() => return Err(json::message(&e)),
        _ => {}
    }
    let found = head.kind.unwrap_or_default();
    if found != kind {
        return Err(format!("the kind is {found:?}, not {kind:?}"));
    }
    let ListMeta {
        next,
        remaining_item_count: objects,
    } = head.metadata.unwrap_or_default();
    Ok(next
        .filter(|token| !token.is_empty())
        .map(|token| NextPages { token, objects }))
}

/// The kind and metadata of an object.
#[derive(Default)]
struct Head {
    kind: Option<String>,
    metadata: Option<ListMeta>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    #[serde(rename = "continue")]
    next: Option<String>,
    remaining_item_count: Option<usize>,
}

impl Head {
    fn is_complete(&self) -> bool {
        self.kind.is_some() && self.metadata.is_some()
    }
}

impl<'de> DeserializeSeed<'de> for &mut Head {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();

    expecting!("an object");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while !self.is_complete()
            && let Some(key) = map.next_key::<String>()?
        {
            match key.as_str() {
                "kind" => self.kind = map.next_value()?,
                "metadata" => self.metadata = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{SliceRead, Together, check_whole, next_page, read_within};

    #[test]
    fn answers_of_metrics_have_a_limit_together() {
        let together = Together::default();
        let list = format!("[{}0]", "0,".repeat(199_999));
        let read = |body: &[u8]| {
            let read = together.read(body, |most| read_within::<Vec<i32>>("", body, most));
            read.map(|list| list.len())
        };
        assert_eq!(
            [read(list.as_bytes()), read(list.as_bytes())],
            [Ok(200_000), Ok(200_000)]
        );
        let e = read(list.as_bytes()).unwrap_err();
        assert_eq!(
            e,
            "the answers of all metrics have more than 500000 elements"
        );
        let together = Together::default();
        let read = |body: &[u8]| together.read(body, |_| Ok(()));
        let long = vec![b' '; 100 << 20];
        assert_eq!(read(&long), Ok(()));
        assert_eq!(
            read(&long).unwrap_err(),
            "the answers of all metrics are larger than 128 MiB"
        );
    }

    #[test]
    fn the_token_is_found_before_the_items_are_read() {
        for (body, want) in [
            (
                r#"{"kind":"PodList","metadata":{"continue":"abc"},"items":[{"#,
                Ok(Some("abc")),
            ),
            (
                r#"{"kind":"PodList","metadata":{"continue":""},"items":[{"#,
                Ok(None),
            ),
            (r#"{"kind":"PodList","metadata":{},"items":[]}"#, Ok(None)),
            (r#"{"kind":"PodList","items":[]}"#, Ok(None)),
            (
                r#"{"kind":"PodList","metadata":null,"items":null}"#,
                Ok(None),
            ),
            (
                r#"{"metadata":{"continue":"abc"},"items":[{}],"kind":"PodList"}"#,
                Ok(Some("abc")),
            ),
            (
                r#"{"items":[{}],"metadata":{"continue":"abc"},"kind":"PodList"}"#,
                Ok(Some("abc")),
            ),
            (
                r#"{"kind":"Table","metadata":{},"rows":["#,
                Err(r#"the kind is "Table", not"#),
            ),
            (
                r#"{"metadata":{},"items":[]}"#,
                Err(r#"the kind is "", not"#),
            ),
            (r#"{"metadata":{},"items":["#, Err("EOF while parsing")),
            ("<html>", Err("expected value")),
            ("[]", Err("a list, expected an object")),
        ] {
            let got = next_page("PodList", SliceRead::new(body.as_bytes()));
            match (&got, want) {
                (Ok(next), Ok(want)) => {
                    assert_eq!(next.as_ref().map(|next| &*next.token), want, "{body}");
                    let whole = check_whole("PodList", body.as_bytes());
                    assert_eq!(whole.is_ok(), want.is_none(), "{body}");
                }
                (Err(e), Err(want)) => assert!(e.contains(want), "{body}: {e}"),
                _ => panic!("{body}: {:?}", got.err()),
            }
        }
    }
}
