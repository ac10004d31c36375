//! Users, their permissions and their actions as JSON.

use feedsync_store::{AuditEntry, Grant, Moment, Token, TokenKind, User};
use serde_json::{Value, json};

use crate::view::moment;

/// JSON of a user: an element of `user list --json`.
pub(crate) fn user(user: &User) -> Value {
    json!({
        "name": user.name.as_str(),
        "administrator": user.administrator,
        "databases_only": user.databases_only,
        "disabled": user.disabled,
        "password": user.password.is_some(),
        "created": moment(user.created),
    })
}

/// JSON of a token: an element of `user token list --json`.
pub(crate) fn token(token: &Token, now: Moment) -> Value {
    json!({
        "id": token_id(token),
        "user": token.user.as_str(),
        "kind": token_kind(token),
        "label": token.label,
        "role": token.scope.role.map(|role| role.name()),
        "collection": token.scope.collection.as_ref().map(|name| name.as_str()),
        "created": moment(token.created),
        "expires": token.expires.map(moment),
        "expired": token.is_expired(now),
    })
}

/// Identifier of a token whose text is not known: the beginning of its digest.
pub(crate) fn token_id(token: &Token) -> String {
    let mut id = token.digest.to_string();
    id.truncate(12);
    id
}

/// Name of the kind of a token.
pub(crate) fn token_kind(token: &Token) -> &'static str {
    match token.kind {
        TokenKind::Access => "access",
        TokenKind::Session => "session",
    }
}

/// JSON of a role: an element of `collection grants --json`.
pub(crate) fn grant(grant: &Grant) -> Value {
    json!({
        "collection": grant.collection.as_str(),
        "user": grant.user.as_str(),
        "role": grant.role.name(),
    })
}

/// JSON of a recorded action: an element of `store audit --json`.
pub(crate) fn act(recorded: &AuditEntry) -> Value {
    let act = &recorded.act;
    json!({
        "place": recorded.place,
        "at": moment(recorded.at),
        "user": act.user.as_ref().map(|user| user.as_str()),
        "address": act.address,
        "action": act.action,
        "collection": act.collection.as_ref().map(|name| name.as_str()),
        "item": act.item.as_ref().map(|item| item.as_str()),
        "detail": act.detail,
    })
}
