//! People: who may sign in, with what, and what they may do.
//!
//! A password is kept as its Argon2id hash, a token as the SHA-256 of its text: what a store holds signs
//! nobody in. Whatever changes people is recorded, on behalf of the endpoint's actor, once it is
//! done. What somebody may do is read when they sign in, as a [`Person`]; whoever keeps one reads it
//! again soon, since rights end.

mod password;
mod person;
mod token;

use feedsync_store::{
    CollectionName, Digest, Grant, GrantsOf, Moment, Role, Scope, StoreError, Token, TokenKind,
    User, UserId, UserName,
};

pub use password::{Password, PasswordError};
pub use person::Person;
use person::Proof;
pub use token::{LabelError, Secret, label};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::readings::{Reader, may_be_named};
use crate::settings::Period;

/// Why something about people was not done; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller would make a first user that may not make more.
    #[error("{0} would be the only user and may not add others: the first one has to administer")]
    NotAdministrator(UserName),
    /// The reading collection of the user could not be made private, handed over or removed.
    #[error(transparent)]
    Reading(#[from] EndpointError),
    /// The collection is private to another user.
    #[error("{0} holds what one user reads: nobody else can have a role in it")]
    Private(CollectionName),
    /// A password could not be hashed or compared: a fault of the program or of what is stored.
    #[error("a password cannot be compared: {0}")]
    Hash(String),
}

/// A user that does not exist yet.
#[derive(Debug)]
pub struct NewUser {
    /// Who.
    pub name: UserName,
    /// What they sign in with; without one only tokens sign in.
    pub password: Option<Password>,
    /// Whether everything is allowed; the first user's must be.
    pub administrator: bool,
}

/// A token that does not exist yet.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Whose.
    pub user: UserName,
    /// What for.
    pub kind: TokenKind,
    /// What its user calls it.
    pub label: String,
    /// What it allows at most.
    pub scope: Scope,
    /// From when on it is refused.
    pub expires: Option<Moment>,
}

impl Endpoint {
    /// Sessions that a user may have at once.
    pub const SESSIONS: usize = 50;

    /// Adds a user, who has no right yet to what others have made unless it is an administrator. The first one gets
    /// what was read while there were no users.
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
            created: self.environment.now(),
        };
        self.store.add_user(user.clone()).await?;
        let kind = if user.administrator { "an administrator" } else { "no administrator" };
        self.record_people("add user", &user.name, None, kind).await?;
        if is_first {
            let reader = Reader { name: user.name.clone(), id: user.id.clone() };
            self.hand_reading_over(reader).await?;
        }
        Ok(user)
    }

    /// Gives a user another password, or none. Who is signed in by a browser is signed out; tokens of
    /// programs stay.
    pub async fn set_password(
        &self,
        name: &UserName,
        password: Option<Password>,
    ) -> Result<(), PeopleError> {
        self.give_password(name, password, None).await
    }

    /// Gives somebody who signed in another password. The session they are in stays, their others end.
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

    /// Makes a user an administrator, or no longer one.
    pub async fn set_administrator(
        &self,
        name: &UserName,
        administrator: bool,
    ) -> Result<(), PeopleError> {
        self.change_user(name, |user| user.administrator = administrator).await?;
        let now = if administrator { "an administrator" } else { "no administrator" };
        self.record_people("change user", name, None, now).await
    }

    /// Refuses whatever a user signs in with, or takes it again.
    pub async fn set_disabled(&self, name: &UserName, disabled: bool) -> Result<(), PeopleError> {
        self.change_user(name, |user| user.disabled = disabled).await?;
        let now = if disabled { "disabled" } else { "enabled" };
        self.record_people("change user", name, None, now).await
    }

    /// Removes a user with all roles and tokens and with what they read. What else only they owned is left to
    /// administrators.
    pub async fn remove_user(&self, name: &UserName) -> Result<(), PeopleError> {
        if let Some(user) = self.store.user(name).await? {
            // One of an earlier version becomes private, so that it goes with its user.
            self.secure_reading(Reader { name: user.name, id: user.id }).await?;
        }
        self.store.remove_user(name).await?;
        self.record_people("remove user", name, None, "").await
    }

    /// Gives a user a role in a collection, in place of another one.
    pub async fn grant(&self, grant: Grant) -> Result<(), PeopleError> {
        if !may_be_named(&grant.collection, Some(&grant.user)) {
            return Err(PeopleError::Private(grant.collection));
        }
        self.store.grant(grant.clone()).await?;
        let Grant { user, collection, role } = grant;
        if role != Role::Owner {
            self.take_charge(&user, &collection).await?;
        }
        self.record_people("grant", &user, Some(collection), role.name()).await
    }

    /// Takes a user's role in a collection away; whether there was one.
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

    /// Charges a collection to who acts, if they take its ownership from the user to whom it was charged.
    async fn take_charge(
        &self,
        from: &UserName,
        collection: &CollectionName,
    ) -> Result<(), PeopleError> {
        let actor = self.actor.as_ref().and_then(|actor| actor.user.as_ref());
        let Some(actor) = actor.filter(|actor| *actor != from) else { return Ok(()) };
        let users = (self.store.user(actor).await?, self.store.user(from).await?);
        let (Some(actor), Some(from)) = users else { return Ok(()) };
        if self.store.charged_collection(collection).await? == Some(from.id) {
            self.store.charge_collection(collection, &actor.id).await?;
        }
        Ok(())
    }

    /// Gives out a token. Its text is known to nobody but who gets this answer.
    pub async fn issue_token(&self, new: NewToken) -> Result<(Secret, Token), PeopleError> {
        let secret = Secret::random(&*self.environment);
        let token = Token {
            digest: secret.digest(),
            user: new.user,
            kind: new.kind,
            label: new.label,
            scope: new.scope,
            created: self.environment.now(),
            expires: new.expires,
        };
        self.store.add_token(token.clone()).await?;
        let (action, detail) = match token.kind {
            TokenKind::Access => ("issue token", &*token.label),
            TokenKind::Session => ("sign in", ""),
        };
        self.record_people(action, &token.user, token.scope.collection.clone(), detail).await?;
        Ok((secret, token))
    }

    /// Begins a session of a user's browser, for as long as it may last. Of more than
    /// [`SESSIONS`](Self::SESSIONS) the oldest end.
    pub async fn begin_session(
        &self,
        user: UserName,
        label: String,
        lasts: Period,
    ) -> Result<(Secret, Token), PeopleError> {
        let mut sessions = self.store.tokens(&user).await?;
        sessions.retain(|token| token.kind == TokenKind::Session);
        let surplus = (sessions.len() + 1).saturating_sub(Self::SESSIONS);
        for session in sessions.iter().take(surplus) {
            self.forget(session.digest).await?;
        }
        let expires = Some(lasts.after(self.environment.now()));
        let (kind, scope) = (TokenKind::Session, Scope::default());
        self.issue_token(NewToken { user, kind, label, scope, expires }).await
    }

    /// Ends a token of a user: from now on it is refused.
    pub async fn revoke_token(&self, user: &UserName, digest: Digest) -> Result<(), PeopleError> {
        let token = self.store.token(digest).await?.filter(|token| token.user == *user);
        let token = token.ok_or(StoreError::NoToken)?;
        self.store.remove_token(digest).await?;
        let (action, detail) = match token.kind {
            TokenKind::Access => ("revoke token", &*token.label),
            TokenKind::Session => ("sign out", ""),
        };
        self.record_people(action, user, token.scope.collection, detail).await
    }

    /// Who signs in with a password; `None` if the user is not known, has no password, is disabled, or it
    /// is another one: which of them is not told, neither by the time it takes.
    pub async fn check_password(
        &self,
        name: &UserName,
        password: &str,
    ) -> Result<Option<Person>, PeopleError> {
        let user = self.store.user(name).await?.filter(|user| !user.disabled);
        let hash = user.as_ref().and_then(|user| user.password.clone());
        if !password::fits(password.to_owned(), hash).await? {
            return Ok(None);
        }
        match user {
            Some(user) => Ok(self.person_of(user, None).await?),
            None => Ok(None),
        }
    }

    /// Who a token of a kind signs in, by its text; `None` if it is not one of ours, expired, revoked,
    /// or its user disabled.
    ///
    /// It is looked up by the SHA-256 of 256 random bits: the time that takes tells nothing that would
    /// help to find another one.
    pub async fn person_of_token(
        &self,
        text: &str,
        kind: TokenKind,
    ) -> Result<Option<Person>, StoreError> {
        let Some(secret) = Secret::parse(text) else { return Ok(None) };
        let token = self.store.token(secret.digest()).await?;
        match token.filter(|token| token.kind == kind) {
            Some(token) => self.person_with(token).await,
            None => Ok(None),
        }
    }

    /// What somebody who signed in may do now; `None` if their token has ended, their password is
    /// another one, or they are disabled or removed.
    pub async fn person_again(&self, person: &Person) -> Result<Option<Person>, StoreError> {
        match person.proof() {
            Proof::Token(digest) => match self.store.token(digest).await? {
                Some(token) => self.person_with(token).await,
                None => Ok(None),
            },
            proof @ Proof::Password(_) => match self.store.user(person.user()).await? {
                Some(user) if user.id == *person.id() && Proof::password(&user) == proof => {
                    self.person_of(user, None).await
                }
                _ => Ok(None),
            },
        }
    }

    /// What a user may do, without a token's bounds; `None` if not known or disabled.
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
        match self.store.grants(GrantsOf::User(&user.name)).await {
            Ok(grants) => Ok(Some(Person::new(user, grants, token))),
            // Removed meanwhile.
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

    /// Removes a token that may be gone already.
    async fn forget(&self, digest: Digest) -> Result<(), StoreError> {
        match self.store.remove_token(digest).await {
            Err(StoreError::NoToken) => Ok(()),
            other => other,
        }
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
