//! Reductions of rows.

use feedsync_formats::json::{Kind, Node};

use super::design::invalid;
use crate::json::text;
use crate::refusal::{Refusal, RefusalKind};
use sum::Sum;

mod distinct;
mod number;
mod stats;
mod sum;

#[cfg(test)]
mod tests;

/// Maximum size of a reduction by a built-in function, in bytes.
pub const MAX_REDUCTION_BYTES: usize = 65_536;

/// The reduce function of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// A function that needs no engine.
    Builtin(Builtin),
    /// A function in JavaScript.
    Function,
}

/// A built-in reduce function.
///
/// Reductions are JSON. The reduction of all rows is the reduction of the reductions of their parts, in the same order. A
/// part without rows is left out. Numbers that are written as integers are added exactly up to 127 bits, and beyond
/// these and with other numbers as doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// `_sum`: the sum of numbers, of arrays position by position, or of objects member by member.
    Sum,
    /// `_count`: the number of rows.
    Count,
    /// `_stats`: sum, count, minimum, maximum and sum of squares.
    Stats,
    /// `_approx_count_distinct`: the estimated number of different keys.
    ApproxCountDistinct,
}

impl Reduction {
    /// Parses the member `reduce` of a view.
    pub(super) fn read(source: Node<'_>) -> Result<Option<Self>, Refusal> {
        if source.kind() == Kind::Null {
            return Ok(None);
        }
        let source = text(source).ok_or_else(|| invalid("`reduce` must be a string"))?;
        if !source.starts_with('_') {
            return Ok(Some(Self::Function));
        }
        // CouchDB ignores the text after the name.
        let known = Builtin::ALL.into_iter().find(|known| source.starts_with(known.name()));
        let refuse = || invalid(&format!("`{source}` is not a supported reduce function."));
        known.map(|known| Some(Self::Builtin(known))).ok_or_else(refuse)
    }
}

impl Builtin {
    const ALL: [Self; 4] = [Self::Sum, Self::Count, Self::Stats, Self::ApproxCountDistinct];

    /// Its name in design documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "_sum",
            Self::Count => "_count",
            Self::Stats => "_stats",
            Self::ApproxCountDistinct => "_approx_count_distinct",
        }
    }

    /// Reduces rows: pairs of a key and a value.
    pub fn reduce<'a>(
        self,
        rows: impl IntoIterator<Item = (Node<'a>, Node<'a>)>,
    ) -> Result<String, Refusal> {
        let mut rows = rows.into_iter();
        bounded(match self {
            Self::Sum => Sum::of(rows.map(|(_, value)| value))?,
            Self::Count => rows.count().to_string(),
            Self::Stats => stats::of(rows.map(|(_, value)| value))?,
            Self::ApproxCountDistinct => distinct::of_keys(&mut rows.by_ref().map(|(key, _)| key)),
        })
    }

    /// Reduces reductions of this function.
    pub fn rereduce<'a>(
        self,
        reductions: impl IntoIterator<Item = &'a str>,
    ) -> Result<String, Refusal> {
        let mut reductions = reductions.into_iter().map(Node::root);
        bounded(match self {
            Self::Sum | Self::Count => Sum::of(reductions)?,
            Self::Stats => stats::of(reductions)?,
            Self::ApproxCountDistinct => distinct::union(&mut reductions)?,
        })
    }

    /// The value that a client gets for a reduction.
    pub fn finish(self, reduction: &str) -> String {
        match self {
            Self::ApproxCountDistinct => distinct::estimate(Node::root(reduction)).to_string(),
            Self::Sum | Self::Count | Self::Stats => reduction.to_owned(),
        }
    }
}

/// Refuses a reduction that is too large.
fn bounded(reduction: String) -> Result<String, Refusal> {
    let size = reduction.len();
    if size <= MAX_REDUCTION_BYTES {
        return Ok(reduction);
    }
    let reason = format!(
        "Reduce output must shrink more rapidly: it has {size} bytes; at most {MAX_REDUCTION_BYTES} \
         are allowed"
    );
    Err(RefusalKind::BuiltinReduce.with_reason(reason))
}
