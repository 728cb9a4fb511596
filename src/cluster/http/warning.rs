//! `Warning` headers; the API server's have code 299. Nothing is printed here. Follows
//! `ParseWarningHeaders` of apimachinery's `util/net`.

/// Returns the texts of one header, which may have several warnings: `299 - "text" "date"`. Everything
/// after a malformed one is dropped.
pub(crate) fn texts(mut header: &str) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        header = header.trim_start_matches([' ', '\t', ',']);
        let Some((text, rest)) = one(header) else {
            return texts;
        };
        texts.extend(text.filter(|text| !text.is_empty()));
        header = rest;
    }
}

/// Reads one warning, if it has the right code, and returns the rest.
fn one(header: &str) -> Option<(Option<String>, &str)> {
    let (code, rest) = header.split_once(' ')?;
    if code.len() != 3 || !code.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (_agent, rest) = rest.trim_start().split_once(' ')?;
    let (text, rest) = quoted(rest.trim_start())?;
    let rest = match quoted(rest.trim_start()) {
        Some((_date, rest)) => rest,
        None => rest,
    };
    Some(((code == "299").then_some(text), rest))
}

/// Reads a quoted text, and returns the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut plain = String::new();
    let mut letters = text.strip_prefix('"')?.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some((plain, letters.as_str())),
            '\\' => plain.push(letters.next()?),
            _ => plain.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::texts;

    #[test]
    fn headers() {
        for (header, want) in [
            (r#"299 - "a b""#, vec!["a b"]),
            (
                r#"299 - "a, \"b\" \\", 299 - "c""#,
                vec!["a, \"b\" \\", "c"],
            ),
            (
                r#"299 agent "a" "Sat, 21 Nov 2026 07:07:13 GMT",299 - "b""#,
                vec!["a", "b"],
            ),
            (r#"199 - "a", 299 - "b""#, vec!["b"]),
            (r#"299 - "a", nonsense"#, vec!["a"]),
            (r#"299 - "open"#, vec![]),
            ("299", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(texts(header), want, "{header}");
        }
    }
}
