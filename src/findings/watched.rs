//! The findings that flags name.

use super::scope::Aspect;
use super::{Code, Severity};
use crate::apimachinery::similar::nearest;
use crate::error::{Error, docs};

/// The findings that `--fail-on` watches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// A code.
    Code(Code),
    /// Everything of at least this severity.
    Severity(Severity),
}

impl Watched {
    /// The severities, then the codes.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let severities = [Severity::Error, Severity::Warning, Severity::Info].map(Self::Severity);
        severities
            .into_iter()
            .chain(Code::ALL.iter().copied().map(Self::Code))
    }

    /// Parses the value of a flag that also accepts these conditions.
    ///
    /// # Errors
    ///
    /// The text is neither a code nor a severity.
    pub fn read(text: &str, conditions: &[&str]) -> Result<Self, Error> {
        Self::all().find(|own| own.as_str() == text).ok_or_else(|| {
            let mut known = conditions.to_vec();
            known.extend(Self::all().map(|it| it.as_str() as &str));
            let what = if conditions.is_empty() {
                "finding"
            } else {
                "condition or finding"
            };
            unknown(what, text, &known)
        })
    }

    /// Returns the flag's value as typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code(code) => code.as_str(),
            Self::Severity(severity) => severity.as_str(),
        }
    }

    /// Says that no watched finding was found.
    pub fn none(self) -> String {
        match self {
            Self::Severity(Severity::Error) => "no error".to_owned(),
            Self::Severity(Severity::Warning) => "no error or warning".to_owned(),
            Self::Severity(Severity::Info) => "no finding".to_owned(),
            Self::Code(code) => format!("no finding {}", code.as_str()),
        }
    }

    /// Whether findings about metrics are watched.
    pub(crate) fn is_of_metrics(self) -> bool {
        match self {
            Self::Code(code) => code.is(Aspect::OfMetrics),
            Self::Severity(_) => true,
        }
    }

    /// Whether a finding is watched.
    pub fn is(self, code: Code, severity: Severity) -> bool {
        match self {
            Self::Code(own) => own == code,
            Self::Severity(least) => severity <= least,
        }
    }
}

impl Code {
    /// Parses a code that was typed.
    ///
    /// # Errors
    ///
    /// There is no such code.
    pub fn read(text: &str) -> Result<Self, Error> {
        let known = Self::ALL.iter().copied();
        known
            .clone()
            .find(|code| code.as_str() == text)
            .ok_or_else(|| {
                unknown(
                    "finding",
                    text,
                    &known.map(Self::as_str).collect::<Vec<_>>(),
                )
            })
    }
}

fn unknown(what: &str, text: &str, known: &[&str]) -> Error {
    let error = Error::usage(format!("unknown {what} {text:?}"));
    let begins = |code: &&str| !text.is_empty() && code.split('-').any(|it| it.starts_with(text));
    let meant: Vec<&str> = match nearest(text, known.iter().copied()) {
        Some(meant) => vec![meant],
        None => known.iter().copied().filter(begins).collect(),
    };
    let listed = format!("{} lists them", docs("findings.md"));
    match &meant[..] {
        [] if ["error", "warning", "info"].contains(&text) => {
            error.hint(format!("findings are named by their codes here, not by severity: {listed}"))
        }
        [] if known.contains(&"error") => error.hint(format!(
            "a finding is named by its code or by its severity, which is error, warning or info: {listed}"
        )),
        [] => error.hint(format!("findings are named by their codes: {listed}")),
        meant => error.hint(format!("did you mean {}?", meant.join(" or "))),
    }
}

#[cfg(test)]
mod tests {
    use super::Watched;

    #[test]
    fn what_is_watched_for_has_a_name_if_there_is_none_of_it() {
        for (typed, none) in [
            ("error", "no error"),
            ("warning", "no error or warning"),
            ("info", "no finding"),
            ("at-max", "no finding at-max"),
        ] {
            let watched = Watched::read(typed, &[]).expect(typed);
            assert_eq!(watched.none(), none);
        }
    }
}
