//! Signing in as newsreaders do: with a name and a password for which they get a token, and with that token wherever
//! they happen to put it.
//!
//! The token that a password is answered with is one of its user's, listed in *My account* and revoked there. It is
//! good for the collection of their reading alone, for a month, and there are no more than ten of them.

use feedsync_endpoint::{NewToken, PeopleError, Reader, Secret, reading_collection};
use feedsync_store::{CollectionName, Moment, Role, Scope, StoreError, Token, TokenKind, UserName};

use super::{Refusal, newsreading};
use crate::access::Principal;
use crate::call::Call;
use crate::hub::Hub;
use crate::problem::Problem;

/// What such tokens are called.
const LABEL: &str = "newsreader";

/// So many of them there are of one user; of more, the oldest end.
const MOST: usize = 10;

/// How long they last.
const LASTS: u64 = 30 * 24 * 3_600 * 1_000_000;

/// What is given to newsreaders where nobody needs to sign in.
const OPEN: &str = "open";

/// A token for who gives the name and password of a user, or a token for a password; `None` for anybody else.
pub(super) async fn token(
    hub: &Hub,
    call: &Call,
    name: &str,
    password: &str,
) -> Result<Option<String>, Refusal> {
    newsreading(hub)?;
    if matches!(call.principal, Principal::Local) {
        return Ok(Some(OPEN.to_owned()));
    }
    let Ok(user) = UserName::new(name) else {
        hub.access.failed(call.from, "unknown user").await;
        return Ok(None);
    };
    if let Some(secret) = Secret::parse(password) {
        let person = hub.access.by_access_token(&secret, Some(&user), call.from).await?;
        return Ok(person.map(|_| password.to_owned()));
    }
    match hub.access.by_password(&user, password, call.from).await? {
        Some(person) => Ok(Some(issue(hub, call, person.reader()).await?)),
        None => Ok(None),
    }
}

/// Who a token in the body of a request signs in, where its head says nothing.
pub(super) async fn principal(
    hub: &Hub,
    call: &Call,
    token: Option<&str>,
) -> Result<Principal, Refusal> {
    let Principal::Anonymous = call.principal else { return Ok(call.principal.clone()) };
    let Some(secret) = token.and_then(Secret::parse) else {
        return Err(crate::access::sign_in().into());
    };
    match hub.access.by_access_token(&secret, None, call.from).await? {
        Some(person) => Ok(Principal::Person(person)),
        None => Err(crate::access::sign_in().into()),
    }
}

/// Ends a session. A token that a newsreader was given for a password ends; any other one goes on being good for who has it.
pub(super) async fn end(
    hub: &Hub,
    call: &Call,
    principal: &Principal,
    token: Option<&str>,
) -> Result<(), Refusal> {
    let (Some(user), Some(secret)) = (principal.user(), token.and_then(Secret::parse)) else {
        return Ok(());
    };
    let endpoint = call.endpoint_of(hub, Some(user.clone()));
    let token = endpoint.store().token(secret.digest()).await.map_err(Problem::from)?;
    if token.is_some_and(|token| is_given_here(&token, &reading_collection(Some(user)))) {
        match endpoint.revoke_token(user, secret.digest()).await {
            // It has ended already.
            Ok(()) | Err(PeopleError::Store(StoreError::NoToken)) => hub.access.forget(),
            Err(error) => return Err(Problem::from(error).into()),
        }
    }
    Ok(())
}

/// Whether a token was given to a newsreader for a password.
fn is_given_here(token: &Token, collection: &CollectionName) -> bool {
    token.label == LABEL && token.scope.collection.as_ref() == Some(collection)
}

async fn issue(hub: &Hub, call: &Call, reader: Reader) -> Result<String, Refusal> {
    let user = reader.name.clone();
    let endpoint = call.endpoint_of(hub, Some(user.clone()));
    let collection = reading_collection(Some(&user));
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "a newsreader gets no token");
        Problem::internal()
    };
    // A token of a collection ends with it, and is of one that is there.
    super::person(hub, call, Some(&reader)).await?;
    let tokens = endpoint.store().tokens(&user).await.map_err(Problem::from)?;
    let ours: Vec<_> = tokens.iter().filter(|token| is_given_here(token, &collection)).collect();
    for token in ours.iter().take((ours.len() + 1).saturating_sub(MOST)) {
        endpoint.revoke_token(&user, token.digest).await.map_err(|error| failed(&error))?;
    }
    let now = endpoint.environment().now();
    let new = NewToken {
        user,
        kind: TokenKind::Access,
        label: LABEL.to_owned(),
        scope: Scope { role: Some(Role::Editor), collection: Some(collection) },
        expires: Some(Moment::from_micros(now.micros().saturating_add(LASTS))),
    };
    let (secret, _) = endpoint.issue_token(new).await.map_err(|error| failed(&error))?;
    Ok(secret.as_str().to_owned())
}
