//! `_all_docs`: documents by id (section 5).

mod by_key;

use std::ops::Bound;

use axum::body::{Body, Bytes};
use axum::response::Response;
use feedsync_couch::{DatabaseName, Json, Refusal, Revision, quoted, text};
use feedsync_endpoint::documents::show::{Held, Show, held};
use feedsync_endpoint::documents::{leaves, sequence};
use feedsync_formats::json::Kind;
use feedsync_store::{Database, DocumentRange, Epoch, ReadDocument};
use futures_util::stream;
use http::{Method, StatusCode};

use super::rights::Need;
use super::{Asked, Failure, json};

/// So many documents are read at once, and so many bytes of what they say.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 8 << 20;

pub(super) async fn answer(
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let method = asked.method_of(&[Method::GET, Method::POST])?.clone();
    let database = asked.database(name, Need::Use).await?;
    let sent = match method {
        Method::POST => Some(asked.json(body).await?),
        _ => None,
    };
    let mut asked = asked.clone();
    if let Some((_, sent)) = &sent {
        asked.parameters = asked.parameters.with(sent.root(), "keys");
    }
    let asked = &asked;
    let rows = Rows {
        include_docs: asked.parameters.flag("include_docs")?,
        show: Show {
            attachments: asked.parameters.flag("attachments")?,
            conflicts: asked.parameters.flag("conflicts")?,
            ..Show::default()
        },
    };
    let of_query = asked.parameters.json("keys")?;
    let of_body = sent.as_ref().and_then(|(_, sent)| sent.root().member("keys"));
    let keys = of_body.map(|it| it.value).or_else(|| of_query.as_ref().map(Json::root));
    match keys {
        Some(keys) => by_key::answer(asked, database, rows, keys).await,
        None => {
            let range = range(asked)?;
            by_range(asked, database, rows, range).await
        }
    }
}

/// What a row has.
#[derive(Clone, Copy)]
struct Rows {
    include_docs: bool,
    show: Show,
}

impl Rows {
    fn choose(self) -> feedsync_store::Choose {
        if self.include_docs { leaves::winner() } else { leaves::none() }
    }

    fn push(
        self,
        out: &mut String,
        read: &ReadDocument,
        held: &Held,
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

async fn held_of(
    asked: &Asked,
    database: &Database,
    rows: &Rows,
    read: &ReadDocument,
) -> Result<Held, Failure> {
    Ok(match rows.show.attachments {
        true => held(&*asked.databases, &database.name, std::iter::once(read)).await?,
        false => Held::new(),
    })
}

/// The bounds of ids that are asked for.
fn range(asked: &Asked) -> Result<(DocumentRange, Option<u64>), Refusal> {
    // What is no text is no id, but before all or behind all of them.
    let key = |names: [&str; 2]| -> Result<Option<Result<String, Kind>>, Refusal> {
        for name in names {
            if let Some(json) = asked.parameters.json(name)? {
                let root = json.root();
                return Ok(Some(text(root).map(|key| key.into_owned()).ok_or(root.kind())));
            }
        }
        Ok(None)
    };
    let is_descending = asked.parameters.flag("descending")?;
    let is_inclusive = match asked.parameters.text("inclusive_end") {
        None => true,
        Some(_) => asked.parameters.flag("inclusive_end")?,
    };
    let only = key(["key", "key"])?;
    let start = key(["startkey", "start_key"])?.or_else(|| only.clone());
    let end = key(["endkey", "end_key"])?.or_else(|| only.clone());
    let is_before_all =
        |key: &Result<String, Kind>| matches!(key, Err(Kind::Null | Kind::Boolean | Kind::Number));
    let is_behind_all = |key: &Result<String, Kind>| matches!(key, Err(Kind::Array | Kind::Object));
    let (first, last) = if is_descending { (&end, &start) } else { (&start, &end) };
    let is_nothing = matches!(only, Some(Err(_)))
        || first.as_ref().is_some_and(is_behind_all)
        || last.as_ref().is_some_and(is_before_all);
    let bound = |key: Option<Result<String, Kind>>, is_inclusive: bool| match key {
        Some(Ok(key)) if is_inclusive => Bound::Included(key),
        Some(Ok(key)) => Bound::Excluded(key),
        _ => Bound::Unbounded,
    };
    let (start, end) = (bound(start, true), bound(end, is_inclusive));
    let (from, to) = if is_descending { (end, start) } else { (start, end) };
    let skip = asked.parameters.count("skip")?.unwrap_or(0);
    let range = DocumentRange { from, to, is_descending, live_only: true, skip, most: PAGE };
    let limit = if is_nothing { Some(0) } else { asked.parameters.count("limit")? };
    Ok((range, limit))
}

/// Rows page by page, so that all of a database passes through without being in memory.
struct Walk {
    asked: Asked,
    name: DatabaseName,
    epoch: Epoch,
    rows: Rows,
    range: DocumentRange,
    left: Option<u64>,
    is_first: bool,
    is_over: bool,
}

async fn by_range(
    asked: &Asked,
    database: Database,
    rows: Rows,
    (range, limit): (DocumentRange, Option<u64>),
) -> Result<Response, Failure> {
    let total = database.documents;
    let begin = match asked.parameters.flag("update_seq")? {
        true => {
            let sequence = quoted(&sequence::text(&database, database.last));
            format!(
                "{{\"total_rows\":{total},\"update_seq\":{sequence},\"offset\":{},\"rows\":[",
                range.skip
            )
        }
        false => format!("{{\"total_rows\":{total},\"offset\":{},\"rows\":[", range.skip),
    };
    let walk = Walk {
        asked: asked.clone(),
        epoch: database.epoch,
        name: database.name,
        rows,
        range,
        left: limit,
        is_first: true,
        is_over: false,
    };
    let rows = stream::try_unfold((walk, Some(begin)), |(mut walk, begin)| async move {
        if let Some(begin) = begin {
            return Ok(Some((Bytes::from(begin), (walk, None))));
        }
        Ok::<_, std::io::Error>(walk.next().await?.map(|bytes| (bytes, (walk, None))))
    });
    Ok(json(StatusCode::OK, Body::from_stream(rows)))
}

impl Walk {
    async fn next(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        if self.is_over {
            return Ok(None);
        }
        self.range.most = self.left.map_or(PAGE, |left| PAGE.min(left as usize));
        let mut out = String::new();
        let read = match self.range.most {
            0 => 0,
            _ => {
                let page = self
                    .asked
                    .databases
                    .documents_by_id(&self.name, self.range.clone(), self.rows.choose(), PAGE_BYTES)
                    .await
                    .map_err(broken)?;
                if page.database.epoch != self.epoch {
                    return Err(broken("the database is another one by now"));
                }
                for read in page.documents.iter().flatten() {
                    out.push_str(if self.is_first { "\n" } else { ",\n" });
                    self.is_first = false;
                    let held = held_of(&self.asked, &page.database, &self.rows, read).await;
                    let held = held.map_err(|_| broken("an attachment cannot be read"))?;
                    let pushed = self.rows.push(&mut out, read, &held, &page.database);
                    pushed.ok_or_else(|| broken("a document cannot be read"))?;
                }
                let last = page.documents.iter().flatten().last();
                if let Some(last) = last {
                    let last = Bound::Excluded(last.document.id.as_str().to_owned());
                    let bound = if self.range.is_descending {
                        &mut self.range.to
                    } else {
                        &mut self.range.from
                    };
                    *bound = last;
                    self.range.skip = 0;
                }
                page.documents.len()
            }
        };
        self.left = self.left.map(|left| left.saturating_sub(read as u64));
        if read == 0 || self.left == Some(0) {
            self.is_over = true;
            out.push_str("\n]}\n");
        }
        Ok(Some(Bytes::from(out)))
    }
}

/// What breaks a body off that was begun: nothing else can be told then.
pub(super) fn broken(reason: impl std::fmt::Display) -> std::io::Error {
    tracing::warn!(%reason, "an answer about a database breaks off");
    std::io::Error::other("the answer breaks off")
}
