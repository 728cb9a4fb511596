//! The language of expectations: `desired <= 20 and not limited`. From loosest to tightest: `or`, `and`,
//! `not`, comparisons, sums, products, and fields; some fields are booleans. Both sides of a comparison are
//! numbers, percentages or durations. An expression that cannot be parsed results in an error with the place,
//! and with what could be written there.

use std::fmt;

use jiff::SignedDuration;

use super::units::{Sign, Unit, Units};
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::similar::nearest;
use crate::error::docs;
use crate::numbers::duration_with_days;
use crate::snapshot::hpa::HpaSpec;

/// An expectation as it was written, and its parsed form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// As it was written.
    pub text: String,
    /// Its root.
    pub root: Node,
    /// The fields that it names, each with its position in the text.
    pub fields: Vec<(usize, Field)>,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// `a or b or c`
    Any(Vec<Node>),
    /// `a and b and c`
    All(Vec<Node>),
    /// `not a`
    Not(Box<Node>),
    /// A field that is a boolean.
    Flag(Field),
    /// `a < b`
    Compare(Box<Operand>, ComparisonOperator, Box<Operand>),
}

/// An operand of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A field that is a number.
    Field(Field),
    /// A number.
    Number(Number),
    /// A duration: `1h30m`.
    Duration {
        /// As it was written.
        text: String,
        /// Its length.
        duration: SignedDuration,
    },
    /// `-a`
    Negative(Box<Operand>),
    /// `a + b - c`, or `a * b / c`: from left to right, and never both in one chain.
    Chain(Box<Operand>, Vec<(Sign, Operand)>),
}

const SUMS: [(&str, Sign); 2] = [("+", Sign::Plus), ("-", Sign::Minus)];
const PRODUCTS: [(&str, Sign); 2] = [("*", Sign::Times), ("/", Sign::Over)];

/// A number as it was written: `20`, `250m`, `512Mi`, or `80%` for a utilization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// As it was written.
    pub text: String,
    /// The number, without the percent sign.
    pub quantity: Quantity,
}

impl Number {
    /// Whether it looks like a fraction of 1 and not like a percentage: below 1, or `1.0` and `1.5`.
    pub(super) fn is_fraction(&self) -> bool {
        let value = self.quantity.approximate_f64();
        let most = if self.text.contains('.') { 2.0 } else { 1.0 };
        value > 0.0 && value < most && !self.text.ends_with('%')
    }
}

/// The operator of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOperator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `<`
    Less,
    /// `>`
    Greater,
}

/// Longer ones first, as they begin with the shorter.
const OPERATORS: [(&str, ComparisonOperator); 6] = [
    ("==", ComparisonOperator::Equal),
    ("!=", ComparisonOperator::NotEqual),
    ("<=", ComparisonOperator::AtMost),
    (">=", ComparisonOperator::AtLeast),
    ("<", ComparisonOperator::Less),
    (">", ComparisonOperator::Greater),
];

/// The hint for text where a condition should end.
const JOINED: &str = "conditions are joined with and, or, not and parentheses";

/// Operators of other languages, and the ones to use here; longer ones first.
const SLIPS: [(&str, &str); 17] = [
    ("===", "=="),
    ("!==", "!="),
    ("< =", "<="),
    ("> =", ">="),
    ("=<", "<="),
    ("=>", ">="),
    ("=!", "!="),
    ("<>", "!="),
    ("&&", "and"),
    ("||", "or"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("&", "and"),
    ("|", "or"),
    ("!", "not"),
    ("=", "=="),
];

/// A fact about a pass, or about the run that begins with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// Of the pass as a whole.
    Pass(PassField),
    /// Of a metric, by its name or its display name.
    Metric(String, MetricField),
    /// Of a run.
    Run(RunOf, RunField),
}

/// Declares fields: the typed name, the unit (none for a boolean), and the meaning.
macro_rules! fields {
    ($(#[$meta:meta])* $kind:ident { $($field:ident = $name:literal, $unit:expr, $meaning:literal;)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {
            $(
                #[doc = $meaning]
                $field,
            )*
        }

        impl $kind {
            const ALL: &[Self] = &[$(Self::$field,)*];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }

            fn unit(self) -> Option<Unit> {
                match self {
                    $(Self::$field => $unit,)*
                }
            }

            fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|field| field.name() == name)
            }
        }
    };
}

const FLAG: Option<Unit> = None;
const NUMBER: Option<Unit> = Some(Unit::Number);
const PERCENT: Option<Unit> = Some(Unit::Percent);
const DURATION: Option<Unit> = Some(Unit::Duration);

fields! {
    /// The fields of a pass as a whole.
    PassField {
        Desired = "desired", NUMBER, "The replicas after the pass; unknown where they stay because metrics fail.";
        Current = "current", NUMBER, "The replicas before.";
        Delta = "delta", NUMBER, "The replicas after the pass minus those before.";
        Min = "min", NUMBER, "`minReplicas`.";
        Max = "max", NUMBER, "`maxReplicas`.";
        Recommended = "recommended", NUMBER, "The highest proposal, before stabilization and limits.";
        Failed = "failed", NUMBER, "The number of metrics that could not be evaluated.";
        Missing = "missing", NUMBER, "The number of pods without a value of some metric.";
        Warnings = "warnings", NUMBER, "The number of warning events that the controller would send.";
        Limited = "limited", FLAG, "Whether rate limits or bounds changed the outcome.";
        Stabilized = "stabilized", FLAG, "Whether past recommendations changed the outcome.";
        Blocked = "blocked", FLAG, "Whether the controller cannot decide or scale, as at 0 replicas.";
        Stale = "stale", FLAG, "Whether a sample is older than a minute and twice its window.";
    }
}

fields! {
    /// The fields of a metric.
    MetricField {
        Desired = "desired", NUMBER, "The replicas that it proposes.";
        Utilization = "utilization", PERCENT, "The share of the requests.";
        AverageValue = "averageValue", NUMBER, "The value per pod.";
        Value = "value", NUMBER, "The total value.";
    }
}

/// One of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOf {
    /// The run of the spec that is judged.
    Judged,
    /// The run of the HPA without changes.
    Replay,
}

const RUNS: [(&str, RunOf); 2] = [("run", RunOf::Judged), ("replay", RunOf::Replay)];

fields! {
    /// The fields of a run.
    RunField {
        ReplicaHours = "replicaHours", NUMBER, "Replicas times hours.";
        Mean = "mean", NUMBER, "The mean number of replicas over time.";
        Lowest = "lowest", NUMBER, "The fewest replicas.";
        Highest = "highest", NUMBER, "The most replicas.";
        AtMax = "atMax", DURATION, "How long there were `maxReplicas` or more.";
        Short = "short", DURATION, "How long more were proposed than there were ready pods.";
        LongestShort = "longestShort", DURATION, "The longest stretch of `short`.";
        Rescales = "rescales", NUMBER, "How often the replicas changed.";
        Reversals = "reversals", NUMBER, "How often they changed against the change before, within ten minutes.";
        Unanswered = "unanswered", DURATION, "How long passes had no answer.";
        Last = "last", NUMBER, "The replicas at the end.";
        Settled = "settled", FLAG, "Whether nothing is left that could change them.";
    }
}

/// The fields of the pass that an expression may name.
pub fn pass_fields() -> impl Iterator<Item = Field> {
    PassField::ALL.iter().map(|field| Field::Pass(*field))
}

/// The fields of a metric that an expression may name.
pub fn metric_fields(metric: &str) -> impl Iterator<Item = Field> {
    MetricField::ALL
        .iter()
        .map(|field| Field::Metric(metric.to_owned(), *field))
}

/// The fields of the runs that an expression may name.
pub fn run_fields() -> impl Iterator<Item = Field> {
    RUNS.into_iter().flat_map(|(_, of)| fields_of_run(of))
}

fn fields_of_run(of: RunOf) -> impl Iterator<Item = Field> {
    RunField::ALL
        .iter()
        .map(move |field| Field::Run(of, *field))
}

impl Field {
    /// Returns its unit; `None` if it is a boolean.
    pub(super) fn unit(&self) -> Option<Unit> {
        match self {
            Self::Pass(field) => field.unit(),
            Self::Metric(_, field) => field.unit(),
            Self::Run(_, field) => field.unit(),
        }
    }

    /// Whether it is a number, and not a boolean.
    pub(crate) fn is_number(&self) -> bool {
        self.unit().is_some()
    }

    /// Whether it is a field of a run, and not of the first pass.
    pub fn is_of_run(&self) -> bool {
        matches!(self, Self::Run(..))
    }
}

impl Operand {
    /// Returns its possible units: `10m` is a thousandth of ten or ten minutes, `20` may be a percentage.
    pub(super) fn units(&self) -> Units {
        match self {
            Self::Field(field) => field.unit().map_or(Units::NONE, Units::of),
            Self::Number(number) if number.text.ends_with('%') => Units::of(Unit::Percent),
            Self::Number(number) => {
                let percent = Units::of(Unit::Percent).only_if(!number.is_fraction());
                let is_duration = duration_with_days(&number.text).is_some();
                let duration = Units::of(Unit::Duration).only_if(is_duration);
                Units::of(Unit::Number).or(percent).or(duration)
            }
            Self::Duration { .. } => Units::of(Unit::Duration),
            Self::Negative(inner) => inner.units(),
            Self::Chain(first, rest) => rest.iter().fold(first.units(), |units, (sign, next)| {
                units.combined(*sign, next.units())
            }),
        }
    }

    /// Decides for one of these units.
    fn settle(&mut self, unit: Unit) {
        match self {
            Self::Number(Number { text, .. }) if unit == Unit::Duration => {
                if let Some(duration) = duration_with_days(text) {
                    *self = Self::Duration {
                        text: std::mem::take(text),
                        duration,
                    };
                }
            }
            Self::Number(_) | Self::Field(_) | Self::Duration { .. } => {}
            Self::Negative(inner) => inner.settle(unit),
            Self::Chain(first, rest) => {
                let mut before = vec![first.units()];
                for (sign, next) in &*rest {
                    let units = before.last().copied().unwrap_or(Units::NONE);
                    before.push(units.combined(*sign, next.units()));
                }
                let mut wanted = unit;
                for ((sign, next), units) in rest.iter_mut().zip(before).rev() {
                    let Some((left, right)) = units.leading_to(wanted, *sign, next.units()) else {
                        return;
                    };
                    next.settle(right);
                    wanted = left;
                }
                first.settle(wanted);
            }
        }
    }

    fn is_literal(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Duration { .. })
    }
}

/// The reason why an expression cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The position, in bytes from the start of the text.
    pub at: usize,
    /// What is wrong at that position.
    pub message: String,
    /// What could be written there.
    pub hint: String,
}

impl Expression {
    /// Reads an expression. The names of metrics are not checked.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut parser = ExpressionParser {
            text,
            at: 0,
            depth: 0,
            fields: Vec::new(),
        };
        let whole = parser.any()?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.unexpected("`and`, `or` or the end of the expression", JOINED));
        }
        let root = whole.condition()?;
        Ok(Self {
            text: text.to_owned(),
            root,
            fields: parser.fields,
        })
    }

    /// Whether it depends on a run, and not on the first pass alone.
    pub fn is_of_run(&self) -> bool {
        self.fields.iter().any(|(_, field)| field.is_of_run())
    }

    /// Rejects fields of a run if there is no run.
    pub fn check_without_run(&self) -> Result<(), SyntaxError> {
        match self.fields.iter().find(|(_, field)| field.is_of_run()) {
            Some((at, field)) => {
                let message = format!("{field} is known only over time");
                Err(error(*at, message, "use --for or --trace to play a run"))
            }
            None => Ok(()),
        }
    }

    /// Checks that the HPA has each metric that is named.
    pub fn check(&self, spec: &HpaSpec) -> Result<(), SyntaxError> {
        for (at, field) in &self.fields {
            if let Field::Metric(name, of) = field {
                find_metric(spec, name, *of).map_err(|(message, hint)| SyntaxError {
                    at: *at,
                    message,
                    hint,
                })?;
            }
        }
        Ok(())
    }
}

/// Returns the place of a metric in the spec, by its display name or its bare name. The error is the message,
/// and the same field of the metrics that exist.
pub(super) fn find_metric(
    spec: &HpaSpec,
    name: &str,
    field: MetricField,
) -> Result<usize, (String, String)> {
    let metrics = &spec.metrics;
    let labels = Vec::from_iter(metrics.iter().map(|own| own.label(metrics)));
    let all = Vec::from_iter(0..labels.len());
    let places = all.iter().copied();
    let by_label = places.clone().filter(|place| labels[*place] == name);
    let mut found = Vec::from_iter(by_label);
    if found.is_empty() {
        found.extend(places.filter(|place| metrics[*place].name() == name));
    }
    let written = |place: &usize| Field::Metric(labels[*place].clone(), field);
    let fields = |places: &[usize]| listed(places.iter().map(written));
    match &found[..] {
        [place] => Ok(*place),
        [] => {
            let there = match &all[..] {
                [] => "no metrics".to_owned(),
                _ => fields(&all),
            };
            let message = format!("the HPA has no metric {name:?}");
            Err((message, format!("it has {there}")))
        }
        several => Err((
            format!("the HPA has {} metrics {name:?}", several.len()),
            format!("name one: {}", fields(several)),
        )),
    }
}

/// The limit for nesting parentheses, `not` and signs.
const DEEPEST: usize = 100;

struct ExpressionParser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    fields: Vec<(usize, Field)>,
}

/// A part of an expression, with its place.
struct Parsed<'t> {
    at: usize,
    text: &'t str,
    part: ParsedPart,
}

enum ParsedPart {
    /// A boolean.
    Condition(Node),
    /// It must be compared, unless it is a flag.
    Operand(Box<Operand>),
}

impl<'t> ExpressionParser<'t> {
    fn any(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        self.joined("or", Self::all, Node::Any)
    }

    fn all(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        self.joined("and", Self::single, Node::All)
    }

    /// Parses conditions with a word between them; or the only part, of whatever kind.
    fn joined(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Parsed<'t>, SyntaxError>,
        of: fn(Vec<Node>) -> Node,
    ) -> Result<Parsed<'t>, SyntaxError> {
        let first = part(self)?;
        if !self.takes_word(word) {
            return Ok(first);
        }
        let at = first.at;
        let mut parts = vec![first.condition()?];
        loop {
            parts.push(part(self)?.condition()?);
            if !self.takes_word(word) {
                return Ok(self.since(at, ParsedPart::Condition(of(parts))));
            }
        }
    }

    fn single(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        self.skip_space();
        let at = self.at;
        if !self.takes_word("not") {
            return self.comparison();
        }
        let inner = self.nested(at, Self::single)?.condition()?;
        Ok(self.since(at, ParsedPart::Condition(Node::Not(Box::new(inner)))))
    }

    fn comparison(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        let fields = self.fields.len();
        let left = self.sum()?;
        self.skip_space();
        let operator = OPERATORS
            .into_iter()
            .find(|(sign, _)| self.rest().starts_with(sign))
            .filter(|(sign, _)| {
                // `<>` is not `<` with something after it.
                self.slip().is_none_or(|(slip, _)| slip.len() <= sign.len())
            });
        let Some((sign, operator)) = operator else {
            // A boolean may be followed by another language's word for `and`.
            let is_number = matches!(&left.part, ParsedPart::Operand(operand) if operand.units() != Units::NONE);
            return match self.slip() {
                Some(_) if is_number => Err(self.unexpected("a comparison", JOINED)),
                _ => Ok(left),
            };
        };
        self.takes(sign);
        let (at, mut left) = (left.at, left.side()?);
        let mut right = self.sum()?.side()?;
        if self.fields.len() == fields {
            return Err(error(at, "both sides are numbers", fields_hint()));
        }
        let common = left.operand.units().and(right.operand.units());
        let Some(unit) = common.first() else {
            return Err(mismatch(&left, &right));
        };
        left.operand.settle(unit);
        right.operand.settle(unit);
        let compared = Node::Compare(left.operand, operator, right.operand);
        Ok(self.since(at, ParsedPart::Condition(compared)))
    }

    fn sum(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        self.chain(SUMS, Self::product)
    }

    fn product(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        self.chain(PRODUCTS, Self::factor)
    }

    /// Parses operands with signs between them; or the only part, of whatever kind.
    fn chain(
        &mut self,
        signs: [(&str, Sign); 2],
        part: fn(&mut Self) -> Result<Parsed<'t>, SyntaxError>,
    ) -> Result<Parsed<'t>, SyntaxError> {
        let start = part(self)?;
        let mut sign = self.takes_sign(signs);
        if sign.is_none() {
            return Ok(start);
        }
        let (at, mut before) = (start.at, start.text);
        let first = start.side()?.operand;
        let mut units = first.units();
        let mut rest = Vec::new();
        while let Some(own) = sign {
            let next = part(self)?.side()?;
            let combined = units.combined(own, next.operand.units());
            if combined == Units::NONE {
                return Err(unfit(before, units, own, &next));
            }
            units = combined;
            rest.push((own, *next.operand));
            before = self.text[at..self.at].trim_end();
            sign = self.takes_sign(signs);
        }
        Ok(self.since(
            at,
            ParsedPart::Operand(Box::new(Operand::Chain(first, rest))),
        ))
    }

    fn factor(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        self.skip_space();
        let at = self.at;
        if self.takes("(") {
            let inner = self.nested(at, Self::any)?;
            self.skip_space();
            if !self.takes(")") {
                return Err(self.unexpected("`and`, `or` or `)`", JOINED));
            }
            return Ok(self.since(at, inner.part));
        }
        let mut letters = self.rest().chars();
        let operand = match (letters.next(), letters.next()) {
            (Some('-'), second) if !second.is_some_and(|c| c.is_ascii_digit() || c == '.') => {
                self.takes("-");
                let inner = self.nested(at, Self::factor)?.side()?;
                Operand::Negative(inner.operand)
            }
            (Some(c), _) if c.is_ascii_digit() || "+-.".contains(c) => self.number()?,
            (Some(c), _) if c.is_alphabetic() || c == '_' => {
                let field = self.field()?;
                self.fields.push((at, field.clone()));
                Operand::Field(field)
            }
            _ => return Err(self.unexpected("a field or a number", fields_hint())),
        };
        Ok(self.since(at, ParsedPart::Operand(Box::new(operand))))
    }

    /// Reads a part that is one level deeper.
    fn nested(
        &mut self,
        at: usize,
        part: fn(&mut Self) -> Result<Parsed<'t>, SyntaxError>,
    ) -> Result<Parsed<'t>, SyntaxError> {
        if self.depth == DEEPEST {
            let message = format!("nested deeper than {DEEPEST}");
            return Err(error(at, message, "write it with fewer parentheses"));
        }
        self.depth += 1;
        let inner = part(self)?;
        self.depth -= 1;
        Ok(inner)
    }

    /// A part that goes from a place to here.
    fn since(&self, at: usize, part: ParsedPart) -> Parsed<'t> {
        Parsed {
            at,
            text: self.text[at..self.at].trim_end(),
            part,
        }
    }

    fn number(&mut self) -> Result<Operand, SyntaxError> {
        let start = self.at;
        if !self.takes("-") {
            self.takes("+");
        }
        let is_digit = |c: char| c.is_alphanumeric() || c == '.';
        let digits = self.run(is_digit);
        let is_power = digits
            .strip_suffix(['e', 'E'])
            .is_some_and(|mantissa| mantissa.chars().all(|c| c.is_ascii_digit() || c == '.'));
        let mut letters = self.rest().chars();
        if is_power
            && letters.next().is_some_and(|c| c == '+' || c == '-')
            && letters.next().is_some_and(|c| c.is_ascii_digit())
        {
            self.at += 1;
            self.run(is_digit);
        }
        let digits = &self.text[start..self.at];
        self.takes("%");
        let text = self.text[start..self.at].to_owned();
        if let Ok(quantity) = Quantity::parse(digits) {
            return Ok(Operand::Number(Number { text, quantity }));
        }
        let duration = duration_with_days(&text).ok_or_else(|| {
            let message = format!("{digits:?} is not a number");
            let hint = "numbers are such as 20, 1.5, 250m, 512Mi, 80% or 1h30m";
            error(start, message, hint)
        })?;
        Ok(Operand::Duration { text, duration })
    }

    fn field(&mut self) -> Result<Field, SyntaxError> {
        let start = self.at;
        if !self.takes("metric.") {
            let word = self.run(is_of_name);
            let (owner, part) = word.split_once('.').unwrap_or((word, ""));
            if let Some((_, of)) = RUNS.into_iter().find(|(name, _)| *name == owner) {
                let at = self.at - part.len();
                let unknown = || unknown_part(at, part, &format!("the {owner}"), fields_of_run(of));
                let field = RunField::find(part).ok_or_else(unknown)?;
                return Ok(Field::Run(of, field));
            }
            let field = PassField::find(word).ok_or_else(|| unknown_field(start, word))?;
            return Ok(Field::Pass(field));
        }
        let (name, at, part) = if self.takes("\"") {
            let name = self.quoted(start)?;
            if !self.takes(".") {
                return Err(self.unexpected("a dot and what of the metric", JOINED));
            }
            (name, self.at, self.run(is_of_word))
        } else {
            let at = self.at;
            let word = self.run(is_of_word);
            match word.rsplit_once('.') {
                Some((name, part)) => (name.to_owned(), at + name.len() + 1, part),
                None => (word.to_owned(), self.at, ""),
            }
        };
        if let Some(field) = MetricField::find(part) {
            return Ok(Field::Metric(name, field));
        }
        let owner = format!("metric {name:?}");
        let mut error = unknown_part(at, part, &owner, metric_fields(&name));
        if self.text[start..self.at].contains(['-', '/']) {
            error.hint += "; put spaces around - and /";
        }
        Err(error)
    }

    /// Parses the rest of a name in quotes, where a backslash escapes quotes and backslashes.
    fn quoted(&mut self, start: usize) -> Result<String, SyntaxError> {
        let mut name = String::new();
        let mut letters = self.rest().char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += at + 1;
                    return Ok(name);
                }
                '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
                _ => name.push(letter),
            }
        }
        Err(error(
            start,
            "the quotes are not closed",
            "write metric.\"NAME\".desired",
        ))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.run(char::is_whitespace);
    }

    /// Consumes and returns the letters of a kind from here on.
    fn run(&mut self, kind: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !kind(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn takes_sign(&mut self, signs: [(&str, Sign); 2]) -> Option<Sign> {
        self.skip_space();
        let taken = signs.into_iter().find(|(text, _)| self.takes(text));
        taken.map(|(_, sign)| sign)
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let start = self.at;
        let found = self.run(is_of_name) == word;
        if !found {
            self.at = start;
        }
        found
    }

    /// Returns the operator of another language at this position, and the one to use here.
    fn slip(&self) -> Option<(&'static str, &'static str)> {
        SLIPS
            .into_iter()
            .find(|(sign, _)| self.rest().starts_with(sign))
    }

    fn unexpected(&self, wanted: &str, hint: impl Into<String>) -> SyntaxError {
        let rest = self.rest();
        let known = self.slip();
        let message = match (known, rest.chars().next()) {
            (Some((sign, _)), _) => format!("unexpected {sign:?}"),
            (None, Some(letter)) => format!("expected {wanted}, not {letter:?}"),
            (None, None) => format!("expected {wanted}, but the expression ends here"),
        };
        let hint = match known {
            Some((_, word)) => format!("write {word}"),
            None => hint.into(),
        };
        error(self.at, message, hint)
    }
}

/// A side of a comparison, or a part of one.
struct Comparand<'t> {
    at: usize,
    text: &'t str,
    operand: Box<Operand>,
}

impl<'t> Parsed<'t> {
    /// Returns it as a condition; an operand without a comparison must be a boolean.
    fn condition(self) -> Result<Node, SyntaxError> {
        let Self { at, text, part } = self;
        match part {
            ParsedPart::Condition(node) => Ok(node),
            ParsedPart::Operand(operand) if operand.is_literal() => Err(error(
                at,
                format!("{text} must be compared"),
                format!("write for instance desired <= {text}"),
            )),
            ParsedPart::Operand(operand) => {
                if let Operand::Field(field) = &*operand
                    && field.unit().is_none()
                {
                    return Ok(Node::Flag(field.clone()));
                }
                let units = operand.units();
                let limit = match units.first() {
                    Some(Unit::Duration) => "10m",
                    Some(Unit::Percent) => "80%",
                    _ => "10",
                };
                let message = format!("{text} is {} and must be compared", units.name());
                Err(error(
                    at,
                    message,
                    format!("write for instance {text} <= {limit}"),
                ))
            }
        }
    }

    /// Returns it as a side of a comparison or computation, which must be a number.
    fn side(self) -> Result<Comparand<'t>, SyntaxError> {
        let Self { at, text, part } = self;
        match part {
            ParsedPart::Operand(operand) if operand.units() != Units::NONE => {
                Ok(Comparand { at, text, operand })
            }
            _ => Err(error(
                at,
                format!("{text} is not a number"),
                format!("it is true or false by itself: {text}, or not {text}"),
            )),
        }
    }
}

/// Returns the error for two sides with different units.
fn mismatch(left: &Comparand<'_>, right: &Comparand<'_>) -> SyntaxError {
    // The literal is more likely wrong than the field.
    let (other, wrong) = if left.operand.is_literal() && !right.operand.is_literal() {
        (right, left)
    } else {
        (left, right)
    };
    let units = other.operand.units();
    if let Operand::Number(number) = &*wrong.operand
        && units.first() == Some(Unit::Percent)
        && number.is_fraction()
    {
        let message = format!(
            "{} is in percent, and {} is a fraction",
            other.text, wrong.text
        );
        let share = number.quantity.approximate_f64();
        let percent = (share * 1e9).round() / 1e7;
        let hint = format!("write {percent}% for that share, or {share}% for that percentage");
        return error(wrong.at, message, hint);
    }
    let wrong_units = wrong.operand.units();
    let message = format!(
        "{} is {}, but {} is {}",
        other.text,
        units.name(),
        wrong.text,
        wrong_units.name()
    );
    error(wrong.at, message, units_hint(units.or(wrong_units)))
}

/// Returns the error for a sum, product or quotient without a meaning.
fn unfit(before: &str, units: Units, sign: Sign, next: &Comparand<'_>) -> SyntaxError {
    let how = match sign {
        Sign::Plus => "and cannot be added to",
        Sign::Minus => "and cannot be subtracted from",
        Sign::Times => "and cannot be multiplied with",
        Sign::Over => "and cannot divide",
    };
    let next_units = next.operand.units();
    let (text, is) = (next.text, next_units.name());
    let message = format!("{text} is {is} {how} {before}, which is {}", units.name());
    error(next.at, message, units_hint(units.or(next_units)))
}

/// Returns a hint on the fields with this unit, a percentage or a duration.
fn units_hint(units: Units) -> String {
    if units.and(Units::of(Unit::Percent)) != Units::NONE
        && units.and(Units::of(Unit::Duration)) == Units::NONE
    {
        return "only metric.NAME.utilization is a percentage; write 0.9 for 90% of a number"
            .into();
    }
    let durations = fields_of_run(RunOf::Judged).filter(|it| it.unit() == DURATION);
    format!(
        "durations are such as 10m or 1h30m, and {}",
        listed(durations)
    )
}

/// Returns the error for a word that is no field.
fn unknown_field(at: usize, word: &str) -> SyntaxError {
    let message = match word {
        "and" | "or" | "not" => format!("expected a field, not {word:?}"),
        _ => format!("unknown field {word:?}"),
    };
    let near = match word {
        "replicas" => Some("desired or current"),
        _ => nearest(word, PassField::ALL.iter().map(|field| field.name())),
    };
    let hint = near.map_or_else(fields_hint, |near| format!("did you mean {near}?"));
    error(at, message, hint)
}

/// Returns the error for a field that a metric or run does not have.
fn unknown_part(
    at: usize,
    part: &str,
    owner: &str,
    fields: impl Iterator<Item = Field>,
) -> SyntaxError {
    let message = match part {
        "" => format!("missing field of {owner}"),
        _ => format!("{owner} has no field {part:?}"),
    };
    error(at, message, format!("there are {}", listed(fields)))
}

fn listed(fields: impl Iterator<Item = Field>) -> String {
    Vec::from_iter(fields.map(|field| field.to_string())).join(", ")
}

fn error(at: usize, message: impl Into<String>, hint: impl Into<String>) -> SyntaxError {
    SyntaxError {
        at,
        message: message.into(),
        hint: hint.into(),
    }
}

fn fields_hint() -> String {
    format!(
        "the fields are {}; {} has those of metrics and runs",
        listed(pass_fields()),
        docs("expectations.md")
    )
}

/// Whether a letter may be part of a field name; an operator may follow.
fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_.".contains(letter)
}

/// Whether a letter may be part of a metric's name: more letters may, and names need no quotes as long as
/// they cannot be read as a comparison.
fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-./:".contains(letter)
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(of, field) => {
                let run = RUNS
                    .iter()
                    .find(|(_, one)| one == of)
                    .map_or("", |(name, _)| name);
                write!(f, "{run}.{}", field.name())
            }
            Self::Pass(field) => f.write_str(field.name()),
            Self::Metric(metric, field) => {
                let name = field.name();
                if !metric.is_empty() && metric.chars().all(is_of_word) {
                    return write!(f, "metric.{metric}.{name}");
                }
                let escaped = metric.replace('\\', "\\\\").replace('"', "\\\"");
                write!(f, "metric.\"{escaped}\".{name}")
            }
        }
    }
}
