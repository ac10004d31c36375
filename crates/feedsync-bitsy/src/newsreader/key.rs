//! Keys of stored responses.

use sha2::{Digest as _, Sha256};

/// Digest of the request without its credentials and without values that differ in each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// Key of a path and its parameters in any order, without the named parameters.
    pub(super) fn of(path: &str, parameters: &[&str], without: &[&str]) -> Self {
        let pairs = parameters.iter().flat_map(|text| text.split('&'));
        let is_kept = |pair: &&str| {
            let name = pair.split('=').next().unwrap_or_default();
            !pair.is_empty() && !without.contains(&name)
        };
        let mut pairs: Vec<&str> = pairs.filter(is_kept).collect();
        pairs.sort_unstable();
        Self::hash([path.trim_matches('/')].into_iter().chain(pairs))
    }

    pub(super) fn hash<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        Self(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_ignored_parameters_do_not_change_the_key() {
        let key = |path, query| Key::of(path, &[query], &["ck", "ot"]);
        let one = key("reader/api/0/stream/items/ids", "s=feed/1&n=100&ck=17&ot=5");
        assert_eq!(one, key("/reader/api/0/stream/items/ids", "ot=6&n=100&s=feed/1&"));
        assert_ne!(one, key("reader/api/0/stream/items/ids", "s=feed/1&n=101"));
        assert_ne!(one, key("reader/api/0/stream/contents", "s=feed/1&n=100"));
        assert_ne!(Key::of("a", &["b=c"], &[]), Key::of("a", &["b", "c"], &[]));
    }
}
