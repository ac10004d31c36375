//! Databases of a test cluster, by the addresses that the program accepts.

use feedsync_test::postgres::Cluster;

/// Creates an empty database; returns its address.
pub(crate) fn database(cluster: &Cluster) -> String {
    address(&cluster.database(), None)
}

/// Converts a libpq connection string into an address, with another user if one is given.
pub(crate) fn address(words: &str, user: Option<&str>) -> String {
    let host = word(words, "host").replace('/', "%2F");
    let user = user.unwrap_or_else(|| word(words, "user"));
    format!("postgres://{user}@{host}/{}", word(words, "dbname"))
}

pub(crate) fn word<'w>(words: &'w str, name: &str) -> &'w str {
    let mut pairs = words.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value).expect("a word of the address")
}
