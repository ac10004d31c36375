//! Stored users, roles, tokens and usage, as the store has them.

use feedsync_store::{
    CollectionName, Digest, Grant, GrantFilter, Moment, StoreError, Token, Usage, User, UserId,
    UserName,
};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Returns all users, by name.
    pub async fn users(&self) -> Result<Vec<User>, StoreError> {
        self.store.users().await
    }

    /// Returns a user, if there is one of this name.
    pub async fn user(&self, name: &UserName) -> Result<Option<User>, StoreError> {
        self.store.user(name).await
    }

    /// Returns the roles of a user by collection, or those in a collection by user.
    pub async fn grants(&self, of: GrantFilter<'_>) -> Result<Vec<Grant>, StoreError> {
        self.store.grants(of).await
    }

    /// Returns the tokens and sessions of a user, oldest first.
    pub async fn tokens(&self, user: &UserName) -> Result<Vec<Token>, StoreError> {
        self.store.tokens(user).await
    }

    /// Returns a token by the digest of its text, expired ones included.
    pub async fn token(&self, digest: Digest) -> Result<Option<Token>, StoreError> {
        self.store.token(digest).await
    }

    /// Removes tokens that expired before a moment; returns their number.
    pub async fn remove_expired_tokens(&self, before: Moment) -> Result<u64, StoreError> {
        self.store.remove_expired_tokens(before).await
    }

    /// Returns the usage of the user with an id. It is zero if there is no such user.
    pub async fn usage(&self, user: &UserId) -> Result<Usage, StoreError> {
        self.store.usage(user).await
    }

    /// Returns the id of the user to whom a collection is charged: its creator.
    pub async fn collection_charged_to(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<UserId>, StoreError> {
        self.store.collection_charged_to(collection).await
    }
}
