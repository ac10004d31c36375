//! Who asks, and what they may see (BITSY 4.4).
//!
//! Programs bring the token, people's browsers a session: both keep the gateway, and see all. A page of an
//! origin that was allowed is an application: it sees the subscriptions of its own domain and those that it
//! made or brings the credentials of. What is in them - errors, events, edits - it sees only of what is
//! public, and of those whose credentials it has shown. Whatever it does not see is not there.

use std::collections::BTreeSet;

use feedsync_offline::authentication::{Credentials, Partition};
use feedsync_offline::interceptor::{Interceptor, Keeping, KeepingId};
use feedsync_offline::location::Location;
use feedsync_offline::subscription::state::State;
use feedsync_offline::visibility::{Application, is_told};
use feedsync_server::Problem;
use http::{HeaderMap, StatusCode};

use super::sessions::Session;
use crate::target::{Authority, is_local, is_near};

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// A program with the token.
    Program,
    /// A person, in a browser that was let in.
    Person(Session),
    /// A page of an origin that was allowed.
    Page(Page),
}

/// A page of an origin that was allowed.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Its origin.
    pub(crate) origin: Location,
    /// One life of it, as it names itself.
    pub(crate) life: String,
    /// What it sends.
    pub(crate) headers: HeaderMap,
}

impl Caller {
    /// Whether it keeps the gateway.
    pub(crate) fn keeps(&self) -> bool {
        !matches!(self, Self::Page(_))
    }

    /// The application that it is: its origin; nothing for who keeps the gateway.
    pub(crate) fn application(&self) -> &str {
        match self {
            Self::Page(page) => page.origin.origin(),
            Self::Program | Self::Person(_) => "",
        }
    }

    /// Refuses a page of the web a subscription in the local network: what answers there is not for it.
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
            "Not for a page of the web",
            "only pages of the local network subscribe to what is there",
        ))
    }

    /// One life of the application.
    pub(crate) fn life(&self) -> &str {
        match self {
            Self::Page(page) => &page.life,
            Self::Program | Self::Person(_) => "",
        }
    }
}

/// What a caller sees, with the subscriptions that it holds.
#[derive(Debug)]
pub(crate) struct Sight<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) held: BTreeSet<KeepingId>,
}

impl Sight<'_> {
    /// Whether it is told of a subscription.
    pub(crate) fn lists(&self, keeping: &Keeping) -> bool {
        let subscription = &keeping.subscription;
        match self.caller {
            Caller::Program | Caller::Person(_) => {
                is_told(Application::Installed, &HeaderMap::new(), subscription, is_suffix)
            }
            Caller::Page(page) => {
                let application = Application::Of(page.origin.host());
                let is_held =
                    self.held.contains(&keeping.id) && subscription.state() != State::Closed;
                is_held || is_told(application, &page.headers, subscription, is_suffix)
            }
        }
    }

    /// Whether it may see what is in a subscription that it is told of.
    pub(crate) fn knows(&self, keeping: &Keeping) -> bool {
        let Caller::Page(page) = self.caller else { return true };
        let credentials = Credentials::of(keeping.subscription.registered());
        self.lists(keeping)
            && (credentials.is_public()
                || self.held.contains(&keeping.id)
                || credentials.check(&page.headers).is_ok())
    }

    /// The subscriptions in which an event or an error of these people and this feed happened, as far as it
    /// may see into them.
    pub(crate) fn into(
        &self,
        interceptor: &Interceptor,
        partition: Partition,
        feed: &Location,
    ) -> Vec<KeepingId> {
        let of = interceptor.keepings().filter(|keeping| {
            let subscription = &keeping.subscription;
            subscription.partition() == partition && subscription.feed() == feed
        });
        of.filter(|keeping| self.knows(keeping)).map(|keeping| keeping.id).collect()
    }

    /// Whether it may see what happened to these people in this feed. Who keeps the gateway sees also what
    /// is left of subscriptions that have ended (R-B17).
    pub(crate) fn sees(
        &self,
        interceptor: &Interceptor,
        partition: Partition,
        feed: &Location,
    ) -> bool {
        self.caller.keeps() || !self.into(interceptor, partition, feed).is_empty()
    }
}

/// Whether anybody may have a name below this one: by the Public Suffix List, where a name that is not on
/// it is taken for one if it has no dot.
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
