//! The settings that a search shows: those that neither another nor the unchanged HPA beats, as a table, a chart
//! and data.

use jiff::SignedDuration;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::chart::{Chart, ChartMark, ChartSeries, Shape, round_numbers};
use super::section::{Detail, Part, Section, Table, Tone};
use super::totals::{TotalsView, hours, rescales};
use crate::backtest::{Search, SearchResult, Tried};
use crate::whatif::expect::Truth;
use crate::whatif::timeline::Totals;
use crate::words::{count, list, long};

/// The result of a search, compared with the replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Searched<'a> {
    found: &'a SearchResult,
    replay: &'a Totals,
}

/// The reason why settings with different targets are hard to compare.
pub(super) const OTHER_TARGETS: &str = "A run is short of its own proposals: with a higher target it is short less \
                                        often, but its pods are busier.";

/// Whether a field affects the proposals.
fn is_about_targets(path: &str) -> bool {
    path.starts_with("target.") || path.trim_start_matches("spec.").starts_with("metrics")
}

/// The number of settings that are shown; JSON has all of them.
const SHOWN: usize = 20;

/// The rows of the chart, which shares the screen with the table.
const ROWS: usize = 10;

/// Returns a value with its unit, unless it is no number, such as `null`.
fn with_unit(value: &str, unit: &str) -> String {
    match value.parse::<f64>() {
        Ok(_) => format!("{value}{unit}"),
        Err(_) => value.to_owned(),
    }
}

/// Returns the values of a combination with the totals of its run.
fn row(values: Vec<String>, totals: &Totals, has_gaps: bool) -> Vec<String> {
    values
        .into_iter()
        .chain([
            hours(totals.replica_hours()),
            long(totals.short()),
            hours(totals.shortfall()),
            totals.highest.replicas.to_string(),
            rescales(totals),
        ])
        .chain(has_gaps.then(|| long(totals.unanswered())))
        .collect()
}

impl<'a> Searched<'a> {
    pub(super) fn new(found: &'a SearchResult, replay: &'a Totals) -> Self {
        Self { found, replay }
    }

    /// The best settings, each with its totals.
    fn front(&self) -> impl Iterator<Item = (&'a Tried, &'a Totals)> {
        let SearchResult { tried, front, .. } = self.found;
        front.iter().filter_map(|place| {
            let own = tried.get(*place)?;
            Some((own, own.result.as_ref().ok()?))
        })
    }

    /// The result, in a few words.
    pub(super) fn headline(&self) -> (Tone, String) {
        let SearchResult {
            search,
            tried,
            front,
            stopped,
        } = self.found;
        let is_met = |own: &&Tried| own.result.is_ok() && own.meets == Truth::True;
        let meeting = tried.iter().filter(is_met).count();
        let is_open = tried.iter().any(|own| own.meets == Truth::Unknown);
        let all = tried.len();
        let played = tried.iter().filter(|own| own.result.is_ok()).count();
        let is_are = |n: usize| if n == 1 { "IS" } else { "ARE" };
        let text = match (meeting, front.len()) {
            (0, _) if tried.is_empty() => "NO SETTING WAS PLAYED".to_owned(),
            (0, _) if is_open => {
                format!("NONE OF {all} SETTINGS IS KNOWN TO MEET THE EXPECTATIONS")
            }
            (0, _) => format!("NONE OF {all} SETTINGS MEETS THE EXPECTATIONS"),
            (_, 0) if played == 1 => "THE HPA AS IT IS BEATS THE SETTING".to_owned(),
            (_, 0) if meeting == played => {
                format!("THE HPA AS IT IS BEATS ALL {played} SETTINGS")
            }
            (_, 0) => {
                format!("THE HPA AS IT IS BEATS ALL OF {all} SETTINGS THAT MEET THE EXPECTATIONS")
            }
            (_, 1) if played == 1 => "THE SETTING IS NOT BEATEN BY THE HPA AS IT IS".to_owned(),
            (_, best) if meeting == played => {
                format!("{best} OF {played} SETTINGS {} NOT BEATEN", is_are(best))
            }
            (_, best) => format!(
                "{best} OF {all} SETTINGS {} THE EXPECTATIONS AND {} NOT BEATEN",
                if best == 1 { "MEETS" } else { "MEET" },
                is_are(best)
            ),
        };
        let text = match stopped {
            Some(_) => format!(
                "INTERRUPTED AFTER {} OF {}: {text}",
                tried.len(),
                search.count()
            ),
            None => text,
        };
        (Tone::Stay, text)
    }

    pub(super) fn sections(&self) -> impl Iterator<Item = Section> {
        let parts = [Part::Table(self.table()), Part::Text(self.sentences())];
        let table = Section::new("SETTINGS, BY REPLICA-HOURS", Detail::Always, parts);
        let parts = [Part::Chart(self.chart().into())];
        let chart = Section::new("TIME SHORT OVER REPLICA-HOURS", Detail::Always, parts);
        let chart = chart.filter(|_| !self.found.front.is_empty());
        table.into_iter().chain(chart)
    }

    /// The last parts of the paths that distinguish the fields, with the unit that a part names.
    fn titles(&self) -> Vec<(String, &'static str)> {
        let paths = || self.found.search.axes.iter().map(|axis| &*axis.path);
        let short = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
        let is_alone = |path: &str| paths().filter(|it| short(it) == short(path)).count() == 1;
        let titles = paths().map(|path| {
            let title = match path.strip_prefix("target.") {
                None if is_alone(path) => short(path),
                _ => path.to_owned(),
            };
            match title.strip_suffix("Seconds") {
                Some(rest) => (rest.to_owned(), "s"),
                None => (title, ""),
            }
        });
        titles.collect()
    }

    fn table(&self) -> Table {
        let fields = self.titles();
        let titles = fields.iter().map(|(title, _)| (title.clone(), true));
        let all = || self.front().map(|(_, totals)| totals).chain([self.replay]);
        let has_gaps = all().any(|totals| !totals.unanswered().is_zero());
        let unanswered = has_gaps.then_some("NO ANSWER");
        let totals = ["HOURS", "SHORT", "SHORTFALL", "HIGHEST", "RESCALES"]
            .into_iter()
            .chain(unanswered)
            .map(|title| (title.to_owned(), true));
        let mut as_it_is = vec![String::new(); fields.len()];
        if let Some(first) = as_it_is.first_mut() {
            "as it is".clone_into(first);
        }
        let rows = self.front().take(SHOWN).map(|(own, totals)| {
            let values = self.found.search.values(own.place).into_iter().zip(&fields);
            let cells = values.map(|(value, (_, unit))| with_unit(&value, unit));
            row(cells.collect(), totals, has_gaps)
        });
        let first = std::iter::once(row(as_it_is, self.replay, has_gaps));
        Table::new(titles.chain(totals), first.chain(rows).collect())
    }

    fn sentences(&self) -> Vec<String> {
        let SearchResult {
            search,
            tried,
            front,
            ..
        } = self.found;
        let Search { axes, .. } = search;
        let mut sentences = Vec::new();
        if axes.iter().any(|axis| is_about_targets(&axis.path)) {
            sentences.push(OTHER_TARGETS.to_owned());
        }
        let base = search.base();
        if !base.is_empty() {
            sentences.push(format!("All of them have {}.", list(&base)));
        }
        sentences.extend(axes.iter().filter_map(|axis| {
            let (last, end) = (axis.values.last()?, axis.missed.as_ref()?);
            let field = &axis.path;
            Some(format!(
                "The last {field} is {last}: the next step is beyond {end}."
            ))
        }));
        if front.len() > SHOWN {
            sentences.push(format!("{} more are in -o json.", front.len() - SHOWN));
        }
        for (truth, one, several) in [
            (Truth::False, "does not", "do not"),
            (Truth::Unknown, "may or may not", "may or may not"),
        ] {
            let played = tried.iter().filter(|own| own.result.is_ok());
            let number = played.filter(|own| own.meets == truth).count();
            let do_not = if number == 1 { one } else { several };
            if number > 0 {
                let combinations = count(number, "combination");
                sentences.push(format!("{combinations} {do_not} meet the expectations."));
            }
        }
        let mut refused = tried
            .iter()
            .filter_map(|own| Some((own, own.result.as_ref().err()?)));
        if let Some((first, e)) = refused.next() {
            let all = count(1 + refused.count(), "combination");
            let first = list(&search.settings(first.place));
            sentences.push(format!(
                "{all} cannot be played, such as {first}: {}.",
                e.message
            ));
        }
        sentences
    }

    /// Returns the chart of the time short over the replica-hours: of the best settings, and of the unchanged
    /// HPA.
    pub(super) fn chart(&self) -> Chart {
        // Shortfalls of a few minutes are drawn in seconds.
        let longest = self
            .front()
            .map(|(_, totals)| totals.short())
            .max()
            .unwrap_or_default();
        let is_short = longest.max(self.replay.short()) < SignedDuration::from_mins(20);
        let (unit, seconds) = if is_short {
            ("seconds", 1)
        } else {
            ("minutes", 60)
        };
        // A tenth of a replica-hour is the unit of the axis.
        let place = |totals: &Totals| (totals.replica_hours() * 10.0).round() as i64;
        let short =
            |totals: &Totals| i32::try_from(totals.short().as_secs() / seconds).unwrap_or(i32::MAX);
        let points: Vec<(i64, Option<i32>)> = self
            .front()
            .map(|(_, totals)| (place(totals), Some(short(totals))))
            .collect();
        let as_it_is = (place(self.replay), Some(short(self.replay)));
        let all = || points.iter().chain([&as_it_is]);
        let first = all().map(|(at, _)| *at).min().unwrap_or(0);
        // An axis has a minimum length, whatever the values.
        let last = all().map(|(at, _)| *at).max().unwrap_or(0).max(first + 10);
        let highest = all().filter_map(|(_, count)| *count).max().unwrap_or(0);
        let ticks = round_numbers((first, last), 7, 10).into_iter();
        Chart {
            title: "time short over replica-hours".to_owned(),
            description: self.headline().1,
            across: format!("replica-hours; upward: {unit} short"),
            span: (first, last),
            ticks: ticks.map(|at| (at, (at / 10).to_string())).collect(),
            replicas: (0, highest),
            series: vec![ChartSeries {
                name: "settings that no other beats".to_owned(),
                steps: points,
                shape: Shape::Points,
            }],
            bounds: Vec::new(),
            current: Some(ChartMark {
                at: as_it_is.0,
                replicas: as_it_is.1,
                label: "as it is".to_owned(),
            }),
            events: Vec::new(),
            gaps: Vec::new(),
            most_rows: ROWS,
        }
    }
}

impl Serialize for Searched<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SearchResult {
            search,
            tried,
            front,
            stopped,
        } = self.found;
        let paths = || search.axes.iter().map(|axis| &*axis.path);
        let settings: Vec<TriedView<'_>> = tried
            .iter()
            .enumerate()
            .map(|(place, own)| TriedView {
                set: paths().zip(search.values(own.place)).collect(),
                totals: own.result.as_ref().ok().map(TotalsView::from),
                refused: own.result.as_ref().err().map(|e| &*e.message),
                meets_expectations: match (&own.result, own.meets) {
                    (Err(_), _) | (_, Truth::Unknown) => None,
                    (_, meets) => Some(meets == Truth::True),
                },
                best: front.contains(&place),
            })
            .collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("base", &search.base())?;
        map.serialize_entry("combinations", &search.count())?;
        map.serialize_entry("interrupted", &stopped.is_some())?;
        map.serialize_entry("settings", &settings)?;
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TriedView<'a> {
    /// The values of the fields, in the order of the fields.
    #[serde(serialize_with = "in_order")]
    set: Vec<(&'a str, String)>,
    totals: Option<TotalsView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
    meets_expectations: Option<bool>,
    best: bool,
}

fn in_order<S: Serializer>(set: &[(&str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(set.iter().map(|(path, value)| (path, value)))
}
