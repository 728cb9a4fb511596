//! Text that must never be shown: tokens, passwords, keys. It prints as stars, compares, and gives
//! its content only where a call says so. It must not learn to serialize.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// Text that does not print.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps the text from being shown.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// All secrets that are sent to a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    /// Adds one.
    pub(crate) fn push(&mut self, secret: Secret) {
        self.0.push(secret);
    }

    /// Returns a text without them, for a text that may repeat what was sent.
    pub(crate) fn struck_from(&self, text: String) -> String {
        let secrets = self.0.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text, |text, secret| text.replace(&secret.0, "***"))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "\"\"" } else { "***" })
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Secret, Secrets};

    #[test]
    fn it_does_not_print() {
        let secret = Secret::new("s3cr3t");
        assert_eq!(format!("{secret:?} {:?}", Secret::default()), "*** \"\"");
        assert_eq!(secret.expose(), "s3cr3t");
        let mut secrets = Secrets::default();
        assert_eq!(secrets.struck_from("as it is".to_owned()), "as it is");
        secrets.push(Secret::default());
        secrets.push(secret);
        assert_eq!(secrets.struck_from("Bearer s3cr3t, s3cr3t.".to_owned()), "Bearer ***, ***.");
    }
}
