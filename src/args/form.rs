//! The names under which the program runs. For `kubectl hpa-explain`, kubectl runs an executable named
//! `kubectl-hpa_explain`, whose name implies the verb, and for completions one named
//! `kubectl_complete-hpa_explain`. Texts for people repeat the form that was typed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::COMPLETE;

/// The command as texts in the source write it.
const WRITTEN: &str = "kubectl hpa";

/// The prefix of a link's name, before its verb.
const LINK: &str = "kubectl-hpa_";

/// The form in which the program was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The words before a verb, including the separator.
    before: &'static str,
    /// The verb implied by the link.
    linked: Option<String>,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            before: "kubectl hpa ",
            linked: None,
        }
    }
}

impl Form {
    /// Returns the form, and the arguments as if the program had been run under its own name, with the verb as
    /// the first one. `path` is PATH: kubectl runs a plugin by its full path in one of these directories.
    pub fn read(mut arguments: Vec<OsString>, path: Option<&OsStr>) -> (Self, Vec<OsString>) {
        let program = arguments.first().map(Path::new);
        let name = program
            .and_then(Path::file_stem)
            .and_then(OsStr::to_str)
            .unwrap_or_default();
        let directory = program
            .filter(|program| program.is_absolute())
            .and_then(Path::parent);
        let by_kubectl = directory.is_some_and(|directory| {
            std::env::split_paths(path.unwrap_or_default()).any(|entry| entry == directory)
        });
        let linked = name.strip_prefix(LINK).map(str::to_owned);
        let before = match (&linked, by_kubectl) {
            (Some(_), true) => "kubectl hpa-",
            (Some(_), false) => LINK,
            (None, true) => "kubectl hpa ",
            (None, false) => "kubectl-hpa ",
        };
        let completed = name
            .strip_prefix("kubectl_complete-hpa")
            .map(|verb| OsString::from(verb.trim_start_matches('_')));
        let first = arguments
            .get(1)
            .and_then(|word| word.to_str())
            .unwrap_or_default();
        let words: Vec<OsString> = match (completed, linked.clone().map(OsString::from)) {
            (Some(verb), _) => {
                let verb = Some(verb).filter(|verb| !verb.is_empty());
                [COMPLETE.into(), "--".into()]
                    .into_iter()
                    .chain(verb)
                    .collect()
            }
            (None, verb) if first == COMPLETE => {
                arguments.remove(1);
                [COMPLETE.into(), "--".into()]
                    .into_iter()
                    .chain(verb)
                    .collect()
            }
            // HPAs with these names are addressed as hpa/NAME.
            (None, Some(verb)) if first == "help" => {
                arguments.truncate(1);
                vec!["help".into(), verb]
            }
            // clap would mistake the flag for a verb.
            (None, None) if first == "help" => {
                arguments.retain(|word| word != "--help" && word != "-h");
                Vec::new()
            }
            (None, Some(_)) if ["install-links", "--version", "-V"].contains(&first) => Vec::new(),
            (None, verb) => verb.into_iter().collect(),
        };
        let place = arguments.len().min(1);
        arguments.splice(place..place, words);
        (Self { before, linked }, arguments)
    }

    /// Rewrites the command lines of a text to this form.
    #[must_use]
    pub fn speak(&self, text: &str) -> String {
        let before = self.before;
        let Some(verb) = &self.linked else {
            // There is no program kubectl-hpa-explain.
            const ONE_WORD: &str = "kubectl hpa-";
            let parts = text
                .split(ONE_WORD)
                .map(|part| part.replace(WRITTEN, before.trim_end()));
            return parts.collect::<Vec<_>>().join(ONE_WORD);
        };
        text.replace(
            &format!("{WRITTEN} help VERB"),
            &format!("{before}{verb} help"),
        )
        .replace(
            &format!("{WRITTEN} install-links"),
            &format!("{before}{verb} install-links"),
        )
        .replace(&format!("{WRITTEN} "), before)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, OsString};

    use super::Form;

    fn read(line: &str) -> (Form, Vec<String>) {
        let words = line.split_whitespace().map(OsString::from).collect();
        let (form, words) = Form::read(words, Some(OsStr::new("/usr/bin:/opt/bin")));
        let words = words
            .into_iter()
            .skip(1)
            .map(|word| word.into_string().unwrap());
        (form, words.collect())
    }

    #[test]
    fn a_link_implies_its_verb() {
        for (typed, meant) in [
            ("/bin/kubectl-hpa_explain web", "explain web"),
            ("kubectl-hpa_predict web", "predict web"),
            ("kubectl-hpa_explain.exe web", "explain web"),
            ("kubectl-hpa_explain", "explain"),
            ("kubectl-hpa_explain help", "help explain"),
            (
                "kubectl-hpa_explain install-links --dry-run",
                "install-links --dry-run",
            ),
            ("kubectl-hpa_explain --version", "--version"),
            (
                "kubectl-hpa_explain __complete we",
                "__complete -- explain we",
            ),
            ("kubectl-hpa explain web", "explain web"),
            ("kubectl-hpa help --help", "help"),
            ("kubectl-hpa help predict -h", "help predict"),
            (
                "kubectl-hpa __complete explain --help",
                "__complete -- explain --help",
            ),
            (
                "/bin/kubectl_complete-hpa explain we",
                "__complete -- explain we",
            ),
            (
                "kubectl_complete-hpa_explain we",
                "__complete -- explain we",
            ),
            ("", ""),
        ] {
            assert_eq!(read(typed).1.join(" "), meant, "{typed}");
        }
    }

    #[test]
    fn texts_have_the_form_that_was_typed() {
        // The second as clap writes it, before the end of a style.
        let text =
            "kubectl hpa explain; kubectl hpa\u{1b}[0m x; kubectl hpa help VERB; kubectl get hpa";
        let plain =
            "kubectl-hpa explain; kubectl-hpa\u{1b}[0m x; kubectl-hpa help VERB; kubectl get hpa";
        for (typed, said) in [
            ("/usr/bin/kubectl-hpa", text),
            ("kubectl-hpa", plain),
            ("/tmp/kubectl-hpa", plain),
            (
                "/opt/bin/kubectl-hpa_predict",
                "kubectl hpa-explain; kubectl hpa\u{1b}[0m x; kubectl hpa-predict help; kubectl get hpa",
            ),
            (
                "./kubectl-hpa_predict",
                "kubectl-hpa_explain; kubectl hpa\u{1b}[0m x; kubectl-hpa_predict help; kubectl get hpa",
            ),
        ] {
            assert_eq!(read(typed).0.speak(text), said, "{typed}");
            let link = "kubectl runs `kubectl hpa-explain`";
            assert_eq!(read(typed).0.speak(link), link, "{typed}");
        }
    }
}
