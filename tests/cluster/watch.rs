//! What the program says of the HPAs of a namespace, next to what their controller writes. Both change at any time,
//! so a status is compared with what the program said shortly before and after it was written, with the same
//! values of metrics and the same replicas. `tests/live` checks this comparison against the test API server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// kubectl and the program, with this kubeconfig or the environment's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tools {
    pub(crate) kubeconfig: Option<PathBuf>,
}

impl Tools {
    fn run(&self, mut command: Command, arguments: &[&str], input: &str) -> Output {
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(path) = &self.kubeconfig {
            command.env("KUBECONFIG", path);
        }
        let mut child = command.spawn().expect("it runs");
        let mut stdin = child.stdin.take().expect("its input");
        std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("it reads");
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }

    /// Runs kubectl; its output, or what it says instead.
    pub(crate) fn kubectl(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new("kubectl");
        // A server on the port of an earlier one is another.
        if let Some(directory) = self.kubeconfig.as_ref().and_then(|path| path.parent()) {
            command.arg("--cache-dir").arg(directory.join("cache"));
        }
        let output = self.run(command, arguments, input);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    /// Runs kubectl, which must succeed.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--output=json"]].concat();
        let text = self
            .kubectl(&arguments, "")
            .unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
        serde_json::from_str(&text).expect("JSON")
    }

    /// Runs the program; its exit code and both of its outputs.
    pub(crate) fn program(&self, arguments: &[&str]) -> (i32, String, String) {
        let command = Command::new(env!("CARGO_BIN_EXE_kubectl-hpa"));
        let output = self.run(command, arguments, "");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code().unwrap_or(-1),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}

/// How long before and after a new status the program may have said the same.
const BEFORE: Duration = Duration::from_secs(20);
const AFTER: Duration = Duration::from_secs(10);

/// A status that stands longer than this has been confirmed by two passes.
const STANDING: Duration = Duration::from_secs(40);

/// The next pass comes within a sync period: a status that is seen within it belongs to that pass.
const SYNC: Duration = Duration::from_secs(15);

/// Its status is seen by a look soon after.
const SEEN: Duration = Duration::from_secs(18);

/// What the program said of an HPA at a time.
#[derive(Debug)]
struct Said {
    /// When the program was started; a pass may have run since.
    asked: Duration,
    at: Duration,
    /// The pods that had metrics shortly before.
    measured: BTreeSet<String>,
    outcome: Value,
    certain: bool,
    range: Value,
}

/// A status, as the look saw it that saw it first.
#[derive(Debug)]
struct Written {
    at: Duration,
    /// The pods that had metrics by then.
    measured: BTreeSet<String>,
    status: Value,
}

/// What is known about an HPA.
#[derive(Debug, Default)]
struct Hpa {
    said: Vec<Said>,
    statuses: Vec<Written>,
}

/// How a status compares with what the program said.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// They are equal, word for word. These are the events that belong to it.
    Same(Vec<Value>),
    /// The program did not know the controller's history, and its range has the result.
    InRange,
    /// The program was not asked when the metrics had these values.
    Unseen,
    /// They differ in this, whenever it was asked.
    Differs(String),
}

/// How the answers about the next pass compare with it: of those whose pass was seen, with the same metrics and
/// replicas.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Answers {
    /// How many answers were compared.
    pub(crate) all: usize,
    /// How many were certain.
    pub(crate) certain: usize,
    /// How many had the replicas of the pass as the most likely ones.
    pub(crate) likeliest: usize,
    /// What was said where the replicas of the pass were outside the range.
    pub(crate) outside: Vec<String>,
}

/// The HPAs of a namespace while they are watched.
pub(crate) struct Watch<'t> {
    tools: &'t Tools,
    namespace: String,
    begun: Instant,
    looked: bool,
    hpas: BTreeMap<String, Hpa>,
    /// The time of the first sample of each pod.
    first_samples: BTreeMap<String, String>,
}

impl<'t> Watch<'t> {
    pub(crate) fn new(tools: &'t Tools, namespace: &str) -> Self {
        let begun = Instant::now();
        Self {
            tools,
            namespace: namespace.to_owned(),
            begun,
            looked: false,
            hpas: BTreeMap::new(),
            first_samples: BTreeMap::new(),
        }
    }

    /// Reads every status before and after it asks the program about every HPA: the program may or may not have seen
    /// one that was written meanwhile.
    pub(crate) fn look(&mut self) {
        let measured = self.see();
        let measured = |name: &str| measured.get(name).cloned().unwrap_or_default();
        let asked = self.begun.elapsed();
        let (_, answers, errors) =
            self.tools
                .program(&["explain", "-n", &self.namespace, "-o", "json"]);
        let mut answers: Value =
            serde_json::from_str(&answers).unwrap_or_else(|_| panic!("{errors}"));
        self.see();
        let at = self.begun.elapsed();
        for mut answer in list(answers.take()) {
            let name = answer["hpa"]["name"].as_str().expect("a name").to_owned();
            let said = Said {
                asked,
                at,
                measured: measured(&name),
                certain: answer["certainty"] == "certain",
                outcome: answer["outcome"].take(),
                range: answer["range"].take(),
            };
            self.hpas.entry(name).or_default().said.push(said);
        }
    }

    /// Reads every status; returns the pods of each HPA that have metrics.
    fn see(&mut self) -> BTreeMap<String, BTreeSet<String>> {
        let measured = self.measured();
        let hpas = list(self.tools.json(&["get", "hpa", "-n", &self.namespace]));
        // What was there already may have been written long ago.
        let at = if self.looked {
            self.begun.elapsed()
        } else {
            Duration::ZERO
        };
        self.looked = true;
        for mut hpa in hpas {
            let status = hpa["status"].take();
            // The API server completes a status that the controller has not written yet.
            if status["conditions"].as_array().is_none_or(Vec::is_empty) {
                continue;
            }
            let name = name(&hpa);
            let measured = measured.get(&name).cloned().unwrap_or_default();
            let statuses = &mut self.hpas.entry(name).or_default().statuses;
            if statuses
                .last()
                .is_none_or(|last| difference("status", &last.status, &status).is_some())
            {
                statuses.push(Written {
                    at,
                    measured,
                    status,
                });
            }
        }
        measured
    }

    /// Returns the pods of each HPA that have metrics; a workload has the label and the name of its HPA. Those that have
    /// a second sample are named again: the controller may not use the first, of a time at which the pod was not ready.
    fn measured(&mut self) -> BTreeMap<String, BTreeSet<String>> {
        let path = format!(
            "/apis/metrics.k8s.io/v1beta1/namespaces/{}/pods",
            self.namespace
        );
        let text = self.tools.kubectl(&["get", "--raw", &path], "");
        let all = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        let mut measured: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for pod in list(all.unwrap_or_default()) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let pods = measured
                .entry(text(&pod["metadata"]["labels"]["app"]))
                .or_default();
            let sampled = text(&pod["timestamp"]);
            let first = self.first_samples.entry(name(&pod));
            if *first.or_insert_with(|| sampled.clone()) != sampled {
                pods.insert(format!("{} again", name(&pod)));
            }
            pods.insert(name(&pod));
        }
        measured
    }

    /// Judges each status that was written while it was watched, and the one that stands at the end.
    pub(crate) fn verdicts(&self) -> BTreeMap<&str, Vec<Verdict>> {
        let now = self.begun.elapsed();
        let judged = self.hpas.iter().map(|(name, hpa)| {
            let new = hpa.statuses.iter().filter(|it| !it.at.is_zero());
            let new =
                new.map(|it| hpa.judge(&it.status, it.at.saturating_sub(BEFORE), it.at + AFTER));
            let last = hpa
                .statuses
                .last()
                .filter(|it| now.saturating_sub(it.at) > STANDING);
            let last = last.map(|it| hpa.judge(&it.status, now.saturating_sub(BEFORE), now));
            (name.as_str(), new.chain(last).collect())
        });
        judged.collect()
    }
}

impl Watch<'_> {
    /// Judges each answer by the pass that followed, whether or not that wrote a status of its own.
    pub(crate) fn answers(&self) -> BTreeMap<&str, Answers> {
        let end = self.begun.elapsed();
        self.hpas
            .iter()
            .map(|(name, hpa)| (name.as_str(), hpa.answers(end)))
            .collect()
    }
}

impl Said {
    /// Whether a status has the metrics and the replicas of the answer.
    fn fits(&self, status: &Value) -> bool {
        let is = &self.outcome["status"];
        ["currentMetrics", "currentReplicas"]
            .iter()
            .all(|field| difference(field, &is[field], &status[field]).is_none())
    }
}

impl Hpa {
    fn answers(&self, end: Duration) -> Answers {
        let mut answers = Answers::default();
        for said in self.said.iter().filter(|said| said.at + SEEN <= end) {
            let after = self.after(said);
            let replicas = |status: &Value| status["desiredReplicas"].as_i64();
            let (Some(first), Some(likeliest)) = (after.first(), replicas(&said.outcome["status"]))
            else {
                continue;
            };
            answers.all += 1;
            answers.certain += usize::from(said.certain);
            let is = |want: i64| after.iter().any(|status| replicas(status) == Some(want));
            answers.likeliest += usize::from(is(likeliest));
            let bound = |end: &str| said.range[end].as_i64().unwrap_or(likeliest);
            let (min, max) = (bound("min"), bound("max"));
            // A pass without a decision keeps the desired replicas of the status, whatever the target has.
            if !is(likeliest) && !(min..=max).any(is) {
                let (at, got) = (said.at, &first["desiredReplicas"]);
                answers
                    .outside
                    .push(format!("after {at:.0?}: said {min} to {max}, then {got}"));
            }
        }
        answers
    }

    /// Returns the statuses of the pass after an answer, with the same metrics, of no more pods, and replicas: those
    /// that are new within a sync period of the question, or the one that stood before and is not replaced by it. One
    /// that is seen later may belong to the pass after the next, and one that was written between the question and the
    /// answer to the pass before: nothing is compared then.
    fn after(&self, said: &Said) -> Vec<&Value> {
        let until = |end: Duration| self.statuses.iter().filter(move |it| it.at <= end);
        if until(said.at).any(|it| it.at > said.asked) {
            return Vec::new();
        }
        let new = until(said.asked + SYNC).filter(|it| it.at > said.at && said.fits(&it.status));
        let new: Vec<&Written> = new.collect();
        if !new.is_empty() {
            let same = new
                .iter()
                .filter(|it| it.measured.is_subset(&said.measured));
            return same.map(|it| &it.status).collect();
        }
        let later = self.said.iter().skip_while(|it| it.at <= said.at);
        let mut later = later.take_while(|it| it.at <= said.at + SEEN);
        if later.any(|it| !it.measured.is_subset(&said.measured)) {
            return Vec::new();
        }
        let standing = until(said.at + SEEN).next_back();
        let standing = standing.filter(|it| it.at <= said.at && said.fits(&it.status));
        standing.into_iter().map(|it| &it.status).collect()
    }

    fn judge(&self, status: &Value, from: Duration, to: Duration) -> Verdict {
        let said = self.said.iter().filter(|it| (from..=to).contains(&it.at));
        let mut verdict = Verdict::Unseen;
        for said in said.filter(|it| it.fits(status)) {
            let Some(difference) = difference("status", &said.outcome["status"], status) else {
                let events = said.outcome["events"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                return Verdict::Same(events);
            };
            let desired = status["desiredReplicas"].as_i64();
            let bound = |end: &str| said.range[end].as_i64();
            if !said.certain && bound("min") <= desired && desired <= bound("max") {
                verdict = Verdict::InRange;
            } else if verdict == Verdict::Unseen {
                verdict = Verdict::Differs(difference);
            }
        }
        verdict
    }
}

fn list(mut value: Value) -> Vec<Value> {
    match value["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

fn name(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .expect("a name")
        .to_owned()
}

/// Returns where two values differ. Absent, null and empty are equal, and times are ignored: those of the program
/// are the time at which it was asked.
fn difference(path: &str, said: &Value, written: &Value) -> Option<String> {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    match (said, written) {
        (a, b) if is_empty(a) && is_empty(b) => None,
        (Value::Object(a), Value::Object(b)) => a
            .keys()
            .chain(b.keys())
            .filter(|key| !key.ends_with("Time"))
            .find_map(|key| difference(&format!("{path}.{key}"), &said[key], &written[key])),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(place, (said, written))| {
                difference(&format!("{path}[{place}]"), said, written)
            }),
        _ => (said != written).then(|| format!("{path}: said {said}, written {written}")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{Answers, Hpa, Said, Written};

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn status(usage: i64, replicas: i64) -> Value {
        json!({"currentMetrics": [usage], "currentReplicas": 4, "desiredReplicas": replicas})
    }

    /// Pods that have metrics.
    fn pods(count: i64) -> BTreeSet<String> {
        (0..count).map(|pod| pod.to_string()).collect()
    }

    /// An answer at second 100 for a usage of 7 of as many pods, and statuses that are new at these seconds, with the
    /// usage and the replicas.
    fn hpa(said: i64, range: [i64; 2], statuses: &[(u64, i64, i64)]) -> Hpa {
        let said = Said {
            asked: seconds(97),
            at: seconds(100),
            measured: pods(7),
            outcome: json!({"status": status(7, said)}),
            certain: range[0] == range[1],
            range: json!({"min": range[0], "max": range[1]}),
        };
        let written = |&(at, usage, replicas): &(u64, i64, i64)| Written {
            at: seconds(at),
            measured: pods(7),
            status: status(usage, replicas),
        };
        Hpa {
            said: vec![said],
            statuses: statuses.iter().map(written).collect(),
        }
    }

    #[test]
    fn an_answer_is_judged_by_the_pass_that_follows() {
        // What was said, its range, the statuses; whether it was compared, likeliest, and inside.
        for (said, range, statuses, want) in [
            (4, [4, 4], &[(50, 7, 4)][..], Some([true, true])),
            (3, [3, 3], &[(50, 7, 4)], Some([false, false])),
            (3, [3, 4], &[(50, 7, 4)], Some([false, true])),
            (3, [3, 3], &[(50, 7, 4), (110, 7, 3)], Some([true, true])),
            (4, [4, 4], &[(50, 7, 4), (110, 7, 3)], Some([false, false])),
            // Without a decision, the status may say what the target does not have.
            (0, [4, 4], &[(50, 7, 0)], Some([true, true])),
            (0, [4, 4], &[(50, 7, 0), (110, 7, 3)], Some([false, false])),
            // Another usage than at the pass says nothing, nor does a pass that may be the second or was not seen.
            (4, [4, 4], &[(50, 7, 4), (110, 8, 3)], None),
            (4, [4, 4], &[(50, 7, 4), (117, 7, 3)], None),
            (4, [4, 4], &[(50, 7, 4), (113, 7, 3)], None),
            // Nor one that ran while the program did.
            (4, [4, 4], &[(50, 7, 4), (98, 7, 3)], None),
            (4, [4, 4], &[(130, 7, 4)], None),
        ] {
            let got = hpa(said, range, statuses).answers(seconds(200));
            let of = |got: &Answers| [got.likeliest == 1, got.outside.is_empty()];
            assert_eq!(
                (got.all == 1).then(|| of(&got)),
                want,
                "{said} {statuses:?}"
            );
            assert_eq!(
                got.certain,
                usize::from(got.all == 1 && range[0] == range[1])
            );
        }

        // Neither does a pass that more pods had metrics for.
        let mut hpa = hpa(4, [4, 4], &[(50, 7, 4), (110, 7, 3)]);
        hpa.statuses[1].measured = pods(8);
        assert_eq!(hpa.answers(seconds(200)), Answers::default());
    }
}
