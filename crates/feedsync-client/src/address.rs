//! Addresses that follow from those that a person gave.

use feedsync_fetch::Url;

/// Returns an address that a server gave. If it has the origin of the address that a person gave, it gets the
/// credentials of that one.
pub(crate) fn with_credentials(mut url: Url, given: &str) -> Url {
    if let Ok(given) = Url::parse(given)
        && given.origin() == url.origin()
        && url.username().is_empty()
    {
        // Both fail only for addresses that have no host.
        let _ = url.set_username(given.username());
        let _ = url.set_password(given.password());
    }
    url
}

/// Returns an address with these parameters in place of its own of the same names; `None` removes one.
pub(crate) fn with_pairs(url: &Url, pairs: &[(&str, Option<&str>)]) -> Url {
    let replaced = |name: &str| pairs.iter().any(|(other, _)| *other == name);
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !replaced(name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let mut url = url.clone();
    let new = pairs.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    url.query_pairs_mut().clear().extend_pairs(kept).extend_pairs(new);
    url
}
