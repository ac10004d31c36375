//! Link relations, for the choice of links to follow (BITSY 2.1.1, R-B2).

use std::fmt;
use std::str::FromStr;

/// Prefix of the IRIs of registered relations (RFC 4287 4.2.7.2).
const REGISTRY: &str = "http://www.iana.org/assignments/relation/";

/// Maximum size of a relation, in bytes.
const MAX_BYTES: usize = 1_024;

/// A link relation. A registered name and its IRI are equal, and case makes no difference (1.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Relation(String);

/// Error: the text is not a link relation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a link relation: use a name without spaces, or an IRI")]
pub struct RelationError(String);

impl Relation {
    /// Text of the relation in lower case; for a registered relation, its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The relation of a link without `rel` (RFC 4287 4.2.7.2).
    pub fn alternate() -> Self {
        Self("alternate".to_owned())
    }
}

impl FromStr for Relation {
    type Err = RelationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.to_ascii_lowercase();
        // All prefixes are removed, so that the result parses to itself.
        let name = lower.trim_start_matches(REGISTRY);
        let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"');
        if name.is_empty() || name.len() > MAX_BYTES || name.contains(odd) {
            return Err(RelationError(text.chars().take(MAX_BYTES).collect()));
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_name_and_its_iri_are_one_relation() {
        let enclosure: Relation = "enclosure".parse().unwrap();
        for same in ["ENCLOSURE", "http://www.iana.org/assignments/relation/Enclosure"] {
            assert_eq!(same.parse::<Relation>().unwrap(), enclosure);
        }
        let twice = format!("{REGISTRY}{REGISTRY}enclosure");
        assert_eq!(twice.parse::<Relation>().unwrap(), enclosure);
        let own: Relation = "http://example.org/Rel".parse().unwrap();
        assert_eq!(own.as_str(), "http://example.org/rel");
        for none in ["", "a b", "a\nb", "<a>", "http://www.iana.org/assignments/relation/"] {
            assert!(none.parse::<Relation>().is_err(), "{none:?}");
        }
    }
}
