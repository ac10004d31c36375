//! Who asks, and whether they may: before a handler runs, each request has a [`Principal`] that the
//! right of its route and method allows (AH5, AH29).
//!
//! As long as there is no user, whoever is on this machine may do everything; for whom a proxy on it
//! asks is elsewhere. With a user, everybody
//! has to sign in but to read what is public. What somebody may do is looked up again after a second,
//! and so is whether there is a user: within a second a token that was revoked is refused, and an end
//! of the last user is noticed within half a minute. What takes longer to come than that is asked about
//! again before it changes anything ([`Call::still_may`](crate::call::Call::still_may)). Nothing of this
//! is kept anywhere but in memory.

mod attempts;
mod credentials;
mod failures;
mod principal;
mod recent;
mod rules;
pub(crate) mod session;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use feedsync_endpoint::{Endpoint, Person, Secret};
use feedsync_store::{Collection, CollectionName, Digest, TokenKind, UserName};
use http::request::Parts;
use http::{Extensions, HeaderValue, Method, header};
use tokio::time::Instant;

use crate::address::PublicBase;
use crate::call::collection_for;
use crate::config::Config;
use crate::couch;
use crate::hub::Hub;
use crate::other_origin::OtherOrigin;
use crate::peer::Client;
use crate::problem::Problem;
use crate::request_log;
use crate::routes::{Right, Rights};
use attempts::Attempts;
use credentials::Credentials;
use failures::Failures;
pub(crate) use principal::Principal;
use recent::Recent;
pub(crate) use rules::{forbidden, may_follow, may_read, require, sign_in};
use session::OfDatabases;

/// How long it is believed what somebody may do.
pub(crate) const BELIEVED: Duration = Duration::from_secs(1);

/// How long it is believed that there is a user: erring on the safe side.
const CLOSED: Duration = Duration::from_secs(30);

/// How long what signed in is known after it was last used.
const VERIFIED: Duration = Duration::from_secs(600);

/// What is known of who asked lately.
pub(crate) struct Access {
    endpoint: Endpoint,
    /// Whether only this machine can ask.
    here_alone: bool,
    /// When it was last seen that there is a user.
    closed: Mutex<Option<Instant>>,
    people: Recent<Digest, Arc<Person>>,
    /// Credentials that signed in lately: they are compared again, and do not count as attempts.
    verified: Recent<Digest, ()>,
    attempts: Attempts,
    failures: Failures,
    /// Digests of passwords are of use to nobody without it.
    salt: [u64; 4],
}

impl Access {
    pub(crate) fn new(endpoint: Endpoint, config: &Config) -> Self {
        Self {
            here_alone: config.seen_from_elsewhere().is_none(),
            closed: Mutex::default(),
            people: Recent::new(20_000, BELIEVED),
            verified: Recent::new(20_000, VERIFIED),
            attempts: Attempts::new(),
            failures: Failures::new(),
            salt: std::array::from_fn(|_| endpoint.environment().random()),
            endpoint,
        }
    }

    /// Who makes a request; refused if it signs in with something that does not.
    async fn principal(&self, request: &Parts) -> Result<Principal, Problem> {
        let (headers, address) = (&request.headers, address(&request.extensions));
        if self.is_open_to(request).await? {
            return Ok(Principal::Local);
        }
        let secure = request.extensions.get().is_some_and(PublicBase::is_secure);
        let is_of_databases = couch::are_at(&request.uri);
        let person = match credentials::read(headers, secure, is_of_databases) {
            Credentials::None => return Ok(Principal::Anonymous),
            Credentials::Token(secret, user) => {
                self.by_access_token(&secret, user.as_ref(), address).await?
            }
            Credentials::Password(user, password) => {
                self.by_password(&user, &password, address).await?
            }
            Credentials::Session(secret) => {
                // A browser sends the cookie of a session that has ended until it gets another.
                match self.by_token(&secret, TokenKind::Session, address).await? {
                    None => return Ok(Principal::Anonymous),
                    some => {
                        session::check_origin(&request.method, headers)?;
                        some
                    }
                }
            }
            Credentials::OfDatabases(kept) => {
                let (secret, kind) = match kept {
                    OfDatabases::Session(secret) => (secret, TokenKind::Session),
                    OfDatabases::Token(secret) => (secret, TokenKind::Access),
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
        person.map(Principal::Person).ok_or_else(sign_in)
    }

    /// Who a password signs in, within the bounds of guessing.
    pub(crate) async fn by_password(
        &self,
        user: &UserName,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        let given = self.digest(&[user.as_str(), password]);
        if let Some(person) = self.people.get(&given) {
            return Ok(Some(person));
        }
        let known = self.endpoint.store().user(user).await?;
        let is_known = known.is_some();
        let stored = known.and_then(|user| user.password);
        let proof = self.digest(&[&given.to_string(), stored.as_deref().unwrap_or_default()]);
        let person = if self.verified.get(&proof).is_some() {
            self.endpoint.person(user).await?
        } else {
            // Names that no user has are not recorded: some of them are passwords.
            let name = if is_known { user.as_str() } else { "unknown user" };
            if let Err(problem) = self.attempts.begin(address, Some(user)) {
                self.failed(address, &format!("{name}: too many attempts")).await;
                return Err(problem);
            }
            let person = self.endpoint.check_password(user, password).await?;
            match &person {
                Some(_) => self.attempts.succeeded(address, Some(user)),
                None => self.failed(address, &format!("{name}: wrong password")).await,
            }
            person
        };
        if person.is_some() {
            self.verified.insert(proof, ());
        }
        Ok(person.map(|person| self.believe(given, person)))
    }

    /// Person whom a program's token signs in, within the bounds of guessing; none if another user is named beside it.
    pub(crate) async fn by_access_token(
        &self,
        secret: &Secret,
        user: Option<&UserName>,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        let Some(person) = self.by_token(secret, TokenKind::Access, address).await? else {
            return Ok(None);
        };
        if user.is_some_and(|user| user != person.user()) {
            let why = format!("{}: the token was given with another user name", person.user());
            self.failed(address, &why).await;
            return Ok(None);
        }
        Ok(Some(person))
    }

    /// Records a failed sign-in. The reason holds nothing that was given as a password.
    pub(crate) async fn failed(&self, address: Option<IpAddr>, why: &str) {
        self.failures.record(&self.endpoint, address, why).await;
    }

    async fn by_token(
        &self,
        secret: &Secret,
        kind: TokenKind,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        let known = secret.digest();
        // A token is of one kind: what signed in as one does not as the other.
        let given = self.digest(&[&known.to_string(), &format!("{kind:?}")]);
        if let Some(person) = self.people.get(&given) {
            return Ok(Some(person));
        }
        // A browser goes on sending the cookie of a session that has ended: that is no guess.
        let tried = kind == TokenKind::Access && self.verified.get(&given).is_none();
        if tried && let Err(problem) = self.attempts.begin(address, None) {
            self.failed(address, "too many attempts").await;
            return Err(problem);
        }
        let person = self.endpoint.person_of_token(secret.as_str(), kind).await?;
        if person.is_none() {
            self.verified.remove(&given);
            // A browser goes on sending the cookie of a session that has ended.
            if kind == TokenKind::Access {
                self.failed(address, "unknown, expired or revoked token").await;
            }
            return Ok(None);
        }
        if tried {
            self.attempts.succeeded(address, None);
        }
        self.verified.insert(given, ());
        Ok(person.map(|person| self.believe(given, person)))
    }

    /// Whether somebody who was let in would be let in now: for what goes on without an end (AD32).
    pub(crate) async fn still(
        &self,
        hub: &Hub,
        principal: &Principal,
        right: Right,
        collection: &CollectionName,
    ) -> Result<bool, Problem> {
        match self.now(principal).await? {
            Some(now) => Ok(require(hub, &now, right, Some(collection)).await.is_ok()),
            None => Ok(false),
        }
    }

    /// Who was let in, with the rights of at most a second ago; nobody who would not be let in now.
    pub(crate) async fn now(&self, principal: &Principal) -> Result<Option<Principal>, Problem> {
        Ok(match principal {
            Principal::Local => self.is_open().await?.then_some(Principal::Local),
            Principal::Anonymous => Some(Principal::Anonymous),
            Principal::Person(person) => self.again(person).await?.map(Principal::Person),
        })
    }

    /// Refuses what somebody who was let in may not do at this moment, by what is stored and not by
    /// what is believed.
    pub(crate) async fn recheck(
        &self,
        hub: &Hub,
        principal: &Principal,
        right: Right,
        collection: Option<&CollectionName>,
    ) -> Result<(), Problem> {
        let now = match principal {
            Principal::Local if self.here_alone && self.has_no_user().await? => Principal::Local,
            Principal::Local => return Err(sign_in()),
            Principal::Anonymous => Principal::Anonymous,
            Principal::Person(person) => {
                let person = self.endpoint.person_again(person).await?.ok_or_else(sign_in)?;
                Principal::Person(Arc::new(person))
            }
        };
        require(hub, &now, right, collection).await.map(drop)
    }

    /// Forgets what people may do, which has just changed here; who signed in stays known.
    pub(crate) fn forget(&self) {
        self.people.clear();
    }

    async fn again(&self, person: &Person) -> Result<Option<Arc<Person>>, Problem> {
        let known = person.token().map(|token| self.digest(&["again", &token.to_string()]));
        if let Some(person) = known.and_then(|key| self.people.get(&key)) {
            return Ok(Some(person));
        }
        let person = self.endpoint.person_again(person).await?;
        Ok(person.map(|person| match known {
            Some(key) => self.believe(key, person),
            None => Arc::new(person),
        }))
    }

    /// Whether who asks needs not sign in: there is no user, and it comes from this machine itself, not from
    /// a page of another origin.
    async fn is_open_to(&self, request: &Parts) -> Result<bool, Problem> {
        let here = request.extensions.get().is_some_and(Client::is_here)
            && request.extensions.get::<OtherOrigin>().is_none();
        Ok(here && self.is_open().await?)
    }

    async fn has_no_user(&self) -> Result<bool, Problem> {
        Ok(self.endpoint.store().users().await?.is_empty())
    }

    /// Whether only this machine can ask and there is no user. It is looked up each time while there is none, so that the
    /// first user is let in at once.
    async fn is_open(&self) -> Result<bool, Problem> {
        if !self.here_alone {
            return Ok(false);
        }
        let closed = *self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.is_some_and(|since| since.elapsed() < CLOSED) {
            return Ok(false);
        }
        let asked = Instant::now();
        let open = self.has_no_user().await?;
        if !open {
            *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
        }
        Ok(open)
    }

    fn believe(&self, key: Digest, person: Person) -> Arc<Person> {
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

/// The collection as it was read to see who may read it: whoever needs it first has it.
#[derive(Clone)]
pub(crate) struct Found(Arc<Mutex<Option<Collection>>>);

impl Found {
    fn new(found: Collection) -> Self {
        Self(Arc::new(Mutex::new(Some(found))))
    }

    pub(crate) fn take(&self) -> Option<Collection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What the guard of a route knows.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) hub: Hub,
    pub(crate) rights: Rights,
}

/// Lets a request through to its handler if who makes it may; the handler finds the [`Principal`]
/// among the extensions.
pub(crate) async fn guard(
    State(gate): State<Gate>,
    segments: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let Some(right) = gate.right(request.method()) else {
        // OPTIONS is for everybody; another method is refused with those that there are.
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    match gate.admit(right, segments.ok().as_ref(), &parts).await {
        Ok((principal, found)) => {
            let depends = right != Right::Public && !matches!(principal, Principal::Local);
            parts.extensions.insert(principal);
            parts.extensions.insert(right);
            if let Some(found) = found {
                parts.extensions.insert(Found::new(found));
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
        let access = &self.hub.access;
        if right == Right::Public {
            let open = access.is_open_to(request).await?;
            return Ok((if open { Principal::Local } else { Principal::Anonymous }, None));
        }
        let principal = access.principal(request).await;
        match principal.as_ref().map(Principal::user) {
            Ok(Some(user)) => request_log::signed_in(&self.hub, user.as_str())?,
            Ok(None) | Err(_) => request_log::not_signed_in(&self.hub)?,
        }
        let principal = principal?;
        let mut named = segments.into_iter().flatten().filter(|(name, _)| *name == "collection");
        let name = named.next().and_then(|(_, text)| collection_for(right, text, &request.uri));
        let found = require(&self.hub, &principal, right, name.as_ref()).await?;
        Ok((principal, found))
    }
}

/// From where a request comes, as far as it is known.
pub(crate) fn address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<Client>().and_then(|client| client.address)
}
