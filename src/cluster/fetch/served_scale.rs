//! Scales in answers, in each version that the scale client knows, with the selector as the controller gets
//! it. Follows `convertToScale` of client-go's package `scale`, and its conversions.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::read::read;
use super::{Fetch, check_requested};
use crate::apimachinery::json;
use crate::apimachinery::selector::{LabelSelector, Selector};
use crate::cluster::{Failure, Response};
use crate::saved::wire::{ScaleObject, ScaleStatus};
use crate::snapshot::{Scale, ScaleError};

/// A scale in an answer.
pub(in crate::cluster) struct ServedScale {
    /// The version in which the server has answered, and in which it takes a write.
    pub(in crate::cluster) api_version: String,
    /// The scale, converted.
    pub(in crate::cluster) object: ScaleObject<ServedStatus>,
}

/// The status of a scale in an answer.
pub(in crate::cluster) struct ServedStatus {
    /// The count; 0 if unstated.
    pub(in crate::cluster) replicas: i32,
    /// The selector of the pods, or the reason why the scale cannot be converted.
    selector: Result<String, String>,
}

/// `ScaleStatus` before `autoscaling/v1`: only the text can express all selectors.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OldScaleStatus {
    replicas: i32,
    selector: BTreeMap<String, String>,
    target_selector: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Versioned {
    api_version: String,
}

impl From<ScaleStatus> for ServedStatus {
    fn from(stated: ScaleStatus) -> Self {
        Self {
            replicas: stated.replicas,
            selector: normalized(&stated.selector),
        }
    }
}

impl From<OldScaleStatus> for ServedStatus {
    fn from(stated: OldScaleStatus) -> Self {
        let labels = LabelSelector {
            match_labels: stated.selector,
            ..LabelSelector::default()
        };
        let invalid = |e| format!("invalid label selector: {e}");
        let selector = match &*stated.target_selector {
            "" => labels
                .to_selector()
                .map(|it| it.to_string())
                .map_err(invalid),
            text => normalized(text),
        };
        Self {
            replicas: stated.replicas,
            selector,
        }
    }
}

impl ServedScale {
    /// Reads a scale in any of the versions. Only the values of fields depend on the version.
    fn read(body: &[u8]) -> Result<Self, String> {
        let Versioned { api_version } = read("Scale", body)?;
        let object = match &*api_version {
            "autoscaling/v1" => converted::<ScaleStatus>(body)?,
            "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2" => {
                converted::<OldScaleStatus>(body)?
            }
            other => return Err(format!("the scale has the unknown version {other:?}")),
        };
        Ok(Self {
            api_version,
            object,
        })
    }

    /// Reads the scale of a namespace and name. An aggregated API may leave them out.
    fn read_of(body: &[u8], requested: &[String; 2]) -> Result<Self, String> {
        let served = Self::read(body)?;
        let [namespace, name] = requested;
        let metadata = &served.object.metadata;
        let found = Some(&metadata.name).filter(|it| !it.is_empty());
        let stated = [
            metadata.namespace.as_ref().unwrap_or(namespace),
            found.unwrap_or(name),
        ];
        check_requested(stated.map(String::as_str), [namespace, name])?;
        Ok(served)
    }

    /// Returns the values that a pass needs, or the controller's outcome without them.
    pub(super) fn scale(self) -> Result<Scale, ScaleError> {
        let ServedStatus { replicas, selector } = self.object.status;
        match selector {
            Ok(text) => Ok(Scale {
                spec_replicas: self.object.spec.replicas,
                status_replicas: replicas,
                selector: text.into(),
            }),
            Err(e) => Err(ScaleError::Get(format!(
                "received an object from a /scale endpoint which was not convertible to autoscaling Scale: {e}"
            ))),
        }
    }
}

impl Fetch<'_> {
    /// Reads the scale of the target of this name in an answer.
    pub(in crate::cluster) async fn served_scale(
        &self,
        response: &Response,
        name: &str,
    ) -> Result<ServedScale, Failure> {
        let requested = [self.namespace, name].map(str::to_owned);
        let read = move |body: &[u8]| ServedScale::read_of(body, &requested);
        self.session.object(response, read).await
    }
}

fn converted<S>(body: &[u8]) -> Result<ScaleObject<ServedStatus>, String>
where
    S: Default + DeserializeOwned + Into<ServedStatus>,
{
    let ScaleObject {
        metadata,
        spec,
        status,
    } = json::read::<ScaleObject<S>>(body)?;
    Ok(ScaleObject {
        metadata,
        spec,
        status: status.into(),
    })
}

/// Returns the text of a selector as the scale client prints it.
fn normalized(text: &str) -> Result<String, String> {
    let unparsed = |e| format!("couldn't parse the selector string \"{text}\": {e}");
    let parsed = Selector::parse(text).map_err(unparsed);
    let normal = parsed.and_then(|it| it.normalized().map_err(|e| e.to_string()));
    let selector = normal.map_err(|e| format!("failed to parse target selector: {e}"))?;
    Ok(selector.to_string())
}

#[cfg(test)]
mod tests {
    use super::{ScaleError, ServedScale};

    #[test]
    fn a_scale_is_converted_as_by_the_client() {
        let (text, old) = ("autoscaling/v1", "extensions/v1beta1");
        let unconverted = "received an object from a /scale endpoint which was not convertible to \
                           autoscaling Scale: ";
        let unparsed = format!("{unconverted}failed to parse target selector: ");
        for (version, status, want) in [
            (text, r#"{"replicas":3}"#, Ok("")),
            (
                text,
                r#"{"replicas":3,"selector":"b==c, a=b"}"#,
                Ok("a=b,b=c"),
            ),
            (old, r#"{"replicas":3}"#, Ok("")),
            (old, r#"{"replicas":3,"selector":null}"#, Ok("")),
            (
                old,
                r#"{"replicas":3,"selector":{"b":"c","a":"b"}}"#,
                Ok("a=b,b=c"),
            ),
            (
                "apps/v1beta1",
                r#"{"replicas":3,"targetSelector":"a in (c,b)"}"#,
                Ok("a in (b,c)"),
            ),
            (
                "apps/v1beta2",
                r#"{"replicas":3,"selector":{"a":"b"},"targetSelector":"c"}"#,
                Ok("c"),
            ),
            (
                text,
                r#"{"selector":"a!=b"}"#,
                Err("\"!=\" is not a valid label selector operator"),
            ),
            (
                old,
                r#"{"selector":{"a":"b"},"targetSelector":"a=,=b"}"#,
                Err(
                    "couldn't parse the selector string \"a=,=b\": found '=', expected: identifier after ','",
                ),
            ),
        ] {
            let body = format!(
                r#"{{"kind":"Scale","apiVersion":"{version}","spec":{{"replicas":2}},"status":{status}}}"#
            );
            let served = ServedScale::read(body.as_bytes()).unwrap();
            assert_eq!(served.api_version, version);
            let got = served.scale().map(|it| {
                assert_eq!((it.spec_replicas, it.status_replicas), (2, 3), "{body}");
                it.selector.as_str().to_owned()
            });
            let want = want.map(str::to_owned);
            assert_eq!(
                got,
                want.map_err(|e| ScaleError::Get(format!("{unparsed}{e}"))),
                "{body}"
            );
        }
        for (body, want) in [
            (
                r#"{"kind":"Scale","apiVersion":"apps/v2","status":{"selector":{}}}"#,
                r#"the scale has the unknown version "apps/v2""#,
            ),
            (
                r#"{"kind":"Scale"}"#,
                r#"the scale has the unknown version """#,
            ),
            (r#"{"kind":"Pod"}"#, r#"the kind is "Pod", not "Scale""#),
        ] {
            let read = ServedScale::read(body.as_bytes());
            assert_eq!(read.err().as_deref(), Some(want));
        }
    }
}
