//! Words the notes about a load.

use jiff::SignedDuration;

use crate::apimachinery::json::SecondsTime;
use crate::error::listed;
use crate::numbers::{duration, part};
use crate::snapshot::load::{LoadNote, LoadPart};

/// Words a note about a load, as a sentence.
pub(crate) fn text(note: &LoadNote) -> String {
    match note {
        LoadNote::Sampled { step, scrape } => {
            let apart =
                scrape.map_or_else(String::new, |it| format!(", about {} apart", seconds(it)));
            let sees = if scrape.is_some_and(|scrape| *step > scrape) {
                ", and sees only that part of each step"
            } else {
                ""
            };
            let step = seconds(*step);
            format!(
                "the load is sampled every {step}; CPU usage is the rate between the last two scrapes{apart}{sees}"
            )
        }
        LoadNote::SampledAsIs { step } => format!("the load is sampled every {}", seconds(*step)),
        LoadNote::Warning(text) => format!("Prometheus warns: {text}"),
        LoadNote::Begins(time) => format!("the history begins only at {}", SecondsTime(*time)),
        LoadNote::Ends(time) => format!("the history ends at {}", SecondsTime(*time)),
        LoadNote::NotRecorded(LoadPart::Replicas) => {
            "the replicas were not recorded, so the replay cannot be checked".to_owned()
        }
        LoadNote::NotRecorded(LoadPart::Ready) => {
            "the pods that were ready were not recorded".to_owned()
        }
        LoadNote::Several { label, values } => format!(
            "Prometheus has this HPA with several values of {label} ({}): their series are mixed; \
             --prometheus-match '{label}=\"{}\"' selects one",
            listed(values),
            values.first().map_or("", String::as_str)
        ),
        LoadNote::Followed { label, values } => format!(
            "Prometheus has the usage with several values of {label} ({}), as from servers that scrape \
             the same: of each container, the one with more samples counts, and another where it has none",
            listed(values)
        ),
        LoadNote::MoreWarnings(count) => format!("Prometheus warns {count} more times"),
        LoadNote::Unmeasured(share) => format!(
            "in {} of the samples the usage of a pod is missing in the total, because its scrapes were \
             lost",
            part(*share)
        ),
        LoadNote::AtZeroUntil(time) => format!(
            "the load begins at {}: before, the target had 0 replicas, and the controller leaves it there",
            SecondsTime(*time)
        ),
        LoadNote::SpecChanged { field, from, until } => format!(
            "{field} of the HPA was {from} until {}: before that, the check compares the HPA as it is \
             with one that was different",
            SecondsTime(*until)
        ),
        LoadNote::Requests {
            metric,
            least,
            most,
            last,
        } => format!(
            "the requests of the pods changed: {metric} from {least} to {most} for each, {last} at the \
             end; the replay has those of today all the time"
        ),
        LoadNote::Started { pods: 1, took } => {
            format!("a new pod took {} to become ready", duration(took.0))
        }
        LoadNote::Started { pods, took } => format!(
            "new pods took {} to become ready (the median of {pods}); --ready-after replaces it",
            duration(took.0)
        ),
        LoadNote::Measured { pods, took } => format!(
            "the containers of new pods started after {} (the median of {pods}); without \
             --metrics-after, metrics are assumed 30s later",
            duration(took.0)
        ),
        LoadNote::Throttled(share) => format!(
            "CPU limits held containers back in {} of the periods: without them, they would have used \
             more",
            part(*share)
        ),
    }
}

fn seconds(seconds: i64) -> String {
    duration(SignedDuration::from_secs(seconds))
}
