//! Turns the answers of an API server into a snapshot. The requests are made elsewhere; here, the answers
//! become the same plain values as files do.

use jiff::Timestamp;

use crate::error::Error;
use crate::saved::wire::ScaleObject;
use crate::snapshot::basis::{Basis, ClockSource};
use crate::snapshot::control_plane::ControlPlane;
use crate::snapshot::evidence::Evidence;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::note::Note;
use crate::snapshot::pod::Pod;
use crate::snapshot::settings::{Settings, controller_settings, known_gates};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::Surroundings;
use crate::snapshot::{MetricAnswer, Scale, ScaleError, Snapshot, UnreadCause};
use crate::version::Version;

/// Everything that was fetched.
#[derive(Debug)]
pub struct Observed {
    /// The time of the fetch.
    pub now: Now,
    /// The server's version, such as `v1.36.2`, or the version that it emulates.
    pub version: Option<String>,
    /// The HPA.
    pub hpa: Hpa,
    /// The target's scale, or the controller's outcome without it.
    pub scale: Result<Scale, ScaleError>,
    /// The pods that the target's selector matches.
    pub pods: Vec<Shared<Pod>>,
    /// The reason why they are unknown, if they are.
    pub pods_unread: Option<UnreadCause>,
    /// The answer of the resource metrics API.
    pub pod_metrics: Vec<Shared<PodMetrics>>,
    /// An answer for each metric of the spec.
    pub metrics: Vec<MetricAnswer>,
    /// The other HPAs whose selectors the controller knows.
    pub others: Vec<Shared<OtherHpa>>,
    /// Evidence in the API of the controller's past.
    pub evidence: Evidence,
    /// The objects around the pass that explain its answer.
    pub surroundings: Surroundings,
    /// The known facts about the controller manager, except the server's version.
    pub control_plane: ControlPlane,
    /// Substitutes for objects that could not be read.
    pub basis: Vec<Basis>,
    /// The facts that could not be determined, with their consequences.
    pub notes: Vec<Note>,
    /// The location of the scale, and the state that was read; `None` if the scale itself was not read.
    pub scale_at: Option<ScaleAt>,
}

/// The time at which an API server was queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The time.
    pub time: Timestamp,
    /// Whether the server stated the time; otherwise it is the time of the local clock.
    pub by_server: bool,
}

/// The location of a target's scale, and the state in which it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleAt {
    /// The path of the target, without the subresource.
    pub path: String,
    /// The target's resource, such as `deployments.apps`.
    pub resource: String,
    /// The target's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The version of the scale, such as `autoscaling/v1`.
    pub api_version: String,
    /// The state that a write requires.
    pub state: ScaleState,
}

/// A state of a scale, which a write names so that it applies to no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleState {
    /// `metadata.uid` of the target.
    pub uid: String,
    /// `metadata.resourceVersion` of the target.
    pub resource_version: String,
    /// `spec.replicas`.
    pub replicas: i32,
}

impl ScaleState {
    /// Returns the state of a scale that was read.
    pub(super) fn of<S>(scale: &ScaleObject<S>) -> Self {
        Self {
            uid: scale.metadata.uid.clone(),
            resource_version: scale.metadata.resource_version.clone(),
            replicas: scale.spec.replicas,
        }
    }
}

/// Combines the answers with the command line.
///
/// # Errors
///
/// The command line states a setting that does not exist.
pub fn input(observed: Observed, options: &Options) -> Result<Input, Error> {
    let mut basis: Vec<Basis> = Vec::new();
    let mut notes = observed.notes;
    let server = match observed.version.as_deref().map(str::parse::<Version>) {
        Some(Ok(version)) => Some(version),
        Some(Err(cause)) => {
            notes.push(Note::new(format!(
                "the server's version is ignored: {cause}"
            )));
            None
        }
        None => None,
    };
    let control_plane = ControlPlane {
        server,
        ..observed.control_plane
    };
    let Settings {
        controller,
        known,
        is_unelected,
    } = controller_settings(None, options, &control_plane, &mut basis, &mut notes)?;
    let now = options.now.unwrap_or(observed.now.time);
    if options.now.is_none() {
        let source = if observed.now.by_server {
            ClockSource::Server
        } else {
            ClockSource::Local
        };
        basis.insert(0, Basis::Clock { time: now, source });
    }
    basis.extend(observed.basis);
    let mut snapshot = Snapshot {
        now,
        hpa: observed.hpa,
        controller,
        scale: observed.scale,
        scale_update_error: None,
        pods: observed.pods,
        pods_unread: None,
        pod_metrics: observed.pod_metrics,
        metrics: observed.metrics,
        other_hpas: observed.others,
    };
    if let Some(why) = &observed.pods_unread {
        snapshot.leave_out_pods(why);
    }
    let mut evidence = observed.evidence.of(&snapshot.hpa);
    evidence.lease = evidence.lease.filter(|_| !is_unelected);
    let scale = snapshot.scale.as_ref().ok();
    let counted = scale.and_then(|scale| {
        observed
            .surroundings
            .counted(&snapshot.hpa.spec.scale_target_ref, scale, now)
    });
    let mut input = Input {
        snapshot,
        observed: None,
        is_new_hpa: false,
        stated_memory: None,
        evidence,
        surroundings: observed.surroundings,
        known,
        clock_doubt: None,
        basis,
        notes,
        command_flags: options.command_flags.clone(),
    };
    input.mark_foreign_pods();
    input.remark();
    input.count(counted);
    Ok(input)
}

/// Checks, before any request, that the command line states only existing settings.
///
/// # Errors
///
/// The same errors as for [`input`].
pub fn check(options: &Options) -> Result<(), Error> {
    // Without a version, a gate must exist in any version.
    match &options.version {
        Some(_) => {
            let control_plane = ControlPlane::default();
            controller_settings(
                None,
                options,
                &control_plane,
                &mut Vec::new(),
                &mut Vec::new(),
            )
            .map(drop)
        }
        None => known_gates(options),
    }
}
