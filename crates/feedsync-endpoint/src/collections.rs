//! Finding collections; creating, changing and removing them, recorded with the user who did it.

use std::collections::BTreeMap;
use std::convert::Infallible;

use feedsync_formats::FeedDetails;
use feedsync_store::{
    Alteration, AlterationDecision, AuditAction, Collection, CollectionChange, CollectionName,
    CreationContext, ItemStoreExt as _, NewCollection, StoreError,
};

use crate::actor::Actor;
use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::readings::{ReadingOwner, is_name_allowed, is_reserved, private};
use crate::settings::{Settings, is_database};

impl Endpoint {
    /// Returns all collections, by name.
    pub async fn collections(&self) -> Result<Vec<Collection>, StoreError> {
        self.store.collections().await
    }

    /// Returns collections by name, after one or from the first on, up to a maximum number.
    pub async fn collections_after(
        &self,
        after: Option<&CollectionName>,
        most: usize,
    ) -> Result<Vec<Collection>, StoreError> {
        self.store.collections_after(after, most).await
    }

    /// Returns a collection, or an error that names it if it does not exist.
    pub async fn collection(&self, name: &CollectionName) -> Result<Collection, EndpointError> {
        let found = self.store.collection(name).await?;
        Ok(found.ok_or_else(|| StoreError::NoCollection(name.clone()))?)
    }

    /// Returns a collection, if there is one of this name.
    pub async fn find_collection(
        &self,
        name: &CollectionName,
    ) -> Result<Option<Collection>, StoreError> {
        self.store.collection(name).await
    }

    /// Creates a collection. The user on whose behalf this is done owns it. Names that are reserved for the
    /// reading collections of others are refused. Without a user, as for the operator of the store, every
    /// name is allowed.
    pub async fn create_collection(
        &self,
        mut new: NewCollection,
    ) -> Result<Collection, EndpointError> {
        let actor = self.actor.as_deref();
        let user = actor.and_then(|actor| actor.user.as_ref());
        if !is_name_allowed(&new.name, user) {
            return Err(EndpointError::Reserved(new.name));
        }
        if is_database(&new.settings) && self.is_database_taken(&new.name, None).await? {
            return Err(EndpointError::DatabaseTaken(new.name));
        }
        // A reading collection that its user creates is private from the beginning.
        if let Some(user) = user.filter(|_| is_reserved(new.name.as_str())) {
            let found = self.store.user(user).await?;
            let id = found.ok_or_else(|| StoreError::NoUser(user.clone()))?.id;
            new.settings.extend(private(&ReadingOwner { name: user.clone(), id }));
        }
        let founding = CreationContext {
            owner: actor.and_then(|actor| actor.user.clone()),
            act: actor.map(|actor| act(actor, "create", &new.name, String::new())),
        };
        Ok(self.store.create_collection_with(new, founding).await?)
    }

    /// Changes the name and settings of a collection, or removes it, as `decide` says on its current state.
    /// It is not altered in between. Only [`change_collection`](Self::change_collection) checks whether a new
    /// name is that of another database.
    pub async fn alter_collection<E, F>(
        &self,
        name: &CollectionName,
        decide: F,
    ) -> Result<Result<Collection, E>, EndpointError>
    where
        E: Send + 'static,
        F: FnOnce(&Collection) -> Result<Alteration, E> + Send + 'static,
    {
        self.alter(name, name, decide).await
    }

    /// Changes the name and settings of a collection, but not its items.
    pub async fn change_collection(
        &self,
        name: &CollectionName,
        change: CollectionChange,
    ) -> Result<Collection, EndpointError> {
        let after = change.name.clone().unwrap_or_else(|| name.clone());
        let decide = move |_: &Collection| Ok::<_, Infallible>(Alteration::Change(change));
        unwrap_infallible(self.alter(name, &after, decide).await?)
    }

    /// Alters a collection; `after` is its name afterwards. A collection is not bridged to a database if
    /// another database has that name.
    async fn alter<E, F>(
        &self,
        name: &CollectionName,
        after: &CollectionName,
        decide: F,
    ) -> Result<Result<Collection, E>, EndpointError>
    where
        E: Send + 'static,
        F: FnOnce(&Collection) -> Result<Alteration, E> + Send + 'static,
    {
        let feed_id = self.store.collection(name).await?.map(|found| found.feed_id);
        let is_taken = self.is_database_taken(after, feed_id.as_deref()).await?;
        let (actor, named, renamed) = (self.actor.clone(), name.clone(), after != name);
        let decide = move |before: &Collection| {
            let alteration = decide(before).map_err(AlterRefusal::Decision)?;
            if let Alteration::Change(change) = &alteration
                && is_taken
                && change.settings.as_ref().map_or(is_database(&before.settings), is_database)
                && (renamed || !is_database(&before.settings))
            {
                return Err(AlterRefusal::DatabaseTaken);
            }
            let done = match &alteration {
                Alteration::Keep => None,
                Alteration::Drop => Some(("drop", String::new())),
                Alteration::Change(change) => changed(before, change).map(|what| ("set", what)),
            };
            let recorded = actor.as_deref().zip(done);
            let act = recorded.map(|(actor, (action, what))| act(actor, action, &named, what));
            Ok(AlterationDecision { alteration, act })
        };
        match self.store.decide_collection(name, decide).await? {
            Ok(collection) => Ok(Ok(collection)),
            Err(AlterRefusal::Decision(error)) => Ok(Err(error)),
            Err(AlterRefusal::DatabaseTaken) => Err(EndpointError::DatabaseTaken(after.clone())),
        }
    }

    /// Stores the details of a feed whose items are incorporated into a collection, if the collection has no
    /// details yet. Details that a user set are never overwritten. Returns whether they were stored.
    pub async fn adopt_details(
        &self,
        name: &CollectionName,
        details: &FeedDetails,
    ) -> Result<bool, EndpointError> {
        let has_any = |collection: &Collection| {
            Settings::DETAILS.iter().any(|name| collection.settings.contains_key(*name))
        };
        if details.is_empty() || has_any(&self.collection(name).await?) {
            return Ok(false);
        }
        let mut taken = BTreeMap::new();
        let mut settings = Settings::default();
        settings.set_details(details);
        settings.write(&mut taken);
        let decide = move |found: &Collection| {
            if has_any(found) {
                return Err(());
            }
            let settings = Some(found.settings.clone().into_iter().chain(taken).collect());
            let change = CollectionChange { settings, ..CollectionChange::default() };
            Ok(Alteration::Change(change))
        };
        Ok(self.alter_collection(name, decide).await?.is_ok())
    }

    /// Removes a collection with all its items.
    pub async fn drop_collection(&self, name: &CollectionName) -> Result<(), EndpointError> {
        self.alter_infallibly(name, |_| Alteration::Drop).await.map(drop)
    }

    /// Alters a collection by a decision that never refuses.
    pub(crate) async fn alter_infallibly(
        &self,
        name: &CollectionName,
        decide: impl FnOnce(&Collection) -> Alteration + Send + 'static,
    ) -> Result<Collection, EndpointError> {
        let decide = |before: &Collection| Ok::<_, Infallible>(decide(before));
        unwrap_infallible(self.alter_collection(name, decide).await?)
    }
}

/// Reason for not altering a collection.
enum AlterRefusal<E> {
    Decision(E),
    DatabaseTaken,
}

fn unwrap_infallible(altered: Result<Collection, Infallible>) -> Result<Collection, EndpointError> {
    match altered {
        Ok(collection) => Ok(collection),
        Err(never) => match never {},
    }
}

fn act(actor: &Actor, action: &str, name: &CollectionName, detail: String) -> AuditAction {
    AuditAction { collection: Some(name.clone()), detail, ..actor.act(action) }
}

/// Lists the names of what a change alters in a collection; `None` if nothing is altered.
fn changed(before: &Collection, change: &CollectionChange) -> Option<String> {
    let mut after = before.clone();
    after.change(change.clone());
    let settings = after.settings.keys().chain(before.settings.keys());
    let mut changed: Vec<&str> = settings
        .filter(|setting| after.settings.get(*setting) != before.settings.get(*setting))
        .map(String::as_str)
        .collect();
    for (what, differs) in [
        ("name", after.name != before.name),
        ("title", after.title != before.title),
        ("format", after.format != before.format),
    ] {
        changed.extend(Some(what).filter(|_| differs));
    }
    changed.sort_unstable();
    changed.dedup();
    Some(changed.join(", ")).filter(|text| !text.is_empty())
}
