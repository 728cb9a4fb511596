//! The names of the fields that scalers read from the metadata of their triggers: the `keda` tags of each scaler's
//! metadata whose order has `triggerMetadata` or `resolvedEnv` (`pkg/scalers`). KEDA ignores any other key
//! (`checkUnexpectedParameterExist` in `typed_config.go` can log them). What a scaler connects to may be told by more.

/// For types of triggers, the names of all fields that their scalers read from the metadata themselves; of some,
/// with a `*` at its end, only the beginning.
const KEYS: &str = include_str!("keys.txt");

/// Returns the names of the fields that the scaler of a type reads.
pub(super) fn keys(type_: &str) -> impl Iterator<Item = &'static str> + Clone {
    let lines = KEYS.lines().filter_map(|line| line.split_once(' '));
    let mut own = lines.filter(|(types, _)| types.split(',').any(|own| own == type_));
    own.next().map_or("", |(_, keys)| keys).split(',')
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
                assert!(matches!(type_, "cpu" | "memory") || scaler(type_).is_ok(), "{type_}");
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
}
