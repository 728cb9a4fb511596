//! The fields of triggers, and the sources in which their scalers look for them: the `keda` tags of each
//! scaler's metadata whose order has `triggerMetadata` or `resolvedEnv` (`pkg/scalers`). KEDA ignores any
//! other key (`checkUnexpectedParameterExist` in `typed_config.go` can log them). Other keys may matter to
//! the service to which a scaler connects.

/// A source in which a scaler looks for a field: one item in the `order` of its `keda` tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldSource {
    /// The metadata itself.
    Metadata,
    /// The environment of a container, in the variable that is named by the field with the suffix `FromEnv`.
    Environment,
    /// The source to which the `authenticationRef` of the trigger refers.
    Authentication,
}

/// The names of all fields that the scalers of the given types of triggers read from the metadata or the
/// environment (for some, only the beginning, with a `*` at its end), after the sources in the order of
/// lookup: the metadata (`m`), the environment (`e`), and authentication (`a`).
const KEYS: &str = include_str!("keys.txt");

/// Returns the fields of a type in a table, each after what the table says of it.
pub(super) fn of_type(
    table: &'static str,
    type_: &str,
) -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    let lines = table.lines().filter_map(|line| line.split_once(' '));
    let mut own = lines.filter(|(types, _)| types.split(',').any(|own| own == type_));
    let groups = own.next().map_or("", |(_, groups)| groups);
    groups
        .split(' ')
        .filter_map(|group| group.rsplit_once('='))
        .flat_map(|(about, names)| names.split(',').map(move |name| (about, name)))
}

/// Returns the names of the fields that the scaler of a type reads.
pub(super) fn keys(type_: &str) -> impl Iterator<Item = &'static str> + Clone {
    of_type(KEYS, type_).map(|(_, name)| name)
}

/// Returns the sources in which the scaler of a type looks for a field, in this order; empty if the scaler
/// does not read the field.
pub(super) fn order(type_: &str, name: &str) -> impl Iterator<Item = FieldSource> + use<> {
    let own = of_type(KEYS, type_).find(|(_, own)| match own.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *own == name,
    });
    own.map_or("", |(order, _)| order)
        .chars()
        .map(|letter| match letter {
            'e' => FieldSource::Environment,
            'a' => FieldSource::Authentication,
            _ => FieldSource::Metadata,
        })
}

#[cfg(test)]
mod tests {
    use super::{KEYS, keys};
    use crate::keda::fields::rules;
    use crate::keda::scalers::scaler;

    /// Each type has its fields, and those with a rule are among them.
    #[test]
    fn fields_with_a_rule_are_read() {
        for line in KEYS.lines() {
            let (types, _) = line.split_once(' ').expect("types and names");
            for type_ in types.split(',') {
                assert!(
                    matches!(type_, "cpu" | "memory") || scaler(type_).is_ok(),
                    "{type_}"
                );
                let names = rules(type_).flat_map(|(_, name)| {
                    let (name, _) = name.split_once('@').unwrap_or((name, ""));
                    name.trim_end_matches('!').split(';')
                });
                for name in names {
                    assert!(keys(type_).any(|own| own == name), "{type_}: {name}");
                }
            }
        }
    }

    /// The sources are those that there are.
    #[test]
    fn fields_have_an_order() {
        for line in KEYS.lines() {
            let (_, groups) = line.split_once(' ').expect("types and groups");
            for group in groups.split(' ') {
                let (order, _) = group.split_once('=').expect("an order and names");
                let mut letters: Vec<char> = order.chars().collect();
                letters.sort_unstable();
                letters.dedup();
                let are_known = letters.iter().all(|letter| "mea".contains(*letter));
                assert!(
                    are_known && letters.len() == order.len() && order != "a",
                    "{group}"
                );
            }
        }
    }
}
