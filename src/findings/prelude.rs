//! The names that most files of findings use.

pub(crate) use super::{
    About, Advice, Aspect, Case, Code, Command, Edited, Facts, Finding, Kind, Others, Rank, Remedy,
    Severity, Text,
};
pub(crate) use crate::apimachinery::names::shell_word;
pub(crate) use crate::engine::decision::Direction;
pub(crate) use crate::words::{
    amount, count, distance, duration, future, list, number, percent, quantity, sentence, time,
};
