//! Subscriptions that are listed to an application (BITSY 4.4, R-B38).
//!
//! An application sees subscriptions whose servers would trust it. Either they are of its domain, or it has
//! the credentials with which they were made. An installed application has no domain and sees all
//! subscriptions that are not closed.

use std::net::IpAddr;

use http::HeaderMap;

use crate::authentication::Credentials;
use crate::subscription::Subscription;
use crate::subscription::state::State;

/// The application that makes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application<'a> {
    /// A program that is installed on this machine.
    Installed,
    /// A web application, by the host that serves it.
    Of(&'a str),
}

/// Whether a subscription is listed to an application with these request headers. `is_suffix` says whether
/// anybody may register names below a name (`com`, `co.uk`, `github.io`).
pub fn is_listed(
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

/// Whether a domain is equal to another, or contains it.
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
        is_listed(Application::Of(domain), &HeaderMap::new(), &subscription, suffix)
    }

    #[test]
    fn domain_sees_its_own_feeds_and_those_of_subdomains() {
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
    fn matching_credentials_see_a_subscription_and_installed_programs_see_all() {
        let mut private = subscription("http://example.com/feed", Some("Bearer x"));
        let elsewhere = Application::Of("elsewhere.org");
        let mut headers = HeaderMap::new();
        let suffix = |_: &str| false;
        assert!(!is_listed(elsewhere, &headers, &private, suffix));
        assert!(is_listed(Application::Installed, &headers, &private, suffix));
        headers.insert("authorization", "Bearer x".parse().unwrap());
        assert!(is_listed(elsewhere, &headers, &private, suffix));
        headers.insert("authorization", "Bearer y".parse().unwrap());
        assert!(!is_listed(elsewhere, &headers, &private, suffix));
        let public = subscription("http://example.com/feed", None);
        assert!(!is_listed(elsewhere, &HeaderMap::new(), &public, suffix), "of another domain");
        private.pause();
        assert!(is_listed(Application::Installed, &headers, &private, suffix));
        private.unsubscribe(Holder(1));
        assert!(!is_listed(Application::Installed, &headers, &private, suffix));
    }
}
