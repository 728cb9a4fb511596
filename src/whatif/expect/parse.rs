//! Reads an expectation. If that fails, the error has the place, and what could be written there.

use super::fields::{
    DURATION, Field, MetricField, PassField, RUNS, RunField, RunOf, fields_of_run, is_of_word,
    listed, metric_fields, pass_fields,
};
use super::syntax::{ComparisonOperator, Expression, Node, Number, Operand, SyntaxError, error};
use super::units::{Sign, Unit, Units};
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::similar::nearest;
use crate::error::docs;
use crate::numbers::duration_with_days;

const SUMS: [(&str, Sign); 2] = [("+", Sign::Plus), ("-", Sign::Minus)];
const PRODUCTS: [(&str, Sign); 2] = [("*", Sign::Times), ("/", Sign::Over)];

/// Longer operators first, because they begin with shorter ones.
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

/// Operators of other languages, and their counterparts here; longer ones first.
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

/// The limit for nesting parentheses, `not` and signs.
const DEEPEST: usize = 100;

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
}

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
    /// A value that must be compared, unless it is a boolean field.
    Operand(Box<Operand>),
}

impl<'t> ExpressionParser<'t> {
    fn any(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        self.joined("or", Self::all, Node::Any)
    }

    fn all(&mut self) -> Result<Parsed<'t>, SyntaxError> {
        self.joined("and", Self::single, Node::All)
    }

    /// Parses conditions with a word between them, or a single part of any kind.
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

    /// Parses operands with signs between them, or a single part of any kind.
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
        // Names of Google Cloud's metrics have this sign in place of slashes.
        if self.rest().starts_with('|') && !self.rest().starts_with("||") {
            let fields = Vec::from_iter(MetricField::ALL.iter().map(|field| field.name()));
            error.hint = format!(
                "put a name with | in quotes: metric.\"NAME\".FIELD; FIELD is one of {}",
                fields.join(", ")
            );
        }
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
    /// Returns the part as a condition; an operand without a comparison must be a boolean.
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

    /// Returns the part as a side of a comparison or computation, which must be a number.
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

/// Returns the error for a word that is not a field.
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

fn fields_hint() -> String {
    format!(
        "the fields are {}; {} has those of metrics and runs",
        listed(pass_fields()),
        docs("expectations.md")
    )
}

/// Whether a character may be part of a field name; an operator may follow.
fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_.".contains(letter)
}
