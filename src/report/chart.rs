//! A chart of replicas over something else: a metric's value, or time. Labels are ready to use; the
//! renderer places them.

use std::collections::HashSet;

use crate::words::shortened;

/// The number of events that are named.
const NAMED: usize = 3;

/// A chart of step functions, or of points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    pub title: String,
    /// The chart as sentences, for readers who cannot see it.
    pub description: String,
    /// The unit of the horizontal axis.
    pub across: String,
    /// The first and the last place on it.
    pub span: (i64, i64),
    /// Places on it with their labels, in order.
    pub ticks: Vec<(i64, String)>,
    /// The fewest and the most replicas that are drawn; counts beyond them are only marked.
    pub replicas: (i32, i32),
    /// The series to draw, at most [`MOST_SERIES`]. The first is the most important one.
    pub series: Vec<ChartSeries>,
    /// Counts that limit it, with their names. Those above the counts that are drawn are named at the edge.
    pub bounds: Vec<(i32, String)>,
    /// The current point.
    pub current: Option<ChartMark>,
    /// Places at which something else happened, with a label.
    pub events: Vec<(i64, String)>,
    /// Stretches in which nothing was decided, such as gaps of the load, each with its first and last place.
    pub gaps: Vec<(i64, i64)>,
    /// The maximum number of rows on a terminal.
    pub most_rows: usize,
}

impl Chart {
    /// The bounds above the counts that are drawn, with their names.
    pub(crate) fn bounds_beyond(&self) -> Option<String> {
        let beyond: Vec<String> = self
            .bounds
            .iter()
            .filter(|(count, _)| *count > self.replicas.1)
            .map(|(count, name)| format!("{name} {count}"))
            .collect();
        (!beyond.is_empty()).then(|| beyond.join(", "))
    }
}

/// The number of series that can be distinguished.
pub(crate) const MOST_SERIES: usize = 6;

/// The rows of a chart that has the screen to itself.
pub(crate) const MOST_ROWS: usize = 24;

/// Replicas by place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartSeries {
    pub name: String,
    /// The count from each place on, in order; `None` if there is no count.
    pub steps: Vec<(i64, Option<i32>)>,
    /// The shape in which the steps are drawn.
    pub shape: Shape,
}

/// The shape of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each lasts until the next.
    Steps,
    /// There is nothing between them.
    Points,
}

/// A point of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartMark {
    pub at: i64,
    pub replicas: Option<i32>,
    pub label: String,
}

impl ChartSeries {
    /// Returns the count at a place.
    pub(crate) fn at(&self, place: i64) -> Option<i32> {
        let after = self.steps.partition_point(|(from, _)| *from <= place);
        after.checked_sub(1).and_then(|last| self.steps[last].1)
    }
}

/// Returns the first of the texts of events, each once, and how many more there are.
pub(crate) fn named<'t>(all: impl Iterator<Item = &'t str>) -> String {
    let mut seen = HashSet::new();
    let texts: Vec<&str> = all.filter(|text| seen.insert(*text)).collect();
    shortened(&texts, NAMED).join(", ")
}

/// Returns round numbers from one place to another, at most `most` and otherwise as many as fit: one, two
/// or five times a power of ten apart, and never closer than `least`.
pub(crate) fn round_numbers((from, to): (i64, i64), most: usize, least: i64) -> Vec<i64> {
    let (from, to) = (i128::from(from), i128::from(to));
    let apart = std::iter::successors(Some(1), |power| Some(power * 10))
        .flat_map(|power: i128| [power, 2 * power, 5 * power])
        .find(|apart| *apart >= i128::from(least) && (to - from) / apart < most.max(1) as i128);
    let Some(apart) = apart else {
        return Vec::new();
    };
    let first = (from + apart - 1).div_euclid(apart) * apart;
    let places = std::iter::successors(Some(first), |place| Some(place + apart));
    places
        .take_while(|place| *place <= to)
        .filter_map(|place| place.try_into().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{ChartSeries, Shape, round_numbers};

    #[test]
    fn round_numbers_are_round_and_inside() {
        for ((from, to), most, least, numbers) in [
            ((0, 10), 6, 1, vec![0, 2, 4, 6, 8, 10]),
            ((3, 7), 9, 1, vec![3, 4, 5, 6, 7]),
            ((1, 258), 6, 1, vec![50, 100, 150, 200, 250]),
            ((0, 1500), 4, 1000, vec![0, 1000]),
            ((7, 7), 3, 1, vec![7]),
            ((0, i64::MAX), 3, 1, vec![0, 5_000_000_000_000_000_000]),
        ] {
            assert_eq!(
                round_numbers((from, to), most, least),
                numbers,
                "{from} to {to}"
            );
        }
    }

    #[test]
    fn a_count_holds_until_the_next_step() {
        let steps = vec![(0, Some(2)), (5, None), (7, Some(4))];
        let series = ChartSeries {
            name: String::new(),
            steps,
            shape: Shape::Steps,
        };
        let counts = [-1, 0, 4, 5, 6, 7, 99].map(|place| series.at(place));
        assert_eq!(
            counts,
            [None, Some(2), Some(2), None, None, Some(4), Some(4)]
        );
    }
}
