//! A page as Markdown, for comments on pull requests and step summaries. Names and messages come from
//! outside, so no word of them may act as markup, HTML, mention, reference, emoji or link: a word that
//! is not plain is put into a `<code>` element, where nothing is interpreted, with all punctuation as
//! character references, which are never structure.

use std::fmt::Write;

use super::chart;
use super::layout::Layout;
use super::style::clean;
use crate::report::list::Overview;
use crate::report::page::Page;
use crate::report::section::{Detail, Part, Remark, Section, Table};

/// The page as Markdown.
pub fn markdown(page: &Page) -> String {
    let mut out = String::new();
    if let Some(warning) = &page.warning {
        paragraph(&mut out, "**", warning);
    }
    paragraph(&mut out, "", &page.title);
    if let Some(expected) = &page.expected {
        section(&mut out, expected);
    }
    paragraph(&mut out, "**", &page.verdict);
    for sentence in &page.why {
        paragraph(&mut out, "", sentence);
    }
    let (folded, shown): (Vec<&Section>, Vec<&Section>) = page
        .sections
        .iter()
        .partition(|section| matches!(section.detail, Detail::Folded | Detail::Wide));
    for shown in shown {
        section(&mut out, shown);
    }
    // Markdown only starts after a blank line, and another must precede the end tag.
    if !folded.is_empty() {
        out.push_str("<details><summary>Details</summary>\n\n");
        for folded in folded {
            section(&mut out, folded);
        }
        out.push_str("</details>\n\n");
    }
    let _ = writeln!(out, "{}", prose(&page.subtitle));
    out
}

/// Returns a list as Markdown, after its expectations.
pub fn rows(overview: &Overview, expected: Option<&Section>) -> String {
    let mut out = String::new();
    if let Some(expected) = expected {
        section(&mut out, expected);
    }
    let cells = |row: &Vec<String>| row.iter().map(|cell| prose(cell)).collect();
    table(
        &mut out,
        &overview.columns,
        overview.rows.iter().map(|(_, row)| cells(row)),
    );
    out
}

/// Writes a title and the parts below it. The title of pairs and steps becomes a column title.
fn section(out: &mut String, section: &Section) {
    let mut title = &*section.title;
    for part in &section.body {
        if !matches!(part, Part::Pairs(_) | Part::Steps(_)) {
            paragraph(out, "**", std::mem::take(&mut title));
        }
        match part {
            Part::Pairs(pairs) if title.is_empty() => {
                for (label, text) in pairs {
                    let _ = writeln!(out, "- {}: {}", prose(label), prose(text));
                }
                out.push('\n');
            }
            Part::Pairs(pairs) => {
                let columns = [(std::mem::take(&mut title), false), ("", false)];
                let rows = pairs
                    .iter()
                    .map(|(label, text)| vec![prose(label), prose(text)]);
                table(out, &columns, rows);
            }
            Part::Steps(steps) => {
                let columns = [
                    ("REPLICAS", true),
                    (std::mem::take(&mut title), false),
                    ("", false),
                ];
                let rows = steps.iter().map(|step| {
                    let reason = step.reason.unwrap_or_default();
                    vec![step.replicas.to_string(), prose(&step.text), prose(reason)]
                });
                table(out, &columns, rows);
            }
            Part::Table(Table { columns, rows }) | Part::Records(Table { columns, rows }) => {
                table(
                    out,
                    columns,
                    rows.iter()
                        .map(|row| row.iter().map(|it| prose(it)).collect()),
                );
            }
            Part::Findings(remarks) => {
                for Remark {
                    code: of,
                    summary,
                    sentences,
                    commands,
                    ..
                } in remarks
                {
                    let _ = write!(out, "- **{}**: {}\n\n", prose(of), prose(summary));
                    let lines = sentences.iter().map(|text| prose(text));
                    for line in lines.chain(commands.iter().map(|command| code(command))) {
                        let _ = write!(out, "  {line}\n\n");
                    }
                }
            }
            Part::Hinted(text, _) => paragraph(out, "", text),
            Part::Hint(_) => {}
            Part::Text(sentences) => {
                for sentence in sentences {
                    paragraph(out, "", sentence);
                }
            }
            // As on a terminal. A blank line would end the element.
            Part::Chart(chart) => {
                let picture = escape(&chart::text(chart, &Layout::default()));
                let _ = write!(out, "<pre>{picture}</pre>\n\n");
            }
        }
    }
    paragraph(out, "**", title);
}

fn paragraph(out: &mut String, mark: &str, text: &str) {
    let text = prose(text);
    // Markers around nothing would make a horizontal rule.
    if !text.is_empty() {
        let _ = write!(out, "{mark}{text}{mark}\n\n");
    }
}

/// Writes a table of cells that are already Markdown.
fn table<T: AsRef<str>>(
    out: &mut String,
    columns: &[(T, bool)],
    rows: impl Iterator<Item = Vec<String>>,
) {
    let titles = columns
        .iter()
        .map(|(title, _)| prose(title.as_ref()))
        .collect();
    let rules = columns
        .iter()
        .map(|(_, numbers)| if *numbers { "--:" } else { "---" })
        .map(str::to_owned)
        .collect();
    for row in [titles, rules].into_iter().chain(rows) {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
}

/// Puts each word that is not plain into a code element.
fn prose(text: &str) -> String {
    let text = clean(text, false);
    let words = text.split(' ').filter(|word| !word.is_empty()).enumerate();
    words
        .map(|(place, word)| one_word(word, place == 0))
        .collect::<Vec<_>>()
        .join(" ")
}

fn one_word(word: &str, first: bool) -> String {
    const OWN: [&str; 7] = ["→", "×", "≤", "/", "=", "->", "-"];
    if OWN.contains(&word) {
        return if first {
            reference(word)
        } else {
            word.replace('>', "&gt;")
        };
    }
    let opened = word.strip_prefix('(').unwrap_or(word);
    let bare = opened.trim_end_matches([',', ';', '.', ':', ')', '?']);
    let core = bare
        .strip_suffix('%')
        .filter(|number| is_plain(number))
        .unwrap_or(bare);
    let (before, after) = (&word[..word.len() - opened.len()], &opened[core.len()..]);
    let shown = if is_plain(core) {
        core.to_owned()
    } else {
        code(core)
    };
    // At the start of a text, `1.` and `1)` would be lists.
    let number = first && core.chars().all(|c| c.is_ascii_digit());
    let listed = number && after.starts_with(['.', ')']);
    let after = if listed {
        reference(after)
    } else {
        after.to_owned()
    };
    format!("{before}{shown}{after}")
}

/// Whether a word cannot be read as markup, a link, a reference or a commit.
fn is_plain(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let inner = |place: usize, kind: fn(&char) -> bool| {
        place > 0 && letters.get(place - 1).is_some_and(kind)
    };
    let mut places = letters.iter().enumerate();
    let has_no_markup = places.all(|(place, letter)| match letter {
        '.' => inner(place, char::is_ascii_digit),
        '(' => inner(place, char::is_ascii_alphanumeric),
        '-' | '\'' => {
            let next = letters.get(place + 1);
            inner(place, |c| c.is_alphabetic()) && next.is_some_and(|c| c.is_alphabetic())
        }
        letter => letter.is_alphanumeric(),
    });
    let commit = letters.len() >= 7 && letters.iter().all(char::is_ascii_hexdigit);
    has_no_markup && !commit
}

/// Text in a code element.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("<code>{}</code>", escape(&clean(text, false)))
}

/// Escapes the text of a code element: anything that could be structure, or the start of a link.
fn escape(text: &str) -> String {
    const HARMLESS: &str = "-/,()%{}=;'?+";
    let structure = |letter: char| letter.is_ascii_punctuation() && !HARMLESS.contains(letter);
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if structure(letter) {
            escaped.push_str(&reference(letter.encode_utf8(&mut [0; 4])));
            // Mail addresses are recognized after references are decoded.
            if letter == '@' {
                escaped.push_str("<!-- -->");
            }
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Returns a character reference, which shows the character but is never structure.
fn reference(text: &str) -> String {
    text.chars()
        .map(|letter| format!("&#{};", u32::from(letter)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{code, prose};

    #[test]
    fn words_of_ones_own_stay_readable() {
        for (text, shown) in [
            (
                "cpu proposes 258 replicas; one pass may.",
                "cpu proposes 258 replicas; one pass may.",
            ),
            (
                "128.75 × 2 ready pods, rounded up: 258",
                "128.75 × 2 ready pods, rounded up: 258",
            ),
            (
                "the controller's scale-down (2 unready)",
                "the controller's scale-down (2 unready)",
            ),
            ("SCALE UP 2 → 4", "SCALE UP 2 → 4"),
            (
                "80% (2), up to max(2 × 2, 4)",
                "80% (2), up to max(2 × 2, 4)",
            ),
            ("default/web → x", "<code>default/web</code> → x"),
            ("is it on? (or off?)", "is it on? (or off?)"),
            (
                "at 80%, 120%/60% (5%)",
                "at 80%, <code>120%/60%</code> (5%)",
            ),
        ] {
            assert_eq!(prose(text), shown);
        }
    }

    #[test]
    fn words_from_outside_mean_nothing() {
        for (text, shown) in [
            ("@admin", "<code>&#64;<!-- -->admin</code>"),
            ("a @admin: b", "a <code>&#64;<!-- -->admin</code>: b"),
            (
                "#12 GH-12 a/b#3",
                "<code>&#35;12</code> <code>GH-12</code> <code>a/b&#35;3</code>",
            ),
            (
                "deadbee 1234567",
                "<code>deadbee</code> <code>1234567</code>",
            ),
            ("https://x.y", "<code>https&#58;//x&#46;y</code>"),
            ("www.x.y", "<code>www&#46;x&#46;y</code>"),
            ("[a](b)", "<code>&#91;a&#93;(b</code>)"),
            ("<b>", "<code>&#60;b&#62;</code>"),
            ("</code>@a", "<code>&#60;/code&#62;&#64;<!-- -->a</code>"),
            (
                "a|b \\| `x`",
                "<code>a&#124;b</code> <code>&#92;&#124;</code> <code>&#96;x&#96;</code>",
            ),
            (":tada:", "<code>&#58;tada</code>:"),
            ("1. a", "1&#46; a"),
            ("- a", "&#45; a"),
            ("a\n# b", "<code>a&#92;n&#35;</code> b"),
            (
                "&amp; $x$ *a* _b_ ~c~",
                "<code>&#38;amp</code>; <code>&#36;x&#36;</code> <code>&#42;a&#42;</code> <code>&#95;b&#95;</code> <code>&#126;c&#126;</code>",
            ),
            ("a\u{202e}b", "<code>a&#92;u{202e}b</code>"),
        ] {
            assert_eq!(prose(text), shown, "{text:?}");
        }
        assert_eq!(code("desired <= 2"), "<code>desired &#60;= 2</code>");
    }
}
