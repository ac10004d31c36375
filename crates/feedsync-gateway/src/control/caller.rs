//! The caller of a request, and what it may see (BITSY 4.4).
//!
//! Programs send the token, people's browsers a session: both act as operator of the gateway and see everything. A
//! page of an allowed origin is an application. It sees the subscriptions of its own domain, those that it made,
//! and those whose credentials it sends. Errors, events and edits of a subscription are visible to it only if the
//! subscription is public or if it has shown the credentials. For objects that it may not see, it gets the same
//! responses as for those that do not exist.

use std::collections::BTreeSet;

use feedsync_bitsy::authentication::{Credentials, Partition};
use feedsync_bitsy::interceptor::{self, StoredSubscription, SubscriptionId};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::subscription::state::State;
use feedsync_bitsy::view::{Audience, Shows, ids};
use feedsync_bitsy::visibility::{Application, is_listed};
use feedsync_http::Problem;
use http::{HeaderMap, StatusCode};

use super::sessions::Session;
use crate::target::{Authority, is_local, is_near};

/// The caller of a request.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// A program that sent the token.
    Program,
    /// A person, in a browser with a session.
    Person(Session),
    /// A page of an allowed origin.
    Page(Page),
}

/// A page of an allowed origin.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Origin of the page.
    pub(crate) origin: Location,
    /// Name of the page's instance, chosen by the page.
    pub(crate) instance: String,
    /// Header of the request, which may contain credentials.
    pub(crate) headers: HeaderMap,
}

impl Caller {
    /// Whether the caller is an operator of the gateway.
    pub(crate) fn is_operator(&self) -> bool {
        !matches!(self, Self::Page(_))
    }

    /// Origin of the application; empty for an operator of the gateway.
    pub(crate) fn application(&self) -> &str {
        match self {
            Self::Page(page) => page.origin.origin(),
            Self::Program | Self::Person(_) => "",
        }
    }

    /// Refuses subscriptions to the local network by pages of the web, so that they cannot read from it.
    pub(crate) fn may_reach(&self, feed: &Location) -> Result<(), Problem> {
        let Self::Page(page) = self else { return Ok(()) };
        let is_near = is_near(Authority::of(&page.origin).host());
        let may = is_near || feed.is_same_origin(&page.origin);
        if may || !is_local(Authority::of(feed).host()) {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "local-network",
            "Forbidden",
            "only pages from the local network can subscribe to feeds in the local network",
        ))
    }

    /// Instance of the application; empty for an operator of the gateway.
    pub(crate) fn instance(&self) -> &str {
        match self {
            Self::Page(page) => &page.instance,
            Self::Program | Self::Person(_) => "",
        }
    }
}

/// Visibility of subscriptions for a caller, including those that it holds.
#[derive(Debug)]
pub(crate) struct Visibility<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) held: BTreeSet<SubscriptionId>,
}

impl Visibility<'_> {
    /// Whether the caller may see that a subscription exists.
    fn is_listed(&self, stored_subscription: &StoredSubscription) -> bool {
        let subscription = &stored_subscription.subscription;
        match self.caller {
            Caller::Program | Caller::Person(_) => {
                is_listed(Application::Installed, &HeaderMap::new(), subscription, is_suffix)
            }
            Caller::Page(page) => {
                let application = Application::Of(page.origin.host());
                let is_held = self.held.contains(&stored_subscription.id)
                    && subscription.state() != State::Closed;
                is_held || is_listed(application, &page.headers, subscription, is_suffix)
            }
        }
    }

    /// Whether the caller may see the contents of a subscription that it is shown.
    pub(crate) fn knows(&self, stored_subscription: &StoredSubscription) -> bool {
        let Caller::Page(page) = self.caller else { return true };
        let credentials = Credentials::of(stored_subscription.subscription.registered());
        self.is_listed(stored_subscription)
            && (credentials.is_public()
                || self.held.contains(&stored_subscription.id)
                || credentials.check(&page.headers).is_ok())
    }
}

impl Audience for Visibility<'_> {
    fn lists(&self, stored_subscription: &StoredSubscription) -> bool {
        self.is_listed(stored_subscription)
    }

    /// Secrets are shown to a caller that has sent them, and not to an operator of the gateway.
    fn shows(&self, stored_subscription: &StoredSubscription) -> Shows {
        let contents = self.knows(stored_subscription);
        Shows { contents, secrets: contents && !self.caller.is_operator() }
    }

    /// Operators of the gateway also see edits and errors of subscriptions that have ended (R-B17).
    fn sees(&self, state: &interceptor::State, partition: Partition, feed: &Location) -> bool {
        self.caller.is_operator() || !ids(state, self, (partition, feed)).is_empty()
    }
}

/// Whether a name is a public suffix, below which anybody may register names. A name without a dot that is not on
/// the Public Suffix List counts as one.
fn is_suffix(name: &str) -> bool {
    psl::suffix_str(name) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_suffix_list_is_known() {
        for suffix in ["com", "co.uk", "github.io", "localhost", "internal"] {
            assert!(is_suffix(suffix), "{suffix}");
        }
        for name in ["example.com", "example.co.uk", "anna.github.io", "app.localhost"] {
            assert!(!is_suffix(name), "{name}");
        }
    }
}
