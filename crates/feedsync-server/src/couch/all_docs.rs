//! Listings by id (section 5): `_all_docs`, `_design_docs`, `_local_docs`, and several queries of one at once.

mod by_key;
mod by_range;
mod local;

use std::collections::VecDeque;
use std::ops::Bound;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{DatabaseName, Json, Parameters, Refusal, RefusalKind, Revision, quoted};
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_endpoint::documents::{leaves, sequence};
use feedsync_formats::json::{Kind, Node};
use feedsync_store::{Database, LoadedDocument};
use http::Method;

use super::pieces::{self, Pieces};
use super::queries::{self, Queries, Query as _};
use super::{CouchRequest, Failure};
use crate::access::databases::Need;
use by_range::Range;

/// Number of documents per read, and of bytes of their bodies.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 8 << 20;

/// End of a listing.
const END: &str = "\n]}\n";

/// Kinds of documents in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListingKind {
    /// All except local documents.
    All,
    /// Design documents.
    Design,
    /// Local documents.
    Local,
}

impl ListingKind {
    /// Bounds of the ids that are listed.
    fn bounds(self) -> (Bound<String>, Bound<String>) {
        match self {
            Self::All => (Bound::Unbounded, Bound::Unbounded),
            // The character after `/` is `0`.
            Self::Design => {
                (Bound::Included("_design/".to_owned()), Bound::Excluded("_design0".to_owned()))
            }
            Self::Local => {
                (Bound::Included("_local/".to_owned()), Bound::Excluded("_local0".to_owned()))
            }
        }
    }
}

/// Answers one query, given in the parameters and in the body of a `POST`.
pub(super) async fn answer(
    asked: &CouchRequest,
    name: &DatabaseName,
    listed: ListingKind,
    body: Body,
) -> Result<Response, Failure> {
    let method = asked.method_of(&[Method::GET, Method::POST])?.clone();
    let mut database = asked.database(name, Need::Use).await?;
    let mut sent = None;
    if method == Method::POST {
        sent = Some(asked.json(body).await?);
        database = asked.recheck(&database, Need::Use).await?;
    }
    let query = Query::read(asked, listed, sent.as_ref().map(|(_, sent)| sent.root()))?;
    // Waiting for a slot must not hold the permit for bodies.
    drop(sent);
    let (begin, view) = query.open(asked, database).await?;
    pieces::answer(asked, view, begin).await
}

/// Answers several queries, each with a listing of its own.
pub(super) async fn answer_queries(
    asked: &CouchRequest,
    name: &DatabaseName,
    listed: ListingKind,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let sent = asked.json(body).await?;
    let database = asked.recheck(&database, Need::Use).await?;
    let queries = queries::read(sent.1.root())?;
    let read = |query| Query::read(asked, listed, Some(query));
    let queries = queries.into_iter().map(read).collect::<Result<VecDeque<_>, Refusal>>()?;
    drop(sent);
    let queries = Queries::new(asked, database, queries);
    pieces::answer(asked, queries, Queries::<Query>::BEGIN.to_owned()).await
}

/// A parsed query.
struct Query {
    listed: ListingKind,
    rows: Rows,
    update_seq: bool,
    wanted: RequestedRows,
}

/// Requested rows.
enum RequestedRows {
    Keys(Vec<by_key::Key>),
    Range(Range),
}

impl Query {
    fn read(
        asked: &CouchRequest,
        listed: ListingKind,
        body: Option<Node<'_>>,
    ) -> Result<Self, Refusal> {
        let mut parameters = asked.parameters.clone();
        if let Some(body) = body {
            if body.kind() != Kind::Object {
                return Err(RefusalKind::BadRequest.with_reason("A query must be a JSON object"));
            }
            parameters = parameters.with(body, "keys");
        }
        let rows = Rows {
            include_docs: parameters.flag("include_docs")?,
            show: DocumentOptions {
                attachments: parameters.flag("attachments")?,
                conflicts: parameters.flag("conflicts")?,
                ..DocumentOptions::default()
            },
        };
        let of_query = parameters.json("keys")?;
        let of_body = body.and_then(|body| body.member("keys")).map(|it| it.value);
        let keys = of_body.or_else(|| of_query.as_ref().map(Json::root));
        let wanted = match keys {
            Some(keys) => {
                refuse_beside_keys(&parameters)?;
                RequestedRows::Keys(by_key::read(&parameters, keys)?)
            }
            None => RequestedRows::Range(by_range::read(&parameters, listed)?),
        };
        Ok(Self { listed, rows, update_seq: parameters.flag("update_seq")?, wanted })
    }
}

impl queries::Query for Query {
    type Results = View;

    fn may_be_large(&self) -> bool {
        self.rows.include_docs
    }

    async fn open(
        self,
        asked: &CouchRequest,
        database: Database,
    ) -> Result<(String, View), Failure> {
        let Self { listed, rows, update_seq, wanted } = self;
        let total = match listed {
            ListingKind::All => Some(database.documents),
            ListingKind::Local => None,
            ListingKind::Design => {
                let (from, to) = listed.bounds();
                asked.databases.count_documents(&database.name, from, to).await?
            }
        };
        let offset = match &wanted {
            RequestedRows::Range(range) if listed != ListingKind::Local => {
                let before = match range.before(listed) {
                    None => Some(0),
                    Some((from, to)) => {
                        asked.databases.count_documents(&database.name, from, to).await?
                    }
                };
                let offset = before.map(|before| before.saturating_add(range.skip()));
                offset.map(|offset| offset.min(total.unwrap_or(offset)))
            }
            _ => None,
        };
        let number = |number: Option<u64>| number.map_or("null".to_owned(), |it| it.to_string());
        let place = match (update_seq, listed) {
            (false, _) => String::new(),
            (true, ListingKind::Local) => "\"update_seq\":null,".to_owned(),
            (true, _) => {
                let place = quoted(&sequence::text(&database, database.last));
                format!("\"update_seq\":{place},")
            }
        };
        let (total, offset) = (number(total), number(offset));
        let begin = format!("{{\"total_rows\":{total},{place}\"offset\":{offset},\"rows\":[");
        let asked = asked.clone();
        let view = match (listed, wanted) {
            (ListingKind::Local, wanted) => {
                View::Local(local::LocalRows::new(asked, database, rows, wanted))
            }
            (_, RequestedRows::Keys(keys)) => {
                View::Keys(by_key::Keys::new(asked, database, rows, keys))
            }
            (_, RequestedRows::Range(range)) => {
                View::Range(by_range::RangeRows::new(asked, database, rows, range))
            }
        };
        Ok((begin, view))
    }
}

/// Refuses parameters that CouchDB refuses together with `keys`.
fn refuse_beside_keys(parameters: &Parameters) -> Result<(), Refusal> {
    let names = ["key", "startkey", "start_key", "endkey", "end_key"];
    match names.iter().any(|name| parameters.text(name).is_some()) {
        false => Ok(()),
        true => {
            let reason = "`keys` is incompatible with `key`, `start_key` and `end_key`";
            Err(RefusalKind::QueryParse.with_reason(reason))
        }
    }
}

/// Rows of one query that were not sent yet.
enum View {
    Range(by_range::RangeRows),
    Keys(by_key::Keys),
    Local(local::LocalRows),
}

impl Pieces for View {
    const END: &'static str = END;

    fn database(&self) -> Option<&Database> {
        Some(match self {
            Self::Range(walk) => walk.database(),
            Self::Keys(keys) => keys.database(),
            Self::Local(rows) => rows.database(),
        })
    }

    fn may_be_large(&self) -> bool {
        match self {
            Self::Range(walk) => walk.rows().include_docs,
            Self::Keys(keys) => keys.rows().include_docs,
            Self::Local(rows) => rows.rows().include_docs,
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Range(walk) => walk.is_over(),
            Self::Keys(keys) => keys.is_over(),
            Self::Local(rows) => rows.is_over(),
        }
    }

    async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        match self {
            Self::Range(walk) => walk.push_some(text).await,
            Self::Keys(keys) => keys.push_some(text).await,
            Self::Local(rows) => rows.push_some(text).await,
        }
    }
}

/// Content of a row.
#[derive(Clone, Copy)]
struct Rows {
    include_docs: bool,
    show: DocumentOptions,
}

impl Rows {
    fn choose(self) -> feedsync_store::SelectBodies {
        if self.include_docs { leaves::winner() } else { leaves::none() }
    }

    fn push(
        self,
        out: &mut String,
        read: &LoadedDocument,
        held: &AttachmentContents,
        database: &Database,
    ) -> Option<()> {
        let id = quoted(read.document.id.as_str());
        let winner = read.document.tree.winner()?;
        let revision: &Revision = winner.revision;
        let deleted = if winner.content.is_deleted { ",\"deleted\":true" } else { "" };
        let rev = quoted(&revision.to_string());
        out.push_str(&format!("{{\"id\":{id},\"key\":{id},\"value\":{{\"rev\":{rev}{deleted}}}"));
        if self.include_docs {
            out.push_str(",\"doc\":");
            match winner.content.is_deleted {
                true => out.push_str("null"),
                false => self.show.push(out, read, revision, held, database)?,
            }
        }
        out.push('}');
        Some(())
    }
}

async fn attachment_contents(
    asked: &CouchRequest,
    database: &Database,
    rows: &Rows,
    read: &LoadedDocument,
) -> Result<AttachmentContents, Failure> {
    Ok(match rows.show.attachments {
        true => asked.held(&database.name, read).await?,
        false => AttachmentContents::new(),
    })
}
