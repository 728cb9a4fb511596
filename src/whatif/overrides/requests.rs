//! Changes the requests of the pods: to typed ones, or to those of a template. The usage of the pods stays as it is;
//! what the controller makes of both is up to the engine.

use std::collections::BTreeSet;

use super::pods::{known_selector, of_target};
use super::{Override, Reported};
use crate::apimachinery::quantity::{Amount, Quantity};
use crate::apimachinery::similar::nearest;
use crate::engine::pods::counts_as_whole;
use crate::error::Error;
use crate::numbers::resource_amount;
use crate::rules::Rules;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::input::Input;
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::pod::{Container, Pod, Requests, ResourceName, resource_name};
use crate::snapshot::requests::{aggregate_request, as_pod};
use crate::snapshot::shared::{Share, Shared};
use crate::snapshot::surroundings::Replacement;
use crate::whatif::unit;
use crate::whatif::value::{AssumedValue, Ratio};

/// A new request for the pods of the target.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewRequest {
    /// The container, which may be an init container; `None` for the pod as a whole (`spec.resources`).
    pub(super) container: Option<Box<str>>,
    /// Whether the name of the container is made up, because nothing names one.
    is_nameless: bool,
    /// The resource that is requested.
    pub(super) resource: ResourceName,
    /// The change of the request.
    pub(super) to: RequestChange,
    /// The request as typed, or the amount in the template.
    pub(super) text: String,
    /// Whether the request states cores without a unit where milli-cores are usual.
    pub(super) lacks_unit: bool,
}

/// A change of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RequestChange {
    /// An amount.
    To(Amount),
    /// A multiple of the current request, if there is one.
    Times(Ratio),
    /// No request.
    Gone,
    /// For the pod as a whole, the request that the API server sets if the template only states these limits.
    Default(Requests),
}

impl NewRequest {
    /// A request of a container; of the whole pod if `container` is `None`. `text` is the amount as it was typed or stated.
    pub(super) fn new(
        container: Option<Box<str>>,
        resource: ResourceName,
        to: RequestChange,
        text: String,
    ) -> Self {
        Self {
            container,
            is_nameless: false,
            resource,
            to,
            text,
            lacks_unit: false,
        }
    }

    /// Returns the requests in a pod that this one changes, if the pod has such a container.
    fn requests<'p>(&self, pod: &'p Pod) -> Option<&'p Requests> {
        match &self.container {
            None => Some(&pod.requests),
            Some(name) => pod
                .running(true)
                .find(|own| own.name == *name)
                .map(|own| &own.requests),
        }
    }

    pub(super) fn request<'p>(&self, pod: &'p Pod) -> Option<&'p Amount> {
        self.requests(pod)?.get(&self.resource)
    }

    /// Returns the new request, given the current one of a pod.
    fn after(&self, before: Option<&Amount>) -> Result<Option<Amount>, Error> {
        Ok(match (&self.to, before) {
            (RequestChange::To(amount), _) => Some(amount.clone()),
            (RequestChange::Times(ratio), Some(before)) => {
                let milli = ratio
                    .of(before.milli_value().into())
                    .and_then(|milli| i64::try_from(milli).ok())
                    .ok_or_else(|| {
                        let item = self.item();
                        Error::usage(format!(
                            "the {item} would be larger than any request can be"
                        ))
                    })?;
                Some(Amount::int(milli, -3))
            }
            (RequestChange::Times(_), None)
            | (RequestChange::Gone | RequestChange::Default(_), _) => None,
        })
    }

    /// Returns a note if a pod requests so much more than observed that a unit may have been forgotten, or that
    /// no node may have room. Each pair is a pod as it was observed, and as it is assumed.
    fn far(&self, pods: &[(&Shared<Pod>, &Shared<Pod>)]) -> Result<Option<Note>, Error> {
        /// The factor by which a request is suspiciously far from the one before.
        const MANY: i64 = 100;
        // Suspicious for a pod that had no request: 100 cores, or a tebibyte.
        let much = match &*self.resource {
            "cpu" => 100_000,
            _ => (1 << 40) * 1000,
        };
        for (was, pod) in pods {
            let Some(requests) = self.requests(pod) else {
                continue;
            };
            let Some(amount) = self.after(requests.get(&self.resource))? else {
                continue;
            };
            let after = amount.milli_value();
            let before = self
                .request(was)
                .map(Amount::milli_value)
                .filter(|before| *before > 0);
            if before.map_or(after >= much, |before| after / MANY >= before) {
                let than = match before {
                    Some(before) => {
                        let (times, observed) = (after / before, self.quantity(before));
                        format!("{times} times the observed {observed}")
                    }
                    None => "where there was none".to_owned(),
                };
                let (item, after) = (self.item(), self.quantity(after));
                let meant = if self.lacks_unit {
                    format!("; {after} thousandths of a core would be {after}m")
                } else {
                    String::new()
                };
                let text = format!(
                    "the {item} is assumed to be {after}, {than}: a pod for which no node has room stays \
                     pending{meant}"
                );
                return Ok(Some(Note::about(Subject::RequestFar { item }, text)));
            }
        }
        Ok(None)
    }

    /// Returns the limit that belongs to this request, if a pod has one.
    fn limit<'p>(&self, pod: &'p Pod) -> Option<&'p Amount> {
        let limits = match &self.container {
            None => &pod.limits,
            Some(name) => &pod.container(name)?.limits,
        };
        limits.get(&self.resource)
    }

    /// Returns why the API server would reject new pods with the request: it is above its limit. New pods are made from
    /// the template; what the template does not state, something else, such as a LimitRange, has set in the running
    /// pods.
    fn above_limit(&self, active: &[&Pod], template: Option<&Pod>) -> Option<String> {
        let new_limit = template.and_then(|it| self.limit(it));
        let states_both = |it: &&Pod| new_limit.is_some() && self.request(it).is_some();
        let made = template.filter(states_both);
        let pods = made.as_ref().map_or(active, std::slice::from_ref);
        pods.iter().find_map(|pod| {
            let limit = new_limit.or_else(|| self.limit(pod));
            let (own, limit) = self.request(pod).zip(limit)?;
            let text = |amount: &Amount| resource_amount(&self.resource, amount.milli_value());
            let (item, of, most) = (self.item(), text(own), text(limit));
            (own > limit).then(|| format!("the {item} would be {of}, above the limit of {most}"))
        })
    }

    /// Returns why the API server would reject a pod with the request: the pod as a whole requests less than its
    /// containers.
    fn beyond_whole(&self, pod: &Pod, rules: &Rules) -> Option<String> {
        let resource = &self.resource;
        let whole = pod.requests.get(resource);
        let whole = whole.filter(|_| counts_as_whole(pod, None, rules))?;
        let sum = aggregate_request(pod, resource).filter(|sum| sum > whole)?;
        let [sum, whole] = [&sum, whole].map(|own| resource_amount(resource, own.milli_value()));
        Some(format!(
            "the containers of a pod would request {sum} {resource}, more than the {whole} of the pod as a whole \
             (spec.resources)"
        ))
    }

    /// Sets the request in a pod, in effect at once, or in a template, where a limit counts as the request unless one
    /// is stated. Returns whether that changes the pod.
    fn set(&self, pod: &mut Pod) -> Result<bool, Error> {
        let Some(requests) = self.requests(pod) else {
            return Ok(false);
        };
        let before = requests.get(&self.resource);
        let after = if let RequestChange::Default(limits) = &self.to {
            let mut unstated = pod.clone();
            unstated.limits = limits.clone();
            self.set_in(None, &mut unstated.requests);
            self.request(&as_pod(&unstated)).cloned()
        } else {
            self.after(before.or_else(|| self.limit(pod)))?
        };
        if after.as_ref() == before {
            return Ok(false);
        }
        pod.resizes.clear();
        let Some(name) = &self.container else {
            self.set_in(after, &mut pod.requests);
            return Ok(true);
        };
        let container = pod.containers_mut().find(|it| it.name == *name);
        let changed = container.map(|own| {
            self.set_in(after, &mut own.requests);
            own.requests.clone()
        });
        if let Some(status) = pod.statuses.iter_mut().find(|it| it.name == *name) {
            status.requests = changed;
        }
        Ok(true)
    }

    /// Sets the request, or removes it.
    fn set_in(&self, amount: Option<Amount>, requests: &mut Requests) {
        let known = requests.0.iter_mut().find(|own| own.0 == self.resource);
        match (known, amount) {
            (Some(known), Some(amount)) => known.1 = amount,
            (None, Some(amount)) => requests.0.push((self.resource.clone(), amount)),
            (_, None) => requests.0.retain(|own| own.0 != self.resource),
        }
    }

    fn quantity(&self, milli: i64) -> Quantity {
        resource_amount(&self.resource, milli)
    }

    /// Returns the item of the request as text.
    fn item(&self) -> String {
        let resource = &self.resource;
        match &self.container {
            Some(_) if self.is_nameless => format!("{resource} request"),
            Some(name) => format!("{resource} request of {name}"),
            None => format!("{resource} request of the pods"),
        }
    }

    /// Returns the requests of some pods, if any pod has one.
    fn reported<'p>(&self, pods: impl Iterator<Item = &'p Shared<Pod>>) -> Option<Reported> {
        let requests: BTreeSet<i64> = pods
            .filter_map(|pod| self.request(pod))
            .map(Amount::milli_value)
            .collect();
        let least = self.quantity(*requests.first()?);
        let most = self.quantity(*requests.last()?);
        Some(if requests.len() == 1 {
            Reported::Amount(least)
        } else {
            Reported::Text(format!("{least} to {most}"))
        })
    }
}

/// Changes the requests of the target's pods, and of the templates that they are made from; pods that have ended are
/// left alone, because no rollout replaces them. `was` are the same pods as observed, and `makes` says which pods get
/// which request.
///
/// # Errors
///
/// The target's pods are not known, or a request would be larger than possible.
pub(super) fn set_requests(
    input: &mut Input,
    was: &[Shared<Pod>],
    new: &[NewRequest],
    makes: &dyn Fn(&NewRequest, &Pod) -> bool,
    overrides: &mut Vec<Override>,
) -> Result<(), Error> {
    if new.is_empty() {
        return Ok(());
    }
    let Input {
        snapshot,
        surroundings,
        notes,
        ..
    } = input;
    let selector = known_selector(snapshot)?;
    let mut any = false;
    for request in new {
        let is_own = |pod: &Pod| selector.matches(&pod.labels) && !pod.is_foreign;
        let is_meant = |pod: &Pod| is_own(pod) && !pod.has_ended() && makes(request, pod);
        // A typed request takes precedence over a template.
        overrides.retain(|it| it.item != request.item());
        let pairs = was.iter().zip(&snapshot.pods);
        let both: Vec<_> = pairs.filter(|(_, pod)| is_meant(pod)).collect();
        let observed = request.reported(both.iter().map(|(was, _)| *was));
        let subject = Subject::RequestFar {
            item: request.item(),
        };
        notes.retain(|note| note.subject != subject);
        notes.extend(request.far(&both)?);
        let mut before: Option<Shared<Pod>> = None;
        let mut changes = false;
        for pod in snapshot.pods.iter_mut().filter(|pod| is_meant(pod)) {
            changes |= request.set(pod)?;
            if let Some(before) = &before {
                pod.share(before);
            }
            before = Some(pod.clone());
        }
        any |= changes;
        let result = request.reported(snapshot.pods.iter().filter(|pod| is_meant(pod)));
        if matches!(request.to, RequestChange::Default(_)) {
            let text = result.filter(|_| changes).map(|it| it.to_string());
            overrides.extend(text.map(|it| Override::new(request.item(), it, observed)));
            continue;
        }
        let templates = surroundings
            .workloads
            .iter_mut()
            .filter_map(|it| it.template.as_mut());
        for template in templates.filter(|template| selector.matches(&template.labels)) {
            request.set(template)?;
        }
        let is_multiple = matches!(request.to, RequestChange::Times(_));
        overrides.push(Override {
            result: result.filter(|_| is_multiple),
            ..Override::new(request.item(), &*request.text, observed)
        });
    }
    if any {
        replace_first(snapshot.hpa.reference(), notes);
    }
    Ok(())
}

/// Notes that a rollout of a target comes first, in a rolling update unless something else is known.
pub(super) fn replace_first(target: String, notes: &mut Vec<Note>) {
    let text = rollout_first(&target, Replacement::Rolling, false, false);
    let note = Note::about(Subject::RolloutFirst { target }, text);
    if !notes.contains(&note) {
        notes.push(note);
    }
}

/// Returns the text for what has to happen before the answer applies, or that a partition leaves all pods. Of assumed
/// pods, nothing is observed.
pub(super) fn rollout_first(
    target: &str,
    how: Replacement,
    leaves_all: bool,
    are_assumed: bool,
) -> String {
    let first = match how {
        Replacement::AllBut { partition, .. } if leaves_all => {
            return format!(
                "{target} leaves all pods as they are, below partition {partition} \
                 (spec.updateStrategy.rollingUpdate.partition); those that a run adds are assumed to be like them, but \
                 from ordinal {partition} on, they would get the new template"
            );
        }
        Replacement::Rolling => {
            format!("a rollout of {target} has to replace the pods first")
        }
        Replacement::Recreate => format!(
            "a rollout of {target} has to replace the pods first, and removes all of them before it \
             creates new ones (spec.strategy.type: Recreate)"
        ),
        Replacement::Paused => format!(
            "{target} is paused and replaces no pods (spec.paused): the answer holds once it is resumed \
             and all pods are replaced"
        ),
        Replacement::OnDelete => format!(
            "{target} replaces only pods that are deleted (spec.updateStrategy.type: OnDelete): the \
             answer holds once all of them are"
        ),
        Replacement::ByKind => format!(
            "{target} has no rollouts and replaces only pods that are deleted: the answer holds once all \
             of them are"
        ),
        Replacement::AllBut { partition, .. } => format!(
            "{target} leaves the pods below partition {partition} as they are \
             (spec.updateStrategy.rollingUpdate.partition): the answer holds once all others are replaced"
        ),
        Replacement::Canary(_) | Replacement::BlueGreen { .. } => {
            let strategy = match how {
                Replacement::Canary(_) => "canary",
                _ => "blueGreen",
            };
            let waits = how
                .promotion()
                .map(|own| format!(", and {own}"))
                .unwrap_or_default();
            format!(
                "a rollout of {target} has to replace the pods first by spec.strategy.{strategy}, which is not \
                 simulated{waits}"
            )
        }
    };
    if are_assumed {
        return first;
    }
    format!("{first}; the new ones are assumed to use what the observed ones do")
}

/// Changes the requests as typed.
///
/// # Errors
///
/// The pods have no such container, the container is ambiguous, or something is set twice.
pub(super) fn set_typed(
    input: &mut Input,
    was: &[Shared<Pod>],
    typed: &[TypedRequest],
    overrides: &mut Vec<Override>,
) -> Result<(), Error> {
    if typed.is_empty() {
        return Ok(());
    }
    let snapshot = &input.snapshot;
    let pods = of_target(snapshot)?;
    let supposed = input.surroundings.supposed.as_ref();
    let is_nameless = supposed.is_some_and(|own| own.template.names_no_container());
    let mut new: Vec<NewRequest> = Vec::new();
    let mut flags: Vec<&str> = Vec::new();
    for typed in typed {
        for request in typed.of_pods(input, &pods)? {
            let own = NewRequest {
                is_nameless,
                ..request
            };
            let is_same = |other: &NewRequest| {
                (&other.container, &other.resource) == (&own.container, &own.resource)
            };
            if let Some(other) = new.iter().position(is_same) {
                let (one, other) = (flags[other], &typed.flag);
                return Err(Error::usage(format!("the {} is set twice", own.item()))
                    .hint(format!("keep one of {one} and {other}")));
            }
            new.push(own);
            flags.push(&typed.flag);
        }
    }
    for place in 0..new.len() {
        let resource = &new[place].resource;
        let is_known = |own: &NewRequest| own.container.is_none() && own.resource == *resource;
        if let Some(limits) = limits_alone(input, resource)
            && !new.iter().any(is_known)
        {
            let to = RequestChange::Default(limits.clone());
            new.push(NewRequest::new(None, resource.clone(), to, String::new()));
            flags.push(flags[place]);
        }
    }
    set_requests(input, was, &new, &|_, _| true, overrides)?;
    let rules = Rules::of(&input.snapshot.controller);
    let template = target_template(input);
    let pods = of_target(&input.snapshot)?;
    let active: Vec<&Pod> = pods
        .iter()
        .map(|pod| &***pod)
        .filter(|it| it.is_active())
        .collect();
    for (request, flag) in new.iter().zip(&flags) {
        let (why, hint) = if let Some(why) = request.above_limit(&active, template) {
            let hint = "the API server would reject such a pod: raise the limit, too, in a manifest of the target \
                        (--hpa)";
            (why, hint)
        } else if let Some(why) = active
            .iter()
            .find_map(|pod| request.beyond_whole(pod, &rules))
        {
            (why, "the API server would reject such a pod")
        } else {
            continue;
        };
        return Err(Error::usage(format!("{flag}: {why}")).hint(hint));
    }
    Ok(())
}

/// Returns the template of the target, if it is known.
fn target_template(input: &Input) -> Option<&Pod> {
    let target = &input.snapshot.hpa.spec.scale_target_ref;
    input.surroundings.workload(target)?.template.as_deref()
}

/// Returns the limits of the pod as a whole, if the template has some but no such request for a resource, which the API
/// server then sets.
fn limits_alone<'i>(input: &'i Input, resource: &str) -> Option<&'i Requests> {
    let template = target_template(input)?;
    let is_alone = !template.limits.0.is_empty() && template.requests.get(resource).is_none();
    is_alone.then_some(&template.limits)
}

/// A request as it was typed: `[CONTAINER=]RESOURCE=VALUE`.
#[derive(Debug, Clone)]
pub(super) struct TypedRequest {
    /// The request, of the container if one is named.
    pub(super) request: NewRequest,
    /// The flag with its full text.
    flag: String,
}

/// The forms that the value of a request has.
const FORMS: &str = "a request is an amount (250m, 512Mi) or a change (+20%, -10%, x2)";

/// The forms of a request with its resource and container.
const EXAMPLES: &str = "such as cpu=250m, or app=cpu=250m for one container";

impl TypedRequest {
    pub(super) fn read(typed: &str) -> Result<Self, Error> {
        let flag = format!("--request {typed}");
        let refused = |why: String| Error::usage(format!("{flag}: {why}"));
        let Some((item, text)) = typed.rsplit_once('=') else {
            let why = "not of the form [CONTAINER=]RESOURCE=VALUE".to_owned();
            return Err(refused(why).hint(EXAMPLES));
        };
        let (container, resource) = match item.split_once('=') {
            Some(("", _)) => {
                return Err(refused("the container is missing".to_owned()).hint(EXAMPLES));
            }
            Some((container, resource)) => (Some(container.into()), resource),
            None => (None, item),
        };
        if !matches!(resource, "cpu" | "memory") {
            let why = format!("{resource:?} is neither cpu nor memory");
            return Err(refused(why).hint(EXAMPLES));
        }
        let to = match text.parse() {
            Ok(AssumedValue::Amount(milli)) => RequestChange::To(Amount::int(milli, -3)),
            Ok(AssumedValue::Scale(ratio)) => RequestChange::Times(ratio),
            Ok(AssumedValue::Share(_) | AssumedValue::Missing) => {
                return Err(refused(format!("{text} is not a request")).hint(FORMS));
            }
            Err(e) => return Err(refused(format!("{text}: {e}")).hint(FORMS)),
        };
        unit::check_amount(resource, false, text, |value| {
            format!("--request {item}={value}")
        })
        .map_err(refused)?;
        let request = NewRequest {
            lacks_unit: resource == "cpu" && text.bytes().all(|c| c.is_ascii_digit()),
            ..NewRequest::new(container, resource_name(resource), to, text.to_owned())
        };
        Ok(Self { request, flag })
    }

    fn refused(&self, why: &str) -> Error {
        Error::usage(format!("{}: {why}", self.flag))
    }

    fn no_request(&self, of: &str) -> Error {
        let error = self.refused(&format!("{of} no {}", self.request.resource));
        error.hint("give an amount, such as 250m or 512Mi")
    }

    /// Returns the same request of another container, or of the pod as a whole.
    fn of_other(&self, container: Option<Box<str>>) -> NewRequest {
        NewRequest {
            container,
            ..self.request.clone()
        }
    }

    /// Returns the new requests of the pods. Without a container, a change applies to every request, and an
    /// amount to the pod as a whole if the controller counts that.
    pub(super) fn of_pods(
        &self,
        input: &Input,
        pods: &[&Shared<Pod>],
    ) -> Result<Vec<NewRequest>, Error> {
        let Self { request, flag } = self;
        let NewRequest {
            container,
            resource,
            to,
            text,
            ..
        } = request;
        let is_change = matches!(to, RequestChange::Times(_));
        let Snapshot {
            controller, hpa, ..
        } = &input.snapshot;
        let rules = Rules::of(controller);
        let states_whole = |pod: &Pod| pod.requests.get(resource).is_some();
        let is_default = limits_alone(input, resource).is_some();
        let mut counted = pods.iter().filter(|pod| counts_as_whole(pod, None, &rules));
        let counts_whole = counted.any(|pod| states_whole(pod));
        if let Some(name) = container {
            has_container(pods, name, true, flag)?;
            let is_own = |metric: &MetricSpec| {
                metric.container() == Some(&**name) && metric.name() == *resource
            };
            if counts_whole && !is_default && !hpa.spec.metrics.iter().any(is_own) {
                let why = "the pods request it as a whole (spec.resources), which is what counts";
                let hint = format!("--request {resource}={text} changes that");
                return Err(self.refused(why).hint(hint));
            }
            if is_change && pods.iter().all(|pod| request.request(pod).is_none()) {
                return Err(self.no_request(&format!("{name} requests")));
            }
            return Ok(vec![request.clone()]);
        }
        let requests = |own: &&Container| own.requests.get(resource).is_some();
        if is_change {
            let each = names(containers(pods, true).filter(requests));
            let is_of_each = is_default && !each.is_empty();
            let any_whole = pods.iter().any(|pod| states_whole(pod)) && !is_of_each;
            let whole = any_whole.then_some(None);
            let all: Vec<NewRequest> = whole
                .into_iter()
                .chain(each.into_iter().map(|it| Some(it.into())))
                .map(|it| self.of_other(it))
                .collect();
            if pods.is_empty() {
                return Err(self.refused("the target has no pods"));
            }
            if all.is_empty() {
                return Err(self.no_request("the pods request"));
            }
            return Ok(all);
        }
        if counts_whole {
            return Ok(vec![self.of_other(None)]);
        }
        let requesting = names(containers(pods, false).filter(requests));
        let all = names(containers(pods, false));
        let candidates = if requesting.len() == 1 {
            requesting
        } else {
            all
        };
        match &Vec::from_iter(candidates)[..] {
            [] => Err(self.refused("the target has no pods")),
            [one] => Ok(vec![self.of_other(Some((*one).into()))]),
            several @ [first, ..] => {
                let why = format!("ambiguous: the containers are {}", several.join(", "));
                let hint = format!("name one, such as --request {first}={resource}={text}");
                Err(self.refused(&why).hint(hint))
            }
        }
    }
}

/// Returns the containers of some pods, without init containers unless `starting`.
fn containers<'p>(pods: &[&'p Shared<Pod>], starting: bool) -> impl Iterator<Item = &'p Container> {
    pods.iter().flat_map(move |pod| pod.running(starting))
}

fn names<'p>(containers: impl Iterator<Item = &'p Container>) -> BTreeSet<&'p str> {
    containers.map(|own| &*own.name).collect()
}

/// Checks that some pod has a container of this name, which may be an init container if `starting`. `typed`
/// is the text that names it.
pub(super) fn has_container(
    pods: &[&Shared<Pod>],
    name: &str,
    starting: bool,
    typed: &str,
) -> Result<(), Error> {
    let known = names(containers(pods, starting));
    if known.contains(name) {
        return Ok(());
    }
    if known.is_empty() {
        return Err(Error::usage(format!("{typed}: the target has no pods")));
    }
    let why = match pods {
        [one] => format!("{} has no container {name}", one.name),
        _ => format!("no pod of the target has a container {name}"),
    };
    let error = Error::usage(format!("{typed}: {why}"));
    Err(match nearest(name, known.iter().copied()) {
        Some(meant) => error.hint(format!("did you mean {meant}?")),
        None => error.hint(format!("they have {}", Vec::from_iter(known).join(", "))),
    })
}
