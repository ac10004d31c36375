//! Implementation of [`People`] in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::MemoryStore;
use super::logs::StoredLog;
use super::state::{CollectionContents, State};
use crate::blob::Digest;
use crate::error::StoreError;
use crate::name::{CollectionName, UserId, UserName};
use crate::order::Moment;
use crate::people::{
    AuditAction, AuditEntry, AuditSelection, Grant, GrantFilter, People, Role, Token, Usage, User,
};

/// Stored users with their grants and tokens, and the audit record.
#[derive(Debug, Clone, Default)]
pub(super) struct Register {
    users: BTreeMap<UserName, User>,
    grants: BTreeMap<(CollectionName, UserName), Role>,
    tokens: BTreeMap<Digest, Token>,
    acts: Vec<AuditEntry>,
    last_act_position: u64,
}

impl Register {
    pub(super) fn record(&mut self, at: Moment, act: AuditAction) {
        self.last_act_position += 1;
        self.acts.push(AuditEntry { place: self.last_act_position, at, act });
    }

    /// The id of a user.
    pub(super) fn id(&self, name: &UserName) -> Option<UserId> {
        self.users.get(name).map(|user| user.id.clone())
    }

    /// The least id of those owners of a collection who are not administrators.
    pub(super) fn first_owner(&self, name: &CollectionName) -> Option<UserId> {
        let owners =
            self.grants.iter().filter(|((of, _), role)| of == name && **role == Role::Owner);
        let users = owners.filter_map(|((_, user), _)| self.users.get(user));
        users.filter(|user| !user.administrator).map(|user| user.id.clone()).min()
    }

    /// Makes the creator of a new collection its owner.
    pub(super) fn own(&mut self, collection: CollectionName, owner: UserName) {
        self.grants.insert((collection, owner), Role::Owner);
    }

    /// Renames the collection in its grants and tokens.
    pub(super) fn collection_renamed(&mut self, from: &CollectionName, to: &CollectionName) {
        let grants = std::mem::take(&mut self.grants).into_iter();
        self.grants = grants
            .map(|((collection, user), role)| {
                let collection = if collection == *from { to.clone() } else { collection };
                ((collection, user), role)
            })
            .collect();
        for token in self.tokens.values_mut() {
            if token.scope.collection.as_ref() == Some(from) {
                token.scope.collection = Some(to.clone());
            }
        }
    }

    /// Removes the grants in a dropped collection, and the tokens that are limited to it.
    pub(super) fn collection_dropped(&mut self, name: &CollectionName) {
        self.grants.retain(|(collection, _), _| collection != name);
        self.tokens.retain(|_, token| token.scope.collection.as_ref() != Some(name));
    }

    pub(super) fn require(&self, name: &UserName) -> Result<(), StoreError> {
        let known = self.users.contains_key(name);
        if known { Ok(()) } else { Err(StoreError::NoUser(name.clone())) }
    }

    fn is_last_administrator(&self, name: &UserName) -> bool {
        let mut administrators = self.users.values().filter(|user| user.may_administer());
        administrators.next().is_some_and(|user| user.name == *name)
            && administrators.next().is_none()
    }
}

#[async_trait]
impl People for MemoryStore {
    async fn users(&self) -> Result<Vec<User>, StoreError> {
        Ok(self.state().people.users.values().cloned().collect())
    }

    async fn user(&self, name: &UserName) -> Result<Option<User>, StoreError> {
        Ok(self.state().people.users.get(name).cloned())
    }

    async fn add_user(&self, user: User) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.people.users.contains_key(&user.name) {
            return Err(StoreError::UserExists(user.name));
        }
        state.remove_user_from_security(&user.name);
        state.people.users.insert(user.name.clone(), user);
        Ok(())
    }

    async fn change_user(&self, user: User) -> Result<(), StoreError> {
        let register = &mut self.state().people;
        if register.users.get(&user.name).is_none_or(|known| known.id != user.id) {
            return Err(StoreError::NoUser(user.name));
        }
        if !user.may_administer() && register.is_last_administrator(&user.name) {
            return Err(StoreError::LastAdministrator(user.name));
        }
        if let Some(known) = register.users.get_mut(&user.name) {
            *known = User { created: known.created, ..user };
        }
        Ok(())
    }

    async fn usage(&self, user: &UserId) -> Result<Usage, StoreError> {
        let state = self.state();
        let mut users = state.people.users.values();
        let administers = users.any(|found| found.id == *user && found.administrator);
        let mut usage = Usage { administers, ..Usage::default() };
        let is_charged = |collection_contents: &CollectionContents| {
            collection_contents.owner.as_ref() == Some(user)
        };
        for (name, database_contents) in &state.databases_by_name {
            let is_made = database_contents.owner.as_ref() == Some(user);
            let collection_contents = CollectionName::new(name.as_str())
                .ok()
                .and_then(|it| state.collections_by_name.get(&it));
            let is_bridged = collection_contents
                .filter(|collection_contents| is_charged(collection_contents))
                .is_some_and(|collection_contents| {
                    database_contents.database.security.as_ref()
                        == Some(&collection_contents.collection.bridge_security())
                });
            if is_made || is_bridged {
                let is_kept = database_contents.database.dropped.is_some();
                usage.databases += u64::from(is_made && !is_kept);
                usage.documents +=
                    database_contents.database.documents + database_contents.database.deleted;
                usage.database_bytes +=
                    database_contents.database.bytes + database_contents.local_bytes();
            }
        }
        for collection_contents in state
            .collections_by_name
            .values()
            .filter(|collection_contents| is_charged(collection_contents))
        {
            usage.item_bytes += collection_contents.collection.bytes;
            usage.log_bytes += collection_contents.log.as_ref().map_or(0, StoredLog::bytes);
        }
        Ok(usage)
    }

    async fn charge_collection(
        &self,
        collection: &CollectionName,
        owner: &UserId,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        let collection_contents = state.collections_by_name.get_mut(collection);
        collection_contents.ok_or_else(|| StoreError::NoCollection(collection.clone()))?.owner =
            Some(owner.clone());
        Ok(())
    }

    async fn collection_charged_to(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<UserId>, StoreError> {
        Ok(self
            .state()
            .collections_by_name
            .get(collection)
            .and_then(|collection_contents| collection_contents.owner.clone()))
    }

    async fn remove_user(&self, name: &UserName) -> Result<(), StoreError> {
        let mut state = self.state();
        let register = &mut state.people;
        register.require(name)?;
        if register.users.len() > 1 && register.is_last_administrator(name) {
            return Err(StoreError::LastAdministrator(name.clone()));
        }
        let removed = register.users.remove(name);
        register.grants.retain(|(_, user), _| user != name);
        register.tokens.retain(|_, token| token.user != *name);
        state.remove_user_from_security(name);
        if let Some(user) = removed {
            state.drop_private(&user.id);
            state.end_charges(&user.id);
        }
        Ok(())
    }

    async fn grants(&self, of: GrantFilter<'_>) -> Result<Vec<Grant>, StoreError> {
        let state = self.state();
        match of {
            GrantFilter::User(user) => state.people.require(user)?,
            GrantFilter::Collection(collection) => {
                state.collection_contents(collection).map(drop)?
            }
        }
        let asked = |grant: &Grant| match of {
            GrantFilter::User(user) => grant.user == *user,
            GrantFilter::Collection(collection) => grant.collection == *collection,
        };
        let grants = state.people.grants.iter().map(|((collection, user), role)| Grant {
            user: user.clone(),
            collection: collection.clone(),
            role: *role,
        });
        Ok(grants.filter(asked).collect())
    }

    async fn grant(&self, grant: Grant) -> Result<(), StoreError> {
        let mut state = self.state();
        state.people.require(&grant.user)?;
        state.collection_contents(&grant.collection)?;
        state.people.grants.insert((grant.collection, grant.user), grant.role);
        Ok(())
    }

    async fn revoke(
        &self,
        user: &UserName,
        collection: &CollectionName,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        state.people.require(user)?;
        state.collection_contents(collection)?;
        Ok(state.people.grants.remove(&(collection.clone(), user.clone())).is_some())
    }

    async fn tokens(&self, user: &UserName) -> Result<Vec<Token>, StoreError> {
        let state = self.state();
        state.people.require(user)?;
        let tokens = state.people.tokens.values().filter(|token| token.user == *user);
        let mut tokens: Vec<Token> = tokens.cloned().collect();
        tokens.sort_by_key(|token| (token.created, token.digest));
        Ok(tokens)
    }

    async fn token(&self, digest: Digest) -> Result<Option<Token>, StoreError> {
        Ok(self.state().people.tokens.get(&digest).cloned())
    }

    async fn add_token(&self, token: Token) -> Result<(), StoreError> {
        let mut state = self.state();
        state.people.require(&token.user)?;
        if let Some(collection) = &token.scope.collection {
            state.collection_contents(collection)?;
        }
        state.people.tokens.insert(token.digest, token);
        Ok(())
    }

    async fn remove_token(&self, digest: Digest) -> Result<(), StoreError> {
        let removed = self.state().people.tokens.remove(&digest);
        removed.map(drop).ok_or(StoreError::NoToken)
    }

    async fn remove_expired_tokens(&self, before: Moment) -> Result<u64, StoreError> {
        let tokens = &mut self.state().people.tokens;
        let count = tokens.len();
        tokens.retain(|_, token| token.expires.is_none_or(|expires| expires >= before));
        Ok((count - tokens.len()) as u64)
    }

    async fn record(&self, act: AuditAction) -> Result<(), StoreError> {
        let now = self.environment.now();
        self.state().people.record(now, act);
        Ok(())
    }

    async fn acts(&self, selection: AuditSelection<'_>) -> Result<Vec<AuditEntry>, StoreError> {
        let state = self.state();
        let State { people, .. } = &*state;
        let asked = |recorded: &&AuditEntry| {
            selection.before.is_none_or(|before| recorded.place < before)
                && selection.user.is_none_or(|user| recorded.act.user.as_ref() == Some(user))
                && selection
                    .collection
                    .is_none_or(|name| recorded.act.collection.as_ref() == Some(name))
        };
        Ok(people.acts.iter().rev().filter(asked).take(selection.limit).cloned().collect())
    }

    async fn remove_acts(&self, before: Moment) -> Result<u64, StoreError> {
        let acts = &mut self.state().people.acts;
        let count = acts.len();
        acts.retain(|recorded| recorded.at >= before);
        Ok((count - acts.len()) as u64)
    }
}
