//! Delivery of a change to its server: a sequence of requests and their results.

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::account::{Account, SignIn};
use super::change::{Change, UnsignedRequest};
use super::{Interface, miniflux, ttrss};

/// A request that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingRequest {
    /// Method of the request.
    pub method: String,
    /// Path and query, below the address of the interface.
    pub path: String,
    /// Headers of the request, with the credentials.
    pub headers: HeaderMap,
    /// Body of the request.
    pub body: Vec<u8>,
}

/// Next step after a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Another request is sent.
    Ask(OutgoingRequest),
    /// The delivery has ended.
    DeliveryResult(DeliveryResult),
}

/// Result of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryResult {
    /// The server has received the change.
    Sent,
    /// The server refused the change.
    Refused,
    /// The server is unavailable. The change is sent later.
    Away,
    /// The server does not accept the credentials, even after a new sign-in.
    Unknown,
}

/// Delivery of the changes of one account.
#[derive(Debug)]
pub struct Delivery {
    account: Account,
    change: Change,
    /// Short-lived token for writes, if there is one.
    token: Option<String>,
    is_renewed: bool,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    SigningIn,
    Token,
    Looking,
    Writing,
}

impl Delivery {
    /// Creates the delivery for an account.
    pub fn new(account: Account) -> Self {
        let (change, step) = (Change::default(), Step::Writing);
        Self { account, change, token: None, is_renewed: false, step }
    }

    /// The account, with its present session.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// First request of a change.
    pub fn begin(&mut self, change: Change) -> OutgoingRequest {
        self.change = change;
        self.is_renewed = false;
        self.go_on()
    }

    /// Returns the next step after the response to the last request.
    pub fn answered(&mut self, status: u16, body: &[u8]) -> Next {
        // These statuses are failures of the server or redirections on the way to it. They say nothing about
        // the change.
        if matches!(status, 300..400 | 408 | 425 | 429 | 500.. ) && !matches!(status, 501 | 505) {
            return Next::DeliveryResult(DeliveryResult::Away);
        }
        let interface = self.account.interface;
        if self.step == Step::SigningIn {
            let Some(session) = interface.session(status, body) else {
                return Next::DeliveryResult(DeliveryResult::Unknown);
            };
            self.account.add_session(&session);
            return Next::Ask(self.go_on());
        }
        // An expired token is refused like an expired session.
        if interface.is_unknown(status, body) {
            self.token = None;
            let can_renew = matches!(self.account.sign_in, SignIn::Password { .. });
            if !can_renew || self.is_renewed {
                return Next::DeliveryResult(DeliveryResult::Unknown);
            }
            self.is_renewed = true;
            return Next::Ask(self.sign_in());
        }
        match self.step {
            Step::Token => {
                // A server without tokens accepts the session.
                let text = std::str::from_utf8(body).ok().filter(|_| status == 200);
                let is_token = |text: &&str| text.len() < 1_000 && !text.contains(['<', ' ', '\n']);
                let token = text.map(str::trim).filter(is_token).map(str::to_owned);
                self.token = Some(token.unwrap_or_else(|| self.session()));
                Next::Ask(self.go_on())
            }
            Step::Looking => match (miniflux::is_starred(body), self.change.toggles) {
                (Some(is_so), Some((_, wanted))) if is_so == wanted => {
                    Next::DeliveryResult(DeliveryResult::Sent)
                }
                (Some(_), _) => Next::Ask(self.write()),
                (None, _) if status < 300 => Next::DeliveryResult(DeliveryResult::Away),
                (None, _) => Next::DeliveryResult(DeliveryResult::Refused),
            },
            _ if !interface.is_word(status, body) => Next::DeliveryResult(DeliveryResult::Away),
            _ if interface.is_done(status, body) => Next::DeliveryResult(DeliveryResult::Sent),
            _ => Next::DeliveryResult(DeliveryResult::Refused),
        }
    }

    fn go_on(&mut self) -> OutgoingRequest {
        let is_google = self.account.interface == Interface::Google;
        let needs_session = matches!(self.account.sign_in, SignIn::Password { .. });
        if needs_session && self.account.session().is_none() {
            self.is_renewed = true;
            return self.sign_in();
        }
        if is_google && self.token.is_none() {
            self.step = Step::Token;
            let path = format!("{}reader/api/0/token", self.prefix());
            return self.dressed(UnsignedRequest {
                method: "GET".to_owned(),
                path,
                ..UnsignedRequest::default()
            });
        }
        if let Some((article, _)) = self.change.toggles {
            self.step = Step::Looking;
            let path = format!("v1/entries/{article}");
            return self.dressed(UnsignedRequest {
                method: "GET".to_owned(),
                path,
                ..UnsignedRequest::default()
            });
        }
        self.write()
    }

    fn write(&mut self) -> OutgoingRequest {
        self.step = Step::Writing;
        let mut request = self.change.request.clone();
        match self.account.interface {
            Interface::Google => {
                let token = self.token.as_deref().unwrap_or_default();
                let token: String =
                    url::form_urlencoded::byte_serialize(token.as_bytes()).collect();
                let between = if request.body.is_empty() { "" } else { "&" };
                request.body = format!("{}{between}T={token}", request.body);
                request.content_type = Some("application/x-www-form-urlencoded".to_owned());
            }
            Interface::TinyTinyRss => {
                request.body = ttrss::with_session(&request.body, &self.session());
            }
            Interface::Miniflux | Interface::Nextcloud => {}
        }
        self.dressed(request)
    }

    fn sign_in(&mut self) -> OutgoingRequest {
        self.step = Step::SigningIn;
        let SignIn::Password { name, password, .. } = &self.account.sign_in else {
            return self.dressed(UnsignedRequest::default());
        };
        let (path, content_type, body) = match self.account.interface {
            Interface::TinyTinyRss => {
                (self.change.request.path.clone(), "application/json", ttrss::login(name, password))
            }
            _ => {
                let body = url::form_urlencoded::Serializer::new(String::new())
                    .append_pair("service", "reader")
                    .append_pair("accountType", "HOSTED_OR_GOOGLE")
                    .append_pair("source", "feedsync")
                    .append_pair("Email", name)
                    .append_pair("Passwd", password)
                    .finish();
                let path = format!("{}accounts/ClientLogin", self.prefix());
                (path, "application/x-www-form-urlencoded", body)
            }
        };
        let (method, content_type) = ("POST".to_owned(), Some(content_type.to_owned()));
        let mut asking = self.dressed(UnsignedRequest { method, path, content_type, body });
        if self.account.interface == Interface::Google {
            asking.headers.remove(http::header::AUTHORIZATION);
        }
        asking
    }

    /// Prefix of the Google Reader paths in the newsreader's request.
    fn prefix(&self) -> &str {
        let path = self.change.request.path.as_str();
        path.find("reader/api/0/").map_or("", |at| &path[..at])
    }

    fn session(&self) -> String {
        self.account.session().unwrap_or_default().to_owned()
    }

    /// Adds the credentials to a request.
    fn dressed(&self, request: UnsignedRequest) -> OutgoingRequest {
        let mut headers = HeaderMap::new();
        let mut put = |name: &str, text: &str, is_secret: bool| {
            let name = HeaderName::try_from(name);
            if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(text)) {
                value.set_sensitive(is_secret);
                headers.insert(name, value);
            }
        };
        if let Some(content_type) = &request.content_type {
            put("content-type", content_type, false);
        }
        match (&self.account.sign_in, self.account.interface) {
            (SignIn::Field(name, value), _) => put(name, value, true),
            (SignIn::Password { besides: Some(value), .. }, Interface::TinyTinyRss) => {
                put("authorization", value, true);
            }
            (_, Interface::Google) => {
                put("authorization", &format!("GoogleLogin auth={}", self.session()), true);
            }
            _ => {}
        }
        let UnsignedRequest { method, path, body, .. } = request;
        OutgoingRequest { method, path, headers, body: body.into_bytes() }
    }
}
