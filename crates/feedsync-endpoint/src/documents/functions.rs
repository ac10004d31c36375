//! Execution of functions of design documents.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{DocumentId, Json, Refusal, RefusalKind, text};
use feedsync_formats::json::Node;
pub use feedsync_functions::{Call, CallError, ReduceList};

/// Executes functions of design documents.
#[async_trait]
pub trait DesignFunctions: Send + Sync + 'static {
    /// Executes a call of functions of a design document; returns the result as JSON.
    async fn call(&self, design: &DesignSource, call: &Call<'_>) -> Result<String, CallError>;

    /// Reports that a document has no rows in the views of a design document, because a call exceeds a limit with it.
    fn report_skipped(&self, _: &DesignSource, _: &DocumentId, _: &CallError) {}
}

/// A design document whose functions are executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesignSource {
    /// Its id.
    pub id: DocumentId,
    /// Its body, or the part that its functions need.
    pub source: Arc<str>,
}

/// Executes a call whose result is a list, and reads its elements, of which there must be this number. `function` names what
/// is called, for errors.
pub(super) async fn list<T>(
    functions: &dyn DesignFunctions,
    (design, function): (&DesignSource, &str),
    call: &Call<'_>,
    count: usize,
    read: impl Fn(Node<'_>) -> T,
) -> Result<Vec<T>, Refusal> {
    let failed = |error: &CallError| refusal(error, &format!("{function} of {}", design.id));
    let result = functions.call(design, call).await.map_err(|error| failed(&error))?;
    let results: Vec<T> = Node::root(&result).elements().map(read).collect();
    match results.len() == count {
        true => Ok(results),
        false => Err(failed(&CallError::Process("a result of another length".to_owned()))),
    }
}

/// The refusal of a request that needs a function which cannot be executed. `function` names it.
pub(super) fn refusal(error: &CallError, function: &str) -> Refusal {
    let kind = match error {
        CallError::Busy => RefusalKind::Unavailable,
        CallError::Missing(_) | CallError::Compilation(_) => RefusalKind::Compilation,
        CallError::Thrown(thrown) => {
            // A function can refuse a request, too.
            let thrown = Json::read(thrown.as_bytes().to_vec()).ok();
            match thrown.and_then(|thrown| stated(thrown.root())) {
                Some(refusal) => return refusal,
                None => RefusalKind::FunctionProcess,
            }
        }
        _ => RefusalKind::FunctionProcess,
    };
    kind.with_reason(format_args!("{function}: {error}"))
}

/// The refusal that a function has stated: `{"forbidden": "..."}` or `{"unauthorized": "..."}`.
pub(super) fn stated(said: Node<'_>) -> Option<Refusal> {
    let of = |name: &str, kind: RefusalKind| Some(kind.with_reason(member(said, name)?));
    of("forbidden", RefusalKind::Forbidden)
        .or_else(|| of("unauthorized", RefusalKind::Unauthorized))
}

/// The text of a member, or its JSON.
pub(super) fn member(said: Node<'_>, name: &str) -> Option<String> {
    let member = said.member(name)?;
    Some(text(member.value).map_or_else(|| member.value.raw().to_owned(), |it| it.into_owned()))
}
