//! The causes of a rejection in the API server's words, and the paths of the fields that they name. Nothing
//! is decided here. Follows `field.Error` and `field.Path` of apimachinery, and `errors.NewInvalid`.

use std::cell::RefCell;
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

/// The causes that have been found so far.
pub(super) type Causes = RefCell<Vec<Cause>>;

/// The path of a field, with the list to which the causes there are added.
#[derive(Debug)]
pub(crate) struct FaultPath<'c> {
    path: String,
    causes: &'c Causes,
}

impl<'c> FaultPath<'c> {
    pub(crate) fn new(root: &str, causes: &'c Causes) -> Self {
        Self {
            path: root.to_owned(),
            causes,
        }
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        self.step(&format!(".{name}"))
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        self.step(&format!("[{index}]"))
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        self.step(&format!("[{}]", shortened(key)))
    }

    fn step(&self, step: &str) -> Self {
        Self::new(&format!("{}{step}", self.path), self.causes)
    }

    pub(crate) fn duplicate(&self, value: &str) {
        self.add(format!("Duplicate value: {}", Shown::Text(value)));
    }

    pub(crate) fn required(&self, detail: &str) {
        let separator = if detail.is_empty() { "" } else { ": " };
        self.add(format!("Required value{separator}{detail}"));
    }

    pub(crate) fn forbidden(&self, detail: &str) {
        self.add(format!("Forbidden: {detail}"));
    }

    pub(crate) fn invalid(&self, value: Shown<'_>, detail: &str) {
        self.add(format!("Invalid value: {value}: {detail}"));
    }

    /// Adds a cause for each fault of a text.
    pub(crate) fn faults(&self, text: &str, details: &[String]) {
        for detail in details {
            self.invalid(Shown::Text(text), detail);
        }
    }

    pub(crate) fn not_supported(&self, value: &str, supported: &[&str]) {
        let value = Shown::Json(value);
        let names: Vec<String> = supported
            .iter()
            .map(|name| Shown::Text(name).to_string())
            .collect();
        self.add(format!(
            "Unsupported value: {value}: supported values: {}",
            names.join(", ")
        ));
    }

    pub(crate) fn too_long(&self, bytes: usize) {
        self.add(format!("Too long: may not be more than {bytes} bytes"));
    }

    pub(super) fn add(&self, message: String) {
        self.causes.borrow_mut().push(Cause {
            field: self.path.clone(),
            message,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_worded_as_upstream_words_them() {
        let causes = Causes::default();
        let path = FaultPath::new("spec", &causes).child("metrics").index(1);
        path.required("");
        path.required("must");
        path.forbidden("no");
        path.invalid(Shown::Text("x"), "no");
        path.not_supported("x", &["A", "B"]);
        path.too_long(9);
        let texts: Vec<String> = causes.borrow().iter().map(Cause::to_string).collect();
        assert_eq!(
            texts,
            [
                "spec.metrics[1]: Required value",
                "spec.metrics[1]: Required value: must",
                "spec.metrics[1]: Forbidden: no",
                r#"spec.metrics[1]: Invalid value: "x": no"#,
                r#"spec.metrics[1]: Unsupported value: "x": supported values: "A", "B""#,
                "spec.metrics[1]: Too long: may not be more than 9 bytes",
            ]
        );
    }
}
