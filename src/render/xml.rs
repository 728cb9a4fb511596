//! Text for XML, in elements and attributes alike.

use super::style::clean;

/// Escapes text. Characters that XML cannot contain are shown by number.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in clean(text, false).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => escaped.extend(letter.escape_unicode()),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_xml_would_read_or_refuse_is_escaped() {
        for (text, shown) in [
            ("desired <= 2", "desired &lt;= 2"),
            (
                "\"/><x a='&amp;'>",
                "&quot;/&gt;&lt;x a=&apos;&amp;amp;&apos;&gt;",
            ),
            ("]]>", "]]&gt;"),
            ("a\0b\u{8}c\u{1b}d\u{7f}", "a\\u{0}b\\u{8}c^[d\\u{7f}"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\u{fffe}\u{ffff}\u{202e}", "\\u{fffe}\\u{ffff}\\u{202e}"),
            ("größe 大 𝛑", "größe 大 𝛑"),
        ] {
            assert_eq!(escape(text), shown);
        }
    }
}
