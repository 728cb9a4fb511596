//! A chart on a terminal, in box-drawing or ASCII characters, which need no color. It is drawn by hand
//! because the available crates plot floats; here each count has its own row, and steps are vertical.

use super::layout::Layout;
use super::style::{clean, filled};
use crate::report::chart::{Chart, ChartSeries, MOST_SERIES, Shape, named, round_numbers};

/// The chart as lines, each with a newline at its end.
pub(crate) fn text(chart: &Chart, layout: &Layout) -> String {
    let width = layout.width.unwrap_or(80).clamp(NARROWEST, WIDEST);
    let signs = if layout.ascii { &ASCII } else { &UNICODE };
    let cleaned = |(count, name): &(i32, String)| (*count, clean(name, layout.ascii));
    let bounds: Vec<(i32, String)> = chart.bounds.iter().map(cleaned).collect();
    let rows = CountRows::of(chart);
    let labels = rows.labels(&bounds);
    let left = labels.iter().map(String::len).max().unwrap_or(0);
    let right = (0..rows.count)
        .map(|row| rows.names(row, &bounds).len())
        .max()
        .unwrap_or(0);
    let columns = Columns {
        from: chart.span.0,
        to: chart.span.1.max(chart.span.0),
        count: width
            .saturating_sub(INDENT + left + 2 + 1 + right)
            .max(NARROWEST / 2),
    };

    let mut grid = vec![vec![' '; columns.count]; rows.count];
    for (count, _) in bounds.iter().filter(|(count, _)| *count <= rows.highest) {
        if let Some(line) = rows.of_count(*count) {
            grid[line].fill(signs.bound);
        }
    }
    for (place, series) in chart.series.iter().enumerate().rev() {
        let drawn = match series.shape {
            Shape::Steps => strokes(series, &rows, &columns),
            Shape::Points => points(series, &rows, &columns),
        };
        for (column, cells) in drawn.iter().enumerate() {
            for (row, stroke) in cells.iter().enumerate().filter(|(_, stroke)| **stroke != 0) {
                grid[row][column] = if row >= rows.plain {
                    signs.beyond
                } else {
                    signs.of(place, series, *stroke)
                };
            }
        }
    }
    if let Some(mark) = &chart.current
        && let Some(row) = mark.replicas.and_then(|replicas| rows.of_count(replicas))
    {
        grid[row][columns.of(mark.at)] = signs.current;
    }

    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    let indent = " ".repeat(INDENT);
    for key in filled(legend(chart, signs, layout.ascii), "   ", width - INDENT) {
        line(format!("{indent}{key}"));
    }
    for row in (0..rows.count).rev() {
        let label = &labels[row];
        let axis = if label.is_empty() {
            signs.axis
        } else {
            signs.tick_left
        };
        let cells: String = grid[row].iter().collect();
        line(format!(
            "{indent}{label:>left$} {axis}{cells} {}",
            rows.names(row, &bounds)
        ));
    }
    let [rule, numbers] = across(chart, &columns, signs, layout.ascii);
    line(format!("{indent}{:left$} {rule}", ""));
    line(format!("{indent}{:left$} {numbers}", ""));
    line(format!(
        "{indent}{:left$}  {}",
        "",
        clean(&chart.across, layout.ascii)
    ));
    out
}

/// Returns the meanings of a chart's signs, each in a few words.
fn legend(chart: &Chart, signs: &Signs, ascii: bool) -> impl Iterator<Item = String> {
    let names = chart.series.iter().enumerate().map(move |(place, series)| {
        let sign = signs.of(place, series, LEFT | RIGHT);
        format!("{sign} {}", clean(&series.name, ascii))
    });
    let mark = chart
        .current
        .iter()
        .map(move |mark| format!("{} {}", signs.current, clean(&mark.label, ascii)));
    let events = named(chart.events.iter().map(|(_, text)| text.as_str()));
    let events = (!events.is_empty()).then(|| format!("{} {}", signs.event, clean(&events, ascii)));
    let gaps = (!chart.gaps.is_empty()).then(|| format!("{} without an answer", signs.gap));
    let beyond = chart
        .bounds_beyond()
        .map(|beyond| format!("{} {}", signs.beyond, clean(&beyond, ascii)));
    names.chain(mark).chain(events).chain(gaps).chain(beyond)
}

const INDENT: usize = 2;

/// The minimum width of a chart, however narrow the terminal.
const NARROWEST: usize = 40;

/// The maximum width of a chart, however wide the terminal.
const WIDEST: usize = 120;

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const UP: u8 = 4;
const DOWN: u8 = 8;

struct Signs {
    /// Indexed by the directions in which a stroke leaves.
    strokes: [char; 16],
    series: [char; MOST_SERIES - 1],
    point: char,
    event: char,
    gap: char,
    bound: char,
    beyond: char,
    current: char,
    axis: char,
    tick_left: char,
    corner: char,
    floor: char,
    tick: char,
}

impl Signs {
    /// Returns the character for a cell of a series.
    fn of(&self, place: usize, series: &ChartSeries, stroke: u8) -> char {
        match (place, series.shape) {
            (0, Shape::Steps) => self.strokes[usize::from(stroke)],
            (place, Shape::Steps) => self.series[(place - 1).min(MOST_SERIES - 2)],
            (_, Shape::Points) => self.point,
        }
    }
}

const UNICODE: Signs = Signs {
    strokes: [
        ' ', '╴', '╶', '─', '╵', '┘', '└', '┴', '╷', '┐', '┌', '┬', '│', '┤', '├', '┼',
    ],
    series: ['·', '∘', '×', '*', '+'],
    point: '○',
    event: '▲',
    gap: '▒',
    bound: '┄',
    beyond: '↑',
    current: '●',
    axis: '│',
    tick_left: '┤',
    corner: '└',
    floor: '─',
    tick: '┬',
};

const ASCII: Signs = Signs {
    strokes: [
        ' ', '-', '-', '-', '|', '+', '+', '+', '|', '+', '+', '+', '|', '+', '+', '+',
    ],
    series: [':', '*', 'x', '%', '='],
    point: '*',
    event: '^',
    gap: '?',
    bound: '.',
    beyond: '^',
    current: 'o',
    axis: '|',
    tick_left: '+',
    corner: '+',
    floor: '-',
    tick: '+',
};

/// The row of each count; the lowest row is the first.
struct CountRows {
    lowest: i32,
    highest: i32,
    /// The rows for counts: one for each count, or for several counts together.
    plain: usize,
    /// Including a row for counts beyond the top, if there are any.
    count: usize,
    /// The highest count that is drawn; the chart's highest if some are beyond it.
    top: i32,
}

impl CountRows {
    fn of(chart: &Chart) -> Self {
        let (lowest, stated_highest) = chart.replicas;
        let highest = stated_highest.max(lowest);
        let counts = (i64::from(highest) - i64::from(lowest)) as usize + 1;
        let plain = counts.min(chart.most_rows.max(1));
        let in_sight = |(from, _): &(i64, Option<i32>)| *from <= chart.span.1;
        let steps = chart
            .series
            .iter()
            .flat_map(|it| it.steps.iter().filter(|it| in_sight(it)));
        let top = steps
            .filter_map(|(_, count)| *count)
            .max()
            .unwrap_or(lowest);
        let count = plain + usize::from(top > highest);
        Self {
            lowest,
            highest,
            plain,
            count,
            top: top.min(highest),
        }
    }

    /// Returns `None` below the lowest.
    fn of_count(&self, count: i32) -> Option<usize> {
        if count > self.highest {
            return Some(self.count - 1);
        }
        let above = i64::from(count) - i64::from(self.lowest);
        let span = (i64::from(self.highest) - i64::from(self.lowest)).max(1);
        let rows = self.plain as i64 - 1;
        (above >= 0).then(|| ((above * rows + span / 2) / span) as usize)
    }

    /// Returns the first and the last count of a row.
    fn counts(&self, row: usize) -> (i32, i32) {
        let (lowest, span) = (
            i64::from(self.lowest),
            i64::from(self.highest) - i64::from(self.lowest),
        );
        let rows = (self.plain as i64 - 1).max(1);
        let first = |row: i64| -(span / 2 - row * span).div_euclid(rows);
        let first_of_next = if row + 1 < self.plain {
            first(row as i64 + 1)
        } else {
            span + 1
        };
        let count = |above: i64| i32::try_from(lowest + above).unwrap_or(i32::MAX);
        (count(first(row as i64).max(0)), count(first_of_next - 1))
    }

    /// Returns round counts, bounds and the highest count, each with those that share its row.
    fn labels(&self, bounds: &[(i32, String)]) -> Vec<String> {
        let mut labels = vec![String::new(); self.count];
        let span = (i64::from(self.lowest), i64::from(self.highest));
        let round = round_numbers(span, 10, 1).into_iter();
        for count in round
            .filter_map(|count| i32::try_from(count).ok())
            .chain(bounds.iter().map(|(count, _)| *count))
            .chain([self.top])
            .filter(|count| *count <= self.highest)
        {
            if let Some(row) = self.of_count(count) {
                labels[row] = match self.counts(row) {
                    (first, last) if first == last => count.to_string(),
                    (first, last) => format!("{first}-{last}"),
                };
            }
        }
        if self.count > self.plain {
            labels[self.plain] = format!(">{}", self.highest);
        }
        labels
    }

    /// Returns the bounds on a row.
    fn names(&self, row: usize, bounds: &[(i32, String)]) -> String {
        let here = |(count, _): &&(i32, String)| {
            *count <= self.highest && self.of_count(*count) == Some(row)
        };
        let (first, last) = self.counts(row);
        let names = bounds.iter().filter(here).map(|(count, name)| {
            if first == last {
                name.clone()
            } else {
                format!("{name} {count}")
            }
        });
        Vec::from_iter(names).join(", ")
    }
}

/// The columns of the places on the horizontal axis.
struct Columns {
    from: i64,
    to: i64,
    count: usize,
}

impl Columns {
    fn has(&self, place: i64) -> bool {
        (self.from..=self.to).contains(&place)
    }

    fn of(&self, place: i64) -> usize {
        let place = i128::from(place.clamp(self.from, self.to)) - i128::from(self.from);
        let span = (i128::from(self.to) - i128::from(self.from)).max(1);
        (place * (self.count as i128 - 1) / span) as usize
    }
}

/// Returns for each cell, column by column, the directions in which a line leaves it.
fn strokes(series: &ChartSeries, rows: &CountRows, columns: &Columns) -> Vec<Vec<u8>> {
    let mut grid = vec![vec![0; rows.count]; columns.count];
    let row_of = |count: Option<i32>| count.and_then(|count| rows.of_count(count));
    let later = |(from, _): &&(i64, Option<i32>)| *from > columns.from && *from <= columns.to;
    let mut steps = series.steps.iter().filter(later).peekable();
    let mut at = row_of(series.at(columns.from));
    for (column, cells) in grid.iter_mut().enumerate() {
        if let Some(row) = at {
            cells[row] |= LEFT;
        }
        while let Some((_, count)) = steps.next_if(|(from, _)| columns.of(*from) == column) {
            let next = row_of(*count);
            if let (Some(one), Some(other)) = (at, next) {
                for row in one.min(other)..one.max(other) {
                    cells[row] |= UP;
                    cells[row + 1] |= DOWN;
                }
            }
            at = next;
        }
        if let Some(row) = at {
            cells[row] |= RIGHT;
        }
    }
    grid
}

/// Returns the cells that have a point; any direction marks one.
fn points(series: &ChartSeries, rows: &CountRows, columns: &Columns) -> Vec<Vec<u8>> {
    let mut grid = vec![vec![0; rows.count]; columns.count];
    for (place, count) in series.steps.iter().filter(|(place, _)| columns.has(*place)) {
        if let Some(row) = count.and_then(|count| rows.of_count(count)) {
            grid[columns.of(*place)][row] = LEFT | RIGHT;
        }
    }
    grid
}

/// Returns the horizontal axis and its labels.
fn across(chart: &Chart, columns: &Columns, signs: &Signs, ascii: bool) -> [String; 2] {
    let mut rule = vec![signs.floor; columns.count];
    for (from, to) in &chart.gaps {
        rule[columns.of(*from)..=columns.of(*to)].fill(signs.gap);
    }
    let mut numbers = String::new();
    let mut room = 0;
    for (place, label) in &chart.ticks {
        if !columns.has(*place) {
            continue;
        }
        let label = clean(label, ascii);
        let (column, length) = (columns.of(*place), label.chars().count());
        // Labels are below their ticks, and end where the axis ends.
        let start = column
            .saturating_sub(length / 2)
            .min(columns.count.saturating_sub(length));
        if start < room {
            continue;
        }
        rule[column] = signs.tick;
        // The axis itself takes the first column.
        numbers.extend(std::iter::repeat_n(
            ' ',
            start + 1 - numbers.chars().count(),
        ));
        numbers.push_str(&label);
        room = start + length + 2;
    }
    for (place, _) in chart.events.iter().filter(|(place, _)| columns.has(*place)) {
        rule[columns.of(*place)] = signs.event;
    }
    [std::iter::once(signs.corner).chain(rule).collect(), numbers]
}

#[cfg(test)]
pub(super) mod tests {
    use insta::assert_snapshot;
    use unicode_width::UnicodeWidthStr;

    use super::text;
    use crate::render::layout::{Layout, of_width};
    use crate::report::chart::{Chart, ChartMark, ChartSeries, MOST_ROWS, Shape};

    /// The answer and the proposal over a metric's percent, between 2 and 10.
    pub(in super::super) fn chart() -> Chart {
        let counts = |most| -> Vec<(i64, Option<i32>)> {
            let later = (3..=most).map(|count| (20 * i64::from(count) - 19, Some(count)));
            std::iter::once((0, Some(2))).chain(later).collect()
        };
        Chart {
            title: "replicas over cpu".to_owned(),
            description: "From 2 to 10 replicas.".to_owned(),
            across: "cpu, % of <requests>".to_owned(),
            span: (0, 300),
            ticks: (0..=6).map(|n| (n * 50, format!("{} %", n * 50))).collect(),
            replicas: (0, 12),
            series: vec![
                ChartSeries {
                    name: "replicas".to_owned(),
                    steps: counts(10),
                    shape: Shape::Steps,
                },
                ChartSeries {
                    name: "proposal".to_owned(),
                    steps: counts(15),
                    shape: Shape::Steps,
                },
            ],
            bounds: vec![(2, "min".to_owned()), (10, "max".to_owned())],
            current: Some(ChartMark {
                at: 130,
                replicas: Some(7),
                label: "now: 130 %".to_owned(),
            }),
            events: Vec::new(),
            gaps: Vec::new(),
            most_rows: MOST_ROWS,
        }
    }

    #[test]
    fn it_fits_a_terminal_of_80_columns() {
        let layout = of_width(80);
        assert_snapshot!(text(&chart(), &layout), @"
        ─ replicas   · proposal   ● now: 130 %
        >12 ┤                                                      ↑↑↑↑↑↑↑↑↑↑↑↑↑↑↑
         12 ┤                                                  ·····
            │                                             ······
         10 ┤┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┌─────────────────────────── max
            │                                    ┌────┘
          8 ┤                               ┌────┘
            │                           ┌─●─┘
          6 ┤                      ┌────┘
            │                  ┌───┘
          4 ┤             ┌────┘
            │         ┌───┘
          2 ┤─────────┘┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ min
            │
          0 ┤
            └┬──────────┬──────────┬───────────┬──────────┬──────────┬───────────┬
             0 %      50 %       100 %       150 %      200 %      250 %     300 %
             cpu, % of <requests>
        ");
    }

    #[test]
    fn a_bound_that_is_far_above_the_lines_is_named() {
        let far = (100, "max".to_owned());
        let chart = Chart {
            bounds: vec![(2, "min".to_owned()), far],
            ..chart()
        };
        let text = text(&chart, &of_width(80));
        assert!(
            text.lines()
                .next()
                .is_some_and(|keys| keys.ends_with("   ↑ max 100")),
            "{text}"
        );
        assert_eq!(
            text.matches("┄ ").count(),
            1,
            "the minimum alone has a line: {text}"
        );
        let svg = crate::render::svg::svg(&chart);
        assert!(
            svg.contains(">↑ max 100</text>") && !svg.contains(">max 100<"),
            "{svg}"
        );
    }

    #[test]
    fn ascii_says_the_same() {
        let signs = [
            "─-", "·:", "●o", "↑^", "┤+", "│|", "┄.", "┌+", "┐+", "└+", "┘+", "┬+",
        ];
        let plain = |sign: char| {
            let own = signs.iter().find(|pair| pair.starts_with(sign));
            own.and_then(|pair| pair.chars().nth(1)).unwrap_or(sign)
        };
        let layout = Layout {
            ascii: true,
            ..of_width(80)
        };
        let expected: String = text(&chart(), &of_width(80)).chars().map(plain).collect();
        assert_eq!(text(&chart(), &layout), expected);
    }

    /// A trace may have thousands of marks.
    #[test]
    fn the_first_events_are_named() {
        let mut eventful = chart();
        eventful.events = (0..10)
            .map(|n| (30 * n, format!("rollout {}", n % 5)))
            .collect();
        let text = text(&eventful, &Layout::default());
        assert!(
            text.contains("▲ rollout 0, rollout 1, rollout 2, 2 more\n"),
            "{text}"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut long = chart();
        long.series[1].name = "proposal of queue_depth{queue=orders,shop=main}".to_owned();
        for (chart, widths) in [
            (chart(), &[40, 41, 60, 80, 119, 200, 1000][..]),
            (long, &[60, 70, 80]),
        ] {
            for width in widths {
                let text = text(&chart, &of_width(*width));
                assert!(text.contains(&chart.series[1].name), "{text}");
                assert!(text.lines().all(|line| line.width() <= *width), "{text}");
            }
        }
    }

    /// More counts than rows, gaps, single places and the extremes of the number types.
    #[test]
    fn anything_can_be_drawn() {
        for (span, replicas, steps) in [
            ((0, 0), (0, 0), vec![]),
            ((0, 0), (5, 5), vec![(0, Some(5))]),
            (
                (0, 1),
                (0, i32::MAX),
                vec![(0, Some(i32::MIN)), (1, Some(i32::MAX))],
            ),
            (
                (i64::MIN, i64::MAX),
                (i32::MIN, i32::MAX),
                vec![(0, Some(1)), (1, None)],
            ),
            ((7, 3), (7, 3), vec![(5, Some(5))]),
            (
                (0, 100),
                (1, 3),
                vec![(0, None), (50, Some(9)), (51, Some(2)), (60, None)],
            ),
        ] {
            let of = |shape| ChartSeries {
                name: "s".to_owned(),
                steps: steps.clone(),
                shape,
            };
            let series = vec![of(Shape::Steps), of(Shape::Points)];
            let current = Some(ChartMark {
                at: 2,
                replicas: Some(4),
                label: String::new(),
            });
            let bounds = vec![(1, "min".to_owned()), (i32::MAX, "max".to_owned())];
            let chart = Chart {
                span,
                replicas,
                series,
                bounds,
                current,
                ..chart()
            };
            assert!(text(&chart, &Layout::default()).ends_with('\n'));
            let svg = crate::render::svg::svg(&chart);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
