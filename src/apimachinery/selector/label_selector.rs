//! `metav1.LabelSelector`, the form of selectors in objects. It is as lax as the API's type: only
//! [`LabelSelector::to_selector`] shows whether operators, keys and values are valid.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Operator, Selector, SelectorError, validate};
use crate::apimachinery::go;
use crate::apimachinery::json::unique_map;

/// A `metav1.LabelSelector`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must have these values.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique_map"
    )]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// A `metav1.LabelSelectorRequirement`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelectorRequirement {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values for `In` and `NotIn`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Drops an empty selector, which the metrics APIs treat like null.
    pub(crate) fn non_empty(selector: Option<&Self>) -> Option<&Self> {
        selector.filter(|selector| **selector != Self::default())
    }

    /// Returns a selector as it is sent, in which the order of its parts does not matter; `None` if it is empty.
    pub(crate) fn sent(selector: Option<&Self>) -> Option<String> {
        let stated = Self::non_empty(selector)?;
        let parsed = stated.to_selector().map(|it| it.to_string());
        Some(parsed.unwrap_or_else(|_| Self::go_string(Some(stated))))
    }

    /// Returns the selector that this describes, like `metav1.LabelSelectorAsSelector`. An empty one matches
    /// everything.
    ///
    /// # Errors
    ///
    /// Upstream's errors, for unknown operators and for keys and values that labels cannot have. Of several
    /// faulty `match_labels`, upstream reports any one, this function the first by key.
    pub fn to_selector(&self) -> Result<Selector, SelectorError> {
        let mut requirements = Vec::new();
        for (key, value) in &self.match_labels {
            let values = vec![value.as_str().into()];
            requirements.push(validate::requirement(key, Operator::Equals, values)?);
        }
        for LabelSelectorRequirement {
            key,
            operator,
            values,
        } in &self.match_expressions
        {
            let operator = match operator.as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => return Err(unknown_operator(operator)),
            };
            let allowed = values.iter().map(|value| value.as_str().into()).collect();
            requirements.push(validate::requirement(key, operator, allowed)?);
        }
        Ok(Selector::new(requirements))
    }

    /// Returns the requirements of `selector`, like `metav1.ParseToLabelSelector` after its parse.
    pub(super) fn from_selector(selector: &Selector) -> Result<Self, SelectorError> {
        let mut converted = Self::default();
        for requirement in &selector.requirements {
            let key = requirement.key.to_string();
            let mut values: Vec<_> = requirement.values.iter().map(ToString::to_string).collect();
            values.sort_unstable();
            values.dedup();
            let operator = match requirement.operator {
                Operator::Equals | Operator::DoubleEquals => {
                    converted.match_labels.insert(key, values.concat());
                    continue;
                }
                Operator::In => "In",
                Operator::NotIn => "NotIn",
                Operator::Exists => "Exists",
                Operator::DoesNotExist => "DoesNotExist",
                Operator::GreaterThan => return Err(unsupported_operator("gt")),
                Operator::LessThan => return Err(unsupported_operator("lt")),
                Operator::NotEquals => return Err(unknown_operator("!=")),
            };
            converted.match_expressions.push(LabelSelectorRequirement {
                key,
                operator: operator.to_owned(),
                values,
            });
        }
        Ok(converted)
    }

    /// Returns the text of a `*metav1.LabelSelector` printed with `%v` or `%s`, as in messages of the
    /// controller.
    pub fn go_string(selector: Option<&Self>) -> String {
        let Some(Self {
            match_labels,
            match_expressions,
        }) = selector
        else {
            return "nil".into();
        };
        let mut text = String::from("&LabelSelector{MatchLabels:map[string]string{");
        for (key, value) in match_labels {
            let _ = write!(text, "{key}: {value},");
        }
        text.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
        for LabelSelectorRequirement {
            key,
            operator,
            values,
        } in match_expressions
        {
            let _ = write!(
                text,
                "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},",
                values.join(" ")
            );
        }
        text.push_str("},}");
        text
    }
}

fn unknown_operator(operator: &str) -> SelectorError {
    let operator = go::quote(operator);
    SelectorError::new(format!("{operator} is not a valid label selector operator"))
}

fn unsupported_operator(operator: &str) -> SelectorError {
    SelectorError::new(format!("\"{operator}\" isn't supported in label selectors"))
}
