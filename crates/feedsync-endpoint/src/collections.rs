//! Making, changing and removing collections, recorded with who did it.

use std::convert::Infallible;

use feedsync_store::{
    Act, Alteration, Altered, Collection, CollectionChange, CollectionName, Founding,
    NewCollection, StoreError, StoreExt as _,
};

use crate::actor::Actor;
use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::readings::{Reader, is_reserved, may_be_named, private};

impl Endpoint {
    /// Creates a collection. The user on whose behalf this is done owns it, and gets no name that is reserved for
    /// what others read. The operator of the store, on whose behalf nobody acts, may create any.
    pub async fn create_collection(
        &self,
        mut new: NewCollection,
    ) -> Result<Collection, EndpointError> {
        let actor = self.actor.as_deref();
        let user = actor.and_then(|actor| actor.user.as_ref());
        if !may_be_named(&new.name, user) {
            return Err(EndpointError::Reserved(new.name));
        }
        // A user who makes their own reading collection gets one that is private from the beginning.
        if let Some(user) = user.filter(|_| is_reserved(new.name.as_str())) {
            let found = self.store.user(user).await?;
            let id = found.ok_or_else(|| StoreError::NoUser(user.clone()))?.id;
            new.settings.extend(private(&Reader { name: user.clone(), id }));
        }
        let founding = Founding {
            owner: actor.and_then(|actor| actor.user.clone()),
            act: actor.map(|actor| act(actor, "create", &new.name, String::new())),
        };
        Ok(self.store.found_collection(new, founding).await?)
    }

    /// Changes what a collection is called and set to, or removes it, as is decided on what it is then;
    /// nobody alters it between.
    pub async fn alter_collection<E, F>(
        &self,
        name: &CollectionName,
        decide: F,
    ) -> Result<Result<Collection, E>, EndpointError>
    where
        E: Send + 'static,
        F: FnOnce(&Collection) -> Result<Alteration, E> + Send + 'static,
    {
        let (actor, named) = (self.actor.clone(), name.clone());
        let decide = move |before: &Collection| {
            let alteration = decide(before)?;
            let done = match &alteration {
                Alteration::Keep => None,
                Alteration::Drop => Some(("drop", String::new())),
                Alteration::Change(change) => changed(before, change).map(|what| ("set", what)),
            };
            let recorded = actor.as_deref().zip(done);
            let act = recorded.map(|(actor, (action, what))| act(actor, action, &named, what));
            Ok(Altered { alteration, act })
        };
        Ok(self.store.decide_collection(name, decide).await?)
    }

    /// Changes what a collection is called and set to, not what it holds.
    pub async fn change_collection(
        &self,
        name: &CollectionName,
        change: CollectionChange,
    ) -> Result<Collection, EndpointError> {
        self.alter_surely(name, |_| Alteration::Change(change)).await
    }

    /// Removes a collection with all that it holds.
    pub async fn drop_collection(&self, name: &CollectionName) -> Result<(), EndpointError> {
        self.alter_surely(name, |_| Alteration::Drop).await.map(drop)
    }

    /// Alters a collection by a decision that never refuses.
    pub(crate) async fn alter_surely(
        &self,
        name: &CollectionName,
        decide: impl FnOnce(&Collection) -> Alteration + Send + 'static,
    ) -> Result<Collection, EndpointError> {
        let decide = |before: &Collection| Ok::<_, Infallible>(decide(before));
        match self.alter_collection(name, decide).await? {
            Ok(collection) => Ok(collection),
            Err(never) => match never {},
        }
    }
}

fn act(actor: &Actor, action: &str, name: &CollectionName, detail: String) -> Act {
    Act { collection: Some(name.clone()), detail, ..actor.act(action) }
}

/// What a change of a collection changes, by name; nothing if it stays as it is.
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
