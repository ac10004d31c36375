//! Tokens and sessions of users: issued, and revoked.

use feedsync_store::{Digest, Moment, Scope, StoreError, Token, TokenKind, UserName};

use super::{PeopleError, Person, TokenSecret};
use crate::endpoint::Endpoint;
use crate::settings::Period;

/// A token to be created.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// User of the token.
    pub user: UserName,
    /// Kind of the token.
    pub kind: TokenKind,
    /// Label that its user gives it.
    pub label: String,
    /// Maximum rights of the token.
    pub scope: Scope,
    /// Time from which it is refused.
    pub expires: Option<Moment>,
}

impl Endpoint {
    /// Maximum number of concurrent sessions of a user.
    pub const SESSIONS: usize = 50;

    /// Issues a token. Its text is known only to the recipient of this result.
    pub async fn issue_token(&self, new: NewToken) -> Result<(TokenSecret, Token), PeopleError> {
        let secret = TokenSecret::random(&*self.environment);
        let token = self.add_token(new, &secret).await?;
        Ok((secret, token))
    }

    /// Issues a token for a Fever client, and returns the password to enter there, with the name of the user. Only
    /// the recipient of this result knows it. The label is `Fever` if none is given.
    pub async fn issue_fever_password(
        &self,
        mut new: NewToken,
    ) -> Result<(String, Token), PeopleError> {
        if new.label.is_empty() {
            new.label = "Fever".to_owned();
        }
        let (password, key) = TokenSecret::random_fever(&*self.environment, &new.user);
        Ok((password, self.add_token(new, &key).await?))
    }

    async fn add_token(&self, new: NewToken, secret: &TokenSecret) -> Result<Token, PeopleError> {
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
        Ok(token)
    }

    /// Starts a session of a user's browser with a limited lifetime. If the user has more than
    /// [`SESSIONS`](Self::SESSIONS), the oldest ones end.
    pub async fn begin_session(
        &self,
        user: UserName,
        label: String,
        lasts: Period,
    ) -> Result<(TokenSecret, Token), PeopleError> {
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

    /// Starts a session of a person who has signed in. The result is `None` if the password was changed meanwhile, or the
    /// user was disabled or removed: no session begins with a password that is no longer valid.
    pub async fn begin_session_of(
        &self,
        person: &Person,
        label: String,
        lasts: Period,
    ) -> Result<Option<TokenSecret>, PeopleError> {
        let user = person.user();
        let secret = match self.begin_session(user.clone(), label, lasts).await {
            Err(PeopleError::Store(StoreError::NoUser(_))) => return Ok(None),
            begun => begun?.0,
        };
        if self.refresh_person(person).await?.is_some() {
            return Ok(Some(secret));
        }
        self.forget(secret.digest()).await?;
        Ok(None)
    }

    /// Revokes a token of a user: from now on it is refused.
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

    /// Removes a token, which may be gone already.
    pub(super) async fn forget(&self, digest: Digest) -> Result<(), StoreError> {
        match self.store.remove_token(digest).await {
            Err(StoreError::NoToken) => Ok(()),
            other => other,
        }
    }
}
