//! The one outbound fetch policy: whatever the program asks of another machine goes through here.
//!
//! - `http` and `https` only; never from `https` down to `http`.
//! - Redirects are followed by hand: at most [`Policy::redirects`], loops are reported, credentials in
//!   an address and logins never go to another origin.
//! - Bodies as they travel and as they are decompressed, and times, are bounded.
//! - Private addresses are reachable or not by [`Private`], checked for names as they are resolved,
//!   for addresses in URLs, and again on each redirect. Where they are, a public address that a person
//!   gave still leads to no private one, by a redirect or by a link. Networks that whoever runs the program
//!   [names](Fetcher::reaching) are as public ones.

mod address;
mod body;
mod error;
mod link;
mod login;
mod problem;
mod redirect;
mod request;
mod response;
mod retry;
mod traffic;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
};
use http::{Method, StatusCode};
use ipnet::IpNet;
pub use reqwest::Url;
use tokio::time::Instant;

pub use address::{address, is_public};
pub(crate) use address::{is_private, with_credentials, with_pairs};
pub use error::{FetchError, shown_text, without_credentials};
pub use login::{Login, LoginError, LoginOrigin, Logins};
pub use problem::Problem;
pub use request::Request;
pub use response::{Response, Validators};
pub use retry::RetryAfter;
pub use traffic::Traffic;

use body::Body;
pub(crate) use error::{bare, shown};
use redirect::Trail;
use request::Wanted;

/// Whether addresses that only this machine or this network can reach may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Private {
    /// For what a person asks on their own command line.
    Allowed,
    /// For whatever is fetched on behalf of a stranger.
    Refused,
}

/// So many bytes a second are sent on the slowest way that is used.
const SLOWEST: u64 = 16 << 10;

/// Bounds of what one fetch may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether private addresses may be fetched.
    pub private: Private,
    /// How many redirects are followed.
    pub redirects: usize,
    /// Bytes of a body, as it travels and decompressed; a request may ask for less.
    pub bytes: u64,
    /// For making a connection.
    pub connect: Duration,
    /// For each wait: for the head of an answer, and for each piece of its body.
    pub idle: Duration,
    /// For all of it, redirects included.
    pub overall: Duration,
}

impl Policy {
    /// 5 redirects, 64 MiB; 10 s to connect, 30 s for each wait, 10 minutes in all.
    pub const fn new(private: Private) -> Self {
        Self {
            private,
            redirects: 5,
            bytes: 64 << 20,
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            overall: Duration::from_secs(600),
        }
    }
}

/// Fetches under one policy. Cheap to clone; clones share connections.
#[derive(Debug, Clone)]
pub struct Fetcher {
    client: reqwest::Client,
    /// Reaches public addresses only, and those of `networks`.
    public: reqwest::Client,
    networks: Arc<[IpNet]>,
    /// Reaches this machine only, without a proxy; there if a login is for it.
    local: Option<reqwest::Client>,
    policy: Policy,
    given: Option<Arc<Url>>,
    logins: Arc<Logins>,
    traffic: Arc<Traffic>,
}

/// What a server answered, if not an error.
#[derive(Debug)]
pub enum Fetched {
    /// Nothing has changed since the answer that the validators came with.
    NotModified,
    /// A success; its body is still to be read.
    Answer(Box<Response>),
}

impl Fetcher {
    /// A fetcher with its own connections. Installs `ring` as the cryptography of TLS unless the
    /// process has chosen another.
    pub fn new(policy: Policy) -> Result<Self, FetchError> {
        // An error means that one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let networks = Arc::from([]);
        let public = public_client(policy, &networks)?;
        let client = match policy.private {
            // Names are resolved by the person's own proxy, if there is one, and by its rules.
            Private::Allowed => build(builder(policy))?,
            Private::Refused => public.clone(),
        };
        let public = if address::has_proxy() { client.clone() } else { public };
        Ok(Self {
            client,
            public,
            networks,
            local: None,
            policy,
            given: None,
            logins: Arc::default(),
            traffic: Arc::default(),
        })
    }

    /// The same fetcher, which proves who asks where it has a login. It does so only where the address
    /// that a person gave is of that origin, and no longer once another one has sent it on.
    pub fn signed_in(self, logins: Logins) -> Result<Self, FetchError> {
        let local = match logins.has_plain() {
            // A proxy could read it.
            true => {
                Some(build(builder(self.policy).no_proxy().dns_resolver(login::LoopbackResolver))?)
            }
            false => None,
        };
        Ok(Self { local, logins: Arc::new(logins), ..self })
    }

    /// The same fetcher, to which addresses of these networks are as good as public ones.
    pub fn reaching(self, networks: &[IpNet]) -> Result<Self, FetchError> {
        if networks.is_empty() {
            return Ok(self);
        }
        let networks = Arc::from(networks);
        let public = match address::has_proxy() {
            true => self.public,
            false => public_client(self.policy, &networks)?,
        };
        Ok(Self { public, networks, ..self })
    }

    /// The bounds.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The same fetcher for what is learnt from an address that a person gave: only a private one
    /// may lead to private ones. Without it, each address counts as given itself.
    #[must_use]
    pub fn given(&self, given: Url) -> Self {
        Self { given: Some(Arc::new(given)), ..self.clone() }
    }

    /// The same fetcher, which reaches public addresses only.
    #[must_use]
    pub fn refusing_private(&self) -> Self {
        Self { policy: Policy { private: Private::Refused, ..self.policy }, ..self.clone() }
    }

    /// The same fetcher as it is for a stranger: it reaches public addresses only, and those of networks that are
    /// [as good](Self::reaching), and is signed in nowhere.
    #[must_use]
    pub fn for_stranger(&self) -> Self {
        Self { logins: Arc::default(), local: None, ..self.refusing_private() }
    }

    /// The same fetcher, which waits no longer than this each time, and in all.
    #[must_use]
    pub fn within(&self, idle: Duration, overall: Duration) -> Self {
        Self { policy: Policy { idle, overall, ..self.policy }, ..self.clone() }
    }

    /// The same fetcher, which takes bodies of so many bytes.
    #[must_use]
    pub fn up_to(&self, bytes: u64) -> Self {
        Self { policy: Policy { bytes, ..self.policy }, ..self.clone() }
    }

    /// The same fetcher, whose traffic is counted anew.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self { traffic: Arc::default(), ..self.clone() }
    }

    /// What this fetcher and its clones have moved.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Asks, follows redirects, and returns once the head of a success has arrived.
    pub async fn fetch(&self, request: Request) -> Result<Fetched, FetchError> {
        let deadline = (!request.endless).then(|| Instant::now() + self.policy.overall);
        let bound = match request.method {
            // What is announced does not come.
            Method::HEAD => u64::MAX,
            _ => request.bytes.unwrap_or(u64::MAX).min(self.policy.bytes),
        };
        let Request { method, url, mut headers, body, wanted, .. } = request;
        let given = self.given.as_deref().cloned().unwrap_or_else(|| url.clone());
        let mut trail = Trail::new(url, self.policy.redirects);
        let mut sent_on = false;
        loop {
            let url = trail.here().clone();
            let open = self.policy.private == Private::Allowed
                && (url.origin() == given.origin() || is_private(&given).await);
            let (client, private) = if open {
                (&self.client, Private::Allowed)
            } else {
                (&self.public, Private::Refused)
            };
            address::check(&url, private, &self.networks)?;
            // Packing costs more than the way inside one machine.
            let is_packed = match wanted {
                Wanted::Success => !address::is_loopback(&url),
                Wanted::AsItIs => false,
                Wanted::Packed => true,
            };
            let coding = if is_packed { "gzip" } else { "identity" };
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding));
            let login = if sent_on { None } else { self.login(&url, &given, open) };
            let client = match &self.local {
                Some(local) if login.is_some() && url.scheme() == "http" => local,
                _ => client,
            };
            let mut builder = client.request(method.clone(), url.clone()).headers(headers.clone());
            if let Some(login) = login {
                builder = login.sign(builder);
            }
            if let Some(body) = &body {
                builder = builder.body(body.clone());
            }
            let asked = builder.build().map_err(|error| FetchError::sending(&url, &error))?;
            let mut secrets = login.map_or_else(Vec::new, |login| login.secrets(&asked));
            secrets.extend(url.password().map(unescaped));
            self.traffic.asked(body.as_ref().map_or(0, Bytes::len));
            let wait = body::Wait { idle: self.policy.idle, deadline };
            // What is sent takes its time, too.
            let sent = Duration::from_secs(body.as_ref().map_or(0, Bytes::len) as u64 / SLOWEST);
            let sending = body::Wait {
                idle: wait.idle + sent,
                deadline: wait.deadline.map(|deadline| deadline + sent),
            };
            let answer = match sending.on(client.execute(asked)).await {
                None => return Err(FetchError::Timeout { url: shown(&url) }),
                Some(answer) => answer.map_err(|error| FetchError::sending(&url, &error))?,
            };
            let status = answer.status();
            if status == StatusCode::NOT_MODIFIED && is_conditional(&headers) {
                return Ok(Fetched::NotModified);
            }
            if redirect::is_redirect(status, &method) {
                if trail.follow(status, answer.headers())? {
                    headers.remove(AUTHORIZATION);
                    sent_on = true;
                    if body.is_some() {
                        let reason = "a redirect of what is sent to another server".to_owned();
                        return Err(FetchError::Redirect { url: shown(&url), reason });
                    }
                }
                continue;
            }
            let head = response::Head::new(url, status, answer.headers().clone());
            if !status.is_success() && wanted == Wanted::Success {
                return Err(problem::refused(head, answer, wait, &self.traffic, &secrets).await);
            }
            let traffic = Arc::clone(&self.traffic);
            let body = match wanted {
                Wanted::Success => Body::bounded(&head, answer, bound, wait, traffic)?,
                Wanted::AsItIs => Body::as_it_is(&head, answer, wait, traffic),
                Wanted::Packed => Body::unpacked(&head, answer, wait, traffic),
            };
            let moved_to = trail.moved_to().cloned();
            return Ok(Fetched::Answer(Box::new(Response::new(head, body, moved_to))));
        }
    }

    /// The login for an address, unless the address or somebody else than the person says who asks.
    /// Over plain HTTP it goes only where this machine itself may be asked.
    fn login(&self, url: &Url, given: &Url, open: bool) -> Option<&Login> {
        let says_itself = !url.username().is_empty() || url.password().is_some();
        let is_safe = url.scheme() == "https" || open;
        let own = url.origin() == given.origin() && is_safe && !says_itself;
        self.logins.of(url).filter(|_| own)
    }

    /// Asks for a document that must be there, and reads it to its end.
    pub async fn document(&self, url: Url, accept: &'static str) -> Result<Response, FetchError> {
        match self.fetch(Request::read(url.clone()).accept(accept)).await? {
            Fetched::Answer(mut response) => {
                response.complete().await?;
                Ok(*response)
            }
            Fetched::NotModified => Err(FetchError::unasked(&url)),
        }
    }
}

fn builder(policy: Policy) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("feedsync/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .http1_only()
        .connect_timeout(policy.connect)
}

/// Names are resolved here: a proxy would do it out of our sight.
fn public_client(policy: Policy, networks: &Arc<[IpNet]>) -> Result<reqwest::Client, FetchError> {
    let resolver = address::PublicResolver(Arc::clone(networks));
    build(builder(policy).no_proxy().dns_resolver(resolver))
}

fn build(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, FetchError> {
    builder.build().map_err(|error| FetchError::Client(error::cause(&error)))
}

/// The text of a password in an address.
fn unescaped(password: &str) -> String {
    percent_encoding::percent_decode_str(password).decode_utf8_lossy().into_owned()
}

fn is_conditional(headers: &HeaderMap) -> bool {
    headers.contains_key(IF_NONE_MATCH) || headers.contains_key(IF_MODIFIED_SINCE)
}
