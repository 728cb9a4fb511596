//! The recorded requests for each HPA in a saved state: the answers of the metrics APIs, and errors.

use std::collections::HashMap;

use crate::saved::state::{Api, ApiAnswer, ApiError, ControllerState};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::shared::Shared;

/// Objects by a name, in the order of the input.
pub(super) type Groups<'o, T> = HashMap<&'o str, Vec<T>>;

pub(super) fn grouped<'o, T: Copy>(
    objects: impl IntoIterator<Item = T>,
    key: impl Fn(T) -> &'o str,
) -> Groups<'o, T> {
    let mut groups = Groups::new();
    for object in objects {
        groups.entry(key(object)).or_default().push(object);
    }
    groups
}

pub(super) fn group<'g, T>(groups: &'g Groups<'_, T>, key: &str) -> &'g [T] {
    groups.get(key).map_or(&[], Vec::as_slice)
}

/// The recorded requests for HPAs in a state, by `namespace/name`.
#[derive(Default)]
pub(super) struct ApiRequests<'o> {
    answers: Groups<'o, &'o ApiAnswer<'o>>,
    errors: Groups<'o, Placed<'o>>,
    errors_of_all: Vec<Placed<'o>>,
}

/// An error with its place in the state: the first that matches a request counts.
type Placed<'o> = (usize, &'o ApiError);

impl<'o> ApiRequests<'o> {
    pub(super) fn of(state: &'o ControllerState<'o>) -> Self {
        let errors = state.errors.iter().enumerate();
        let (limited, errors_of_all): (Vec<_>, Vec<_>) =
            errors.partition(|(_, error)| error.hpa.is_some());
        Self {
            answers: grouped(&state.answers, |answer| &answer.hpa),
            errors: grouped(limited, |(_, error)| {
                error.hpa.as_deref().unwrap_or_default()
            }),
            errors_of_all,
        }
    }

    /// Returns the error of a request for an HPA.
    pub(super) fn error(&self, hpa: &Hpa, api: Api, metric: Option<&str>) -> Option<&'o ApiError> {
        let own = group(&self.errors, &hpa.key()).iter();
        own.chain(&self.errors_of_all)
            .filter(|(_, error)| {
                let limit = error.metric.as_deref();
                error.api == api && limit.is_none_or(|limit| Some(limit) == metric)
            })
            .min_by_key(|(place, _)| *place)
            .map(|(_, error)| *error)
    }

    /// Returns the answers of the metrics APIs for an HPA.
    pub(super) fn answers(&self, hpa: &Hpa) -> &[&'o ApiAnswer<'o>] {
        group(&self.answers, &hpa.key())
    }

    /// Returns the answer of the resource metrics API for an HPA.
    pub(super) fn pod_metrics(&self, hpa: &Hpa) -> Option<&'o [Shared<PodMetrics>]> {
        let mut answers = self.answers(hpa).iter();
        let answer = answers.find(|answer| answer.api == Api::Resource)?;
        Some(answer.pod_metrics.as_deref().unwrap_or_default())
    }
}
