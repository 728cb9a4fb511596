//! What KEDA 2.20.2 expects of itself: facts of its unit tests, each with the file and the test or data set
//! that it is from.

use serde_json::{Value as Json, json};

use super::external::OpenPart;
use super::{KedaHpa, OpenMetric, check_env_container, unknown_fields};
use crate::snapshot::hpa::HpaSpec;
use crate::snapshot::note::Note;
use crate::snapshot::pod::Pod;

fn object(metadata: Json, spec: Json) -> String {
    let mut whole = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"});
    whole["metadata"] = metadata;
    whole["spec"] = spec;
    whole.to_string()
}

/// A ScaledObject `web` of a Deployment with these fields of its spec.
fn scaled(fields: Json) -> String {
    let mut spec = json!({"scaleTargetRef": {"name": "web"}});
    if let (Some(spec), Json::Object(fields)) = (spec.as_object_mut(), fields) {
        spec.extend(fields);
    }
    object(json!({"name": "web", "namespace": "test"}), spec)
}

fn hpa(json: &str) -> KedaHpa {
    KedaHpa::of(json, None).unwrap_or_else(|refused| panic!("{refused}: {json}"))
}

/// `metrics` as JSON.
fn metrics(json: &str) -> Vec<Json> {
    hpa(json)
        .spec
        .metrics
        .iter()
        .map(|it| serde_json::to_value(it).expect("JSON"))
        .collect()
}

fn prometheus() -> Json {
    json!({"type": "prometheus", "metadata": {"serverAddress": "http://localhost:9090", "query": "up", "threshold": "100"}})
}

fn cron() -> Json {
    json!({"type": "cron", "metadata": {"timezone": "UTC", "start": "0 * * * *", "end": "1 * * * *", "desiredReplicas": "1"}})
}

fn cpu() -> Json {
    json!({"type": "cpu", "metricType": "Utilization", "metadata": {"value": "50"}})
}

/// A ScaledObject in which a trigger has an index.
fn at(index: usize, trigger: &Json) -> String {
    let mut triggers = vec![prometheus(); index];
    triggers.push(trigger.clone());
    scaled(json!({"triggers": triggers}))
}

/// The cases of a table, a JSON object a line.
fn cases(table: &'static str) -> impl Iterator<Item = Json> {
    table
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
}

/// Names of metrics as the scalers' tests expect them, and the targets that follow from the same metadata.
#[test]
fn the_names_of_the_scalers_tests() {
    for case in cases(include_str!("names.jsonl")) {
        let index = case["index"]
            .as_u64()
            .and_then(|index| index.try_into().ok())
            .expect("an index");
        let trigger = json!({"type": case["type"], "metadata": case["metadata"]});
        let expected = json!({"type": "External", "external": {
            "metric": {"name": case["name"], "selector": {"matchLabels": {"scaledobject.keda.sh/name": "web"}}},
            "target": {"type": "AverageValue", "averageValue": case["target"]},
        }});
        assert_eq!(
            metrics(&at(index, &trigger))[index],
            expected,
            "{}",
            case["place"]
        );
    }
}

/// Names, types and values of targets, as KEDA itself answers. (`pkg/scalers`; most have no test there.)
#[test]
fn the_answers_of_keda_itself() {
    let influx = |metadata: Json| {
        let mut whole = json!({"serverURL": "http://a", "query": "q", "thresholdValue": "3"});
        whole
            .as_object_mut()
            .expect("an object")
            .extend(metadata.as_object().expect("one").clone());
        whole
    };
    let jolokia = "http://h:8161/console/jolokia/read/org.apache.activemq.artemis:broker=\"b\",\
                   component=addresses,address=\"a\",subcomponent=queues,queue=\"orders\"/MessageCount";
    let rabbit = |field: &str, value: &str, mode: &str| json!({"queueName": "q", "host": "http://r/", field: value, "mode": mode});
    let pulsar = json!({"adminURL": "http://a", "topic": "t", "subscription": "s"});
    let signalfx = json!({
        "query": "q", "duration": "10", "queryAggregator": "avg", "targetValue": "5",
        "activationTargetValue": "1",
    });
    let sqs = |url: &str| json!({"queueURL": url, "awsRegion": "a"});
    let cloudwatch = json!({
        "namespace": "a", "metricName": "b", "dimensionName": "c", "dimensionValue": "d",
        "targetMetricValue": "1", "minMetricValue": "0", "awsRegion": "e",
        "metricStatPeriod": "120", "metricUnit": "Count/Second",
    });
    let period_unset = json!({
        "projectId": "p", "filter": "f", "valueIfNull": "null", "alignmentPeriodSeconds": "0",
        "alignmentAligner": "anything",
    });
    let kafka = json!({
        "bootstrapServers": "a", "consumerGroup": "b", "topic": "c", "version": "0.11.0.2",
        "partitionLimitation": "1, 3 - 5,7",
    });
    let predictkube = json!({
        "prometheusAddress": "http://a", "query": "up", "threshold": "2", "predictHorizon": "1w2d",
        "queryStep": "-2m", "historyTimeWindow": "7d12h", "authModes": " tls , basic",
    });
    let spool = json!({
        "solaceSempBaseURL": "http://a", "messageVpn": "v", "queueName": "q",
        "messageCountTarget": "7", "messageSpoolUsageTarget": "8796093022208",
    });
    let dynamo = json!({
        "tableName": "t", "keyConditionExpression": "b", "expressionAttributeNames": "{\"#a\": \"b\"}",
        "expressionAttributeValues": "null", "targetValue": "3", "awsRegion": "c",
    });
    let graphite = json!({
        "serverAddress": "http://a", "query": "q", "queryTime": "-1h", "authMode": "basic, basic",
    });
    let beanstalkd = json!({"server": "s", "tube": "t", "value": "3", "timeout": "9999999999999"});
    let average = |value: &str| ("AverageValue", value.to_owned());
    for (type_, metric_type, metadata, name, (target_type, value)) in [
        (
            "influxdb",
            "",
            influx(json!({"organizationName": "org", "database": "db"})),
            "s0-influxdb-org",
            average("3"),
        ),
        (
            "influxdb",
            "",
            influx(json!({"organizationName": "org", "database": "db", "influxVersion": "3"})),
            "s0-influxdb-db",
            average("3"),
        ),
        (
            "influxdb",
            "",
            influx(json!({"influxVersion": "2,3"})),
            "s0-influxdb-",
            average("3"),
        ),
        (
            "selenium-grid",
            "",
            json!({"url": "http://a", "platformName": "linux"}),
            "s0-selenium-grid-linux",
            average("1"),
        ),
        (
            "selenium-grid",
            "",
            json!({"url": "http://a"}),
            "s0-selenium-grid",
            average("1"),
        ),
        (
            "artemis-queue",
            "",
            json!({"restApiTemplate": jolokia}),
            "s0-artemis-\"orders\"",
            average("10"),
        ),
        (
            "pulsar",
            "Utilization",
            pulsar.clone(),
            "s0-pulsar-t-s",
            average("10"),
        ),
        ("pulsar", "Value", pulsar, "s0-pulsar-t-s", average("10")),
        (
            "splunk-observability",
            "Foo",
            signalfx,
            "s0-signalfx",
            ("Value", "5".to_owned()),
        ),
        (
            "rabbitmq",
            "",
            rabbit("queueLength", "0", "Unknown"),
            "s0-rabbitmq-q",
            average("20"),
        ),
        (
            "rabbitmq",
            "",
            rabbit("queueLength", "5", "Unknown"),
            "s0-rabbitmq-q",
            average("5"),
        ),
        (
            "rabbitmq",
            "",
            rabbit("value", "0.0", "Unknown"),
            "s0-rabbitmq-q",
            average("20"),
        ),
        (
            "rabbitmq",
            "Value",
            rabbit("value", "5", "QueueLength"),
            "s0-rabbitmq-q",
            ("Value", "5".to_owned()),
        ),
        (
            "aws-sqs-queue",
            "",
            sqs("https://h:port/1/q"),
            "s0-aws-sqs-https---h-port-1-q",
            average("5"),
        ),
        (
            "aws-sqs-queue",
            "",
            sqs("https://h/1/q%zz"),
            "s0-aws-sqs-https---h-1-q-zz",
            average("5"),
        ),
        (
            "aws-sqs-queue",
            "",
            sqs("https://h:443/1/q%41"),
            "s0-aws-sqs-qA",
            average("5"),
        ),
        (
            "aws-cloudwatch",
            "",
            cloudwatch,
            "s0-aws-cloudwatch",
            average("1"),
        ),
        (
            "gcp-stackdriver",
            "",
            period_unset,
            "s0-gcp-stackdriver-p",
            average("5"),
        ),
        ("kafka", "", kafka, "s0-kafka-c", average("10")),
        (
            "predictkube",
            "",
            predictkube,
            "s0-predictkube-predictkube_metric",
            average("2"),
        ),
        (
            "aws-dynamodb",
            "",
            dynamo,
            "s0-aws-dynamodb-t",
            average("3"),
        ),
        ("graphite", "", graphite, "s0-graphite", average("100")),
        (
            "beanstalkd",
            "",
            beanstalkd,
            "s0-beanstalkd-t",
            average("3"),
        ),
        (
            "solace-event-queue",
            "",
            spool,
            "s0-solace-q-msgcount",
            average("7"),
        ),
    ] {
        let trigger = json!({"type": type_, "metadata": metadata, "metricType": metric_type});
        let made = metrics(&scaled(json!({"triggers": [trigger]})));
        let field = if target_type == "Value" {
            "value"
        } else {
            "averageValue"
        };
        let expected = json!({"type": target_type, field: value});
        let [only] = &made[..] else {
            panic!("{made:?}")
        };
        assert_eq!(
            only["external"]["metric"]["name"], name,
            "{type_} {metadata}"
        );
        assert_eq!(only["external"]["target"], expected, "{type_} {metadata}");
    }
}

/// A list of policies that is empty does not reach the API server, and a target that is not a number makes no
/// composite metric (`hpa.go`; `json:"policies,omitempty"`).
#[test]
fn what_keda_drops() {
    let spec = json!({
        "triggers": [cron()],
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleUp": {"policies": []}}}},
    });
    let made = serde_json::to_value(hpa(&scaled(spec)).spec.behavior).expect("JSON");
    assert_eq!(made, json!({"scaleUp": {}}));
    let composed = |target: &str| {
        let mut trigger = prometheus();
        trigger["name"] = json!("x");
        let modifiers = json!({"formula": "x", "target": target});
        let spec = json!({"triggers": [trigger], "advanced": {"scalingModifiers": modifiers}});
        metrics(&scaled(spec))[0]["external"].clone()
    };
    assert_eq!(composed("NaN")["metric"]["name"], "s0-prometheus");
    for (target, expected) in [
        ("1_000", "1k"),
        ("0x1p4", "16"),
        ("+0X.8p1", "1"),
        ("0xA.8P-1", "5250m"),
    ] {
        assert_eq!(
            composed(target)["target"]["averageValue"],
            expected,
            "{target}"
        );
    }
}

/// The API server drops keys without a value, as in the examples of KEDA's documentation.
#[test]
fn a_key_without_a_value_is_absent() {
    let with = |key: &str| {
        let mut trigger = prometheus();
        trigger["metadata"][key] = json!(null);
        at(0, &trigger)
    };
    assert_eq!(metrics(&with("namespace")), metrics(&at(0, &prometheus())));
    let refused = KedaHpa::of(&with("threshold"), None).expect_err("refused");
    assert_eq!(
        refused.to_string(),
        "spec.triggers[0].metadata.threshold: required"
    );
    let metadata = json!({"name": "web", "labels": {"a": null}, "annotations": {"a": null}});
    let spec = json!({"scaleTargetRef": {"name": "web"}, "triggers": [cron()]});
    assert_eq!(hpa(&object(metadata, spec)).name, "keda-hpa-web");
}

/// A value from a TriggerAuthentication comes before the metadata's (`order` in the `keda` tag). For `mysql`, this only
/// applies to a whole connection string (`parseMySQLMetadata`).
#[test]
fn authentication_comes_before_the_metadata() {
    let notes = |type_: &str, metadata: Json, reference: Json| {
        let trigger = json!({"type": type_, "metadata": metadata, "authenticationRef": reference});
        hpa(&scaled(
            json!({"minReplicaCount": 1, "triggers": [trigger]}),
        ))
        .notes
    };
    let first = |field: &str| {
        Note::new(format!(
            "spec.triggers[0]: KEDA prefers a {field} from authenticationRef, which is not read and assumed to have none"
        ))
    };
    let couch = json!({"dbName": "d", "query": "q", "queryValue": "3"});
    let reference = json!({"name": "auth"});
    assert_eq!(
        notes("couchdb", couch.clone(), reference.clone()),
        [first("dbName")]
    );
    assert_eq!(notes("couchdb", couch, json!(null)), []);
    let search = json!({
        "addresses": "a", "index": "i", "valueLocation": "v", "searchTemplateName": "s", "targetValue": "1",
    });
    let expected = [first("targetValue"), first("searchTemplateName")];
    assert_eq!(notes("elasticsearch", search, reference.clone()), expected);
    let mysql = json!({"query": "q", "queryValue": "3", "dbName": "d"});
    assert_eq!(
        notes("mysql", mysql.clone(), reference),
        [first("connectionString")]
    );
    assert_eq!(notes("mysql", mysql, json!(null)), []);
}

/// Where scalers look for what decides on names and targets: the `order` of each `keda` tag.
#[test]
fn each_field_has_its_own_sources() {
    let answer = |type_: &str, metadata: Json, reference: Json| -> String {
        let trigger = json!({"type": type_, "metadata": metadata, "authenticationRef": reference});
        let object = scaled(json!({"minReplicaCount": 1, "triggers": [trigger]}));
        match KedaHpa::of(&object, None) {
            Err(refused) => refused.to_string(),
            Ok(made) if made.open.is_empty() => made.spec.metrics[0].name().to_owned(),
            Ok(made) => match &made.open[0].part {
                OpenPart::Name { why, .. } | OpenPart::Target { why, .. } => {
                    format!("OfKeda({why:?})")
                }
                part => format!("{part:?}"),
            },
        }
    };
    let auth = json!({"name": "auth"});
    let of_environment = |field: &str| {
        let why = format!("{field}FromEnv reads it from the container's environment");
        format!("OfKeda({why:?})")
    };
    let of_authentication =
        |field: &str| format!("OfKeda(\"{field} may be in what authenticationRef leads to\")");
    let required = |field: &str| format!("spec.triggers[0].metadata.{field}: required");
    let search = |field: &str, value: &str| {
        let mut all = json!({"addresses": "a", "index": "i", "valueLocation": "v"});
        all[field] = json!(value);
        all
    };
    let with = |mut all: Json, field: &str, value: &str| {
        all[field] = json!(value);
        all
    };
    let (sql, couch) = (
        json!({"query": "q", "queryValue": "3"}),
        json!({"queryValue": "3"}),
    );
    let influx = json!({"serverURL": "u", "query": "q", "thresholdValue": "1"});
    let third = with(influx.clone(), "influxVersion", "3");
    let temporal = json!({"endpoint": "e", "taskQueue": "t"});
    for (type_, metadata, reference, expected) in [
        // order=triggerMetadata;resolvedEnv
        (
            "gcp-pubsub",
            json!({}),
            auth.clone(),
            required("subscriptionName"),
        ),
        (
            "gcp-pubsub",
            json!({"topicNameFromEnv": "T"}),
            json!(null),
            of_environment("topicName"),
        ),
        (
            "temporal",
            temporal.clone(),
            auth.clone(),
            "s0-temporal-default-t".to_owned(),
        ),
        (
            "temporal",
            with(temporal, "namespaceFromEnv", "N"),
            json!(null),
            of_environment("namespace"),
        ),
        (
            "kafka",
            json!({"bootstrapServers": "b", "consumerGroup": "g"}),
            auth.clone(),
            "s0-kafka-g-topics".to_owned(),
        ),
        // order=triggerMetadata;authParams
        (
            "mysql",
            with(sql.clone(), "dbNameFromEnv", "D"),
            json!(null),
            "s0-mysql-".to_owned(),
        ),
        (
            "mysql",
            with(sql.clone(), "dbName", "d"),
            auth.clone(),
            "s0-mysql-d".to_owned(),
        ),
        (
            "mysql",
            sql.clone(),
            auth.clone(),
            of_authentication("connectionString"),
        ),
        (
            "mysql",
            with(with(sql, "dbName", "d"), "connectionStringFromEnv", "C"),
            json!(null),
            of_environment("connectionString"),
        ),
        (
            "influxdb",
            with(third.clone(), "databaseFromEnv", "D"),
            json!(null),
            required("database"),
        ),
        (
            "influxdb",
            third,
            auth.clone(),
            of_authentication("database"),
        ),
        // order=triggerMetadata;resolvedEnv;authParams
        (
            "influxdb",
            with(influx.clone(), "organizationNameFromEnv", "O"),
            json!(null),
            of_environment("organizationName"),
        ),
        (
            "influxdb",
            influx,
            json!(null),
            required("organizationName"),
        ),
        // order=authParams;triggerMetadata
        (
            "couchdb",
            with(couch.clone(), "dbNameFromEnv", "D"),
            json!(null),
            required("dbName"),
        ),
        (
            "couchdb",
            with(
                with(couch.clone(), "dbNameFromEnv", "D"),
                "connectionStringFromEnv",
                "C",
            ),
            json!(null),
            "s0-coucdb-".to_owned(),
        ),
        ("couchdb", couch, auth.clone(), of_authentication("dbName")),
        (
            "elasticsearch",
            with(search("targetValue", "1"), "searchTemplateNameFromEnv", "T"),
            json!(null),
            required("searchTemplateName"),
        ),
        (
            "elasticsearch",
            with(search("query", "q"), "targetValueFromEnv", "T"),
            json!(null),
            required("targetValue"),
        ),
        (
            "opensearch",
            search("query", "q"),
            auth.clone(),
            of_authentication("targetValue"),
        ),
        // order=authParams;resolvedEnv: a value in the metadata does not count
        (
            "mysql",
            json!({"query": "q", "queryValue": "3", "dbName": "d", "connectionString": "x/y"}),
            json!(null),
            "s0-mysql-d".to_owned(),
        ),
        // order=resolvedEnv;authParams;triggerMetadata: another value is read
        (
            "azure-pipelines",
            json!({"poolID": "7", "organizationURL": "https://a/", "organizationURLFromEnv": "U"}),
            json!(null),
            "s0-azure-pipelines-7".to_owned(),
        ),
    ] {
        assert_eq!(
            answer(type_, metadata.clone(), reference),
            expected,
            "{type_} {metadata}"
        );
    }
}

/// What single fields may be: `Validate` and the parsers of the scalers.
#[test]
fn values_of_single_fields() {
    let is_taken = |type_: &str, mut metadata: Json, field: &str, value: &str| {
        metadata[field] = json!(value);
        let trigger = json!({"type": type_, "metadata": metadata});
        let object = scaled(json!({"minReplicaCount": 1, "triggers": [trigger]}));
        KedaHpa::of(&object, None)
            .map(|made| made.spec.metrics[0].clone())
            .ok()
    };
    let dynamo = |names: &str| {
        json!({
            "tableName": "t", "keyConditionExpression": "k", "expressionAttributeNames": names,
            "expressionAttributeValues": "null", "targetValue": "3", "awsRegion": "r",
        })
    };
    let dynamo = dynamo("{\"#a\": \"b\"}");
    let kafka = json!({"bootstrapServers": "a", "consumerGroup": "b", "topic": "c"});
    let rabbit = json!({"queueName": "q", "host": "http://r/", "value": "5"});
    let blob = json!({"blobContainerName": "c"});
    let queue = json!({"queueName": "q"});
    let pipelines = json!({"poolID": "7"});
    let datadog = json!({
        "useClusterAgentProxy": "true", "datadogMetricName": "m", "datadogMetricNamespace": "n",
        "targetValue": "2",
    });
    let direct = json!({"targetValue": "2"});
    let names = "expressionAttributeNames";
    let values = "expressionAttributeValues";
    let limitation = "partitionLimitation";
    for (type_, metadata, field, good, wrong) in [
        (
            "aws-dynamodb",
            &dynamo,
            names,
            &[r##"{"#a": "b"}"##][..],
            &["{}", r##"{"#a": 1}"##, "null"][..],
        ),
        (
            "aws-dynamodb",
            &dynamo,
            values,
            &[
                "null",
                "{}",
                r#"{":a": {"S": "b"}, ":c": {"N": "1"}}"#,
                r#"{":a": {"BOOL": true}, ":b": {"NULL": 1}, ":c": {}}"#,
                r#"{":a": {"L": [{"S": "b"}, {"M": {"c": {"B": "d"}}}]}}"#,
            ],
            &[
                "[]",
                r#"{":a": "b"}"#,
                r#"{":a": {"N": 1}}"#,
                r#"{":a": {"S": null}}"#,
                r#"{":a": {"X": "b"}}"#,
                r#"{":a": {"L": "b"}}"#,
                r#"{":a": {"M": {"c": "d"}}}"#,
            ],
        ),
        (
            "apache-kafka",
            &kafka,
            limitation,
            &["1", "1, 3 - 5,7", "5-1"],
            &["01", "+1", "1-02", "-1", "1-2-3", "1,", "null"],
        ),
        (
            "kafka",
            &kafka,
            limitation,
            &["01", "+1", "1, 3 - 5,7"],
            &["a", "-1", "1-2-3", "1,"],
        ),
        (
            "rabbitmq",
            &rabbit,
            "mode",
            &["QueueLength", "MessageRate"],
            &["Unknown", "Length", "queueLength"],
        ),
        (
            "azure-blob",
            &blob,
            "globPattern",
            &["*.json", "/[a-z]/**"],
            &["[a", "[]"],
        ),
        (
            "azure-blob",
            &blob,
            "cloud",
            &["", "azurecloud", "PRIVATE"],
            &[" ", " AzureCloud", "Mars"],
        ),
        (
            "azure-queue",
            &queue,
            "cloud",
            &["", "AzureChinaCloud"],
            &[" ", "AzureChinaCloud "],
        ),
        (
            "azure-pipelines",
            &pipelines,
            "organizationURL",
            &["https://a/b", "b"],
            &["https://a/b/"],
        ),
        (
            "datadog",
            &datadog,
            "query",
            &["", "sum:x{*}"],
            &["sum:x", "sum:x{a\n}"],
        ),
        (
            "datadog",
            &direct,
            "query",
            &["sum:x{a}", "a\nb{c}"],
            &["sum:x}{", "sum:x{a\n}"],
        ),
    ] {
        for value in good {
            let taken = is_taken(type_, metadata.clone(), field, value);
            assert!(taken.is_some(), "{type_} {field} {value}");
        }
        for value in wrong {
            let taken = is_taken(type_, metadata.clone(), field, value);
            assert_eq!(taken, None, "{type_} {field} {value}");
        }
    }
    let kind = |kind: Json| {
        let mut trigger = prometheus();
        trigger["authenticationRef"] = json!({"name": "a", "kind": kind});
        let object = scaled(json!({"minReplicaCount": 1, "triggers": [trigger]}));
        KedaHpa::of(&object, None)
            .map(|_| ())
            .map_err(|refused| refused.to_string())
    };
    assert_eq!(kind(json!("ClusterTriggerAuthentication")), Ok(()));
    let expected = "spec.triggers[0].authenticationRef.kind: \"\" is not one of TriggerAuthentication, \
                    ClusterTriggerAuthentication";
    assert_eq!(kind(json!("")), Err(expected.to_owned()));
}

/// What `redis-streams` counts: a consumer group may be called 0 (`Validate` in `redis_streams_scaler.go`).
#[test]
fn what_streams_are_counted_by() {
    for (fields, expected) in [
        (json!({"consumerGroup": "0"}), "8"),
        (json!({"consumerGroup": "g", "lagCount": "0"}), "8"),
        (json!({"consumerGroup": "g", "lagCount": "4"}), "4"),
        (json!({"lagCount": "4"}), "9"),
    ] {
        let mut metadata = json!({
            "address": "r:1", "stream": "s", "pendingEntriesCount": "8", "streamLength": "9",
        });
        metadata
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let trigger = json!({"type": "redis-streams", "metadata": metadata});
        let made = metrics(&scaled(json!({"triggers": [trigger]})));
        assert_eq!(
            made[0]["external"]["target"]["averageValue"], expected,
            "{fields}"
        );
    }
}

/// The metric of `kubernetes-workload` is named after the namespace (`GetMetricSpecForScaling`): the manifest's, or the
/// one where it is applied.
#[test]
fn the_namespace_of_a_workload() {
    let name = |metadata: Json, known: Option<&str>, running: &str| {
        let metrics = json!({"podSelector": "a=b", "value": "7"});
        let trigger = json!({"type": "kubernetes-workload", "metadata": metrics});
        let spec = json!({"scaleTargetRef": {"name": "web"}, "triggers": [trigger, prometheus()]});
        let mut made = KedaHpa::of(&object(metadata, spec), known).expect("an HPA");
        let none = HpaSpec::default();
        let notes = OpenMetric::fill(&made.open, &mut made.spec, Some(&none), running);
        assert_eq!(notes, Ok(vec![]));
        assert_eq!(made.spec.metrics[1].name(), "s1-prometheus");
        made.spec.metrics[0].name().to_owned()
    };
    let stated = json!({"name": "web", "namespace": "a"});
    assert_eq!(name(stated, Some("b"), "c"), "s0-workload-a");
    assert_eq!(
        name(json!({"name": "web"}), Some("b"), "c"),
        "s0-workload-b"
    );
    assert_eq!(name(json!({"name": "web"}), None, "c"), "s0-workload-c");
}

/// The container whose environment triggers refer to (`ResolveContainerEnv` in `scale_resolvers.go`).
#[test]
fn the_container_of_the_environment() {
    let spec = json!({
        "scaleTargetRef": {"name": "web", "envSourceContainerName": "app"}, "triggers": [cron()],
    });
    let made = hpa(&object(json!({"name": "web"}), spec));
    let template = |container: &str| -> Pod {
        serde_json::from_value(json!({"spec": {"containers": [{"name": container}]}}))
            .expect("a pod")
    };
    let check = |pod: Option<&Pod>| {
        let refused = check_env_container(made.env_container.as_deref(), pod);
        refused.map_err(|refused| (refused.to_string(), refused.hint))
    };
    assert_eq!(check(None), Ok(()));
    assert_eq!(check(Some(&template("app"))), Ok(()));
    let path = "spec.scaleTargetRef.envSourceContainerName";
    let error = (
        format!("{path}: the target has no container \"app\""),
        Some("it has web".to_owned()),
    );
    assert_eq!(check(Some(&template("web"))), Err(error));
}

/// The HPAs of more than twenty ScaledObjects.
#[test]
fn the_hpas_of_the_operators_tests() {
    for mut case in cases(include_str!("hpas.jsonl")) {
        case["hpa"]["scaleTargetRef"] =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        let made = serde_json::to_value(hpa(&scaled(case["spec"].take())).spec).expect("JSON");
        assert_eq!(made, case["hpa"], "{}", case["place"]);
    }
}

/// `scaledobject_controller_test.go`, the tests of `paused-scale-in` and `paused-scale-out`; any value but a
/// no counts (`scaledobject_types_test.go`, TestNeedToBePausedByAnnotation).
#[test]
fn an_annotation_disables_a_direction() {
    let made = |annotations: Json, behavior: Json| {
        let spec = json!({
            "scaleTargetRef": {"name": "web"}, "triggers": [cron()],
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}},
        });
        let hpa = hpa(&object(
            json!({"name": "web", "annotations": annotations}),
            spec,
        ));
        serde_json::to_value(hpa.spec.behavior).expect("JSON")
    };
    for (annotations, behavior, expected) in [
        (
            json!({"autoscaling.keda.sh/paused-scale-in": "true"}),
            json!(null),
            json!({"scaleDown": {"selectPolicy": "Disabled"}}),
        ),
        (
            json!({"autoscaling.keda.sh/paused-scale-out": "true"}),
            json!(null),
            json!({"scaleUp": {"selectPolicy": "Disabled"}}),
        ),
        (
            json!({"autoscaling.keda.sh/paused-scale-in": "yes"}),
            json!({"scaleDown": {"selectPolicy": "Min"}}),
            json!({"scaleDown": {"selectPolicy": "Disabled"}}),
        ),
        (
            json!({"autoscaling.keda.sh/paused-scale-in": "false"}),
            json!({"scaleDown": {"selectPolicy": "Min"}}),
            json!({"scaleDown": {"selectPolicy": "Min"}}),
        ),
    ] {
        assert_eq!(
            made(annotations.clone(), behavior),
            expected,
            "{annotations}"
        );
    }
}

/// `getHPAName` and `getDefaultHpaName` in `hpa.go`; `ParseGVKR` in `gvkr.go`.
#[test]
fn names_and_targets() {
    let spec = json!({
        "scaleTargetRef": {"name": "web", "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"},
        "advanced": {"horizontalPodAutoscalerConfig": {"name": "mine"}}, "triggers": [cron()],
    });
    let named = hpa(&object(json!({"name": "web"}), spec));
    assert_eq!((&*named.name, named.namespace), ("mine", None));
    assert_eq!(named.spec.scale_target_ref.to_string(), "Rollout/web");
    assert_eq!(
        named.spec.scale_target_ref.api_version,
        "argoproj.io/v1alpha1"
    );
    let given = hpa(&scaled(json!({"triggers": [cron()]})));
    assert_eq!(
        (&*given.name, given.namespace.as_deref()),
        ("keda-hpa-web", Some("test"))
    );
}

/// What KEDA or the API server refuses, each with the field.
#[test]
fn what_is_refused() {
    for mut case in cases(include_str!("refused.jsonl")) {
        let json = scaled(case["spec"].take());
        let refused = KedaHpa::of(&json, None)
            .map(|_| ())
            .map_err(|refused| json!(refused.to_string()));
        assert_eq!(refused, Err(case["refused"].take()), "{json}");
    }
    for (metadata, expected) in [
        (json!({}), "metadata.name: required"),
        (
            json!({"name": "w".repeat(64)}),
            "metadata.name: the name has 64 characters, at most 63 fit",
        ),
        // scaledobject_webhook_test.go, "... and the generated HPA name would exceed the label value limit"
        (
            json!({"name": "w".repeat(55)}),
            "metadata.name: the name of its HPA has 64 characters, at most 63 fit",
        ),
        // scaledobject_controller_test.go, "deletes hpa when scaledobject has pause annotation"
        (
            json!({"name": "web", "annotations": {"autoscaling.keda.sh/paused": "true"}}),
            "metadata.annotations[autoscaling.keda.sh/paused]: KEDA deletes the HPA of a paused ScaledObject",
        ),
        (
            json!({"name": "web", "annotations": {"autoscaling.keda.sh/paused-replicas": "0"}}),
            "metadata.annotations[autoscaling.keda.sh/paused-replicas]: KEDA deletes the HPA of a paused ScaledObject",
        ),
    ] {
        let json = object(
            metadata,
            json!({"scaleTargetRef": {"name": "web"}, "triggers": [cron()]}),
        );
        let refused = KedaHpa::of(&json, None)
            .map(|_| ())
            .map_err(|refused| refused.to_string());
        assert_eq!(refused, Err(expected.to_owned()), "{json}");
    }
}

/// No value of a trigger's metadata is in an HPA or a refusal, except where it names a metric or is a target.
#[test]
fn secrets_stay_inside() {
    const SECRET: &str = "hunter2";
    let whole = json!({"triggers": [{"type": "rabbitmq", "metadata": {
        "queueName": "orders", "host": format!("amqp://user:{SECRET}@rabbit"), "password": SECRET, "mode": "QueueLength", "value": "5",
    }}]});
    assert!(!format!("{:?}", hpa(&scaled(whole.clone()))).contains(SECRET));
    for (field, wrong) in [
        ("value", json!(5)),
        ("host", json!([SECRET])),
        ("password", json!({"a": SECRET})),
        ("mode", json!(SECRET)),
    ] {
        let mut spec = whole.clone();
        spec["triggers"][0]["metadata"][field] = wrong;
        let refused = KedaHpa::of(&scaled(spec), None).expect_err("refused");
        assert!(!format!("{refused:?}").contains(SECRET), "{refused}");
    }
}

/// Names that only KEDA knows come from the running HPA: by the index, with the selector.
#[test]
fn open_names_come_from_the_running_hpa() {
    let running = |names: &[&str]| -> HpaSpec {
        let metric = |name: &&str| {
            json!({"type": "External", "external": {
                "metric": {"name": name, "selector": {"matchLabels": {"scaledobject.keda.sh/name": "web"}}},
                "target": {"type": "AverageValue", "averageValue": "7"},
            }})
        };
        let metrics: Vec<Json> = names.iter().map(metric).collect();
        serde_json::from_value(json!({"maxReplicas": 1, "metrics": metrics})).expect("a spec")
    };
    let mut made = hpa(&scaled(json!({"triggers": [
        prometheus(),
        {"type": "external", "metadata": {"scalerAddress": "scaler:9090"}},
        {"type": "kafka", "metadata": {"bootstrapServers": "a", "consumerGroup": "b", "topicFromEnv": "TOPIC"}},
        {"type": "nsq", "metadata": {"nsqLookupdHTTPAddresses": "a", "topic": "b", "channel": "c", "depthThresholdFromEnv": "DEPTH"}},
        cpu(),
    ]})));
    let notes = OpenMetric::fill(
        &made.open,
        &mut made.spec,
        Some(&running(&[
            "s0-prometheus",
            "s1-a",
            "s1-b",
            "s2-kafka-orders",
            "s3-nsq-b-c",
            "s11-other",
        ])),
        "test",
    );
    let named = |trigger: &str, taken: &str, metrics: &str| {
        Note::new(format!(
            "spec.triggers{trigger}: the name of its metric {taken} from the running HPA, because only KEDA knows: {metrics}"
        ))
    };
    let both = "and the number of its target are taken";
    let expected = vec![
        named("[1] (external)", both, "s1-a, s1-b"),
        named("[2] (kafka)", "is taken", "s2-kafka-orders"),
        named("[3] (nsq)", both, "s3-nsq-b-c"),
    ];
    assert_eq!(notes, Ok(expected));
    let of = |metric: &crate::snapshot::hpa::MetricSpec| {
        let target = metric.target().and_then(|it| it.average_value.as_ref());
        format!(
            "{} {}",
            metric.name(),
            target.map(ToString::to_string).unwrap_or_default()
        )
    };
    let all: Vec<String> = made.spec.metrics.iter().map(of).collect();
    let external = [
        "s0-prometheus 100",
        "s1-a 7",
        "s1-b 7",
        "s2-kafka-orders 10",
        "s3-nsq-b-c 7",
    ];
    assert_eq!(all, [&external[..], &["cpu "]].concat());

    // The trigger decides on the type, and the scaler on the number.
    for (metric_type, target) in [
        ("", json!({"type": "AverageValue", "averageValue": "7"})),
        ("Value", json!({"type": "Value", "value": "7"})),
    ] {
        let metadata = json!({"scalerAddress": "scaler:9090"});
        let trigger = json!({"type": "external", "metricType": metric_type, "metadata": metadata});
        let mut made = hpa(&scaled(json!({"triggers": [trigger]})));
        let filled = OpenMetric::fill(
            &made.open,
            &mut made.spec,
            Some(&running(&["s0-a"])),
            "test",
        );
        assert!(filled.is_ok());
        let made = serde_json::to_value(made.spec.metrics[0].target()).expect("JSON");
        assert_eq!(made, target, "{metric_type}");
    }

    // Without a running HPA, another name stands in for an unknown one, but no number stands in for a target.
    let fill = |trigger: Json, running: Option<&HpaSpec>| {
        let mut made = hpa(&scaled(json!({"triggers": [trigger]})));
        let filled = OpenMetric::fill(&made.open, &mut made.spec, running, "test");
        filled.map(|notes| (notes, made.spec.metrics.iter().map(of).collect::<Vec<_>>()))
    };
    let topic = json!({
        "type": "kafka",
        "metadata": {"bootstrapServers": "a", "consumerGroup": "b", "topicFromEnv": "TOPIC"},
    });
    let stands = Note::new(
        "spec.triggers[0] (kafka): s0-kafka-unknown stands in for the name of its metric, which only KEDA knows: \
         topicFromEnv reads it from the container's environment",
    );
    let expected = Ok((vec![stands], vec!["s0-kafka-unknown 10".to_owned()]));
    assert_eq!(fill(topic.clone(), None), expected);
    let refused = fill(topic, Some(&running(&["s1-a"]))).expect_err("refused");
    let message = "spec.triggers[0]: unknown name of the metric: topicFromEnv reads it from the container's \
                   environment, and the running HPA has no metric s0-...";
    let hint = "state the value in the file, or use --hpa with the HPA that KEDA makes";
    assert_eq!(
        (&*refused.to_string(), refused.hint.as_deref()),
        (message, Some(hint))
    );
    let external = json!({"type": "external", "metadata": {"scalerAddress": "scaler:9090"}});
    let lacks = |running| {
        let refused = fill(external.clone(), running).expect_err("refused");
        (refused.to_string(), refused.hint)
    };
    let message = "spec.triggers[0]: unknown target of the metric: only the scaler itself knows its metrics and \
                   targets";
    // Without a running HPA, none is spoken of.
    let hint = |flag: &str| Some(format!("use {flag} with the HPA that KEDA makes"));
    assert_eq!(lacks(None), (message.to_owned(), hint("-f")));
    let also = format!("{message}, and the running HPA has no metric s0-...");
    assert_eq!(lacks(Some(&running(&["s1-a"]))), (also, hint("--hpa")));
}

/// What KEDA does itself, only where the ScaledObject has it.
#[test]
fn what_is_outside_of_the_hpa() {
    let notes = |spec: Json| hpa(&scaled(spec)).notes;
    assert_eq!(
        notes(json!({"minReplicaCount": 1, "triggers": [prometheus()]})),
        []
    );
    assert_eq!(
        notes(json!({"minReplicaCount": 1, "triggers": [cpu()]})),
        []
    );
    let rests = |replicas, cooldown| {
        Note::new(format!(
            "KEDA itself scales to {replicas} replicas when no trigger for an external metric has been active for \
             {cooldown}s, and back; that is not predicted"
        ))
    };
    assert_eq!(
        notes(json!({"triggers": [prometheus(), cpu()]})),
        [rests(0, 300)]
    );
    let idle = json!({"idleReplicaCount": 0, "minReplicaCount": 2, "cooldownPeriod": 60, "triggers": [prometheus()]});
    assert_eq!(notes(idle), [rests(0, 60)]);
    let mut trigger = prometheus();
    trigger["metadata"]["activationThreshold"] = json!("5");
    trigger["useCachedMetrics"] = json!(true);
    let all = json!({
        "minReplicaCount": 1, "pollingInterval": 10, "cooldownPeriod": 60, "triggers": [trigger],
        "fallback": {"failureThreshold": 3, "replicas": 6},
    });
    let fields = [
        "spec.pollingInterval",
        "spec.cooldownPeriod",
        "spec.triggers[0].metadata.activationThreshold",
        "spec.triggers[0].useCachedMetrics",
    ];
    let falls_back = || {
        Note::new(
            "spec.fallback is not predicted: once a trigger has failed more than 3 times, KEDA reports a value of \
             its own (6 replicas)",
        )
    };
    let not_in_hpa = format!(
        "used by KEDA itself and not part of the HPA: {}",
        fields.join(", ")
    );
    let expected = [falls_back(), Note::new(not_in_hpa)];
    assert_eq!(notes(all), expected);

    // Only fields that the scaler reads are used.
    let mut trigger = prometheus();
    trigger["metadata"]["activationFoo"] = json!("5");
    assert_eq!(
        notes(json!({"minReplicaCount": 1, "triggers": [trigger]})),
        []
    );

    // `HasValidFallback` reads the target of the composite metric as a whole number.
    let fallback = |target: &str| {
        let mut trigger = prometheus();
        trigger["name"] = json!("p");
        let notes = notes(json!({
            "minReplicaCount": 1, "triggers": [trigger],
            "fallback": {"failureThreshold": 3, "replicas": 6},
            "advanced": {"scalingModifiers": {"formula": "p", "target": target}},
        }));
        notes.last().cloned()
    };
    assert_eq!(fallback("2"), Some(falls_back()));
    let no_fallback = "spec.fallback has no effect: for it, KEDA needs a whole number in \
                       spec.advanced.scalingModifiers.target, which is \"2.5\"";
    assert_eq!(fallback("2.5"), Some(Note::new(no_fallback)));
}

/// What annotations change of that (`RequestScale`, `scaleToZeroOrIdle` and `scaleFromZeroOrIdle` in
/// `scale_scaledobjects.go`).
#[test]
fn an_annotation_keeps_keda_from_scaling() {
    let rests = |annotation: &str, value: &str| {
        let metadata = json!({"name": "web", "annotations": {annotation: value}});
        let spec = json!({"scaleTargetRef": {"name": "web"}, "triggers": [prometheus()]});
        let rests = hpa(&object(metadata, spec))
            .notes
            .into_iter()
            .filter(|note| note.text.starts_with("KEDA itself scales to"))
            .map(|note| note.text.contains(", and back;"));
        rests.collect::<Vec<_>>()
    };
    for (annotation, expected) in [
        ("autoscaling.keda.sh/force-activation", &[][..]),
        ("autoscaling.keda.sh/paused-scale-in", &[]),
        ("autoscaling.keda.sh/paused-scale-out", &[false]),
        ("example.com/other", &[true]),
    ] {
        assert_eq!(rests(annotation, "true"), expected, "{annotation}");
        assert_eq!(rests(annotation, "false"), [true], "{annotation}");
    }
}

/// KEDA ignores a key of the metadata that no scaler reads. It is named if it was probably meant as another one.
#[test]
fn keys_that_no_scaler_reads() {
    let kafka = |more: Json| {
        let mut all = json!({"bootstrapServers": "a", "consumerGroup": "b", "topic": "c"});
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"type": "kafka", "metadata": all})
    };
    let at = |key: &str| format!("spec.triggers[0].metadata.{key}");
    let not_read = |(key, meant): (&str, &str)| {
        format!("{}: KEDA does not read it; {meant} may be meant", at(key))
    };
    let unread = |trigger: Json| {
        let object = scaled(json!({"minReplicaCount": 1, "triggers": [trigger]}));
        let notes = KedaHpa::of(&object, None)
            .expect("an HPA")
            .notes
            .into_iter();
        let texts = notes.map(|note| note.text);
        let unread = texts.filter(|text| text.contains("KEDA does not read it"));
        unread.collect::<Vec<_>>()
    };
    for (more, expected) in [
        (
            json!({"lagTreshold": "5"}),
            vec![("lagTreshold", "lagThreshold")],
        ),
        (
            json!({"threshold": "5"}),
            vec![("threshold", "lagThreshold")],
        ),
        (json!({"lagThreshold": "5", "lagTreshold": "6"}), vec![]),
        (
            json!({"madeUp": "5", "activationLagThreshold": "1"}),
            vec![],
        ),
        // A field that is not read from there, but from elsewhere.
        (
            json!({"lagThresholdFromEnv": "LAG"}),
            vec![("lagThresholdFromEnv", "lagThreshold")],
        ),
        (json!({"topicFromEnv": "TOPIC"}), vec![]),
    ] {
        let expected = expected.into_iter().map(not_read);
        assert_eq!(unread(kafka(more)), expected.collect::<Vec<_>>());
    }
    let mysql = json!({"query": "q", "queryValue": "3", "dbName": "d", "password": "p"});
    assert_eq!(
        unread(json!({"type": "mysql", "metadata": mysql})),
        [not_read(("password", "passwordFromEnv"))]
    );
    let sumo = json!({"host": "https://a", "query.A": "q", "query.B": "r", "resultQueryRowID": "A",
        "quantization": "1s", "queryType": "metrics", "timerange": "5m", "timezone": "UTC",
        "threshold": "1", "resultQuery": "A"});
    let none = Vec::<String>::new();
    assert_eq!(unread(json!({"type": "sumologic", "metadata": sumo})), none);

    let mut trigger = cron();
    trigger["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("desiredReplicas");
    trigger["metadata"]["replicas"] = json!("5");
    let object = scaled(json!({"minReplicaCount": 1, "triggers": [trigger]}));
    let refused = KedaHpa::of(&object, None).expect_err("no target");
    assert_eq!(refused.to_string(), at("desiredReplicas") + ": required");
    let hint = "KEDA does not read replicas: desiredReplicas may be meant";
    assert_eq!(refused.hint.as_deref(), Some(hint));

    // One that is read was not meant as another.
    let resource = json!({"resourceName": "n", "key": "k", "targetValue": "1"});
    let trigger = json!({"type": "kubernetes-resource", "metadata": resource});
    let refused = KedaHpa::of(&scaled(json!({"triggers": [trigger]})), None).expect_err("no kind");
    assert_eq!(
        (refused.to_string(), refused.hint),
        (at("resourceKind") + ": required", None)
    );
}

/// Unknown fields are named with what may be meant.
#[test]
fn fields_that_there_are_not() {
    let unknown = unknown_fields(&scaled(
        json!({"minReplicaCout": 1, "triggers": [{"type": "cron", "metadata": cron()["metadata"], "metrictype": "Value"}]}),
    ));
    let unknown = unknown.unwrap().messages();
    assert_eq!(
        unknown,
        [
            r#"unknown field "spec.minReplicaCout", did you mean "spec.minReplicaCount"?"#,
            r#"unknown field "spec.triggers[0].metrictype", did you mean "spec.triggers[0].metricType"?"#,
        ]
    );
}
