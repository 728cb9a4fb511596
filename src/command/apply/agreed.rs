//! The confirmation of a write: it holds only for the decision that was shown, so it is compared with each new plan.

use super::plan::WritePlan;
use crate::apply::Change;
use crate::apply::gate::GateCode;

/// The decision that the user confirmed.
pub(super) struct Agreed {
    change: Change,
    /// The codes of the forced reasons.
    forced: Vec<GateCode>,
    /// The uids of HPA and target.
    uids: [Option<String>; 2],
}

impl Agreed {
    /// Remembers what was shown and confirmed.
    pub(super) fn to(plan: &WritePlan, change: Change) -> Self {
        let forced = plan.applied.forced().map(|concern| concern.code).collect();
        Self {
            change,
            forced,
            uids: uids(plan),
        }
    }

    /// Returns the reason why this is no longer the confirmed decision.
    pub(super) fn broken(&self, plan: &WritePlan, change: Change) -> Option<String> {
        let [hpa, target] = uids(plan);
        let again = "was deleted and recreated after your confirmation";
        if hpa != self.uids[0] {
            return Some(format!(
                "the HPA {} {again}",
                plan.pass.input.snapshot.hpa.key()
            ));
        }
        if target != self.uids[1] {
            return Some(format!("the target {again}"));
        }
        if change != self.change {
            let Change { from, to } = self.change;
            return Some(format!(
                "you confirmed {from} to {to}, but the change is now {} to {}",
                change.from, change.to
            ));
        }
        let texts: Vec<&str> = plan
            .applied
            .forced()
            .filter(|concern| !self.forced.contains(&concern.code))
            .map(|concern| &*concern.text)
            .collect();
        (!texts.is_empty()).then(|| {
            let more = texts.join("; ");
            format!("more would be forced now than was shown: {more}")
        })
    }
}

fn uids(plan: &WritePlan) -> [Option<String>; 2] {
    let target = plan.applied.at.as_ref().map(|at| at.state.uid.clone());
    [plan.pass.input.snapshot.hpa.uid.clone(), target]
}
