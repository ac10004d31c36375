//! The fetcher: sends requests under one policy, and follows their redirects.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, COOKIE, HeaderMap, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
};
use http::{Method, StatusCode};
use ipnet::IpNet;
use reqwest::Url;
use tokio::time::Instant;

use crate::address::{is_loopback, is_private};
use crate::body::{Body, WaitLimits};
use crate::error::{FetchError, shown};
use crate::login::{Login, Logins};
use crate::policy::{Policy, Private};
use crate::redirect::{self, RedirectHistory};
use crate::refusal;
use crate::request::{Request, ResponseMode};
use crate::response::{Head, Response};
use crate::route::Routes;
use crate::traffic::Traffic;

/// Bytes a second at which a request body is sent over the slowest supported connection.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

/// Fetches documents under one policy. It is cheap to clone; clones share connections.
#[derive(Debug, Clone)]
pub struct Fetcher {
    routes: Routes,
    policy: Policy,
    given: Option<Arc<Url>>,
    logins: Arc<Logins>,
    traffic: Arc<Traffic>,
}

/// Outcome of a fetch that did not fail.
#[derive(Debug)]
pub enum Fetched {
    /// Nothing has changed since the response with these validators.
    NotModified,
    /// A successful response; its body is still to be read.
    Answer(Box<Response>),
}

impl Fetcher {
    /// Creates a fetcher with its own connections. Installs `ring` as the cryptography of TLS unless the
    /// process has chosen another.
    pub fn new(policy: Policy) -> Result<Self, FetchError> {
        // An error means that one is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            routes: Routes::new(policy)?,
            policy,
            given: None,
            logins: Arc::default(),
            traffic: Arc::default(),
        })
    }

    /// Returns the same fetcher with logins. A login is sent only if the address that a person gave is of its
    /// origin, and never again after a redirect to another origin.
    pub fn with_logins(self, logins: Logins) -> Result<Self, FetchError> {
        let routes = match logins.has_plain() {
            true => self.routes.with_local(self.policy)?,
            false => self.routes.without_local(),
        };
        Ok(Self { routes, logins: Arc::new(logins), ..self })
    }

    /// Returns the same fetcher, for which addresses of these networks count as public.
    pub fn with_networks(self, networks: &[IpNet]) -> Result<Self, FetchError> {
        if networks.is_empty() {
            return Ok(self);
        }
        let routes = self.routes.with_networks(self.policy, networks)?;
        Ok(Self { routes, ..self })
    }

    /// Returns the same fetcher, which reaches public names through this proxy, also on behalf of strangers.
    /// Each name is resolved and checked here first.
    pub fn through(self, proxy: &Url) -> Result<Self, FetchError> {
        let routes = self.routes.through(self.policy, proxy)?;
        Ok(Self { routes, ..self })
    }

    /// Returns the limits.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the same fetcher for addresses that are learnt from an address that a person gave. Only if
    /// that is private may it lead to private ones. Without this call, each address counts as given itself.
    #[must_use]
    pub fn given(&self, given: Url) -> Self {
        Self { given: Some(Arc::new(given)), ..self.clone() }
    }

    /// Returns the same fetcher, which reaches only public addresses.
    #[must_use]
    pub fn public_only(&self) -> Self {
        Self { policy: Policy { private: Private::Refused, ..self.policy }, ..self.clone() }
    }

    /// Returns the same fetcher for requests on behalf of a stranger. It has no logins, and reaches only
    /// public addresses and those of networks that [count as public](Self::with_networks).
    #[must_use]
    pub fn for_untrusted(&self) -> Self {
        let stranger = self.public_only();
        let routes = stranger.routes.without_local();
        Self { logins: Arc::default(), routes, ..stranger }
    }

    /// Returns the same fetcher with these timeouts, for each wait and for the whole fetch.
    #[must_use]
    pub fn within(&self, idle: Duration, overall: Duration) -> Self {
        Self { policy: Policy { idle, overall, ..self.policy }, ..self.clone() }
    }

    /// Returns the same fetcher with this maximum size of bodies, in bytes.
    #[must_use]
    pub fn up_to(&self, bytes: u64) -> Self {
        Self { policy: Policy { bytes, ..self.policy }, ..self.clone() }
    }

    /// Returns the same fetcher with new traffic counters.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self { traffic: Arc::default(), ..self.clone() }
    }

    /// Returns the traffic of this fetcher and its clones.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Sends a request, follows redirects, and returns once the head of a successful response has arrived.
    pub async fn fetch(&self, request: Request) -> Result<Fetched, FetchError> {
        let deadline = (!request.endless).then(|| Instant::now() + self.policy.overall);
        let bound = match request.method {
            // The announced body of a HEAD response is not sent.
            Method::HEAD => u64::MAX,
            _ => request.bytes.unwrap_or(u64::MAX).min(self.policy.bytes),
        };
        let Request { method, url, mut headers, body, wanted, .. } = request;
        let given = self.given.as_deref().cloned().unwrap_or_else(|| url.clone());
        let mut trail = RedirectHistory::new(url, self.policy.redirects);
        let mut sent_on = false;
        loop {
            let url = trail.here().clone();
            let open = self.policy.private == Private::Allowed
                && (url.origin() == given.origin() || is_private(&given).await);
            let resolving = async {
                if open {
                    self.routes.open(&url)
                } else {
                    self.routes.public(&url, self.policy.private).await
                }
            };
            let wait = WaitLimits { idle: self.policy.idle, deadline };
            let late = || FetchError::Timeout { url: shown(&url) };
            let client = wait.on(resolving).await.ok_or_else(late)??;
            // Within one machine, compression costs more than it saves.
            let is_packed = match wanted {
                ResponseMode::Success => !is_loopback(&url),
                ResponseMode::Raw => false,
                ResponseMode::Packed => true,
            };
            let coding = if is_packed { "gzip" } else { "identity" };
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding));
            let login = if sent_on { None } else { self.login(&url, &given, open) };
            let client = match self.routes.local() {
                Some(local) if login.is_some() && url.scheme() == "http" => local,
                _ => client,
            };
            let mut builder = client.request(method.clone(), url.clone()).headers(headers.clone());
            if let Some(login) = login {
                builder = login.sign(builder);
            }
            if let Some(cookie) = trail.cookie().filter(|_| !headers.contains_key(COOKIE)) {
                builder = builder.header(COOKIE, cookie);
            }
            if let Some(body) = &body {
                builder = builder.body(body.clone());
            }
            let asked = builder.build().map_err(|error| FetchError::sending(&url, &error))?;
            let mut secrets = login.map_or_else(Vec::new, |login| login.secrets(&asked));
            secrets.extend(url.password().map(unescaped));
            secrets.extend(secret_values(&headers));
            self.traffic.asked(body.as_ref().map_or(0, Bytes::len));
            // Sending the body takes time, too.
            let sent = Duration::from_secs(
                body.as_ref().map_or(0, Bytes::len) as u64 / MIN_BYTES_PER_SECOND,
            );
            let sending = WaitLimits {
                idle: wait.idle + sent,
                deadline: wait.deadline.map(|deadline| deadline + sent),
            };
            let answer = match sending.on(client.execute(asked)).await {
                None => return Err(late()),
                Some(answer) => answer.map_err(|error| FetchError::sending(&url, &error))?,
            };
            let status = answer.status();
            if status == StatusCode::NOT_MODIFIED && is_conditional(&headers) {
                return Ok(Fetched::NotModified);
            }
            if redirect::is_redirect(status, &method) {
                if trail.follow(status, answer.headers())? {
                    headers = without_secrets(headers);
                    sent_on = true;
                    if body.is_some() {
                        let reason = "a redirect of what is sent to another server".to_owned();
                        return Err(FetchError::Redirect { url: shown(&url), reason });
                    }
                }
                continue;
            }
            let head = Head::new(url, status, answer.headers().clone());
            if !status.is_success() && wanted == ResponseMode::Success {
                return Err(refusal::refused(head, answer, wait, &self.traffic, &secrets).await);
            }
            let traffic = Arc::clone(&self.traffic);
            let body = match wanted {
                ResponseMode::Success => Body::bounded(&head, answer, bound, wait, traffic)?,
                ResponseMode::Raw => Body::raw(&head, answer, wait, traffic),
                ResponseMode::Packed => Body::unpacked(&head, answer, wait, traffic),
            };
            let moved_to = trail.moved_to().cloned();
            return Ok(Fetched::Answer(Box::new(Response::new(head, body, moved_to))));
        }
    }

    /// Returns the login for an address, unless the address has credentials of its own or is of another
    /// origin than the given one. Over plain HTTP a login is sent only on a connection to this machine.
    fn login(&self, url: &Url, given: &Url, open: bool) -> Option<&Login> {
        let says_itself = !url.username().is_empty() || url.password().is_some();
        let is_safe = url.scheme() == "https" || open;
        let own = url.origin() == given.origin() && is_safe && !says_itself;
        self.logins.of(url).filter(|_| own)
    }

    /// Requests a document that must exist, and reads it to its end.
    pub async fn document(&self, url: Url, accept: &'static str) -> Result<Response, FetchError> {
        match self.fetch(Request::read(url.clone()).accept(accept)).await? {
            Fetched::Answer(mut response) => {
                response.complete_document().await?;
                Ok(*response)
            }
            Fetched::NotModified => Err(FetchError::unexpected_not_modified(&url)),
        }
    }
}

/// Returns the headers that may be sent to another origin: those that are neither credentials nor marked as sensitive.
fn without_secrets(headers: HeaderMap) -> HeaderMap {
    let mut public = HeaderMap::with_capacity(headers.len());
    for (name, value) in &headers {
        if *name != AUTHORIZATION && !value.is_sensitive() {
            public.append(name, value.clone());
        }
    }
    public
}

/// Returns the values of sensitive headers. Of `Basic dXNlcg==` it returns the second part, too.
fn secret_values(headers: &HeaderMap) -> Vec<String> {
    let values = headers.values().filter(|value| value.is_sensitive());
    let values = values.filter_map(|value| value.to_str().ok()).filter(|text| !text.is_empty());
    let parts = values.flat_map(|text| [Some(text), text.split_once(' ').map(|(_, part)| part)]);
    parts.flatten().filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Decodes the password in an address.
fn unescaped(password: &str) -> String {
    percent_encoding::percent_decode_str(password).decode_utf8_lossy().into_owned()
}

fn is_conditional(headers: &HeaderMap) -> bool {
    headers.contains_key(IF_NONE_MATCH) || headers.contains_key(IF_MODIFIED_SINCE)
}
