//! A chart as a standalone picture: it needs no other file, contains a description, and is readable on light
//! and dark backgrounds.

use std::fmt::Write;

use super::xml::escape;
use crate::report::chart::{Chart, ChartSeries, MOST_SERIES, Shape, named, round_numbers};

/// The chart as SVG.
pub fn svg(chart: &Chart) -> String {
    let mut picture = Picture {
        chart,
        text: format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             role=\"img\" aria-labelledby=\"title desc\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n{STYLE}",
            escape(&chart.title),
            escape(&chart.description),
        ),
    };
    picture.words("heading", LEFT, 24.0, "start", &chart.title);
    picture.counts();
    picture.line(&format!(
        r#"<path class="axis" d="M{LEFT:.1} {TOP:.1}V{BOTTOM:.1}H{RIGHT:.1}"/>"#
    ));
    picture.gaps();
    picture.places();
    picture.events();
    for (place, series) in chart.series.iter().enumerate().rev() {
        let path = match series.shape {
            Shape::Steps => picture.path(series),
            Shape::Points => picture.points(series),
        };
        picture.series(place, &path);
    }
    picture.legend();
    picture.text + "</svg>\n"
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 630.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 320.0;

const STYLE: &str = "\
<style>
svg { color: #1f2328; font: 12px sans-serif; }
text { fill: currentColor; }
.heading { font-size: 15px; font-weight: bold; }
path { fill: none; stroke: currentColor; }
.grid { stroke-opacity: .12; }
.bound { stroke-dasharray: 6 4; stroke-opacity: .6; }
.gap { fill: currentColor; fill-opacity: .12; }
.event { stroke-dasharray: 1 3; stroke-opacity: .8; }
.series { stroke-width: 2.5; }
.s0 { stroke: #0969da; }
.s1 { stroke: #bc4c00; stroke-dasharray: 2 4; }
.s2 { stroke: #8250df; stroke-dasharray: 8 3 2 3; }
.s3 { stroke: #1a7f37; stroke-dasharray: 8 4; }
.s4 { stroke: #cf222e; stroke-dasharray: 4 4; }
.s5 { stroke: #6e7781; stroke-dasharray: 12 3; }
.current { fill: currentColor; }
@media (prefers-color-scheme: dark) {
svg { color: #e6edf3; }
.s0 { stroke: #58a6ff; }
.s1 { stroke: #f0883e; }
.s2 { stroke: #d2a8ff; }
.s3 { stroke: #3fb950; }
.s4 { stroke: #ff7b72; }
.s5 { stroke: #8b949e; }
}
</style>
";

/// A mark around a place.
fn diamond(x: f64, y: f64) -> String {
    format!("M{:.1} {y:.1}l5 -5l5 5l-5 5z", x - 5.0)
}

/// The chart, and the text of its picture so far.
struct Picture<'c> {
    chart: &'c Chart,
    text: String,
}

impl Picture<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn words(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escape(text);
        self.line(&format!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// Draws the vertical axis: round counts, and the bounds.
    fn counts(&mut self) {
        let chart = self.chart;
        let (lowest, highest) = (chart.replicas.0.into(), chart.replicas.1.into());
        for count in round_numbers((lowest, highest), 8, 1) {
            self.level("grid", count);
            let y = self.y(count) + 4.0;
            self.words("label", LEFT - 8.0, y, "end", &count.to_string());
        }
        for (count, name) in &chart.bounds {
            if self.has_count(*count) {
                self.level("bound", (*count).into());
                let y = self.y((*count).into()) + 4.0;
                self.words("label", RIGHT + 8.0, y, "start", &format!("{name} {count}"));
            }
        }
        if let Some(beyond) = chart.bounds_beyond() {
            // In the heading's line, because the right edge is narrow.
            self.words("label", WIDTH - 8.0, 24.0, "end", &format!("↑ {beyond}"));
        }
    }

    /// Draws a line at a count.
    fn level(&mut self, class: &str, count: i64) {
        let y = self.y(count);
        self.line(&format!(
            r#"<path class="{class}" d="M{LEFT:.1} {y:.1}H{RIGHT:.1}"/>"#
        ));
    }

    /// Draws the gaps, but none of those that the one before covers.
    fn gaps(&mut self) {
        let mut covered = 0.0;
        for (from, to) in &self.chart.gaps {
            let (x, end) = (self.x(*from).max(covered), self.x(*to));
            if end <= covered {
                continue;
            }
            let (width, height) = ((end - x).max(1.0), BOTTOM - TOP);
            covered = x + width;
            self.line(&format!(
                r#"<rect class="gap" x="{x:.1}" y="{TOP:.1}" width="{width:.1}" height="{height:.1}"><title>without an answer</title></rect>"#
            ));
        }
    }

    /// Draws the ticks of the horizontal axis that have room, and its unit.
    fn places(&mut self) {
        let mut room = 0.0;
        for (place, label) in &self.chart.ticks {
            let x = self.x(*place);
            // The width of most letters at this size.
            let half = label.chars().count() as f64 * 3.8;
            if self.has_place(*place) && x - half >= room {
                self.line(&format!(
                    r#"<path class="axis" d="M{x:.1} {BOTTOM:.1}v5"/>"#
                ));
                self.words("label", x, BOTTOM + 20.0, "middle", label);
                room = x + half + 8.0;
            }
        }
        let middle = (LEFT + RIGHT) / 2.0;
        self.words("label", middle, BOTTOM + 40.0, "middle", &self.chart.across);
    }

    /// Draws a line for the events of each pixel.
    fn events(&mut self) {
        let all = self.chart.events.iter();
        let seen: Vec<(f64, &str)> = all
            .filter(|(place, _)| self.has_place(*place))
            .map(|(place, text)| (self.x(*place), text.as_str()))
            .collect();
        let (mut rooms, mut last) = ([0.0; 2], String::new());
        for of_pixel in seen.chunk_by(|(one, _), (other, _)| one.floor() == other.floor()) {
            let x = of_pixel[0].0;
            let text = named(of_pixel.iter().map(|(_, text)| *text));
            // A label is next to its line if it fits, and written once for several in a row.
            let row = rooms.iter().position(|room| x >= *room);
            if let Some(row) = row.filter(|row| *row == 0 || text != last) {
                let width = text.chars().count() as f64 * 7.2;
                let (at, anchor) = if x + 4.0 + width > RIGHT {
                    (x - 4.0, "end")
                } else {
                    (x + 4.0, "start")
                };
                self.words("label", at, [TOP - 4.0, TOP + 10.0][row], anchor, &text);
                rooms[row] = x + 4.0 + width;
                last.clone_from(&text);
            }
            let text = escape(&text);
            self.line(&format!(
                r#"<path class="event" d="M{x:.1} {TOP:.1}V{BOTTOM:.1}"><title>{text}</title></path>"#
            ));
        }
    }

    fn series(&mut self, place: usize, path: &str) {
        let class = place.min(MOST_SERIES - 1);
        self.line(&format!(r#"<path class="series s{class}" d="{path}"/>"#));
    }

    /// Draws the names of the series, and the current point with its name.
    fn legend(&mut self) {
        let (mut x, y) = (LEFT, BOTTOM + 62.0);
        for (place, series) in self.chart.series.iter().enumerate() {
            let path = match series.shape {
                Shape::Steps => format!("M{x:.1} {:.1}h24", y - 4.0),
                Shape::Points => diamond(x + 12.0, y - 4.0),
            };
            self.series(place, &path);
            self.words("label", x + 30.0, y, "start", &series.name);
            x += 30.0 + series.name.chars().count() as f64 * 7.2 + 20.0;
        }
        if let Some(mark) = &self.chart.current {
            let seen = mark
                .replicas
                .filter(|count| self.has_count(*count))
                .map(|count| (self.x(mark.at), self.y(count.into())));
            for (x, y) in [(x + 5.0, y - 4.0)].into_iter().chain(seen) {
                self.line(&format!(
                    r#"<circle class="current" cx="{x:.1}" cy="{y:.1}" r="5"/>"#
                ));
            }
            self.words("label", x + 16.0, y, "start", &mark.label);
        }
    }

    fn has_place(&self, place: i64) -> bool {
        (self.chart.span.0..=self.chart.span.1).contains(&place)
    }

    fn has_count(&self, count: i32) -> bool {
        (self.chart.replicas.0..=self.chart.replicas.1).contains(&count)
    }

    fn x(&self, place: i64) -> f64 {
        let (from, to) = self.chart.span;
        let share = (place.clamp(from, to.max(from)) as f64 - from as f64)
            / (to as f64 - from as f64).max(1.0);
        LEFT + share * (RIGHT - LEFT)
    }

    fn y(&self, count: i64) -> f64 {
        let (lowest, highest) = self.chart.replicas;
        let (lowest, highest) = (f64::from(lowest), f64::from(highest));
        BOTTOM - (count as f64 - lowest) / (highest - lowest).max(1.0) * (BOTTOM - TOP)
    }

    /// Returns a mark at each visible point.
    fn points(&self, series: &ChartSeries) -> String {
        let seen = series
            .steps
            .iter()
            .filter(|(place, _)| self.has_place(*place));
        seen.filter_map(|(place, count)| {
            let shown = count.filter(|count| self.has_count(*count))?;
            Some(diamond(self.x(*place), self.y(shown.into())))
        })
        .collect()
    }

    /// Returns the steps of a series; a line that leaves the plot at the top ends a little above it.
    fn path(&self, series: &ChartSeries) -> String {
        let mut path = String::new();
        let mut pen = None;
        let (from, to) = self.chart.span;
        let later = series.steps.iter().filter(|(x, _)| *x > from && *x <= to);
        let first = (from, series.at(from));
        for (place, count) in std::iter::once(&first).chain(later) {
            let x = self.x(*place);
            let y = count.map(|count| self.y(count.into()).clamp(TOP - 8.0, BOTTOM));
            if pen == y {
                continue;
            }
            let _ = match y {
                Some(y) if pen.is_some() => write!(path, "H{x:.1}V{y:.1}"),
                Some(y) => write!(path, "M{x:.1} {y:.1}"),
                None => write!(path, "H{x:.1}"),
            };
            pen = y;
        }
        if pen.is_some() {
            let _ = write!(path, "H{RIGHT:.1}");
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::{STYLE, svg};
    use crate::render::chart::tests::chart;
    use crate::report::chart::Chart;

    #[test]
    fn a_rollout_has_a_label_and_a_gap_is_seen() {
        let events = vec![
            (120, "rollout <v2>".to_owned()),
            (290, "rollout of v3".to_owned()),
        ];
        let text = svg(&Chart {
            events,
            gaps: vec![(30, 60)],
            ..chart()
        });
        let document = roxmltree::Document::parse(&text).unwrap();
        let texts = document
            .descendants()
            .filter(|node| node.has_tag_name("text"));
        let texts: Vec<_> = texts
            .map(|node| (node.text().unwrap(), node.attribute("text-anchor")))
            .collect();
        assert!(
            texts.contains(&("rollout <v2>", Some("start"))),
            "{texts:?}"
        );
        assert!(texts.contains(&("rollout of v3", Some("end"))), "{texts:?}");
        let gap = document
            .descendants()
            .find(|node| node.has_tag_name("rect"))
            .unwrap();
        let of = |name: &str| gap.attribute(name).unwrap().parse::<f64>().unwrap();
        assert_eq!((of("x"), of("width")), (120.6, 56.6));
    }

    #[test]
    fn no_more_is_drawn_than_can_be_seen() {
        let texts = ["rollout", "1 restart", "2 restarts", "3 restarts"];
        let event = |place: i64| (place, texts[place as usize % 4].to_owned());
        let text = svg(&Chart {
            span: (0, 100_000),
            events: (0..100_000).map(event).collect(),
            gaps: (0..50_000)
                .map(|place| (2 * place, 2 * place + 1))
                .collect(),
            ..chart()
        });
        let pixels = (super::RIGHT - super::LEFT) as usize + 1;
        for (drawn, most) in [
            ("class=\"event\"", pixels),
            ("<rect", pixels),
            ("text-anchor", 40),
        ] {
            let count = text.matches(drawn).count();
            assert!((1..=most).contains(&count), "{count} of {drawn}");
        }
        assert!(text.contains("<title>rollout, 1 restart, 2 restarts, 1 more</title>"));
    }

    #[test]
    fn the_picture_is_whole_and_says_what_it_shows() {
        let text = svg(&chart());
        let document = roxmltree::Document::parse(&text).unwrap();
        let words = |tag: &str| {
            let node = document
                .descendants()
                .find(|node| node.has_tag_name(tag))
                .unwrap();
            node.text().unwrap().to_owned()
        };
        assert_eq!(words("title"), "replicas over cpu");
        assert_eq!(words("desc"), "From 2 to 10 replicas.");
        let texts = document
            .descendants()
            .filter(|node| node.has_tag_name("text"));
        assert!(
            texts
                .filter_map(|node| node.text())
                .any(|text| text == "cpu, % of <requests>")
        );
        assert_snapshot!(text.replace(STYLE, "<style/>\n"), @r#"
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" role="img" aria-labelledby="title desc">
<title id="title">replicas over cpu</title>
<desc id="desc">From 2 to 10 replicas.</desc>
<style/>
<text class="heading" x="64.0" y="24.0" text-anchor="start">replicas over cpu</text>
<path class="grid" d="M64.0 320.0H630.0"/>
<text class="label" x="56.0" y="324.0" text-anchor="end">0</text>
<path class="grid" d="M64.0 274.0H630.0"/>
<text class="label" x="56.0" y="278.0" text-anchor="end">2</text>
<path class="grid" d="M64.0 228.0H630.0"/>
<text class="label" x="56.0" y="232.0" text-anchor="end">4</text>
<path class="grid" d="M64.0 182.0H630.0"/>
<text class="label" x="56.0" y="186.0" text-anchor="end">6</text>
<path class="grid" d="M64.0 136.0H630.0"/>
<text class="label" x="56.0" y="140.0" text-anchor="end">8</text>
<path class="grid" d="M64.0 90.0H630.0"/>
<text class="label" x="56.0" y="94.0" text-anchor="end">10</text>
<path class="grid" d="M64.0 44.0H630.0"/>
<text class="label" x="56.0" y="48.0" text-anchor="end">12</text>
<path class="bound" d="M64.0 274.0H630.0"/>
<text class="label" x="638.0" y="278.0" text-anchor="start">min 2</text>
<path class="bound" d="M64.0 90.0H630.0"/>
<text class="label" x="638.0" y="94.0" text-anchor="start">max 10</text>
<path class="axis" d="M64.0 44.0V320.0H630.0"/>
<path class="axis" d="M64.0 320.0v5"/>
<text class="label" x="64.0" y="340.0" text-anchor="middle">0 %</text>
<path class="axis" d="M158.3 320.0v5"/>
<text class="label" x="158.3" y="340.0" text-anchor="middle">50 %</text>
<path class="axis" d="M252.7 320.0v5"/>
<text class="label" x="252.7" y="340.0" text-anchor="middle">100 %</text>
<path class="axis" d="M347.0 320.0v5"/>
<text class="label" x="347.0" y="340.0" text-anchor="middle">150 %</text>
<path class="axis" d="M441.3 320.0v5"/>
<text class="label" x="441.3" y="340.0" text-anchor="middle">200 %</text>
<path class="axis" d="M535.7 320.0v5"/>
<text class="label" x="535.7" y="340.0" text-anchor="middle">250 %</text>
<path class="axis" d="M630.0 320.0v5"/>
<text class="label" x="630.0" y="340.0" text-anchor="middle">300 %</text>
<text class="label" x="347.0" y="360.0" text-anchor="middle">cpu, % of &lt;requests&gt;</text>
<path class="series s1" d="M64.0 274.0H141.4V251.0H179.1V228.0H216.8V205.0H254.6V182.0H292.3V159.0H330.0V136.0H367.8V113.0H405.5V90.0H443.2V67.0H481.0V44.0H518.7V36.0H630.0"/>
<path class="series s0" d="M64.0 274.0H141.4V251.0H179.1V228.0H216.8V205.0H254.6V182.0H292.3V159.0H330.0V136.0H367.8V113.0H405.5V90.0H630.0"/>
<path class="series s0" d="M64.0 378.0h24"/>
<text class="label" x="94.0" y="382.0" text-anchor="start">replicas</text>
<path class="series s1" d="M171.6 378.0h24"/>
<text class="label" x="201.6" y="382.0" text-anchor="start">proposal</text>
<circle class="current" cx="284.2" cy="378.0" r="5"/>
<circle class="current" cx="309.3" cy="159.0" r="5"/>
<text class="label" x="295.2" y="382.0" text-anchor="start">now: 130 %</text>
</svg>
"#);
    }
}
