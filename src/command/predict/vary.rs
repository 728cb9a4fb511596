//! Plays the combinations of a search on all cores, and shows the progress. A signal ends it with the results
//! so far.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;

use tokio::sync::mpsc::unbounded_channel;

use crate::backtest::{Filter, Plan, Search, SearchResult, Tried};
use crate::cluster::signals::Signals;
use crate::command::Terminal;
use crate::command::progress::shown;
use crate::error::Error;
use crate::whatif::timeline::Totals;

/// Tries every combination, on this many threads.
///
/// # Errors
///
/// None of the combinations can be played.
pub(super) fn vary_on(
    threads: usize,
    search: &Search,
    plan: &Plan,
    expected: Option<&Filter<'_>>,
    rival: Option<&Totals>,
    terminal: &Terminal,
) -> Result<SearchResult, Error> {
    let fail = |e: std::io::Error| Error::failed(format!("failed to start the search: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(fail)?;
    let count = search.count();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (sender, mut results) = unbounded_channel::<(usize, Option<Tried>)>();
    let mut tried: Vec<Option<Tried>> = vec![None; count];
    let stopped = scope(|scope| {
        for _ in 0..threads.min(count) {
            let sender = sender.clone();
            let (next, done) = (&next, &done);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= count {
                        return;
                    }
                    let result = search.play(plan, place, expected);
                    if sender.send((place, result)).is_err() {
                        return;
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        drop(sender);
        let work = async {
            let mut signals = Signals::new(None)?;
            loop {
                let (place, result) = tokio::select! {
                    code = signals.next() => return Ok::<_, Error>(code),
                    result = results.recv() => match result {
                        Some(result) => result,
                        None => return Ok(None),
                    },
                };
                tried[place] = result;
            }
        };
        let line = || {
            let played = done.load(Ordering::Relaxed);
            format!("playing {played} of {count} combinations")
        };
        let stopped = runtime.block_on(shown(work, line, terminal));
        // No other combination is begun.
        next.store(count, Ordering::Relaxed);
        stopped
    })?;
    search.found(tried.into_iter().flatten().collect(), rival, stopped)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::vary_on;
    use crate::backtest::{Plan, Search};
    use crate::build;
    use crate::command::Terminal;
    use crate::saved::testing::input;
    use crate::whatif::overrides::Assumptions;
    use crate::whatif::timeline::{TimelineOptions, Trace};

    #[test]
    fn one_thread_and_several_find_the_same() {
        let spec = json!({"minReplicas": 1, "maxReplicas": 10,
            "metrics": [build::external("queue_depth", &build::average("10"))]});
        let items = [build::hpa(&spec), build::scale(2), build::queue(&["30"])];
        let observed = input(&items).unwrap();
        let trace = Trace::read(
            b"time,queue_depth\n1m,80\n3m,20\n9m,150\n20m,5\n",
            "load.csv",
        );
        let timeline = TimelineOptions {
            trace: Some(Arc::new(trace.unwrap())),
            ..TimelineOptions::default()
        };
        let plan = Plan::new(timeline, observed, true);
        let vary = [
            "max=4..12:2",
            "behavior.scaleDown.stabilizationWindowSeconds=0,60,300",
        ];
        let search =
            Search::new(&vary.map(str::to_owned), Assumptions::default(), None, None).unwrap();
        let found = |threads| {
            let found = vary_on(threads, &search, &plan, None, None, &Terminal::default()).unwrap();
            let totals = found.tried.iter().map(|tried| tried.result.clone());
            (totals.collect::<Vec<_>>(), found.front)
        };
        let one = found(1);
        assert!(one.0.len() == 15 && one.0.iter().all(Result::is_ok) && !one.1.is_empty());
        assert_eq!(one, found(2));
        assert_eq!(one, found(7));
    }
}
