//! Labels and the selectors over them, like apimachinery's `labels.Selector`: the matches, the printed form
//! and the text of every error. Requirements must keep the operator with which they were written, because
//! `a=b`, `a==b` and `a in (b)` have the same matches but different printed forms.

mod label_selector;
mod labels;
mod many;
mod parse;
mod validate;

use std::fmt;

pub use label_selector::{LabelSelector, LabelSelectorRequirement};
pub use labels::Labels;
pub use many::Selectors;

/// The reason why a text or a [`LabelSelector`] is not a selector, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(Box<str>);

impl SelectorError {
    fn new(message: impl Into<Box<str>>) -> Self {
        Self(message.into())
    }
}

/// Requirements that labels must all meet, sorted by key. The default has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Box<[Requirement]>,
}

/// One validated requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: Box<str>,
    operator: Operator,
    values: Box<[Box<str>]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Equals,
    DoubleEquals,
    NotEquals,
    GreaterThan,
    LessThan,
    Exists,
    DoesNotExist,
}

impl Selector {
    /// Reads a selector such as `app=web,tier in (a,b),!canary`, `labels.Parse`.
    ///
    /// # Errors
    ///
    /// Upstream's errors, for bad syntax and for keys and values that labels cannot have.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::requirements(text).map(Self::new)
    }

    /// Sorts stably, as upstream's sort does for up to twelve requirements; its result for more of
    /// them on one key only affects printing.
    fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self {
            requirements: requirements.into(),
        }
    }

    /// Whether `labels` meet every requirement.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(labels.get(&requirement.key)))
    }

    /// Whether labels of which some are missing may meet every requirement.
    pub(crate) fn may_match(&self, labels: &Labels) -> bool {
        let mut requirements = self.requirements.iter();
        requirements.all(|it| {
            let value = labels.get(&it.key);
            value.is_none() || it.matches(value)
        })
    }

    /// Whether there are no requirements, so that everything matches.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns labels with the required values. They need not match, because others may be excluded.
    pub(crate) fn example(&self) -> Labels {
        self.requirements
            .iter()
            .filter_map(|requirement| match requirement.operator {
                Operator::In | Operator::Equals | Operator::DoubleEquals => {
                    Some((requirement.key.clone(), requirement.values.first()?.clone()))
                }
                Operator::Exists => Some((requirement.key.clone(), "".into())),
                _ => None,
            })
            .collect()
    }

    /// Returns the scale client's version of a scale's selector: the client parses the text with
    /// `metav1.ParseToLabelSelector` and prints that with `metav1.LabelSelectorAsSelector`. So `==` becomes
    /// `=`, and of several required values for one key, the last is kept.
    ///
    /// # Errors
    ///
    /// A [`LabelSelector`] has no counterpart of `!=`, `>` and `<`, so upstream fails for them.
    pub fn normalized(&self) -> Result<Self, SelectorError> {
        LabelSelector::from_selector(self)?.to_selector()
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|listed| **listed == *value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compares(value, |value, bound| value > bound),
            Operator::LessThan => self.compares(value, |value, bound| value < bound),
        }
    }

    fn compares(&self, value: Option<&str>, compare: fn(i64, i64) -> bool) -> bool {
        let number = |text: &str| text.parse::<i64>().ok();
        match (
            value.and_then(number),
            self.values.first().and_then(|bound| number(bound)),
        ) {
            (Some(value), Some(bound)) => compare(value, bound),
            _ => false,
        }
    }
}

/// `Selector.String`: without blanks, value sets sorted.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let mut sorted: Vec<&str> = self.values.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        let values = sorted.join(",");
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

#[cfg(test)]
mod tests;
