//! Responses about the user, and those that consist of a word.

use serde_json::json;

use crate::answer::Answer;

/// Response to a successful sign-in, with the token for later requests.
pub fn signed_in(token: &str, is_json: bool) -> Answer {
    if is_json {
        return Answer::json(&json!({ "SID": token, "LSID": token, "Auth": token }));
    }
    Answer::text(200, format!("SID={token}\nLSID={token}\nAuth={token}\n"))
}

/// Response to an unknown user name or a wrong password.
pub fn wrong_password() -> Answer {
    Answer::text(403, "Error=BadAuthentication\n")
}

/// Response with the token for writes.
pub fn token(token: &str) -> Answer {
    Answer::text(200, token)
}

/// Response to a successful request. Newsreaders check for exactly this text.
pub fn done() -> Answer {
    Answer::text(200, "OK")
}

/// Response to a failed request.
pub fn refuse(status: u16, reason: &str) -> Answer {
    Answer::text(status, reason)
}

/// Response with the user.
pub fn user_info(id: &str, name: &str) -> Answer {
    Answer::json(&json!({
        "userId": id,
        "userName": name,
        "userProfileId": id,
        "userEmail": name,
        "isBloggerUser": false,
        "isMultiLoginEnabled": false,
    }))
}

/// Response with the preferences, of which there are none.
pub fn preferences() -> Answer {
    Answer::json(&json!({ "prefs": [] }))
}

/// Response with the preferences of streams, of which there are none.
pub fn stream_preferences() -> Answer {
    Answer::json(&json!({ "streamprefs": {} }))
}

/// Response with the friends, of which there are none.
pub fn friends() -> Answer {
    Answer::json(&json!({ "friends": [] }))
}

/// Response with the subscriptions as OPML.
pub fn export(opml: String) -> Answer {
    Answer::document("text/x-opml; charset=utf-8", opml)
}

/// Response to an import, with the number of subscribed feeds.
pub fn imported(feeds: usize) -> Answer {
    Answer::text(200, format!("OK: {feeds}"))
}
