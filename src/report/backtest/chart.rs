//! The replicas of the runs over the load, drawn.

use super::{Compared, at_a_glance};
use crate::report::chart::{Chart, MOST_SERIES};
use crate::report::clock::millis;
use crate::report::timeline::Played;
use crate::words::long;

/// The rows of the chart, which shares the screen with the table.
const ROWS: usize = 12;

impl<'a> Compared<'a> {
    /// The candidates whose lines fit into a chart with the replay and the record.
    fn drawn(&self) -> usize {
        MOST_SERIES - 1 - usize::from(self.backtest.check.is_some())
    }

    pub(super) fn not_drawn(&self) -> Vec<String> {
        let left = self.candidates.len().saturating_sub(self.drawn());
        let sentence = || format!("The chart has the first {} candidates alone.", self.drawn());
        Vec::from_iter((left > 0).then(sentence))
    }

    /// The replicas of the runs over the time of the load.
    pub(in crate::report) fn chart(&self) -> Chart {
        let span = self.totals().span();
        let drawn = self.candidates.iter().take(self.drawn());
        let candidates = drawn.map(|it| it.played.replicas(&it.name));
        // With one candidate, its line is the subject of the comparison.
        let mut series: Vec<_> = candidates.collect();
        series.insert(series.len().min(1), self.replay.replicas("replay"));
        let check = self.backtest.check.as_ref();
        series.extend(check.map(|check| {
            self.replay
                .series("recorded", 0, check.recorded.replicas.iter().copied())
        }));
        let counts = series.iter().flat_map(|series| &series.steps);
        let highest = counts.filter_map(|(_, count)| *count).max().unwrap_or(0);
        let mut bounds: Vec<(i32, String)> = self.played().flat_map(Played::bounds).collect();
        bounds.sort();
        bounds.dedup();
        // A bound near one of the lines is drawn, and any other is named at the edge.
        let near = highest.saturating_add(highest / 4);
        let in_sight = bounds
            .iter()
            .map(|(count, _)| *count)
            .filter(|count| *count <= near);
        let highest = in_sight.max().unwrap_or(0).max(highest);
        let timeline = &self.backtest.replay.timeline;
        let marks = self.marks().map(|mark| {
            let after = mark.time.duration_since(timeline.start);
            (after, at_a_glance(&mark.text))
        });
        // The pass at the end of the load is not part of it.
        let end = millis(span);
        series
            .iter_mut()
            .for_each(|own| own.steps.retain(|(at, _)| *at < end));
        let clock = self.clock();
        Chart {
            title: if self.not_drawn().is_empty() {
                format!("replicas in {}", long(span))
            } else {
                format!(
                    "replicas in {}, first {} candidates",
                    long(span),
                    self.drawn()
                )
            },
            description: self.headline().1,
            across: clock.across(),
            span: (-millis(timeline.totals.period), millis(span)),
            ticks: clock.ticks(span),
            replicas: (0, highest),
            series,
            bounds,
            current: None,
            events: marks.map(|(after, text)| (millis(after), text)).collect(),
            gaps: self.replay.gaps(end),
            most_rows: ROWS,
        }
    }
}
