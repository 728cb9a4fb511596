//! Everything for a pass, with what it rests on: the snapshot, what the API shows of the controller's
//! past, and where each of them comes from. Nothing here reads or writes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Snapshot;
use super::basis::{Basis, ClockSource};
use super::clock::{Clock, ClockDoubt};
use super::controller::KnownSettings;
use super::evidence::{Evidence, Lease};
use super::hpa::{Hpa, MetricSpec};
use super::memory::Memory;
use super::note::Note;
use super::surroundings::Surroundings;
use crate::args::Target;
use crate::flags::Flags;
use crate::version::Version;

/// What the command line says besides the objects.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The HPA's name; empty if its target is stated instead, or if it is the only one. A list has no
    /// use for either.
    pub name: String,
    /// Its target, if stated.
    pub target: Option<Target>,
    /// Its namespace, if stated.
    pub namespace: Option<String>,
    /// The clock, if stated.
    pub now: Option<Timestamp>,
    /// The version, which goes before that of the input.
    pub version: Option<Version>,
    /// Controller flags, which go before those of the input.
    pub flags: Flags,
    /// Feature gates, which go before those of the input.
    pub gates: BTreeMap<String, bool>,
    /// Metrics that are looked up beside those of the HPA, behind which their answers stand.
    pub also: Vec<MetricSpec>,
}

/// Everything for a pass, with what it rests on.
#[derive(Debug, Clone)]
pub struct Input {
    /// What the controller would see.
    pub snapshot: Snapshot,
    /// The HPA as its passes so far found it, where another spec is assumed for the next one.
    pub observed: Option<Hpa>,
    /// What the input states about the controller's memory.
    pub stated_memory: Option<Memory>,
    /// What the API shows of the controller's past.
    pub evidence: Evidence,
    /// What surrounds the pass and explains its answer.
    pub surroundings: Surroundings,
    /// The controller's settings that are known rather than assumed.
    pub known: KnownSettings,
    /// What speaks against the clock of the snapshot.
    pub clock_doubt: Option<ClockDoubt>,
    /// What was assumed, and where the rest comes from.
    pub basis: Vec<Basis>,
    /// What was read but not used, and what looks wrong.
    pub notes: Vec<Note>,
}

impl Input {
    /// Whether it is known at what time all of it was read.
    pub fn knows_time(&self) -> bool {
        let unknown =
            |basis: &Basis| matches!(basis, Basis::Clock { source: ClockSource::System, .. });
        !self.basis.iter().any(unknown)
    }

    /// Whether it is known to be several sync periods ago.
    pub(crate) fn is_several_passes_ago(&self, time: Timestamp) -> bool {
        /// A running controller has had this many passes before it is taken for slow.
        const SEVERAL: i32 = 4;
        let several = self.snapshot.controller.sync_period * SEVERAL;
        self.knows_time() && self.snapshot.now.duration_since(time) >= several
    }

    /// The lease of the controller manager, if it is known to have run out.
    pub(crate) fn lapsed_lease(&self) -> Option<Lease> {
        let lapsed = |lease: &Lease| lease.has_lapsed(self.snapshot.now) && self.knows_time();
        self.evidence.lease.filter(lapsed)
    }

    /// Looks for what speaks against the clock of saved objects.
    pub(crate) fn doubt_clock(&mut self) {
        let clock = if self.knows_time() { Clock::Stated } else { Clock::System };
        self.clock_doubt = ClockDoubt::of(&self.snapshot, clock);
    }
}

impl Options {
    /// The namespace of objects that state none.
    pub(crate) fn default_namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }
}
