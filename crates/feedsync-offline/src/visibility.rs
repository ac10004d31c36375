//! Which subscriptions an application is told of (BITSY 4.4, R-B38).
//!
//! Those whose servers would trust it: because they are of its domain, or because it brings the credentials
//! with which they were made. What is installed here, and has no domain, is told of all that are not closed.

use std::net::IpAddr;

use http::HeaderMap;

use crate::authentication::Credentials;
use crate::subscription::Subscription;
use crate::subscription::state::State;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application<'a> {
    /// A program that is installed here.
    Installed,
    /// What a domain serves, by its host.
    Of(&'a str),
}

/// Whether an application is told of a subscription. It brings these headers; `is_suffix` says whether a
/// name is one below which anybody may have a name of their own (`com`, `co.uk`, `github.io`).
pub fn is_told(
    application: Application<'_>,
    headers: &HeaderMap,
    subscription: &Subscription,
    is_suffix: impl Fn(&str) -> bool,
) -> bool {
    if subscription.state() == State::Closed {
        return false;
    }
    let credentials = Credentials::of(subscription.registered());
    let is_known = !credentials.is_public() && credentials.check(headers).is_ok();
    match application {
        Application::Installed => true,
        Application::Of(domain) => {
            is_known || contains(domain, subscription.feed().host(), is_suffix)
        }
    }
}

/// Whether a domain is another, or contains it.
fn contains(domain: &str, other: &str, is_suffix: impl Fn(&str) -> bool) -> bool {
    let (domain, other) = (domain.to_ascii_lowercase(), other.to_ascii_lowercase());
    if domain.is_empty() || domain == other {
        return !domain.is_empty();
    }
    let is_number = other.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let below = other.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'));
    below && !is_number && !is_suffix(&domain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscription::Holder;
    use crate::subscription::builder::SubscriptionBuilder;

    fn subscription(feed: &str, authorization: Option<&str>) -> Subscription {
        let mut builder = SubscriptionBuilder::new(None);
        builder.set_feed(feed).unwrap();
        if let Some(authorization) = authorization {
            builder.set_request_header("Authorization", authorization).unwrap();
        }
        Subscription::new(builder.build().unwrap(), Holder(1))
    }

    fn told(domain: &str, feed: &str) -> bool {
        let suffix = |name: &str| matches!(name, "com" | "co.uk" | "github.io");
        let subscription = subscription(feed, Some("Bearer x"));
        is_told(Application::Of(domain), &HeaderMap::new(), &subscription, suffix)
    }

    #[test]
    fn a_domain_is_told_of_its_own_and_of_those_below() {
        for (domain, feed) in [
            ("example.com", "http://example.com/feed"),
            ("Example.COM", "http://news.example.com/feed"),
            ("example.co.uk", "https://a.b.example.co.uk/feed"),
            ("192.0.2.1", "http://192.0.2.1/feed"),
        ] {
            assert!(told(domain, feed), "{domain} {feed}");
        }
        for (domain, feed) in [
            ("news.example.com", "http://example.com/feed"),
            ("other.com", "http://example.com/feed"),
            ("ample.com", "http://example.com/feed"),
            ("com", "http://example.com/feed"),
            ("co.uk", "http://example.co.uk/feed"),
            ("github.io", "http://anna.github.io/feed"),
            ("anna.github.io", "http://bert.github.io/feed"),
            ("2.1", "http://192.0.2.1/feed"),
            ("", "http://example.com/feed"),
        ] {
            assert!(!told(domain, feed), "{domain} {feed}");
        }
    }

    #[test]
    fn who_brings_the_credentials_is_told_and_what_is_installed_is_told_of_all() {
        let mut private = subscription("http://example.com/feed", Some("Bearer x"));
        let elsewhere = Application::Of("elsewhere.org");
        let mut headers = HeaderMap::new();
        let suffix = |_: &str| false;
        assert!(!is_told(elsewhere, &headers, &private, suffix));
        assert!(is_told(Application::Installed, &headers, &private, suffix));
        headers.insert("authorization", "Bearer x".parse().unwrap());
        assert!(is_told(elsewhere, &headers, &private, suffix));
        headers.insert("authorization", "Bearer y".parse().unwrap());
        assert!(!is_told(elsewhere, &headers, &private, suffix));
        let public = subscription("http://example.com/feed", None);
        assert!(!is_told(elsewhere, &HeaderMap::new(), &public, suffix), "of another domain");
        private.pause();
        assert!(is_told(Application::Installed, &headers, &private, suffix));
        private.unsubscribe(Holder(1));
        assert!(!is_told(Application::Installed, &headers, &private, suffix));
    }
}
