//! Facts about articles from stored responses: enough to know what a mark changes.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Size of a stored fact, in bytes.
const FACT_BYTES: usize = 33;

/// A feed or a folder, by a digest of the server's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(u64);

impl Subject {
    /// The subject with this name.
    pub(crate) fn of(kind: &str, name: impl std::fmt::Display) -> Self {
        let digest = Sha256::digest(format!("{kind}/{name}"));
        Self(digest.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte)))
    }

    pub(crate) fn feed(name: impl std::fmt::Display) -> Self {
        Self::of("feed", name)
    }

    pub(crate) fn folder(name: impl std::fmt::Display) -> Self {
        Self::of("folder", name)
    }
}

/// Facts about an article. Unknown facts are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fact {
    /// Number of the article.
    pub article: i64,
    /// Feed of the article.
    pub feed: Option<Subject>,
    /// Whether the article was read.
    pub is_read: Option<bool>,
    /// Whether the article is starred.
    pub is_starred: Option<bool>,
    /// Names by which the article is starred, on servers that do not use the number.
    pub names: [Option<Subject>; 2],
}

/// Facts about articles and feeds in a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Facts about articles.
    pub articles: Vec<Fact>,
    /// Pairs of a feed and its folder.
    pub filed: Vec<(Subject, Subject)>,
}

impl Facts {
    /// Serialized form, for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = (self.articles.len() as u32).to_be_bytes().to_vec();
        let number = |subject: Option<Subject>| subject.map_or(0, |Subject(number)| number);
        for fact in &self.articles {
            bytes.extend(fact.article.to_be_bytes());
            bytes.push(bits(fact.is_read) | bits(fact.is_starred) << 2);
            for subject in [fact.feed, fact.names[0], fact.names[1]] {
                bytes.extend(number(subject).to_be_bytes());
            }
        }
        for (feed, folder) in &self.filed {
            bytes.extend(feed.0.to_be_bytes());
            bytes.extend(folder.0.to_be_bytes());
        }
        bytes
    }

    /// Parses the stored form; none if it is invalid.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk()?;
        let count = u32::from_be_bytes(*count) as usize;
        let (articles, filed) = rest.split_at_checked(count.checked_mul(FACT_BYTES)?)?;
        let (filed, []) = filed.as_chunks::<16>() else { return None };
        let number = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let subject = |bytes: &[u8]| Some(Subject(number(bytes))).filter(|it| it.0 != 0);
        let fact = |bytes: &[u8; FACT_BYTES]| Fact {
            article: number(&bytes[..8]).cast_signed(),
            feed: subject(&bytes[9..17]),
            is_read: of_bits(bytes[8]),
            is_starred: of_bits(bytes[8] >> 2),
            names: [subject(&bytes[17..25]), subject(&bytes[25..])],
        };
        let pair = |bytes: &[u8; 16]| (Subject(number(&bytes[..8])), Subject(number(&bytes[8..])));
        Some(Self {
            articles: articles.as_chunks::<FACT_BYTES>().0.iter().map(fact).collect(),
            filed: filed.iter().map(pair).collect(),
        })
    }
}

fn bits(known: Option<bool>) -> u8 {
    match known {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    }
}

fn of_bits(bits: u8) -> Option<bool> {
    match bits & 3 {
        1 => Some(false),
        2 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn facts_are_read_as_they_are_written(
            numbers in proptest::collection::vec(any::<(i64, u8, u8)>(), 0..9),
            filed in proptest::collection::vec(any::<(u64, u64)>(), 0..5),
            noise in proptest::collection::vec(any::<u8>(), 0..99),
        ) {
            let fact = |(article, state, name): (i64, u8, u8)| Fact {
                article,
                feed: (name > 9).then(|| Subject::feed(name)),
                is_read: of_bits(state),
                is_starred: of_bits(state >> 2),
                names: [(name > 50).then(|| Subject::of("name", name)), None],
            };
            let facts = Facts {
                articles: numbers.into_iter().map(fact).collect(),
                filed: filed.into_iter().map(|(a, b)| (Subject(a), Subject(b))).collect(),
            };
            let bytes = facts.to_bytes();
            prop_assert_eq!(Facts::of_bytes(&bytes), Some(facts));
            let _ = Facts::of_bytes(&noise);
            let _ = Facts::of_bytes(&bytes[..bytes.len() / 2]);
        }
    }
}
