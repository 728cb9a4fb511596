//! Many selectors over the same objects. An object is compared only with those selectors that require one
//! of its labels, so that a thousand selectors over as many objects do not take a million comparisons.

use std::collections::HashMap;

use super::{Labels, Operator, Requirement, Selector};

/// Selectors, found by the labels that they match.
#[derive(Debug, Default)]
pub struct Selectors {
    all: Vec<Selector>,
    /// The places of the selectors that require one of certain values of a label, by key and value.
    by_label: HashMap<(Box<str>, Box<str>), Vec<usize>>,
    /// The places of the other selectors.
    others: Vec<usize>,
}

impl Selectors {
    /// Returns the given selectors; their places are those in the iterator.
    pub fn new(selectors: impl IntoIterator<Item = Selector>) -> Self {
        let all: Vec<Selector> = selectors.into_iter().collect();
        // A label that few of the selectors require is the most selective.
        let mut required: HashMap<(&str, &str), usize> = HashMap::new();
        for requirement in all.iter().flat_map(|selector| &selector.requirements) {
            for value in requirement.required() {
                *required.entry((&requirement.key, value)).or_default() += 1;
            }
        }
        let mut by_label: HashMap<_, Vec<usize>> = HashMap::new();
        let mut others = Vec::new();
        for (place, selector) in all.iter().enumerate() {
            let rarest = selector
                .requirements
                .iter()
                .filter(|requirement| !requirement.required().is_empty())
                .min_by_key(|requirement| -> usize {
                    let values = requirement.required().iter();
                    values
                        .map(|value| required[&(&*requirement.key, &**value)])
                        .sum()
                });
            match rarest {
                None => others.push(place),
                Some(rarest) => {
                    for value in rarest.required() {
                        let label = (rarest.key.clone(), value.clone());
                        by_label.entry(label).or_default().push(place);
                    }
                }
            }
        }
        Self {
            all,
            by_label,
            others,
        }
    }

    /// Returns the places of the matching selectors, in no order; a place may occur twice.
    pub fn matching(&self, labels: &Labels) -> impl Iterator<Item = usize> {
        let required = labels
            .0
            .iter()
            .filter_map(|label| self.by_label.get(label))
            .flatten();
        let places = required.chain(&self.others).copied();
        places.filter(|place| self.all[*place].matches(labels))
    }

    /// Whether any of the selectors matches.
    pub fn any_matches(&self, labels: &Labels) -> bool {
        self.matching(labels).next().is_some()
    }
}

impl Requirement {
    /// Returns the values of which the label must have one; empty if other values may match as well.
    fn required(&self) -> &[Box<str>] {
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => &self.values,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Labels, Selector, Selectors};

    #[test]
    fn they_match_what_each_of_them_matches() {
        let texts = [
            "",
            "app=web",
            "app=web,tier=a",
            "tier=a",
            "app in (web,api)",
            "!app",
            "app!=web",
            "tier",
            "app=web,app=api",
            "n>3",
            "app in (web),n>3",
            "tier=a,app notin (web)",
        ];
        let selectors: Vec<Selector> = texts
            .iter()
            .map(|text| Selector::parse(text).unwrap())
            .collect();
        let many = Selectors::new(selectors.clone());
        for labels in [
            &[][..],
            &[("app", "web")],
            &[("app", "api"), ("tier", "a")],
            &[("app", "web"), ("n", "4"), ("tier", "a")],
            &[("app", "none"), ("n", "2")],
            &[("tier", "b")],
        ] {
            let labels: Labels = labels.iter().copied().collect();
            let mut found: Vec<usize> = many.matching(&labels).collect();
            found.sort_unstable();
            found.dedup();
            let each = (0..texts.len()).filter(|place| selectors[*place].matches(&labels));
            assert_eq!(found, each.collect::<Vec<_>>(), "{labels:?}");
            assert_eq!(many.any_matches(&labels), !found.is_empty());
        }
        let one = Selectors::new([Selector::parse("app=web").unwrap()]);
        let any = |app| one.any_matches(&[("app", app)].into_iter().collect());
        assert_eq!((any("web"), any("api")), (true, false));
    }
}
