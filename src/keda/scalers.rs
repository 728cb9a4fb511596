//! The scalers of KEDA 2.20.2: the name that each gives its metric, and the field of a trigger's metadata that is
//! the target. Most are only a line in `scalers.txt`; the rules for the others follow their files in `pkg/scalers`.
//! The sources of a field are in `keys.txt`, and the required fields in `fields.txt`. The contents of a
//! TriggerAuthentication or of the environment of a container are not known here.

use super::Refused;
use super::cron::is_schedule;
use super::external::without_index;
use super::metadata::{Gap, KnownField, TriggerMetadata};
use super::url::{UrlPath, first_parameter, query_escaped};
use crate::apimachinery::quantity::{Amount, Format, ParseError, Quantity};
use crate::apimachinery::similar::nearest;
use crate::snapshot::hpa::MetricSpec;

/// The table of scalers, which begins with the meaning of its columns.
const SCALERS: &str = include_str!("scalers.txt");

/// A line of the table: the rules by which a type of triggers becomes metrics.
pub(super) struct Scaler {
    type_: &'static str,
    name: &'static str,
    target: &'static str,
    /// The type of the target, if the trigger cannot change it.
    pub(super) only: Option<&'static str>,
}

/// A field and its value or default.
type Field<'t> = (&'static str, &'t str);

/// Returns the scaler of a type; on failure, the type that may be meant.
pub(super) fn scaler(type_: &str) -> Result<Scaler, Option<&'static str>> {
    let mut scalers = SCALERS.lines().filter_map(Scaler::read);
    let known = scalers.clone().map(|scaler| scaler.type_);
    scalers
        .find(|scaler| scaler.type_ == type_)
        .ok_or_else(|| nearest(type_, known.chain(["cpu", "memory"])))
}

/// Whether a metric belongs to a `cron` trigger: its value is the number of replicas that a schedule asks for.
pub(crate) fn is_cron(spec: &MetricSpec) -> bool {
    Scaler::of(spec).is_some_and(|it| it.type_ == "cron")
}

/// Whether KEDA lets a metric have a target: the targets of some triggers are always the same,
/// and those of others are whole numbers.
pub(crate) fn may_have(spec: &MetricSpec, target: &Quantity) -> bool {
    let notation = Scaler::of(spec).map(|it| it.target.split_once(':').unwrap_or((it.target, "")));
    match notation {
        None | Some(("milli" | "*", _)) => true,
        Some(("whole", _)) => target.milli_value() % 1000 == 0,
        Some(_) => false,
    }
}

impl Scaler {
    /// Returns the scaler of a trigger's metric, by the beginning of the metric's name.
    fn of(spec: &MetricSpec) -> Option<Self> {
        let (name, _) = without_index(spec)?;
        let scalers = SCALERS.lines().filter_map(Scaler::read);
        scalers
            .filter(|it| !it.start().is_empty() && name.starts_with(it.start()))
            .max_by_key(|it| it.start().len())
    }

    /// Returns the beginning of its metrics' names, before any field.
    fn start(&self) -> &'static str {
        self.name.split(['*', '{']).next().unwrap_or_default()
    }

    /// Returns the scaler in a line, unless it is a comment.
    fn read(line: &'static str) -> Option<Self> {
        let mut columns = line.split_whitespace();
        Some(Self {
            type_: columns.next().filter(|type_| *type_ != "#")?,
            name: columns.next()?,
            target: columns.next()?,
            only: columns.next(),
        })
    }

    /// Returns the name of the metric of a trigger; of `kubernetes-workload`, the part before the namespace.
    pub(super) fn name(&self, metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
        let by_rule = match self.type_ {
            "activemq" => activemq(metadata)?,
            "apache-kafka" => apache_kafka(metadata)?,
            "artemis-queue" => artemis(metadata)?,
            "aws-sqs-queue" => aws_sqs(metadata)?,
            "azure-pipelines" => azure_pipelines(metadata)?,
            "azure-servicebus" => azure_servicebus(metadata)?,
            "beanstalkd" => query_escaped(metadata.need("tube")?),
            "couchdb" => couchdb(metadata)?.to_owned(),
            "cron" => cron(metadata)?,
            "datadog" => return datadog(metadata),
            "elasticsearch" | "opensearch" => search(metadata)?.to_owned(),
            // It reads nothing, not even the index.
            "external-mock" => return Ok("mockMetricName".to_owned()),
            "gcp-pubsub" => gcp_pubsub(metadata)?.to_owned(),
            "ibmmq" => ibmmq(metadata)?.to_owned(),
            "influxdb" => influxdb(metadata)?.to_owned(),
            "kafka" => kafka(metadata, ToOwned::to_owned)?,
            "kubernetes-resource" => kubernetes_resource(metadata)?,
            "mysql" => mysql(metadata)?.to_owned(),
            "rabbitmq" => query_escaped(metadata.need("queueName")?),
            "temporal" => temporal(metadata)?,
            _ => return Ok(metadata.with_index(&filled(self.name, metadata)?)),
        };
        Ok(metadata.with_index(&self.name.replace('*', &by_rule)))
    }

    /// Returns the number that is the target.
    pub(super) fn target(
        &self,
        metadata: &TriggerMetadata<'_>,
        uses_modifiers: bool,
    ) -> Result<Quantity, Gap> {
        let Some((notation, field)) = self.target.split_once(':') else {
            return Ok(quantity(self.target.parse().unwrap_or_default()));
        };
        let (name, text) = match self.type_ {
            "rabbitmq" => rabbitmq(metadata)?,
            "redis-streams" | "redis-cluster-streams" | "redis-sentinel-streams" => {
                redis_streams(metadata)?
            }
            _ => stated_or_default(field, metadata, uses_modifiers)?,
        };
        let value = match notation {
            "whole" => quantity(metadata.whole(name, text)?),
            _ => milli(metadata, name, text)?,
        };
        // No metric of an HPA may have such a target; a composite metric replaces it.
        if value.signum() <= 0 && !uses_modifiers {
            let message = format!("{text:?} is no target: the API server takes only more than 0");
            return metadata.reject(name, message);
        }
        Ok(value)
    }
}

/// Returns a template of the table with the values of the fields in it.
fn filled(template: &'static str, metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let mut name = String::new();
    for part in template.split_inclusive('}') {
        let (text, field) = part.split_once('{').unwrap_or((part, ""));
        name.push_str(text);
        let Some(field) = field.strip_suffix('}') else {
            continue;
        };
        match field.strip_prefix('-') {
            None => name.push_str(stated_or_default(field, metadata, true)?.1),
            Some(optional) => {
                if let Some(value) = metadata.known(optional)? {
                    name.push('-');
                    name.push_str(value);
                }
            }
        }
    }
    Ok(name)
}

/// Returns a field, from its names and default in the table.
fn stated_or_default<'t>(
    field: &'static str,
    metadata: &TriggerMetadata<'t>,
    uses_modifiers: bool,
) -> Result<Field<'t>, Gap> {
    let (names, default) = field.split_once('=').unwrap_or((field, ""));
    // A default that cannot be a target means that the field is required.
    let is_required = default.is_empty() || !uses_modifiers && default.starts_with(['0', '-']);
    match metadata.known_field(names)? {
        None if is_required => Err(metadata.missing(names).into()),
        stated => Ok(stated.unwrap_or((names, default))),
    }
}

/// `Validate` in `activemq_scaler.go`.
fn activemq(metadata: &TriggerMetadata<'_>) -> Result<String, Refused> {
    let names = ["destinationName", "brokerName"];
    jolokia(
        metadata,
        "destinationName",
        "restAPITemplate",
        &names,
        |path| Some(path.decoded),
    )
}

/// `Validate` and `getAPIParameters` in `artemis_scaler.go`: the path has to have characters that Go would escape.
fn artemis(metadata: &TriggerMetadata<'_>) -> Result<String, Refused> {
    let names = ["queue", "address", "broker"];
    jolokia(metadata, "queueName", "restApiTemplate", &names, |path| {
        Some(path.raw?.replace("\"\"", ""))
    })
}

/// Returns the name in a field; or in a template, the URL of a request to Jolokia, the first of these properties of a
/// broker, which follow the first colon of the path.
fn jolokia(
    metadata: &TriggerMetadata<'_>,
    field: &str,
    template: &str,
    names: &[&str],
    path: fn(UrlPath<'_>) -> Option<String>,
) -> Result<String, Refused> {
    let Some(url) = metadata.get(template) else {
        return Ok(metadata.need(field)?.to_owned());
    };
    let name = UrlPath::of(url).and_then(path).and_then(|path| {
        let properties = path.split(':').nth(1)?.split('/').next()?;
        first_parameter(&properties.replace(',', "&"), names)
    });
    name.ok_or_else(|| {
        let names = names.join(", ");
        metadata.refused(
            template,
            format!("must be a URL of Jolokia with {names} in its path"),
        )
    })
}

/// `GetMetricSpecForScaling` in `apache_kafka_scaler.go`: all topics of a list.
fn apache_kafka(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    kafka(metadata, |topics| {
        topics
            .split(',')
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(",")
    })
}

/// `GetMetricSpecForScaling` in `kafka_scaler.go`: the consumer group if there is no topic.
fn kafka(metadata: &TriggerMetadata<'_>, topics: fn(&str) -> String) -> Result<String, Gap> {
    match metadata.known("topic")? {
        Some(topic) => Ok(topics(topic)),
        None => Ok(format!("{}-topics", metadata.known_need("consumerGroup")?)),
    }
}

/// `parseAwsSqsQueueMetadata` in `aws_sqs_queue_scaler.go`: the last part of a URL's path, or the unchanged
/// text if `url.ParseRequestURI` does not accept it as a URL.
fn aws_sqs(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let text = metadata.known_need("queueURL")?;
    let Some(path) = UrlPath::of(text) else {
        return Ok(text.to_owned());
    };
    match path.decoded.split('/').collect::<Vec<_>>()[..] {
        [_, _, name] if !name.is_empty() => Ok(name.to_owned()),
        _ => metadata.reject("queueURL", "no queue name in the path of the URL"),
    }
}

/// `parseAzurePipelinesMetadata` in `azure_pipelines_scaler.go`: Azure knows the number of a name.
fn azure_pipelines(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    if metadata.get("poolName").is_some() {
        return Err(Gap::Open(
            "only Azure knows the number of the pool in poolName".to_owned(),
        ));
    }
    let text = metadata.need("poolID")?;
    match text.parse::<i64>() {
        Ok(id) => Ok(id.to_string()),
        Err(_) => metadata.reject("poolID", format!("{text:?} is not a whole number")),
    }
}

/// `Validate` and `GetMetricSpecForScaling` in `azure_servicebus_scaler.go`.
fn azure_servicebus(metadata: &TriggerMetadata<'_>) -> Result<String, Refused> {
    let stated = ["queueName", "topicName", "subscriptionName"].map(|name| metadata.get(name));
    let (type_, name) = match stated {
        [Some(_), Some(_), _] => return metadata.reject("topicName", "queueName is set, too"),
        [Some(_), None, Some(_)] => {
            return metadata.reject("subscriptionName", "needs topicName, not queueName");
        }
        [Some(queue), None, None] => ("queue", queue),
        [None, Some(_), None] => return metadata.reject("subscriptionName", "required"),
        [None, Some(topic), Some(_)] => ("topic", topic),
        [None, None, _] => return metadata.reject("queueName", "required, or topicName"),
    };
    Ok(if metadata.is_true("useRegex") {
        format!("{type_}-regex")
    } else {
        name.to_owned()
    })
}

/// `Validate` and `GetMetricSpecForScaling` in `couchdb_scaler.go`: a connection string can be without the name.
fn couchdb<'t>(metadata: &TriggerMetadata<'t>) -> Result<&'t str, Gap> {
    let KnownField { stated, elsewhere } = metadata.find("connectionString");
    if stated.is_some() || elsewhere.is_some() {
        Ok(metadata.known("dbName")?.unwrap_or_default())
    } else {
        metadata.known_need("dbName")
    }
}

/// `Validate`, `parseCronTimeFormat` and `GetMetricSpecForScaling` in `cron_scaler.go`.
fn cron(metadata: &TriggerMetadata<'_>) -> Result<String, Refused> {
    let (start, end) = (schedule(metadata, "start")?, schedule(metadata, "end")?);
    if start == end {
        return metadata.reject("end", "the same as start");
    }
    let replicas = metadata.need("desiredReplicas")?;
    if !replicas.parse::<i64>().is_ok_and(|replicas| replicas != 0) {
        let message = format!("{replicas:?} is not a whole number other than 0");
        return metadata.reject("desiredReplicas", message);
    }
    let zone = metadata.need("timezone")?;
    Ok(format!("{zone}-{}-{}", plain(start), plain(end)))
}

fn schedule<'t>(metadata: &TriggerMetadata<'t>, name: &'static str) -> Result<&'t str, Refused> {
    let text = metadata.need(name)?;
    if is_schedule(text) {
        Ok(text)
    } else {
        metadata.reject(name, "not a cron schedule")
    }
}

/// `parseCronTimeFormat`.
fn plain(schedule: &str) -> String {
    schedule
        .replace(' ', "")
        .replace('*', "x")
        .replace('/', "Sl")
        .replace('?', "Qm")
        .replace(',', "Cm")
}

/// `Validate`, `validateAPIMetadata` and `validateClusterAgentMetadata` in `datadog_scaler.go`: the name of a metric
/// of the cluster agent has neither index nor normalized characters.
fn datadog(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    // Braces on different lines do not count.
    let is_scoped = metadata.get("query").is_none_or(|query| {
        query
            .split('\n')
            .filter_map(|line| line.split_once('{'))
            .any(|(_, it)| it.contains('}'))
    });
    if !is_scoped {
        return metadata.reject("query", "has no scope in braces, such as {*}");
    }
    if metadata.is_true("useClusterAgentProxy") {
        let namespace = metadata.need("datadogMetricNamespace")?;
        let name = metadata.need("datadogMetricName")?;
        return Ok(format!("datadogmetric@{namespace}:{name}"));
    }
    let query = metadata.need("query")?;
    let before = query.split('{').next().unwrap_or_default();
    Ok(metadata.with_index(&format!("datadog-{before}")))
}

/// `parseElasticsearchMetadata` and `parseOpensearchMetadata`; their `Validate` requires exactly one of the
/// two.
fn search<'t>(metadata: &TriggerMetadata<'t>) -> Result<&'t str, Gap> {
    if metadata.get("query").is_some() && metadata.get("searchTemplateName").is_none() {
        return Ok("query");
    }
    metadata.known_need("searchTemplateName")
}

/// `Validate` and `parsePubSubMetadata` in `gcp_pubsub_scaler.go`.
fn gcp_pubsub<'t>(metadata: &TriggerMetadata<'t>) -> Result<&'t str, Gap> {
    match ["subscriptionName", "topicName"].map(|name| metadata.get(name)) {
        [Some(_), Some(_)] => metadata.reject("topicName", "subscriptionName is set, too"),
        [Some(name), None] | [None, Some(name)] => Ok(name),
        [None, None] => match metadata.known("topicName")? {
            Some(name) => Ok(name),
            None => metadata.known_need("subscriptionName"),
        },
    }
}

/// `GetMetricSpecForScaling` in `ibmmq_scaler.go`: the first of several queues.
fn ibmmq<'t>(metadata: &TriggerMetadata<'t>) -> Result<&'t str, Refused> {
    let queues = metadata.need("queueName;queueNames")?;
    Ok(queues.split(',').next().unwrap_or_default().trim())
}

/// `GetMetricSpecForScaling` in `influxdb_scaler.go`: an `influxVersion` other than 2 or 3, such as several versions,
/// requires no name.
fn influxdb<'t>(metadata: &TriggerMetadata<'t>) -> Result<&'t str, Gap> {
    match metadata.get("influxVersion").unwrap_or("2") {
        "2" => metadata.known_need("organizationName"),
        "3" => metadata.known_need("database"),
        _ => Ok(metadata.known("organizationName")?.unwrap_or_default()),
    }
}

/// `GetMetricSpecForScaling` in `kubernetes_resource_scaler.go`.
fn kubernetes_resource(metadata: &TriggerMetadata<'_>) -> Result<String, Refused> {
    let kind = metadata.need("resourceKind")?.to_lowercase();
    let (name, key) = (metadata.need("resourceName")?, metadata.need("key")?);
    Ok(format!("{kind}-{name}-{key}"))
}

/// `parseMySQLMetadata` in `mysql_scaler.go`: a connection string takes precedence, and it is never in the
/// metadata.
fn mysql<'t>(metadata: &TriggerMetadata<'t>) -> Result<&'t str, Gap> {
    let has_name = metadata.get("dbName").is_some();
    if has_name && metadata.get("connectionStringFromEnv").is_none() {
        metadata.assume_without("connectionString");
    } else {
        metadata.known("connectionString")?;
    }
    Ok(metadata.known("dbName")?.unwrap_or_default())
}

/// `validateTrigger` in `rabbitmq_scaler.go`: a number that is 0 and the mode `Unknown` count as absent.
fn rabbitmq<'t>(metadata: &TriggerMetadata<'t>) -> Result<Field<'t>, Refused> {
    let length = non_zero(metadata, "queueLength")?;
    let value = non_zero(metadata, "value")?;
    let mode = metadata.get("mode").filter(|mode| *mode != "Unknown");
    match (length, mode, value) {
        (None, None, None) => Ok(("value", "20")),
        (Some(length), None, None) => Ok(("queueLength", length)),
        (Some(_), ..) => metadata.reject("queueLength", "mode and value are set, too"),
        (None, None, Some(_)) => metadata.reject("mode", "required with value"),
        (None, Some(_), None) => Err(metadata.missing("value")),
        (None, Some(_), Some(value)) => Ok(("value", value)),
    }
}

fn non_zero<'t>(
    metadata: &TriggerMetadata<'t>,
    name: &'static str,
) -> Result<Option<&'t str>, Refused> {
    let Some(text) = metadata.get(name) else {
        return Ok(None);
    };
    Ok((metadata.number(name, text)? != 0.0).then_some(text))
}

/// `Validate` and `GetMetricSpecForScaling` in `redis_streams_scaler.go`: the field depends on what is
/// counted.
fn redis_streams<'t>(metadata: &TriggerMetadata<'t>) -> Result<Field<'t>, Refused> {
    let lag = metadata
        .get("lagCount")
        .map(|text| metadata.whole("lagCount", text));
    let has_lag = lag.transpose()?.is_some_and(|lag| lag != 0);
    let field = match (metadata.get("consumerGroup"), has_lag) {
        (None, _) => "streamLength",
        (Some(_), true) => "lagCount",
        (Some(_), false) => "pendingEntriesCount",
    };
    Ok((field, metadata.get(field).unwrap_or("5")))
}

/// `GetMetricSpecForScaling` in `solace_scaler.go` and `solace_dm_scaler.go`: returns the names and targets of the
/// metrics, one for each of these fields that is set.
pub(super) fn solace(
    type_: &str,
    metadata: &TriggerMetadata<'_>,
) -> Result<Vec<(String, Quantity)>, Refused> {
    let (start, fields): (_, &[&str]) = match type_ {
        "solace-event-queue" => (
            format!("solace-{}", metadata.need("queueName")?),
            &[
                "messageCountTarget",
                "messageSpoolUsageTarget",
                "messageReceiveRateTarget",
            ],
        ),
        _ => (
            format!("solace-dm-{}", metadata.need("clientNamePattern")?),
            &[
                "aggregatedClientTxByteRateTarget",
                "aggregatedClientAverageTxByteRateTarget",
                "aggregatedClientTxMsgRateTarget",
                "aggregatedClientAverageTxMsgRateTarget",
            ],
        ),
    };
    let mut metrics = Vec::new();
    for &field in fields {
        let Some(text) = metadata.get(field) else {
            continue;
        };
        let (end, factor) = match field {
            "messageCountTarget" => ("msgcount", 1),
            // The spool is given in megabytes.
            "messageSpoolUsageTarget" => ("msgspoolusage", 1024 * 1024),
            "messageReceiveRateTarget" => ("msgrcvrate", 1),
            _ => (field, 1),
        };
        let value = metadata.whole(field, text)?.wrapping_mul(factor);
        if value > 0 {
            let name = metadata.with_index(&format!("{start}-{end}"));
            metrics.push((name, quantity(value)));
        }
    }
    Ok(metrics)
}

/// `GetMetricSpecForScaling` in `temporal_scaler.go`.
fn temporal(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let namespace = metadata.known("namespace")?.unwrap_or("default");
    let name = format!("{namespace}-{}", metadata.known_need("taskQueue")?);
    match (
        metadata.known("workerDeploymentName")?,
        metadata.known("workerDeploymentBuildId")?,
    ) {
        (Some(deployment), Some(build)) => Ok(format!("{name}-{deployment}-{build}")),
        (None, None) => Ok(name),
        _ => metadata.reject(
            "workerDeploymentName",
            "needs workerDeploymentBuildId, and that needs it",
        ),
    }
}

/// Returns a float64 in thousandths, as KEDA states it.
fn milli(metadata: &TriggerMetadata<'_>, name: &str, text: &str) -> Result<Quantity, Refused> {
    match stated(metadata.number(name, text)?) {
        Ok(quantity) => Ok(quantity.canonicalized()),
        Err(e) => metadata.reject(name, format!("{text:?}: {e}")),
    }
}

/// Returns a number as KEDA states it: to the nearest thousandth, and 0 if it is negative (`quantityFromFloat64` in
/// `scaler.go`).
///
/// # Errors
///
/// It is not finite.
pub(crate) fn stated(value: f64) -> Result<Quantity, ParseError> {
    let sent = if value < 0.0 { 0.0 } else { value };
    Quantity::parse(&format!("{sent:.3}"))
}

/// `resource.NewQuantity`.
fn quantity(value: i64) -> Quantity {
    Quantity::new(Amount::int(value, 0), Format::DecimalSI)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value as Json;

    use super::{Quantity, SCALERS, Scaler, may_have};
    use crate::keda::external::OWNER;
    use crate::keda::keys::keys;
    use crate::keda::manifest::Trigger;
    use crate::keda::metadata::TriggerMetadata;

    /// Returns the scalers of the table; each of its other lines is a comment.
    fn scalers() -> impl Iterator<Item = Scaler> {
        let lines = SCALERS.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| {
            let columns = line.split_whitespace().count();
            assert!(matches!(columns, 3 | 4), "{line}");
            Scaler::read(line).expect("a scaler")
        })
    }

    #[test]
    fn the_targets_that_a_trigger_can_state() {
        let metric = |name: &str| {
            let selector = serde_json::json!({"matchLabels": {OWNER: "web"}});
            let metric = serde_json::json!({"name": name, "selector": selector});
            serde_json::from_value(
                serde_json::json!({"type": "External", "external": {"metric": metric}}),
            )
        };
        for (name, takes) in [
            ("s0-cron-Europe-Berlin-08xx1-5-018xx1-5", [false, false]),
            ("s1-selenium-grid-chrome", [false, false]),
            ("s2-kafka-lag-topic", [true, false]),
            ("s12-aws-dynamodb-streams-orders", [true, false]),
            ("s0-prometheus", [true, true]),
            ("s0-kubernetes-resource-cm-x", [true, true]),
            ("cron", [true, true]),
        ] {
            let spec = metric(name).unwrap();
            let may = |target: &str| may_have(&spec, &Quantity::parse(target).unwrap());
            assert_eq!(["4", "4900m"].map(may), takes, "{name}");
        }
    }

    fn trigger(type_: &str, metadata: BTreeMap<String, Json>) -> Trigger {
        Trigger {
            type_: type_.to_owned(),
            metadata: Some(metadata),
            ..Trigger::default()
        }
    }

    /// Each type has a line, and the type of its target is one of those of external metrics.
    #[test]
    fn types_have_one_line() {
        let mut types = BTreeSet::new();
        for Scaler { type_, only, .. } in scalers() {
            assert!(types.insert(type_), "{type_}");
            assert!(
                matches!(only, None | Some("Value" | "AverageValue")),
                "{type_}"
            );
        }
    }

    /// A name has fields that the scaler reads, or a rule.
    #[test]
    fn names_can_be_read() {
        for scaler in scalers().filter(|scaler| scaler.target != "*") {
            let Scaler { type_, name, .. } = scaler;
            let mut values = BTreeMap::new();
            let mut expected = name.to_owned();
            for field in name.split(['{', '}']).skip(1).step_by(2) {
                let (start, field) = field
                    .strip_prefix('-')
                    .map_or(("", field), |field| ("-", field));
                let (own, _) = field.split_once('=').unwrap_or((field, ""));
                assert!(keys(type_).any(|key| key == own), "{type_}: {field}");
                values.insert(own.to_owned(), "v".into());
                expected = expected.replace(&format!("{{{start}{field}}}"), &format!("{start}v"));
            }
            let trigger = trigger(type_, values);
            let metadata = TriggerMetadata::new(0, &trigger);
            let is_from_table = scaler.name(&metadata).ok() == Some(format!("s0-{expected}"));
            assert_eq!(is_from_table, !name.contains('*'), "{type_}");
            assert!(!expected.contains(['{', '}']), "{type_}");
        }
    }

    /// A target is a number, a field that the scaler reads, or has a rule; a default is a number.
    #[test]
    fn targets_can_be_read() {
        for scaler in scalers() {
            let Scaler { type_, target, .. } = scaler;
            if target == "*" {
                assert!(
                    type_.starts_with("external") || type_.starts_with("solace-"),
                    "{type_}"
                );
                continue;
            }
            let (notation, field) = target.split_once(':').unwrap_or(("", ""));
            let (names, _) = field.split_once('=').unwrap_or((field, ""));
            let is_rule = matches!(names, "" | "*");
            assert!(matches!(notation, "" | "whole" | "milli"), "{type_}");
            for name in names.split(';').filter(|_| !is_rule) {
                assert!(keys(type_).any(|own| own == name), "{type_}: {name}");
            }
            let trigger = trigger(type_, BTreeMap::new());
            let metadata = TriggerMetadata::new(0, &trigger);
            let value = scaler.target(&metadata, true).ok();
            assert_eq!(value.is_some(), is_rule || field.contains('='), "{type_}");
            assert!(
                !notation.is_empty() || value.is_some_and(|value| value.signum() > 0),
                "{type_}"
            );
        }
    }
}
