//! Sign-in of newsreaders: with a name and a password for a token, and with that token in the place where the
//! client sends it.
//!
//! The token for a password is an ordinary token of its user, which *My account* lists and revokes. It is
//! valid for the collection of their reading only, for a month, and a user has at most ten of them.

use feedsync_endpoint::{NewToken, PeopleError, ReadingOwner, TokenSecret, reading_collection};
use feedsync_store::{CollectionName, Moment, Role, Scope, StoreError, Token, TokenKind, UserName};

use crate::access::Principal;
use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::reading::{Refusal, newsreading, person};

/// Label of such tokens.
const TOKEN_LABEL: &str = "newsreader";

/// Maximum number of such tokens of one user. The oldest ones end first.
const MAX_TOKENS: usize = 10;

/// Lifetime of a token, in microseconds.
const TOKEN_LIFETIME: u64 = 30 * 24 * 3_600 * 1_000_000;

/// Token for newsreaders on a hub that needs no sign-in.
const OPEN_HUB_TOKEN: &str = "open";

/// Returns a token for a valid name and password, or for a token as the password; `None` otherwise.
pub(super) async fn token(
    hub: &Hub,
    call: &Call,
    name: &str,
    password: &str,
) -> Result<Option<String>, Refusal> {
    newsreading(hub)?;
    if matches!(call.principal, Principal::Local) {
        return Ok(Some(OPEN_HUB_TOKEN.to_owned()));
    }
    let Ok(user) = UserName::new(name) else {
        hub.access.failed(call.from, "unknown user").await;
        return Ok(None);
    };
    if let Some(secret) = TokenSecret::parse(password) {
        let person = hub.access.by_access_token(&secret, Some(&user), call.from).await?;
        return Ok(person.map(|_| password.to_owned()));
    }
    match hub.access.by_password(&user, password, call.from).await? {
        // The cached rights may be those of a password that was changed a moment ago.
        Some(person) => match hub.endpoint.refresh_person(&person).await.map_err(Problem::from)? {
            Some(person) => Ok(Some(issue(hub, call, person.reader()).await?)),
            None => Ok(None),
        },
        None => Ok(None),
    }
}

/// Principal of a token in the body of a request whose head has no credentials.
pub(super) async fn principal(
    hub: &Hub,
    call: &Call,
    token: Option<&str>,
) -> Result<Principal, Refusal> {
    principal_of(hub, call, token.and_then(TokenSecret::parse)).await
}

/// The same with the key of a Fever client.
pub(super) async fn fever_principal(
    hub: &Hub,
    call: &Call,
    key: Option<&str>,
) -> Result<Principal, Refusal> {
    principal_of(hub, call, key.and_then(TokenSecret::fever_key)).await
}

async fn principal_of(
    hub: &Hub,
    call: &Call,
    secret: Option<TokenSecret>,
) -> Result<Principal, Refusal> {
    let Principal::Anonymous = call.principal else { return Ok(call.principal.clone()) };
    let Some(secret) = secret else { return Err(Problem::sign_in().into()) };
    match hub.access.by_access_token(&secret, None, call.from).await? {
        Some(person) => Ok(Principal::Person(person)),
        None => Err(Problem::sign_in().into()),
    }
}

/// Ends a session. A token that was issued to a newsreader for a password is revoked; any other token stays
/// valid.
pub(super) async fn end(
    hub: &Hub,
    call: &Call,
    principal: &Principal,
    token: Option<&str>,
) -> Result<(), Refusal> {
    let (Some(user), Some(secret)) = (principal.user(), token.and_then(TokenSecret::parse)) else {
        return Ok(());
    };
    let endpoint = call.endpoint_of(hub, Some(user.clone()));
    let token = endpoint.token(secret.digest()).await.map_err(Problem::from)?;
    if token.is_some_and(|token| is_newsreader_token(&token, &reading_collection(Some(user)))) {
        match endpoint.revoke_token(user, secret.digest()).await {
            // A missing token has ended already.
            Ok(()) | Err(PeopleError::Store(StoreError::NoToken)) => hub.access.forget(),
            Err(error) => return Err(Problem::from(error).into()),
        }
    }
    Ok(())
}

/// Whether a token was issued to a newsreader for a password.
fn is_newsreader_token(token: &Token, collection: &CollectionName) -> bool {
    token.label == TOKEN_LABEL && token.scope.collection.as_ref() == Some(collection)
}

async fn issue(hub: &Hub, call: &Call, reader: ReadingOwner) -> Result<String, Refusal> {
    let user = reader.name.clone();
    let endpoint = call.endpoint_of(hub, Some(user.clone()));
    let collection = reading_collection(Some(&user));
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "cannot create a token for a newsreader");
        Problem::internal()
    };
    // A token for a collection ends with it and needs an existing one.
    person(hub, call, Some(&reader)).await?;
    let tokens = endpoint.tokens(&user).await.map_err(Problem::from)?;
    let ours: Vec<_> =
        tokens.iter().filter(|token| is_newsreader_token(token, &collection)).collect();
    for token in ours.iter().take((ours.len() + 1).saturating_sub(MAX_TOKENS)) {
        endpoint.revoke_token(&user, token.digest).await.map_err(|error| failed(&error))?;
    }
    let now = endpoint.environment().now();
    let new = NewToken {
        user,
        kind: TokenKind::Access,
        label: TOKEN_LABEL.to_owned(),
        scope: Scope { role: Some(Role::Editor), collection: Some(collection) },
        expires: Some(Moment::from_micros(now.micros().saturating_add(TOKEN_LIFETIME))),
    };
    let (secret, _) = endpoint.issue_token(new).await.map_err(|error| failed(&error))?;
    Ok(secret.as_str().to_owned())
}
