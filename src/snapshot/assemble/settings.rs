//! The controller's settings: each from the command line, from the input, or assumed, which then
//! goes into the basis.

use super::{Basis, Options, assumed};
use crate::error::Error;
use crate::snapshot::controller::{Controller, RULES_VERSION};
use crate::snapshot::objects::ControllerState;

/// Flags, gates and version, each from the command line, the input, or the defaults.
pub(in crate::snapshot) fn controller_settings(
    state: Option<&ControllerState>,
    options: &Options,
    basis: &mut Vec<Basis>,
    notes: &mut Vec<String>,
) -> Result<Controller, Error> {
    let defaults = Controller::default();
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

    let mut gates = defaults.gates;
    let mut assumed_gates = Vec::new();
    for (name, gate) in [
        ("HPAScaleToZero", &mut gates.scale_to_zero),
        ("HPAConfigurableTolerance", &mut gates.configurable_tolerance),
        ("PodLevelResources", &mut gates.pod_level_resources),
    ] {
        let typed = options.gates.get(name);
        match typed.or_else(|| state.and_then(|state| state.feature_gates.get(name))) {
            Some(on) => *gate = *on,
            None => assumed_gates.push(format!("{name}={gate}")),
        }
    }
    if !assumed_gates.is_empty() {
        basis.push(assumed("feature gates", assumed_gates.join(", "), "the defaults"));
    }
    let known = ["HPAScaleToZero", "HPAConfigurableTolerance", "PodLevelResources"];
    if let Some(name) = options.gates.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::usage(format!("unknown feature gate {name}"))
            .hint(format!("a pass depends on {}", known.join(", "))));
    }
    for name in state.iter().flat_map(|state| state.feature_gates.keys()) {
        if !known.contains(&name.as_str()) {
            notes.push(format!("feature gate {name}: a pass does not depend on it"));
        }
    }

    let rules = RULES_VERSION;
    let version = state.and_then(|state| state.kubernetes_version.clone());
    match &version {
        Some(version) if same_minor(version, rules) => {}
        Some(version) => basis.push(assumed(
            "version",
            rules,
            &format!("the only rules there are so far; the input says {version}"),
        )),
        None => basis.push(assumed("version", rules, "the newest rules known")),
    }
    Ok(Controller {
        version,
        tolerance,
        downscale_stabilization,
        cpu_initialization_period,
        initial_readiness_delay,
        sync_period,
        gates,
    })
}

fn same_minor(a: &str, b: &str) -> bool {
    let minor = |version: &str| {
        let mut parts = version.trim_start_matches('v').split('.');
        (parts.next().map(str::to_owned), parts.next().map(str::to_owned))
    };
    minor(a) == minor(b)
}
