//! Headers of stored responses, and of the responses that are made from the store (BITSY 3, R-B26, R-B27).
//!
//! Caching directives of HTTP do not change what is stored, because a subscription is a request to store. The
//! exception is `no-store` in a response of another origin. It is honoured unless the gateway is configured
//! otherwise. A stored response keeps its age and its date. A response from the store adds the time in
//! storage to the age.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::coding;
use crate::location::Location;
use crate::profile::Profile;
use crate::time::Time;

/// Name of this cache in `Warning` and `Cache-Status`.
const CACHE_NAME: &str = "bitsy";

/// The `Cache-Status` header (RFC 9211).
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Headers that are not stored: they belong to one connection (RFC 9110 7.6.1), or are no part of a
/// representation.
const NOT_STORED: [HeaderName; 11] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-authentication-info"),
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    // Cookies are for one person, once (R-B36).
    header::SET_COOKIE,
];

/// Maximum age in seconds. A greater age is reported as this one (RFC 9111 1.2.2).
const MAX_AGE: u64 = 1 << 31;

/// Whether the response for a resource of a feed may be stored.
pub fn is_storable(
    feed: &Location,
    location: &Location,
    headers: &HeaderMap,
    honours_no_store: bool,
) -> bool {
    let is_own = feed.is_same_origin(location);
    is_own || !honours_no_store || !says(headers, &header::CACHE_CONTROL, "no-store")
}

/// Times of a request and of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Time at which the request was made.
    pub requested: Time,
    /// Time at which the response arrived.
    pub answered: Time,
}

impl Timing {
    /// The timing of a response that arrived at once.
    pub const fn at(time: Time) -> Self {
        Self { requested: time, answered: time }
    }
}

/// Returns the headers of a server's response that are stored with it. `Age` is the age at arrival. `Date` is
/// the time of arrival if the server sent none (RFC 9110 6.6.1).
pub fn stored_headers(headers: &HeaderMap, timing: Timing) -> HeaderMap {
    let named: Vec<String> = tokens(headers, &header::CONNECTION).collect();
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        let is_hop = NOT_STORED.contains(name) || named.iter().any(|other| other == name.as_str());
        // Warnings with a 1xx code are deleted by a later validation (RFC 7234 5.5).
        let passes = *name == header::WARNING && value.as_bytes().first() == Some(&b'1');
        if !is_hop && !passes {
            kept.append(name, value.clone());
        }
    }
    kept.remove(header::AGE);
    let age = initial_age(headers, timing);
    kept.extend((age > 0).then(|| (header::AGE, HeaderValue::from(age))));
    if !kept.contains_key(header::DATE) {
        kept.extend(timing.answered.date().map(|date| (header::DATE, date)));
    }
    kept
}

/// Age of a response at its arrival (RFC 9111 4.2.3). The server's clock counts only where a cache on the way
/// may not have sent `Age`.
fn initial_age(headers: &HeaderMap, timing: Timing) -> u64 {
    let delay = timing.answered.since(timing.requested).as_secs();
    let corrected = told_age(headers).saturating_add(delay);
    let date = headers.get(header::DATE).and_then(|date| Time::of_date(date.to_str().ok()?));
    let has_old_hop = tokens(headers, &header::VIA).any(|hop| {
        hop.split_whitespace().next().is_some_and(|it| it.trim_start_matches("http/") == "1.0")
    });
    let apparent = date.filter(|_| has_old_hop).map(|date| timing.answered.since(date).as_secs());
    corrected.max(apparent.unwrap_or(0)).min(MAX_AGE)
}

/// The first age that a response names, in seconds. A value that is not a number counts as none (RFC 9111
/// 5.1).
fn told_age(headers: &HeaderMap) -> u64 {
    let told = headers.get(header::AGE).and_then(|age| age.to_str().ok()).unwrap_or_default();
    let told = told.split(',').next().unwrap_or_default().trim();
    let is_number = !told.is_empty() && told.bytes().all(|byte| byte.is_ascii_digit());
    // A number with too many digits is greater than the maximum age.
    if is_number { told.parse().unwrap_or(MAX_AGE).min(MAX_AGE) } else { 0 }
}

/// Properties of a response that comes from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Time at which the server sent the response.
    pub fetched: Time,
    /// Time at which the next round is due, if one is.
    pub due: Option<Time>,
    /// Whether the response shows an edit that the server has not received.
    pub is_pending: bool,
    /// Whether there is a network.
    pub is_online: bool,
}

/// Returns the headers of a response from the store. A warning says that there is no network while that is
/// true. In the strict profile the warning is always sent (R-B27).
pub fn answered(kept: HeaderMap, hit: Hit, profile: Profile, now: Time) -> HeaderMap {
    let mut headers = kept;
    let age = told_age(&headers).saturating_add(now.since(hit.fetched).as_secs()).min(MAX_AGE);
    headers.insert(header::AGE, HeaderValue::from(age));
    coding::vary(&mut headers);
    let ttl = hit.due.map(|due| match due >= now {
        true => format!("; ttl={}", due.since(now).as_secs()),
        false => format!("; ttl=-{}", now.since(due).as_secs()),
    });
    let pending = if hit.is_pending { "; detail=pending" } else { "" };
    let status = format!("{CACHE_NAME}; hit{}{pending}", ttl.unwrap_or_default());
    append(&mut headers, CACHE_STATUS, &status);
    if !hit.is_online || profile == Profile::Strict {
        append(
            &mut headers,
            header::WARNING,
            &format!("112 {CACHE_NAME} \"Disconnected operation\""),
        );
    }
    headers
}

/// Marks a response that could not be fetched because there is no network (R-B6).
pub fn mark_unreachable(headers: &mut HeaderMap) {
    append(headers, CACHE_STATUS, &format!("{CACHE_NAME}; fwd=miss; detail=offline"));
}

fn append(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.append(name, value);
    }
}

fn says(headers: &HeaderMap, name: &HeaderName, directive: &str) -> bool {
    tokens(headers, name).any(|token| token == directive)
}

/// The elements of a list, in lower case.
fn tokens(headers: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = String> {
    let texts = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let elements = texts.flat_map(|text| text.split(','));
    elements.map(|element| element.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::headers;

    const HIT: Hit = Hit {
        fetched: Time::from_millis(10_000),
        due: Some(Time::from_millis(100_000)),
        is_pending: false,
        is_online: false,
    };

    const NOW: Time = Time::from_millis(70_500);

    #[test]
    fn hop_by_hop_headers_age_and_set_cookie_are_not_stored() {
        let answer = headers(&[
            ("content-type", "application/atom+xml"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("set-cookie", "a=1"),
            ("age", "7, 9"),
            ("proxy-authentication-info", "x"),
            ("date", "Wed, 21 May 2008 00:00:00 GMT"),
            ("warning", "110 cache \"stale\""),
            ("warning", "214 - \"changed\""),
            ("cache-control", "no-store, max-age=0"),
            ("etag", "\"1\""),
        ]);
        let expected = headers(&[
            ("content-type", "application/atom+xml"),
            ("warning", "214 - \"changed\""),
            ("cache-control", "no-store, max-age=0"),
            ("etag", "\"1\""),
            ("age", "7"),
            ("date", "Wed, 21 May 2008 00:00:00 GMT"),
        ]);
        assert_eq!(stored_headers(&answer, Timing::at(NOW)), expected);
    }

    #[test]
    fn a_response_without_a_date_gets_that_of_its_arrival() {
        let undated = stored_headers(&HeaderMap::new(), Timing::at(NOW));
        assert_eq!(undated, headers(&[("date", "Thu, 01 Jan 1970 00:01:10 GMT")]));
    }

    #[test]
    fn age_adds_the_servers_age_the_delay_and_the_time_in_storage() {
        let requested = Time::from_millis(NOW.millis() - 3_000);
        let timing = Timing { requested, answered: NOW };
        let age = |fields: &[(&'static str, &str)], later: u64| {
            let kept = stored_headers(&headers(fields), timing);
            let hit = Hit { fetched: NOW, ..HIT };
            let now = NOW.after(std::time::Duration::from_secs(later));
            let answer = answered(kept, hit, Profile::Resilient, now);
            assert_eq!(answer.get_all("age").iter().count(), 1);
            answer["age"].to_str().unwrap().parse::<u64>().unwrap()
        };
        assert_eq!(age(&[], 0), 3);
        assert_eq!(age(&[], 7), 10);
        assert_eq!(age(&[("age", "100")], 7), 110);
        assert_eq!(age(&[("age", "100, 200"), ("age", "5")], 0), 103);
        for none in ["-5", "1.5", "+1", "", "soon", "1 2"] {
            assert_eq!(age(&[("age", none)], 0), 3, "{none}");
        }
        for much in ["2147483648", "4294967296", "99999999999999999999999"] {
            assert_eq!(age(&[("age", much)], 7), MAX_AGE, "{much}");
        }
        // The `Date` of the server counts where a hop on the way may not have sent the age.
        let date = ("date", "Thu, 01 Jan 1970 00:00:10 GMT");
        assert_eq!(age(&[date, ("via", "1.1 a, HTTP/1.0 b")], 0), 60);
        assert_eq!(age(&[date, ("via", "1.1 a, 1.1 b")], 0), 3);
    }

    #[test]
    fn clock_set_back_does_not_make_a_negative_age() {
        let early = Time::from_millis(1_000);
        assert_eq!(answered(HeaderMap::new(), HIT, Profile::Resilient, early)["age"], "0");
        let later = Timing { requested: NOW, answered: early };
        let future = headers(&[("date", "Thu, 01 Jan 2099 00:00:00 GMT"), ("via", "1.0 a")]);
        assert!(!stored_headers(&future, later).contains_key("age"));
    }

    #[test]
    fn an_answer_says_how_old_it_is_and_that_there_is_no_network() {
        let kept = headers(&[("etag", "\"1\"")]);
        let headers = answered(kept.clone(), HIT, Profile::Resilient, NOW);
        assert_eq!(headers["age"], "60");
        assert_eq!(headers["vary"], "Accept-Encoding");
        assert_eq!(headers["cache-status"], "bitsy; hit; ttl=29");
        assert_eq!(headers["warning"], "112 bitsy \"Disconnected operation\"");
        let late = Time::from_millis(101_500);
        let online = Hit { is_online: true, is_pending: true, ..HIT };
        let headers = answered(kept.clone(), online, Profile::Resilient, late);
        assert_eq!(headers["cache-status"], "bitsy; hit; ttl=-1; detail=pending");
        assert!(!headers.contains_key("warning"), "it would be untrue");
        assert!(answered(kept, online, Profile::Strict, late).contains_key("warning"));
    }

    #[test]
    fn answer_without_a_network_says_that_it_missed() {
        let mut missing = HeaderMap::new();
        mark_unreachable(&mut missing);
        assert_eq!(missing[CACHE_STATUS], "bitsy; fwd=miss; detail=offline");
    }

    #[test]
    fn no_store_is_honoured_for_other_origins_only() {
        let feed: Location = "http://example.org/feed".parse().unwrap();
        let other: Location = "http://cdn.example.net/1.mp3".parse().unwrap();
        let forbids = headers(&[("cache-control", "private"), ("cache-control", "No-Store")]);
        assert!(is_storable(&feed, &feed, &forbids, true));
        assert!(!is_storable(&feed, &other, &forbids, true));
        assert!(is_storable(&feed, &other, &forbids, false));
        let others =
            headers(&[("cache-control", "no-cache, must-revalidate, s-maxage=0, max-age=0")]);
        assert!(is_storable(&feed, &other, &others, true));
    }
}
