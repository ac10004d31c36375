//! Principals.

use std::sync::Arc;

use feedsync_endpoint::{Person, ReadingOwner};
use feedsync_store::{CollectionName, Role, UserName};

/// The principal of a request, with rights that are at most a second old.
#[derive(Debug, Clone)]
pub(crate) enum Principal {
    /// A client on this machine while no user exists: everything is allowed.
    Local,
    /// A client that did not sign in: it may read what is public.
    Anonymous,
    /// A signed-in user.
    Person(Arc<Person>),
}

impl Principal {
    /// The signed-in user.
    pub(crate) fn user(&self) -> Option<&UserName> {
        match self {
            Self::Person(person) => Some(person.user()),
            Self::Local | Self::Anonymous => None,
        }
    }

    /// The signed-in user as the owner of a reading collection.
    pub(crate) fn reader(&self) -> Option<ReadingOwner> {
        match self {
            Self::Person(person) => Some(person.reader()),
            Self::Local | Self::Anonymous => None,
        }
    }

    /// The role in a collection. Reading what is public needs none.
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

    /// Whether the principal may use databases alone.
    pub(crate) fn uses_databases_only(&self) -> bool {
        match self {
            Self::Local | Self::Anonymous => false,
            Self::Person(person) => person.uses_databases_only(),
        }
    }

    /// The roles that `_security` of databases can name. A restricted token has none.
    pub(crate) fn database_roles(&self) -> &[String] {
        match self {
            Self::Person(person) if person.is_unbounded() => person.database_roles(),
            _ => &[],
        }
    }

    /// Whether the principal has all rights of its user, unlike a restricted token.
    pub(crate) fn is_unbounded(&self) -> bool {
        match self {
            Self::Local => true,
            Self::Anonymous => false,
            Self::Person(person) => person.is_unbounded(),
        }
    }

    /// Whether the principal may create collections.
    pub(crate) fn may_create(&self) -> bool {
        match self {
            Self::Local => true,
            Self::Anonymous => false,
            Self::Person(person) => person.may_create(),
        }
    }
}
