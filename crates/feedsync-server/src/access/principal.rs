//! Who asks.

use std::sync::Arc;

use feedsync_endpoint::{Person, Reader};
use feedsync_store::{CollectionName, Role, UserName};

/// Who asks, with the rights of at most a second ago.
#[derive(Debug, Clone)]
pub(crate) enum Principal {
    /// Whoever is on this machine, as long as there is no user: everything is allowed.
    Local,
    /// Nobody who signed in: what is public may be read.
    Anonymous,
    /// Somebody who signed in.
    Person(Arc<Person>),
}

impl Principal {
    /// The user who signed in.
    pub(crate) fn user(&self) -> Option<&UserName> {
        match self {
            Self::Person(person) => Some(person.user()),
            Self::Local | Self::Anonymous => None,
        }
    }

    /// The user as the owner of a reading collection.
    pub(crate) fn reader(&self) -> Option<Reader> {
        match self {
            Self::Person(person) => Some(person.reader()),
            Self::Local | Self::Anonymous => None,
        }
    }

    /// The role in a collection; reading what is public needs none.
    pub(crate) fn role(&self, collection: &CollectionName) -> Option<Role> {
        match self {
            Self::Local => Some(Role::Owner),
            Self::Anonymous => None,
            Self::Person(person) => person.role(collection),
        }
    }

    /// Whether everything is allowed.
    pub(crate) fn administers(&self) -> bool {
        match self {
            Self::Local => true,
            Self::Anonymous => false,
            Self::Person(person) => person.administers(),
        }
    }

    /// Whether all is allowed that the user may do: not by a token with bounds.
    pub(crate) fn is_unbounded(&self) -> bool {
        match self {
            Self::Local => true,
            Self::Anonymous => false,
            Self::Person(person) => person.is_unbounded(),
        }
    }

    /// Whether collections may be made.
    pub(crate) fn may_create(&self) -> bool {
        match self {
            Self::Local => true,
            Self::Anonymous => false,
            Self::Person(person) => person.may_create(),
        }
    }
}
