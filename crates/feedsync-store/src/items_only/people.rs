//! No users.

use async_trait::async_trait;

use super::ItemsOnly;
use crate::blob::Digest;
use crate::error::StoreError;
use crate::name::{CollectionName, UserId, UserName};
use crate::order::Moment;
use crate::people::{
    AuditAction, AuditEntry, AuditSelection, Grant, GrantFilter, People, Token, Usage, User,
};

#[async_trait]
impl<S: ItemsOnly> People for S {
    async fn users(&self) -> Result<Vec<User>, StoreError> {
        Ok(Vec::new())
    }

    async fn user(&self, _: &UserName) -> Result<Option<User>, StoreError> {
        Ok(None)
    }

    async fn add_user(&self, _: User) -> Result<(), StoreError> {
        Err(StoreError::Unsupported("users"))
    }

    async fn change_user(&self, user: User) -> Result<(), StoreError> {
        Err(StoreError::NoUser(user.name))
    }

    async fn usage(&self, _: &UserId) -> Result<Usage, StoreError> {
        Ok(Usage::default())
    }

    async fn charge_collection(&self, _: &CollectionName, _: &UserId) -> Result<(), StoreError> {
        Err(StoreError::Unsupported("users"))
    }

    async fn collection_charged_to(
        &self,
        _: &CollectionName,
    ) -> Result<Option<UserId>, StoreError> {
        Ok(None)
    }

    async fn remove_user(&self, name: &UserName) -> Result<(), StoreError> {
        Err(StoreError::NoUser(name.clone()))
    }

    async fn grants(&self, _: GrantFilter<'_>) -> Result<Vec<Grant>, StoreError> {
        Ok(Vec::new())
    }

    async fn grant(&self, grant: Grant) -> Result<(), StoreError> {
        Err(StoreError::NoUser(grant.user))
    }

    async fn revoke(&self, _: &UserName, _: &CollectionName) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn tokens(&self, _: &UserName) -> Result<Vec<Token>, StoreError> {
        Ok(Vec::new())
    }

    async fn token(&self, _: Digest) -> Result<Option<Token>, StoreError> {
        Ok(None)
    }

    async fn add_token(&self, token: Token) -> Result<(), StoreError> {
        Err(StoreError::NoUser(token.user))
    }

    async fn remove_token(&self, _: Digest) -> Result<(), StoreError> {
        Err(StoreError::NoToken)
    }

    async fn remove_expired_tokens(&self, _: Moment) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn record(&self, _: AuditAction) -> Result<(), StoreError> {
        Ok(())
    }

    async fn acts(&self, _: AuditSelection<'_>) -> Result<Vec<AuditEntry>, StoreError> {
        Ok(Vec::new())
    }

    async fn remove_acts(&self, _: Moment) -> Result<u64, StoreError> {
        Ok(0)
    }
}
