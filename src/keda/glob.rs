//! Checks whether a text is a valid file name pattern for `gobwas/glob`, which rejects only character sets
//! (`fetchRange` in its `syntax/lexer`, `parserRange` in `syntax/ast`). The matches of a pattern are not
//! computed.

use core::iter::Peekable;
use core::str::Chars;

/// Whether a text is such a pattern.
pub(super) fn is_glob(text: &str) -> bool {
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' if !is_set(&mut rest) => return false,
            _ => {}
        }
    }
    true
}

/// Reads the text after a `[`: a range such as `a-z`, or characters, up to the `]`.
fn is_set(rest: &mut Peekable<Chars<'_>>) -> bool {
    rest.next_if_eq(&'!');
    let Some(first) = rest.next() else {
        return false;
    };
    if rest.next_if_eq(&'-').is_some() {
        return rest.next().is_some_and(|last| last >= first) && rest.next() == Some(']');
    }
    let (mut next, mut is_empty) = (Some(first), true);
    while let Some(c) = next {
        match c {
            ']' => return !is_empty,
            '\\' => is_empty &= rest.next().is_none(),
            _ => is_empty = false,
        }
        next = rest.next();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_glob;

    #[test]
    fn sets_are_closed_and_not_empty() {
        for good in [
            "", "*.json", "a?b**", "{a,b", "}", "[abc]", "[!abc]", "[a-z]*", "[!a-a]", "[!!]",
            "\\[a", "[\\]]", "[]-a]", "[-a]", "a\\",
        ] {
            assert!(is_glob(good), "{good}");
        }
        for wrong in [
            "[a", "[", "[!", "[]", "[!]", "[a-", "[a-]", "[z-a]", "[a-zA-Z]", "[a\\]", "{[}",
        ] {
            assert!(!is_glob(wrong), "{wrong}");
        }
    }
}
