//! The causes for which the API server would reject a workload, for the parts on which an answer depends:
//! its names and labels, its strategy, its selector and the labels of its template, and the names and images of
//! containers. [`super::resources`] checks requests and limits. Follows `ValidateDeploymentSpec`,
//! `ValidatePodTemplateSpecForReplicaSet` and `validateContainerCommon`.

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use super::cause::{Cause, Causes, FaultPath, Shown};
use super::{NOT_NEGATIVE, metadata, number, resources};
use crate::apimachinery::names;
use crate::apiserver::metadata::ObjectMeta;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::{IntOrString, RollingUpdate, UpdateStrategy, Workload};

/// Returns the causes for which the API server would reject the metadata, the replicas, the selector or the
/// template of a workload; empty if it would accept them. `whole` is the workload's JSON.
#[must_use]
pub(crate) fn validate(workload: &Workload, whole: &Json) -> Vec<Cause> {
    let causes = Causes::default();
    // A saved state has objects that an API server has accepted, without their images.
    let is_admitted = whole["metadata"]["uid"].is_string();
    if !is_admitted && whole["metadata"].is_object() {
        let stated = ObjectMeta::stated(&whole["metadata"]);
        metadata::validate(&stated, &FaultPath::new("metadata", &causes));
    }
    let spec = FaultPath::new("spec", &causes);
    validate_spec(workload, &whole["spec"]["template"], is_admitted, &spec);
    causes.into_inner()
}

fn validate_spec(workload: &Workload, stated: &Json, is_admitted: bool, path: &FaultPath<'_>) {
    if let Some(replicas) = workload.replicas.filter(|replicas| *replicas < 0) {
        path.child("replicas")
            .invalid(number(replicas), NOT_NEGATIVE);
    }
    validate_strategy(workload, path);
    // A workload without a template is reduced to the requested parts.
    let Some(template) = workload.template.as_deref() else {
        return;
    };
    validate_selector(workload, template, path);
    let at = path.child("template");
    if !is_admitted {
        let metadata = ObjectMeta::stated(&stated["metadata"]);
        metadata::validate_maps(&metadata, &at);
    }
    validate_pod(template, &stated["spec"], is_admitted, &at.child("spec"));
}

/// Checks how the pods are replaced (`ValidateDeploymentStrategy`, and the strategy in
/// `ValidateStatefulSetSpec`).
fn validate_strategy(workload: &Workload, path: &FaultPath<'_>) {
    let is_stateful = workload.kind == "StatefulSet";
    let Some(UpdateStrategy {
        type_,
        rolling_update,
        ..
    }) = &workload.strategy
    else {
        return;
    };
    let strategy = path.child(if is_stateful {
        "updateStrategy"
    } else {
        "strategy"
    });
    let rolling = strategy.child("rollingUpdate");
    match (&**type_, is_stateful, rolling_update) {
        ("" | "RollingUpdate", _, Some(update)) => validate_rolling(update, is_stateful, &rolling),
        ("OnDelete", true, Some(update)) => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            rolling.invalid(Shown::Raw(&json!(update).to_string()), detail);
        }
        ("Recreate", false, Some(_)) => {
            rolling.forbidden("may not be specified when strategy `type` is 'Recreate'");
        }
        ("" | "RollingUpdate", _, None) | ("OnDelete", true, None) | ("Recreate", false, None) => {}
        (other, true, _) => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            strategy.child("type").invalid(Shown::Text(other), detail);
        }
        (other, false, _) => {
            strategy
                .child("type")
                .not_supported(other, &["Recreate", "RollingUpdate"]);
        }
    }
}

/// How many pods are replaced at once.
fn validate_rolling(update: &RollingUpdate, is_stateful: bool, path: &FaultPath<'_>) {
    let RollingUpdate {
        partition,
        max_surge,
        max_unavailable,
    } = update;
    if let Some(partition) = partition.filter(|own| is_stateful && *own < 0) {
        path.child("partition")
            .invalid(number(partition), NOT_NEGATIVE);
    }
    let unavailable = path.child("maxUnavailable");
    if let Some(limit) = max_unavailable {
        validate_limit(limit, &unavailable);
    }
    if let Some(limit) = max_surge.as_ref().filter(|_| !is_stateful) {
        validate_limit(limit, &path.child("maxSurge"));
    }
    if let Some(limit) = max_unavailable.as_ref().filter(|limit| is_zero(limit)) {
        let shown = json!(limit).to_string();
        if is_stateful {
            unavailable.invalid(Shown::Raw(&shown), "cannot be 0");
        } else if max_surge.as_ref().is_some_and(is_zero) {
            unavailable.invalid(Shown::Raw(&shown), "may not be 0 when `maxSurge` is 0");
        }
    }
    if let Some(IntOrString::String(text)) = max_unavailable
        && percent(text).is_some_and(|percent| percent > 100)
    {
        unavailable.invalid(Shown::Json(text), "must not be greater than 100%");
    }
}

/// Checks a number of pods, or a percentage of them (`ValidatePositiveIntOrPercent`).
fn validate_limit(limit: &IntOrString, path: &FaultPath<'_>) {
    match limit {
        IntOrString::Int(pods) if *pods < 0 => path.invalid(number(*pods), NOT_NEGATIVE),
        IntOrString::String(text) if percent(text).is_none() => {
            let detail = "a valid percent string must be a numeric string followed by an ending '%' \
                          (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
            path.invalid(Shown::Json(text), detail);
        }
        _ => {}
    }
}

/// Whether the limit is zero pods, in either notation.
fn is_zero(limit: &IntOrString) -> bool {
    match limit {
        IntOrString::Int(pods) => *pods == 0,
        IntOrString::String(text) => percent(text) == Some(0),
    }
}

/// A percentage, which has no sign (`IsValidPercent`).
fn percent(text: &str) -> Option<u64> {
    let digits = text
        .strip_suffix('%')
        .filter(|it| it.bytes().all(|c| c.is_ascii_digit()))?;
    digits.parse().ok()
}

/// Checks the selector, which has a default only in old APIs, together with the template.
fn validate_selector(workload: &Workload, template: &Pod, path: &FaultPath<'_>) {
    let own = path.child("selector");
    let matches = match &workload.selector {
        None if workload.group != "apps" => return,
        None => {
            own.required("");
            // Without a selector, upstream uses one that matches nothing.
            false
        }
        Some(selector) => match selector.to_selector() {
            Ok(selector) => selector.matches(&template.labels),
            Err(e) => return own.add(e.to_string()),
        },
    };
    if !matches {
        let labels = json!(template.labels).to_string();
        let at = path.child("template").child("metadata").child("labels");
        let detail = "`selector` does not match template `labels`";
        at.invalid(Shown::Raw(&labels), detail);
    }
}

fn validate_pod(template: &Pod, spec: &Json, is_admitted: bool, path: &FaultPath<'_>) {
    resources::of_pod(template, spec, &path.child("resources"));
    let restarts = spec["restartPolicy"].as_str().unwrap_or_default();
    if !["", "Always"].contains(&restarts) {
        path.child("restartPolicy")
            .not_supported(restarts, &["Always"]);
    }
    if template.containers.is_empty() {
        path.child("containers").required("");
    }
    let mut known = HashSet::new();
    let lists = [
        ("containers", &template.containers),
        ("initContainers", &template.init_containers),
    ];
    for (field, list) in lists {
        for (place, container) in list.iter().enumerate() {
            let at = path.child(field).index(place);
            let name = at.child("name");
            match &*container.name {
                "" => name.required(""),
                own if known.contains(own) => name.duplicate(own),
                own => {
                    name.faults(own, &names::dns_label(own));
                    known.insert(own);
                }
            }
            let image = spec[field][place]["image"].as_str();
            if !is_admitted && image.is_none_or(str::is_empty) {
                at.child("image").required("");
            }
            let stated = &spec[field][place]["resources"];
            resources::of_container(container, stated, &at.child("resources"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::validate;
    use crate::snapshot::surroundings::Workload;

    #[test]
    fn a_strategy_that_the_api_server_rejects_is_named() {
        let limits = |surge: Json, unavailable: Json| json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}});
        let stateful = |own: Json| json!({"rollingUpdate": own});
        for (kind, strategy, cause) in [
            ("Deployment", limits(json!("25%"), json!(0)), ""),
            // What rounds to no pod at all is no 0.
            ("Deployment", limits(json!(0), json!("1%")), ""),
            ("Deployment", json!({"rollingUpdate": {"maxSurge": 0}}), ""),
            ("Deployment", json!({"type": "Recreate"}), ""),
            (
                "Deployment",
                limits(json!("0%"), json!(0)),
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
            ),
            (
                "Deployment",
                limits(json!(0), json!("00%")),
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"00%\": may not be 0 when `maxSurge` is 0",
            ),
            (
                "Deployment",
                limits(json!(-1), json!("101%")),
                "spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0; \
                 spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
            ),
            (
                "Deployment",
                limits(json!("+1%"), json!(1)),
                "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"+1%\": a valid percent string must \
                 be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for \
                 validation is '[0-9]+%')",
            ),
            (
                "Deployment",
                json!({"type": "Recreate", "rollingUpdate": {"maxSurge": "1"}}),
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ),
            (
                "Deployment",
                json!({"type": "OnDelete"}),
                "spec.strategy.type: Unsupported value: \"OnDelete\": supported values: \"Recreate\", \"RollingUpdate\"",
            ),
            ("StatefulSet", json!({"type": "OnDelete"}), ""),
            (
                "StatefulSet",
                stateful(json!({"partition": 2, "maxUnavailable": "50%"})),
                "",
            ),
            (
                "StatefulSet",
                json!({"type": "OnDelete", "rollingUpdate": {"partition": 1}}),
                "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate'",
            ),
            (
                "StatefulSet",
                stateful(json!({"partition": -1, "maxUnavailable": 0})),
                "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0; \
                 spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0",
            ),
            (
                "StatefulSet",
                json!({"type": "Recreate"}),
                "spec.updateStrategy.type: Invalid value: \"Recreate\": must be 'RollingUpdate' or 'OnDelete'",
            ),
        ] {
            let strategy = serde_json::from_value(strategy).unwrap();
            let kind = kind.to_owned();
            let workload = Workload {
                kind,
                strategy: Some(strategy),
                ..Workload::default()
            };
            let causes = validate(&workload, &json!({}));
            let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
            assert_eq!(causes.join("; "), cause);
        }
    }

    #[test]
    fn what_the_api_server_rejects_is_named_by_its_field() {
        let requests = |request: &str, limit: &str| json!([{"name": "app", "image": "web", "resources": {"requests": {"cpu": request}, "limits": {"cpu": limit}}}]);
        let one = |name: &str| json!({"name": name, "image": "web"});
        for (replicas, containers, init, causes) in [
            (1, json!([one("app")]), json!([one("setup")]), ""),
            (0, requests("250m", "0.25"), json!([]), ""),
            (
                1,
                json!([one("App")]),
                json!([{"name": "setup"}]),
                "spec.template.spec.containers[0].name: Invalid value: \"App\": a lowercase RFC 1123 \
                 label must consist of lower case alphanumeric characters or '-', and must start and \
                 end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                 validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'); \
                 spec.template.spec.initContainers[0].image: Required value",
            ),
            (
                -1,
                json!([one("app")]),
                json!([]),
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            ),
            (
                1,
                json!([]),
                json!([]),
                "spec.template.spec.containers: Required value",
            ),
            (
                1,
                json!([{"image": "web"}]),
                json!([]),
                "spec.template.spec.containers[0].name: Required value",
            ),
            (
                1,
                json!([one("app")]),
                json!([one("app")]),
                "spec.template.spec.initContainers[0].name: Duplicate value: \"app\"",
            ),
            (
                1,
                requests("-1m", "1"),
                json!([]),
                "spec.template.spec.containers[0].resources.requests[cpu]: Invalid value: \"-1m\": \
                 must be greater than or equal to 0",
            ),
            (
                1,
                requests("2", "1500m"),
                json!([]),
                "spec.template.spec.containers[0].resources.requests: Invalid value: \"2\": must be \
                 less than or equal to cpu limit of 1500m",
            ),
        ] {
            let template = json!({"spec": {"containers": containers, "initContainers": init}});
            let workload = Workload {
                replicas: Some(replicas),
                template: Some(serde_json::from_value(template.clone()).unwrap()),
                ..Workload::default()
            };
            let whole = json!({"spec": {"template": template}});
            let found = validate(&workload, &whole);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.join("; "), causes);
        }
    }

    /// The causes that the API server has against the template of a workload.
    fn causes(metadata: &Json, template: &Json) -> String {
        let workload = Workload {
            template: Some(serde_json::from_value(template.clone()).unwrap()),
            ..Workload::default()
        };
        let found = validate(
            &workload,
            &json!({"metadata": metadata, "spec": {"template": template}}),
        );
        found
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Other resources than cpu and memory cannot be shared, and a pod as a whole has none of them.
    #[test]
    fn resources_are_checked_by_name() {
        let at = "spec.template.spec.containers[0].resources";
        let whole = "spec.template.spec.resources";
        let supported = "supported values: \"cpu\", \"hugepages-\", \"memory\"";
        let needed = "Limit must be set for non overcommitable resources";
        let gpu = |request: Json, limit: Json| json!({"requests": {"example.com/gpu": request}, "limits": {"example.com/gpu": limit}});
        let huge = |amount: &str| json!({"limits": {"cpu": 1, "hugepages-2Mi": amount}});
        for (container, pod, expected) in [
            (gpu(json!(1), json!(1)), json!({}), String::new()),
            (
                gpu(json!(1), json!(2)),
                json!({}),
                format!(
                    "{at}.requests: Invalid value: \"1\": must be equal to example.com/gpu limit of 2"
                ),
            ),
            (
                json!({"requests": {"example.com/gpu": 1}}),
                json!({}),
                format!("{at}.limits: Required value: {needed}"),
            ),
            (
                json!({"limits": {"example.com/gpu": "500m"}}),
                json!({}),
                format!(
                    "{at}.limits[example.com/gpu]: Invalid value: \"500m\": must be an integer"
                ),
            ),
            (
                json!({"requests": {"memory": "2G"}, "limits": {"memory": "1G"}}),
                json!({}),
                format!(
                    "{at}.requests: Invalid value: \"2G\": must be less than or equal to memory limit of 1G"
                ),
            ),
            (
                json!({"requests": {"memory": "20Pi"}, "limits": {"memory": "10Pi"}}),
                json!({}),
                format!(
                    "{at}.requests: Invalid value: \"20Pi\": must be less than or equal to memory limit of 10Pi"
                ),
            ),
            (
                json!({"requests": {"ephemeral-storage": "1Gi"}}),
                json!({}),
                String::new(),
            ),
            (huge("4Mi"), json!({}), String::new()),
            (
                huge("3Mi"),
                json!({}),
                format!(
                    "{at}.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple \
                     of hugepages-2Mi"
                ),
            ),
            (
                json!({"limits": {"hugepages-2Mi": "4Mi"}}),
                json!({}),
                format!("{at}: Forbidden: HugePages require cpu or memory"),
            ),
            (
                json!({}),
                json!({"requests": {"cpu": "400m", "memory": "1Gi"}}),
                String::new(),
            ),
            (
                json!({}),
                json!({"requests": {"cpuu": "400m"}, "limits": {"ephemeral-storage": "1Gi"}}),
                format!(
                    "{whole}.limits[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": {supported}; \
                     {whole}.requests[cpuu]: Unsupported value: \"cpuu\": {supported}"
                ),
            ),
        ] {
            let container = json!({"name": "app", "image": "web", "resources": container});
            let template = json!({"spec": {"containers": [container], "resources": pod}});
            assert_eq!(causes(&json!({"name": "web"}), &template), expected);
        }
    }

    /// A pod has requests and limits as a whole, which its containers have to fit into.
    #[test]
    fn what_a_pod_requests_as_a_whole_is_checked() {
        let at = "spec.template.spec.resources";
        let least = "must be greater than or equal to";
        for (whole, container, expected) in [
            (
                json!({"requests": {"cpu": "300m"}, "limits": {"cpu": "300m"}}),
                json!({"requests": {"cpu": "0.3"}}),
                String::new(),
            ),
            (
                json!({"limits": {"cpu": "250m"}}),
                json!({"requests": {"memory": "1Gi"}}),
                String::new(),
            ),
            (
                json!({"requests": {"cpu": "-300m"}}),
                json!({}),
                format!("{at}.requests[cpu]: Invalid value: \"-300m\": {least} 0"),
            ),
            (
                json!({"requests": {"cpu": "50m", "memory": "1Gi"}}),
                json!({"requests": {"cpu": "300m", "memory": "2Gi"}}),
                format!(
                    "{at}.requests[cpu]: Invalid value: \"50m\": {least} aggregate container requests of 300m; \
                     {at}.requests[memory]: Invalid value: \"1Gi\": {least} aggregate container requests of 2Gi"
                ),
            ),
            (
                json!({"requests": {"cpu": "100u", "memory": "1Pi"}}),
                json!({"requests": {"cpu": "200u", "memory": "20Pi"}}),
                format!(
                    "{at}.requests[cpu]: Invalid value: \"100u\": {least} aggregate container requests of 200u; \
                     {at}.requests[memory]: Invalid value: \"1Pi\": {least} aggregate container requests of 20Pi"
                ),
            ),
            (
                json!({"requests": {"memory": "1G"}}),
                json!({"requests": {"memory": "3G"}}),
                format!(
                    "{at}.requests[memory]: Invalid value: \"1G\": {least} aggregate container requests of 3G"
                ),
            ),
            (
                json!({"requests": {"cpu": "300m"}, "limits": {"cpu": "100m"}}),
                json!({}),
                format!(
                    "{at}.requests: Invalid value: \"300m\": must be less than or equal to cpu limit of 100m"
                ),
            ),
            (
                json!({"limits": {"cpu": "100m"}}),
                json!({"limits": {"cpu": "200m"}}),
                format!(
                    "{at}.containers[0][cpu].limits: Invalid value: \"200m\": must be less than or equal to \
                     pod limits of 100m"
                ),
            ),
        ] {
            let container = json!({"name": "app", "image": "web", "resources": container});
            let template = json!({"spec": {"containers": [container], "resources": whole}});
            assert_eq!(causes(&json!({"name": "web"}), &template), expected);
        }
    }

    #[test]
    fn names_and_labels_are_checked() {
        let labels = |labels: Json| {
            let spec = json!({"containers": [{"name": "app", "image": "web"}]});
            json!({"metadata": {"labels": labels}, "spec": spec})
        };
        let good = labels(json!({"a/b": "c"}));
        let web = json!({"name": "web", "labels": {"x": ""}});
        assert_eq!(causes(&web, &good), "");
        for (metadata, template, begin) in [
            (
                json!({"name": "-web"}),
                &good,
                "metadata.name: Invalid value: \"-web\": ",
            ),
            (
                json!({"name": "web", "labels": {"a b": "c"}}),
                &good,
                "metadata.labels: Invalid value: \"a b\": ",
            ),
            (
                web.clone(),
                &labels(json!({"x y": "z"})),
                "spec.template.labels: Invalid value: \"x y\": ",
            ),
            (
                web.clone(),
                &labels(json!({"a": "-bad-"})),
                "spec.template.labels: Invalid value: \"-bad-\": ",
            ),
        ] {
            let found = causes(&metadata, template);
            assert!(found.starts_with(begin) && !found.contains("; "), "{found}");
        }
        // What an API server has accepted is not validated again.
        assert_eq!(
            causes(
                &json!({"name": "-web", "uid": "u"}),
                &labels(json!({"x y": "z"}))
            ),
            ""
        );
    }

    #[test]
    fn a_selector_has_to_match_the_labels_of_the_template() {
        let at = "spec.template.metadata.labels: Invalid value: ";
        let reason = ": `selector` does not match template `labels`";
        for (selector, labels, causes) in [
            (
                json!({"matchLabels": {"app": "web"}}),
                json!({"app": "web", "a": "b"}),
                "",
            ),
            (
                json!(null),
                json!({"app": "web"}),
                &format!("spec.selector: Required value; {at}{{\"app\":\"web\"}}{reason}"),
            ),
            (
                json!({"matchLabels": {"app": "web"}}),
                json!({"tier": "front", "app": "api"}),
                &format!("{at}{{\"app\":\"api\",\"tier\":\"front\"}}{reason}"),
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
                json!({}),
                &format!("{at}{{}}{reason}"),
            ),
        ] {
            let spec = json!({"containers": [{"name": "app", "image": "web"}]});
            let template = json!({"metadata": {"labels": labels}, "spec": spec});
            let workload = Workload {
                group: "apps".to_owned(),
                selector: serde_json::from_value(selector).unwrap(),
                template: Some(serde_json::from_value(template.clone()).unwrap()),
                ..Workload::default()
            };
            let found = validate(&workload, &json!({"spec": {"template": template}}));
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.join("; "), causes);
        }
    }
}
