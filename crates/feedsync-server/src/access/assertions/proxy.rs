//! Headers of a proxy that has authenticated a user: the name, roles, and a digest of the name with a secret that both
//! know.

use feedsync_store::UserName;
use http::{HeaderMap, HeaderName};
use ring::hmac;

use super::{Assertion, unreserved};
use feedsync_couch::hexadecimal_bytes;

/// Least size of the secret in bytes.
pub(super) const MIN_SECRET_BYTES: usize = 16;

const USER: HeaderName = HeaderName::from_static("x-auth-couchdb-username");
const ROLES: HeaderName = HeaderName::from_static("x-auth-couchdb-roles");
const TOKEN: HeaderName = HeaderName::from_static("x-auth-couchdb-token");

/// The secret of a proxy.
#[derive(Clone)]
pub(super) struct ProxySecret(Vec<u8>);

impl ProxySecret {
    /// Reads a secret, without the white space around it. `None` if it is too short.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let secret = text.trim().as_bytes();
        (secret.len() >= MIN_SECRET_BYTES).then(|| Self(secret.to_vec()))
    }

    /// Returns what the headers assert, if they are there.
    pub(super) fn verify(&self, headers: &HeaderMap) -> Option<Result<Assertion, &'static str>> {
        let mut users = headers.get_all(USER).iter();
        let user = users.next()?;
        Some(match users.next() {
            None => self.assertion(user.to_str().unwrap_or_default(), headers),
            Some(_) => Err("a proxy names two users"),
        })
    }

    fn assertion(&self, user: &str, headers: &HeaderMap) -> Result<Assertion, &'static str> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let token = text(TOKEN).and_then(hexadecimal_bytes).ok_or("a proxy has no token")?;
        // Both are in use; as a message authentication code, HMAC with SHA-1 is unbroken.
        let algorithms = [hmac::HMAC_SHA256, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY];
        let fits = |algorithm| {
            hmac::verify(&hmac::Key::new(algorithm, &self.0), user.as_bytes(), &token).is_ok()
        };
        if !algorithms.into_iter().any(fits) {
            return Err("the token of a proxy does not fit the user");
        }
        let user = UserName::new(user).map_err(|_| "the user of a proxy cannot exist here")?;
        let roles = text(ROLES).unwrap_or_default().split(',');
        let roles = unreserved(roles.map(|role| role.trim().to_owned()));
        Ok(Assertion { user, roles, expires: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "an example secret";

    fn token(algorithm: hmac::Algorithm, user: &str) -> String {
        let tag = hmac::sign(&hmac::Key::new(algorithm, SECRET.as_bytes()), user.as_bytes());
        tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_proxy_with_the_secret_names_a_user_and_roles() {
        let secret = ProxySecret::parse("an example secret\n").unwrap();
        assert!(ProxySecret::parse("  too short    \n").is_none());
        let verify = |user: &str, token: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(USER, user.parse().unwrap());
            headers.insert(TOKEN, token.parse().unwrap());
            headers.insert(ROLES, "staff, _admin,,chiefs".parse().unwrap());
            secret.verify(&headers).unwrap()
        };
        for algorithm in [hmac::HMAC_SHA256, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY] {
            let asserted = verify("anna", &token(algorithm, "anna")).unwrap();
            assert_eq!((asserted.user.as_str(), asserted.expires), ("anna", None));
            assert_eq!(asserted.roles, ["staff", "chiefs"]);
        }
        for (user, token) in [
            ("otto", token(hmac::HMAC_SHA256, "anna")),
            ("anna", token(hmac::HMAC_SHA512, "anna")),
            ("anna", token(hmac::HMAC_SHA256, "anna").to_uppercase() + "0"),
            ("anna", String::new()),
            ("anna", "zz".to_owned()),
            ("Anna", token(hmac::HMAC_SHA256, "Anna")),
        ] {
            assert!(verify(user, &token).is_err(), "{user} {token}");
        }
        assert!(secret.verify(&HeaderMap::new()).is_none());
        let mut twice = HeaderMap::new();
        twice.append(USER, "anna".parse().unwrap());
        twice.append(USER, "otto".parse().unwrap());
        twice.insert(TOKEN, token(hmac::HMAC_SHA256, "anna").parse().unwrap());
        assert!(secret.verify(&twice).unwrap().is_err());
    }
}
