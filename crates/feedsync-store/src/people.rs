//! People: users, what they prove themselves with, what they may do, and what they did.
//!
//! The store keeps these and decides nothing: it never sees a password or a token, only what was
//! made of them.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use feedsync::ItemId;

use crate::blob::Digest;
use crate::error::StoreError;
use crate::name::{CollectionName, UserId, UserName};
use crate::order::Moment;

/// Somebody who may sign in.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// Id of the user. A later user of the same name has another id and inherits nothing.
    pub id: UserId,
    /// Name of the user.
    pub name: UserName,
    /// A password's hash in PHC notation; without one only tokens sign in.
    pub password: Option<String>,
    /// Whether everything is allowed, users and settings too.
    pub administrator: bool,
    /// Whether signing in is refused, by whatever means.
    pub disabled: bool,
    /// Since when.
    pub created: Moment,
}

impl User {
    /// Whether the user can sign in and may do everything.
    pub fn may_administer(&self) -> bool {
        self.administrator && !self.disabled
    }
}

impl fmt::Debug for User {
    /// Without the password's hash, so that no log has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .field("administrator", &self.administrator)
            .field("disabled", &self.disabled)
            .finish_non_exhaustive()
    }
}

/// What a user holds, as far as quotas count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Databases that the user made.
    pub databases: u64,
    /// Documents of those and of the databases of collections that the user made, deleted ones included.
    pub documents: u64,
    /// Bytes of those documents, their stored revisions and attachments, of local documents and of access rules.
    pub database_bytes: u64,
    /// Bytes of the items of collections that the user made.
    pub item_bytes: u64,
    /// Bytes of the logs of those collections, with earlier generations and snapshots.
    pub log_bytes: u64,
    /// Whether the user administers: then no quota applies.
    pub administers: bool,
}

impl Usage {
    /// Number of bytes that the user holds in all.
    pub fn bytes(&self) -> u64 {
        self.database_bytes + self.item_bytes + self.log_bytes
    }
}

/// What somebody may do in a collection; each includes those before it.
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
    /// All of them, from the least.
    pub const ALL: [Self; 3] = [Self::Reader, Self::Editor, Self::Owner];

    /// Its name, as people write it.
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
#[error("{0:?} is not a role: reader, editor or owner")]
pub struct RoleError(String);

impl FromStr for Role {
    type Err = RoleError;
    fn from_str(text: &str) -> Result<Self, RoleError> {
        let role = Self::ALL.into_iter().find(|role| role.name() == text);
        role.ok_or_else(|| RoleError(text.to_owned()))
    }
}

/// A role of a user in a collection. It follows the collection's renaming and ends with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// Whose.
    pub user: UserName,
    /// Where.
    pub collection: CollectionName,
    /// Which.
    pub role: Role,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A program's, sent as a Bearer token or as the password of its user.
    Access,
    /// A browser's, kept in a cookie.
    Session,
}

/// What a token allows at most; never more than its user may.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// At most this role; `None`: all that its user may, administration too.
    pub role: Option<Role>,
    /// Only in this collection. The token ends with it.
    pub collection: Option<CollectionName>,
}

/// A token that was given out. The store knows its digest only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The SHA-256 of the token's text.
    pub digest: Digest,
    /// Whose it is.
    pub user: UserName,
    /// What it is for.
    pub kind: TokenKind,
    /// What its user calls it.
    pub label: String,
    /// What it allows.
    pub scope: Scope,
    /// When it was given out.
    pub created: Moment,
    /// From when on it is refused.
    pub expires: Option<Moment>,
}

impl Token {
    /// Whether it is refused by now.
    pub fn is_expired(&self, now: Moment) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Whose grants are asked for.
#[derive(Debug, Clone, Copy)]
pub enum GrantsOf<'a> {
    /// Those of a user.
    User(&'a UserName),
    /// Those in a collection.
    Collection(&'a CollectionName),
}

/// Something that somebody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// Who; `None` where nobody needed to sign in.
    pub user: Option<UserName>,
    /// From where, as far as it is known.
    pub address: Option<String>,
    /// What: a word or two, such as `edit` or `grant`.
    pub action: String,
    /// In which collection; its name at that time.
    pub collection: Option<CollectionName>,
    /// To which item.
    pub item: Option<ItemId>,
    /// What else is worth knowing; never a secret.
    pub detail: String,
}

/// An act and its place in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Later acts have higher places.
    pub place: u64,
    /// When.
    pub at: Moment,
    /// What was done.
    pub act: Act,
}

/// Which acts are asked for, newest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct ActSelection<'a> {
    /// Only those before this place.
    pub before: Option<u64>,
    /// Only those of this user.
    pub user: Option<&'a UserName>,
    /// Only those in this collection.
    pub collection: Option<&'a CollectionName>,
    /// At most so many.
    pub limit: usize,
}

/// The part of a store that remembers people; the promises of [`Store`](crate::Store) hold for it.
#[async_trait]
pub trait People: Send + Sync + 'static {
    /// All users by name.
    async fn users(&self) -> Result<Vec<User>, StoreError>;

    /// A user.
    async fn user(&self, name: &UserName) -> Result<Option<User>, StoreError>;

    /// Adds a user. No database names them, whatever an earlier user of that name was given.
    async fn add_user(&self, user: User) -> Result<(), StoreError>;

    /// Replaces what is known of a user but the id, the name and the moment of creation. The last
    /// administrator who is not disabled stays one. Another user of that name is not changed.
    async fn change_user(&self, user: User) -> Result<(), StoreError>;

    /// Returns what the user of an id holds. Nobody holds anything if there is no such user.
    async fn usage(&self, user: &UserId) -> Result<Usage, StoreError>;

    /// Charges a collection to a user from now on.
    async fn charge_collection(
        &self,
        collection: &CollectionName,
        owner: &UserId,
    ) -> Result<(), StoreError>;

    /// Returns the id of the user to whom a collection is charged: who made it.
    async fn charged_collection(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<UserId>, StoreError>;

    /// Removes a user with all tokens and grants, the collections that are private to them
    /// ([`PRIVATE_TO`](crate::PRIVATE_TO)), and their name in the `_security` of each database. While others remain,
    /// so does an administrator.
    async fn remove_user(&self, name: &UserName) -> Result<(), StoreError>;

    /// The grants of a user by collection, or those in a collection by user.
    async fn grants(&self, of: GrantsOf<'_>) -> Result<Vec<Grant>, StoreError>;

    /// Gives a user a role in a collection, in place of another one.
    async fn grant(&self, grant: Grant) -> Result<(), StoreError>;

    /// Takes a user's role in a collection away; whether there was one.
    async fn revoke(
        &self,
        user: &UserName,
        collection: &CollectionName,
    ) -> Result<bool, StoreError>;

    /// The tokens of a user, oldest first.
    async fn tokens(&self, user: &UserName) -> Result<Vec<Token>, StoreError>;

    /// A token, expired or not.
    async fn token(&self, digest: Digest) -> Result<Option<Token>, StoreError>;

    /// Remembers a token.
    async fn add_token(&self, token: Token) -> Result<(), StoreError>;

    /// Forgets a token: from now on it is refused.
    async fn remove_token(&self, digest: Digest) -> Result<(), StoreError>;

    /// Forgets tokens that expired before a moment; how many.
    async fn remove_expired_tokens(&self, before: Moment) -> Result<u64, StoreError>;

    /// Writes into the record. What changes items is recorded with the change itself:
    /// [`Write::Record`](crate::Write::Record).
    async fn record(&self, act: Act) -> Result<(), StoreError>;

    /// Reads the record, newest first.
    async fn acts(&self, selection: ActSelection<'_>) -> Result<Vec<Recorded>, StoreError>;

    /// Forgets acts before a moment; how many.
    async fn remove_acts(&self, before: Moment) -> Result<u64, StoreError>;
}
