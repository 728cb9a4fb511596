//! Prints parsed expressions, so that tests can show that they read back. What includes this file has the types of
//! `whatif::expect` in scope.

use super::{ComparisonOperator, Node, Number, Operand, Sign};

/// Prints an expression with as few parentheses as possible.
pub(crate) fn printed(node: &Node) -> String {
    match node {
        Node::Any(parts) => joined(node, parts, " or "),
        Node::All(parts) => joined(node, parts, " and "),
        Node::Not(inner) => {
            let is_looser = matches!(**inner, Node::Any(_) | Node::All(_));
            format!("not {}", within(printed(inner), is_looser))
        }
        Node::Flag(field) => field.to_string(),
        Node::Compare(left, operator, right) => {
            let sign = match operator {
                ComparisonOperator::Equal => "==",
                ComparisonOperator::NotEqual => "!=",
                ComparisonOperator::AtMost => "<=",
                ComparisonOperator::AtLeast => ">=",
                ComparisonOperator::Less => "<",
                ComparisonOperator::Greater => ">",
            };
            format!("{} {sign} {}", operand(left), operand(right))
        }
    }
}

fn joined(node: &Node, parts: &[Node], word: &str) -> String {
    let parts = parts.iter().map(|part| {
        let is_looser =
            matches!(part, Node::Any(_)) || matches!((node, part), (Node::All(_), Node::All(_)));
        within(printed(part), is_looser)
    });
    Vec::from_iter(parts).join(word)
}

fn within(text: String, has_parentheses: bool) -> String {
    if has_parentheses {
        format!("({text})")
    } else {
        text
    }
}

fn operand(side: &Operand) -> String {
    match side {
        Operand::Field(field) => field.to_string(),
        Operand::Number(Number { text, .. }) | Operand::Duration { text, .. } => text.clone(),
        Operand::Negative(inner) => {
            let inside = within(operand(inner), matches!(**inner, Operand::Chain(..)));
            // A sign right before a literal belongs to the literal.
            let is_literal = matches!(**inner, Operand::Number(_) | Operand::Duration { .. });
            let space = if is_literal { " " } else { "" };
            format!("-{space}{inside}")
        }
        Operand::Chain(first, rest) => {
            let mut text = link(first, rest);
            for (sign, next) in rest {
                text += match sign {
                    Sign::Plus => " + ",
                    Sign::Minus => " - ",
                    Sign::Times => " * ",
                    Sign::Over => " / ",
                };
                text += &link(next, rest);
            }
            text
        }
    }
}

/// Prints an operand of a chain.
fn link(own: &Operand, chain: &[(Sign, Operand)]) -> String {
    let is_looser = matches!(own, Operand::Chain(_, inner) if !is_sum(chain) || is_sum(inner));
    within(operand(own), is_looser)
}

fn is_sum(chain: &[(Sign, Operand)]) -> bool {
    matches!(chain.first(), Some((Sign::Plus | Sign::Minus, _)))
}
