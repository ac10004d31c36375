//! Reading collections: one for each user, private to that user's id.
//!
//! The hub derives the name of such a collection from the name of its user, and reserves all names of that
//! kind. A name alone gives no right. The hub uses a collection as a user's reading collection on two
//! conditions: it is private to the user's id, and no other user has a role in it. Stores of earlier versions
//! have reading collections that are private to no user. The user takes one over if nobody else owns it, and
//! roles of others in it end. Any other collection of that name is renamed, and the user gets a new one.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::Format;
use feedsync_store::{
    Alteration, Collection, CollectionChange, CollectionName, CreationContext, Digest, Grant,
    GrantFilter, NewCollection, PRIVATE_TO, Role, StoreError, UserId, UserName,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

/// Name of the reading collection of a hub without users.
const READING: &str = "reading";

/// Maximum number of attempts to get a reading collection while other processes change it.
const ATTEMPTS: usize = 8;

/// Maximum number of names that are tried for a collection that has to be renamed.
const MAX_NAMES: usize = 1_000;

/// A user as the owner of a reading collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingOwner {
    /// Name of the user, from which the name of the collection is derived.
    pub name: UserName,
    /// Id of the user, which decides whose collection it is.
    pub id: UserId,
}

/// Returns the name of a user's reading collection, or of the one of a hub without users.
pub fn reading_collection(user: Option<&UserName>) -> CollectionName {
    let named = |text: &str| CollectionName::new(text).ok();
    let name = match user {
        None => named(READING),
        Some(user) => named(&format!("{READING}-{user}")).or_else(|| {
            // Names with a dot and long names are hashed.
            let digest = Digest::of(user.as_str().as_bytes());
            let head = digest.as_bytes()[..16].try_into().ok()?;
            named(&format!("{READING}-{:x}", u128::from_be_bytes(head)))
        }),
    };
    name.unwrap_or_else(|| unreachable!("a letter, letters and digits"))
}

/// Whether the hub reserves a name of a collection or database for reading collections.
pub fn is_reserved(name: &str) -> bool {
    name.strip_prefix(READING).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Whether a user may create a collection of this name. A reserved name is only for the user from whose name
/// it is derived.
pub fn is_name_allowed(name: &CollectionName, user: Option<&UserName>) -> bool {
    user.is_none() || !is_reserved(name.as_str()) || reading_collection(user) == *name
}

/// Relation of a collection to the user whose reading collection has its name.
enum ReadingOwnership {
    /// It is private to the user.
    Theirs,
    /// The user takes it over. The roles of these other users end, and the user becomes its owner.
    ToTakeOver(Vec<Grant>),
    /// It belongs to another user.
    OtherOwner,
}

impl Endpoint {
    /// Returns the reading collection of a user, or of a hub without users, and whether rights were changed
    /// for that. Creates the collection if there is none. The first administrator gets the collection of the
    /// time without users, if there is one.
    pub async fn open_reading_collection(
        &self,
        reader: Option<&ReadingOwner>,
    ) -> Result<(Collection, bool), EndpointError> {
        let name = reading_collection(reader.map(|reader| &reader.name));
        let mut is_changed = false;
        for _ in 0..ATTEMPTS {
            let found = self.store.collection(&name).await?;
            match (reader, found) {
                (None, Some(found)) => return Ok((found, is_changed)),
                (None, None) => {
                    if self.has_users().await? {
                        return Err(EndpointError::HasUsers);
                    }
                    self.found_reading(name.clone(), None).await?;
                }
                (Some(reader), None) => {
                    self.require_reader(reader).await?;
                    if !self.adopt_reading(reader, &name).await? {
                        self.found_reading(name.clone(), Some(reader)).await?;
                    }
                }
                (Some(reader), Some(found)) => {
                    match self.reading_ownership(reader, &found).await? {
                        ReadingOwnership::Theirs => return Ok((found, is_changed)),
                        ReadingOwnership::ToTakeOver(others) => {
                            self.require_reader(reader).await?;
                            self.take_over(reader, &name, others).await?;
                        }
                        ReadingOwnership::OtherOwner => {
                            self.require_reader(reader).await?;
                            self.rename_alien(&found).await?;
                        }
                    }
                }
            }
            is_changed = true;
        }
        Err(StoreError::Unknown(format!("{name} was changed by others during every attempt"))
            .into())
    }

    /// Whether there are users. Without any, the operator of the machine reads and administers alone.
    pub async fn has_users(&self) -> Result<bool, StoreError> {
        Ok(!self.store.users().await?.is_empty())
    }

    /// Returns the names of the reading collections of all users and of a hub without users. They need not
    /// exist.
    pub async fn reading_collections(&self) -> Result<BTreeSet<CollectionName>, StoreError> {
        let users = self.store.users().await?;
        let owners = users.iter().map(|user| Some(&user.name)).chain([None]);
        Ok(owners.map(reading_collection).collect())
    }

    /// Makes all existing reading collections private to their users.
    pub async fn secure_readings(&self) -> Result<(), EndpointError> {
        for user in self.store.users().await? {
            self.secure_reading(ReadingOwner { name: user.name, id: user.id }).await?;
        }
        Ok(())
    }

    /// Makes the reading collection of a user private, if there is one.
    pub(crate) async fn secure_reading(&self, reader: ReadingOwner) -> Result<(), EndpointError> {
        let name = reading_collection(Some(&reader.name));
        if self.store.collection(&name).await?.is_some() {
            self.open_reading_collection(Some(&reader)).await?;
        }
        Ok(())
    }

    #[cfg(feature = "people")]
    /// Gives the first administrator the reading collection of the time without users, if there is one.
    pub(crate) async fn transfer_reading_collection(
        &self,
        reader: ReadingOwner,
    ) -> Result<(), EndpointError> {
        if self.store.collection(&reading_collection(None)).await?.is_some() {
            self.open_reading_collection(Some(&reader)).await?;
        }
        Ok(())
    }

    /// Fails if the user was removed in the meantime, even if another user has the name now.
    async fn require_reader(&self, reader: &ReadingOwner) -> Result<(), EndpointError> {
        let found = self.store.user(&reader.name).await?;
        match found.is_some_and(|user| user.id == reader.id) {
            true => Ok(()),
            false => Err(StoreError::NoUser(reader.name.clone()).into()),
        }
    }

    async fn reading_ownership(
        &self,
        reader: &ReadingOwner,
        found: &Collection,
    ) -> Result<ReadingOwnership, EndpointError> {
        let grants = match self.store.grants(GrantFilter::Collection(&found.name)).await {
            Err(StoreError::NoCollection(_)) => Vec::new(),
            grants => grants?,
        };
        let (own, others): (Vec<_>, Vec<_>) =
            grants.into_iter().partition(|grant| grant.user == reader.name);
        let owns = own.iter().any(|grant| grant.role == Role::Owner);
        let is_owned_by_another = others.iter().any(|grant| grant.role == Role::Owner);
        Ok(match found.settings.get(PRIVATE_TO) {
            Some(id) if id == reader.id.as_str() && owns && others.is_empty() => {
                ReadingOwnership::Theirs
            }
            Some(id) if id == reader.id.as_str() => ReadingOwnership::ToTakeOver(others),
            None if owns && !is_owned_by_another => ReadingOwnership::ToTakeOver(others),
            _ => ReadingOwnership::OtherOwner,
        })
    }

    async fn found_reading(
        &self,
        name: CollectionName,
        reader: Option<&ReadingOwner>,
    ) -> Result<(), EndpointError> {
        let title = reader.map_or_else(|| "Reading".to_owned(), title);
        let settings = reader.map(private).unwrap_or_default();
        let act = self.actor.as_deref().map(|actor| feedsync_store::AuditAction {
            collection: Some(name.clone()),
            ..actor.act("create")
        });
        let founding = CreationContext { owner: reader.map(|reader| reader.name.clone()), act };
        let new = NewCollection { name, title, format: Format::Opml, settings };
        match self.store.create_collection_with(new, founding).await {
            Ok(_) | Err(StoreError::CollectionExists(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Renames the collection of the time without users for the first administrator; returns whether it did.
    async fn adopt_reading(
        &self,
        reader: &ReadingOwner,
        to: &CollectionName,
    ) -> Result<bool, EndpointError> {
        let from = reading_collection(None);
        if self.store.collection(&from).await?.is_none()
            || !self.store.grants(GrantFilter::Collection(&from)).await?.is_empty()
        {
            return Ok(false);
        }
        let users = self.store.users().await?;
        let administrators = users.iter().filter(|user| user.may_administer());
        let first = administrators.min_by_key(|user| user.created);
        if first.is_none_or(|first| first.id != reader.id) {
            return Ok(false);
        }
        let (name, title, id) = (to.clone(), title(reader), private(reader));
        let renamed = self.alter_infallibly(&from, move |found| {
            // One change sets the name and the private id: after a crash, the id shows whose collection it
            // is.
            let settings = found.settings.clone().into_iter().chain(id).collect();
            Alteration::Change(CollectionChange {
                name: Some(name),
                title: Some(title),
                settings: Some(settings),
                ..CollectionChange::default()
            })
        });
        match renamed.await {
            Err(EndpointError::Store(
                StoreError::NoCollection(_) | StoreError::CollectionExists(_),
            )) => Ok(false),
            renamed => renamed.map(|_| true),
        }
    }

    async fn take_over(
        &self,
        reader: &ReadingOwner,
        name: &CollectionName,
        others: Vec<Grant>,
    ) -> Result<(), EndpointError> {
        let was_shared = !others.is_empty();
        for Grant { user, .. } in others {
            self.store.revoke(&user, name).await?;
            let detail = format!("{user}: {name} is private to {}", reader.name);
            self.record_reading("revoke", name, detail).await?;
        }
        let id = private(reader);
        self.alter_infallibly(name, move |found| {
            let mut settings = found.settings.clone();
            if was_shared {
                settings.remove("public");
            }
            settings.extend(id);
            Alteration::Change(CollectionChange {
                settings: Some(settings),
                ..CollectionChange::default()
            })
        })
        .await?;
        let (user, collection) = (reader.name.clone(), name.clone());
        Ok(self.store.grant(Grant { user, collection, role: Role::Owner }).await?)
    }

    /// Renames a collection that does not belong to the user whose name it has. It keeps its items and roles.
    async fn rename_alien(&self, found: &Collection) -> Result<(), EndpointError> {
        for number in 1..MAX_NAMES {
            let mut text = format!("former-{number}-{}", found.name);
            text.truncate(63);
            let Ok(new) = CollectionName::new(&text) else { break };
            let detail = format!("renamed {} to {new}, because another user owns it", found.name);
            let epoch = found.epoch;
            let change = CollectionChange { name: Some(new), ..CollectionChange::default() };
            let renamed = self.alter_infallibly(&found.name, move |now| match now.epoch == epoch {
                true => Alteration::Change(change),
                false => Alteration::Keep,
            });
            match renamed.await {
                Err(EndpointError::Store(StoreError::CollectionExists(_))) => {}
                Err(EndpointError::Store(StoreError::NoCollection(_))) => return Ok(()),
                Err(error) => return Err(error),
                Ok(_) => return self.record_reading("rename", &found.name, detail).await,
            }
        }
        Err(StoreError::CollectionExists(found.name.clone()).into())
    }

    async fn record_reading(
        &self,
        action: &str,
        name: &CollectionName,
        detail: String,
    ) -> Result<(), EndpointError> {
        let mut act = self.actor.as_deref().cloned().unwrap_or_default().act(action);
        act.collection = Some(name.clone());
        act.detail = detail;
        Ok(self.store.record(act).await?)
    }
}

fn title(reader: &ReadingOwner) -> String {
    format!("Reading of {}", reader.name)
}

/// Returns the setting that makes a collection private to a user.
pub(crate) fn private(reader: &ReadingOwner) -> BTreeMap<String, String> {
    BTreeMap::from([(PRIVATE_TO.to_owned(), reader.id.to_string())])
}
