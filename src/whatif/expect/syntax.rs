//! The language of expectations: `desired <= 20 and not limited`. From loosest to tightest: `or`,
//! `and`, `not`, comparisons of fields and numbers, and fields that are true or false by themselves.
//! What cannot be read is answered with the place, and with what could stand there.

use std::fmt;

use crate::apimachinery::quantity::Quantity;
use crate::snapshot::hpa::{HpaSpec, MetricSpec};

/// An expectation as it was written, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// As it was written.
    pub text: String,
    /// What it means.
    pub root: Node,
    /// The fields that it names, each with where in the text.
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
    /// A field that is true or false.
    Flag(Field),
    /// `a < b`
    Compare(Operand, Operator, Operand),
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A field that is a number.
    Field(Field),
    /// A number.
    Number(Number),
}

/// A number as it was written: `20`, `250m`, `512Mi`, or `80%` for a utilization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// As it was written.
    pub text: String,
    /// The number, without the percent sign.
    pub quantity: Quantity,
}

impl Number {
    /// Whether it looks like a share of 1 and not like a percentage: below 1, or `1.0` and `1.5`.
    pub(super) fn is_fraction(&self) -> bool {
        let value = self.quantity.approximate_f64();
        let most = if self.text.contains('.') { 2.0 } else { 1.0 };
        value > 0.0 && value < most && !self.text.ends_with('%')
    }
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
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
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// What to do where a condition should end.
const JOINED: &str = "conditions are joined with and, or, not and parentheses";

/// What other languages write, and what is written here instead; longer ones first.
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

/// Something that is known of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// Of the pass as a whole.
    Pass(PassField),
    /// Of a metric, by its name or by what the report calls it.
    Metric(String, MetricField),
}

/// What is known of a pass as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassField {
    /// The replicas after the pass; unknown where they stay because metrics fail.
    Desired,
    /// The replicas before.
    Current,
    /// The former minus the latter.
    Delta,
    /// The lower limit.
    Min,
    /// The upper limit.
    Max,
    /// The highest proposal, before stabilization and limits.
    Recommended,
    /// The metrics that could not be evaluated.
    Failed,
    /// The pods that some metric has no value of.
    Missing,
    /// The warning events that the controller would send.
    Warnings,
    /// Whether rate limits or bounds changed the outcome.
    Limited,
    /// Whether past recommendations changed the outcome.
    Stabilized,
    /// Whether the controller cannot decide or scale, as is so at 0 replicas.
    Blocked,
    /// Whether a sample is older than twice its window.
    Stale,
}

const PASS_FIELDS: [(&str, PassField); 13] = [
    ("desired", PassField::Desired),
    ("current", PassField::Current),
    ("delta", PassField::Delta),
    ("min", PassField::Min),
    ("max", PassField::Max),
    ("recommended", PassField::Recommended),
    ("failed", PassField::Failed),
    ("missing", PassField::Missing),
    ("warnings", PassField::Warnings),
    ("limited", PassField::Limited),
    ("stabilized", PassField::Stabilized),
    ("blocked", PassField::Blocked),
    ("stale", PassField::Stale),
];

/// What is known of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricField {
    /// The replicas that it proposes.
    Desired,
    /// The share of the requests, in percent.
    Utilization,
    /// The value per pod.
    AverageValue,
    /// The value in all.
    Value,
}

const METRIC_FIELDS: [(&str, MetricField); 4] = [
    ("desired", MetricField::Desired),
    ("utilization", MetricField::Utilization),
    ("averageValue", MetricField::AverageValue),
    ("value", MetricField::Value),
];

/// The fields that an expression may name, of the pass and of these metrics.
pub fn fields(metrics: &[&str]) -> Vec<Field> {
    let of_pass = PASS_FIELDS.iter().map(|(_, field)| Field::Pass(*field));
    let of_metrics = metrics.iter().flat_map(|metric| {
        METRIC_FIELDS.iter().map(|(_, field)| Field::Metric((*metric).to_owned(), *field))
    });
    of_pass.chain(of_metrics).collect()
}

impl Field {
    /// Whether it is true or false; else it is a number.
    fn is_flag(&self) -> bool {
        use PassField::{Blocked, Limited, Stabilized, Stale};
        matches!(self, Self::Pass(Limited | Stabilized | Blocked | Stale))
    }

    pub(super) fn is_share(&self) -> bool {
        matches!(self, Self::Metric(_, MetricField::Utilization))
    }
}

/// Why an expression cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where, in bytes from the start of the text.
    pub at: usize,
    /// What is wrong there.
    pub message: String,
    /// What could stand there.
    pub hint: String,
}

impl Expression {
    /// Reads an expression. The names of metrics are not looked at.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut parser = Parser { text, at: 0, depth: 0, fields: Vec::new() };
        let root = parser.any()?;
        parser.skip_space();
        if parser.at < text.len() {
            return Err(parser.unexpected("`and`, `or` or the end of the expression", JOINED));
        }
        Ok(Self { text: text.to_owned(), root, fields: parser.fields })
    }

    /// Whether the HPA has each metric that is named.
    pub fn check(&self, spec: &HpaSpec) -> Result<(), SyntaxError> {
        for (at, field) in &self.fields {
            if let Field::Metric(name, _) = field {
                find_metric(spec, name).map_err(|(message, hint)| SyntaxError {
                    at: *at,
                    message,
                    hint,
                })?;
            }
        }
        Ok(())
    }
}

/// The place of a metric in the spec, by what the report calls it or by its bare name. An error is
/// what is wrong, and the metrics that there are.
pub(super) fn find_metric(spec: &HpaSpec, name: &str) -> Result<usize, (String, String)> {
    let labels: Vec<String> = spec.metrics.iter().map(MetricSpec::label).collect();
    let matching = |by_label: bool| -> Vec<usize> {
        let matches = |place: &usize| {
            let own = if by_label { &*labels[*place] } else { spec.metrics[*place].name() };
            own == name
        };
        (0..labels.len()).filter(matches).collect()
    };
    let written = |places: &[usize]| {
        let fields = places
            .iter()
            .map(|place| Field::Metric(labels[*place].clone(), MetricField::Desired).to_string());
        fields.collect::<Vec<_>>().join(", ")
    };
    let mut found = matching(true);
    if found.is_empty() {
        found = matching(false);
    }
    match &found[..] {
        [place] => Ok(*place),
        [] if labels.is_empty() => {
            Err((format!("the HPA has no metric {name:?}"), "it has no metrics".to_owned()))
        }
        [] => {
            let all: Vec<usize> = (0..labels.len()).collect();
            Err((format!("the HPA has no metric {name:?}"), format!("it has {}", written(&all))))
        }
        several => Err((
            format!("the HPA has {} metrics {name:?}", several.len()),
            format!("name one: {}", written(several)),
        )),
    }
}

/// As deep as parentheses and `not` may be nested.
const DEEPEST: usize = 100;

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    fields: Vec<(usize, Field)>,
}

impl<'t> Parser<'t> {
    fn any(&mut self) -> Result<Node, SyntaxError> {
        let mut parts = vec![self.all()?];
        while self.takes_word("or") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::Any(parts) })
    }

    fn all(&mut self) -> Result<Node, SyntaxError> {
        let mut parts = vec![self.single()?];
        while self.takes_word("and") {
            parts.push(self.single()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::All(parts) })
    }

    fn single(&mut self) -> Result<Node, SyntaxError> {
        self.skip_space();
        let start = self.at;
        let not = self.takes_word("not");
        if !not && !self.takes("(") {
            return self.comparison();
        }
        if self.depth == DEEPEST {
            let message = format!("nested deeper than {DEEPEST}");
            return Err(error(start, message, "write it with fewer parentheses"));
        }
        self.depth += 1;
        let inner = if not { Node::Not(Box::new(self.single()?)) } else { self.any()? };
        self.depth -= 1;
        if !not {
            self.skip_space();
            if !self.takes(")") {
                return Err(self.unexpected("`and`, `or` or `)`", JOINED));
            }
        }
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Node, SyntaxError> {
        let left_at = self.at;
        let left = self.operand()?;
        self.skip_space();
        let operator = OPERATORS.into_iter().find(|(sign, _)| self.rest().starts_with(sign));
        let operator = operator.filter(|(sign, _)| {
            // `<>` is not `<` with something after it.
            self.slip().is_none_or(|(slip, _)| slip.len() <= sign.len())
        });
        let Some((sign, operator)) = operator else {
            return match left {
                Operand::Field(field) if field.is_flag() => Ok(Node::Flag(field)),
                _ if self.slip().is_some() => Err(self.unexpected("a comparison", JOINED)),
                Operand::Field(field) => Err(error(
                    left_at,
                    format!("{field} is a number and must be compared"),
                    format!("write for instance {field} <= 10"),
                )),
                Operand::Number(number) => Err(error(
                    left_at,
                    format!("{} must be compared", number.text),
                    format!("write for instance desired <= {}", number.text),
                )),
            };
        };
        self.takes(sign);
        number_of(left_at, &left)?;
        self.skip_space();
        let right_at = self.at;
        let right = self.operand()?;
        number_of(right_at, &right)?;
        for (at, side, other) in [(left_at, &left, &right), (right_at, &right, &left)] {
            match (side, other) {
                (Operand::Number(_), Operand::Number(_)) => {
                    return Err(error(at, "both sides are numbers", fields_hint()));
                }
                (Operand::Number(number), Operand::Field(field))
                    if number.text.ends_with('%') && !field.is_share() =>
                {
                    let message = format!("{field} is not a percentage, but {} is", number.text);
                    return Err(error(at, message, "only metric.NAME.utilization is a percentage"));
                }
                (Operand::Number(number), Operand::Field(field))
                    if field.is_share() && number.is_fraction() =>
                {
                    let message =
                        format!("{field} is in percent, and {} is a fraction", number.text);
                    let share = number.quantity.approximate_f64();
                    let percent = (share * 1e9).round() / 1e7;
                    let hint =
                        format!("write {percent}% for that share, or {share}% for that percentage");
                    return Err(error(at, message, hint));
                }
                _ => {}
            }
        }
        Ok(Node::Compare(left, operator, right))
    }

    fn operand(&mut self) -> Result<Operand, SyntaxError> {
        match self.rest().chars().next() {
            Some(c) if c.is_ascii_digit() || "+-.".contains(c) => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let at = self.at;
                let field = self.field()?;
                self.fields.push((at, field.clone()));
                Ok(Operand::Field(field))
            }
            _ => Err(self.unexpected("a field or a number", fields_hint())),
        }
    }

    fn number(&mut self) -> Result<Operand, SyntaxError> {
        let start = self.at;
        let digits = self.run(|c| c.is_alphanumeric() || "+-.".contains(c));
        self.takes("%");
        let quantity = Quantity::parse(digits).map_err(|_| {
            let message = format!("{digits:?} is not a number");
            error(start, message, "numbers are such as 20, 1.5, 250m, 512Mi or 80%")
        })?;
        Ok(Operand::Number(Number { text: self.text[start..self.at].to_owned(), quantity }))
    }

    fn field(&mut self) -> Result<Field, SyntaxError> {
        let start = self.at;
        if !self.takes("metric.") {
            let word = self.run(is_of_word);
            let found = PASS_FIELDS.into_iter().find(|(name, _)| *name == word);
            return found.map(|(_, field)| Field::Pass(field)).ok_or_else(|| {
                let message = match word {
                    "and" | "or" | "not" => format!("expected a field, not {word:?}"),
                    _ => format!("unknown field {word:?}"),
                };
                error(start, message, fields_hint())
            });
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
        let found = METRIC_FIELDS.into_iter().find(|(name, _)| *name == part);
        found.map(|(_, field)| Field::Metric(name.clone(), field)).ok_or_else(|| {
            let parts: Vec<String> = METRIC_FIELDS
                .iter()
                .map(|(_, field)| Field::Metric(name.clone(), *field).to_string())
                .collect();
            let message = match part {
                "" => format!("missing field of metric {name:?}"),
                _ => format!("a metric has no field {part:?}"),
            };
            error(at, message, format!("there are {}", parts.join(", ")))
        })
    }

    /// The rest of a name in quotes, in which a backslash stands before quotes and backslashes.
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
        Err(error(start, "the quotes are not closed", "write metric.\"NAME\".desired"))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.run(char::is_whitespace);
    }

    /// The letters from here on that are of a kind, which are left behind.
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

    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let start = self.at;
        let found = self.run(is_of_word) == word;
        if !found {
            self.at = start;
        }
        found
    }

    /// A sign of another language that stands here, and what is written instead.
    fn slip(&self) -> Option<(&'static str, &'static str)> {
        SLIPS.into_iter().find(|(sign, _)| self.rest().starts_with(sign))
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

/// What is compared must be a number.
fn number_of(at: usize, operand: &Operand) -> Result<(), SyntaxError> {
    match operand {
        Operand::Field(field) if field.is_flag() => Err(error(
            at,
            format!("{field} is not a number"),
            format!("it is true or false by itself: {field}, or not {field}"),
        )),
        _ => Ok(()),
    }
}

fn error(at: usize, message: impl Into<String>, hint: impl Into<String>) -> SyntaxError {
    SyntaxError { at, message: message.into(), hint: hint.into() }
}

fn fields_hint() -> String {
    let pass = PASS_FIELDS.iter().map(|(name, _)| (*name).to_owned());
    let metric = METRIC_FIELDS.iter().map(|(name, _)| format!("metric.NAME.{name}"));
    format!("the fields are {}", pass.chain(metric).collect::<Vec<_>>().join(", "))
}

/// Names of metrics may have more than words have, and go without quotes as long as no operator can
/// be meant.
fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-./:".contains(letter)
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, word) = match self {
            Self::Any(parts) => (parts, "or"),
            Self::All(parts) => (parts, "and"),
            Self::Not(inner) => {
                f.write_str("not ")?;
                return inner.within(f, matches!(**inner, Self::Any(_) | Self::All(_)));
            }
            Self::Flag(field) => return write!(f, "{field}"),
            Self::Compare(left, operator, right) => return write!(f, "{left} {operator} {right}"),
        };
        for (place, part) in parts.iter().enumerate() {
            if place > 0 {
                write!(f, " {word} ")?;
            }
            let looser = matches!(part, Self::Any(_))
                || matches!((self, part), (Self::All(_), Self::All(_)));
            part.within(f, looser)?;
        }
        Ok(())
    }
}

impl Node {
    fn within(&self, f: &mut fmt::Formatter<'_>, parentheses: bool) -> fmt::Result {
        if parentheses { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(field) => write!(f, "{field}"),
            Self::Number(number) => f.write_str(&number.text),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = OPERATORS.iter().find(|(_, operator)| operator == self);
        f.write_str(sign.map_or("", |(sign, _)| sign))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass(field) => {
                let name = PASS_FIELDS.iter().find(|(_, one)| one == field);
                f.write_str(name.map_or("", |(name, _)| name))
            }
            Self::Metric(metric, field) => {
                let name = METRIC_FIELDS.iter().find(|(_, one)| one == field);
                let name = name.map_or("", |(name, _)| name);
                if !metric.is_empty() && metric.chars().all(is_of_word) {
                    return write!(f, "metric.{metric}.{name}");
                }
                let escaped = metric.replace('\\', "\\\\").replace('"', "\\\"");
                write!(f, "metric.\"{escaped}\".{name}")
            }
        }
    }
}
