//! Verdicts on the responses that servers give to edits (BITSY 3.5, R-B31 to R-B34).
//!
//! | response | strict | resilient |
//! |---|---|---|
//! | 200 to PUT | the entity is the representation | the same, if it can be one; else the server is queried |
//! | other 2xx to PUT | undefined | done; the server is queried for the result |
//! | 2xx to DELETE | done | done |
//! | 404, 410 to DELETE | an error | done: the resource is gone |
//! | 201 to POST | the entity is the representation of both headers | only of `Content-Location` (RFC 5023 9.2) |
//! | other 2xx to POST | undefined | done; the feed is queried for the new member |
//! | 202 | undefined | accepted: the edit stays until the server shows its result |
//! | 301, 302, 303, 307, 308 with `Location` | repeated there | the same, according to RFC 9110 15.4 |
//! | other 1xx and 3xx | an error | an error |
//! | 401, 407 | an error | an error; the edit is held until there are credentials or it is retried |
//! | 408, 425, 429, 502, 503, 504 | an error | that edit waits, as `Retry-After` says or longer each time |
//! | 413, 423, 500 with `Retry-After` | an error | that edit waits as `Retry-After` says |
//! | every other 4xx or 5xx | an error | an error |
//!
//! An edit that waits or is held delays only edits of its own resource. Statuses above 599 are not defined by
//! HTTP and count as errors.
//!
//! A server is authoritative for its own origin only. An address of another origin in a 201 is queried and
//! not trusted.
//!
//! An error does not lose the content of the edit: the list of errors contains its body.

use http::header::{self, HeaderMap};
use http::{HeaderName, StatusCode};

use crate::location::Location;
use crate::profile::Profile;
use crate::subscription::outcome::retry_after;
use crate::time::Time;

/// Method of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// A member is created in a collection.
    Post,
    /// A member, or its media, is replaced.
    Put,
    /// A member, or its media, is removed.
    Delete,
}

/// The response to an edit.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Status of the response.
    pub status: StatusCode,
    /// Headers of the response.
    pub headers: &'a HeaderMap,
    /// Whether the entity can be the edited resource: an Atom entry if the resource is one.
    pub is_representation: bool,
}

/// Result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The edit was carried out.
    Done(Done),
    /// The edit is redirected to another address. The sender counts consecutive redirections
    /// ([`MAX_HOPS`](crate::subscription::outcome::MAX_HOPS)).
    Elsewhere {
        /// Address of the redirection.
        to: Location,
        /// Whether the edit is repeated there; if not, its result is fetched from there.
        again: bool,
    },
    /// The server accepted the edit and has not carried it out yet.
    Accepted,
    /// The edit waits until this time, or longer than the last time.
    Later(Option<Time>),
    /// The edit is held until there are other credentials or it is retried, and an error is recorded.
    NeedsCredentials,
    /// The edit is an error, and the server's version shows again.
    Refused,
}

/// Known results of an edit that was carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// Locations whose representation is the entity of the response.
    pub stored: Vec<Location>,
    /// Address of a new member.
    pub member: Option<Location>,
    /// Whether the server is queried for the result: the resource itself or the member, or the feed if the
    /// member's address is unknown.
    pub asks: bool,
}

impl Verdict {
    /// Returns the meaning of a response to an edit of a resource.
    pub fn of(
        method: Method,
        location: &Location,
        answer: Answer<'_>,
        profile: Profile,
        now: Time,
    ) -> Self {
        let resilient = profile == Profile::Resilient;
        match answer.status.as_u16() {
            202 => Self::Accepted,
            201 if method == Method::Post => Self::Done(created(location, answer, profile)),
            200..=299 => Self::Done(match method {
                Method::Delete => Done::default(),
                Method::Put if answer.status == StatusCode::OK && answer.is_representation => {
                    Done { stored: vec![location.clone()], ..Done::default() }
                }
                Method::Post | Method::Put => Done { asks: true, ..Done::default() },
            }),
            status @ (301 | 302 | 303 | 307 | 308) => {
                match named(answer.headers, header::LOCATION, location) {
                    Some(to) => {
                        let again = is_repeated(method, status) || is_same(location, &to);
                        // A 303 says that the result is at that address (RFC 9110 15.4.4).
                        Self::Elsewhere { to, again: again && status != 303 }
                    }
                    None => Self::Refused,
                }
            }
            404 | 410 if resilient && method == Method::Delete => Self::Done(Done::default()),
            401 | 407 if resilient => Self::NeedsCredentials,
            408 | 425 | 429 | 502 | 503 | 504 if resilient => {
                Self::Later(retry_after(answer.headers, now))
            }
            // These statuses are temporary if the server says when to retry (RFC 9110 15.5.14).
            413 | 423 | 500 if resilient => {
                let until = retry_after(answer.headers, now);
                until.map_or(Self::Refused, |until| Self::Later(Some(until)))
            }
            _ => Self::Refused,
        }
    }
}

/// Result of a 201. The entity of one server is never stored for an address of another. If the member is on
/// another server, the feed is queried.
fn created(collection: &Location, answer: Answer<'_>, profile: Profile) -> Done {
    let is_own = |location: &Location| location.is_same_origin(collection);
    let member = named(answer.headers, header::LOCATION, collection);
    if member.as_ref().is_some_and(|member| !is_own(member)) {
        return Done { asks: true, ..Done::default() };
    }
    let content = named(answer.headers, header::CONTENT_LOCATION, collection).filter(is_own);
    let stored = match profile {
        Profile::Strict => content.iter().chain(&member).cloned().collect(),
        Profile::Resilient if !answer.is_representation => Vec::new(),
        Profile::Resilient if member.is_none() || member == content => {
            content.iter().cloned().collect()
        }
        // No header says that the entity is the complete member (RFC 5023 9.2).
        Profile::Resilient => Vec::new(),
    };
    let mut stored: Vec<Location> = stored;
    stored.dedup();
    let member = member.or(content);
    let known = member.as_ref().is_some_and(|member| stored.contains(member));
    Done { asks: !known, stored, member }
}

pub(crate) fn named(headers: &HeaderMap, name: HeaderName, base: &Location) -> Option<Location> {
    let text = headers.get(name)?.to_str().ok()?;
    Location::resolve(Some(base), text).ok()
}

/// Whether two addresses differ only in the scheme or in slashes at the end. Such a redirection names the
/// same collection, and the post is still to be made (R-B33).
fn is_same(one: &Location, other: &Location) -> bool {
    let bare = |location: &Location| {
        let text = location.as_str();
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        rest.trim_end_matches('/').to_owned()
    };
    bare(one) == bare(other)
}

/// Whether the edit is repeated at the address of a redirection. A POST is not repeated after a 301 or a 302:
/// most servers mean a 303 by these, and clients understand them so (RFC 9110 15.4.2, 15.4.3).
const fn is_repeated(method: Method, status: u16) -> bool {
    !matches!((method, status), (Method::Post, 301 | 302))
}

#[cfg(test)]
mod tests {
    use super::Method::{Delete, Post, Put};
    use super::Profile::{Resilient, Strict};
    use super::*;
    use crate::testing::{self, at};

    const NOW: Time = Time::from_millis(1_000);

    fn verdict(
        method: Method,
        status: u16,
        headers: &[(&'static str, &str)],
        profile: Profile,
    ) -> Verdict {
        let map = testing::headers(headers);
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer { status, headers: &map, is_representation: true };
        Verdict::of(method, &at("feed/1"), answer, profile, NOW)
    }

    fn done(stored: &[&str], member: Option<&str>, asks: bool) -> Verdict {
        let stored = stored.iter().map(|path| at(path)).collect();
        Verdict::Done(Done { stored, member: member.map(at), asks })
    }

    #[test]
    fn response_200_to_put_is_the_representation() {
        for profile in [Strict, Resilient] {
            assert_eq!(verdict(Put, 200, &[], profile), done(&["feed/1"], None, false));
            for status in [201, 204, 205] {
                assert_eq!(verdict(Put, status, &[], profile), done(&[], None, true), "{status}");
            }
            for status in [200, 201, 204] {
                assert_eq!(verdict(Delete, status, &[], profile), done(&[], None, false));
            }
        }
        let headers = HeaderMap::new();
        let answer = Answer { status: StatusCode::OK, headers: &headers, is_representation: false };
        let verdict = Verdict::of(Put, &at("feed/1"), answer, Resilient, NOW);
        assert_eq!(verdict, done(&[], None, true), "a page that says: well done");
    }

    #[test]
    fn address_of_a_new_member_comes_from_the_headers() {
        let both = [("location", "/feed/2"), ("content-location", "http://EXAMPLE.org/feed/2")];
        let apart = [("location", "2"), ("content-location", "3")];
        let member = [("location", "2")];
        let content = [("content-location", "3")];
        for (headers, strict, resilient) in [
            (&both[..], (&["feed/2"][..], false), (&["feed/2"][..], false)),
            (&apart, (&["feed/3", "feed/2"], false), (&[], true)),
            (&member, (&["feed/2"], false), (&[], true)),
            (&content, (&["feed/3"], false), (&["feed/3"], false)),
        ] {
            let place = if headers == content { "feed/3" } else { "feed/2" };
            for (profile, (stored, asks)) in [(Strict, strict), (Resilient, resilient)] {
                let expected = done(stored, Some(place), asks);
                assert_eq!(
                    verdict(Post, 201, headers, profile),
                    expected,
                    "{headers:?} {profile:?}"
                );
            }
        }
        for status in [200, 201, 204] {
            assert_eq!(verdict(Post, status, &[], Resilient), done(&[], None, true), "{status}");
        }
    }

    #[test]
    fn headers_that_name_another_origin_are_not_trusted() {
        let elsewhere = "http://bank.example/account";
        let own = "/feed/2";
        for profile in [Strict, Resilient] {
            for (member, content) in [(elsewhere, elsewhere), (elsewhere, own)] {
                let headers = [("location", member), ("content-location", content)];
                assert_eq!(verdict(Post, 201, &headers, profile), done(&[], None, true));
            }
            let content = verdict(Post, 201, &[("content-location", elsewhere)], profile);
            assert_eq!(content, done(&[], None, true));
            for origin in ["https://example.org/feed/2", "http://example.org:8080/feed/2"] {
                let member = verdict(Post, 201, &[("location", origin)], profile);
                assert_eq!(member, done(&[], None, true), "{origin}");
            }
        }
        let apart = [("location", own), ("content-location", elsewhere)];
        assert_eq!(verdict(Post, 201, &apart, Strict), done(&["feed/2"], Some("feed/2"), false));
        // The response does not say that the entity is the member.
        assert_eq!(verdict(Post, 201, &apart, Resilient), done(&[], Some("feed/2"), true));
    }

    #[test]
    fn redirections_repeat_the_edit_or_fetch_its_result() {
        for (method, status, again) in [
            (Put, 301, true),
            (Put, 302, true),
            (Put, 303, false),
            (Put, 307, true),
            (Put, 308, true),
            (Delete, 302, true),
            (Post, 301, false),
            (Post, 302, false),
            (Post, 303, false),
            (Post, 307, true),
            (Post, 308, true),
        ] {
            for profile in [Strict, Resilient] {
                let moved = verdict(method, status, &[("location", "/x")], profile);
                assert_eq!(moved, Verdict::Elsewhere { to: at("x"), again }, "{method:?} {status}");
                for headers in [&[][..], &[("location", "mailto:a@example.org")]] {
                    assert_eq!(verdict(method, status, headers, profile), Verdict::Refused);
                }
            }
        }
    }

    #[test]
    fn post_is_repeated_at_another_spelling_of_the_same_collection() {
        for same in ["https://example.org/feed/1", "/feed/1/"] {
            for (status, again) in [(301, true), (302, true), (303, false)] {
                let moved = verdict(Post, status, &[("location", same)], Resilient);
                let to = Location::resolve(Some(&at("feed/1")), same).unwrap();
                assert_eq!(moved, Verdict::Elsewhere { to, again }, "{same} {status}");
            }
        }
    }

    #[test]
    fn every_error_is_final_when_strict_and_temporary_errors_wait_when_resilient() {
        for status in 400..600 {
            for method in [Post, Put, Delete] {
                assert_eq!(verdict(method, status, &[], Strict), Verdict::Refused, "{status}");
                let resilient = match (status, method) {
                    (401 | 407, _) => Verdict::NeedsCredentials,
                    (408 | 425 | 429 | 502 | 503 | 504, _) => Verdict::Later(None),
                    (404 | 410, Delete) => done(&[], None, false),
                    _ => Verdict::Refused,
                };
                assert_eq!(verdict(method, status, &[], Resilient), resilient, "{status}");
            }
        }
        for status in [408, 413, 423, 425, 429, 500, 502, 503, 504] {
            let later = verdict(Put, status, &[("retry-after", "2")], Resilient);
            assert_eq!(later, Verdict::Later(Some(Time::from_millis(3_000))), "{status}");
            let strict = verdict(Put, status, &[("retry-after", "2")], Strict);
            assert_eq!(strict, Verdict::Refused, "{status}");
        }
        for status in [403, 404, 409, 412, 501, 505, 507] {
            let refused = verdict(Put, status, &[("retry-after", "2")], Resilient);
            assert_eq!(refused, Verdict::Refused, "{status}");
        }
        for method in [Post, Put, Delete] {
            for profile in [Strict, Resilient] {
                assert_eq!(verdict(method, 202, &[], profile), Verdict::Accepted);
                for status in [100, 101, 103, 199, 300, 304, 305, 306, 399, 600, 999] {
                    let refused = verdict(method, status, &[("location", "/x")], profile);
                    assert_eq!(refused, Verdict::Refused);
                }
            }
        }
    }
}
