//! Making, changing and removing collections, recorded with who did it.

use feedsync_store::{
    Act, Collection, CollectionChange, CollectionName, Grant, NewCollection, Role,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

impl Endpoint {
    /// Creates a collection. The user on whose behalf this is done owns it.
    pub async fn create_collection(&self, new: NewCollection) -> Result<Collection, EndpointError> {
        let created = self.store.create_collection(new).await?;
        let user = self.actor.as_ref().and_then(|actor| actor.user.clone());
        if let Some(user) = user {
            let grant = Grant { user, collection: created.name.clone(), role: Role::Owner };
            if let Err(error) = self.store.grant(grant).await {
                // A collection that nobody owns would be in the way of whoever tries again.
                self.store.drop_collection(&created.name).await?;
                return Err(error.into());
            }
        }
        self.record_collection("create", &created.name, String::new()).await?;
        Ok(created)
    }

    /// Changes what a collection is called and set to, not what it holds.
    pub async fn change_collection(
        &self,
        name: &CollectionName,
        change: CollectionChange,
    ) -> Result<Collection, EndpointError> {
        let before = self.collection(name).await?;
        let after = self.store.change_collection(name, change).await?;
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
        if !changed.is_empty() {
            self.record_collection("set", name, changed.join(", ")).await?;
        }
        Ok(after)
    }

    /// Removes a collection with all that it holds.
    pub async fn drop_collection(&self, name: &CollectionName) -> Result<(), EndpointError> {
        self.store.drop_collection(name).await?;
        self.record_collection("drop", name, String::new()).await
    }

    async fn record_collection(
        &self,
        action: &str,
        name: &CollectionName,
        detail: String,
    ) -> Result<(), EndpointError> {
        if let Some(actor) = &self.actor {
            let act = Act { collection: Some(name.clone()), detail, ..actor.act(action) };
            self.store.record(act).await?;
        }
        Ok(())
    }
}
