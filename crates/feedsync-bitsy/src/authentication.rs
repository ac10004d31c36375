//! Authentication without a network (BITSY 4.3), and the partitions that follow from it (4.4).
//!
//! An application is identified by the headers that identify it to the server. The document does not define
//! how these headers are compared; we follow R-B37:
//! 1. Each registered header must be present.
//! 2. The scheme of `Authorization` is compared without case and the credentials octet by octet. Basic
//!    credentials are compared after decoding.
//! 3. Each registered cookie must be present with its value. The order and other cookies do not matter.
//! 4. An `Authorization` that was not registered belongs to another person.
//! 5. Other headers that may be secrets, such as `X-Api-Key`, must have their registered values.
//!
//! The duration of a comparison reveals nothing of the registered values.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest as _, Sha256};

use crate::headers::{AUTHORIZATION, NEGOTIATION, NEVER_REGISTERED, RegisteredHeaders};
use crate::location::Location;

/// Credentials that identify an application; empty for public data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    authorization: Option<Proof>,
    /// Digests of the registered cookies, ascending and without repetition.
    cookies: Vec<Proof>,
    /// Other headers that may be secrets or identify a person, ascending.
    others: Vec<(HeaderName, Proof)>,
    /// The registered scheme, for challenges.
    scheme: Option<String>,
}

/// Identity of the applications that share data, changes, errors and events. Applications with the same
/// registered credentials have the same partition (4.4). Public data have a partition, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition([u8; 32]);

/// SHA-256 digest of a compared value. The secrets themselves are only in the registered headers.
type Proof = [u8; 32];

/// Error: the headers of a request do not identify the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCredentials {
    /// The scheme that did not match.
    scheme: String,
}

impl Credentials {
    /// Credentials of the application that registered these headers.
    pub fn of(registered: &RegisteredHeaders) -> Self {
        let authorization = registered.get(&header::AUTHORIZATION);
        let mut cookies: Vec<Proof> = registered
            .get(&header::COOKIE)
            .map(|value| pairs(value.as_bytes()).map(proof).collect())
            .unwrap_or_default();
        cookies.sort_unstable();
        cookies.dedup();
        let others = registered.iter().filter(|(name, _)| may_be_secret(name));
        let mut others: Vec<(HeaderName, Proof)> =
            others.map(|(name, value)| (name.clone(), proof(value.as_bytes()))).collect();
        others.sort_unstable_by(|one, other| one.0.as_str().cmp(other.0.as_str()));
        Self {
            others,
            authorization: authorization.map(proof_of_authorization),
            cookies,
            scheme: authorization.map(|value| scheme(value).0),
        }
    }

    /// Whether no credentials are required (4.4).
    pub fn is_public(&self) -> bool {
        self.authorization.is_none() && self.cookies.is_empty() && self.others.is_empty()
    }

    /// The partition of the data that belong to these credentials.
    pub fn partition(&self) -> Partition {
        let mut hash = Sha256::new();
        hash.update([u8::from(self.authorization.is_some())]);
        for proof in self.authorization.iter().chain(&self.cookies) {
            hash.update(proof);
        }
        for (name, proof) in &self.others {
            hash.update(name.as_str());
            hash.update(proof);
        }
        Partition(hash.finalize().into())
    }

    /// Checks that a request has these credentials. Public credentials match every request without an
    /// `Authorization` header.
    pub fn check(&self, request: &HeaderMap) -> Result<(), UnknownCredentials> {
        let mut given = request.get_all(header::AUTHORIZATION).iter();
        let authorization = given.next().map(proof_of_authorization);
        let known = authorization == self.authorization && given.next().is_none();
        let cookies = request.get_all(header::COOKIE).iter();
        let brought: Vec<Proof> =
            cookies.flat_map(|value| pairs(value.as_bytes())).map(proof).collect();
        let all = self.cookies.iter().filter(|cookie| brought.contains(cookie)).count();
        let brings = |(name, expected): &&(HeaderName, Proof)| {
            request.get_all(name).iter().any(|value| proof(value.as_bytes()) == *expected)
        };
        let others = self.others.iter().filter(brings).count();
        if known & (all == self.cookies.len()) & (others == self.others.len()) {
            return Ok(());
        }
        let cookie = || if self.cookies.is_empty() { "Basic" } else { "Cookie" };
        let scheme = self.scheme.clone().filter(|_| !known);
        Err(UnknownCredentials { scheme: scheme.unwrap_or_else(|| cookie().to_owned()) })
    }
}

impl Partition {
    /// The partition of public data.
    pub fn public() -> Self {
        static PUBLIC: LazyLock<Partition> = LazyLock::new(|| Credentials::default().partition());
        *PUBLIC
    }

    /// Bytes of the partition, for storage.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The partition with these bytes.
    pub const fn of_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl UnknownCredentials {
    /// The error for a request with cookies that are not registered.
    pub(crate) fn cookie() -> Self {
        Self { scheme: "Cookie".to_owned() }
    }

    /// The challenge of the 401, which names the scheme that did not match (4.3).
    pub fn challenge(&self, feed: &Location) -> HeaderValue {
        let text = format!("{} realm=\"{}\"", self.scheme, feed.origin());
        // The scheme was part of a header before, and an origin is ASCII without quotes.
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("Basic realm=\"feed\""))
    }

    /// Body of the 401 response.
    pub const fn explanation(&self) -> &'static str {
        "This response is stored for other credentials. Send the credentials of the subscription.\n"
    }
}

/// Whether a header may be a secret or identify a person. Exempt are headers of content negotiation, headers
/// that name the program and its origin, and headers that are never sent.
fn may_be_secret(name: &HeaderName) -> bool {
    let is_known = AUTHORIZATION.contains(name)
        || NEGOTIATION.contains(name)
        || NEVER_REGISTERED.contains(name);
    !is_known && ![header::FROM, header::REFERER, header::USER_AGENT].contains(name)
}

/// Scheme and credentials of an `Authorization`, without the white space between and around them.
fn scheme(value: &HeaderValue) -> (String, &[u8]) {
    let bytes = value.as_bytes().trim_ascii();
    let end = bytes.iter().position(u8::is_ascii_whitespace).unwrap_or(bytes.len());
    let (scheme, credentials) = bytes.split_at(end);
    (String::from_utf8_lossy(scheme).into_owned(), credentials.trim_ascii())
}

fn proof_of_authorization(value: &HeaderValue) -> Proof {
    let (mut scheme, credentials) = scheme(value);
    scheme.make_ascii_lowercase();
    let decoded = (scheme == "basic").then(|| STANDARD.decode(credentials).ok()).flatten();
    let credentials = decoded.as_deref().unwrap_or(credentials);
    proof([scheme.as_bytes(), b" ", credentials].concat())
}

/// The pairs of a `Cookie` header.
fn pairs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let pairs = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    pairs.filter(|pair| !pair.is_empty())
}

fn proof(bytes: impl AsRef<[u8]>) -> Proof {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::headers;

    fn registered(headers: &[(&str, &str)]) -> Credentials {
        let mut registered = RegisteredHeaders::default();
        for (name, value) in headers {
            registered.add(name, value).unwrap();
        }
        Credentials::of(&registered)
    }

    #[test]
    fn authorization_is_compared_by_scheme_without_case_and_by_decoded_credentials() {
        let basic = registered(&[("Authorization", "Basic YW5uYTpzZWNyZXQ=")]);
        for same in
            ["Basic YW5uYTpzZWNyZXQ=", "bAsIc   YW5uYTpzZWNyZXQ=", " Basic YW5uYTpzZWNyZXQ= "]
        {
            assert!(basic.check(&headers(&[("authorization", same)])).is_ok(), "{same}");
        }
        for other in ["Basic YW5uYTpvdGhlcg==", "Bearer YW5uYTpzZWNyZXQ=", "Basic", "anna:secret"] {
            assert!(basic.check(&headers(&[("authorization", other)])).is_err(), "{other}");
        }
        assert!(basic.check(&HeaderMap::new()).is_err());
        let twice = [("authorization", "Basic YW5uYTpzZWNyZXQ="), ("authorization", "Basic eA==")];
        assert!(basic.check(&headers(&twice)).is_err());
        let token = registered(&[("Authorization", "Scheme token=\"Secret\"")]);
        assert!(token.check(&headers(&[("authorization", "scheme token=\"Secret\"")])).is_ok());
        assert!(token.check(&headers(&[("authorization", "Scheme token=\"secret\"")])).is_err());
    }

    #[test]
    fn registered_cookies_must_be_there_among_others() {
        let known = registered(&[("Cookie", "PREF=ID=1"), ("Cookie", "S=2")]);
        for enough in ["PREF=ID=1; S=2", "S=2;PREF=ID=1", "x=y; S=2; PREF=ID=1; z="] {
            assert!(known.check(&headers(&[("cookie", enough)])).is_ok(), "{enough}");
        }
        assert!(known.check(&headers(&[("cookie", "S=2"), ("cookie", "PREF=ID=1")])).is_ok());
        for other in ["PREF=ID=1", "PREF=ID=1; S=3", "pref=ID=1; S=2", ""] {
            assert!(known.check(&headers(&[("cookie", other)])).is_err(), "{other}");
        }
        let both = [("cookie", "PREF=ID=1; S=2"), ("authorization", "Basic eA==")];
        assert!(known.check(&headers(&both)).is_err(), "somebody else");
    }

    #[test]
    fn public_credentials_accept_requests_without_authorization_only() {
        let public = registered(&[("Accept", "application/atom+xml")]);
        assert!(public.is_public() && public.partition() == Partition::public());
        assert!(public.check(&HeaderMap::new()).is_ok());
        assert!(public.check(&headers(&[("cookie", "any=1")])).is_ok());
        assert!(public.check(&headers(&[("authorization", "Basic eA==")])).is_err());
    }

    #[test]
    fn same_credentials_share_a_partition_and_others_do_not() {
        let anna = [("Authorization", "Basic YW5uYTpzZWNyZXQ="), ("Cookie", "a=1; b=2")];
        let same = [("Cookie", "b=2; a=1"), ("Authorization", "basic YW5uYTpzZWNyZXQ=")];
        assert_eq!(registered(&anna).partition(), registered(&same).partition());
        let others = [
            registered(&anna[..1]),
            registered(&anna[1..]),
            registered(&[("Authorization", "Basic eA=="), ("Cookie", "a=1; b=2")]),
            Credentials::default(),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(other.partition(), registered(&anna).partition());
            for later in &others[index + 1..] {
                assert_ne!(other.partition(), later.partition());
            }
        }
    }

    #[test]
    fn a_refusal_names_the_scheme_that_was_not_matched() {
        let feed: Location = "https://example.org/feed".parse().unwrap();
        let challenge = |credentials: &Credentials, brought: &[(&'static str, &str)]| {
            let unknown = credentials.check(&headers(brought)).unwrap_err();
            unknown.challenge(&feed).to_str().unwrap().to_owned()
        };
        let bearer = registered(&[("Authorization", "Bearer x"), ("Cookie", "a=1")]);
        assert_eq!(challenge(&bearer, &[]), "Bearer realm=\"https://example.org\"");
        let known = [("authorization", "Bearer x")];
        assert_eq!(challenge(&bearer, &known), "Cookie realm=\"https://example.org\"");
        let cookie = registered(&[("Cookie", "a=1")]);
        assert_eq!(challenge(&cookie, &[]), "Cookie realm=\"https://example.org\"");
    }
}
