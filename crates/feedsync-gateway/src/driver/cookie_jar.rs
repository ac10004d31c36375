//! Cookies that servers set in responses to the gateway's own requests (R-B36). They are sent with later requests
//! of the same partition to the same server, and never to an application.
//!
//! The `Domain` attribute is ignored: a cookie is sent to the host that set it and to no other (RFC 6265 5.3,
//! host-only). Cookies are not persisted.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::location::Location;
use feedsync_bitsy::time::Time;
use http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};

use super::cookie_date;

/// Maximum number of cookies of one server in one partition. Those that were set first are evicted.
const MAX_COOKIES: usize = 50;

/// Maximum number of servers with cookies, counted separately for each partition that uses one. The least recently
/// used one is evicted.
const MAX_SERVERS: usize = 256;

/// Maximum size of a cookie, in bytes (RFC 6265 6.1).
const MAX_COOKIE_BYTES: usize = 4_096;

/// Cookies by partition and origin.
#[derive(Debug, Default)]
pub(super) struct Jar {
    servers: Mutex<HashMap<(Partition, String), Server>>,
}

#[derive(Debug, Default)]
struct Server {
    /// Cookies in the order in which they were set; the newest is last.
    cookies: Vec<Cookie>,
    /// Time of the last request or response.
    used: Time,
}

#[derive(Debug, Clone)]
struct Cookie {
    name: String,
    value: String,
    path: String,
    is_secure: bool,
    until: Option<Time>,
}

impl Jar {
    /// Stores the cookies that a response sets.
    pub(super) fn take(&self, whose: Partition, from: &Location, headers: &HeaderMap, now: Time) {
        let set = headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        let set: Vec<Cookie> = set.filter_map(|text| parsed(text, from, now)).collect();
        if set.is_empty() {
            return;
        }
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (whose, from.origin().to_owned());
        let server = servers.entry(key).or_default();
        server.used = now;
        for cookie in set {
            server.cookies.retain(|other| other.name != cookie.name || other.path != cookie.path);
            server.cookies.push(cookie);
        }
        server.cookies.retain(|cookie| cookie.is_alive(now));
        let excess = server.cookies.len().saturating_sub(MAX_COOKIES);
        server.cookies.drain(..excess);
        servers.retain(|_, server| !server.cookies.is_empty());
        if servers.len() > MAX_SERVERS
            && let Some((key, _)) = servers.iter().min_by_key(|(_, server)| server.used)
        {
            let key = key.clone();
            servers.remove(&key);
        }
    }

    /// Adds the stored cookies to the header of a request. Cookies that the subscription registered are not
    /// replaced.
    pub(super) fn give(&self, whose: Partition, to: &Location, headers: &mut HeaderMap, now: Time) {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(server) = servers.get_mut(&(whose, to.origin().to_owned())) else { return };
        server.used = now;
        let path = path(to);
        let registered = headers.get(COOKIE).and_then(|value| value.to_str().ok());
        let registered = registered.unwrap_or_default().to_owned();
        let has = |name: &str| {
            let mut pairs = registered.split(';').map(str::trim);
            pairs.any(|pair| pair.split('=').next() == Some(name))
        };
        let fit = server.cookies.iter().filter(|cookie| {
            cookie.is_alive(now)
                && (to.is_secure() || !cookie.is_secure)
                && is_below(path, &cookie.path)
        });
        let fit = fit.filter(|cookie| !has(&cookie.name));
        let pairs = fit.map(|cookie| format!("{}={}", cookie.name, cookie.value));
        let known = (!registered.is_empty()).then(|| registered.clone());
        let joined: Vec<String> = known.into_iter().chain(pairs).collect();
        if let Ok(mut value) = HeaderValue::from_str(&joined.join("; "))
            && !joined.is_empty()
        {
            value.set_sensitive(true);
            headers.insert(COOKIE, value);
        }
    }
}

impl Cookie {
    fn is_alive(&self, now: Time) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

fn parsed(text: &str, from: &Location, now: Time) -> Option<Cookie> {
    let mut parts = text.split(';').map(str::trim);
    let (name, value) = parts.next()?.split_once('=')?;
    if name.is_empty() || text.len() > MAX_COOKIE_BYTES {
        return None;
    }
    let directory = path(from).rsplit_once('/').map_or("/", |(before, _)| before);
    let mut cookie = Cookie {
        name: name.trim().to_owned(),
        value: value.trim().to_owned(),
        path: if directory.is_empty() { "/".to_owned() } else { directory.to_owned() },
        is_secure: false,
        until: None,
    };
    let mut age = None;
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "path" if value.starts_with('/') => cookie.path = value.to_owned(),
            "secure" => cookie.is_secure = true,
            "expires" => cookie.until = cookie_date::parsed(value).or(cookie.until),
            "max-age" => age = value.parse::<i64>().ok().or(age),
            _ => {}
        }
    }
    if let Some(age) = age {
        let span = Duration::from_secs(u64::try_from(age).unwrap_or_default());
        cookie.until = Some(now.after(span));
    }
    Some(cookie)
}

fn path(location: &Location) -> &str {
    let rest = &location.as_str()[location.origin().len()..];
    rest.split('?').next().unwrap_or("/")
}

fn is_below(path: &str, above: &str) -> bool {
    let Some(rest) = path.strip_prefix(above) else { return false };
    rest.is_empty() || above.ends_with('/') || rest.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(jar: &Jar, whose: Partition, to: &str, now: u64) -> String {
        let mut headers = HeaderMap::new();
        jar.give(whose, &to.parse().unwrap(), &mut headers, Time::from_millis(now));
        headers.get(COOKIE).map_or(String::new(), |value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn cookies_return_to_the_same_origin_and_partition() {
        let (jar, public) = (Jar::default(), Partition::public());
        let mut headers = HeaderMap::new();
        for set in [
            "a=1; Path=/",
            "b=2",
            "c=3; Secure; Path=/",
            "d=4; Max-Age=10; Path=/",
            "e=5; Max-Age=0",
        ] {
            headers.append(SET_COOKIE, set.parse().unwrap());
        }
        let from = "http://example.org/notes/feed".parse().unwrap();
        jar.take(public, &from, &headers, Time::from_millis(0));
        assert_eq!(given(&jar, public, "http://example.org/notes/1", 1), "a=1; b=2; d=4");
        assert_eq!(given(&jar, public, "http://example.org/notesandmore", 1), "a=1; d=4");
        assert_eq!(given(&jar, public, "http://example.org/notes/1", 10_001), "a=1; b=2");
        for other in ["https://example.org/", "http://www.example.org/", "http://example.org:8080/"]
        {
            assert_eq!(given(&jar, public, other, 1), "", "{other}");
        }
        assert_eq!(given(&jar, Partition::of_bytes([7; 32]), "http://example.org/", 1), "");
        headers.clear();
        headers.append(
            SET_COOKIE,
            "a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT".parse().unwrap(),
        );
        jar.take(public, &from, &headers, Time::from_millis(2));
        assert_eq!(given(&jar, public, "http://example.org/notes/1", 3), "b=2; d=4");
    }

    #[test]
    fn the_jar_is_bounded_and_the_oldest_goes_first() {
        let (jar, public) = (Jar::default(), Partition::public());
        let set = |number: usize, cookie: String, now: u64| {
            let set = HeaderMap::from_iter([(SET_COOKIE, cookie.parse().unwrap())]);
            let from = format!("http://{number}.example.org/").parse().unwrap();
            jar.take(public, &from, &set, Time::from_millis(now));
        };
        let at = |number: usize| format!("http://{number}.example.org/");
        for number in 0..=MAX_COOKIES {
            set(0, format!("c{number}=1"), 1);
        }
        let all = given(&jar, public, &at(0), 2);
        assert_eq!(all.split("; ").count(), MAX_COOKIES);
        assert!(all.starts_with("c1=1; ") && all.ends_with(&format!("; c{MAX_COOKIES}=1")));
        for number in 1..MAX_SERVERS {
            set(number, "a=1".to_owned(), 10 + number as u64);
        }
        assert_ne!(given(&jar, public, &at(0), 1_000), "", "there is room for so many");
        set(MAX_SERVERS, "a=1".to_owned(), 1_001);
        assert_eq!(given(&jar, public, &at(1), 1_002), "", "it was used before all others");
        for number in [0, 2, MAX_SERVERS] {
            assert_ne!(given(&jar, public, &at(number), 1_003), "", "{number}");
        }
        // An expired cookie frees its slot.
        set(2, "a=; Expires=Thu, 01-Jan-1970 00:00:00 GMT".to_owned(), 1_004);
        assert_eq!(jar.servers.lock().unwrap().len(), MAX_SERVERS - 1);
    }

    #[test]
    fn registered_cookies_are_never_replaced() {
        let (jar, public) = (Jar::default(), Partition::public());
        let mut set = HeaderMap::new();
        set.append(SET_COOKIE, "session=theirs; Path=/".parse().unwrap());
        set.append(SET_COOKIE, "more=1; Path=/".parse().unwrap());
        let at: Location = "http://example.org/".parse().unwrap();
        jar.take(public, &at, &set, Time::default());
        let mut headers =
            HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("session=mine"))]);
        jar.give(public, &at, &mut headers, Time::default());
        assert_eq!(headers[COOKIE], "session=mine; more=1");
    }
}
