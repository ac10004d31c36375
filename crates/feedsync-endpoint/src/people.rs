//! Users: sign-in, tokens and rights.
//!
//! A password is stored as its Argon2id hash, and a token as the SHA-256 of its text. So the content of a
//! store allows no sign-in. Each change of users is recorded on behalf of the endpoint's actor, once it is
//! done. The rights of a user are read at sign-in, as a [`Person`]. A caller that keeps a [`Person`] reads it
//! again soon, since rights end.

mod imported;
mod password;
mod person;
mod stored;
mod token;
mod tokens;

use feedsync_store::{
    CollectionName, Digest, Grant, GrantFilter, Role, StoreError, Token, TokenKind, User, UserId,
    UserName,
};

use password::Comparison;
pub use password::{Password, PasswordError};
use person::Credential;
pub use person::{Asserted, Person};
pub use token::{LabelError, TokenSecret, label};
pub use tokens::NewToken;

use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::readings::{ReadingOwner, is_name_allowed};

/// Reason why a change of users was not made; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller tried to create a first user without the right to create more.
    #[error(
        "{0} would be the only user and could not add others: make the first user an administrator"
    )]
    NotAdministrator(UserName),
    /// The reading collection of the user could not be made private, handed over or removed.
    #[error(transparent)]
    Reading(#[from] EndpointError),
    /// The collection is private to another user.
    #[error("{0} holds the reading state of one user: other users cannot have a role in it")]
    Private(CollectionName),
    /// A password could not be hashed or compared, because of a bug or of damaged data.
    #[error("cannot verify a password: {0}")]
    Hash(String),
}

/// A user to be created.
#[derive(Debug)]
pub struct NewUser {
    /// Name of the user.
    pub name: UserName,
    /// Password; without one the user can sign in with tokens alone.
    pub password: Option<Password>,
    /// Whether the user is an administrator; the first user must be one.
    pub administrator: bool,
    /// Whether the user may use databases alone.
    pub databases_only: bool,
}

impl Endpoint {
    /// Adds a user. Only administrators get rights to collections of others. The first user gets what was
    /// read while there were no users.
    pub async fn add_user(&self, new: NewUser) -> Result<User, PeopleError> {
        let is_first = self.store.users().await?.is_empty();
        if !new.administrator && is_first {
            return Err(PeopleError::NotAdministrator(new.name));
        }
        let id = UserId::new(&self.environment.uuid());
        let user = User {
            id: id.unwrap_or_else(|_| unreachable!("a UUID is an id")),
            name: new.name,
            password: self.hashed(new.password).await?,
            administrator: new.administrator,
            disabled: false,
            databases_only: new.databases_only,
            created: self.environment.now(),
        };
        self.store.add_user(user.clone()).await?;
        let kind = if user.administrator { "an administrator" } else { "no administrator" };
        self.record_people("add user", &user.name, None, kind).await?;
        if is_first {
            let reader = ReadingOwner { name: user.name.clone(), id: user.id.clone() };
            self.transfer_reading_collection(reader).await?;
        }
        Ok(user)
    }

    /// Sets or removes the password of a user. Browser sessions of the user end; tokens of programs stay
    /// valid.
    pub async fn set_password(
        &self,
        name: &UserName,
        password: Option<Password>,
    ) -> Result<(), PeopleError> {
        self.give_password(name, password, None).await
    }

    /// Changes the password of a person who is signed in. The current session stays; all others end.
    pub async fn change_password(
        &self,
        person: &Person,
        password: Password,
    ) -> Result<(), PeopleError> {
        self.give_password(person.user(), Some(password), person.token()).await
    }

    async fn give_password(
        &self,
        name: &UserName,
        password: Option<Password>,
        kept: Option<Digest>,
    ) -> Result<(), PeopleError> {
        let given = if password.is_some() { "another one" } else { "none" };
        let password = self.hashed(password).await?;
        self.change_user(name, |user| user.password = password).await?;
        for token in self.store.tokens(name).await? {
            if token.kind == TokenKind::Session && Some(token.digest) != kept {
                self.forget(token.digest).await?;
            }
        }
        self.record_people("set password", name, None, given).await
    }

    /// Makes a user an administrator, or removes that role.
    pub async fn set_administrator(
        &self,
        name: &UserName,
        administrator: bool,
    ) -> Result<(), PeopleError> {
        self.change_user(name, |user| user.administrator = administrator).await?;
        let now = if administrator { "an administrator" } else { "no administrator" };
        self.record_people("change user", name, None, now).await
    }

    /// Limits a user to databases, or removes that limit. Administrators have no limits.
    pub async fn set_databases_only(
        &self,
        name: &UserName,
        databases_only: bool,
    ) -> Result<(), PeopleError> {
        self.change_user(name, |user| user.databases_only = databases_only).await?;
        let now = if databases_only { "databases only" } else { "not only databases" };
        self.record_people("change user", name, None, now).await
    }

    /// Disables all sign-in of a user, or enables it again.
    pub async fn set_disabled(&self, name: &UserName, disabled: bool) -> Result<(), PeopleError> {
        self.change_user(name, |user| user.disabled = disabled).await?;
        let now = if disabled { "disabled" } else { "enabled" };
        self.record_people("change user", name, None, now).await
    }

    /// Removes a user with all roles, tokens and the reading collection. Other collections that only this
    /// user owned are left to administrators.
    pub async fn remove_user(&self, name: &UserName) -> Result<(), PeopleError> {
        if let Some(user) = self.store.user(name).await? {
            // A reading collection of an earlier version becomes private, so that it is removed with its
            // user.
            self.secure_reading(ReadingOwner { name: user.name, id: user.id }).await?;
        }
        #[cfg(feature = "databases")]
        self.delete_user_document(name).await?;
        self.store.remove_user(name).await?;
        self.record_people("remove user", name, None, "").await
    }

    /// Gives a user a role in a collection, which replaces any other role.
    pub async fn grant(&self, grant: Grant) -> Result<(), PeopleError> {
        if !is_name_allowed(&grant.collection, Some(&grant.user)) {
            return Err(PeopleError::Private(grant.collection));
        }
        self.store.grant(grant.clone()).await?;
        let Grant { user, collection, role } = grant;
        if role != Role::Owner {
            self.take_charge(&user, &collection).await?;
        }
        self.record_people("grant", &user, Some(collection), role.name()).await
    }

    /// Removes a user's role in a collection; returns whether there was one.
    pub async fn revoke(
        &self,
        user: &UserName,
        collection: &CollectionName,
    ) -> Result<bool, PeopleError> {
        let had = self.store.revoke(user, collection).await?;
        if had {
            self.take_charge(user, collection).await?;
            self.record_people("revoke", user, Some(collection.clone()), "").await?;
        }
        Ok(had)
    }

    /// Charges a collection to the actor, if the actor ends the ownership of the user to whom it was charged.
    async fn take_charge(
        &self,
        from: &UserName,
        collection: &CollectionName,
    ) -> Result<(), PeopleError> {
        let actor = self.actor.as_ref().and_then(|actor| actor.user.as_ref());
        let Some(actor) = actor.filter(|actor| *actor != from) else { return Ok(()) };
        let users = (self.store.user(actor).await?, self.store.user(from).await?);
        let (Some(actor), Some(from)) = users else { return Ok(()) };
        if self.store.collection_charged_to(collection).await? == Some(from.id) {
            self.store.charge_collection(collection, &actor.id).await?;
        }
        Ok(())
    }

    /// Returns the person who signs in with a password. The result is `None` if the user is unknown, has no
    /// password, is disabled, or has another password. Neither the result nor the time it takes reveals
    /// which, except that a password that was taken over from a CouchDB takes longer until its user signs in.
    pub async fn check_password(
        &self,
        name: &UserName,
        password: &str,
    ) -> Result<Option<Person>, PeopleError> {
        let user = self.store.user(name).await?.filter(|user| !user.disabled);
        let hash = user.as_ref().and_then(|user| user.password.clone());
        let compared = password::compare(password.to_owned(), hash).await?;
        let user = match (user, compared) {
            (None, _) | (_, Comparison::Different) => return Ok(None),
            (Some(user), Comparison::Equal) => user,
            (Some(user), Comparison::Weak) => self.strengthened(user, password).await?,
        };
        Ok(self.person_of(user, None).await?)
    }

    /// Hashes a password anew that was taken over, and stores it if the user has not changed since the sign-in began.
    async fn strengthened(&self, user: User, password: &str) -> Result<User, PeopleError> {
        let hash = Password::hash_text(password.to_owned(), &*self.environment).await?;
        let before = self.store.user(&user.name).await?.filter(|now| *now == user);
        if before.is_none() {
            return Ok(user);
        }
        let stronger = User { password: Some(hash), ..user };
        self.store.change_user(stronger.clone()).await?;
        Ok(stronger)
    }

    /// Returns the person whom a token of a kind signs in, by its text. The result is `None` if the token is
    /// unknown, expired or revoked, or its user is disabled.
    ///
    /// The token is looked up by the SHA-256 of 256 random bits, so that the time it takes does not help to
    /// find another one.
    pub async fn sign_in_with_token(
        &self,
        text: &str,
        kind: TokenKind,
    ) -> Result<Option<Person>, StoreError> {
        match TokenSecret::parse(text) {
            Some(secret) => self.sign_in_with_secret(&secret, kind).await,
            None => Ok(None),
        }
    }

    /// The same with a parsed token, or with the key of a Fever client.
    pub async fn sign_in_with_secret(
        &self,
        secret: &TokenSecret,
        kind: TokenKind,
    ) -> Result<Option<Person>, StoreError> {
        let token = self.store.token(secret.digest()).await?;
        match token.filter(|token| token.kind == kind) {
            Some(token) => self.person_with(token).await,
            None => Ok(None),
        }
    }

    /// Returns the current rights of a person who signed in. The result is `None` if their token has ended,
    /// their password was changed, or they were disabled or removed.
    pub async fn refresh_person(&self, person: &Person) -> Result<Option<Person>, StoreError> {
        match person.proof() {
            Credential::Token(digest) => match self.store.token(*digest).await? {
                Some(token) => self.person_with(token).await,
                None => Ok(None),
            },
            proof @ Credential::Password(_) => match self.store.user(person.user()).await? {
                Some(user) if user.id == *person.id() && Credential::password(&user) == *proof => {
                    self.person_of(user, None).await
                }
                _ => Ok(None),
            },
            Credential::Assertion(asserted) => {
                let again = self.asserted_person(person.user(), asserted.clone()).await?;
                Ok(again.filter(|again| again.id() == person.id()))
            }
        }
    }

    /// Returns the rights of a user of whom another system asserts that they signed in. The result is `None` if the
    /// assertion has ended, or the user is unknown or disabled.
    pub async fn asserted_person(
        &self,
        name: &UserName,
        asserted: Asserted,
    ) -> Result<Option<Person>, StoreError> {
        if asserted.expires.is_some_and(|end| end <= self.environment.now()) {
            return Ok(None);
        }
        Ok(self.person(name).await?.map(|person| person.asserted(asserted)))
    }

    /// Returns the rights of a user, without the bounds of a token; `None` if the user is unknown or
    /// disabled.
    pub async fn person(&self, name: &UserName) -> Result<Option<Person>, StoreError> {
        match self.store.user(name).await? {
            Some(user) => self.person_of(user, None).await,
            None => Ok(None),
        }
    }

    async fn person_with(&self, token: Token) -> Result<Option<Person>, StoreError> {
        if token.is_expired(self.environment.now()) {
            return Ok(None);
        }
        match self.store.user(&token.user).await? {
            Some(user) => self.person_of(user, Some(token)).await,
            None => Ok(None),
        }
    }

    async fn person_of(
        &self,
        user: User,
        token: Option<Token>,
    ) -> Result<Option<Person>, StoreError> {
        if user.disabled {
            return Ok(None);
        }
        #[cfg(feature = "databases")]
        let roles = self.database_roles(&user.name).await?;
        #[cfg(not(feature = "databases"))]
        let roles = Vec::new();
        match self.store.grants(GrantFilter::User(&user.name)).await {
            Ok(grants) => Ok(Some(Person::new(user, grants, token).with_database_roles(roles))),
            // The user was removed in the meantime.
            Err(StoreError::NoUser(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn hashed(&self, password: Option<Password>) -> Result<Option<String>, PeopleError> {
        match password {
            Some(password) => password.hash(&*self.environment).await.map(Some),
            None => Ok(None),
        }
    }

    async fn change_user(
        &self,
        name: &UserName,
        change: impl FnOnce(&mut User),
    ) -> Result<(), StoreError> {
        let user = self.store.user(name).await?;
        let mut user = user.ok_or_else(|| StoreError::NoUser(name.clone()))?;
        change(&mut user);
        self.store.change_user(user).await
    }

    async fn record_people(
        &self,
        action: &str,
        user: &UserName,
        collection: Option<CollectionName>,
        detail: &str,
    ) -> Result<(), PeopleError> {
        let mut act = self.actor.as_deref().cloned().unwrap_or_default().act(action);
        act.collection = collection;
        act.detail = if detail.is_empty() { user.to_string() } else { format!("{user}: {detail}") };
        Ok(self.store.record(act).await?)
    }
}
