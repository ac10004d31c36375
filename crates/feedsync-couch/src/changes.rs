//! Parameters of `_changes` (section 7).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use feedsync_formats::json::Node;

use crate::name::DocumentId;
use crate::query::{Parameters, texts};
use crate::refusal::{Refusal, RefusalKind};
use crate::selector::Selector;

/// Interval of `heartbeat=true`, and default and maximum timeout of a feed.
const MINUTE: Duration = Duration::from_secs(60);

/// Minimum interval between heartbeats.
const MIN_HEARTBEAT: Duration = Duration::from_millis(20);

/// A request to `_changes`.
#[derive(Debug, Clone)]
pub struct ChangesRequest {
    /// Form of the response.
    pub feed: ChangesFeed,
    /// Position after which changes are returned.
    pub since: Since,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// Whether the order is descending, newest first.
    pub is_descending: bool,
    /// Whether all leaves are listed, instead of the winner only (`style=all_docs`).
    pub all_leaves: bool,
    /// Whether rows include their documents.
    pub include_docs: bool,
    /// Whether the documents list their conflicts.
    pub conflicts: bool,
    /// Whether the documents include the contents of attachments.
    pub attachments: bool,
    /// Interval of heartbeats while there are no changes.
    pub heartbeat: Option<Duration>,
    /// Maximum time to wait for a change without heartbeats.
    pub timeout: Duration,
    /// Filter of the documents.
    pub filter: Arc<ChangesFilter>,
}

/// Forms of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangesFeed {
    /// Existing changes.
    Normal,
    /// Existing changes, or the first new one.
    LongPoll,
    /// Existing changes, then new ones as they are made, one on each line.
    Continuous,
    /// The same as Server-Sent Events.
    EventSource,
}

/// Position after which changes are returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// Before all changes.
    Beginning,
    /// After all existing changes.
    Now,
    /// A position from an earlier response.
    At(String),
}

/// Filters of documents.
#[derive(Debug, Clone)]
pub enum ChangesFilter {
    /// No filter.
    None,
    /// Documents with these ids.
    Ids(HashSet<DocumentId>),
    /// Documents that match a selector.
    Selector(Box<Selector>),
    /// Design documents.
    Design,
    /// Documents that a function of a design document accepts: the design document, the kind and the name of the function.
    Function(DocumentId, FunctionKind, String),
}

/// Kinds of functions of design documents, by the member that holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `filters`.
    Filter,
    /// `views`.
    View,
    /// `shows`.
    Show,
    /// `lists`.
    List,
    /// `updates`.
    Update,
}

impl FunctionKind {
    /// Member of a design document that holds functions of this kind.
    pub const fn member(self) -> &'static str {
        match self {
            Self::Filter => "filters",
            Self::View => "views",
            Self::Show => "shows",
            Self::List => "lists",
            Self::Update => "updates",
        }
    }

    /// Returns CouchDB's 404 if a design document does not have a function. `design` is its body.
    pub fn check(self, design: Node<'_>, name: &str) -> Result<(), Refusal> {
        let missing = |key: &str| {
            RefusalKind::NotFound.with_reason(match self {
                Self::View => "missing_named_view".to_owned(),
                _ => format!("missing json key: {key}"),
            })
        };
        let functions = design.member(self.member()).ok_or_else(|| missing(self.member()))?;
        functions.value.member(name).map(drop).ok_or_else(|| missing(name))
    }

    /// The error for a function that is not executed: CouchDB's 404 if the design document does not have it; otherwise 501.
    pub fn refuse(self, design: Node<'_>, name: &str) -> Refusal {
        self.check(design, name).err().unwrap_or_else(|| match self {
            Self::Filter | Self::View => Self::not_executed(),
            Self::Show | Self::List | Self::Update => {
                let reason = format!("functions in `{}` are not supported here", self.member());
                RefusalKind::NotImplemented.with_reason(reason)
            }
        })
    }

    /// The error for a request that needs functions, if they are not executed.
    pub fn not_executed() -> Refusal {
        let reason = "functions of design documents are not executed by this server";
        RefusalKind::NotImplemented.with_reason(reason)
    }
}

/// Id of the design document and name of the function of `designname/name`.
fn of_design(text: &str) -> Option<(String, String)> {
    let (design, name) = text.split_once('/')?;
    let is_whole = !design.is_empty() && !name.is_empty() && !name.contains('/');
    is_whole.then(|| (format!("_design/{design}"), name.to_owned()))
}

impl ChangesRequest {
    /// Parses the parameters of the query, and the body of a `POST`.
    pub fn read(
        parameters: &Parameters,
        last_event: Option<&str>,
        body: Option<Node<'_>>,
    ) -> Result<Self, Refusal> {
        let feed = match parameters.text("feed") {
            None | Some("normal") => ChangesFeed::Normal,
            Some("longpoll") => ChangesFeed::LongPoll,
            Some("continuous" | "live") => ChangesFeed::Continuous,
            Some("eventsource") => ChangesFeed::EventSource,
            Some(other) => {
                let reason = format_args!("Supported `feed` types: normal, continuous, live, longpoll, eventsource; not {other:?}")
                    .to_string();
                return Err(RefusalKind::BadRequest.with_reason(reason));
            }
        };
        // The header is that of a browser that reconnects to its events. The parameter is valid for each feed, as in CouchDB.
        let resumed = last_event.filter(|_| feed == ChangesFeed::EventSource);
        let since = resumed.or_else(|| parameters.text("last-event-id"));
        let all_leaves = match parameters.text("style") {
            None | Some("main_only") => false,
            Some("all_docs") => true,
            Some(_) => return Err(RefusalKind::BadRequest.with_reason("invalid style")),
        };
        let timeout = parameters.count("timeout")?.map(Duration::from_millis);
        let is_descending = parameters.flag("descending")?;
        Ok(Self {
            feed,
            since: since.or_else(|| parameters.text("since")).map_or(Since::Beginning, Since::read),
            limit: parameters.count("limit")?,
            is_descending,
            all_leaves,
            include_docs: parameters.flag("include_docs")?,
            conflicts: parameters.flag("conflicts")?,
            attachments: parameters.flag("attachments")?,
            heartbeat: heartbeat(parameters)?,
            timeout: timeout.map_or(MINUTE, |timeout| timeout.min(MINUTE)),
            filter: Arc::new(ChangesFilter::read(parameters, body)?),
        })
    }
}

fn heartbeat(parameters: &Parameters) -> Result<Option<Duration>, Refusal> {
    let Some(text) = parameters.text("heartbeat").filter(|text| *text != "false") else {
        return Ok(None);
    };
    if text == "true" {
        return Ok(Some(MINUTE));
    }
    match text.parse() {
        // Each heartbeat costs a check of the client's access rights.
        Ok(millis) if millis > 0 => Ok(Some(Duration::from_millis(millis).max(MIN_HEARTBEAT))),
        _ => Err(RefusalKind::BadRequest
            .with_reason("The heartbeat value should be a positive integer (in milliseconds).")),
    }
}

impl Since {
    fn read(text: &str) -> Self {
        // Browsers send a position as the text of a JSON string.
        match text.trim_matches('"') {
            "" | "0" => Self::Beginning,
            "now" => Self::Now,
            other => Self::At(other.to_owned()),
        }
    }
}

impl ChangesFilter {
    fn read(parameters: &Parameters, body: Option<Node<'_>>) -> Result<Self, Refusal> {
        let refuse = |reason: &str| RefusalKind::BadRequest.with_reason(reason);
        let Some(name) = parameters.text("filter") else { return Ok(Self::None) };
        match name {
            "_doc_ids" => {
                let of_query = parameters.json("doc_ids")?;
                let of_body = body.and_then(|body| body.member("doc_ids")).map(|it| it.value);
                let ids = of_body.or_else(|| of_query.as_ref().map(|json| json.root()));
                let ids = ids.ok_or_else(|| refuse("`doc_ids` filter parameter is not a list."))?;
                // A text that is not a valid id matches no document.
                Ok(Self::Ids(texts(ids)?.iter().filter_map(|id| id.parse().ok()).collect()))
            }
            "_selector" => {
                let selector = body
                    .and_then(|body| body.member("selector"))
                    .ok_or_else(|| refuse("Selector must be specified in POST payload"))?;
                let selector = Selector::parse_filter(selector.value);
                Ok(Self::Selector(Box::new(selector.map_err(|error| refuse(&error.to_string()))?)))
            }
            "_design" => Ok(Self::Design),
            "_view" => {
                let view = parameters.text("view").and_then(of_design);
                let (document, name) =
                    view.ok_or_else(|| refuse("`view` must be of the form `designname/viewname`"))?;
                Ok(Self::Function(document.parse()?, FunctionKind::View, name))
            }
            _ => {
                let (document, name) = of_design(name).ok_or_else(|| {
                    refuse("`filter` must be of the form `designname/filtername`")
                })?;
                Ok(Self::Function(document.parse()?, FunctionKind::Filter, name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::selector::Subject;

    fn read(query: &str, body: &str) -> Result<ChangesRequest, Refusal> {
        let body = Json::read(body.as_bytes().to_vec()).unwrap();
        ChangesRequest::read(&Parameters::read(query), None, Some(body.root()))
    }

    #[test]
    fn requests_of_pouchdb_and_couchdb_are_parsed() {
        let live =
            read("feed=longpoll&heartbeat=10000&style=all_docs&since=4-x&limit=100", "{}").unwrap();
        assert_eq!((live.feed, live.all_leaves), (ChangesFeed::LongPoll, true));
        assert_eq!((live.since, live.limit), (Since::At("4-x".to_owned()), Some(100)));
        assert_eq!((live.heartbeat, live.timeout), (Some(Duration::from_secs(10)), MINUTE));
        assert_eq!(read("feed=longpoll&timeout=600000", "{}").unwrap().timeout, MINUTE);
        let couch =
            read("feed=continuous&style=all_docs&since=0&timeout=10000&unknown=1", "{}").unwrap();
        assert_eq!((couch.since, couch.timeout), (Since::Beginning, Duration::from_secs(10)));
        assert_eq!((couch.heartbeat, couch.limit), (None, None));
        let ids = read("filter=_doc_ids", r#"{"doc_ids":["a","_bad"]}"#).unwrap();
        assert!(matches!(&*ids.filter, ChangesFilter::Ids(ids) if ids.len() == 1));
        let ids = read("filter=_doc_ids&doc_ids=%5B%22a%22%5D", "{}").unwrap();
        assert!(matches!(&*ids.filter, ChangesFilter::Ids(ids) if ids.len() == 1));
        let selector = read("filter=_selector", r#"{"selector":{"type":{"$ne":"leaf"}}}"#).unwrap();
        assert!(matches!(&*selector.filter, ChangesFilter::Selector(_)));
        let function = read("filter=replicate/pull", "{}").unwrap();
        assert!(
            matches!(&*function.filter, ChangesFilter::Function(id, FunctionKind::Filter, name) if id.is_design() && name == "pull")
        );
        let view = read("filter=_view&view=replicate/pull", "{}").unwrap();
        assert!(
            matches!(&*view.filter, ChangesFilter::Function(id, FunctionKind::View, name) if id.is_design() && name == "pull")
        );
        let request =
            ChangesRequest::read(&Parameters::read("feed=eventsource"), Some("\"7-x\""), None);
        assert_eq!(request.unwrap().since, Since::At("7-x".to_owned()));
        let request = ChangesRequest::read(&Parameters::read("since=0"), Some("7-x"), None);
        assert_eq!(request.unwrap().since, Since::read("0"));
        let resumed = Parameters::read("since=0&last-event-id=7-x");
        let request = ChangesRequest::read(&resumed, None, None);
        assert_eq!(request.unwrap().since, Since::At("7-x".to_owned()));
    }

    #[test]
    fn a_filter_with_a_negation_passes_tombstones() {
        for selector in [r#"{"type":{"$ne":"leaf"}}"#, r#"{"$not":{"type":"leaf"}}"#] {
            let request = read("filter=_selector", &format!("{{\"selector\":{selector}}}"));
            let filter = request.unwrap().filter;
            let ChangesFilter::Selector(selector) = &*filter else { unreachable!() };
            let body = Node::root("{}");
            let tombstone = Subject { id: "note", revision: "2-b", is_deleted: true, body };
            assert!(selector.matches(&tombstone));
            assert_eq!(selector.decides_by_type(None), Some(true));
        }
    }

    #[test]
    fn invalid_parameters_are_rejected() {
        for query in [
            "feed=other",
            "heartbeat=0",
            "heartbeat=-1",
            "heartbeat=x",
            "limit=x",
            "descending=1",
            "style=x",
            "filter=x",
            "filter=x/",
            "filter=x/y/z",
            "filter=_view&view=x",
            "filter=_selector",
            "filter=_doc_ids",
            "filter=_view",
            "filter=_doc_ids&doc_ids=1",
        ] {
            assert_eq!(read(query, "{}").unwrap_err().kind.status(), 400, "{query}");
        }
        assert!(read("filter=_selector", r#"{"selector":{"a":{"$x":1}}}"#).is_err());
    }
}
