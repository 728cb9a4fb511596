//! The options for reading YAML: as kubectl reads it, within limits that fit its length.

/// The reader's limits on the number of nodes protect against small texts that expand into large
/// trees. A text as large as its tree is harmless, so those limits grow with it; the limits on
/// aliases stay. The limit on depth is the same as for JSON. As in kubectl's reader, a leading zero makes a
/// number octal.
pub(crate) fn options(length: usize) -> serde_yaml::Options {
    let mut options = serde_yaml::Options::default();
    options.legacy_octal_numbers = true;
    if let Some(budget) = &mut options.budget {
        budget.max_depth = MAX_DEPTH;
        budget.max_nodes = budget.max_nodes.max(length);
        budget.max_events = budget.max_events.max(2 * length);
        budget.max_total_scalar_bytes = budget.max_total_scalar_bytes.max(length);
        budget.max_documents = budget.max_documents.max(length / SHORTEST_OBJECT);
    }
    options
}

/// The depth to which serde_json follows lists and objects.
const MAX_DEPTH: usize = 128;

/// No document with content is shorter.
const SHORTEST_OBJECT: usize = "---\napiVersion: v1\nkind: Pod\n".len();
