//! Suggestions for words that clap does not know. clap's own tips compare only spellings: they name hidden
//! verbs, and flags that share a few letters.

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::apimachinery::similar::nearest;

/// Flags of kubectl, and names of what they or fields set, with their equivalents here.
const OF_KUBECTL: [(&str, &str, &str); 7] = [
    (
        "-w",
        "--watch",
        "to repeat it: watch -n 15 kubectl hpa explain NAME",
    ),
    (
        "-k",
        "--kustomize",
        "for a kustomization: kubectl kustomize DIR | kubectl hpa explain NAME -f -",
    ),
    (
        "-R",
        "--recursive",
        "directories inside a directory are named, too: -f DIR -f DIR/INNER",
    ),
    ("--files", "--file", "to read a file: -f FILE"),
    (
        "--max-replicas",
        "--maxReplicas",
        "predict assumes another maximum with --max N",
    ),
    (
        "--min-replicas",
        "--minReplicas",
        "predict assumes another minimum with --min N",
    ),
    (
        "--cpu-percent",
        "--cpu-utilization",
        "predict assumes a target with --target cpu=80%, and usage with --cpu 80%",
    ),
];

/// Verbs of other programs, with their equivalents here.
const OF_OTHERS: [(&str, &str); 5] = [
    (
        "get",
        "'kubectl hpa explain' lists the HPAs of the namespace",
    ),
    (
        "describe",
        "'kubectl hpa explain NAME' explains the HPA of this name",
    ),
    ("version", "'kubectl hpa --version' prints the version"),
    (
        "completion",
        "'kubectl hpa install-links' makes kubectl complete; the directory completions of an archive has scripts \
         for shells",
    ),
    ("man", "the directory man of an archive has the man pages"),
];

/// Replaces the tips of an error.
#[must_use]
pub fn with_tips(e: clap::Error, definition: &Command) -> clap::Error {
    match e.kind() {
        ErrorKind::UnknownArgument => of_argument(e, definition),
        ErrorKind::InvalidSubcommand => of_verb(e, definition),
        _ => e,
    }
}

fn of_argument(mut e: clap::Error, definition: &Command) -> clap::Error {
    let Some(ContextValue::String(typed)) = e.get(ContextKind::InvalidArg).cloned() else {
        return e;
    };
    let owners: Vec<&str> = definition
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set() && has_argument(verb, &typed))
        .map(Command::get_name)
        .collect();
    let of_kubectl = OF_KUBECTL
        .iter()
        .find(|(short, long, _)| typed == *short || typed == *long);
    let tip = match of_kubectl {
        _ if !owners.is_empty() => {
            let owners = match &owners[..] {
                [first @ .., last] if !first.is_empty() => {
                    format!("{} and {last}", first.join(", "))
                }
                owners => owners.concat(),
            };
            Some(format!("'{typed}' is an argument of {owners}"))
        }
        Some((.., tip)) => Some((*tip).to_owned()),
        None => None,
    };
    let is_alike = match e.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(meant)) => nearest(&typed, [&**meant]).is_some(),
        _ => true,
    };
    if tip.is_some() || !is_alike {
        e.remove(ContextKind::SuggestedArg);
        e.remove(ContextKind::TrailingArg);
        e.remove(ContextKind::Suggested);
    }
    add(e, tip)
}

/// Whether a verb has an argument that is typed like this.
fn has_argument(verb: &Command, typed: &str) -> bool {
    verb.get_arguments().any(|argument| {
        let long = argument.get_long().map(|name| format!("--{name}"));
        let short = argument.get_short().map(|letter| format!("-{letter}"));
        [long, short].iter().flatten().any(|own| own == typed)
    })
}

fn of_verb(mut e: clap::Error, definition: &Command) -> clap::Error {
    let Some(ContextValue::String(typed)) = e.get(ContextKind::InvalidSubcommand).cloned() else {
        return e;
    };
    let verbs = definition
        .get_subcommands()
        .filter(|it| !it.is_hide_set())
        .map(Command::get_name);
    if let Some(meant) = nearest(&typed, verbs) {
        // After `help`, clap gives no tip.
        let has_tip = e.get(ContextKind::SuggestedSubcommand).is_some();
        let tip = (!has_tip).then(|| format!("a similar subcommand exists: '{meant}'"));
        return add(e, tip);
    }
    e.remove(ContextKind::SuggestedSubcommand);
    let of_others = OF_OTHERS.iter().find(|(word, _)| typed == *word);
    let tip = of_others.map_or_else(
        || format!("to explain an HPA of this name: kubectl hpa explain {typed}"),
        |(_, tip)| (*tip).to_owned(),
    );
    add(e, Some(tip))
}

fn add(mut e: clap::Error, tip: Option<String>) -> clap::Error {
    if let Some(tip) = tip {
        e.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![StyledStr::from(tip)]),
        );
    }
    e
}

#[cfg(test)]
mod tests {
    use super::with_tips;
    use crate::args::command_line;

    #[test]
    fn tips_name_what_does_the_same_here() {
        for (typed, tip) in [
            (
                "web",
                Some("to explain an HPA of this name: kubectl hpa explain web"),
            ),
            (
                "completion bash",
                Some("'kubectl hpa install-links' makes kubectl complete"),
            ),
            ("man", Some("has the man pages")),
            (
                "version",
                Some("'kubectl hpa --version' prints the version"),
            ),
            ("help explian", Some("'explain'")),
            ("explian web", Some("'explain'")),
            (
                "explain --cpu 80%",
                Some("'--cpu' is an argument of predict"),
            ),
            ("explain -w", Some("watch -n 15 kubectl hpa explain NAME")),
            ("explain --watch", Some("watch -n 15")),
            ("explain --file a", Some("-f FILE")),
            ("describe web", Some("'kubectl hpa explain NAME' explains")),
            ("get hpa", Some("'kubectl hpa explain' lists")),
            ("explain -k .", Some("kubectl kustomize DIR | ")),
            ("explain -R", Some("-f DIR/INNER")),
            ("explain --namepsace a", Some("'--namespace'")),
            ("explain --port 99999", None),
            ("predict web --max-replicas 3", Some("--max N")),
            ("predict web --cpu-percent 80", Some("--target cpu=80%")),
        ] {
            let words = ["kubectl-hpa"].into_iter().chain(typed.split(' '));
            let mut definition = command_line();
            let e = definition.try_get_matches_from_mut(words).unwrap_err();
            let text = with_tips(e, &definition).to_string();
            match tip {
                Some(tip) => assert!(text.contains(tip), "{typed}: {text}"),
                None => assert!(!text.contains("tip:"), "{typed}: {text}"),
            }
            assert!(!text.contains("__complete"), "{text}");
        }
    }
}
