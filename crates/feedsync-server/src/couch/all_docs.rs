//! `_all_docs`: documents by id (section 5).

mod by_key;

use std::ops::Bound;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{DatabaseName, Json, Refusal, Revision, quoted, text};
use feedsync_endpoint::documents::show::{Held, Show};
use feedsync_endpoint::documents::{leaves, sequence};
use feedsync_formats::json::Kind;
use feedsync_store::{Database, DocumentRange, ReadDocument};
use http::Method;

use super::pieces::{self, Pieces};
use super::rights::Need;
use super::{Asked, Failure, no_database};

/// So many documents are read at once, and so many bytes of what they say.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 8 << 20;

pub(super) async fn answer(
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let method = asked.method_of(&[Method::GET, Method::POST])?.clone();
    let mut database = asked.database(name, Need::Use).await?;
    let sent = match method {
        Method::POST => {
            let sent = asked.json(body).await?;
            database = asked.still(&database, Need::Use).await?;
            Some(sent)
        }
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
    let keys = keys.map(|keys| by_key::read(asked, keys)).transpose()?;
    // Who waits for a place keeps nobody from sending.
    drop(sent);
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
        true => asked.held(&database.name, read).await?,
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

/// Rows of a range, as far as they were not told yet.
struct Walk {
    asked: Asked,
    database: Database,
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
    let begin = begin(asked, &database, &range.skip.to_string())?;
    let is_over = limit == Some(0);
    let walk =
        Walk { asked: asked.clone(), database, rows, range, left: limit, is_first: true, is_over };
    pieces::answer(asked, walk, begin).await
}

/// What stands before the rows.
fn begin(asked: &Asked, database: &Database, offset: &str) -> Result<String, Refusal> {
    let place = match asked.parameters.flag("update_seq")? {
        true => {
            format!("\"update_seq\":{},", quoted(&sequence::text(database, database.last)))
        }
        false => String::new(),
    };
    let total = database.documents;
    Ok(format!("{{\"total_rows\":{total},{place}\"offset\":{offset},\"rows\":["))
}

impl Pieces for Walk {
    const END: &'static str = "\n]}\n";

    fn database(&self) -> Option<&Database> {
        Some(&self.database)
    }

    fn may_be_large(&self) -> bool {
        self.rows.include_docs
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        let left = self.left.map_or(PAGE, |left| usize::try_from(left).unwrap_or(PAGE));
        self.range.most = left.min(PAGE);
        let (name, range) = (&self.database.name, self.range.clone());
        let choose = self.rows.choose();
        let page = self.asked.databases.documents_by_id(name, range, choose, PAGE_BYTES).await?;
        if page.database.epoch != self.database.epoch {
            return Err(no_database().into());
        }
        self.is_over = page.documents.is_empty();
        self.range.skip = 0;
        let begun = text.len();
        for read in page.documents.iter().flatten() {
            text.push_str(if self.is_first { "\n" } else { ",\n" });
            self.is_first = false;
            let held = held_of(&self.asked, &page.database, &self.rows, read).await?;
            let pushed = self.rows.push(text, read, &held, &page.database);
            pushed.ok_or_else(Refusal::missing)?;
            let reached = Bound::Excluded(read.document.id.as_str().to_owned());
            match self.range.is_descending {
                true => self.range.to = reached,
                false => self.range.from = reached,
            }
            self.left = self.left.map(|left| left - 1);
            self.is_over = self.left == Some(0);
            if (text.len() - begun) as u64 > PAGE_BYTES {
                return Ok(());
            }
        }
        Ok(())
    }
}
