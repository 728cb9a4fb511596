//! The ID token of a kubeconfig's OIDC provider, while it is valid. It must not be refreshed here: a
//! provider that rotates refresh tokens accepts each of them once, so a client that refreshes has to store
//! the new one, or every other client is logged out. kubectl does both. Follows `idToken` of client-go's
//! `plugin/pkg/client/auth/oidc`.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;

use super::exec::PluginFault;
use crate::apimachinery::json::{self, SecondsTime};
use crate::error::Error;
use crate::secret::Secret;

/// The minimum seconds until expiry: a token that expires sooner may not reach the server in time.
const EXPIRY_DELTA: i64 = 10;

fn fail(cause: &str) -> Error {
    PluginFault::from(cause.to_owned()).into()
}

/// Returns the token in a provider's configuration, if it is valid at this time.
pub(crate) fn id_token(config: &BTreeMap<String, Secret>, now: Timestamp) -> Result<Secret, Error> {
    let value = |key: &str| config.get(key).filter(|value| !value.is_empty());
    let state = match value("id-token") {
        None => "the kubeconfig has no OIDC id-token".to_owned(),
        Some(token) => match expiry(token) {
            None => {
                return Err(
                    fail("the OIDC id-token of the kubeconfig is not a valid JWT")
                        .hint("log in again"),
                );
            }
            Some(expiry) if now.as_second().saturating_add(EXPIRY_DELTA) < expiry => {
                return Ok(token.clone());
            }
            Some(expiry) => match Timestamp::from_second(expiry) {
                Ok(time) => format!("the OIDC id-token expired at {}", SecondsTime(time)),
                Err(_) => "the OIDC id-token has expired".to_owned(),
            },
        },
    };
    Err(match value("refresh-token") {
        Some(_) => fail(&state).hint(
            "run kubectl once with this kubeconfig, such as kubectl version: it refreshes the \
             token and stores it",
        ),
        None => fail(&format!("{state}, and there is no refresh-token")).hint("log in again"),
    })
}

/// Returns the expiry of a token, in seconds since the epoch; `None` if it is not a JWT that states it.
fn expiry(token: &Secret) -> Option<i64> {
    #[derive(Deserialize)]
    struct Claims {
        exp: Option<f64>,
    }
    let [_, payload, _] = token.expose().split('.').collect::<Vec<_>>()[..] else {
        return None;
    };
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: Claims = json::read(&payload).ok()?;
    // If the value is out of range, the cast saturates.
    Some(claims.exp? as i64)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use jiff::Timestamp;

    use super::{BTreeMap, id_token};
    use crate::secret::Secret;

    #[test]
    fn a_token_is_used_while_it_is_valid() {
        let jwt = |claims: &str| format!("h.{}.s", URL_SAFE_NO_PAD.encode(claims));
        let expired = "the OIDC id-token expired at 2001-09-09T01:46:40Z";
        for (token, refreshes, want) in [
            (jwt(r#"{"exp":1000000011}"#), false, Ok(())),
            (jwt(r#"{"exp":1000000011.5}"#), true, Ok(())),
            (jwt(r#"{"exp":1e300}"#), true, Ok(())),
            (
                jwt(r#"{"exp":1000000000}"#),
                true,
                Err((expired, "run kubectl once")),
            ),
            (
                jwt(r#"{"exp":1000000000}"#),
                false,
                Err((expired, "log in again")),
            ),
            (
                jwt(r#"{"exp":1000000010}"#),
                true,
                Err((
                    "the OIDC id-token expired at 2001-09-09T01:46:50Z",
                    "run kubectl once",
                )),
            ),
            (
                String::new(),
                true,
                Err(("no OIDC id-token", "run kubectl once")),
            ),
            (
                String::new(),
                false,
                Err(("no refresh-token", "log in again")),
            ),
            (jwt("{}"), true, Err(("not a valid JWT", "log in again"))),
            (
                "s3cr3t".to_owned(),
                true,
                Err(("not a valid JWT", "log in again")),
            ),
            (
                "a.s3cr3t!.b".to_owned(),
                true,
                Err(("not a valid JWT", "log in again")),
            ),
        ] {
            let mut config = BTreeMap::from([("id-token".to_owned(), Secret::new(&*token))]);
            if refreshes {
                config.insert("refresh-token".to_owned(), Secret::new("s3cr3t-r"));
            }
            let now = Timestamp::from_second(1_000_000_000).unwrap();
            match (id_token(&config, now), want) {
                (Ok(got), Ok(())) => assert_eq!(got.expose(), token),
                (Err(e), Err((cause, hint))) => {
                    let hints = e.hint.as_deref().unwrap_or_default().contains(hint);
                    assert!(e.message.contains(cause) && hints, "{token}: {e:?}");
                    assert!(!format!("{e:?}").contains("s3cr3t"), "{e:?}");
                }
                (got, _) => panic!("{token}: {got:?}"),
            }
        }
    }
}
