//! The scalers of KEDA 2.20.2: the name that each gives its metric, and the field of a trigger's metadata that is
//! the target. Most are only a line in `scalers.txt`; the rules for the others follow their files in `pkg/scalers`.
//! The sources of a field are in `keys.txt`, and the required fields in `fields.txt`. The contents of a
//! TriggerAuthentication or of the environment of a container are not known here.

use super::Refused;
use super::cron::is_schedule;
use super::metadata::{Gap, KnownField, TriggerMetadata};
use super::url::{UrlPath, parameters, query_escaped};
use crate::apimachinery::go;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::apimachinery::similar::nearest;

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

impl Scaler {
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

    /// Returns the name of the metric of a trigger.
    pub(super) fn name(&self, metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
        let name = match self.type_ {
            "activemq" => activemq(metadata),
            "apache-kafka" => apache_kafka(metadata),
            "artemis-queue" => artemis(metadata),
            "aws-sqs-queue" => aws_sqs(metadata),
            "azure-eventhub" => Ok(format!(
                "azure-eventhub-{}",
                metadata.get("consumerGroup").unwrap_or("$Default")
            )),
            "azure-pipelines" => azure_pipelines(metadata),
            "azure-servicebus" => azure_servicebus(metadata),
            "beanstalkd" => Ok(format!(
                "beanstalkd-{}",
                query_escaped(metadata.need("tube")?)
            )),
            "couchdb" => couchdb(metadata),
            "cron" => cron(metadata),
            "datadog" => return datadog(metadata),
            type_ @ ("elasticsearch" | "opensearch") => search(type_, metadata),
            // It reads nothing, not even the index.
            "external-mock" => return Ok("mockMetricName".to_owned()),
            "gcp-pubsub" => gcp_pubsub(metadata),
            "ibmmq" => ibmmq(metadata),
            "influxdb" => influxdb(metadata),
            "kafka" => kafka(metadata, ToOwned::to_owned),
            "kubernetes-resource" => kubernetes_resource(metadata),
            "kubernetes-workload" => workload(metadata),
            "mysql" => mysql(metadata),
            "openstack-swift" => openstack_swift(metadata),
            "rabbitmq" => Ok(format!(
                "rabbitmq-{}",
                query_escaped(metadata.need("queueName")?)
            )),
            "selenium-grid" => selenium_grid(metadata),
            "temporal" => temporal(metadata),
            _ => filled(self.name, metadata),
        }?;
        Ok(metadata.with_index(&name))
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
            return Err(metadata.refused(name, message).into());
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
        if let Some(field) = field.strip_suffix('}') {
            name.push_str(metadata.known_need(field)?);
        }
    }
    Ok(name)
}

/// Returns the field of a target, from its names and default in the table.
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

/// `Validate` in `activemq_scaler.go`: the name may be in a URL.
fn activemq(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let name = match metadata.get("restAPITemplate") {
        Some(url) => {
            let names = ["destinationName", "brokerName"];
            let path = UrlPath::of(url).map(|path| path.decoded);
            let found = path.and_then(|path| jolokia(&path, "", names));
            let [name, _] = found.ok_or_else(|| no_template(metadata, "restAPITemplate", names))?;
            name
        }
        None => metadata.need("destinationName")?.to_owned(),
    };
    Ok(format!("activemq-{name}"))
}

/// `Validate` and `getAPIParameters` in `artemis_scaler.go`: the name may be in a URL, whose path has to have
/// characters that Go would escape.
fn artemis(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let name = match metadata.get("restApiTemplate") {
        Some(url) => {
            let names = ["queue", "address", "broker"];
            let path = UrlPath::of(url).and_then(|path| path.raw);
            let found = path.and_then(|path| jolokia(path, "\"\"", names));
            let [name, ..] =
                found.ok_or_else(|| no_template(metadata, "restApiTemplate", names))?;
            name
        }
        None => metadata.need("queueName")?.to_owned(),
    };
    Ok(format!("artemis-{name}"))
}

/// Returns the properties of a broker in the path of Jolokia's API, which follow the first colon, without a
/// text in them.
fn jolokia<const N: usize>(path: &str, without: &str, names: [&str; N]) -> Option<[String; N]> {
    let properties = path.split(':').nth(1)?.split('/').next()?;
    let query = properties.replace(without, "").replace(',', "&");
    parameters(&query, names)
}

/// Returns the error for a template without names.
fn no_template<const N: usize>(
    metadata: &TriggerMetadata<'_>,
    field: &str,
    names: [&str; N],
) -> Refused {
    metadata.refused(
        field,
        format!(
            "must be a URL of Jolokia with {} in its path",
            names.join(", ")
        ),
    )
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
        Some(topic) => Ok(format!("kafka-{}", topics(topic))),
        None => Ok(format!(
            "kafka-{}-topics",
            metadata.known_need("consumerGroup")?
        )),
    }
}

/// `parseAwsSqsQueueMetadata` in `aws_sqs_queue_scaler.go`: the last part of a URL's path, or the unchanged
/// text if `url.ParseRequestURI` does not accept it as a URL.
fn aws_sqs(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let text = metadata.known_need("queueURL")?;
    let Some(path) = UrlPath::of(text) else {
        return Ok(format!("aws-sqs-{text}"));
    };
    match path.decoded.split('/').collect::<Vec<_>>()[..] {
        [_, _, name] if !name.is_empty() => Ok(format!("aws-sqs-{name}")),
        _ => Err(metadata
            .refused("queueURL", "no queue name in the path of the URL")
            .into()),
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
    let id: i64 = text
        .parse()
        .map_err(|_| metadata.refused("poolID", format!("{text:?} is not a whole number")))?;
    Ok(format!("azure-pipelines-{id}"))
}

/// `Validate` and `GetMetricSpecForScaling` in `azure_servicebus_scaler.go`.
fn azure_servicebus(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let [queue, topic, subscription] =
        ["queueName", "topicName", "subscriptionName"].map(|name| metadata.get(name));
    let is_regex = metadata
        .get("useRegex")
        .is_some_and(|it| go::parse_bool(it) == Some(true));
    let refused = |name, message| Err(metadata.refused(name, message).into());
    let (type_, name) = match (queue, topic) {
        (Some(_), Some(_)) => return refused("topicName", "queueName is set, too"),
        (Some(_), None) if subscription.is_some() => {
            return refused("subscriptionName", "needs topicName, not queueName");
        }
        (Some(queue), None) => ("queue", queue),
        (None, Some(_)) if subscription.is_none() => {
            return refused("subscriptionName", "required");
        }
        (None, Some(topic)) => ("topic", topic),
        (None, None) => return refused("queueName", "required, or topicName"),
    };
    Ok(if is_regex {
        format!("azure-servicebus-{type_}-regex")
    } else {
        format!("azure-servicebus-{name}")
    })
}

/// `Validate` and `GetMetricSpecForScaling` in `couchdb_scaler.go`, with its own spelling: a connection string can
/// be without the name.
fn couchdb(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let KnownField { stated, elsewhere } = metadata.find("connectionString");
    let name = if stated.is_some() || elsewhere.is_some() {
        metadata.known("dbName")?.unwrap_or_default()
    } else {
        metadata.known_need("dbName")?
    };
    Ok(format!("coucdb-{name}"))
}

/// `Validate`, `parseCronTimeFormat` and `GetMetricSpecForScaling` in `cron_scaler.go`.
fn cron(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let (start, end) = (schedule(metadata, "start")?, schedule(metadata, "end")?);
    if start == end {
        return Err(metadata.refused("end", "the same as start").into());
    }
    let replicas = metadata.need("desiredReplicas")?;
    if !replicas.parse::<i64>().is_ok_and(|replicas| replicas != 0) {
        let message = format!("{replicas:?} is not a whole number other than 0");
        return Err(metadata.refused("desiredReplicas", message).into());
    }
    Ok(format!(
        "cron-{}-{}-{}",
        metadata.need("timezone")?,
        plain(start),
        plain(end)
    ))
}

fn schedule<'t>(metadata: &TriggerMetadata<'t>, name: &'static str) -> Result<&'t str, Refused> {
    let text = metadata.need(name)?;
    if is_schedule(text) {
        Ok(text)
    } else {
        Err(metadata.refused(name, "not a cron schedule".to_owned()))
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
        return Err(metadata
            .refused("query", "has no scope in braces, such as {*}")
            .into());
    }
    let of_agent = metadata
        .get("useClusterAgentProxy")
        .is_some_and(|it| go::parse_bool(it) == Some(true));
    if of_agent {
        let (namespace, name) = (
            metadata.need("datadogMetricNamespace")?,
            metadata.need("datadogMetricName")?,
        );
        return Ok(format!("datadogmetric@{namespace}:{name}"));
    }
    let query = metadata.need("query")?;
    let before = query.split('{').next().unwrap_or_default();
    Ok(metadata.with_index(&format!("datadog-{before}")))
}

/// `parseElasticsearchMetadata` and `parseOpensearchMetadata`; their `Validate` requires exactly one of the
/// two.
fn search(prefix: &str, metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    match metadata.get("query") {
        Some(_) if metadata.get("searchTemplateName").is_none() => Ok(format!("{prefix}-query")),
        _ => Ok(format!(
            "{prefix}-{}",
            metadata.known_need("searchTemplateName")?
        )),
    }
}

/// `Validate` and `parsePubSubMetadata` in `gcp_pubsub_scaler.go`.
fn gcp_pubsub(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let [subscription, topic] = ["subscriptionName", "topicName"].map(|name| metadata.get(name));
    let name = match (subscription, topic) {
        (Some(_), Some(_)) => {
            return Err(metadata
                .refused("topicName", "subscriptionName is set, too")
                .into());
        }
        (Some(name), None) | (None, Some(name)) => name,
        (None, None) => match metadata.known("topicName")? {
            Some(name) => name,
            None => metadata.known_need("subscriptionName")?,
        },
    };
    Ok(format!("gcp-ps-{name}"))
}

/// `GetMetricSpecForScaling` in `ibmmq_scaler.go`: the first of several queues.
fn ibmmq(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let queues = metadata.need("queueName;queueNames")?;
    let first = queues.split(',').next().unwrap_or_default();
    Ok(format!("ibmmq-{}", first.trim()))
}

/// `GetMetricSpecForScaling` in `influxdb_scaler.go`: an `influxVersion` other than 2 or 3, such as several versions,
/// requires no name.
fn influxdb(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let name = match metadata.get("influxVersion").unwrap_or("2") {
        "2" => metadata.known_need("organizationName")?,
        "3" => metadata.known_need("database")?,
        _ => metadata.known("organizationName")?.unwrap_or_default(),
    };
    Ok(format!("influxdb-{name}"))
}

/// `GetMetricSpecForScaling` in `kubernetes_resource_scaler.go`.
fn kubernetes_resource(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let kind = metadata.need("resourceKind")?.to_lowercase();
    let (name, key) = (metadata.need("resourceName")?, metadata.need("key")?);
    Ok(format!("{kind}-{name}-{key}"))
}

/// `GetMetricSpecForScaling` in `kubernetes_workload_scaler.go`.
fn workload(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    match metadata.namespace {
        Some(namespace) => Ok(format!("workload-{namespace}")),
        None => Err(Gap::OfNamespace("workload-")),
    }
}

/// `parseMySQLMetadata` in `mysql_scaler.go`: a connection string takes precedence, and it is never in the
/// metadata.
fn mysql(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let has_name = metadata.get("dbName").is_some();
    if has_name && metadata.get("connectionStringFromEnv").is_none() {
        metadata.assume_without("connectionString");
    } else {
        metadata.known("connectionString")?;
    }
    Ok(format!(
        "mysql-{}",
        metadata.known("dbName")?.unwrap_or_default()
    ))
}

/// `GetMetricSpecForScaling` in `openstack_swift_scaler.go`.
fn openstack_swift(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let container = metadata.need("containerName")?;
    Ok(match metadata.get("objectPrefix") {
        Some(prefix) => format!("openstack-swift-{container}-{prefix}"),
        None => format!("openstack-swift-{container}"),
    })
}

/// `validateTrigger` in `rabbitmq_scaler.go`: a number that is 0 and the mode `Unknown` count as absent.
fn rabbitmq<'t>(metadata: &TriggerMetadata<'t>) -> Result<Field<'t>, Refused> {
    let length = non_zero(metadata, "queueLength")?;
    let value = non_zero(metadata, "value")?;
    match (
        length,
        metadata.get("mode").filter(|mode| *mode != "Unknown"),
        value,
    ) {
        (None, None, None) => Ok(("value", "20")),
        (Some(length), None, None) => Ok(("queueLength", length)),
        (Some(_), ..) => Err(metadata.refused("queueLength", "mode and value are set, too")),
        (None, None, Some(_)) => Err(metadata.refused("mode", "required with value")),
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

/// `buildSeleniumGridMetricName` in `selenium_grid_scaler.go`.
fn selenium_grid(metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
    let parts = ["browserName", "browserVersion", "platformName"].map(|name| metadata.get(name));
    let parts: Vec<&str> = ["selenium-grid"]
        .into_iter()
        .chain(parts.into_iter().flatten())
        .collect();
    Ok(parts.join("-"))
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
    let name = format!("temporal-{namespace}-{}", metadata.known_need("taskQueue")?);
    match (
        metadata.known("workerDeploymentName")?,
        metadata.known("workerDeploymentBuildId")?,
    ) {
        (Some(deployment), Some(build)) => Ok(format!("{name}-{deployment}-{build}")),
        (None, None) => Ok(name),
        _ => Err(metadata
            .refused(
                "workerDeploymentName",
                "needs workerDeploymentBuildId, and that needs it",
            )
            .into()),
    }
}

/// Returns a float64 in thousandths (`quantityFromFloat64` in `scaler.go`).
fn milli(metadata: &TriggerMetadata<'_>, name: &str, text: &str) -> Result<Quantity, Refused> {
    let value = metadata.number(name, text)?;
    if value < 0.0 {
        return Ok(quantity(0));
    }
    let quantity = Quantity::parse(&format!("{value:.3}"))
        .map_err(|e| metadata.refused(name, format!("{text:?}: {e}")))?;
    Ok(quantity.canonicalized())
}

/// `resource.NewQuantity`.
fn quantity(value: i64) -> Quantity {
    let exact = value
        .checked_mul(1000)
        .map(|milli| Quantity::from_milli(milli, Format::DecimalSI));
    exact
        .or_else(|| Quantity::parse(&value.to_string()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{SCALERS, Scaler};
    use crate::keda::keys::keys;
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
            let fields = name.split(['{', '}']).skip(1).step_by(2);
            let values: BTreeMap<_, _> =
                fields.map(|field| (field.to_owned(), "v".into())).collect();
            let mut expected = name.to_owned();
            for field in values.keys() {
                assert!(keys(type_).any(|own| own == field), "{type_}: {field}");
                expected = expected.replace(&format!("{{{field}}}"), "v");
            }
            let metadata = TriggerMetadata::new(0, type_, &values, false, None);
            let is_from_table = scaler.name(&metadata).ok() == Some(format!("s0-{expected}"));
            assert_eq!(is_from_table, name != "*", "{type_}");
            assert!(!expected.contains(['{', '}']), "{type_}");
        }
    }

    /// A target is a number, a field that the scaler reads, or has a rule; a default is a number.
    #[test]
    fn targets_can_be_read() {
        let none = BTreeMap::new();
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
            let metadata = TriggerMetadata::new(0, type_, &none, false, None);
            let value = scaler.target(&metadata, true).ok();
            assert_eq!(value.is_some(), is_rule || field.contains('='), "{type_}");
            assert!(
                !notation.is_empty() || value.is_some_and(|value| value.signum() > 0),
                "{type_}"
            );
        }
    }
}
