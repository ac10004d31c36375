//! Records which application holds which subscription (R-B13).
//!
//! Each page holds its own subscriptions, so that a page that unsubscribes does not end those of another. If a
//! page disappears without unsubscribing, its holds remain with its application. They end when the next page of
//! the application subscribes to the same feed or unsubscribes from it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use feedsync_bitsy::interceptor::SubscriptionId;
use feedsync_bitsy::subscription::Holder;
use serde::{Deserialize, Serialize};

use super::caller::Caller;
use crate::private_file;

/// Name of the file in the data directory.
const FILE_NAME: &str = "control.holds";

/// Maximum number of holds of one application.
const MAX_HOLDS: usize = 1_000;

/// All holds, and the number of open streams of each instance. The latter is not persisted.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    holds: Vec<Hold>,
    instances: BTreeMap<(String, String), usize>,
    file: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Hold {
    application: String,
    #[serde(rename = "life")]
    instance: String,
    #[serde(rename = "keeping")]
    stored_subscription: u64,
    holder: u64,
}

/// Error of the file of holds.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HoldsError {
    /// The file cannot be read or written.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// The file is damaged.
    #[error(
        "{0} is damaged: {1}; the gateway no longer knows which applications use which \
         subscriptions, so it keeps all subscriptions"
    )]
    Damaged(String, serde_json::Error),
}

impl Holds {
    /// Loads the holds of a data directory.
    pub(crate) fn stored_in(directory: &Path) -> Result<Self, HoldsError> {
        let path = directory.join(FILE_NAME);
        let name = || path.display().to_string();
        let holds = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| HoldsError::Damaged(name(), error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(HoldsError::File(name(), error)),
        };
        Ok(Self { holds, instances: BTreeMap::new(), file: Some(path) })
    }

    /// Returns the subscriptions that an application holds through any of its instances.
    pub(crate) fn of(&self, caller: &Caller) -> BTreeSet<SubscriptionId> {
        let own = self.holds.iter().filter(|hold| hold.application == caller.application());
        own.map(|hold| SubscriptionId(hold.stored_subscription)).collect()
    }

    /// Whether an application may hold more subscriptions.
    pub(crate) fn is_below_limit(&self, caller: &Caller) -> bool {
        let own = self.holds.iter().filter(|hold| hold.application == caller.application());
        own.count() < MAX_HOLDS
    }

    /// Returns the holds of a subscription by this instance of an application.
    pub(crate) fn own(&self, caller: &Caller, stored_subscription: SubscriptionId) -> Vec<Holder> {
        self.select_holds(caller, stored_subscription, |hold| hold.instance == caller.instance())
    }

    /// Returns the holds of a subscription that closed instances of an application left behind.
    pub(crate) fn left(&self, caller: &Caller, stored_subscription: SubscriptionId) -> Vec<Holder> {
        let is_open = |hold: &Hold| {
            self.instances.contains_key(&(hold.application.clone(), hold.instance.clone()))
        };
        let is_left = |hold: &Hold| hold.instance != caller.instance() && !is_open(hold);
        self.select_holds(caller, stored_subscription, is_left)
    }

    fn select_holds(
        &self,
        caller: &Caller,
        stored_subscription: SubscriptionId,
        pick: impl Fn(&Hold) -> bool,
    ) -> Vec<Holder> {
        let of = self.holds.iter().filter(|hold| {
            hold.application == caller.application()
                && hold.stored_subscription == stored_subscription.0
                && pick(hold)
        });
        of.map(|hold| Holder(hold.holder)).collect()
    }

    /// Adds a hold of this instance of an application.
    pub(crate) fn add(
        &mut self,
        caller: &Caller,
        stored_subscription: SubscriptionId,
        holder: Holder,
    ) {
        self.holds.push(Hold {
            application: caller.application().to_owned(),
            instance: caller.instance().to_owned(),
            stored_subscription: stored_subscription.0,
            holder: holder.0,
        });
        self.keep();
    }

    /// Removes holds that were released.
    pub(crate) fn remove(&mut self, holders: &[Holder]) {
        let before = self.holds.len();
        self.holds.retain(|hold| !holders.contains(&Holder(hold.holder)));
        if self.holds.len() != before {
            self.keep();
        }
    }

    /// Removes the holds of subscriptions that no longer exist.
    pub(crate) fn prune(&mut self, there: &BTreeSet<SubscriptionId>) {
        let before = self.holds.len();
        self.holds.retain(|hold| there.contains(&SubscriptionId(hold.stored_subscription)));
        if self.holds.len() != before {
            self.keep();
        }
    }

    /// Counts an open stream of an instance.
    pub(crate) fn begin(&mut self, caller: &Caller) {
        *self.instances.entry(instance(caller)).or_default() += 1;
    }

    /// Ends a stream of an instance; the instance closes with its last stream.
    pub(crate) fn end(&mut self, caller: &Caller) {
        let instance = instance(caller);
        if let Some(count) = self.instances.get_mut(&instance) {
            *count -= 1;
            if *count == 0 {
                self.instances.remove(&instance);
            }
        }
    }

    /// Writes the file. If that fails, an application that returns after a restart of the gateway cannot end its
    /// earlier holds; nothing else is lost.
    fn keep(&self) {
        let Some(path) = &self.file else { return };
        let text = serde_json::to_vec(&self.holds).unwrap_or_else(|_| unreachable!("plain values"));
        if let Err(error) = private_file::replace(path, &text) {
            tracing::warn!(path = %path.display(), %error, "cannot store which applications hold which subscriptions");
        }
    }
}

fn instance(caller: &Caller) -> (String, String) {
    (caller.application().to_owned(), caller.instance().to_owned())
}

#[cfg(test)]
mod tests {
    use feedsync_bitsy::location::Location;
    use http::HeaderMap;

    use super::super::caller::Page;
    use super::*;

    fn page(origin: &str, instance: &str) -> Caller {
        let origin: Location = origin.parse().unwrap();
        Caller::Page(Page { origin, instance: instance.to_owned(), headers: HeaderMap::new() })
    }

    #[test]
    fn a_life_holds_for_itself_and_leaves_what_it_held_to_its_application() {
        let feed = SubscriptionId(1);
        let mut holds = Holds::default();
        let (first, second) = (page("http://a.test", "1"), page("http://a.test", "2"));
        let other = page("http://b.test", "3");
        holds.begin(&first);
        holds.begin(&second);
        holds.add(&first, feed, Holder(10));
        holds.add(&second, feed, Holder(20));
        holds.add(&other, feed, Holder(30));
        assert_eq!(holds.own(&second, feed), [Holder(20)]);
        assert_eq!(holds.left(&second, feed), [], "the other one is open");
        holds.end(&first);
        assert_eq!(holds.left(&second, feed), [Holder(10)]);
        assert_eq!(holds.left(&other, feed), []);
        holds.remove(&[Holder(10), Holder(20)]);
        assert!(holds.of(&first).is_empty());
        assert_eq!(holds.of(&other), BTreeSet::from([feed]));
        holds.prune(&BTreeSet::new());
        assert!(holds.of(&other).is_empty());
    }

    #[test]
    fn holds_outlive_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let first = page("http://a.test", "1");
        let mut holds = Holds::stored_in(directory.path()).unwrap();
        holds.begin(&first);
        holds.add(&first, SubscriptionId(4), Holder(10));
        let again = Holds::stored_in(directory.path()).unwrap();
        assert_eq!(again.left(&page("http://a.test", "2"), SubscriptionId(4)), [Holder(10)]);
        std::fs::write(directory.path().join(FILE_NAME), "{").unwrap();
        assert!(matches!(Holds::stored_in(directory.path()), Err(HoldsError::Damaged(..))));
    }
}
