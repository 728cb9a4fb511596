//! The controller's settings: each from the command line, from the input, or assumed, which then
//! goes into the basis.

use super::{Basis, Options, assumed};
use crate::error::Error;
use crate::snapshot::controller::{Controller, Gates};
use crate::snapshot::objects::ControllerState;
use crate::version::{GATES, Stage, Version};

/// Flags, gates and version, each from the command line, the input, or the defaults.
pub(in crate::snapshot) fn controller_settings(
    state: Option<&ControllerState>,
    options: &Options,
    basis: &mut Vec<Basis>,
    notes: &mut Vec<String>,
) -> Result<Controller, Error> {
    let mut told = Vec::new();
    let version = version(state, options, &mut told, notes)?;
    let defaults = Controller::new(version);
    let stated = state.map(|state| state.flags).unwrap_or_default();
    let mut assumed_flags = Vec::new();
    let mut pick = |name: &'static str, typed, stated, default| {
        let value: Option<jiff::SignedDuration> = typed;
        value.or(stated).unwrap_or_else(|| {
            assumed_flags.push(name);
            default
        })
    };
    let typed = &options.flags;
    let downscale_stabilization = pick(
        "downscale-stabilization 5m",
        typed.downscale_stabilization,
        stated.downscale_stabilization,
        defaults.downscale_stabilization,
    );
    let cpu_initialization_period = pick(
        "cpu-initialization-period 5m",
        typed.cpu_initialization_period,
        stated.cpu_initialization_period,
        defaults.cpu_initialization_period,
    );
    let initial_readiness_delay = pick(
        "initial-readiness-delay 30s",
        typed.initial_readiness_delay,
        stated.initial_readiness_delay,
        defaults.initial_readiness_delay,
    );
    let sync_period =
        pick("sync-period 15s", typed.sync_period, stated.sync_period, defaults.sync_period);
    let tolerance = typed.tolerance.or(stated.tolerance).unwrap_or_else(|| {
        assumed_flags.insert(0, "tolerance 0.1");
        defaults.tolerance
    });
    if !assumed_flags.is_empty() {
        basis.push(assumed("controller flags", assumed_flags.join(", "), "the defaults"));
    }

    let gates = gates(state, options, &defaults.version, basis, notes)?;
    basis.extend(told);
    Ok(Controller {
        version: defaults.version,
        tolerance,
        downscale_stabilization,
        cpu_initialization_period,
        initial_readiness_delay,
        sync_period,
        gates,
    })
}

/// The version whose rules apply: typed, stated, or the newest that is confirmed.
fn version(
    state: Option<&ControllerState>,
    options: &Options,
    basis: &mut Vec<Basis>,
    notes: &mut Vec<String>,
) -> Result<Version, Error> {
    let stated = state.and_then(|state| state.kubernetes_version.as_deref());
    let version = match (&options.version, stated) {
        (Some(typed), _) => typed.clone(),
        (None, Some(stated)) => stated.parse().map_err(|e| {
            Error::usage(format!("kubernetesVersion: {e}")).hint("--kubernetes-version goes first")
        })?,
        (None, None) => Version::newest(),
    };
    let unstated = version.stated().is_none().then_some("the newest confirmed rules");
    let sources: Vec<&str> = unstated.into_iter().chain(version.caveat()).collect();
    if !sources.is_empty() {
        basis.push(assumed("version", version.to_string(), &sources.join("; ")));
    }
    if let Some(stated) = version.stated().filter(|_| version.is_newer_than_known()) {
        notes.push(format!(
            "{stated} is newer than the rules known: those of {version} apply, with what was \
             merged since"
        ));
    }
    Ok(version)
}

/// The feature gates as they are in this version.
fn gates(
    state: Option<&ControllerState>,
    options: &Options,
    version: &Version,
    basis: &mut Vec<Basis>,
    notes: &mut Vec<String>,
) -> Result<Gates, Error> {
    for (gate, on) in &options.gates {
        let unknown = || {
            let settable = GATES.iter().filter(|gate| Stage::of(gate, version).is_settable());
            let settable: Vec<&str> = settable.copied().collect();
            Error::usage(format!("unknown feature gate {gate}"))
                .hint(format!("a pass of {version} depends on {}", settable.join(", ")))
        };
        match Stage::of(gate, version) {
            Stage::Off | Stage::On => {}
            Stage::Absent | Stage::Removed => return Err(unknown()),
            Stage::Locked if *on => {}
            Stage::Locked => {
                return Err(Error::usage(format!(
                    "cannot set feature gate {gate} to false: {version} has it locked to true"
                )));
            }
            Stage::Unused => notes.push(unused(gate, version)),
        }
    }
    for (gate, on) in state.iter().flat_map(|state| &state.feature_gates) {
        let stage = Stage::of(gate, version);
        if !stage.is_settable() && (stage, *on) != (Stage::Locked, true) {
            notes.push(unused(gate, version));
        }
    }
    let stated = |gate: &str| {
        let typed = options.gates.get(gate);
        typed.or_else(|| state.and_then(|state| state.feature_gates.get(gate))).copied()
    };
    // A document stands for a controller of its own, the other sources for a released one.
    let by_document = options.version.is_none() && version.stated().is_some();
    let gates = Gates::new(version, |gate| {
        stated(gate).or_else(|| by_document.then(|| Stage::is_on_unstated(gate, version)))
    });
    let assumed_gates = gates.settable(version).filter(|(gate, _)| stated(gate).is_none());
    let assumed_gates: Vec<String> =
        assumed_gates.map(|(gate, on)| format!("{gate}={on}")).collect();
    if !assumed_gates.is_empty() {
        basis.push(assumed("feature gates", assumed_gates.join(", "), "the defaults"));
    }
    Ok(gates)
}

/// Makes sure that the gates of the command line are of some version.
pub(in crate::snapshot) fn known_gates(options: &Options) -> Result<(), Error> {
    match options.gates.keys().find(|gate| !GATES.contains(&gate.as_str())) {
        None => Ok(()),
        Some(gate) => Err(Error::usage(format!("unknown feature gate {gate}"))
            .hint(format!("a pass depends on {}", GATES.join(", ")))),
    }
}

fn unused(gate: &str, version: &Version) -> String {
    format!("feature gate {gate}: a pass of {version} does not depend on it")
}
