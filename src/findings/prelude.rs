//! The imports that most files of findings share.

pub(crate) use jiff::{SignedDuration, Timestamp};
pub(crate) use serde_json::json;

pub(crate) use super::scaled_object::OwnScaledObject;
pub(crate) use super::wording::{first_of, names, names_of, pod_names, them};
pub(crate) use super::{
    About, Advice, Case, Code, Command, Edited, Facts, Finding, Kind, Remedy, Severity,
};
pub(crate) use crate::apimachinery::names::shell_word;
pub(crate) use crate::engine::decision::{Decision, Direction, LimitStep, MetricStep};
pub(crate) use crate::snapshot::pod::Pod;
pub(crate) use crate::version::FeatureGate;
pub(crate) use crate::words::{
    amount, count, distance, duration, future, list, number, one_or_many, percent, quantity,
    sentence, time,
};
