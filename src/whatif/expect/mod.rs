//! Expectations about a pass and the run that begins with it, and the resulting exit code. Logic is
//! three-valued: an unknown value neither passes nor fails, and a value that is known only within bounds is
//! decided if the whole range agrees.

mod exact;
mod facts;
mod fields;
mod parse;
mod syntax;
mod units;

use jiff::Timestamp;
use serde::Serialize;

pub use exact::UnknownOperandCause;
pub use facts::{Fact, PassFacts, RunFacts};
pub use fields::{
    Field, MetricField, PassField, RunField, RunOf, metric_fields, pass_fields, run_fields,
};
pub use syntax::{ComparisonOperator, Expression, Node, Number, Operand, SyntaxError};
pub use units::Sign;

use crate::args::{ExpectArgs, ExpectShorthand, FailOn};
use crate::error::Error;
use crate::snapshot::hpa::HpaSpec;

/// The truth of a statement, ordered as in Kleene's logic: `and` is the least, `or` the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Truth {
    /// The statement does not hold.
    False,
    /// The statement may hold or not.
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

    /// Returns true if a statement always holds, false if it never does, and unknown otherwise.
    fn of_all(always: bool, never: bool) -> Self {
        match (always, never) {
            (true, _) => Self::True,
            (_, true) => Self::False,
            _ => Self::Unknown,
        }
    }
}

impl PassFacts<'_> {
    fn truth(&self, expected: &Expression) -> Truth {
        expected.root.truth(&|field| self.get(field))
    }
}

impl Node {
    fn truth(&self, facts: &impl Fn(&Field) -> Fact) -> Truth {
        match self {
            Self::Any(parts) => parts
                .iter()
                .map(|part| part.truth(facts))
                .max()
                .unwrap_or(Truth::False),
            Self::All(parts) => parts
                .iter()
                .map(|part| part.truth(facts))
                .min()
                .unwrap_or(Truth::True),
            Self::Not(inner) => inner.truth(facts).not(),
            Self::Flag(field) => match facts(field) {
                Fact::Flag(true) => Truth::True,
                Fact::Flag(false) => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Compare(left, operator, right) => operator.truth(left, right, facts),
        }
    }

    /// Returns the sides of all comparisons.
    fn sides(&self) -> Vec<&Operand> {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().flat_map(Self::sides).collect(),
            Self::Not(inner) => inner.sides(),
            Self::Flag(_) => Vec::new(),
            Self::Compare(left, _, right) => vec![left, right],
        }
    }

    /// Returns how many sides of comparisons are single fields.
    fn lone_fields(&self) -> usize {
        let sides = self.sides().into_iter();
        sides
            .filter(|side| matches!(side, Operand::Field(_)))
            .count()
    }

    /// Returns why a comparison has no answer although its fields have values.
    fn lack(&self, facts: &impl Fn(&Field) -> Fact) -> Option<UnknownOperandCause> {
        let sides = self.sides().into_iter();
        let mut lacks = sides.filter_map(|side| side.range(facts).err());
        lacks.find(|lack| *lack != UnknownOperandCause::Field)
    }
}

impl ComparisonOperator {
    /// Returns the truth of a comparison. The bounds of the two sides are assumed to vary independently, even
    /// where they cannot.
    fn truth(self, left: &Operand, right: &Operand, facts: &impl Fn(&Field) -> Fact) -> Truth {
        let (Ok(left), Ok(right)) = (left.range(facts), right.range(facts)) else {
            return Truth::Unknown;
        };
        let less = Truth::of_all(left.max < right.min, left.min >= right.max);
        let greater = Truth::of_all(left.min > right.max, left.max <= right.min);
        // One of the three holds, so they are equal if neither of the others can hold.
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
    /// Whether the expression holds.
    pub truth: Truth,
    /// The fields that the expectation uses, each once.
    pub values: Vec<FieldValue>,
    /// Whether each field stands alone on its side of a comparison, without arithmetic.
    pub is_plain: bool,
    /// The reason why the truth is unknown, if no field gives one.
    pub lack: Option<UnknownOperandCause>,
    /// Advice for an expectation that does not hold or is unknown.
    pub hint: Option<String>,
    /// Whether the expectation applies only to the first pass of a run, and not to later passes.
    pub is_of_first_pass: bool,
}

/// The findings of a kind that `--fail-on` names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindingSearch {
    /// The codes of the findings that exist; in a run, of its first pass unless they last throughout.
    pub found: Vec<&'static str>,
    /// Whether these findings last throughout a run.
    pub lasts: bool,
    /// Whether the kind includes findings about metrics.
    pub of_metrics: bool,
    /// Whether there are such findings with another history that the controller may have.
    pub with_other_history: bool,
    /// Whether there are such findings at the other time of the pass, if its time is in doubt.
    pub at_other_time: bool,
    /// The reason why there may be such findings although none shows: objects around the pass were not read.
    pub unread: Option<String>,
}

/// A field that an expectation uses.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldValue {
    /// The field.
    pub field: Field,
    /// The known value of the field.
    pub fact: Fact,
    /// The time when the value was reached, if known.
    pub moment: Option<Timestamp>,
}

impl FieldValue {
    fn new(field: &Field, facts: &PassFacts<'_>) -> Self {
        let fact = facts.get(field);
        // The longest stretch that is known begins there, however much more is open.
        let is_stretch = matches!(
            field,
            Field::Run(_, RunField::Short | RunField::LongestShort)
        );
        let moment = facts
            .moment(field)
            .filter(|_| fact.is_exact() || is_stretch);
        Self {
            field: field.clone(),
            fact,
            moment,
        }
    }
}

impl Expectation {
    fn new(expected: &Expected, facts: &PassFacts<'_>) -> Self {
        let Expected {
            expression,
            fail_on,
        } = expected;
        let mut values: Vec<FieldValue> = Vec::new();
        for (_, field) in &expression.fields {
            if !values.iter().any(|known| known.field == *field) {
                values.push(FieldValue::new(field, facts));
            }
        }
        let truth = facts.truth(expression);
        let mut expectation = Self {
            fail_on: *fail_on,
            values,
            is_plain: expression.root.lone_fields() == expression.fields.len(),
            is_of_first_pass: facts.runs.is_some() && !expression.is_of_run(),
            ..Self::without_fields(expression.text.clone(), truth, None)
        };
        if truth == Truth::Unknown {
            expectation.lack = expression.root.lack(&|field| facts.get(field));
            let is_decided = |facts: &PassFacts<'_>| facts.truth(expression) != Truth::Unknown;
            expectation.hint = if facts.with_history(is_decided) {
                facts.history_hint()
            } else {
                facts.time_hint().filter(|_| facts.at_this_time(is_decided))
            };
        }
        expectation
    }

    /// Returns the expectation that there is no finding of the kind that `--fail-on` names; `none` describes it. Unread
    /// data may hide a finding; unread metrics may do so even if the pass ignores them.
    pub fn not_found(
        what: &'static str,
        none: String,
        search: &FindingSearch,
        facts: &PassFacts<'_>,
    ) -> Self {
        let FindingSearch {
            found,
            lasts,
            of_metrics,
            with_other_history,
            at_other_time,
            unread,
        } = search;
        let lacking = if *of_metrics {
            facts.lacking_to_read()
        } else {
            facts.lacking()
        };
        let open = lacking.or_else(|| unread.clone()).or_else(|| {
            match (with_other_history, at_other_time) {
                (true, true) => Some(facts::HISTORY.to_owned()),
                (true, false) => Some(facts.history_hint().unwrap_or(facts::HISTORY.to_owned())),
                (false, true) => facts.time_hint(),
                (false, false) => None,
            }
        });
        let (truth, hint) = match open {
            _ if !found.is_empty() => (Truth::False, Some(format!("found {}", found.join(", ")))),
            None => (Truth::True, None),
            Some(why) => (Truth::Unknown, Some(why)),
        };
        Self {
            fail_on: Some(what),
            is_of_first_pass: facts.runs.is_some() && !*lasts,
            ..Self::without_fields(none, truth, hint)
        }
    }

    /// Returns the expectation that some settings of a search meet all expectations of a run; `tried` describes
    /// the results.
    pub fn of_some_setting(expected: &[String], truth: Truth, tried: String) -> Self {
        let expression = format!("some setting meets {}", expected.join(" and "));
        Self::without_fields(expression, truth, Some(tried))
    }

    fn without_fields(expression: String, truth: Truth, hint: Option<String>) -> Self {
        Self {
            expression,
            fail_on: None,
            truth,
            values: Vec::new(),
            is_plain: true,
            lack: None,
            hint,
            is_of_first_pass: false,
        }
    }
}

/// Returns the name of an expression, with the shorthand that it comes from.
pub(crate) fn named(expression: &str, fail_on: Option<&str>) -> String {
    match fail_on {
        Some(shorthand) => format!("{expression} (--fail-on {shorthand})"),
        None => expression.to_owned(),
    }
}

/// The verdict on all expectations; a later variant outweighs an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExpectationVerdict {
    /// 0: nothing was expected, or all expectations hold.
    Holds,
    /// 5: a change is due, and `--exit-code` reports it.
    ChangeDue,
    /// 4: not certain enough to gate.
    Uncertain,
    /// 3: an expectation is false.
    ExpectationFalse,
}

impl ExpectationVerdict {
    /// The process's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Holds => 0,
            Self::ExpectationFalse => 3,
            Self::Uncertain => 4,
            Self::ChangeDue => 5,
        }
    }

    /// Returns the verdict. `unchanged` is given only with `--exit-code`; if it is unknown, there may be a change.
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

/// All expectations of a pass and its run.
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

impl Expected {
    fn read(text: &str, fail_on: Option<&'static str>) -> Result<Self, Error> {
        let expression = parse(text)?;
        Ok(Self {
            expression,
            fail_on,
        })
    }
}

impl Gate {
    /// Parses the arguments, which needs nothing else.
    pub fn new(args: &ExpectArgs) -> Result<Self, Error> {
        let mut gate = Self::default();
        for text in &args.expect {
            gate.expected.push(Expected::read(text, None)?);
        }
        for shorthand in &args.fail_on {
            // Findings are not known here.
            if let FailOn::Condition(shorthand) = shorthand {
                let (name, text) = meaning(*shorthand);
                gate.expected.push(Expected::read(text, Some(name))?);
            }
        }
        if args.exit_code {
            let (_, text) = meaning(ExpectShorthand::Change);
            gate.unchanged = Some(parse(text)?);
        }
        Ok(gate)
    }

    /// Returns a gate without expectations: it only checks that no change is due, if `--exit-code` is set.
    #[must_use]
    pub fn of_change_alone(&self) -> Self {
        Self {
            expected: Vec::new(),
            unchanged: self.unchanged.clone(),
        }
    }

    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether there are expectations to report on; the change that `--exit-code` reports does not count.
    pub fn has_expectations(&self) -> bool {
        !self.expected.is_empty()
    }

    /// Whether any expectation is about a run.
    pub fn is_about_run(&self) -> bool {
        self.expected.iter().any(|own| own.expression.is_of_run())
    }

    /// Checks that the HPA has each metric that is named.
    pub fn check(&self, spec: &HpaSpec) -> Result<(), Error> {
        self.expected.iter().try_for_each(|own| {
            let checked = own.expression.check(spec);
            checked.map_err(|e| unusable(&own.expression.text, e))
        })
    }

    /// Rejects expectations of a run if none is played.
    pub fn check_without_run(&self) -> Result<(), Error> {
        self.expected.iter().try_for_each(|own| {
            let checked = own.expression.check_without_run();
            checked.map_err(|e| match own.fail_on {
                None => unusable(&own.expression.text, e),
                Some(condition) => Error::usage(format!(
                    "--fail-on {condition} is about a run, and none is played"
                ))
                .hint(e.hint),
            })
        })
    }

    /// Returns all expectations, as they were written.
    pub fn names(&self) -> Vec<String> {
        let all = self.expected.iter();
        all.map(|own| named(&own.expression.text, own.fail_on))
            .collect()
    }

    /// Returns whether all expectations hold. A search evaluates this for every run.
    pub fn truth(&self, facts: &PassFacts<'_>) -> Truth {
        let all = self.expected.iter();
        let truths = all.map(|own| facts.truth(&own.expression));
        truths.min().unwrap_or(Truth::True)
    }

    /// Returns the judged expectations, followed by those that were judged before, and the verdict on all.
    pub fn judge(
        &self,
        facts: &PassFacts<'_>,
        judged: impl IntoIterator<Item = Expectation>,
    ) -> (Vec<Expectation>, ExpectationVerdict) {
        let expectations: Vec<Expectation> = self
            .expected
            .iter()
            .map(|expected| Expectation::new(expected, facts))
            .chain(judged)
            .collect();
        let unchanged = self.unchanged.as_ref().map(|own| facts.truth(own));
        let verdict = ExpectationVerdict::of(&expectations, unchanged);
        (expectations, verdict)
    }
}

/// Returns the name of a shorthand, and its expression.
fn meaning(shorthand: ExpectShorthand) -> (&'static str, &'static str) {
    match shorthand {
        ExpectShorthand::ScaleDown => ("scale-down", "delta >= 0"),
        ExpectShorthand::ScaleUp => ("scale-up", "delta <= 0"),
        ExpectShorthand::Change => ("change", "delta == 0"),
        ExpectShorthand::Limited => ("limited", "not limited"),
        ExpectShorthand::Maxed => ("maxed", "desired < max"),
        ExpectShorthand::MetricsMissing => ("metrics-missing", "failed == 0 and missing == 0"),
        ExpectShorthand::Stale => ("stale", "not stale"),
        ExpectShorthand::Warnings => ("warnings", "warnings == 0"),
        ExpectShorthand::Unsettled => ("unsettled", "run.settled"),
        ExpectShorthand::RunMaxed => ("run-maxed", "run.atMax == 0s"),
        ExpectShorthand::Unanswered => ("unanswered", "run.unanswered == 0s"),
    }
}

fn parse(text: &str) -> Result<Expression, Error> {
    Expression::parse(text).map_err(|e| unusable(text, e))
}

fn unusable(text: &str, error: SyntaxError) -> Error {
    let SyntaxError { at, message, hint } = error;
    Error::usage(format!("failed to read an expectation: {message}"))
        .at(text, at)
        .hint(hint)
}

#[cfg(test)]
mod tests;
