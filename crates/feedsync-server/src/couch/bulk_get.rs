//! `_bulk_get`: many revisions at once, a result for each requested one, in the order of the
//! request (6.3).

use std::collections::{BTreeSet, HashMap, HashSet};

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    DatabaseName, DocumentId, Refusal, RequestedDocument, Revision, quoted, requested_documents,
};
use feedsync_endpoint::documents::leaves::{Leaves, check_size};
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_store::{Database, LoadedDocument, SelectBodies};
use http::Method;

use super::pieces::{self, Pieces};
use super::{CouchRequest, Failure, document, no_database};
use crate::access::databases::Need;

/// Number of requested documents that are read at once,
const BATCH_DOCUMENTS: usize = 1_000;

/// and the total size of their bodies in bytes, exceeded by at most one document.
const BATCH_BYTES: u64 = 16 << 20;

pub(super) async fn read(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let (permit, sent) = asked.json(body).await?;
    let database = asked.recheck(&database, Need::Use).await?;
    let says = |option: &str| -> Result<bool, Refusal> {
        Ok(asked.parameters.flag(option)? || document::says(sent.root(), option))
    };
    let (latest, attachments) = (says("latest")?, says("attachments")?);
    let show = DocumentOptions { revs: says("revs")?, attachments, ..DocumentOptions::default() };
    let of = |asked: RequestedDocument| {
        let leaves = |revision: Option<Revision>| match revision {
            Some(revision) => Leaves::Named { revisions: vec![revision], latest },
            None => Leaves::All,
        };
        let meant = asked.asked().map(|(id, revision)| (id, leaves(revision)));
        BulkGetEntry { asked, meant }
    };
    let questions = requested_documents(sent.root())?.into_iter().map(of).collect();
    // Waiting for a slot must not hold the permit for bodies.
    drop((permit, sent));
    let answers = BulkGetResults { asked: asked.clone(), database, show, questions, next: 0 };
    pieces::answer(asked, answers, String::from("{\"results\":[")).await
}

/// One requested document.
struct BulkGetEntry {
    asked: RequestedDocument,
    meant: Result<(DocumentId, Leaves), Refusal>,
}

/// Results that were not sent yet.
struct BulkGetResults {
    asked: CouchRequest,
    database: Database,
    show: DocumentOptions,
    questions: Vec<BulkGetEntry>,
    next: usize,
}

impl Pieces for BulkGetResults {
    const END: &'static str = "]}\n";

    fn database(&self) -> Option<&Database> {
        Some(&self.database)
    }

    fn may_be_large(&self) -> bool {
        true
    }

    fn is_over(&self) -> bool {
        self.next == self.questions.len()
    }

    async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        let found = self.read().await?;
        let begun = text.len();
        let questions = self.questions.iter().skip(self.next).take(BATCH_DOCUMENTS);
        for (at, BulkGetEntry { asked, meant }) in questions.enumerate() {
            let found = match meant {
                Err(_) => None,
                Ok((id, leaves)) => match found.read(id) {
                    // The next read begins with it.
                    None => return Ok(()),
                    Some(Some(document))
                        if at > 0
                            && found.requested_repeatedly.contains(id)
                            && !is_whole(document, leaves, self.max_bytes()) =>
                    {
                        return Ok(());
                    }
                    Some(found) => found,
                },
            };
            text.push_str(if self.next > 0 { "," } else { "" });
            let said = asked.id.as_deref().map_or("null".to_owned(), quoted);
            text.push_str(&format!("{{\"id\":{said},\"docs\":["));
            match meant {
                Err(refusal) => push_error(text, asked, refusal),
                Ok((_, leaves)) => {
                    push(&self.asked, &self.database, text, (asked, leaves), found, &self.show)
                        .await?;
                }
            }
            text.push_str("]}");
            self.next += 1;
            if (text.len() - begun) as u64 > BATCH_BYTES {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Documents that some requests name and that were read, each once.
#[derive(Default)]
struct ReadDocuments {
    places: HashMap<DocumentId, usize>,
    documents: Vec<Option<LoadedDocument>>,
    /// Documents that several requests name; perhaps not all of their revisions were read.
    requested_repeatedly: HashSet<DocumentId>,
}

impl ReadDocuments {
    /// Returns a document if it was read; the inner option is empty if it does not exist.
    fn read(&self, id: &DocumentId) -> Option<Option<&LoadedDocument>> {
        Some(self.documents.get(*self.places.get(id)?)?.as_ref())
    }
}

/// Whether all requested revisions were read, or they are too large for one result.
fn is_whole(found: &LoadedDocument, leaves: &Leaves, most: u64) -> bool {
    let meant = leaves.of(&found.document.tree);
    meant.iter().flatten().all(|revision| found.bodies.contains_key(revision))
        || check_size(&found.document.tree, &meant, most).is_err()
}

impl BulkGetResults {
    /// Maximum total size, in bytes, of the revisions of one document that are sent at once.
    fn max_bytes(&self) -> u64 {
        self.asked.hub.config.limits.database_body_bytes as u64
    }

    /// Reads the documents of the next requests, fewer of them if they are large.
    async fn read(&self) -> Result<ReadDocuments, Failure> {
        let mut wanted: HashMap<DocumentId, Vec<Leaves>> = HashMap::new();
        let (mut places, mut ids, mut requested_repeatedly) =
            (HashMap::new(), Vec::new(), HashSet::new());
        let questions = self.questions.iter().skip(self.next).take(BATCH_DOCUMENTS);
        for (id, leaves) in questions.flat_map(|it| &it.meant) {
            let asks = wanted.entry(id.clone()).or_default();
            if asks.is_empty() {
                places.insert(id.clone(), ids.len());
                ids.push(id.clone());
            } else {
                requested_repeatedly.insert(id.clone());
            }
            asks.push(leaves.clone());
        }
        if ids.is_empty() {
            return Ok(ReadDocuments::default());
        }
        let most = self.max_bytes();
        let choose: SelectBodies = Box::new(move |document| {
            let tree = &document.tree;
            let (mut chosen, mut left) = (BTreeSet::new(), most);
            for asks in wanted.get(&document.id).into_iter().flatten() {
                let meant = asks.of(tree);
                // A document that does not fit is read next time.
                if check_size(tree, &meant, left).is_err() {
                    break;
                }
                let length = |revision: &Revision| Some(tree.content(revision)?.body.length);
                let bytes: u64 = meant.iter().flatten().filter_map(length).sum();
                left = left.min(BATCH_BYTES).saturating_sub(bytes);
                chosen.extend(meant.into_iter().flatten());
            }
            chosen.into_iter().collect()
        });
        let CouchRequest { databases, .. } = &self.asked;
        let page = databases.documents(&self.database.name, &ids, choose, BATCH_BYTES).await?;
        match page.database.epoch == self.database.epoch {
            true => Ok(ReadDocuments { places, documents: page.documents, requested_repeatedly }),
            false => Err(no_database().into()),
        }
    }
}

async fn push(
    asked: &CouchRequest,
    database: &Database,
    text: &mut String,
    (one, asks): (&RequestedDocument, &Leaves),
    found: Option<&LoadedDocument>,
    show: &DocumentOptions,
) -> Result<(), Failure> {
    let meant = match found {
        Some(found) => asks.of(&found.document.tree),
        None => Vec::new(),
    };
    let there: Vec<&Revision> = meant.iter().flatten().collect();
    let Some(found) = found.filter(|_| !there.is_empty()) else {
        push_error(text, one, &Refusal::missing());
        return Ok(());
    };
    let most = asked.hub.config.limits.database_body_bytes as u64;
    if let Err(refusal) = check_size(&found.document.tree, &meant, most) {
        push_error(text, one, &refusal);
        return Ok(());
    }
    let held = match show.attachments {
        true => asked.held(&database.name, found).await?,
        false => AttachmentContents::new(),
    };
    for (at, revision) in there.into_iter().enumerate() {
        text.push_str(if at > 0 { ",{\"ok\":" } else { "{\"ok\":" });
        let show = show.since(&one.had, &found.document.tree, revision);
        show.push(text, found, revision, &held, database).ok_or_else(Refusal::missing)?;
        text.push('}');
    }
    Ok(())
}

fn push_error(text: &mut String, one: &RequestedDocument, refusal: &Refusal) {
    let id = one.id.as_deref().map_or("null".to_owned(), quoted);
    let revision = match (&one.id, &one.revision) {
        (None, _) => "null".to_owned(),
        (_, None) => "\"undefined\"".to_owned(),
        (_, Some(revision)) => quoted(revision),
    };
    let (error, reason) = (refusal.kind.error(), quoted(&refusal.reason));
    text.push_str(&format!(
        "{{\"error\":{{\"id\":{id},\"rev\":{revision},\"error\":\"{error}\",\"reason\":{reason}}}}}"
    ));
}
