//! The recorded answers of a real API server: one exchange per line in `tests/wire`, including failures.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// One recorded request and its answer.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Exchange {
    /// What distinguishes it from the others, such as "hpa not found".
    pub(crate) name: String,
    /// The request.
    pub(crate) request: Asked,
    /// The response.
    pub(crate) response: Answered,
}

/// A recorded request.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Asked {
    /// The method.
    pub(crate) method: String,
    /// The path with its query, as sent.
    pub(crate) path: String,
    /// Whose credentials were sent: "admin", "user without roles", "bad token" or "no one".
    #[serde(rename = "as")]
    pub(crate) user: String,
    /// The `Accept` header.
    pub(crate) accept: String,
    /// The JSON that was sent, if any.
    #[serde(default)]
    pub(crate) body: Option<Value>,
}

/// A recorded answer.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Answered {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The headers, names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    /// The JSON, or a string with the text if it is not JSON.
    pub(crate) body: Value,
}

/// All recorded exchanges, in order. They are parsed once, because every cluster starts with them.
pub(crate) fn exchanges() -> &'static [Exchange] {
    static EXCHANGES: LazyLock<Vec<Exchange>> = LazyLock::new(|| {
        include_str!("../wire/kubernetes-1.36.2.jsonl")
            .lines()
            .map(|line| serde_json::from_str(line).expect("a recorded exchange"))
            .collect()
    });
    &EXCHANGES
}

/// Returns a copy of the exchange of that name.
pub(crate) fn exchange(name: &str) -> Exchange {
    let mut exchanges = exchanges().iter();
    let found = exchanges.find(|exchange| exchange.name == name).cloned();
    found.unwrap_or_else(|| panic!("nothing was recorded as {name:?}"))
}
