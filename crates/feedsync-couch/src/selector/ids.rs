//! The range of ids that a selector can match.

use std::cmp::Ordering;
use std::ops::Bound;

use feedsync_formats::json::{Kind, Node};

use super::location::Value;
use super::rule::{Relation, Rule, Test};
use crate::collation::Text;

/// A range of ids in byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdRange {
    /// Lower bound.
    pub lower: Bound<String>,
    /// Upper bound; never less than the lower bound.
    pub upper: Bound<String>,
}

impl IdRange {
    /// All ids.
    pub const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// The empty range.
    pub fn none() -> Self {
        Self { lower: Bound::Included(String::new()), upper: Bound::Excluded(String::new()) }
    }

    /// Its bounds as references.
    pub fn bounds(&self) -> (Bound<&str>, Bound<&str>) {
        (self.lower.as_ref().map(String::as_str), self.upper.as_ref().map(String::as_str))
    }

    /// Whether the id is in it.
    pub fn contains(&self, id: &str) -> bool {
        let is_after = match &self.lower {
            Bound::Included(lower) => id >= lower.as_str(),
            Bound::Excluded(lower) => id > lower.as_str(),
            Bound::Unbounded => true,
        };
        is_after
            && match &self.upper {
                Bound::Included(upper) => id <= upper.as_str(),
                Bound::Excluded(upper) => id < upper.as_str(),
                Bound::Unbounded => true,
            }
    }

    /// Whether nothing can be in it.
    pub fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Excluded(upper))
            | (Bound::Excluded(lower), Bound::Included(upper)) => lower >= upper,
            (Bound::Unbounded, Bound::Excluded(upper)) => upper.is_empty(),
            _ => false,
        }
    }

    pub(super) fn of(rule: &Rule) -> Self {
        let mut range = Self::ALL;
        range.narrow_by_document(rule);
        if range.is_empty() { Self::none() } else { range }
    }

    fn narrow_by_document(&mut self, rule: &Rule) {
        match rule {
            Rule::All(rules) => rules.iter().for_each(|rule| self.narrow_by_document(rule)),
            Rule::Field(path, rule) if path == &["_id"] => self.narrow_by_id(rule),
            _ => {}
        }
    }

    fn narrow_by_id(&mut self, rule: &Rule) {
        match rule {
            Rule::All(rules) => rules.iter().for_each(|rule| self.narrow_by_id(rule)),
            Rule::Test(Test::Relation(relation, operand)) => {
                self.narrow_by_relation(*relation, operand.node());
            }
            Rule::Test(Test::In(operand)) => {
                let texts = || operand.node().elements().filter_map(text);
                match texts().min().zip(texts().max()) {
                    Some((least, greatest)) => {
                        self.raise(Bound::Included(least));
                        self.lower(Bound::Included(greatest));
                    }
                    None => *self = Self::none(),
                }
            }
            Rule::Test(Test::Begins(operand)) => {
                let Some(prefix) = text(operand.node()) else {
                    return *self = Self::none();
                };
                if let Some(end) = after_all_with(&prefix) {
                    self.lower(Bound::Excluded(end));
                }
                self.raise(Bound::Included(prefix));
            }
            _ => {}
        }
    }

    fn narrow_by_relation(&mut self, relation: Relation, operand: Node<'_>) {
        if operand.kind() != Kind::String {
            if !relation.holds(Value::Id("").compare(operand)) {
                *self = Self::none();
            }
            return;
        }
        let Some(text) = text(operand) else {
            // No id equals half a surrogate pair, and no bound can be made of it.
            if matches!(relation, Relation::Equal) {
                *self = Self::none();
            }
            return;
        };
        match relation {
            Relation::Equal => {
                self.raise(Bound::Included(text.clone()));
                self.lower(Bound::Included(text));
            }
            Relation::Less => self.lower(Bound::Excluded(text)),
            Relation::AtMost => self.lower(Bound::Included(text)),
            Relation::Greater => self.raise(Bound::Excluded(text)),
            Relation::AtLeast => self.raise(Bound::Included(text)),
        }
    }

    fn raise(&mut self, lower: Bound<String>) {
        if is_tighter(&lower, &self.lower, Ordering::Greater) {
            self.lower = lower;
        }
    }

    fn lower(&mut self, upper: Bound<String>) {
        if is_tighter(&upper, &self.upper, Ordering::Less) {
            self.upper = upper;
        }
    }
}

/// Whether the new bound is tighter than the old one, or equal to it and exclusive.
fn is_tighter(new: &Bound<String>, old: &Bound<String>, side: Ordering) -> bool {
    match (new, old) {
        (Bound::Unbounded, _) => false,
        (_, Bound::Unbounded) => true,
        (
            Bound::Included(new_text) | Bound::Excluded(new_text),
            Bound::Included(old_text) | Bound::Excluded(old_text),
        ) => match new_text.cmp(old_text) {
            Ordering::Equal => matches!(new, Bound::Excluded(_)),
            order => order == side,
        },
    }
}

fn text(node: Node<'_>) -> Option<String> {
    (node.kind() == Kind::String).then(|| Text::of(node).to_text())?
}

/// The least text that is greater than all texts with a prefix.
fn after_all_with(prefix: &str) -> Option<String> {
    let kept = prefix.trim_end_matches(char::MAX);
    let last = kept.chars().next_back()?;
    let next = (u32::from(last) + 1..).find_map(char::from_u32)?;
    Some(format!("{}{next}", &kept[..kept.len() - last.len_utf8()]))
}
