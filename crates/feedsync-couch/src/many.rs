//! How much a request may name: a few bytes of a body become many in memory, and work.

use feedsync_formats::json::Node;

use crate::refusal::{Refusal, RefusalKind};

/// A request names so many documents, revisions or keys at most.
pub const MOST_NAMED: usize = 100_000;

/// The elements of an array, unless they are more than a request names.
pub fn named(array: Node<'_>) -> Result<Vec<Node<'_>>, Refusal> {
    let mut all = Vec::new();
    for one in array.elements() {
        check_named(all.len() + 1)?;
        all.push(one);
    }
    Ok(all)
}

/// Refuses a count of more.
pub(crate) fn check_named(count: usize) -> Result<(), Refusal> {
    let refuse = || {
        let reason = format_args!("a request names at most {MOST_NAMED} things; ask in parts");
        RefusalKind::TooLarge.because(reason)
    };
    if count > MOST_NAMED { Err(refuse()) } else { Ok(()) }
}
