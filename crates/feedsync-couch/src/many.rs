//! Limit on the number of names in a request: a few bytes of a body cost much more memory and work.

use feedsync_formats::json::Node;

use crate::refusal::{Refusal, RefusalKind};

/// Maximum number of documents, revisions or keys in a request.
pub const MAX_NAMED: usize = 100_000;

/// The elements of an array; an error if there are more than the limit.
pub fn named(array: Node<'_>) -> Result<Vec<Node<'_>>, Refusal> {
    let mut all = Vec::new();
    for one in array.elements() {
        check_named(all.len() + 1)?;
        all.push(one);
    }
    Ok(all)
}

/// Rejects a number above the limit.
pub(crate) fn check_named(count: usize) -> Result<(), Refusal> {
    let refuse = || {
        let reason = format_args!(
            "a request can name at most {MAX_NAMED} documents or revisions; split it into several \
             requests"
        );
        RefusalKind::TooLarge.with_reason(reason)
    };
    if count > MAX_NAMED { Err(refuse()) } else { Ok(()) }
}
