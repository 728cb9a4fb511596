//! A chart as a standalone picture: it needs no other file, describes itself in words, and is
//! readable on light and dark backgrounds.

use std::fmt::Write;

use super::xml::escape;
use crate::report::chart::{Chart, MOST_SERIES, Series, Shape, round_numbers};

/// The chart as SVG.
pub fn svg(chart: &Chart) -> String {
    let plot = Plot::of(chart);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n{STYLE}",
        escape(&chart.title),
        escape(&chart.description),
    );
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(words("heading", LEFT, 24.0, "start", &chart.title));
    let (lowest, highest) = (i64::from(chart.replicas.0), i64::from(chart.replicas.1));
    for count in round_numbers((lowest, highest), 8, 1) {
        let y = plot.y(count);
        line(format!(
            r#"<path class="grid" d="M{LEFT:.1} {y:.1}H{RIGHT:.1}"/>"#
        ));
        line(words(
            "label",
            LEFT - 8.0,
            y + 4.0,
            "end",
            &count.to_string(),
        ));
    }
    for (count, name) in &chart.bounds {
        let count = i64::from(*count);
        if (lowest..=highest).contains(&count) {
            let y = plot.y(count);
            line(format!(
                r#"<path class="bound" d="M{LEFT:.1} {y:.1}H{RIGHT:.1}"/>"#
            ));
            let name = format!("{name} {count}");
            line(words("label", RIGHT + 8.0, y + 4.0, "start", &name));
        }
    }
    let beyond: Vec<String> = chart
        .bounds_beyond()
        .map(|(count, name)| format!("{name} {count}"))
        .collect();
    if !beyond.is_empty() {
        // In the heading's line, because the right edge is narrow.
        line(words(
            "label",
            WIDTH - 8.0,
            24.0,
            "end",
            &format!("↑ {}", beyond.join(", ")),
        ));
    }
    line(format!(
        r#"<path class="axis" d="M{LEFT:.1} {TOP:.1}V{BOTTOM:.1}H{RIGHT:.1}"/>"#
    ));
    for (from, to) in &chart.gaps {
        let (x, end) = (plot.x(*from), plot.x(*to));
        let (width, height) = ((end - x).max(1.0), BOTTOM - TOP);
        line(format!(
            r#"<rect class="gap" x="{x:.1}" y="{TOP:.1}" width="{width:.1}" height="{height:.1}"><title>without an answer</title></rect>"#
        ));
    }
    let mut room = 0.0;
    for (place, label) in &chart.ticks {
        let x = plot.x(*place);
        // The width of most letters at this size.
        let half = label.chars().count() as f64 * 3.8;
        if (chart.span.0..=chart.span.1).contains(place) && x - half >= room {
            line(format!(r#"<path class="axis" d="M{x:.1} {BOTTOM:.1}v5"/>"#));
            line(words("label", x, BOTTOM + 20.0, "middle", label));
            room = x + half + 8.0;
        }
    }
    line(words(
        "label",
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 40.0,
        "middle",
        &chart.across,
    ));
    let (mut room, mut last) = (0.0, "");
    for (place, text) in &chart.events {
        let x = plot.x(*place);
        // A label is beside its line where it fits, and once for several that follow.
        if (chart.span.0..=chart.span.1).contains(place) && (x >= room || text != last) {
            let width = text.chars().count() as f64 * 7.2;
            let (at, anchor) = if x + 4.0 + width > RIGHT {
                (x - 4.0, "end")
            } else {
                (x + 4.0, "start")
            };
            let y = if x >= room { TOP - 4.0 } else { TOP + 10.0 };
            line(words("label", at, y, anchor, text));
            (room, last) = (x + 4.0 + width, text);
        }
        if (chart.span.0..=chart.span.1).contains(place) {
            let (x, text) = (plot.x(*place), escape(text));
            line(format!(
                r#"<path class="event" d="M{x:.1} {TOP:.1}V{BOTTOM:.1}"><title>{text}</title></path>"#
            ));
        }
    }
    for (place, series) in chart.series.iter().enumerate().rev() {
        let class = format!("series s{}", place.min(MOST_SERIES - 1));
        let path = match series.shape {
            Shape::Steps => plot.path(series),
            Shape::Points => plot.points(series),
        };
        line(format!(r#"<path class="{class}" d="{path}"/>"#));
    }
    let mut x = LEFT;
    let y = BOTTOM + 62.0;
    for (place, series) in chart.series.iter().enumerate() {
        let class = format!("series s{}", place.min(MOST_SERIES - 1));
        let path = match series.shape {
            Shape::Steps => format!("M{x:.1} {:.1}h24", y - 4.0),
            Shape::Points => diamond(x + 12.0, y - 4.0),
        };
        line(format!(r#"<path class="{class}" d="{path}"/>"#));
        line(words("label", x + 30.0, y, "start", &series.name));
        x += 30.0 + series.name.chars().count() as f64 * 7.2 + 20.0;
    }
    if let Some(mark) = &chart.current {
        let seen = mark
            .replicas
            .map(i64::from)
            .filter(|it| (lowest..=highest).contains(it));
        for (x, y) in [(x + 5.0, y - 4.0)]
            .into_iter()
            .chain(seen.map(|it| (plot.x(mark.at), plot.y(it))))
        {
            line(format!(
                r#"<circle class="current" cx="{x:.1}" cy="{y:.1}" r="5"/>"#
            ));
        }
        line(words("label", x + 16.0, y, "start", &mark.label));
    }
    out.push_str("</svg>\n");
    out
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

fn words(class: &str, x: f64, y: f64, anchor: &str, text: &str) -> String {
    let text = escape(text);
    format!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#)
}

/// A mark around a place.
fn diamond(x: f64, y: f64) -> String {
    format!("M{:.1} {y:.1}l5 -5l5 5l-5 5z", x - 5.0)
}

/// Maps places and counts to points of the picture.
struct Plot {
    span: (i64, i64),
    replicas: (i32, i32),
}

impl Plot {
    fn of(chart: &Chart) -> Self {
        Self {
            span: chart.span,
            replicas: chart.replicas,
        }
    }

    fn x(&self, place: i64) -> f64 {
        let (from, to) = (self.span.0 as f64, self.span.1 as f64);
        let share = (place.clamp(self.span.0, self.span.1.max(self.span.0)) as f64 - from)
            / (to - from).max(1.0);
        LEFT + share * (RIGHT - LEFT)
    }

    fn y(&self, count: i64) -> f64 {
        let (lowest, highest) = (f64::from(self.replicas.0), f64::from(self.replicas.1));
        BOTTOM - (count as f64 - lowest) / (highest - lowest).max(1.0) * (BOTTOM - TOP)
    }

    /// Returns a mark at each visible point.
    fn points(&self, series: &Series) -> String {
        let has = |count: i32| (self.replicas.0..=self.replicas.1).contains(&count);
        let seen = series
            .steps
            .iter()
            .filter(|(x, _)| (self.span.0..=self.span.1).contains(x));
        let seen = seen.filter_map(|(x, count)| Some((*x, count.filter(|own| has(*own))?)));
        seen.map(|(x, count)| diamond(self.x(x), self.y(count.into())))
            .collect()
    }

    /// Returns the steps; above the plot, a line leaves it by a little.
    fn path(&self, series: &Series) -> String {
        let mut path = String::new();
        let mut pen = None;
        let later = series
            .steps
            .iter()
            .filter(|(x, _)| *x > self.span.0 && *x <= self.span.1);
        let first = (self.span.0, series.at(self.span.0));
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

    use super::svg;
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
        assert_snapshot!(text, @r#"
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" role="img" aria-labelledby="title desc">
<title id="title">replicas over cpu</title>
<desc id="desc">From 2 to 10 replicas.</desc>
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
