//! Responses about the user, and those that consist of a word.

use serde_json::json;

use crate::answer::RawResponse;

/// Response to a successful sign-in, with the token for later requests.
pub fn signed_in(token: &str, is_json: bool) -> RawResponse {
    if is_json {
        return RawResponse::json(&json!({ "SID": token, "LSID": token, "Auth": token }));
    }
    RawResponse::text(200, format!("SID={token}\nLSID={token}\nAuth={token}\n"))
}

/// Response to an unknown user name or a wrong password.
pub fn wrong_password() -> RawResponse {
    RawResponse::text(403, "Error=BadAuthentication\n")
}

/// Response with the token for writes.
pub fn token(token: &str) -> RawResponse {
    RawResponse::text(200, token)
}

/// Response to a successful request. Newsreaders check for exactly this text.
pub fn done() -> RawResponse {
    RawResponse::text(200, "OK")
}

/// Response to a failed request.
pub fn refuse(status: u16, reason: &str) -> RawResponse {
    RawResponse::text(status, reason)
}

/// Response with the user.
pub fn user_info(id: &str, name: &str) -> RawResponse {
    RawResponse::json(&json!({
        "userId": id,
        "userName": name,
        "userProfileId": id,
        "userEmail": name,
        "isBloggerUser": false,
        "isMultiLoginEnabled": false,
    }))
}

/// Response with the preferences, of which there are none.
pub fn preferences() -> RawResponse {
    RawResponse::json(&json!({ "prefs": [] }))
}

/// Response with the preferences of streams, of which there are none.
pub fn stream_preferences() -> RawResponse {
    RawResponse::json(&json!({ "streamprefs": {} }))
}

/// Response with the friends, of which there are none.
pub fn friends() -> RawResponse {
    RawResponse::json(&json!({ "friends": [] }))
}

/// Response with the subscriptions as OPML.
pub fn export(opml: String) -> RawResponse {
    RawResponse::document("text/x-opml; charset=utf-8", opml)
}

/// Response to an import, with the number of subscribed feeds.
pub fn imported(feeds: usize) -> RawResponse {
    RawResponse::text(200, format!("OK: {feeds}"))
}
