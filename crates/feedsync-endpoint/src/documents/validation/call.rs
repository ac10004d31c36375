//! Calls of a function `validate_doc_update`.

use feedsync_couch::{Refusal, RefusalKind};
use feedsync_formats::json::Node;

use crate::documents::functions::{Call, DesignFunctions, DesignSource, list, member, stated};

/// Name of the function.
const NAME: &str = "validate_doc_update";

/// A new revision, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProposedUpdate {
    /// The document, with `_id`, `_rev` if it is based on a revision or replicated, `_revisions`, and `_attachments` as
    /// stubs.
    pub(super) document: String,
    /// The document on which it is based.
    pub(super) before: Option<String>,
}

/// The user and the access rules, which a function gets besides the documents, as JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValidationContext<'a> {
    /// The user: `{"db": "notes", "name": "anna", "roles": []}`.
    pub(super) user: &'a str,
    /// The access rules (`_security`).
    pub(super) security: &'a str,
}

/// Asks a function about new revisions; returns a refusal for each one that it refuses. The error is that the function
/// cannot be executed.
pub(super) async fn validate(
    functions: &dyn DesignFunctions,
    design: &DesignSource,
    updates: &[ProposedUpdate],
    context: ValidationContext<'_>,
) -> Result<Vec<Option<Refusal>>, Refusal> {
    let pairs: Vec<(&str, Option<&str>)> =
        updates.iter().map(|update| (&*update.document, update.before.as_deref())).collect();
    let call = Call::Validate { updates: &pairs, user: context.user, security: context.security };
    let read = |said: Node<'_>| refused(said, design);
    list(functions, (design, NAME), &call, updates.len(), read).await
}

/// The refusal of an update by a function.
fn refused(said: Node<'_>, design: &DesignSource) -> Option<Refusal> {
    let thrown = || {
        let (thrown, id) = (member(said, "thrown")?, &design.id);
        Some(RefusalKind::Forbidden.with_reason(format_args!("{NAME} of {id} failed: {thrown}")))
    };
    stated(said).or_else(thrown)
}
