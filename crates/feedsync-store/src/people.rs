//! Users, their credentials and roles, and the audit record.
//!
//! The store makes no decisions on them. It never receives a password or a token, only their hashes.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use feedsync_core::ItemId;

use crate::blob::Digest;
use crate::error::StoreError;
use crate::name::{CollectionName, UserId, UserName};
use crate::order::Moment;

/// A user, who may sign in.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// Id of the user. A later user of the same name has another id and inherits nothing.
    pub id: UserId,
    /// Name of the user.
    pub name: UserName,
    /// Hash of the password in PHC notation; without one the user can sign in with tokens only.
    pub password: Option<String>,
    /// Whether the user is an administrator, who may do everything, including changes of users and settings.
    pub administrator: bool,
    /// Whether every sign-in is refused.
    pub disabled: bool,
    /// Whether the user may use databases alone: no collections, no newsreaders and no pages.
    pub databases_only: bool,
    /// When the user was added.
    pub created: Moment,
}

impl User {
    /// Whether the user can sign in and may do everything.
    pub fn may_administer(&self) -> bool {
        self.administrator && !self.disabled
    }
}

impl fmt::Debug for User {
    /// Omits the password's hash, so that it never reaches a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .field("administrator", &self.administrator)
            .field("disabled", &self.disabled)
            .finish_non_exhaustive()
    }
}

/// Amounts that quotas limit, for one user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of databases that the user created.
    pub databases: u64,
    /// Number of documents of those databases and of the databases of collections that the user created,
    /// deleted ones included.
    pub documents: u64,
    /// Number of bytes of those documents, their stored revisions and attachments, of local documents and of
    /// access rules.
    pub database_bytes: u64,
    /// Number of bytes of the items of collections that the user created.
    pub item_bytes: u64,
    /// Number of bytes of the logs of those collections, with earlier generations and snapshots.
    pub log_bytes: u64,
    /// Whether the user is an administrator, to whom no quota applies.
    pub administers: bool,
}

impl Usage {
    /// Number of bytes that the user holds in all.
    pub fn bytes(&self) -> u64 {
        self.database_bytes + self.item_bytes + self.log_bytes
    }
}

/// Rights of a user in a collection; each role includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// May read what is published.
    Reader,
    /// May also edit, merge and resolve.
    Editor,
    /// May also change the collection's settings, grant roles and remove it.
    Owner,
}

impl Role {
    /// All roles, from the least.
    pub const ALL: [Self; 3] = [Self::Reader, Self::Editor, Self::Owner];

    /// Name of the role.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Editor => "editor",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is not a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a role: use reader, editor or owner")]
pub struct RoleError(String);

impl FromStr for Role {
    type Err = RoleError;
    fn from_str(text: &str) -> Result<Self, RoleError> {
        let role = Self::ALL.into_iter().find(|role| role.name() == text);
        role.ok_or_else(|| RoleError(text.to_owned()))
    }
}

/// A role of a user in a collection. Renaming the collection changes the grant with it; dropping the
/// collection removes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// User who has the role.
    pub user: UserName,
    /// Collection in which the role applies.
    pub collection: CollectionName,
    /// The role.
    pub role: Role,
}

/// Purpose of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Access by a program, which sends it as a Bearer token or as the password of its user.
    Access,
    /// Session of a browser, which sends it in a cookie.
    Session,
}

/// Upper limit of a token's rights; it never exceeds the rights of its user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Highest role that the token has; `None` for all rights of its user, including administration.
    pub role: Option<Role>,
    /// The only collection in which the token is valid. The token is removed with it.
    pub collection: Option<CollectionName>,
}

/// An issued token. The store holds its digest only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The SHA-256 of the token's text.
    pub digest: Digest,
    /// User who owns it.
    pub user: UserName,
    /// Purpose.
    pub kind: TokenKind,
    /// Label that its user chose.
    pub label: String,
    /// Upper limit of its rights.
    pub scope: Scope,
    /// When it was issued.
    pub created: Moment,
    /// When it expires.
    pub expires: Option<Moment>,
}

impl Token {
    /// Whether it has expired.
    pub fn is_expired(&self, now: Moment) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Selects grants.
#[derive(Debug, Clone, Copy)]
pub enum GrantFilter<'a> {
    /// The grants of a user.
    User(&'a UserName),
    /// The grants in a collection.
    Collection(&'a CollectionName),
}

/// An action that is written to the audit record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditAction {
    /// User who acted; `None` for an action without sign-in.
    pub user: Option<UserName>,
    /// Network address of the client, if known.
    pub address: Option<String>,
    /// Kind of action in a word or two, such as `edit` or `grant`.
    pub action: String,
    /// Name that the collection had at that time.
    pub collection: Option<CollectionName>,
    /// Id of the changed item.
    pub item: Option<ItemId>,
    /// Details; never a secret.
    pub detail: String,
}

/// An action with its position in the audit record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Position; later actions have greater ones.
    pub place: u64,
    /// Moment of the action.
    pub at: Moment,
    /// The action.
    pub act: AuditAction,
}

/// Selects actions, newest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditSelection<'a> {
    /// Only actions before this position.
    pub before: Option<u64>,
    /// Only actions of this user.
    pub user: Option<&'a UserName>,
    /// Only actions in this collection.
    pub collection: Option<&'a CollectionName>,
    /// Maximum number of actions.
    pub limit: usize,
}

/// The part of a store that holds users; the guarantees of [`ItemStore`](crate::ItemStore) apply to it.
#[async_trait]
pub trait People: Send + Sync + 'static {
    /// All users, by name.
    async fn users(&self) -> Result<Vec<User>, StoreError>;

    /// A user.
    async fn user(&self, name: &UserName) -> Result<Option<User>, StoreError>;

    /// Adds a user. Names of the user in databases' access rules, left from an earlier user, are removed.
    async fn add_user(&self, user: User) -> Result<(), StoreError>;

    /// Replaces the metadata of a user except the id, the name and the moment of creation. Fails if no
    /// enabled administrator would remain. A later user of the same name is not changed.
    async fn change_user(&self, user: User) -> Result<(), StoreError>;

    /// Returns the usage of the user with an id. It is zero if there is no such user.
    async fn usage(&self, user: &UserId) -> Result<Usage, StoreError>;

    /// Charges a collection to a user from now on.
    async fn charge_collection(
        &self,
        collection: &CollectionName,
        owner: &UserId,
    ) -> Result<(), StoreError>;

    /// Returns the id of the user to whom a collection is charged: its creator.
    async fn collection_charged_to(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<UserId>, StoreError>;

    /// Removes a user with all tokens and grants, the collections that are private to them
    /// ([`PRIVATE_TO`](crate::PRIVATE_TO)), and their name in the `_security` of each database. Fails if
    /// users would remain but no administrator.
    async fn remove_user(&self, name: &UserName) -> Result<(), StoreError>;

    /// The grants of a user by collection, or those in a collection by user.
    async fn grants(&self, of: GrantFilter<'_>) -> Result<Vec<Grant>, StoreError>;

    /// Gives a user a role in a collection, replacing the previous one.
    async fn grant(&self, grant: Grant) -> Result<(), StoreError>;

    /// Removes a user's role in a collection; returns whether there was one.
    async fn revoke(
        &self,
        user: &UserName,
        collection: &CollectionName,
    ) -> Result<bool, StoreError>;

    /// The tokens of a user, oldest first.
    async fn tokens(&self, user: &UserName) -> Result<Vec<Token>, StoreError>;

    /// A token, expired ones included.
    async fn token(&self, digest: Digest) -> Result<Option<Token>, StoreError>;

    /// Stores a token.
    async fn add_token(&self, token: Token) -> Result<(), StoreError>;

    /// Removes a token, which is refused from then on.
    async fn remove_token(&self, digest: Digest) -> Result<(), StoreError>;

    /// Removes tokens that expired before a moment; returns their number.
    async fn remove_expired_tokens(&self, before: Moment) -> Result<u64, StoreError>;

    /// Appends to the audit record. A change of items is recorded in the same transaction, by
    /// [`Write::Record`](crate::Write::Record).
    async fn record(&self, act: AuditAction) -> Result<(), StoreError>;

    /// Reads the audit record, newest first.
    async fn acts(&self, selection: AuditSelection<'_>) -> Result<Vec<AuditEntry>, StoreError>;

    /// Removes actions before a moment; returns their number.
    async fn remove_acts(&self, before: Moment) -> Result<u64, StoreError>;
}
