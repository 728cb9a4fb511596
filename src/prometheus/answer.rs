//! The answers of Prometheus to `query` and `query_range`: series of samples, or an error. If a value is
//! not a number (NaN, an infinity, a stale marker), the sample is missing: neither 0 nor the previous
//! value. Follows `web/api/v1` of Prometheus, whose format Thanos, Mimir and VictoriaMetrics share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::apimachinery::json::{self, BorrowedText, boundary, expecting, read_str};
use crate::apimachinery::selector::Labels;

/// A successful answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryAnswer {
    /// The series; a scalar is a series without labels.
    pub series: Vec<Series>,
    /// The server's warnings.
    pub warnings: Vec<String>,
}

/// Samples of one series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// The labels of the series.
    pub labels: Labels,
    /// Times in milliseconds since 1970, ascending, each with a finite value.
    pub points: Vec<(i64, f64)>,
}

impl Series {
    /// Returns the times of the first and the last sample.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        Some((self.points.first()?.0, self.points.last()?.0))
    }
}

/// The memory that all answers to one query may take: a few bytes of text become a series of hundreds, so
/// the length of an answer does not limit it.
#[derive(Debug)]
pub struct AnswerMemory(AtomicUsize);

impl AnswerMemory {
    /// The maximum memory: 16 million samples, or 80,000 series with a dozen labels and 50 samples each.
    const MOST: usize = 256 << 20;
    /// The memory of a series, including the pod and the container that it may describe.
    const SERIES: usize = 1 << 10;
    /// The memory of a label, without its texts.
    const LABEL: usize = 64;
    /// The memory of a sample.
    const SAMPLE: usize = size_of::<(i64, f64)>();
    /// The memory that is counted for a warning, because each is compared with all others.
    const WARNING: usize = 16 << 10;

    fn of(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    /// Returns the fault in an answer that could not be read.
    fn fault(&self, cause: String) -> QueryFault {
        if self.0.load(Ordering::Relaxed) == 0 {
            QueryFault::TooMuch
        } else {
            QueryFault::Odd(cause)
        }
    }

    fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let left = |left: usize| left.checked_sub(bytes);
        if self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left)
            .is_err()
        {
            self.0.store(0, Ordering::Relaxed);
            return Err(E::custom(QueryFault::TooMuch));
        }
        Ok(())
    }
}

/// The whole memory.
impl Default for AnswerMemory {
    fn default() -> Self {
        Self::of(Self::MOST)
    }
}

/// There is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    /// The server reports an error.
    #[error("{}", [&**sort, &**text].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(": "))]
    Said {
        /// `errorType`, such as `bad_data`.
        sort: String,
        /// The server's words.
        text: String,
    },
    /// The text is not an answer of Prometheus.
    #[error("{0}")]
    Odd(String),
    /// The samples and series do not fit into the memory for all answers.
    #[error("its answers need more than {} MiB of memory", AnswerMemory::MOST >> 20)]
    TooMuch,
}

#[derive(Deserialize)]
struct AnswerBody<'a> {
    status: Start,
    #[serde(default, rename = "errorType")]
    error_type: Option<Start>,
    #[serde(default)]
    error: Option<Start>,
    #[serde(default, borrow)]
    warnings: Option<&'a RawValue>,
    #[serde(default, borrow)]
    infos: Option<&'a RawValue>,
    /// Whether a part of the storage did not answer, as VictoriaMetrics reports.
    #[serde(default, rename = "isPartial")]
    is_partial: bool,
    #[serde(default, borrow)]
    data: Option<Data<'a>>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(rename = "resultType")]
    result_type: Start,
    #[serde(borrow)]
    result: &'a RawValue,
}

/// `[1795240800.5, "0.25"]`.
struct RawSample(i64, f64);

impl RawSample {
    /// Returns the time and value of the sample; `None` if the value is not a number.
    fn point(self) -> Option<(i64, f64)> {
        self.1.is_finite().then_some((self.0, self.1))
    }
}

impl<'de> Deserialize<'de> for RawSample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (seconds, text) = <(f64, BorrowedText<'de>)>::deserialize(deserializer)?;
        let millis = (seconds * 1000.0).round();
        if millis.is_nan() || millis.abs() >= 1e15 {
            return Err(D::Error::custom("the time of a sample is out of range"));
        }
        let value = match &*text {
            "NaN" | "+Inf" | "Inf" | "-Inf" => f64::NAN,
            text => text
                .parse()
                .map_err(|_| D::Error::custom("the value of a sample is not a number"))?,
        };
        Ok(Self(millis as i64, value))
    }
}

/// A part of an answer that is read into the memory for all answers: each kind of part has its own type.
macro_rules! read_into_room {
    ($part:ident, $value:ty, $method:ident) => {
        struct $part<'r>(&'r AnswerMemory);

        impl<'de> DeserializeSeed<'de> for $part<'_> {
            type Value = $value;

            fn deserialize<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<$value, D::Error> {
                deserializer.$method(self)
            }
        }
    };
}

read_into_room!(ReadMatrix, Vec<Series>, deserialize_seq);
read_into_room!(ReadSeries, Series, deserialize_map);
read_into_room!(ReadLabels, Labels, deserialize_map);
read_into_room!(ReadSamples, Vec<(i64, f64)>, deserialize_seq);
read_into_room!(ReadWarnings, Vec<String>, deserialize_seq);

impl<'de> Visitor<'de> for ReadMatrix<'_> {
    type Value = Vec<Series>;

    expecting!("a list of series");

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Series>, A::Error> {
        let mut all = Vec::new();
        while let Some(series) = seq.next_element_seed(ReadSeries(self.0))? {
            self.0.take(AnswerMemory::SERIES)?;
            all.push(series);
        }
        Ok(all)
    }
}

impl<'de> Visitor<'de> for ReadSeries<'_> {
    type Value = Series;

    expecting!("a series");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Series, A::Error> {
        let mut series = Series::default();
        while let Some(BorrowedText(key)) = map.next_key()? {
            match &*key {
                "metric" => series.labels = map.next_value_seed(ReadLabels(self.0))?,
                "values" => series.points = map.next_value_seed(ReadSamples(self.0))?,
                "value" => {
                    series.points = map.next_value::<RawSample>()?.point().into_iter().collect();
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(series)
    }
}

impl<'de> Visitor<'de> for ReadLabels<'_> {
    type Value = Labels;

    expecting!("labels");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
        let mut labels: Vec<(Box<str>, Box<str>)> = Vec::new();
        while let Some((BorrowedText(name), BorrowedText(value))) = map.next_entry()? {
            self.0
                .take(AnswerMemory::LABEL + name.len() + value.len())?;
            labels.push((name.into(), value.into()));
        }
        Ok(labels.into_iter().collect())
    }
}

impl<'de> Visitor<'de> for ReadSamples<'_> {
    type Value = Vec<(i64, f64)>;

    expecting!("a list of samples");

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<(i64, f64)>, A::Error> {
        let (mut points, mut last) = (Vec::new(), i64::MIN);
        while let Some(RawSample(time, value)) = seq.next_element()? {
            if time <= last {
                return Err(A::Error::custom("the samples are not in the order of time"));
            }
            last = time;
            if value.is_finite() {
                self.0.take(AnswerMemory::SAMPLE)?;
                points.push((time, value));
            }
        }
        points.shrink_to_fit();
        Ok(points)
    }
}

/// The maximum length of a server's text that is kept.
const LONGEST_TEXT: usize = 8 << 10;

impl<'de> Visitor<'de> for ReadWarnings<'_> {
    type Value = Vec<String>;

    expecting!("a list of texts");

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<String>, A::Error> {
        let mut warnings = Vec::new();
        while let Some(BorrowedText(warning)) = seq.next_element()? {
            self.0.take(AnswerMemory::WARNING)?;
            warnings.push(warning[..boundary(&warning, LONGEST_TEXT)].to_owned());
        }
        Ok(warnings)
    }

    fn visit_unit<E>(self) -> Result<Vec<String>, E> {
        Ok(Vec::new())
    }
}

/// The start of a text; the rest is discarded.
#[derive(Default)]
struct Start(String);

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_str(deserializer, "a string", |text| {
            Ok(Self(text[..boundary(text, LONGEST_TEXT)].to_owned()))
        })
    }
}

/// Reads a body into the memory for all answers.
///
/// # Errors
///
/// The server reports an error, it is not such a server, or the memory is used up.
pub fn read(body: &[u8], room: &AnswerMemory) -> Result<QueryAnswer, QueryFault> {
    let odd = |cause: String| room.fault(cause);
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(QueryFault::Odd("it is not a JSON object".to_owned()));
    }
    let text = json::text(body).map_err(QueryFault::Odd)?;
    let AnswerBody {
        status,
        error_type,
        error,
        warnings,
        infos,
        is_partial,
        data,
    } = json::read_strictly(&text).map_err(odd)?;
    if status.0 == "error" {
        let sort = error_type.unwrap_or_default().0;
        let mut text = error.unwrap_or_default().0;
        if sort.is_empty() && text.is_empty() {
            "an error without words".clone_into(&mut text);
        }
        return Err(QueryFault::Said { sort, text });
    }
    let Some(Data {
        result_type,
        result,
    }) = data.filter(|_| status.0 == "success")
    else {
        return Err(QueryFault::Odd(format!(
            "the status is {:?}, without data",
            status.0
        )));
    };
    let series = match &*result_type.0 {
        "matrix" | "vector" => json::read_seed(ReadMatrix(room), result.get()).map_err(odd)?,
        "scalar" => {
            let sample: RawSample = json::read_strictly(result.get()).map_err(odd)?;
            let points = sample.point().into_iter().collect();
            vec![Series {
                labels: Labels::default(),
                points,
            }]
        }
        other => return Err(QueryFault::Odd(format!("the result is a {other}"))),
    };
    let mut all_warnings = Vec::new();
    for texts in warnings.into_iter().chain(infos) {
        all_warnings.extend(json::read_seed(ReadWarnings(room), texts.get()).map_err(odd)?);
    }
    all_warnings.extend(is_partial.then(|| "the answer is partial".to_owned()));
    Ok(QueryAnswer {
        series,
        warnings: all_warnings,
    })
}

impl QueryAnswer {
    /// Returns the last value of the first series.
    pub fn number(&self) -> Option<f64> {
        self.series.first()?.points.last().map(|(_, value)| *value)
    }

    /// Joins answers for consecutive times, series by series.
    pub fn joined(pieces: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self::default();
        let mut places: HashMap<Labels, usize> = HashMap::new();
        for Self { series, warnings } in pieces {
            for Series { labels, points } in series {
                match places.get(&labels) {
                    Some(place) => whole.series[*place].points.extend(points),
                    None => {
                        places.insert(labels.clone(), whole.series.len());
                        whole.series.push(Series { labels, points });
                    }
                }
            }
            for warning in warnings {
                if !whole.warnings.contains(&warning) {
                    whole.warnings.push(warning);
                }
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerMemory, QueryAnswer, QueryFault};

    fn read(body: &[u8]) -> Result<QueryAnswer, QueryFault> {
        super::read(body, &AnswerMemory::default())
    }

    fn points(answer: &QueryAnswer) -> Vec<Vec<(i64, f64)>> {
        answer.series.iter().map(|own| own.points.clone()).collect()
    }

    #[test]
    fn every_kind_of_result_is_read() {
        for (data, want) in [
            (
                r#"{"resultType":"matrix","result":[{"metric":{"pod":"a"},"values":[[1,"2"],[1.5,"1e-3"]]}]}"#,
                vec![vec![(1000, 2.0), (1500, 0.001)]],
            ),
            (
                r#"{"result":[{"metric":{},"value":[1795240800.123,"7"]}],"resultType":"vector"}"#,
                vec![vec![(1_795_240_800_123, 7.0)]],
            ),
            (
                r#"{"resultType":"scalar","result":[1,"3"]}"#,
                vec![vec![(1000, 3.0)]],
            ),
            (r#"{"resultType":"matrix","result":[]}"#, vec![]),
        ] {
            let body = format!(r#"{{"status":"success","data":{data}}}"#);
            assert_eq!(points(&read(body.as_bytes()).unwrap()), want, "{data}");
        }
    }

    #[test]
    fn what_is_no_number_is_no_sample() {
        // A stale marker is a NaN, too.
        let body = br#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},
            "values":[[1,"1"],[2,"NaN"],[3,"+Inf"],[4,"-Inf"],[5,"0"]]}]}}"#;
        assert_eq!(points(&read(body).unwrap()), [[(1000, 1.0), (5000, 0.0)]]);
    }

    #[test]
    fn what_the_server_says_is_kept() {
        let body = br#"{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}"#;
        let Err(QueryFault::Said { sort, text }) = read(body) else {
            panic!("an answer")
        };
        assert_eq!(sort, "execution");
        assert!(text.contains("too many samples"));
        let body =
            br#"{"status":"success","warnings":["a store is down"],"infos":["not a counter"],
            "data":{"resultType":"vector","result":[]}}"#;
        assert_eq!(
            read(body).unwrap().warnings,
            ["a store is down", "not a counter"]
        );
    }

    #[test]
    fn anything_else_is_odd() {
        for body in [
            "",
            "<html>sign in</html>",
            "[]",
            "{}",
            r#"{"status":"success"}"#,
            r#"{"status":"success","data":{"resultType":"streams","result":[]}}"#,
            r#"{"status":"success","data":{"resultType":"matrix","result":{}}}"#,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"value":[1e300,"1"]}]}}"#,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"one"]}]}}"#,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"value":[1,2]}]}}"#,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"value":[null,"1"]}]}}"#,
            r#"{"status":"success","data":{"resultType":"scalar","result":[null,"1"]}}"#,
            r#"{"status":null,"data":{"resultType":"scalar","result":[1,"1"]}}"#,
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"values":[[2,"1"],[1,"1"]]}]}}"#,
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1,"1"],[1,"1"]]}]}}"#,
        ] {
            assert!(
                matches!(read(body.as_bytes()), Err(QueryFault::Odd(_))),
                "{body}"
            );
        }
    }

    #[test]
    fn answers_for_one_day_after_the_other_are_one() {
        let body = |pod: &str, time: u32| {
            format!(
                r#"{{"status":"success","warnings":["w"],"data":{{"resultType":"matrix","result":[
                {{"metric":{{"pod":"{pod}"}},"values":[[{time},"1"]]}}]}}}}"#
            )
        };
        let pieces = [body("a", 1), body("b", 2), body("a", 3)];
        let first = QueryAnswer::joined(pieces.iter().map(|body| read(body.as_bytes()).unwrap()));
        assert_eq!(
            points(&first),
            [vec![(1000, 1.0), (3000, 1.0)], vec![(2000, 1.0)]]
        );
        assert_eq!(first.warnings, ["w"]);
    }

    #[test]
    fn all_answers_together_have_a_limit() {
        let matrix = |result: &str| {
            format!(
                r#"{{"status":"success","data":{{"resultType":"matrix","result":[{result}]}}}}"#
            )
        };
        let samples = |count: usize| {
            let all: Vec<String> = (0..count).map(|at| format!("[{at},\"1\"]")).collect();
            matrix(&format!(
                r#"{{"metric":{{}},"values":[{}]}}"#,
                all.join(",")
            ))
        };
        let series = |count: usize, metric: &str| {
            matrix(&vec![format!(r#"{{"metric":{metric},"values":[]}}"#); count].join(","))
        };
        let label = format!(r#"{{"a":"{}"}}"#, "b".repeat(1 << 20));
        let labels: Vec<String> = (0..800).map(|at| format!(r#""{at}":"""#)).collect();
        let labels = format!("{{{}}}", labels.join(","));
        let warned = vec!["\"w\""; 16].join(",");
        let warned = format!(
            r#"{{"status":"success","warnings":[{warned}],"data":{{"resultType":"vector","result":[]}}}}"#
        );
        // Each fits by itself, many times over.
        for (body, fits) in [
            (samples(15_000), 17),
            (series(800, "{}"), 5),
            (series(1, &label), 3),
            (series(10, &labels), 7),
            (warned, 16),
        ] {
            let room = AnswerMemory::of(4 << 20);
            for time in 0..fits {
                assert!(
                    super::read(body.as_bytes(), &room).is_ok(),
                    "{} {time}",
                    &body[..90]
                );
            }
            let e = super::read(body.as_bytes(), &room).unwrap_err();
            assert_eq!(e, QueryFault::TooMuch, "{}", &body[..90]);
            assert_eq!(
                e.to_string(),
                "its answers need more than 256 MiB of memory"
            );
        }
    }

    #[test]
    fn a_label_that_is_stated_twice_counts_once() {
        let labels = r#"{"b":"1","a":"2","b":"3"}"#;
        let body = format!(
            r#"{{"status":"success","data":{{"resultType":"vector","result":[{{"metric":{labels},"value":[1,"1"]}}]}}}}"#
        );
        let answer = read(body.as_bytes()).unwrap();
        let labels: Vec<_> = answer.series[0].labels.iter().collect();
        assert_eq!(labels, [("a", "2"), ("b", "3")]);
        assert_eq!(answer.series[0].labels.get("b"), Some("3"));
        assert_eq!(answer.series[0].labels.get("c"), None);
    }

    #[test]
    fn texts_of_a_server_are_cut_off() {
        let long = "é".repeat(100_000);
        let body = format!(r#"{{"status":"error","errorType":"x","error":"{long}"}}"#);
        let Err(QueryFault::Said { text, .. }) = read(body.as_bytes()) else {
            panic!("an answer")
        };
        assert_eq!(text.len(), 8 << 10);
        let status: super::Start = serde_json::from_str(&format!("\"{long}\"")).unwrap();
        assert_eq!((status.0.len(), status.0.capacity()), (8 << 10, 8 << 10));
    }

    /// Each byte would become three.
    #[test]
    fn invalid_utf8_is_replaced_only_in_short_answers() {
        let answer = |count: usize| {
            let (head, tail) = (br#"{"status":"error","error":""#, br#""}"#);
            read(&[&head[..], &vec![0xff; count], tail].concat())
        };
        let Err(QueryFault::Said { text, .. }) = answer(3) else {
            panic!("an answer")
        };
        assert_eq!(text, "\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(
            answer(1 << 20),
            Err(QueryFault::Odd("invalid UTF-8 after byte 27".to_owned()))
        );
    }

    #[test]
    fn nothing_is_followed_to_any_depth() {
        let deep = "[".repeat(1_000_000);
        for body in [
            format!(r#"{{"a":{deep}"#),
            format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":{deep}"#),
            format!(
                r#"{{"status":"success","data":{{"resultType":"matrix","result":[{{"x":{deep}"#
            ),
        ] {
            assert!(matches!(read(body.as_bytes()), Err(QueryFault::Odd(_))));
        }
    }
}
