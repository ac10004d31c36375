//! Authentication by header.

/// The token of a header `Authorization: GoogleLogin auth=TOKEN`.
///
/// ```
/// # use feedsync_reader_api::google::authorization;
/// assert_eq!(authorization("GoogleLogin auth=me/abc"), Some("me/abc"));
/// assert_eq!(authorization("Basic bWU6YWJj"), None);
/// ```
pub fn authorization(value: &str) -> Option<&str> {
    let (scheme, rest) = value.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("GoogleLogin") {
        return None;
    }
    let (name, token) = rest.trim_start().split_once('=')?;
    let token = token.trim().trim_matches('"');
    (name.trim().eq_ignore_ascii_case("auth") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_what_follows_the_name() {
        for said in ["GoogleLogin auth=a=b", " googlelogin  Auth=\"a=b\" "] {
            assert_eq!(authorization(said), Some("a=b"), "{said}");
        }
        for other in
            ["", "GoogleLogin", "GoogleLogin auth", "GoogleLogin auth=", "GoogleLogin sid=a"]
        {
            assert_eq!(authorization(other), None, "{other}");
        }
    }
}
