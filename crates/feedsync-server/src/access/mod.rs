//! Authentication and authorization: before a handler runs, each request has a [`Principal`] that the right
//! of its route and method allows (AH5, AH29).
//!
//! While no user exists, a client on this machine may do everything; a client behind a proxy on it counts as
//! remote. Once a user exists, every client must sign in, except to read what is public. Rights, and whether
//! a user exists, are looked up again after one second. So a revoked token is refused within a second, and
//! the removal of the last user is noticed within half a minute. Rights are checked again before a request
//! whose body took longer than that changes anything ([`Call::recheck_if_slow`](crate::access::call::Call::recheck_if_slow)). All
//! of this is stored in memory only.

pub(crate) mod assertions;
mod attempts;
pub(crate) mod audience;
pub(crate) mod browser;
pub(crate) mod call;
pub(crate) mod creation;
mod credentials;
pub(crate) mod databases;
mod failures;
mod principal;
pub(crate) mod quotas;
mod rate_limits;
mod recent;
mod registrations;
mod right;
mod rules;
mod segments;
pub(crate) mod session;
mod settings;
mod sign_in;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use feedsync_endpoint::{Endpoint, Person};
use feedsync_store::{Collection, CollectionName, Digest, TokenKind};
use http::request::Parts;
use http::{Extensions, HeaderValue, Method, header};
use tokio::time::Instant;

use crate::config::Config;
use crate::http::address::PublicBase;
use crate::http::clients::Clients;
use crate::http::other_origin::OtherOrigin;
use crate::http::peer::Client;
use crate::http::problem::Problem;
use crate::http::{current_request, paths};
use assertions::AssertionKeys;
use attempts::Attempts;
use credentials::Credentials;
use failures::Failures;
pub(crate) use principal::Principal;
use recent::ExpiringCache;
use registrations::Registrations;
pub use right::Right;
pub(crate) use right::Rights;
pub(crate) use rules::{may_follow, may_read, require};
pub(crate) use segments::{collection_for, collection_name};
use session::DatabaseCookie;
pub(crate) use settings::settings;

/// Lifetime of cached rights.
pub(crate) const RIGHTS_CACHE_TIME: Duration = Duration::from_secs(1);

/// Time for which the existence of a user is cached. A stale value errs on the safe side.
const USER_EXISTS_CACHE_TIME: Duration = Duration::from_secs(30);

/// Lifetime of verified credentials after their last use.
const VERIFIED_CACHE_TIME: Duration = Duration::from_secs(600);

/// State about recent clients.
pub(crate) struct Access {
    endpoint: Endpoint,
    /// Whether only clients on this machine can connect.
    is_loopback_only: bool,
    /// Time at which a user was last known to exist.
    closed: Mutex<Option<Instant>>,
    people: ExpiringCache<Digest, Arc<Person>>,
    /// Credentials that signed in recently. They are verified again, but do not count as attempts.
    verified: ExpiringCache<Digest, ()>,
    attempts: Attempts,
    registrations: Registrations,
    failures: Failures,
    assertion_keys: AssertionKeys,
    /// Random salt. Digests of passwords are useless without it.
    salt: [u64; 4],
}

impl Access {
    pub(crate) fn new(endpoint: Endpoint, config: &Config, assertion_keys: AssertionKeys) -> Self {
        Self {
            is_loopback_only: config.remote_exposure().is_none(),
            closed: Mutex::default(),
            people: ExpiringCache::new(20_000, RIGHTS_CACHE_TIME),
            verified: ExpiringCache::new(20_000, VERIFIED_CACHE_TIME),
            attempts: Attempts::new(),
            registrations: Registrations::new(),
            failures: Failures::new(),
            assertion_keys,
            salt: std::array::from_fn(|_| endpoint.environment().random()),
            endpoint,
        }
    }

    /// Returns the principal of a request. Credentials that are not valid are refused.
    async fn principal(&self, request: &Parts) -> Result<Principal, Problem> {
        let (headers, address) = (&request.headers, address(&request.extensions));
        if self.is_open_to(request).await? {
            return Ok(Principal::Local);
        }
        let secure = request.extensions.get().is_some_and(PublicBase::is_secure);
        let is_for_databases = paths::is_for_databases(request.uri.path());
        let person = match credentials::read(headers, secure, is_for_databases) {
            Credentials::None => match self.assertion_keys.headers(headers) {
                Some(asserted) if is_for_databases => self.by_assertion(asserted, address).await?,
                _ => return Ok(Principal::Anonymous),
            },
            Credentials::Jwt(token) => {
                let now = self.endpoint.environment().now();
                self.by_assertion(self.assertion_keys.token(&token, now), address).await?
            }
            // The right of the route decides whether a user of databases alone is admitted.
            Credentials::Token(secret, user) => {
                self.by_access_token_for_databases(&secret, user.as_ref(), address).await?
            }
            Credentials::Password(user, password) => {
                self.by_password_for_databases(&user, &password, address).await?
            }
            Credentials::Session(secret) => {
                // Browsers send the cookie of an ended session until they receive another.
                match self.by_token(&secret, TokenKind::Session, address).await? {
                    None => return Ok(Principal::Anonymous),
                    some => {
                        session::check_origin(&request.method, headers)?;
                        some
                    }
                }
            }
            Credentials::DatabaseCookie(kept) => {
                let (secret, kind) = match kept {
                    DatabaseCookie::Session(secret) => (secret, TokenKind::Session),
                    DatabaseCookie::Token(secret) => (secret, TokenKind::Access),
                };
                match self.by_token(&secret, kind, address).await? {
                    None => return Ok(Principal::Anonymous),
                    some => {
                        session::check_site(&request.method, headers)?;
                        some
                    }
                }
            }
            Credentials::Invalid => {
                self.failed(address, "unreadable credentials").await;
                None
            }
        };
        person.map(Principal::Person).ok_or_else(Problem::sign_in)
    }

    /// Counts a user who registers, within the limits on registrations.
    pub(crate) fn count_registration(&self, address: Option<IpAddr>) -> Result<(), Problem> {
        self.registrations.begin(address)
    }

    /// Records a failed sign-in. The reason contains nothing that was sent as a password.
    pub(crate) async fn failed(&self, address: Option<IpAddr>, why: &str) {
        self.failures.record(&self.endpoint, address, why).await;
    }

    /// Whether an admitted principal would still be admitted now, for responses without an end (AD32).
    pub(crate) async fn is_still_admitted(
        &self,
        principal: &Principal,
        right: Right,
        collection: &CollectionName,
    ) -> Result<bool, Problem> {
        match self.now(principal).await? {
            Some(now) => Ok(require(&self.endpoint, &now, right, Some(collection)).await.is_ok()),
            None => Ok(false),
        }
    }

    /// Returns an admitted principal with rights that are at most a second old; none if it would not be
    /// admitted now.
    pub(crate) async fn now(&self, principal: &Principal) -> Result<Option<Principal>, Problem> {
        Ok(match principal {
            Principal::Local => self.is_open().await?.then_some(Principal::Local),
            Principal::Anonymous => Some(Principal::Anonymous),
            Principal::Person(person) => self.again(person).await?.map(Principal::Person),
        })
    }

    /// Refuses a request that the principal may not make now, according to the stored rights and not the
    /// cached ones.
    pub(crate) async fn recheck(
        &self,
        principal: &Principal,
        right: Right,
        collection: Option<&CollectionName>,
    ) -> Result<(), Problem> {
        let now = match principal {
            Principal::Local if self.is_loopback_only && self.has_no_user().await? => {
                Principal::Local
            }
            Principal::Local => return Err(Problem::sign_in()),
            Principal::Anonymous => Principal::Anonymous,
            Principal::Person(person) => {
                let person =
                    self.endpoint.refresh_person(person).await?.ok_or_else(Problem::sign_in)?;
                Principal::Person(Arc::new(person))
            }
        };
        require(&self.endpoint, &now, right, collection).await.map(drop)
    }

    /// Clears cached rights after a change on this node. Verified credentials stay cached.
    pub(crate) fn forget(&self) {
        self.people.clear();
    }

    async fn again(&self, person: &Person) -> Result<Option<Arc<Person>>, Problem> {
        let known = person.token().map(|token| self.digest(&["again", &token.to_string()]));
        if let Some(person) = known.and_then(|key| self.people.get(&key)) {
            return Ok(Some(person));
        }
        let person = self.endpoint.refresh_person(person).await?;
        Ok(person.map(|person| match known {
            Some(key) => self.cache_person(key, person),
            None => Arc::new(person),
        }))
    }

    /// Whether the request needs no sign-in: no user exists, and it comes from this machine and not from a
    /// page of another origin.
    async fn is_open_to(&self, request: &Parts) -> Result<bool, Problem> {
        let here = request.extensions.get().is_some_and(Client::is_here)
            && request.extensions.get::<OtherOrigin>().is_none();
        Ok(here && self.is_open().await?)
    }

    async fn has_no_user(&self) -> Result<bool, Problem> {
        Ok(!self.endpoint.has_users().await?)
    }

    /// Whether only this machine can connect and no user exists. While there is none, the store is read each
    /// time, so that the first user can sign in at once.
    async fn is_open(&self) -> Result<bool, Problem> {
        if !self.is_loopback_only {
            return Ok(false);
        }
        let closed = *self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.is_some_and(|since| since.elapsed() < USER_EXISTS_CACHE_TIME) {
            return Ok(false);
        }
        let asked = Instant::now();
        let open = self.has_no_user().await?;
        if !open {
            *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
        }
        Ok(open)
    }

    fn cache_person(&self, key: Digest, person: Person) -> Arc<Person> {
        let person = Arc::new(person);
        self.people.insert(key, Arc::clone(&person));
        person
    }

    fn digest(&self, parts: &[&str]) -> Digest {
        let mut bytes: Vec<u8> = self.salt.iter().flat_map(|word| word.to_be_bytes()).collect();
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        Digest::of(&bytes)
    }
}

/// The collection that the access check read. The first reader takes it.
#[derive(Clone)]
pub(crate) struct CheckedCollection(Arc<Mutex<Option<Collection>>>);

impl CheckedCollection {
    fn new(found: Collection) -> Self {
        Self(Arc::new(Mutex::new(Some(found))))
    }

    pub(crate) fn take(&self) -> Option<Collection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// State of the guard of a route. It is shared, since every request takes it.
pub(crate) struct Gate {
    pub(crate) access: Arc<Access>,
    pub(crate) clients: Clients,
    pub(crate) rights: Rights,
}

/// Passes a permitted request to its handler, which finds the [`Principal`] in the extensions.
pub(crate) async fn guard(
    State(gate): State<Arc<Gate>>,
    segments: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let Some(right) = gate.right(request.method()) else {
        // OPTIONS needs no right. Any other unknown method is refused with the list of known ones.
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    match gate.admit(right, segments.ok().as_ref(), &parts).await {
        Ok((principal, found)) => {
            let depends = right != Right::Public && !matches!(principal, Principal::Local);
            parts.extensions.insert(principal);
            parts.extensions.insert(right);
            if let Some(found) = found {
                parts.extensions.insert(CheckedCollection::new(found));
            }
            let mut response = next.run(Request::from_parts(parts, body)).await;
            let says = |name, what| {
                let mut told =
                    response.headers().get_all(name).iter().flat_map(HeaderValue::to_str);
                told.any(|text| text.contains(what))
            };
            let told = says(header::VARY, "Cookie");
            if depends && !told && !says(header::CACHE_CONTROL, "public") {
                let vary = HeaderValue::from_static("Authorization, Cookie");
                response.headers_mut().append(header::VARY, vary);
            }
            response
        }
        Err(problem) => problem.into_response(),
    }
}

impl Gate {
    fn right(&self, method: &Method) -> Option<Right> {
        let asked = if method == Method::HEAD { &Method::GET } else { method };
        self.rights.iter().find(|(method, _)| method == asked).map(|(_, right)| *right)
    }

    async fn admit(
        &self,
        right: Right,
        segments: Option<&RawPathParams>,
        request: &Parts,
    ) -> Result<(Principal, Option<Collection>), Problem> {
        let access = &self.access;
        if right == Right::Public {
            let open = access.is_open_to(request).await?;
            return Ok((if open { Principal::Local } else { Principal::Anonymous }, None));
        }
        let principal = access.principal(request).await;
        match principal.as_ref().map(Principal::user) {
            Ok(Some(user)) => current_request::signed_in(&self.clients, user.as_str())?,
            Ok(None) | Err(_) => current_request::not_signed_in(&self.clients)?,
        }
        let principal = principal?;
        let mut named = segments.into_iter().flatten().filter(|(name, _)| *name == "collection");
        let name = named.next().and_then(|(_, text)| collection_for(right, text, &request.uri));
        let found = require(&access.endpoint, &principal, right, name.as_ref()).await?;
        Ok((principal, found))
    }
}

/// Address of the client, if it is known.
pub(crate) fn address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<Client>().and_then(|client| client.address)
}
