//! Finds the HPA if its target is named, or nothing. This takes one request, for the list of the
//! namespace's HPAs.

use crate::args::Target;
use crate::cluster::Session;
use crate::cluster::fetch::complete::{hpas, paused_for};
use crate::error::{Error, listed};
use crate::snapshot::input::Options;

/// Returns the name of the one HPA that the options refer to. If the options have its name, nothing is
/// requested.
///
/// # Errors
///
/// No HPA has this target, more than one has it, or the HPAs cannot be listed.
pub(super) async fn name(session: &Session, options: &Options) -> Result<String, Error> {
    if !options.name.is_empty() {
        return Ok(options.name.clone());
    }
    let names = names(session, options.target.as_ref()).await?;
    if let [name] = &names[..] {
        return Ok(name.clone());
    }
    let of = of(options.target.as_ref());
    let (count, namespace, names) = (names.len(), session.namespace(), listed(&names));
    let message =
        format!("{count} HorizontalPodAutoscalers{of} in the namespace {namespace}: {names}");
    Err(Error::usage(message).hint("name one of them"))
}

/// Returns the names of all HPAs of the session's namespace, or of the HPAs of a target; at least one.
///
/// # Errors
///
/// No HPA has this target, or the HPAs cannot be listed.
pub(super) async fn names(
    session: &Session,
    target: Option<&Target>,
) -> Result<Vec<String>, Error> {
    let namespace = session.namespace();
    let all = hpas(session).await?;
    let names: Vec<String> = match target {
        // An HPA that cannot be read causes an error when it is requested.
        None => all.names().map(str::to_owned).collect(),
        Some(target) => {
            let meant = all
                .readable()
                .filter(|hpa| hpa.spec.scale_target_ref.is(target));
            meant.map(|hpa| hpa.name.clone()).collect()
        }
    };
    if !names.is_empty() {
        return Ok(names);
    }
    let of = of(target);
    let message = format!("no HorizontalPodAutoscaler{of} in the namespace {namespace}");
    if let Some(target) = target
        && let Some(hint) = paused_for(session, target.name()).await
    {
        return Err(Error::failed(message).hint(hint));
    }
    if let Some(hint) = all.unreadable() {
        return Err(Error::failed(message).hint(hint));
    }
    let there: Vec<String> = all
        .readable()
        .map(|hpa| format!("{} ({})", hpa.name, hpa.reference()))
        .collect();
    Err(Error::failed(message).hint(if there.is_empty() {
        "use -n for another namespace".to_owned()
    } else {
        format!("the namespace {namespace} has {}", listed(&there))
    }))
}

fn of(target: Option<&Target>) -> String {
    target
        .map(|target| format!(" for {target}"))
        .unwrap_or_default()
}
