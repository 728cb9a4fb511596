//! Text as Go's standard library prints it, which shows in the API server's and the controller's
//! messages. Nothing here knows Kubernetes. Follows `strconv.Quote` and `encoding/json`.

/// Text as `%q` prints it.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            _ if is_printable(c) => quoted.push(c),
            _ => quoted.push_str(&match u32::from(c) {
                code @ ..0x80 => format!("\\x{code:02x}"),
                code @ 0x80..0x1_0000 => format!("\\u{code:04x}"),
                code => format!("\\U{code:08x}"),
            }),
        }
    }
    quoted.push('"');
    quoted
}

/// Go's `unicode.IsPrint`, for all but quotes and backslashes.
fn is_printable(c: char) -> bool {
    // The standard library knows this only when it escapes strings, and is right about combining
    // characters only when they follow another.
    let mut buffer = String::from("x");
    buffer.push(c);
    c == '\'' || buffer.escape_debug().count() == 2
}

/// Text as `json.Marshal` prints it, which also escapes what HTML could misread.
pub(crate) fn json_string(text: &str) -> String {
    let mut json = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\x08' => json.push_str("\\b"),
            '\x0c' => json.push_str("\\f"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                json.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted() {
        for (text, want) in [
            ("a b'\"\\", r#""a b'\"\\""#),
            (
                "\x07\x08\x0c\n\r\t\x0b\x01\x7f",
                r#""\a\b\f\n\r\t\v\x01\x7f""#,
            ),
            (
                "é\u{301}<\u{a0}\u{200b}\u{feff}",
                "\"é\u{301}<\\u00a0\\u200b\\ufeff\"",
            ),
            ("\u{301}\u{10ffff}", "\"\u{301}\\U0010ffff\""),
        ] {
            assert_eq!(quote(text), want);
        }
    }

    #[test]
    fn json_strings() {
        assert_eq!(
            json_string("a\"\\\n\x07\x7f<&>"),
            "\"a\\\"\\\\\\n\\u0007\x7f\\u003c\\u0026\\u003e\""
        );
    }
}
