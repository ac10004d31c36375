//! The fields of a selector, for `_explain`.

use std::collections::BTreeSet;

use super::Selector;
use super::normal::joined;
use super::rule::{Rule, Test};

/// The fields of a selector, as written in requests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectorFields {
    /// All fields that conditions name, except those inside `$elemMatch` and similar operators.
    pub all: BTreeSet<String>,
    /// Fields with comparisons that can bound the keys of an index: `$eq`, `$lt`, `$lte`, `$gt` and `$gte`, except those in
    /// alternatives and negations.
    pub indexable: BTreeSet<String>,
}

impl Selector {
    /// The fields of the selector.
    pub(crate) fn fields(&self) -> SelectorFields {
        let mut fields = SelectorFields::default();
        fields.collect(&self.rule, &mut Vec::new(), true);
        fields
    }
}

impl SelectorFields {
    fn collect<'a>(&mut self, rule: &'a Rule, path: &mut Vec<&'a str>, is_required: bool) {
        match rule {
            Rule::All(rules) => rules.iter().for_each(|rule| self.collect(rule, path, is_required)),
            Rule::Any(rules) => rules.iter().for_each(|rule| self.collect(rule, path, false)),
            Rule::Not(rule) => self.collect(rule, path, false),
            Rule::Field(names, rule) => {
                let length = path.len();
                path.extend(names.iter().map(String::as_str));
                self.collect(rule, path, is_required);
                path.truncate(length);
            }
            Rule::Test(test) => {
                if path.is_empty() {
                    return;
                }
                let field = joined(path);
                if is_required && matches!(test, Test::Relation(..)) {
                    self.indexable.insert(field.clone());
                }
                self.all.insert(field);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use feedsync_formats::json::Node;

    use super::*;

    #[test]
    fn fields_with_required_comparisons_are_indexable() {
        for (selector, all, indexable) in [
            ("{}", "", ""),
            (r#"{"a":1}"#, "a", "a"),
            (r#"{"a":{"$gt":1,"$lt":2},"b.c":{"d":{"$gte":1}}}"#, "a b.c.d", "a b.c.d"),
            (r#"{"a":{"$ne":1},"b":{"$in":[1]},"c":{"$exists":true}}"#, "a b c", ""),
            (r#"{"$and":[{"a":1},{"a":{"$regex":"x"}}]}"#, "a", "a"),
            (r#"{"$or":[{"a":1},{"b":2}],"c":1}"#, "a b c", "c"),
            (r#"{"$not":{"a":1}}"#, "a", ""),
            (r#"{"a":{"$elemMatch":{"b":1}}}"#, "a", ""),
        ] {
            let fields = Selector::parse(Node::root(selector)).unwrap().fields();
            let text =
                |fields: &BTreeSet<String>| fields.iter().cloned().collect::<Vec<_>>().join(" ");
            assert_eq!(
                (&*text(&fields.all), &*text(&fields.indexable)),
                (all, indexable),
                "{selector}"
            );
        }
    }
}
