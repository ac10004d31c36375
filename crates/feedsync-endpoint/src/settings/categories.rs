//! Categories of a collection (RFC 5023 7).

use serde::{Deserialize, Serialize};

/// The categories that a collection offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Categories {
    /// Whether other categories are refused (AP10). A merge is never refused because of categories: that
    /// would prevent convergence.
    pub fixed: bool,
    /// Scheme of the categories that name none (RFC 5023 7.2.1).
    pub scheme: Option<String>,
    /// The categories.
    pub list: Vec<Category>,
}

/// One category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Name of the category in entries.
    pub term: String,
    /// Scheme of the category, if it differs from that of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// Label for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// An entry's category that is not among the fixed ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the category {term:?} with the scheme {scheme:?} is not allowed in this collection")]
pub struct CategoriesError {
    /// Term in the entry.
    pub term: String,
    /// Scheme in the entry; empty for none.
    pub scheme: String,
}

impl Categories {
    /// Checks an entry's categories, each a term and a scheme, against a fixed list.
    pub fn check<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<(), CategoriesError> {
        if !self.fixed {
            return Ok(());
        }
        for (term, scheme) in given {
            let is_same = |known: &Category| {
                known.term == term
                    && known.scheme.as_ref().or(self.scheme.as_ref()).map(|s| &**s) == scheme
            };
            if !self.list.iter().any(is_same) {
                let scheme = scheme.unwrap_or_default().to_owned();
                return Err(CategoriesError { term: term.to_owned(), scheme });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fixed_categories_are_checked_and_a_scheme_is_inherited() {
        let category = |term: &str, scheme: Option<&str>| Category {
            term: term.to_owned(),
            scheme: scheme.map(str::to_owned),
            label: None,
        };
        let mut categories = Categories {
            fixed: true,
            scheme: Some("urn:s".to_owned()),
            list: vec![category("a", None), category("b", Some("urn:t"))],
        };
        assert_eq!(categories.check([("a", Some("urn:s")), ("b", Some("urn:t"))]), Ok(()));
        assert_eq!(categories.check([]), Ok(()));
        for (term, scheme) in [("a", None), ("b", Some("urn:s")), ("c", Some("urn:s"))] {
            let error = categories.check([(term, scheme)]).unwrap_err();
            assert_eq!((&*error.term, &*error.scheme), (term, scheme.unwrap_or_default()));
        }
        categories.fixed = false;
        assert_eq!(categories.check([("c", None)]), Ok(()));
    }
}
