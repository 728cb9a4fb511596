//! Expectations of a pass and of the run that begins with it, and what follows from them for an exit
//! code. Logic is three-valued: what is unknown neither passes nor fails, and what is known only within
//! bounds is known if all of the range agrees.

mod exact;
mod facts;
mod syntax;
mod units;

use std::fmt;

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use exact::Lack;
pub use facts::{Fact, Facts, RunFacts, lacking};
pub use syntax::{
    Expression, Field, MetricField, Node, Number, Operand, Operator, PassField, RunField, RunOf,
    SyntaxError, metric_fields, pass_fields, run_fields,
};
pub use units::Sign;

use crate::apimachinery::json::SecondsTime;
use crate::args::{Condition, ExpectArgs, FailOn};
use crate::error::Error;
use crate::numbers::duration;
use crate::snapshot::hpa::HpaSpec;

/// What is known of a statement, ordered as in Kleene's logic: `and` is the least, `or` the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Truth {
    /// It does not hold.
    False,
    /// It may hold or not.
    Unknown,
    /// It holds.
    True,
}

impl Truth {
    /// `true`, `false` or `unknown`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::False => "false",
            Self::Unknown => "unknown",
            Self::True => "true",
        }
    }

    fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }

    /// What is true of all, false of all, or neither.
    fn of_all(always: bool, never: bool) -> Self {
        match (always, never) {
            (true, _) => Self::True,
            (_, true) => Self::False,
            _ => Self::Unknown,
        }
    }
}

impl Expression {
    /// Whether it holds.
    pub fn truth(&self, facts: &impl Fn(&Field) -> Fact) -> Truth {
        self.root.truth(facts)
    }
}

impl Node {
    fn truth(&self, facts: &impl Fn(&Field) -> Fact) -> Truth {
        match self {
            Self::Any(parts) => {
                parts.iter().map(|part| part.truth(facts)).max().unwrap_or(Truth::False)
            }
            Self::All(parts) => {
                parts.iter().map(|part| part.truth(facts)).min().unwrap_or(Truth::True)
            }
            Self::Not(inner) => inner.truth(facts).not(),
            Self::Flag(field) => match facts(field) {
                Fact::Flag(true) => Truth::True,
                Fact::Flag(false) => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Compare(left, operator, right) => operator.truth(left, right, facts),
        }
    }

    /// How many fields are a side of a comparison by themselves.
    fn lone_fields(&self) -> usize {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().map(Self::lone_fields).sum(),
            Self::Not(inner) => inner.lone_fields(),
            Self::Flag(_) => 0,
            Self::Compare(left, _, right) => {
                let is_field = |side: &&&Operand| matches!(***side, Operand::Field(_));
                [&**left, &**right].iter().filter(is_field).count()
            }
        }
    }

    /// Why a comparison has no answer although its fields have values.
    fn lack(&self, facts: &impl Fn(&Field) -> Fact) -> Option<Lack> {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().find_map(|part| part.lack(facts)),
            Self::Not(inner) => inner.lack(facts),
            Self::Flag(_) => None,
            Self::Compare(left, _, right) => {
                let lacks = [left, right].into_iter().filter_map(|it| it.range(facts).err());
                lacks.into_iter().find(|lack| *lack != Lack::Field)
            }
        }
    }
}

impl Operator {
    /// The bounds of the two sides are taken to vary by themselves, even where they cannot.
    fn truth(self, left: &Operand, right: &Operand, facts: &impl Fn(&Field) -> Fact) -> Truth {
        let (Ok(left), Ok(right)) = (left.range(facts), right.range(facts)) else {
            return Truth::Unknown;
        };
        let (left_min, left_max, right_min, right_max) = (left.min, left.max, right.min, right.max);
        let less = Truth::of_all(left_max < right_min, left_min >= right_max);
        let greater = Truth::of_all(left_min > right_max, left_max <= right_min);
        // One of the three holds, so they are equal where neither other can be.
        let equal = Truth::min(less.not(), greater.not());
        match self {
            Self::Equal => equal,
            Self::NotEqual => equal.not(),
            Self::Less => less,
            Self::AtLeast => less.not(),
            Self::Greater => greater,
            Self::AtMost => greater.not(),
        }
    }
}

/// An expectation, and whether it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The expression, as it was written.
    pub expression: String,
    /// The shorthand that it comes from.
    pub fail_on: Option<&'static str>,
    /// Whether it holds.
    pub truth: Truth,
    /// The fields that it looks at, each once.
    pub values: Vec<Value>,
    /// Whether its fields stand alone on their sides of comparisons, and are not computed with.
    pub is_plain: bool,
    /// Why it is unknown, where no field says that.
    pub lack: Option<Lack>,
    /// What to type to know it, if only the history or only the time is uncertain.
    pub hint: Option<String>,
    /// Whether it is about the first pass of a run, and not about what follows.
    pub is_of_first_pass: bool,
}

/// A field that an expectation looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The field.
    pub field: Field,
    /// What is known of it.
    pub fact: Fact,
    /// When the value was reached, where that is known.
    pub moment: Option<Timestamp>,
}

impl Value {
    fn new(field: &Field, facts: &Facts<'_>) -> Self {
        let fact = facts.get(field);
        // The longest stretch that is known begins there, however much more is open.
        let is_stretch = matches!(field, Field::Run(_, RunField::Short | RunField::LongestShort));
        let moment = facts.moment(field).filter(|_| fact.is_exact() || is_stretch);
        Self { field: field.clone(), fact, moment }
    }
}

/// The value without its field: `4`, `34 at 2026-11-17T12:03:00Z`, `15m (first at
/// 2026-11-17T12:03:00Z)`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fact)?;
        let Some(moment) = self.moment.map(SecondsTime) else { return Ok(()) };
        match self.field {
            Field::Run(_, RunField::LongestShort) if self.fact.is_exact() => {
                write!(f, " from {moment} on")
            }
            Field::Run(_, RunField::LongestShort) => match &self.fact {
                Fact::Duration { min, .. } => write!(f, " ({} from {moment} on)", duration(*min)),
                _ => Ok(()),
            },
            Field::Run(_, RunField::Short) => write!(f, " (longest from {moment} on)"),
            Field::Run(
                _,
                RunField::AtMax | RunField::Rescales | RunField::Reversals | RunField::Unanswered,
            ) => write!(f, " (first at {moment})"),
            _ => write!(f, " at {moment}"),
        }
    }
}

impl Expectation {
    fn new(expected: &Expected, facts: &Facts<'_>) -> Self {
        let Expected { expression, fail_on } = expected;
        let mut values: Vec<Value> = Vec::new();
        for (_, field) in &expression.fields {
            if !values.iter().any(|known| known.field == *field) {
                values.push(Value::new(field, facts));
            }
        }
        let truth = |facts: &Facts<'_>| expression.truth(&|field| facts.get(field));
        let hint = || {
            if facts.with_history(truth) != Truth::Unknown {
                return Some(facts.history_hint());
            }
            facts.time_hint().filter(|_| truth(&facts.at_this_time()) != Truth::Unknown)
        };
        let found = truth(facts);
        let mut own = Self {
            expression: expression.text.clone(),
            fail_on: *fail_on,
            truth: found,
            values,
            is_plain: expression.root.lone_fields() == expression.fields.len(),
            lack: None,
            hint: None,
            is_of_first_pass: facts.has_runs() && !expression.is_of_run(),
        };
        if found == Truth::Unknown {
            own.lack = expression.root.lack(&|field| facts.get(field));
            own.hint = hint();
        }
        own
    }

    /// That nothing is found of what `--fail-on` names; `found` is what is, maybe in the first pass of a
    /// run. What could not be read may hide a finding.
    pub fn not_found(what: &'static str, found: &[&str], facts: &Facts<'_>) -> Self {
        let lacking = facts.lacking();
        let (truth, hint) = match (found, lacking) {
            ([], None) => (Truth::True, None),
            ([], Some(lacking)) => (Truth::Unknown, Some(lacking)),
            (found, _) => (Truth::False, Some(format!("found: {}", found.join(", ")))),
        };
        Self {
            expression: format!("no finding {what}"),
            fail_on: Some(what),
            truth,
            values: Vec::new(),
            is_plain: true,
            lack: None,
            hint,
            is_of_first_pass: facts.has_runs(),
        }
    }

    /// That some settings of a search meet all that is expected of a run; `tried` says what came of them.
    pub fn of_some_setting(expected: &[String], truth: Truth, tried: String) -> Self {
        Self {
            expression: format!("some setting meets {}", expected.join(" and ")),
            fail_on: None,
            truth,
            values: Vec::new(),
            is_plain: true,
            lack: None,
            hint: Some(tried),
            is_of_first_pass: false,
        }
    }

    /// What it is called: the expression, with the shorthand that it comes from, and what it is about if
    /// that is not the run.
    pub fn name(&self) -> String {
        let name = named(&self.expression, self.fail_on);
        if self.is_of_first_pass { format!("{name} in the first pass") } else { name }
    }

    /// The values that it looks at: `desired is 4, limited is false`; with the hint.
    pub fn because(&self) -> String {
        let values = self.values.iter().map(|value| format!("{} is {value}", value.field));
        self.with_reasons(values.collect::<Vec<_>>().join(", "))
    }

    /// The same next to the expression, where the only number needs no name if it is compared as it is:
    /// `4`.
    pub fn in_short(&self) -> String {
        match &self.values[..] {
            [value] if self.is_plain && value.field.is_number() => {
                self.with_reasons(value.to_string())
            }
            _ => self.because(),
        }
    }

    fn with_reasons(&self, values: String) -> String {
        let lack = self.lack.and_then(Lack::reason).map(str::to_owned);
        let values = Some(values).filter(|values| !values.is_empty());
        [values, lack, self.hint.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

fn named(expression: &str, fail_on: Option<&str>) -> String {
    match fail_on {
        Some(shorthand) => format!("{expression} (--fail-on {shorthand})"),
        None => expression.to_owned(),
    }
}

impl Serialize for Expectation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("expression", &self.expression)?;
        map.serialize_entry("failOn", &self.fail_on)?;
        map.serialize_entry("truth", &self.truth)?;
        if self.is_of_first_pass {
            map.serialize_entry("firstPass", &true)?;
        }
        map.serialize_entry("values", &self.values)?;
        if let Some(why) = self.lack.and_then(Lack::reason) {
            map.serialize_entry("unknown", why)?;
        }
        if let Some(hint) = &self.hint {
            map.serialize_entry("hint", hint)?;
        }
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("field", &self.field.to_string())?;
        self.fact.add_to(&mut map)?;
        if let Some(moment) = self.moment {
            map.serialize_entry("moment", &SecondsTime(moment).to_string())?;
        }
        map.end()
    }
}

/// What the expectations come to; what comes later outweighs what comes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// 0: nothing was expected, or all of it holds.
    Holds,
    /// 5: a change is due, and that was asked for.
    ChangeDue,
    /// 4: not certain enough to gate.
    Uncertain,
    /// 3: an expectation is false.
    ExpectationFalse,
}

impl Verdict {
    /// The process's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Holds => 0,
            Self::ExpectationFalse => 3,
            Self::Uncertain => 4,
            Self::ChangeDue => 5,
        }
    }

    /// `unchanged` is asked of only with `--exit-code`, and an unknown one may be a change.
    fn of(expectations: &[Expectation], unchanged: Option<Truth>) -> Self {
        let expected = expectations.iter().map(|one| match one.truth {
            Truth::True => Self::Holds,
            Truth::Unknown => Self::Uncertain,
            Truth::False => Self::ExpectationFalse,
        });
        let change = unchanged.map(|unchanged| match unchanged {
            Truth::True => Self::Holds,
            Truth::Unknown => Self::Uncertain,
            Truth::False => Self::ChangeDue,
        });
        expected.chain(change).max().unwrap_or(Self::Holds)
    }
}

/// All that is expected of a pass and its run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    expected: Vec<Expected>,
    unchanged: Option<Expression>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Expected {
    expression: Expression,
    fail_on: Option<&'static str>,
}

impl Gate {
    /// Reads what was typed; nothing else has to be known for that.
    pub fn new(args: &ExpectArgs) -> Result<Self, Error> {
        let mut expected = Vec::new();
        for text in &args.expect {
            let expression = Expression::parse(text).map_err(|e| unusable(text, e))?;
            expected.push(Expected { expression, fail_on: None });
        }
        for shorthand in &args.fail_on {
            // Findings are not known here.
            let FailOn::Condition(shorthand) = shorthand else { continue };
            let (name, text) = meaning(*shorthand);
            let expression = Expression::parse(text).map_err(|e| unusable(text, e))?;
            expected.push(Expected { expression, fail_on: Some(name) });
        }
        let (_, text) = meaning(Condition::Change);
        let unchanged = args.exit_code.then(|| Expression::parse(text));
        let unchanged = unchanged.transpose().map_err(|e| unusable(text, e))?;
        Ok(Self { expected, unchanged })
    }

    /// The same without expectations: only that no change is due, if that was asked for.
    #[must_use]
    pub fn of_change_alone(&self) -> Self {
        Self { expected: Vec::new(), unchanged: self.unchanged.clone() }
    }

    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether there are expectations to report on; a change that is asked for does not count.
    pub fn has_expectations(&self) -> bool {
        !self.expected.is_empty()
    }

    /// Whether the HPA has each metric that is named.
    pub fn check(&self, spec: &HpaSpec) -> Result<(), Error> {
        self.expected.iter().try_for_each(|Expected { expression, .. }| {
            expression.check(spec).map_err(|e| unusable(&expression.text, e))
        })
    }

    /// Refuses expectations of a run, where none is played.
    pub fn check_without_run(&self) -> Result<(), Error> {
        self.expected.iter().try_for_each(|Expected { expression, .. }| {
            expression.check_without_run().map_err(|e| unusable(&expression.text, e))
        })
    }

    /// All that is expected, as it was written.
    pub fn names(&self) -> Vec<String> {
        let names = self.expected.iter().map(|own| named(&own.expression.text, own.fail_on));
        names.collect()
    }

    /// Whether all of it holds. A search asks this of every run.
    pub fn truth(&self, facts: &Facts<'_>) -> Truth {
        let truths = self.expected.iter().map(|own| own.expression.truth(&|it| facts.get(it)));
        truths.min().unwrap_or(Truth::True)
    }

    /// Each expectation with whether it holds, those that were judged before, and what they come to.
    pub fn judge(
        &self,
        facts: &Facts<'_>,
        judged: impl IntoIterator<Item = Expectation>,
    ) -> (Vec<Expectation>, Verdict) {
        let own = self.expected.iter().map(|expected| Expectation::new(expected, facts));
        let expectations: Vec<Expectation> = own.chain(judged).collect();
        let unchanged = self.unchanged.as_ref();
        let unchanged = unchanged.map(|expression| expression.truth(&|field| facts.get(field)));
        let verdict = Verdict::of(&expectations, unchanged);
        (expectations, verdict)
    }
}

/// The name of a shorthand, and what it expects.
fn meaning(shorthand: Condition) -> (&'static str, &'static str) {
    match shorthand {
        Condition::ScaleDown => ("scale-down", "delta >= 0"),
        Condition::ScaleUp => ("scale-up", "delta <= 0"),
        Condition::Change => ("change", "delta == 0"),
        Condition::Limited => ("limited", "not limited"),
        Condition::Maxed => ("maxed", "desired < max"),
        Condition::MetricsMissing => ("metrics-missing", "failed == 0 and missing == 0"),
        Condition::Stale => ("stale", "not stale"),
        Condition::Warnings => ("warnings", "warnings == 0"),
        Condition::Unsettled => ("unsettled", "run.settled"),
        Condition::RunMaxed => ("run-maxed", "run.atMax == 0s"),
        Condition::Unanswered => ("unanswered", "run.unanswered == 0s"),
    }
}

fn unusable(text: &str, error: SyntaxError) -> Error {
    let SyntaxError { at, message, hint } = error;
    Error::usage(format!("failed to read an expectation: {message}")).at(text, at).hint(hint)
}

#[cfg(test)]
mod tests;
