//! A command line that is still being typed: the verb, flag or value with which its last word begins,
//! according to the definition of the command line. Candidates beyond that definition are not known here.

use clap::builder::PossibleValue;
use clap::{Arg, Args, Command, FromArgMatches, ValueHint};

use super::ConnectionFlags;

/// The command line as typed so far.
#[derive(Debug)]
pub struct Typing {
    /// The verb; the program's name before there is one.
    pub verb: String,
    /// Flags and positional words before the last, by their names in the definition.
    before: Vec<(String, String)>,
    /// The possible meaning of the last word.
    pub last: LastWord,
    /// The part of the last word that is complete, such as `limited,` of a list. It precedes each candidate.
    pub lead: String,
    /// The part of the last word to complete, with which candidates must begin.
    pub stem: String,
}

/// The possible meaning of a word, according to the definition.
#[derive(Debug, Default)]
pub struct LastWord {
    /// The flag or positional argument whose value is typed, by its name in the definition; `None` for a flag or a
    /// verb.
    pub id: Option<String>,
    /// The candidates of the definition, each with its description.
    pub values: Vec<(String, String)>,
    /// Whether it is a file name.
    pub is_file: bool,
}

impl Typing {
    /// Reads the words after the program's name; the last one, which may be empty, is to be completed.
    /// The definition must have been built.
    pub fn read(root: &Command, words: &[String]) -> Self {
        let (last, earlier) = words
            .split_last()
            .map_or(("", words), |(last, rest)| (&**last, rest));
        let mut command = root;
        let mut place = command.get_positionals().next();
        let mut before = Vec::new();
        let mut pending: Option<&Arg> = None;
        let mut flags_end = false;
        for word in earlier {
            if let Some(flag) = pending.take() {
                before.push((id(flag), word.clone()));
            } else if !flags_end && word == "--" {
                flags_end = true;
            } else if let Some((flag, value)) = flag(command, word).filter(|_| !flags_end) {
                match value {
                    Some(value) => before.push((id(flag), value.to_owned())),
                    None if needs_value(flag) => pending = Some(flag),
                    None => before.push((id(flag), String::new())),
                }
            } else if !flags_end && word.starts_with('-') {
                // An unknown flag, taken to have no value.
            } else if let Some(verb) = command.find_subcommand(word) {
                command = verb;
                place = command.get_positionals().next();
            } else if let Some(place) = place {
                before.push((id(place), word.clone()));
            }
        }
        let (wanted, lead, stem) = if let Some(flag) = pending {
            (value_of(flag), "", last)
        } else if !flags_end && last.starts_with('-') {
            match flag(command, last) {
                // The shell keeps what precedes the equals sign, as with kubectl's own flags.
                Some((flag, Some(value))) if last.starts_with("--") => (value_of(flag), "", value),
                Some((flag, Some(value))) => {
                    (value_of(flag), &last[..last.len() - value.len()], value)
                }
                _ => (flags(command), "", last),
            }
        } else if !flags_end && command.has_subcommands() {
            (verbs(command), "", last)
        } else {
            (place.map(value_of).unwrap_or_default(), "", last)
        };
        Self {
            verb: command.get_name().to_owned(),
            before,
            last: wanted,
            lead: lead.to_owned(),
            stem: stem.to_owned(),
        }
    }

    /// Moves the stem into the lead, up to and including the last of these characters.
    pub fn settle(&mut self, ends: impl Fn(char) -> bool) {
        if let Some((at, end)) = self
            .stem
            .char_indices()
            .rev()
            .find(|(_, letter)| ends(*letter))
        {
            let rest = self.stem.split_off(at + end.len_utf8());
            self.lead.push_str(&std::mem::replace(&mut self.stem, rest));
        }
    }

    /// Returns the values that were typed earlier for a flag or positional argument.
    pub fn typed(&self, id: &str) -> impl Iterator<Item = &str> {
        self.before
            .iter()
            .filter(move |(own, _)| own == id)
            .map(|(_, value)| &**value)
    }

    /// Returns the connection flags; `None` if one of them has an invalid value.
    pub fn connection(&self) -> Option<ConnectionFlags> {
        let command = ConnectionFlags::augment_args(Command::new("connection"))
            .no_binary_name(true)
            .args_override_self(true);
        let mut words = Vec::new();
        for (name, value) in &self.before {
            let argument = command.get_arguments().find(|flag| id(flag) == *name);
            match argument.and_then(Arg::get_long) {
                Some(flag) if value.is_empty() => words.push(format!("--{flag}")),
                Some(flag) => words.push(format!("--{flag}={value}")),
                None => {}
            }
        }
        let matches = command.try_get_matches_from(words).ok()?;
        ConnectionFlags::from_arg_matches(&matches).ok()
    }
}

fn id(arg: &Arg) -> String {
    arg.get_id().as_str().to_owned()
}

fn needs_value(flag: &Arg) -> bool {
    let least = flag.get_num_args().map_or(1, |count| count.min_values());
    flag.get_action().takes_values() && least > 0
}

/// Returns the flag that a word names, with the value in the same word. Of several short flags in one word,
/// it is the first that takes a value, otherwise the last.
fn flag<'c, 'w>(command: &'c Command, word: &'w str) -> Option<(&'c Arg, Option<&'w str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        let flag = command
            .get_arguments()
            .find(|flag| flag.get_long() == Some(name))?;
        return Some((flag, value));
    }
    let shorts = word.strip_prefix('-')?;
    let mut last = None;
    for (at, letter) in shorts.char_indices() {
        let flag = command
            .get_arguments()
            .find(|flag| flag.get_short() == Some(letter))?;
        let rest = &shorts[at + letter.len_utf8()..];
        if needs_value(flag) {
            return Some((flag, Some(rest).filter(|rest| !rest.is_empty())));
        }
        last = Some((flag, None));
    }
    last
}

fn described(value: &PossibleValue) -> (String, String) {
    let help = value.get_help().map(ToString::to_string);
    (value.get_name().to_owned(), help.unwrap_or_default())
}

fn value_of(arg: &Arg) -> LastWord {
    let is_file = matches!(
        arg.get_value_hint(),
        ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
    );
    let values = arg.get_possible_values();
    let shown = values.iter().filter(|value| !value.is_hide_set());
    LastWord {
        id: Some(id(arg)),
        values: shown.map(described).collect(),
        is_file,
    }
}

fn flags(command: &Command) -> LastWord {
    let flags = command
        .get_arguments()
        .filter(|arg| !arg.is_positional() && !arg.is_hide_set());
    let forms = flags.flat_map(|flag| {
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        let long = flag
            .get_long()
            .filter(|long| long.len() > 1)
            .map(|long| format!("--{long}"));
        let short = flag.get_short().map(|short| format!("-{short}"));
        long.into_iter()
            .chain(short)
            .map(move |form| (form, help.clone()))
    });
    LastWord {
        values: forms.collect(),
        ..LastWord::default()
    }
}

fn verbs(command: &Command) -> LastWord {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let described = verbs.map(|verb| {
        let about = verb.get_about().map(ToString::to_string);
        (verb.get_name().to_owned(), about.unwrap_or_default())
    });
    LastWord {
        values: described.collect(),
        ..LastWord::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Typing;
    use crate::args::command_line;

    fn typing(line: &str) -> Typing {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut command = command_line();
        command.build();
        Typing::read(&command, &words)
    }

    #[test]
    fn the_words_before_say_what_the_last_one_is() {
        for (line, id, lead, stem) in [
            ("explain ", Some("names"), "", ""),
            ("explain we", Some("names"), "", "we"),
            ("explain -A we", Some("names"), "", "we"),
            ("explain web ", Some("names"), "", ""),
            ("install-links ", None, "", ""),
            ("explain -n ", Some("namespace"), "", ""),
            ("explain -n sh", Some("namespace"), "", "sh"),
            ("explain -nsh", Some("namespace"), "-n", "sh"),
            ("explain -Ansh", Some("namespace"), "-An", "sh"),
            ("explain --namespace=sh", Some("namespace"), "", "sh"),
            ("explain --no-such ", Some("names"), "", ""),
            ("explain -n shop -o ", Some("output"), "", ""),
            ("explain -v ", Some("verbosity"), "", ""),
            ("explain --insecure-skip-tls-verify ", Some("names"), "", ""),
            ("explain -- -x", Some("names"), "", "-x"),
            ("explain -", None, "", "-"),
            ("--color always explain --context ", Some("context"), "", ""),
            ("predict web --metric queue", Some("metrics"), "", "queue"),
            ("predict --cpu -10% we", Some("names"), "", "we"),
            ("no-such-verb ", None, "", ""),
            ("", None, "", ""),
        ] {
            let typing = typing(line);
            assert_eq!(
                (typing.last.id.as_deref(), &*typing.lead, &*typing.stem),
                (id, lead, stem),
                "{line}"
            );
        }
    }

    #[test]
    fn the_definition_has_candidates() {
        let names = |line: &str| -> Vec<String> {
            typing(line)
                .last
                .values
                .iter()
                .map(|(name, _)| name.clone())
                .collect()
        };
        assert!(names("").contains(&"predict".to_owned()));
        assert!(!names("").iter().any(|verb| verb.starts_with('_')));
        assert_eq!(names("explain --color "), ["auto", "always", "never"]);
        assert!(names("explain --na").contains(&"--namespace".to_owned()));
        assert!(names("explain -").contains(&"-n".to_owned()));
        assert!(typing("explain -f ").last.is_file && typing("explain --kubeconfig=").last.is_file);
        assert!(!typing("explain -n ").last.is_file);
    }

    #[test]
    fn what_was_typed_before_is_known() {
        let typing = typing("explain -f a -f b -n shop --context=test --token t -v 3 web api -o ");
        assert_eq!(typing.typed("filenames").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(typing.typed("names").collect::<Vec<_>>(), ["web", "api"]);
        let flags = typing.connection().unwrap();
        assert_eq!(flags.namespace.as_deref(), Some("shop"));
        assert_eq!(flags.context.as_deref(), Some("test"));
        assert_eq!(flags.verbosity, 3);
    }

    #[test]
    fn lists_are_completed_at_their_end() {
        let mut typing = typing("predict web --fail-on limited,ma");
        typing.settle(|letter| letter == ',');
        assert_eq!((&*typing.lead, &*typing.stem), ("limited,", "ma"));
        typing.settle(|letter| letter == '=');
        assert_eq!((&*typing.lead, &*typing.stem), ("limited,", "ma"));
    }
}
