//! How YAML is read everywhere: within limits that fit its length. Nothing here knows Kubernetes.

/// The reader's limits on the number of nodes guard against small texts that unfold into large
/// trees. A text as large as its tree is no such thing, so those limits grow with it; the ones on
/// aliases stay.
pub(crate) fn options(length: usize) -> serde_yaml::Options {
    let mut options = serde_yaml::Options::default();
    if let Some(budget) = &mut options.budget {
        budget.max_nodes = budget.max_nodes.max(length);
        budget.max_events = budget.max_events.max(2 * length);
        budget.max_total_scalar_bytes = budget.max_total_scalar_bytes.max(length);
        budget.max_documents = budget.max_documents.max(length / 4);
    }
    options
}
