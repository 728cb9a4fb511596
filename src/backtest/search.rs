//! The settings that a search tries: every combination of the values of several fields. It shows those that
//! neither another nor the unchanged HPA beats in replica-hours, time short and shortfall.

use jiff::SignedDuration;
use serde_json::value::RawValue;

use super::Plan;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::error::Error;
use crate::numbers::{decimal, duration};
use crate::pass::Pass;
use crate::whatif::expect::Truth;
use crate::whatif::overrides::{Assumptions, Candidate};
use crate::whatif::timeline::Totals;

/// The maximum number of combinations. A week of passes takes a fraction of a second.
const MOST: usize = 2000;

const FORM: &str = "such as target.cpu=50%..80%:5, or \
                    behavior.scaleDown.stabilizationWindowSeconds=60,300,600";

/// A field with the values to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The field: `target.METRIC`, `min`, `max`, or a path as `--set` takes it.
    pub path: String,
    /// The values, as they would be typed.
    pub values: Vec<String>,
    /// The end of the range, if the steps do not lead to it.
    pub missed: Option<String>,
}

/// The combinations of several fields.
#[derive(Debug, Clone)]
pub struct Search {
    /// The fields.
    pub axes: Vec<Axis>,
    /// The assumptions of every combination.
    every: Assumptions,
    /// The time at which the pods are changed; `None` if from the first pass on.
    at: Option<SignedDuration>,
    first: Assumptions,
}

/// The result of a combination.
#[derive(Debug, Clone)]
pub struct Tried {
    /// Its place among the combinations.
    pub place: usize,
    /// The totals of its run, or the error with which the API server would reject it.
    pub result: Result<Totals, Error>,
    /// Whether it meets the expectations; false if it was not played.
    pub meets: Truth,
}

/// Judges a run by its first pass and its totals.
pub type Filter<'f> = dyn Fn(&Pass, &Totals) -> Truth + Sync + 'f;

/// The result of a search.
#[derive(Debug, Clone)]
pub struct SearchResult {
    /// The combinations.
    pub search: Search,
    /// The combinations that were tried, in order; not all of them if a signal ended the search.
    pub tried: Vec<Tried>,
    /// The indices of the settings that meet the expectations and that nothing else that meets them beats: no
    /// other setting, and not the unchanged HPA. One run beats another if it has fewer replica-hours, less time
    /// short or a smaller shortfall, and is behind in none of these.
    pub front: Vec<usize>,
    /// The exit code of the signal that ended the search, if one did.
    pub stopped: Option<u8>,
}

impl Axis {
    /// Reads `PATH=RANGE`.
    ///
    /// # Errors
    ///
    /// The text has another form, or the range is invalid.
    pub fn read(text: &str) -> Result<Self, Error> {
        let bad = |why: &str| Error::usage(format!("--vary {text}: {why}")).hint(FORM);
        // The name of a metric may have a container or a selector; values have no such character.
        let (path, range) = text
            .rsplit_once('=')
            .ok_or_else(|| bad("not of the form PATH=RANGE"))?;
        if path.is_empty() {
            return Err(bad("the field is missing"));
        }
        let mut missed = None;
        let is_json = range.contains(['[', '{']);
        let values = match range.split_once("..").filter(|_| !is_json) {
            Some((from, rest)) => {
                let (to, step) = match rest.split_once(':') {
                    Some((to, step)) => (to, step),
                    None => (rest, "1"),
                };
                let (values, is_end) = steps(from, to, step).map_err(|why| bad(&why))?;
                missed = (!is_end).then(|| to.to_owned());
                values
            }
            None if is_json => {
                let values: Vec<Box<RawValue>> = serde_json::from_str(&format!("[{range}]"))
                    .map_err(|e| bad(&format!("not JSON: {e}")))?;
                values.iter().map(|own| own.get().to_owned()).collect()
            }
            None => range.split(',').map(str::to_owned).collect(),
        };
        if let Some(at) = values.iter().position(|value| value.trim().is_empty()) {
            return Err(bad(&format!("value {} is empty", at + 1)));
        }
        let is_repeated = |(at, value): (usize, &String)| values[..at].contains(value);
        if let Some((_, value)) = values.iter().enumerate().find(|own| is_repeated(*own)) {
            return Err(bad(&format!("{value} is given twice")));
        }
        Ok(Self {
            path: path.to_owned(),
            values,
            missed,
        })
    }
}

/// Returns the values from one to another, and whether the last step reaches the end, which is then included.
/// They have the unit of the first.
fn steps(from: &str, to: &str, step_text: &str) -> Result<(Vec<String>, bool), String> {
    let (first, is_percent) = number(from)?;
    let (last, last_is) = number(to)?;
    let (step, step_is) = number(step_text)?;
    if is_percent != last_is || (step_is && !is_percent) {
        return Err(
            "all numbers of a range must have the same unit, as in 50%..80%:10%".to_owned(),
        );
    }
    let [start, end, by] = [&first, &last, &step].map(|it| i128::from(it.milli_value()));
    if by <= 0 {
        return Err("the step must be more than 0".to_owned());
    }
    if end < start {
        return Err(format!("the range is empty: {from} is more than {to}"));
    }
    let count = (end - start) / by + 1;
    if count > MOST as i128 {
        return Err(format!(
            "{count} values, and the limit is {MOST}: use a larger step"
        ));
    }
    let unit = if is_percent { "%" } else { "" };
    let is_decimal = [from, to, step_text]
        .iter()
        .all(|text| !text.contains(char::is_alphabetic));
    let mut values = Vec::new();
    for place in 0..count {
        let milli = i64::try_from(start + place * by).unwrap_or(i64::MAX);
        values.push(match milli % 1000 {
            // Fields that are numbers do not take 1k for 1000.
            0 if first.format() != Format::BinarySI => format!("{}{unit}", milli / 1000),
            // As it was typed: 0.15, not 150m.
            _ if is_decimal => format!("{}{unit}", decimal(milli, 3)),
            _ => format!("{}{unit}", Quantity::from_milli(milli, first.format())),
        });
    }
    Ok((values, (end - start) % by == 0))
}

/// Reads a number of a range, and whether it is a percentage.
fn number(text: &str) -> Result<(Quantity, bool), String> {
    let (digits, is_percent) = match text.strip_suffix('%') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let quantity = Quantity::parse(digits)
        .map_err(|_| format!("{text:?} is not a number; a range is FROM..TO:STEP"))?;
    let milli = Quantity::from_milli(quantity.milli_value(), quantity.format());
    if milli.amount() != quantity.amount() {
        return Err(format!(
            "{text} is too large for a range, or finer than a thousandth: list the values"
        ));
    }
    Ok((quantity, is_percent))
}

impl Search {
    /// Parses the settings to try in addition to the other assumptions.
    ///
    /// # Errors
    ///
    /// A range is invalid, a field appears twice, or there are too many combinations.
    pub fn new(
        vary: &[String],
        mut every: Assumptions,
        manifest: Option<Candidate>,
        at: Option<SignedDuration>,
    ) -> Result<Self, Error> {
        let read = vary.iter().map(|text| Axis::read(text));
        let axes = read.collect::<Result<Vec<_>, Error>>()?;
        for (place, Axis { path, .. }) in axes.iter().enumerate() {
            if axes[..place].iter().any(|other| other.path == *path) {
                return Err(Error::usage(format!("--vary {path}: given more than once")));
            }
        }
        let count = axes
            .iter()
            .try_fold(1usize, |all, it| all.checked_mul(it.values.len()));
        if count.is_none_or(|count| count > MOST) {
            let counts = axes.iter().map(|axis| axis.values.len().to_string());
            let each = Vec::from_iter(counts).join(" x ");
            return Err(
                Error::usage(format!("--vary: {each} combinations; the limit is {MOST}"))
                    .hint("use larger steps, or vary fewer fields at once"),
            );
        }
        if let Some(manifest) = manifest {
            every.replace_hpa(manifest);
        }
        for axis in &axes {
            for value in &axis.values {
                varied(&every, [(axis, value)]).map_err(|e| e.within("--vary"))?;
            }
        }
        let values = axes
            .iter()
            .filter_map(|axis| Some((axis, axis.values.first()?)));
        let first = varied(&every, values).map_err(|e| e.within("--vary"))?;
        Ok(Self {
            axes,
            every,
            at,
            first,
        })
    }

    /// Returns the assumptions about the spec and the requests that all combinations share, as typed.
    pub fn base(&self) -> Vec<String> {
        let candidate = self.every.candidate().into_iter();
        let manifest = candidate.map(|own| format!("--hpa {}", own.origin));
        let at = self.at.map(|at| format!("--at {}", duration(at)));
        manifest
            .chain(self.every.of_candidate())
            .chain(at)
            .collect()
    }

    /// The assumptions of the first combination.
    pub fn first(&self) -> &Assumptions {
        &self.first
    }

    /// The number of combinations.
    pub fn count(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// Returns the values of a combination, field by field; the last field changes first.
    pub fn values(&self, place: usize) -> Vec<String> {
        let mut rest = place;
        let mut values: Vec<String> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            values.push(axis.values[rest % axis.values.len()].clone());
            rest /= axis.values.len();
        }
        values.reverse();
        values
    }

    /// Returns the fields with their values in a combination.
    pub fn settings(&self, place: usize) -> Vec<String> {
        let pairs = self.axes.iter().zip(self.values(place));
        pairs
            .map(|(axis, value)| format!("{}={value}", axis.path))
            .collect()
    }

    /// Returns the assumptions of every combination, in order.
    pub fn all(&self) -> impl Iterator<Item = Assumptions> {
        (0..self.count()).filter_map(|place| self.assumptions(place).ok())
    }

    /// The assumptions of a combination.
    fn assumptions(&self, place: usize) -> Result<Assumptions, Error> {
        varied(&self.every, self.axes.iter().zip(&self.values(place)))
    }

    /// Plays a combination. `None` if the scale cannot be read.
    pub fn play(&self, plan: &Plan, place: usize, expected: Option<&Filter<'_>>) -> Option<Tried> {
        let (result, meets) = match self.play_and_judge(plan, place, expected).transpose()? {
            Ok((totals, meets)) => (Ok(totals), meets),
            Err(e) => (Err(e), Truth::False),
        };
        Some(Tried {
            place,
            result,
            meets,
        })
    }

    /// Returns the totals of a combination, and whether it meets the expectations; `None` if the scale cannot be
    /// read.
    fn play_and_judge(
        &self,
        plan: &Plan,
        place: usize,
        expected: Option<&Filter<'_>>,
    ) -> Result<Option<(Totals, Truth)>, Error> {
        let prepared = plan.prepare(&self.assumptions(place)?)?;
        let Some(totals) = prepared.totals()? else {
            return Ok(None);
        };
        let (input, _) = prepared.into_parts();
        let meets = expected.map_or(Truth::True, |meets| meets(&Pass::run(input), &totals));
        Ok(Some((totals, meets)))
    }

    /// Returns the result of the search. `rival` is the unchanged HPA, if it meets the expectations.
    ///
    /// # Errors
    ///
    /// The API server would reject all of them.
    pub fn found(
        &self,
        tried: Vec<Tried>,
        rival: Option<&Totals>,
        stopped: Option<u8>,
    ) -> Result<SearchResult, Error> {
        let is_refused = tried.iter().all(|own| own.result.is_err());
        if let (true, Some(Err(e))) = (is_refused, tried.first().map(|it| &it.result)) {
            let why = &e.message;
            let all = tried.len();
            // The message names the field, unless it is about the spec as a whole.
            let paths = self.axes.iter().map(|axis| &*axis.path);
            let mut fields = paths.map(|path| path.strip_prefix("spec.").unwrap_or(path));
            let which = if fields.any(|field| why.starts_with(field)) {
                String::new()
            } else {
                format!(", such as {}", self.settings(0).join(", "))
            };
            let message = match all {
                1 => format!("--vary: the combination cannot be played{which}: {why}"),
                _ => format!("--vary: none of {all} combinations can be played{which}: {why}"),
            };
            return Err(Error {
                hint: e.hint.clone(),
                ..Error::usage(message)
            });
        }
        Ok(SearchResult {
            search: self.clone(),
            front: front(&tried, rival),
            tried,
            stopped,
        })
    }
}

/// Returns assumptions with these values of fields.
fn varied<'a>(
    every: &Assumptions,
    values: impl IntoIterator<Item = (&'a Axis, &'a String)>,
) -> Result<Assumptions, Error> {
    let mut assumptions = every.clone();
    for (axis, value) in values {
        assumptions.vary(&axis.path, value)?;
    }
    Ok(assumptions)
}

impl SearchResult {
    /// Whether one of the settings that were tried meets the expectations.
    pub fn meets(&self) -> Truth {
        // A setting that was not tried might meet them.
        let is_open = self.tried.len() < self.search.count();
        let others = is_open.then_some(Truth::Unknown);
        let all = self.tried.iter().map(|own| own.meets).chain(others);
        all.max().unwrap_or(Truth::False)
    }
}

/// Returns the indices of those that meet the expectations and that neither another of them nor the rival beats, by
/// replica-hours.
fn front(tried: &[Tried], rival: Option<&Totals>) -> Vec<usize> {
    let cost = |of: &Totals| (of.replica_passes, of.short(), of.short_passes);
    let meeting = tried
        .iter()
        .enumerate()
        .filter(|(_, own)| own.meets == Truth::True);
    let costs: Vec<(usize, Cost)> = meeting
        .filter_map(|(place, own)| Some((place, cost(own.result.as_ref().ok()?))))
        .collect();
    let rival_cost = rival.map(cost);
    let mut front = costs.clone();
    front.retain(|(_, own)| {
        let mut others = costs.iter().map(|(_, other)| other).chain(&rival_cost);
        !others.any(|other| beats(other, own))
    });
    front.sort_by_key(|(_, own)| *own);
    front.into_iter().map(|(place, _)| place).collect()
}

/// Whether a run costs less than another in something, and more in nothing.
fn beats(one: &Cost, other: &Cost) -> bool {
    one != other && one.0 <= other.0 && one.1 <= other.1 && one.2 <= other.2
}

/// Replica-hours, time short and shortfall, each in passes if possible.
type Cost = (i128, SignedDuration, i128);

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn ranges_are_read() {
        for (text, values) in [
            ("target.cpu=50%..65%:5", "50% 55% 60% 65%"),
            ("target.cpu=50%..64%:5%", "50% 55% 60%"),
            ("target.cpu=100m..300m:100m", "100m 200m 300m"),
            ("max=9..11", "9 10 11"),
            ("max=3..3", "3"),
            ("min=-1.5..1.5:1.5", "-1.5 0 1.5"),
            (
                "behavior.scaleDown.stabilizationWindowSeconds=500..1500:500",
                "500 1000 1500",
            ),
            (
                "behavior.scaleDown.stabilizationWindowSeconds=60,300,600",
                "60 300 600",
            ),
            ("behavior.scaleUp.selectPolicy=Max,Disabled", "Max Disabled"),
            (
                r#"behavior.scaleUp.policies=[{"type":"Pods","value":1}],[{"type": "..", "value": 2}]"#,
                r#"[{"type":"Pods","value":1}] [{"type": "..", "value": 2}]"#,
            ),
            ("behavior.scaleUp.policies=null, [{}]", "null [{}]"),
            ("target.app=cpu=50%,60%", "50% 60%"),
            ("target.queue{name=a}=5..7", "5 6 7"),
            (
                "behavior.scaleUp.tolerance=0.05..0.2:0.05",
                "0.05 0.1 0.15 0.2",
            ),
        ] {
            assert_eq!(Axis::read(text).unwrap().values.join(" "), values, "{text}");
        }
    }

    #[test]
    fn what_is_no_range_is_an_error() {
        for (text, why) in [
            ("max", "not of the form PATH=RANGE"),
            ("=1..2", "the field is missing"),
            ("max=", "value 1 is empty"),
            ("max=1,,2", "value 2 is empty"),
            ("max=1,2,1", "1 is given twice"),
            ("max=5..3", "the range is empty: 5 is more than 3"),
            ("max=1..9:0", "the step must be more than 0"),
            ("max=1..9:-1", "the step must be more than 0"),
            (
                "max=1..x",
                "\"x\" is not a number; a range is FROM..TO:STEP",
            ),
            (
                "behavior.scaleUp.tolerance=0.0005..0.002:0.0005",
                "0.0005 is too large for a range, or finer than a thousandth: list the values",
            ),
            ("max=..9", "\"\" is not a number; a range is FROM..TO:STEP"),
            (
                "behavior.scaleUp.policies=[,]",
                "not JSON: expected value at line 1 column 3",
            ),
            (
                "target.cpu=50%..80",
                "all numbers of a range must have the same unit, as in 50%..80%:10%",
            ),
            (
                "target.cpu=50..80:5%",
                "all numbers of a range must have the same unit, as in 50%..80%:10%",
            ),
            (
                "max=1..1000000000",
                "1000000000 values, and the limit is 2000: use a larger step",
            ),
        ] {
            let message = Axis::read(text).unwrap_err().message;
            assert_eq!(message, format!("--vary {text}: {why}"));
        }
    }
}
