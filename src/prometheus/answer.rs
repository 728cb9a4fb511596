//! What Prometheus answers to `query` and `query_range`: series of samples, or what it says is wrong. If a value
//! is not a number (NaN, an infinity, a stale marker), the sample is missing: neither 0 nor the one before. Follows
//! `web/api/v1` of Prometheus, whose format Thanos, Mimir and VictoriaMetrics share.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An answer with success.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The series; a scalar is one without labels.
    pub series: Vec<Series>,
    /// What the server warns of.
    pub warnings: Vec<String>,
}

/// Samples of one series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Times in milliseconds since 1970, ascending, each with a finite value.
    pub points: Vec<(i64, f64)>,
}

/// There is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The server says what is wrong.
    #[error("{}", [&**sort, &**text].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(": "))]
    Said {
        /// `errorType`, such as `bad_data`.
        sort: String,
        /// Its words.
        text: String,
    },
    /// It is nothing that Prometheus answers.
    #[error("{0}")]
    Odd(String),
}

#[derive(Deserialize)]
struct Body<'a> {
    status: String,
    #[serde(default, rename = "errorType")]
    error_type: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
    #[serde(default)]
    infos: Option<Vec<String>>,
    /// VictoriaMetrics says so when a part of its storage did not answer.
    #[serde(default, rename = "isPartial")]
    is_partial: bool,
    #[serde(default, borrow)]
    data: Option<Data<'a>>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(rename = "resultType")]
    result_type: String,
    #[serde(borrow)]
    result: &'a RawValue,
}

#[derive(Deserialize)]
struct Element {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<Sample>,
    #[serde(default)]
    value: Option<Sample>,
}

/// `[1795240800.5, "0.25"]`.
struct Sample(i64, f64);

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let (seconds, text) = <(f64, std::borrow::Cow<'_, str>)>::deserialize(deserializer)?;
        let millis = (seconds * 1000.0).round();
        if millis.is_nan() || millis.abs() >= 1e15 {
            return Err(D::Error::custom(format_args!("{seconds} is not a time")));
        }
        let value = match &*text {
            "NaN" | "+Inf" | "Inf" | "-Inf" => f64::NAN,
            text => text
                .parse()
                .map_err(|_| D::Error::custom(format_args!("{text:?} is not a value")))?,
        };
        Ok(Self(millis as i64, value))
    }
}

/// Reads a body.
///
/// # Errors
///
/// The server says that something is wrong, or it is no such server.
pub fn read(body: &[u8]) -> Result<Answer, Fault> {
    let odd = |e: serde_json::Error| Fault::Odd(e.to_string());
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Fault::Odd("it is not a JSON object".to_owned()));
    }
    let Body { status, error_type, error, warnings, infos, is_partial, data } =
        serde_json::from_slice(body).map_err(odd)?;
    if status == "error" {
        let sort = error_type.unwrap_or_default();
        let mut text = error.unwrap_or_default();
        if sort.is_empty() && text.is_empty() {
            "an error without words".clone_into(&mut text);
        }
        return Err(Fault::Said { sort, text });
    }
    let Some(Data { result_type, result }) = data.filter(|_| status == "success") else {
        return Err(Fault::Odd(format!("the status is {status:?}, without data")));
    };
    let elements: Vec<Element> = match &*result_type {
        "matrix" | "vector" => serde_json::from_str(result.get()).map_err(odd)?,
        "scalar" => {
            let value = serde_json::from_str(result.get()).map_err(odd)?;
            vec![Element { metric: BTreeMap::new(), values: Vec::new(), value: Some(value) }]
        }
        other => return Err(Fault::Odd(format!("the result is a {other}"))),
    };
    let mut series = Vec::with_capacity(elements.len());
    for Element { metric: labels, values, value } in elements {
        let samples = values.into_iter().chain(value).map(|Sample(time, value)| (time, value));
        let points: Vec<(i64, f64)> = samples.collect();
        if points.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(Fault::Odd("the samples are not in the order of time".to_owned()));
        }
        let points = points.into_iter().filter(|(_, value)| value.is_finite()).collect();
        series.push(Series { labels, points });
    }
    let partial = is_partial.then(|| "the answer is partial".to_owned());
    let warnings = warnings.into_iter().chain(infos).flatten().chain(partial).collect();
    Ok(Answer { series, warnings })
}

impl Answer {
    /// The last number of the first series.
    pub fn number(&self) -> Option<f64> {
        self.series.first()?.points.last().map(|(_, value)| *value)
    }

    /// Joins the answer for a later time to this one, series by series.
    pub fn join(&mut self, later: Self) {
        let mut places: BTreeMap<BTreeMap<String, String>, usize> = BTreeMap::new();
        for (place, own) in self.series.iter().enumerate() {
            places.insert(own.labels.clone(), place);
        }
        for Series { labels, points } in later.series {
            match places.get(&labels) {
                Some(place) => self.series[*place].points.extend(points),
                None => self.series.push(Series { labels, points }),
            }
        }
        for warning in later.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Fault, read};

    fn points(answer: &Answer) -> Vec<Vec<(i64, f64)>> {
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
            (r#"{"resultType":"scalar","result":[1,"3"]}"#, vec![vec![(1000, 3.0)]]),
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
        let Err(Fault::Said { sort, text }) = read(body) else { panic!("an answer") };
        assert_eq!(sort, "execution");
        assert!(text.contains("too many samples"));
        let body =
            br#"{"status":"success","warnings":["a store is down"],"infos":["not a counter"],
            "data":{"resultType":"vector","result":[]}}"#;
        assert_eq!(read(body).unwrap().warnings, ["a store is down", "not a counter"]);
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
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"values":[[2,"1"],[1,"1"]]}]}}"#,
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1,"1"],[1,"1"]]}]}}"#,
        ] {
            assert!(matches!(read(body.as_bytes()), Err(Fault::Odd(_))), "{body}");
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
        let mut first = read(body("a", 1).as_bytes()).unwrap();
        first.join(read(body("b", 2).as_bytes()).unwrap());
        first.join(read(body("a", 3).as_bytes()).unwrap());
        assert_eq!(points(&first), [vec![(1000, 1.0), (3000, 1.0)], vec![(2000, 1.0)]]);
        assert_eq!(first.warnings, ["w"]);
    }
}
