//! The grammar of selectors, like the lexer and parser in apimachinery's `labels`. Errors name the token
//! that was found, so tokens must be split where upstream splits them, and checked in its order.

use std::collections::BTreeSet;

use super::{Operator, Requirement, SelectorError, validate};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    Close,
    Comma,
    Bang,
    DoubleEquals,
    Equals,
    Greater,
    Less,
    NotEquals,
    Open,
    In,
    NotIn,
    Word,
}

/// The requirements in `text`, in its order.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut parser = SelectorParser {
        tokens: tokens(text),
        position: 0,
    };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            (Token::Word | Token::Bang, _) => {}
            (Token::End, _) => return Ok(requirements),
            (_, found) => return unexpected(found, "!, identifier, or 'end of string'"),
        }
        let requirement = parser.requirement().map_err(|SelectorError(message)| {
            SelectorError::new(format!("unable to parse requirement: {message}"))
        })?;
        requirements.push(requirement);
        match parser.next() {
            (Token::End, _) => return Ok(requirements),
            (Token::Comma, _) => {}
            (_, found) => return unexpected(found, "',' or 'end of string'"),
        }
        match parser.peek() {
            (Token::Word | Token::Bang, _) => {}
            (_, found) => return unexpected(found, "identifier after ','"),
        }
    }
}

fn unexpected<T>(found: &str, expected: &str) -> Result<T, SelectorError> {
    Err(SelectorError::new(format!(
        "found '{found}', expected: {expected}"
    )))
}

struct SelectorParser<'a> {
    /// Ends with [`Token::End`], which is never passed.
    tokens: Vec<(Token, &'a str)>,
    position: usize,
}

impl<'a> SelectorParser<'a> {
    /// Returns the next token, with `in` and `notin` as words.
    fn peek(&self) -> (Token, &'a str) {
        match self.tokens[self.position] {
            (Token::In | Token::NotIn, text) => (Token::Word, text),
            other => other,
        }
    }

    fn next(&mut self) -> (Token, &'a str) {
        let token = self.peek();
        self.advance();
        token
    }

    fn advance(&mut self) {
        self.position = (self.position + 1).min(self.tokens.len() - 1);
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let mut first = self.next();
        let absent = first.0 == Token::Bang;
        if absent {
            first = self.next();
        }
        let (Token::Word, key) = first else {
            return unexpected(first.1, "identifier");
        };
        // Upstream checks the key twice; at this point, it has not named the field yet.
        if let Some(fault) = validate::key_fault("<nil>", key) {
            return Err(SelectorError::new(fault));
        }
        if absent {
            return validate::requirement(key, Operator::DoesNotExist, Vec::new());
        }
        if let (Token::End | Token::Comma, _) = self.peek() {
            return validate::requirement(key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => BTreeSet::from([self.value()?]),
        };
        validate::requirement(key, operator, values.into_iter().map(Into::into).collect())
    }

    fn operator(&mut self) -> Result<Operator, SelectorError> {
        let (token, found) = self.tokens[self.position];
        self.advance();
        Ok(match token {
            Token::In => Operator::In,
            Token::NotIn => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            _ => return unexpected(found, "in, notin, =, ==, !=, gt, lt"),
        })
    }

    fn value(&mut self) -> Result<&'a str, SelectorError> {
        if let (Token::End | Token::Comma, _) = self.peek() {
            return Ok("");
        }
        match self.next() {
            (Token::Word, value) => Ok(value),
            (_, found) => unexpected(found, "identifier"),
        }
    }

    /// Reads a set in parentheses; nothing before or after a comma is the empty value.
    fn values(&mut self) -> Result<BTreeSet<&'a str>, SelectorError> {
        let (token, found) = self.next();
        if token != Token::Open {
            // Upstream's message lacks the comma after the found text.
            return Err(SelectorError::new(format!("found '{found}' expected: '('")));
        }
        match self.peek() {
            (Token::Word | Token::Comma, _) => {}
            (Token::Close, _) => {
                self.advance();
                return Ok(BTreeSet::from([""]));
            }
            (_, found) => return unexpected(found, "',', ')' or identifier"),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Word, value) => {
                    values.insert(value);
                    match self.peek() {
                        (Token::Comma | Token::Close, _) => {}
                        (_, found) => return unexpected(found, "',' or ')'"),
                    }
                }
                (Token::Comma, _) => {
                    if values.is_empty() || matches!(self.peek().0, Token::Comma | Token::Close) {
                        values.insert("");
                    }
                }
                (_, found) => return unexpected(found, "',', or identifier"),
            }
            if self.peek().0 == Token::Close {
                self.advance();
                return Ok(values);
            }
        }
    }
}

fn tokens(text: &str) -> Vec<(Token, &str)> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut position = 0;
    loop {
        while matches!(bytes.get(position), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            position += 1;
        }
        let start = position;
        let token = match bytes.get(position) {
            // Upstream's lexer treats a NUL as the end of the text.
            None | Some(0) => {
                tokens.push((Token::End, ""));
                return tokens;
            }
            Some(b'=') if bytes.get(position + 1) == Some(&b'=') => Token::DoubleEquals,
            Some(b'!') if bytes.get(position + 1) == Some(&b'=') => Token::NotEquals,
            Some(b'=') => Token::Equals,
            Some(b'!') => Token::Bang,
            Some(b'(') => Token::Open,
            Some(b')') => Token::Close,
            Some(b',') => Token::Comma,
            Some(b'>') => Token::Greater,
            Some(b'<') => Token::Less,
            Some(_) => Token::Word,
        };
        match token {
            Token::DoubleEquals | Token::NotEquals => position += 2,
            Token::Word => {
                let ends = |byte| b"\0=!(),>< \t\r\n".contains(byte);
                position += bytes[start..]
                    .iter()
                    .position(ends)
                    .unwrap_or(bytes.len() - start);
            }
            _ => position += 1,
        }
        let found = &text[start..position];
        let token = match found {
            "in" => Token::In,
            "notin" => Token::NotIn,
            _ => token,
        };
        tokens.push((token, found));
        // A NUL right after a token is skipped, and the text after it is read.
        position += usize::from(bytes.get(position) == Some(&0));
    }
}
