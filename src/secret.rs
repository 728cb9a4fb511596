//! Text that must never be shown: tokens, passwords and keys. It prints as stars, can be compared, and
//! gives its content only to an explicit call. It must not learn to serialize.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
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

    /// Returns the text itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The length of a part of a secret that must not be shown either: unrelated text does not share a part of
/// this length.
const PIECE: usize = 16;

/// The maximum length of a name or number of an HTML character that is looked for, such as `#x10FFFF`.
const LONGEST_NAME: usize = 10;

/// All secrets that are sent to a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    /// Adds a secret.
    pub(crate) fn push(&mut self, secret: Secret) {
        self.0.push(secret);
    }

    /// Adds other secrets.
    pub(crate) fn extend(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
    }

    /// Returns a text without the secrets, for a text that may repeat what was sent. Their pieces are removed
    /// as well: the remains of a long secret that was shortened, or of one whose other characters were escaped.
    pub(crate) fn struck_from(&self, text: String) -> String {
        let mut hidden: Vec<Range<usize>> = Vec::new();
        for Secret(secret) in self.0.iter().filter(|secret| !secret.is_empty()) {
            hidden.extend(
                text.match_indices(&**secret)
                    .map(|(at, own)| at..at + own.len()),
            );
            if text.contains(['\\', '&', '%']) {
                let escaped = text.char_indices().filter_map(|(at, _)| {
                    let after = secret.chars().try_fold(&text[at..], after_escaped)?;
                    Some(at..text.len() - after.len())
                });
                hidden.extend(escaped);
            }
            if secret.len() > PIECE && text.len() >= PIECE {
                let own: HashSet<&[u8]> = secret.as_bytes().windows(PIECE).collect();
                let pieces = text.as_bytes().windows(PIECE).enumerate();
                let of_secret = pieces.filter(|(at, piece)| {
                    own.contains(piece)
                        && text.is_char_boundary(*at)
                        && text.is_char_boundary(at + PIECE)
                });
                hidden.extend(of_secret.map(|(at, piece)| at..at + piece.len()));
            }
        }
        if hidden.is_empty() {
            return text;
        }
        hidden.sort_by_key(|range| range.start);
        let (mut struck, mut end) = (String::new(), 0);
        for range in hidden {
            if range.start > end || struck.is_empty() {
                struck += &text[end..range.start];
                struck += "***";
            }
            end = end.max(range.end);
        }
        struck + &text[end..]
    }
}

/// Returns the rest of a text after a character at its start; the character may be escaped as in JSON, HTML
/// or an address.
fn after_escaped(text: &str, character: char) -> Option<&str> {
    after_json(text, character)
        .or_else(|| after_html(text, character))
        .or_else(|| after_percent(text, character))
        .or_else(|| text.strip_prefix(character))
}

/// Returns what follows a character that is escaped as in JSON.
fn after_json(text: &str, character: char) -> Option<&str> {
    let escape = text.strip_prefix('\\')?;
    let Some(digits) = escape.strip_prefix('u') else {
        return escape.strip_prefix(character);
    };
    let (code, rest) = digits.split_at_checked(4)?;
    is_code(code, 16, character).then_some(rest)
}

/// Returns what follows a character that is escaped as in HTML.
fn after_html(text: &str, character: char) -> Option<&str> {
    // A longer name belongs to no character, and looking further for its end would take quadratic time.
    let escape = text.strip_prefix('&')?;
    let end = escape
        .bytes()
        .take(LONGEST_NAME + 1)
        .position(|byte| byte == b';')?;
    let is_named = match &escape[..end] {
        "amp" => character == '&',
        "lt" => character == '<',
        "gt" => character == '>',
        "quot" => character == '"',
        "apos" => character == '\'',
        number => match number.strip_prefix("#x") {
            Some(code) => is_code(code, 16, character),
            None => number
                .strip_prefix('#')
                .is_some_and(|code| is_code(code, 10, character)),
        },
    };
    is_named.then_some(&escape[end + 1..])
}

/// Returns what follows a character whose bytes are escaped as in an address.
fn after_percent(text: &str, character: char) -> Option<&str> {
    character
        .encode_utf8(&mut [0; 4])
        .bytes()
        .try_fold(text, |text, byte| {
            let (code, rest) = text.strip_prefix('%')?.split_at_checked(2)?;
            (u8::from_str_radix(code, 16) == Ok(byte)).then_some(rest)
        })
}

/// Whether digits are the number of a character.
fn is_code(digits: &str, radix: u32, character: char) -> bool {
    u32::from_str_radix(digits, radix) == Ok(character.into())
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
        assert_eq!(
            secrets.struck_from("Bearer s3cr3t, s3cr3t.".to_owned()),
            "Bearer ***, ***."
        );
    }

    #[test]
    fn an_escaped_secret_does_not_show_either() {
        let mut secrets = Secrets::default();
        secrets.push(Secret::new("a&b=\"c\\é"));
        for text in [
            "a&b=\"c\\é",
            "a&amp;b=&quot;c\\é",
            "a&#38;b&#x3D;&#34;c&#92;&#xe9;",
            "a\\u0026b\\u003D\\\"c\\\\\\u00e9",
            "a%26b%3d%22c%5C%C3%A9",
            "%61&b=%22c\\é",
        ] {
            assert_eq!(
                secrets.struck_from(format!("é{text}&amp;")),
                "é***&amp;",
                "{text}"
            );
        }
        for text in [
            "a&b",
            "a%26b%3",
            "a\\u00",
            "&",
            "%",
            "\\",
            "a&amp;b=&quot;c\\e",
        ] {
            assert_eq!(secrets.struck_from(text.to_owned()), text);
        }
    }

    /// Each of these would take minutes if the time grew with the square of the length.
    #[test]
    fn long_texts_are_searched_once() {
        let mut secrets = Secrets::default();
        secrets.push(Secret::new(
            "0123456789abcdefghijklmnopqrstuvwxyz".repeat(500),
        ));
        for text in ["&", "&#", "\\", "%", "0", "0123456789abcde"] {
            let text = text.repeat(1 << 16);
            assert_eq!(secrets.struck_from(text.clone()), text);
        }
    }

    #[test]
    fn pieces_of_a_long_secret_do_not_show_either() {
        let token = "0123456789abcdefghijklmnopqrstuvwxyz+/==";
        let mut secrets = Secrets::default();
        secrets.push(Secret::new(token));
        for (text, struck) in [
            (token.to_owned(), "***"),
            (format!("é{token}é"), "é***é"),
            (format!("{token}{token}!"), "***!"),
            (format!("{}\\u003d", &token[..39]), "***"),
            (format!("{}\\u003d", &token[..38]), "***\\u003d"),
            (
                format!("\"{} ... {}\"", &token[..20], &token[20..]),
                "\"*** ... ***\"",
            ),
            (token[3..19].to_owned(), "***"),
            (token[3..18].to_owned(), &token[3..18]),
            ("é".repeat(40), &*"é".repeat(40)),
        ] {
            assert_eq!(secrets.struck_from(text.clone()), struck, "{text}");
        }
        let mut more = Secrets::default();
        more.push(Secret::new("first"));
        more.extend(&secrets);
        assert_eq!(more.struck_from(format!("first, {token}")), "***, ***");
    }
}
