//! Commands that pipeline runners read from a log and execute. A metric's name may look like a command, so
//! outside text must be disarmed: [`disarmed`] is for text that a runner shows.

use std::borrow::Cow;

use anstream::adapter::strip_str;

/// The variables that reveal the runners of GitHub (and Gitea, Forgejo), Azure and TeamCity. The sections
/// of GitLab begin with an escape, which no text contains.
pub const VARIABLES: [&str; 3] = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];

/// Replaces a letter of each command by its number: of `::` at the start of a line, and of
/// `##[`, `##vso[` and `##teamcity[` anywhere.
pub fn disarmed(text: &str) -> Cow<'_, str> {
    if !is_obeyed(text) {
        return text.into();
    }
    let mut harmless = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let mut rest = if begins(line) {
            let (before, after) = line.split_once("::").unwrap_or_default();
            harmless.push_str(before);
            harmless.push_str("\\u{3a}:");
            after
        } else {
            line
        };
        while let Some(at) = bracket(rest) {
            harmless.push_str(&rest[..at]);
            harmless.push_str("#\\u{23}");
            rest = &rest[at + 2..];
        }
        harmless.push_str(rest);
    }
    harmless.into()
}

/// Whether a runner may find a command in a text.
pub(crate) fn is_obeyed(text: &str) -> bool {
    text.lines()
        .any(|line| begins(line) || bracket(line).is_some())
}

/// Whether a line is a command that begins with `::`. Colors are removed before it is read, and spaces
/// do not count.
fn begins(line: &str) -> bool {
    line.contains("::") && strip_str(line).to_string().trim_start().starts_with("::")
}

/// Returns the position of the next `##[`, perhaps with a word before the bracket.
fn bracket(text: &str) -> Option<usize> {
    text.match_indices('#').map(|(at, _)| at).find(|at| {
        let Some(text) = text[*at..].strip_prefix("##") else {
            return false;
        };
        let word = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        word.starts_with('[')
    })
}

#[cfg(test)]
mod tests {
    use super::disarmed;

    #[test]
    fn no_command_is_left() {
        for (text, want) in [
            ("web\n", "web\n"),
            ("::stop-commands::x\n", "\\u{3a}:stop-commands::x\n"),
            ("a ::error::b", "a ::error::b"),
            ("a\n  \t::error::b\nc", "a\n  \t\\u{3a}:error::b\nc"),
            (
                "\u{1b}[1m::add-mask::b\u{1b}[0m",
                "\u{1b}[1m\\u{3a}:add-mask::b\u{1b}[0m",
            ),
            ("a ##[set-output name=a]b", "a #\\u{23}[set-output name=a]b"),
            ("::a ##[b]", "\\u{3a}:a #\\u{23}[b]"),
            ("##vso[task.setvariable]", "#\\u{23}vso[task.setvariable]"),
            ("##teamcity[a] ##[b]", "#\\u{23}teamcity[a] #\\u{23}[b]"),
            ("###[a]", "##\\u{23}[a]"),
            ("## Heading\n### [link](a)\n", "## Heading\n### [link](a)\n"),
        ] {
            assert_eq!(disarmed(text), want);
            assert!(!super::is_obeyed(&disarmed(text)), "{text:?}");
        }
    }
}
