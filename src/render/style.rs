//! The appearance of text: colors, chosen once, and the cleaning that keeps a terminal from
//! interpreting the contents of an object. The default is plain, for pipes and tests.

use std::borrow::Cow;

use owo_colors::Style;
use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter};

use crate::apimachinery::json::{boundary, shortened_to};

/// Styles of the parts of a page. The default has none.
#[derive(Debug, Clone, Default)]
pub struct Styles {
    /// Section titles and column headers.
    pub(crate) heading: Style,
    /// Added replicas.
    pub(crate) up: Style,
    /// Removed replicas.
    pub(crate) down: Style,
    /// Unchanged replicas.
    pub(crate) stay: Style,
    /// A reason why the controller cannot decide or scale.
    pub(crate) blocked: Style,
    /// The controller's reasons.
    pub(crate) reason: Style,
}

impl Styles {
    /// Returns the styles for a terminal with colors. Color is never the only sign.
    pub fn colored() -> Self {
        Self {
            heading: Style::new().bold(),
            up: Style::new().green().bold(),
            // Yellow is unreadable on white.
            down: Style::new().magenta().bold(),
            stay: Style::new().bold(),
            blocked: Style::new().red().bold(),
            reason: Style::new().cyan(),
        }
    }
}

/// Makes text from outside harmless: control characters, newlines and characters that reorder text are
/// shown instead of interpreted. With `ascii`, everything beyond ASCII is shown by its number.
pub fn clean(text: &str, ascii: bool) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{1b}' => clean.push_str("^["),
            '\n' => clean.push_str("\\n"),
            '\r' => clean.push_str("\\r"),
            '\t' => clean.push_str("\\t"),
            _ if is_unsafe(letter) || (ascii && !letter.is_ascii()) => {
                clean.extend(letter.escape_unicode());
            }
            _ => clean.push(letter),
        }
    }
    clean
}

/// Returns a text on one line, with a mark below a position, which is given in bytes. If the text is long,
/// only the part near the position is shown.
pub fn point_at(text: &str, place: usize, ascii: bool) -> String {
    const NEAR: usize = 200;
    let place = boundary(text, place);
    let start = boundary(text, place.saturating_sub(NEAR));
    let end = boundary(text, place.saturating_add(NEAR));
    let (left, right) = (
        if start > 0 { "... " } else { "" },
        if end < text.len() { " ..." } else { "" },
    );
    let before = format!("{left}{}", clean(&text[start..place], ascii));
    let indent = " ".repeat(unicode_width::UnicodeWidthStr::width(&*before));
    format!(
        "  {before}{}{right}\n  {indent}^",
        clean(&text[place..end], ascii)
    )
}

/// Shortens the lines of messages: the author of a file or an answer determines how long a value in it is.
pub fn bounded(text: &str) -> Cow<'_, str> {
    const MOST: usize = 4096;
    if text.len() <= MOST {
        return text.into();
    }
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| shortened_to(line, MOST, (MOST / 2, MOST / 4)))
        .collect::<String>()
        .into()
}

/// Splits text into lines of at most this width at the ends of words. A command in backticks, and any other
/// word that is longer than a line, stays whole, so that it can be pasted; but a selector in braces may
/// continue on another line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .word_separator(WordSeparator::Custom(words));
    let lines = textwrap::wrap(text, options);
    lines
        .into_iter()
        .flat_map(|line| {
            let is_selector = line.contains('{') && !line.contains('`');
            if is_selector && display_width(&line) > width {
                filled(line.split_inclusive(['{', ',']), "", width)
            } else {
                vec![line.into_owned()]
            }
        })
        .collect()
}

/// Puts parts on lines of at most this width, with a separator between those of a line, unless a part alone is wider.
pub(super) fn filled<T: AsRef<str>>(
    parts: impl Iterator<Item = T>,
    separator: &str,
    width: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let part = part.as_ref();
        let added = display_width(separator) + display_width(part);
        match lines.last_mut() {
            Some(line) if display_width(line) + added <= width => {
                line.push_str(separator);
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

/// Returns the words of a text; text between two backticks is part of one word.
fn words(text: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut rest = text;
    Box::new(std::iter::from_fn(move || {
        let mut is_quoted = false;
        let mut is_after = false;
        let end = rest.char_indices().find_map(|(at, letter)| {
            if letter == '`' {
                is_quoted = !is_quoted && rest[at + 1..].contains('`');
            }
            let is_space = letter == ' ' && !is_quoted;
            let ends = is_after && !is_space;
            is_after = is_space;
            ends.then_some(at)
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!word.is_empty()).then(|| Word::from(word))
    }))
}

/// Wraps a message for a terminal of this width. Its further lines are indented.
pub fn folded(message: &str, width: usize) -> String {
    const INDENT: &str = "  ";
    const LEAST: usize = 20;
    let most = width.max(LEAST);
    let mut lines = Vec::new();
    for line in message.split('\n') {
        let inner = line.trim_start_matches(' ');
        let indent = &line[..line.len() - inner.len()];
        let room = most.saturating_sub(indent.len() + INDENT.len()).max(LEAST);
        if display_width(line) <= most {
            lines.push(line.to_owned());
            continue;
        }
        for (place, part) in wrapped(inner, room).into_iter().enumerate() {
            let more = if place == 0 { "" } else { INDENT };
            lines.push(format!("{indent}{more}{part}"));
        }
    }
    lines.join("\n")
}

/// Whether a terminal would interpret a character, or the character hides text.
pub(super) fn is_unsafe(letter: char) -> bool {
    letter.is_control() || is_invisible(letter)
}

/// Whether a character joins or breaks lines, changes or annotates others, or may take no space.
fn is_invisible(letter: char) -> bool {
    // Nearly all text, which is checked letter by letter.
    if letter.is_ascii() {
        return false;
    }
    matches!(letter, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}')
        || DEFAULT_IGNORABLE
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&letter))
}

/// `Default_Ignorable_Code_Point` of DerivedCoreProperties.txt of Unicode 14, unchanged in later versions
/// up to 17.
const DEFAULT_IGNORABLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

#[cfg(test)]
mod tests {
    use super::{clean, point_at};

    #[test]
    fn the_mark_is_below_its_place_whatever_stands_before() {
        for (text, place, shown) in [
            ("desired <= x", 11, "  desired <= x\n             ^"),
            ("", 0, "  \n  ^"),
            ("a\tb", 2, "  a\\tb\n     ^"),
            ("größe x", 8, "  größe x\n        ^"),
            ("大 x", 4, "  大 x\n     ^"),
            ("short", 99, "  short\n       ^"),
        ] {
            assert_eq!(point_at(text, place, false), shown);
        }
        assert_eq!(point_at("ö x", 3, true), "  \\u{f6} x\n         ^");
        let long = format!("{}!{}", "a".repeat(100_000), "b".repeat(100_000));
        let shown = point_at(&long, 100_000, false);
        assert!(shown.len() < 1000 && shown.contains("a!b"), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0].find('!').unwrap(), lines[1].find('^').unwrap());
    }

    #[test]
    fn messages_are_wrapped_between_words_and_commands_stay_whole() {
        let message = "hint: use `kubectl hpa explain web -n shop --kubeconfig /a/b` or -n, see \
                       https://example.com/a/very/long/address/of/a/page";
        let lines = [
            "hint: use",
            "  `kubectl hpa explain web -n shop --kubeconfig /a/b` or",
            "  -n, see",
            "  https://example.com/a/very/long/address/of/a/page",
        ];
        assert_eq!(super::folded(message, 56), lines.join("\n"));
        for (text, width, lines) in [
            ("short", 80, &["short"][..]),
            ("", 80, &[""]),
            // A backtick without another is a character.
            ("a lone ` is a letter", 9, &["a lone `", "is a", "letter"]),
            ("`a b` `c d`", 6, &["`a b`", "`c d`"]),
            (
                "a long-flag=of-many-letters b",
                10,
                &["a", "long-flag=of-many-letters", "b"],
            ),
            ("größe größe", 6, &["größe", "größe"]),
            (
                "of q{app=web,tier=api} 7",
                14,
                &["of", "q{app=web,", "tier=api}", "7"],
            ),
            ("of q{app=web} 7", 10, &["of", "q{app=web}", "7"]),
            ("`q{app=web,tier=api}`", 14, &["`q{app=web,tier=api}`"]),
        ] {
            assert_eq!(super::wrapped(text, width), lines, "{text}");
        }
        assert_eq!(super::folded("error: a\n  b", 80), "error: a\n  b");
    }

    #[test]
    fn no_line_of_a_message_is_long() {
        let long = format!(
            "error: start {} end\nhint: \u{f6}\n{}",
            "x".repeat(1 << 20),
            "\u{f6}".repeat(1 << 20)
        );
        let short = super::bounded(&long);
        let lines: Vec<&str> = short.lines().collect();
        assert!(
            lines[0].starts_with("error: start x") && lines[0].ends_with("x end"),
            "{short}"
        );
        assert_eq!(lines[1], "hint: \u{f6}");
        assert!(
            lines.iter().all(|line| line.len() < 4096),
            "{}",
            short.len()
        );
        assert_eq!(super::bounded("a\nb\n"), "a\nb\n");
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for (text, shown) in [
            ("web", "web"),
            ("a\u{1b}[31mb", "a^[[31mb"),
            ("a\nb\rc\td", "a\\nb\\rc\\td"),
            ("a\u{202e}b\u{7}", "a\\u{202e}b\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("größe", "größe"),
            ("a\u{180e}\u{34f}\u{115f}b", "a\\u{180e}\\u{34f}\\u{115f}b"),
            ("a\u{3164}\u{fe0f}b", "a\\u{3164}\\u{fe0f}b"),
            (
                "a\u{e0100}\u{1d173}\u{ffa0}b",
                "a\\u{e0100}\\u{1d173}\\u{ffa0}b",
            ),
            // Marks are visible.
            ("a\u{301}\u{1d172}", "a\u{301}\u{1d172}"),
        ] {
            assert_eq!(clean(text, false), shown);
        }
        assert_eq!(clean("größe", true), "gr\\u{f6}\\u{df}e");
    }
}
