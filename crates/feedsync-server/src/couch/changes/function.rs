//! Functions of design documents that select the changes of a feed.
//!
//! A filter function gets the request as CouchDB describes it, without `body`, `cookie`, `form`, `peer`, `raw_path`,
//! `requested_path` and `uuid`. The feed uses the design document that exists when it begins.

use std::sync::Arc;

use feedsync_couch::{
    DEFAULT_SECURITY, DocumentId, FunctionKind, Json, Refusal, RefusalKind, Revision, quoted,
};
use feedsync_endpoint::documents::filter_functions::{FilterCall, FilterFunction, accepted_leaves};
use feedsync_endpoint::documents::functions::{DesignFunctions, DesignSource};
use feedsync_endpoint::documents::validation::is_javascript;
use feedsync_formats::json::Node;
use feedsync_store::{Database, DocumentChanges};

use crate::couch::{CouchRequest, Failure, database, design};

/// Parameters that CouchDB gives to functions as values, and not as their texts.
const JSON_PARAMETERS: [&str; 4] = ["startkey", "endkey", "key", "descending"];

/// A function, and what executes it.
#[derive(Clone)]
pub(super) struct FeedFunction {
    functions: Arc<dyn DesignFunctions>,
    function: Arc<FilterFunction>,
}

impl FeedFunction {
    /// Returns the function that a request names. Refuses a missing one with 404, and any if functions are not executed.
    pub(super) async fn open(
        asked: &CouchRequest,
        database: &Database,
        id: &DocumentId,
        (kind, name): (FunctionKind, &str),
    ) -> Result<Self, Failure> {
        let source = design::winner(asked, database, id.clone()).await?;
        let body = Node::root(&source);
        let Some(functions) = asked.hub.endpoint.functions() else {
            return Err(kind.refuse(body, name).into());
        };
        kind.check(body, name)?;
        if !is_javascript(body) {
            let reason = format!("the functions of {id} are not in JavaScript");
            return Err(RefusalKind::NotImplemented.with_reason(reason).into());
        }
        let name = name.to_owned();
        let call = match kind {
            FunctionKind::View => FilterCall::View { name },
            _ => FilterCall::Filter { name, request: request(asked, database) },
        };
        let function =
            FilterFunction { design: DesignSource { id: id.clone(), source: source.into() }, call };
        Ok(Self { functions: Arc::clone(functions), function: Arc::new(function) })
    }

    /// Returns the leaves of each document of a page that the function selects.
    pub(super) async fn accepted(
        &self,
        changes: &DocumentChanges,
        all_leaves: bool,
    ) -> Result<Vec<Vec<Revision>>, Refusal> {
        let page = (&changes.database, &*changes.documents);
        accepted_leaves(&*self.functions, &self.function, page, all_leaves).await
    }
}

/// The request that a filter function gets.
fn request(asked: &CouchRequest, database: &Database) -> String {
    let name = quoted(database.name.as_str());
    let query = asked.parameters.pairs().map(|(name, value)| {
        let json = JSON_PARAMETERS.contains(&name).then(|| Json::read(value.as_bytes().to_vec()));
        let value = match json {
            Some(Ok(json)) => json.root().raw().to_owned(),
            _ => quoted(value),
        };
        format!("{}:{value}", quoted(name))
    });
    let headers = asked.call.headers.iter().filter_map(|(name, value)| {
        let value = value.to_str().ok().filter(|_| !is_secret(name.as_str()))?;
        Some(format!("{}:{}", quoted(&capitalized(name.as_str())), quoted(value)))
    });
    format!(
        "{{\"info\":{},\"id\":null,\"method\":{},\"path\":[{name},\"_changes\"],\"query\":{{{}}},\
         \"headers\":{{{}}},\"userCtx\":{},\"secObj\":{}}}",
        database::info(asked, database),
        quoted(asked.method.as_str()),
        query.collect::<Vec<_>>().join(","),
        headers.collect::<Vec<_>>().join(","),
        asked.author(false).context(&database.name),
        database.security.as_deref().unwrap_or(DEFAULT_SECURITY),
    )
}

/// Whether a header can have a password, a token or a session. Functions do not get them, because their authors need not
/// be the users who make requests.
fn is_secret(name: &str) -> bool {
    matches!(name, "authorization" | "proxy-authorization" | "cookie") || name.starts_with("x-")
}

/// The name of a header as CouchDB writes it: `Accept-Language`.
fn capitalized(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}
