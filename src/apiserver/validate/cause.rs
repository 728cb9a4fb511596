//! The causes of a rejection in the API server's words, and the paths of the fields that they name. Nothing
//! is decided here. Follows `field.Error` and `field.Path` of apimachinery, and `errors.NewInvalid`.

use std::collections::BTreeSet;
use std::fmt;

use crate::apimachinery::go;
use crate::apimachinery::json::shortened;

/// One reason why the API server rejects an object; prints as `field: message`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// The field, such as `spec.metrics[0].type`.
    pub field: String,
    /// The fault, such as `Required value: must specify a metric name`.
    pub message: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// The reasons for which an object is invalid; prints as the API server's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The object's name.
    pub name: String,
    /// Every reason, in the API server's order; a reason may appear twice.
    pub causes: Vec<Cause>,
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Shown::Text(&self.name);
        write!(f, "HorizontalPodAutoscaler.autoscaling {name} is invalid: ")?;
        let mut seen = BTreeSet::new();
        let causes: Vec<String> = self
            .causes
            .iter()
            .filter(|cause| seen.insert(*cause))
            .map(Cause::to_string)
            .collect();
        match causes.as_slice() {
            [cause] => f.write_str(cause),
            causes => write!(f, "[{}]", causes.join(", ")),
        }
    }
}

/// A value that a message shows; for a long one, its start and end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shown<'a> {
    /// A Go `string`, quoted by `%q`.
    Text(&'a str),
    /// A named string type or a quantity, which upstream marshals to JSON.
    Json(&'a str),
    /// A number.
    Number(i64),
    /// Text that is already JSON.
    Raw(&'a str),
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shown::Text(text) => f.write_str(&go::quote(&shortened(text))),
            Shown::Json(text) => f.write_str(&go::json_string(&shortened(text))),
            Shown::Number(number) => write!(f, "{number}"),
            Shown::Raw(text) => f.write_str(&shortened(text)),
        }
    }
}

/// The path of a field, and the messages about its faults.
#[derive(Debug, Clone)]
pub(crate) struct FaultPath(String);

impl FaultPath {
    pub(crate) fn new(root: &str) -> Self {
        Self(root.to_owned())
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        Self(format!("{}.{name}", self.0))
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        Self(format!("{}[{}]", self.0, shortened(key)))
    }

    pub(crate) fn duplicate(&self, value: &str) -> Cause {
        self.cause(format!("Duplicate value: {}", Shown::Text(value)))
    }

    pub(crate) fn required(&self, detail: &str) -> Cause {
        let separator = if detail.is_empty() { "" } else { ": " };
        self.cause(format!("Required value{separator}{detail}"))
    }

    pub(crate) fn forbidden(&self, detail: &str) -> Cause {
        self.cause(format!("Forbidden: {detail}"))
    }

    pub(crate) fn invalid(&self, value: Shown<'_>, detail: &str) -> Cause {
        self.cause(format!("Invalid value: {value}: {detail}"))
    }

    /// Returns a cause for each fault of a text.
    pub(crate) fn faults(&self, text: &str, details: &[String]) -> Vec<Cause> {
        details
            .iter()
            .map(|detail| self.invalid(Shown::Text(text), detail))
            .collect()
    }

    pub(crate) fn not_supported(&self, value: &str, supported: &[&str]) -> Cause {
        let value = Shown::Json(value);
        let names: Vec<String> = supported
            .iter()
            .map(|name| Shown::Text(name).to_string())
            .collect();
        self.cause(format!(
            "Unsupported value: {value}: supported values: {}",
            names.join(", ")
        ))
    }

    pub(crate) fn too_long(&self, bytes: usize) -> Cause {
        self.cause(format!("Too long: may not be more than {bytes} bytes"))
    }

    fn cause(&self, message: String) -> Cause {
        Cause {
            field: self.0.clone(),
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_worded_as_upstream_words_them() {
        let path = FaultPath::new("spec").child("metrics").index(1);
        for (cause, want) in [
            (path.required(""), "spec.metrics[1]: Required value"),
            (
                path.required("must"),
                "spec.metrics[1]: Required value: must",
            ),
            (path.forbidden("no"), "spec.metrics[1]: Forbidden: no"),
            (
                path.invalid(Shown::Text("x"), "no"),
                r#"spec.metrics[1]: Invalid value: "x": no"#,
            ),
            (
                path.not_supported("x", &["A", "B"]),
                r#"spec.metrics[1]: Unsupported value: "x": supported values: "A", "B""#,
            ),
            (
                path.too_long(9),
                "spec.metrics[1]: Too long: may not be more than 9 bytes",
            ),
        ] {
            assert_eq!(cause.to_string(), want);
        }
    }
}
