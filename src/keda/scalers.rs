//! The scalers of KEDA 2.20.2 (`buildScaler` in `pkg/scaling/scalers_builder.go`): the name that each gives
//! its metric, and the field of a trigger's metadata that is the target. Each row has the `keda` tags and
//! the `GetMetricSpecForScaling` of the file in `pkg/scalers` that is named above it. The sources of a field are
//! in `keys.txt`, and the required fields in `fields.txt`. The contents of a TriggerAuthentication or of the
//! environment of a container are not known here.

use super::Refused;
use super::cron::is_schedule;
use super::metadata::{Gap, KnownField, TriggerMetadata};
use super::url::{UrlPath, parameters, query_escaped};
use crate::apimachinery::go;
use crate::apimachinery::similar::nearest;

/// The rules by which a type of triggers becomes metrics.
pub(super) struct Scaler {
    types: &'static [&'static str],
    pub(super) metrics: Metrics,
    /// The type of the target, if the trigger cannot change it.
    pub(super) only: Option<&'static str>,
}

/// The metrics of a trigger.
pub(super) enum Metrics {
    /// One metric.
    One(MetricName, ScalerTarget),
    /// One metric for each of these fields that is set: the end of its name, the field, and the factor for the
    /// value. The name begins with a text and the value of another field.
    Each {
        prefix: &'static str,
        field: &'static str,
        metrics: &'static [(&'static str, &'static str, i64)],
    },
    /// The metrics that a user's own server answers with.
    OfScaler,
}

/// The name of a metric, which gets an index and is normalized.
pub(super) enum MetricName {
    /// Always the same.
    Fixed(&'static str),
    /// A text and the value of a field.
    Of(&'static str, &'static str),
    /// A rule.
    Rule(fn(&TriggerMetadata<'_>) -> Result<String, Gap>),
    /// A rule for the whole name, which may lack an index.
    Whole(fn(&TriggerMetadata<'_>) -> Result<String, Gap>),
}

/// The target of a metric. Several names of a field are separated by `;`.
#[derive(Clone, Copy)]
pub(super) enum ScalerTarget {
    /// Always the same.
    Fixed(i64),
    /// The value of a field, with its default.
    Of(TargetNumber, &'static str, Option<&'static str>),
    /// The value of a field that a rule selects.
    Rule(
        TargetNumber,
        for<'t> fn(&TriggerMetadata<'t>) -> Result<Field<'t>, Refused>,
    ),
}

/// A field and its value or default; `None` if it is missing.
type Field<'t> = (&'static str, Option<&'t str>);

/// The notation of a target.
#[derive(Clone, Copy)]
pub(super) enum TargetNumber {
    /// `int64`, `GetMetricTarget`.
    Whole,
    /// `float64`, `GetMetricTargetMili`.
    Milli,
}

/// Returns the scaler of a type; on failure, the type that may be meant.
pub(super) fn scaler(type_: &str) -> Result<&'static Scaler, Option<&'static str>> {
    let known = SCALERS
        .iter()
        .flat_map(|scaler| scaler.types.iter().copied());
    let found = SCALERS.iter().find(|scaler| scaler.types.contains(&type_));
    found.ok_or_else(|| nearest(type_, known.chain(["cpu", "memory"])))
}

impl MetricName {
    /// Returns the name of the metric of a trigger.
    pub(super) fn of(&self, metadata: &TriggerMetadata<'_>) -> Result<String, Gap> {
        let name = match *self {
            Self::Fixed(name) => name.to_owned(),
            Self::Of(prefix, field) => format!("{prefix}{}", metadata.known_need(field)?),
            Self::Rule(rule) => rule(metadata)?,
            Self::Whole(rule) => return rule(metadata),
        };
        Ok(metadata.with_index(&name))
    }
}

use MetricName::{Fixed, Of, Rule};

const fn one(types: &'static [&'static str], name: MetricName, target: ScalerTarget) -> Scaler {
    Scaler {
        types,
        metrics: Metrics::One(name, target),
        only: None,
    }
}

const fn only(type_: &'static str, scaler: Scaler) -> Scaler {
    Scaler {
        only: Some(type_),
        ..scaler
    }
}

const fn whole(field: &'static str, default: &'static str) -> ScalerTarget {
    ScalerTarget::Of(TargetNumber::Whole, field, Some(default))
}

const fn whole_needed(field: &'static str) -> ScalerTarget {
    ScalerTarget::Of(TargetNumber::Whole, field, None)
}

const fn milli(field: &'static str, default: &'static str) -> ScalerTarget {
    ScalerTarget::Of(TargetNumber::Milli, field, Some(default))
}

const fn milli_needed(field: &'static str) -> ScalerTarget {
    ScalerTarget::Of(TargetNumber::Milli, field, None)
}

static SCALERS: &[Scaler] = &[
    // activemq_scaler.go
    one(
        &["activemq"],
        Rule(activemq),
        whole("targetQueueSize", "10"),
    ),
    // apache_kafka_scaler.go
    one(
        &["apache-kafka"],
        Rule(apache_kafka),
        whole("lagThreshold", "10"),
    ),
    // arangodb_scaler.go
    one(&["arangodb"], Fixed("arangodb"), milli("queryValue", "0")),
    // artemis_scaler.go
    one(
        &["artemis-queue"],
        Rule(artemis),
        whole("queueLength", "10"),
    ),
    // aws_cloudwatch_scaler.go
    one(
        &["aws-cloudwatch"],
        Fixed("aws-cloudwatch"),
        milli_needed("targetMetricValue"),
    ),
    // aws_dynamodb_scaler.go
    one(
        &["aws-dynamodb"],
        Of("aws-dynamodb-", "tableName"),
        whole("targetValue", "-1"),
    ),
    // aws_dynamodb_streams_scaler.go
    one(
        &["aws-dynamodb-streams"],
        Of("aws-dynamodb-streams-", "tableName"),
        whole("shardCount", "2"),
    ),
    // aws_kinesis_stream_scaler.go
    one(
        &["aws-kinesis-stream"],
        Of("aws-kinesis-", "streamName"),
        whole("shardCount", "2"),
    ),
    // aws_sqs_queue_scaler.go
    one(&["aws-sqs-queue"], Rule(aws_sqs), whole("queueLength", "5")),
    // azure_app_insights_scaler.go
    one(
        &["azure-app-insights"],
        Of("azure-app-insights-", "metricId"),
        milli("targetValue", "0"),
    ),
    // azure_blob_scaler.go
    one(
        &["azure-blob"],
        Of("azure-blob-", "blobContainerName"),
        whole("blobCount", "5"),
    ),
    // azure_data_explorer_scaler.go
    one(
        &["azure-data-explorer"],
        Of("azure-data-explorer-", "databaseName"),
        milli_needed("threshold"),
    ),
    // azure_eventhub_scaler.go, azure/azure_eventhub.go
    one(
        &["azure-eventhub"],
        Rule(|it| {
            Ok(format!(
                "azure-eventhub-{}",
                it.get("consumerGroup").unwrap_or("$Default")
            ))
        }),
        whole("unprocessedEventThreshold", "64"),
    ),
    // azure_log_analytics_scaler.go
    one(
        &["azure-log-analytics"],
        Of("azure-log-analytics-", "workspaceId"),
        milli_needed("threshold"),
    ),
    // azure_monitor_scaler.go
    one(
        &["azure-monitor"],
        Of("azure-monitor-", "metricName"),
        milli_needed("targetValue"),
    ),
    // azure_pipelines_scaler.go
    one(
        &["azure-pipelines"],
        Rule(azure_pipelines),
        whole("targetPipelinesQueueLength", "1"),
    ),
    // azure_queue_scaler.go
    one(
        &["azure-queue"],
        Of("azure-queue-", "queueName"),
        whole("queueLength", "5"),
    ),
    // azure_servicebus_scaler.go
    one(
        &["azure-servicebus"],
        Rule(azure_servicebus),
        whole("messageCount", "5"),
    ),
    // beanstalkd_scaler.go
    one(
        &["beanstalkd"],
        Rule(|it| Ok(format!("beanstalkd-{}", query_escaped(it.need("tube")?)))),
        milli_needed("value"),
    ),
    // cassandra_scaler.go
    one(
        &["cassandra"],
        Of("cassandra-", "keyspace"),
        whole_needed("targetQueryValue"),
    ),
    // couchdb_scaler.go
    one(&["couchdb"], Rule(couchdb), whole("queryValue", "0")),
    // cron_scaler.go
    one(&["cron"], Rule(cron), ScalerTarget::Fixed(1)),
    // datadog_scaler.go
    one(
        &["datadog"],
        MetricName::Whole(datadog),
        milli("targetValue;queryValue", "-1"),
    ),
    // dynatrace_scaler.go
    one(
        &["dynatrace"],
        Fixed("dynatrace"),
        milli_needed("threshold"),
    ),
    // elastic_forecast_scaler.go
    one(
        &["elastic-forecast"],
        Of("elastic-forecast-", "jobID"),
        milli_needed("targetValue"),
    ),
    // elasticsearch_scaler.go
    one(
        &["elasticsearch"],
        Rule(|it| search("elasticsearch", it)),
        milli_needed("targetValue"),
    ),
    // etcd_scaler.go
    one(&["etcd"], Of("etcd-", "watchKey"), milli_needed("value")),
    // external_mock_scaler.go, which reads nothing
    only(
        "Value",
        one(
            &["external-mock"],
            MetricName::Whole(|_| Ok("mockMetricName".to_owned())),
            ScalerTarget::Fixed(100),
        ),
    ),
    // external_scaler.go
    Scaler {
        types: &["external", "external-push"],
        metrics: Metrics::OfScaler,
        only: None,
    },
    // forgejo_runner_scaler.go
    one(
        &["forgejo-runner"],
        Fixed("forgejo"),
        ScalerTarget::Fixed(1),
    ),
    // gcp_cloud_tasks_scaler.go
    one(
        &["gcp-cloudtasks"],
        Of("gcp-ct-", "queueName"),
        milli("value", "100"),
    ),
    // gcp_pubsub_scaler.go
    one(&["gcp-pubsub"], Rule(gcp_pubsub), milli("value", "10")),
    // gcp_stackdriver_scaler.go
    one(
        &["gcp-stackdriver"],
        Of("gcp-stackdriver-", "projectId"),
        milli("targetValue", "5"),
    ),
    // gcp_storage_scaler.go
    one(
        &["gcp-storage"],
        Of("gcp-storage-", "bucketName"),
        whole("targetObjectCount", "100"),
    ),
    // github_runner_scaler.go
    one(
        &["github-runner"],
        Of("github-runner-", "owner"),
        whole("targetWorkflowQueueLength", "1"),
    ),
    // graphite_scaler.go
    one(&["graphite"], Fixed("graphite"), milli("threshold", "100")),
    // huawei_cloudeye_scaler.go
    one(
        &["huawei-cloudeye"],
        Of("huawei-cloudeye-", "metricName"),
        milli_needed("targetMetricValue"),
    ),
    // ibmmq_scaler.go: the first of several queues
    one(
        &["ibmmq"],
        Rule(|it| {
            let queues = it.need("queueName;queueNames")?;
            Ok(format!(
                "ibmmq-{}",
                queues.split(',').next().unwrap_or_default().trim()
            ))
        }),
        whole("queueDepth", "20"),
    ),
    // influxdb_scaler.go: an influxVersion other than 2 or 3, such as several versions, requires no name
    one(
        &["influxdb"],
        Rule(|it| {
            let name = match it.get("influxVersion").unwrap_or("2") {
                "2" => it.known_need("organizationName")?,
                "3" => it.known_need("database")?,
                _ => it.known("organizationName")?.unwrap_or_default(),
            };
            Ok(format!("influxdb-{name}"))
        }),
        milli("thresholdValue", "0"),
    ),
    // kafka_scaler.go
    one(
        &["kafka"],
        Rule(|it| kafka(it, ToOwned::to_owned)),
        whole("lagThreshold", "10"),
    ),
    // kubernetes_resource_scaler.go
    one(
        &["kubernetes-resource"],
        Rule(|it| {
            let kind = it.need("resourceKind")?.to_lowercase();
            Ok(format!(
                "{kind}-{}-{}",
                it.need("resourceName")?,
                it.need("key")?
            ))
        }),
        milli_needed("targetValue"),
    ),
    // kubernetes_workload_scaler.go
    one(
        &["kubernetes-workload"],
        Rule(workload),
        milli("value", "0"),
    ),
    // liiklus_scaler.go
    one(
        &["liiklus"],
        Of("liiklus-", "topic"),
        whole("lagThreshold", "10"),
    ),
    // loki_scaler.go
    one(&["loki"], Fixed("loki"), milli_needed("threshold")),
    // metrics_api_scaler.go
    one(
        &["metrics-api"],
        Of("metric-api-", "valueLocation"),
        milli("targetValue", "0"),
    ),
    // mongo_scaler.go
    one(
        &["mongodb"],
        Of("mongodb-", "collection"),
        milli_needed("queryValue"),
    ),
    // mssql_scaler.go
    one(&["mssql"], Fixed("mssql"), milli_needed("targetValue")),
    // mysql_scaler.go
    one(&["mysql"], Rule(mysql), milli_needed("queryValue")),
    // nats_jetstream_scaler.go
    one(
        &["nats-jetstream"],
        Of("nats-jetstream-", "stream"),
        whole("lagThreshold", "10"),
    ),
    // newrelic_scaler.go
    one(
        &["new-relic"],
        Fixed("new-relic"),
        milli_needed("threshold"),
    ),
    // nsq_scaler.go
    one(
        &["nsq"],
        Rule(|it| {
            Ok(format!(
                "nsq-{}-{}",
                it.known_need("topic")?,
                it.known_need("channel")?
            ))
        }),
        whole("depthThreshold", "10"),
    ),
    // opensearch_scaler.go
    one(
        &["opensearch"],
        Rule(|it| search("opensearch", it)),
        milli_needed("targetValue"),
    ),
    // openstack_metrics_scaler.go
    one(
        &["openstack-metric"],
        Of("openstack-metric-", "metricID"),
        milli("threshold", "0"),
    ),
    // openstack_swift_scaler.go
    one(
        &["openstack-swift"],
        Rule(|it| {
            let prefix = it.get("objectPrefix").map(|prefix| format!("-{prefix}"));
            let container = it.need("containerName")?;
            Ok(format!(
                "openstack-swift-{container}{}",
                prefix.unwrap_or_default()
            ))
        }),
        whole("objectCount", "2"),
    ),
    // postgresql_scaler.go
    one(
        &["postgresql"],
        Fixed("postgresql"),
        milli("targetQueryValue", "0"),
    ),
    // predictkube_scaler.go
    one(
        &["predictkube"],
        Fixed("predictkube-predictkube_metric"),
        milli("threshold", "0"),
    ),
    // prometheus_scaler.go
    one(
        &["prometheus"],
        Fixed("prometheus"),
        milli_needed("threshold"),
    ),
    // pulsar_scaler.go, which does not use metricType
    only(
        "AverageValue",
        one(
            &["pulsar"],
            Rule(|it| {
                let (topic, subscription) =
                    (it.known_need("topic")?, it.known_need("subscription")?);
                Ok(format!("pulsar-{topic}-{subscription}"))
            }),
            whole("msgBacklogThreshold", "10"),
        ),
    ),
    // rabbitmq_scaler.go
    one(
        &["rabbitmq"],
        Rule(|it| Ok(format!("rabbitmq-{}", query_escaped(it.need("queueName")?)))),
        ScalerTarget::Rule(TargetNumber::Milli, rabbitmq),
    ),
    // redis_scaler.go
    one(
        &["redis", "redis-cluster", "redis-sentinel"],
        Of("redis-", "listName"),
        whole("listLength", "5"),
    ),
    // redis_streams_scaler.go
    one(
        &[
            "redis-streams",
            "redis-cluster-streams",
            "redis-sentinel-streams",
        ],
        Of("redis-streams-", "stream"),
        ScalerTarget::Rule(TargetNumber::Whole, redis_streams),
    ),
    // selenium_grid_scaler.go
    one(
        &["selenium-grid"],
        Rule(selenium_grid),
        ScalerTarget::Fixed(1),
    ),
    // solace_dm_scaler.go
    Scaler {
        types: &["solace-direct-messaging"],
        metrics: Metrics::Each {
            prefix: "solace-dm-",
            field: "clientNamePattern",
            metrics: SOLACE_DM,
        },
        only: None,
    },
    // solace_scaler.go; the spool is given in megabytes
    Scaler {
        types: &["solace-event-queue"],
        metrics: Metrics::Each {
            prefix: "solace-",
            field: "queueName",
            metrics: &[
                ("msgcount", "messageCountTarget", 1),
                ("msgspoolusage", "messageSpoolUsageTarget", 1024 * 1024),
                ("msgrcvrate", "messageReceiveRateTarget", 1),
            ],
        },
        only: None,
    },
    // solarwinds_scaler.go
    one(
        &["solarwinds"],
        Fixed("solarwinds"),
        milli_needed("targetValue"),
    ),
    // solr_scaler.go
    one(&["solr"], Fixed("solr"), milli_needed("targetQueryValue")),
    // splunk_observability_scaler.go, which does not use metricType
    only(
        "Value",
        one(
            &["splunk-observability"],
            Fixed("signalfx"),
            milli_needed("targetValue"),
        ),
    ),
    // splunk_scaler.go
    one(
        &["splunk"],
        Of("splunk-", "savedSearchName"),
        whole_needed("targetValue"),
    ),
    // sumologic_scaler.go
    one(
        &["sumologic"],
        Of("sumologic-", "queryType"),
        milli_needed("threshold"),
    ),
    // temporal_scaler.go
    one(&["temporal"], Rule(temporal), whole("targetQueueSize", "5")),
];

/// The ends of the names are the fields.
const SOLACE_DM: &[(&str, &str, i64)] = &[
    (
        "aggregatedClientTxByteRateTarget",
        "aggregatedClientTxByteRateTarget",
        1,
    ),
    (
        "aggregatedClientAverageTxByteRateTarget",
        "aggregatedClientAverageTxByteRateTarget",
        1,
    ),
    (
        "aggregatedClientTxMsgRateTarget",
        "aggregatedClientTxMsgRateTarget",
        1,
    ),
    (
        "aggregatedClientAverageTxMsgRateTarget",
        "aggregatedClientAverageTxMsgRateTarget",
        1,
    ),
];

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

/// `validateTrigger` in `rabbitmq_scaler.go`: a number that is 0 and the mode `Unknown` count as absent.
fn rabbitmq<'t>(metadata: &TriggerMetadata<'t>) -> Result<Field<'t>, Refused> {
    let length = non_zero(metadata, "queueLength")?;
    let value = non_zero(metadata, "value")?;
    match (
        length,
        metadata.get("mode").filter(|mode| *mode != "Unknown"),
        value,
    ) {
        (None, None, None) => Ok(("value", Some("20"))),
        (Some(_), None, None) => Ok(("queueLength", length)),
        (Some(_), ..) => Err(metadata.refused("queueLength", "mode and value are set, too")),
        (None, None, Some(_)) => Err(metadata.refused("mode", "required with value")),
        (None, Some(_), None) => Err(metadata.missing("value")),
        (None, Some(_), Some(_)) => Ok(("value", value)),
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
    Ok((field, Some(metadata.get(field).unwrap_or("5"))))
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
