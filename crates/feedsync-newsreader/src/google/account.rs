//! Answers about who asks, and those that are a word.

use serde_json::json;

use crate::answer::Answer;

/// Somebody has signed in and shows this token from now on.
pub fn signed_in(token: &str, is_json: bool) -> Answer {
    if is_json {
        return Answer::json(&json!({ "SID": token, "LSID": token, "Auth": token }));
    }
    Answer::text(200, format!("SID={token}\nLSID={token}\nAuth={token}\n"))
}

/// Nobody is called so, or the password is wrong.
pub fn wrong_password() -> Answer {
    Answer::text(403, "Error=BadAuthentication\n")
}

/// The token that a write shows.
pub fn token(token: &str) -> Answer {
    Answer::text(200, token)
}

/// It is done. Newsreaders look for exactly this.
pub fn done() -> Answer {
    Answer::text(200, "OK")
}

/// It is not done.
pub fn refuse(status: u16, reason: &str) -> Answer {
    Answer::text(status, reason)
}

/// Who it is.
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

/// Nobody keeps preferences here.
pub fn preferences() -> Answer {
    Answer::json(&json!({ "prefs": [] }))
}

/// Nor those of streams.
pub fn stream_preferences() -> Answer {
    Answer::json(&json!({ "streamprefs": {} }))
}

/// Nobody shares anything here.
pub fn friends() -> Answer {
    Answer::json(&json!({ "friends": [] }))
}

/// The subscriptions as OPML.
pub fn export(opml: String) -> Answer {
    Answer::document("text/x-opml; charset=utf-8", opml)
}

/// So many feeds of a list are subscribed to now.
pub fn imported(feeds: usize) -> Answer {
    Answer::text(200, format!("OK: {feeds}"))
}
