//! Sessions of browsers: a link that works once creates a session, which a cookie identifies.
//!
//! Both exist in memory only; after a restart of the gateway, a new link is needed. Scripts cannot read the
//! cookie, and other sites cannot send it. Each form contains a proof that is derived from it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use feedsync_http::Cookie;
use feedsync_store::Digest;
use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::secret::Secret;

/// Lifetime of an unused link.
const LINK_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Lifetime of a session.
const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// Maximum number of links and of sessions; the oldest are evicted.
const MAX_SECRETS: usize = 64;

const COOKIE: Cookie = Cookie::new("feedsync-gateway", "__Host-feedsync-gateway");

/// Unused links and open sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    links: Mutex<Issued>,
    open: Mutex<Issued>,
}

/// Digests of secrets, with their expiry times.
#[derive(Debug, Default)]
struct Issued(BTreeMap<String, Instant>);

/// A browser session.
#[derive(Debug, Clone)]
pub(crate) struct Session(Secret);

impl Sessions {
    /// Creates a secret for a new link.
    pub(crate) fn link(&self) -> Secret {
        lock(&self.links).issue(LINK_LIFETIME)
    }

    /// Exchanges the ticket of a link for a session, once; returns the value of `Set-Cookie`.
    pub(crate) fn open(&self, ticket: &str) -> Option<HeaderValue> {
        lock(&self.links).end(ticket).then(|| {
            let secret = lock(&self.open).issue(SESSION_LIFETIME);
            COOKIE.set(secret.as_str(), SESSION_LIFETIME.as_secs(), false)
        })
    }

    /// Returns the session of a request.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<Session> {
        let text = COOKIE.read(headers, false)?;
        let is_open = lock(&self.open).holds(&text);
        is_open.then(|| Session(Secret::of(text)))
    }

    /// Ends a session; returns the value of `Set-Cookie` that deletes the cookie.
    pub(crate) fn end(&self, session: &Session) -> HeaderValue {
        lock(&self.open).end(session.0.as_str());
        COOKIE.set("", 0, false)
    }
}

impl Session {
    /// Proof that each form of this session contains.
    pub(crate) fn proof(&self) -> Secret {
        self.0.derived("form")
    }
}

impl Issued {
    fn issue(&mut self, lasts: Duration) -> Secret {
        let secret = Secret::random();
        let now = Instant::now();
        self.0.retain(|_, end| *end > now);
        while self.0.len() >= MAX_SECRETS {
            let oldest =
                self.0.iter().min_by_key(|(_, end)| **end).map(|(digest, _)| digest.clone());
            oldest.and_then(|digest| self.0.remove(&digest));
        }
        self.0.insert(digest(secret.as_str()), now + lasts);
        secret
    }

    fn holds(&self, text: &str) -> bool {
        self.0.get(&digest(text)).is_some_and(|end| *end > Instant::now())
    }

    fn end(&mut self, text: &str) -> bool {
        self.0.remove(&digest(text)).is_some_and(|end| end > Instant::now())
    }
}

fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

fn lock(issued: &Mutex<Issued>) -> std::sync::MutexGuard<'_, Issued> {
    issued.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(set_cookie: &HeaderValue) -> HeaderMap {
        let text = set_cookie.to_str().unwrap().split(';').next().unwrap();
        HeaderMap::from_iter([(http::header::COOKIE, text.parse().unwrap())])
    }

    #[test]
    fn a_link_opens_once_and_the_cookie_lets_in_until_it_is_ended() {
        let sessions = Sessions::default();
        let ticket = sessions.link();
        assert!(sessions.open("0123").is_none());
        let cookie = sessions.open(ticket.as_str()).unwrap();
        assert!(sessions.open(ticket.as_str()).is_none(), "twice");
        let text = cookie.to_str().unwrap();
        assert!(text.contains("HttpOnly") && text.contains("SameSite=Strict"), "{text}");
        let session = sessions.of(&sent(&cookie)).unwrap();
        assert_ne!(session.proof().as_str(), session.0.as_str());
        assert!(sessions.of(&HeaderMap::new()).is_none());
        sessions.end(&session);
        assert!(sessions.of(&sent(&cookie)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn links_and_sessions_end_by_themselves_and_are_bounded() {
        let sessions = Sessions::default();
        let late = sessions.link();
        tokio::time::advance(LINK_LIFETIME).await;
        assert!(sessions.open(late.as_str()).is_none());
        let first = sessions.open(sessions.link().as_str()).unwrap();
        assert!(sessions.of(&sent(&first)).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        for _ in 0..MAX_SECRETS {
            sessions.open(sessions.link().as_str()).unwrap();
        }
        assert!(sessions.of(&sent(&first)).is_none(), "the oldest makes room");
        let last = sessions.open(sessions.link().as_str()).unwrap();
        tokio::time::advance(SESSION_LIFETIME).await;
        assert!(sessions.of(&sent(&last)).is_none());
    }
}
