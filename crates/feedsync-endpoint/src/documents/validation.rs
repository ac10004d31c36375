//! `validate_doc_update`: functions of design documents that may refuse a new revision.
//!
//! All functions of a database are asked for each new revision, except for design documents. A function gets the new
//! document, the revision on which it is based (`null` if there is none or its body is not stored), the user and the access
//! rules of the database. A document that a function refuses is refused alone. If a function cannot be executed, nothing is
//! written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync_couch::{
    DEFAULT_SECURITY, DatabaseName, DocumentId, Refusal, Revision, push_revisions, quoted,
};
use feedsync_formats::json::Node;
use feedsync_store::{
    ChangeNumber, Database, Databases, Epoch, LoadedDocument, StoreError, StoredDocument,
};

use super::designs;
use super::functions::{DesignFunctions, DesignSource};
use super::show::{AttachmentContents, DocumentOptions};
use super::{
    DocumentsError, PreparedAttachment, PreparedDocument, RevisionOrigin, StoredAttachment,
};

mod call;

use call::{ProposedUpdate, ValidationContext, validate};

/// Number of revisions that a function is asked about at once.
const CALL_DOCUMENTS: usize = 100;

/// Maximum size of the documents of one call, and of those on which they are based, in bytes. Each document that reaches
/// it is the last one.
const CALL_BYTES: usize = 4 << 20;

/// Maximum number of databases whose functions are cached.
const MAX_KNOWN: usize = 1_000;

/// The user on whose behalf documents are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Name of the user; `None` for this server and for a client without a name.
    pub name: Option<String>,
    /// Whether the user is an administrator of the server.
    pub is_administrator: bool,
    /// Roles of the user in databases, without `_admin`.
    pub roles: Vec<String>,
    /// Whether the user administers the database, and so may write design documents: their functions decide for all users.
    pub may_design: bool,
}

impl Author {
    /// This server itself.
    pub const SERVER: Self =
        Self { name: None, is_administrator: true, roles: Vec::new(), may_design: true };

    /// The user as functions of a database see it: `{"db": "notes", "name": "anna", "roles": []}`.
    pub fn context(&self, database: &DatabaseName) -> String {
        let name = self.name.as_deref().map_or_else(|| "null".into(), quoted);
        let (database, roles) = (quoted(database.as_str()), self.roles());
        format!("{{\"db\":{database},\"name\":{name},\"roles\":{roles}}}")
    }

    /// All roles of the user, as JSON: `["_admin","staff"]`.
    pub fn roles(&self) -> String {
        let administrator = self.is_administrator.then_some("_admin");
        let roles = administrator.into_iter().chain(self.roles.iter().map(String::as_str));
        format!("[{}]", roles.map(quoted).collect::<Vec<_>>().join(","))
    }
}

/// The functions of databases, and what executes them.
pub(crate) struct Validation {
    functions: Arc<dyn DesignFunctions>,
    known: Mutex<HashMap<DatabaseName, Known>>,
}

/// The functions of a database at a change number.
struct Known {
    epoch: Epoch,
    last: ChangeNumber,
    functions: Arc<[DesignSource]>,
}

impl Validation {
    pub(crate) fn new(functions: Arc<dyn DesignFunctions>) -> Self {
        Self { functions, known: Mutex::default() }
    }

    /// Returns a refusal for each document that a function refuses.
    pub(super) async fn check(
        &self,
        databases: &dyn Databases,
        (database, author): (&Database, &Author),
        documents: &[PreparedDocument],
    ) -> Result<Vec<Option<Refusal>>, DocumentsError> {
        let mut refused = vec![None; documents.len()];
        if documents.iter().all(|document| document.id.is_design()) {
            return Ok(refused);
        }
        let functions = self.functions_of(databases, database).await?;
        if functions.is_empty() {
            return Ok(refused);
        }
        let user = author.context(&database.name);
        let security = database.security.as_deref().unwrap_or(DEFAULT_SECURITY);
        let context = ValidationContext { user: &user, security };
        let asked: Vec<usize> =
            (0..documents.len()).filter(|at| !documents[*at].id.is_design()).collect();
        let mut rest = &asked[..];
        while !rest.is_empty() {
            let some: Vec<&PreparedDocument> =
                piece(rest.iter().map(|at| &documents[*at])).collect();
            let updates = proposed(databases, database, &some).await?;
            let (places, later) = rest.split_at(updates.len());
            for function in &*functions {
                let said = validate(&*self.functions, function, &updates, context).await?;
                for (at, refusal) in places.iter().zip(said) {
                    refused[*at] = refused[*at].take().or(refusal);
                }
            }
            rest = later;
        }
        Ok(refused)
    }

    /// The functions of a database. They are read again after each change of the database by others.
    async fn functions_of(
        &self,
        databases: &dyn Databases,
        database: &Database,
    ) -> Result<Arc<[DesignSource]>, StoreError> {
        let is_same = |it: &&Known| it.epoch == database.epoch && it.last == database.last;
        if let Some(known) = self.known().get(&database.name).filter(is_same) {
            return Ok(Arc::clone(&known.functions));
        }
        let functions: Arc<[_]> = read(databases, database).await?.into();
        let known =
            Known { epoch: database.epoch, last: database.last, functions: Arc::clone(&functions) };
        let mut all = self.known();
        if all.len() >= MAX_KNOWN {
            all.clear();
        }
        all.insert(database.name.clone(), known);
        Ok(functions)
    }

    /// Keeps the functions of a database after a transaction that saw it at a change number and wrote no design document.
    pub(super) fn keep(&self, seen: ChangeNumber, after: &Database) {
        if let Some(known) = self.known().get_mut(&after.name)
            && known.epoch == after.epoch
            && known.last == seen
        {
            known.last = after.last;
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<DatabaseName, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a design document has a function that validates documents.
pub fn has_validation(body: Node<'_>) -> bool {
    is_javascript(body) && body.member("validate_doc_update").is_some()
}

/// Whether the functions of a design document are in JavaScript.
pub fn is_javascript(body: Node<'_>) -> bool {
    let language = body.member("language").map(|it| it.value.raw());
    matches!(language, None | Some("\"javascript\""))
}

/// The functions in the design documents of a database.
async fn read(
    databases: &dyn Databases,
    database: &Database,
) -> Result<Vec<DesignSource>, StoreError> {
    let mut functions = Vec::new();
    designs::for_each(databases, &database.name, |id, body| {
        if has_validation(Node::root(body)) {
            functions.push(DesignSource { id, source: Arc::clone(body) });
        }
    })
    .await?;
    Ok(functions)
}

/// The first documents of a call.
fn piece<'a>(
    documents: impl Iterator<Item = &'a PreparedDocument>,
) -> impl Iterator<Item = &'a PreparedDocument> {
    let mut bytes = 0;
    documents.take(CALL_DOCUMENTS).take_while(move |document| {
        let has_room = bytes < CALL_BYTES;
        bytes += document.text.len();
        has_room
    })
}

/// The new revisions with those on which they are based. If the latter are large, they are those of the first documents,
/// at least of one.
async fn proposed(
    databases: &dyn Databases,
    database: &Database,
    documents: &[&PreparedDocument],
) -> Result<Vec<ProposedUpdate>, StoreError> {
    let ids: Vec<DocumentId> = documents.iter().map(|document| document.id.clone()).collect();
    let mut origins: HashMap<DocumentId, Vec<RevisionOrigin>> = HashMap::new();
    for document in documents {
        origins.entry(document.id.clone()).or_default().push(document.made.clone());
    }
    let choose = Box::new(move |stored: &StoredDocument| {
        let origins = origins.get(&stored.id).into_iter().flatten();
        origins.filter_map(|origin| base(origin, stored)).collect()
    });
    let page = databases.documents(&database.name, &ids, choose, CALL_BYTES as u64).await?;
    let update = |(document, stored): (&&PreparedDocument, Option<LoadedDocument>)| {
        let before = stored.and_then(|stored| {
            let revision = base(&document.made, &stored.document)?;
            let mut out = String::new();
            let show = DocumentOptions { revs: true, ..DocumentOptions::default() };
            show.push(&mut out, &stored, &revision, &AttachmentContents::new(), database)?;
            Some(out)
        });
        ProposedUpdate { document: document.to_json(), before }
    };
    Ok(documents.iter().zip(page.documents).map(update).collect())
}

/// The revision on which a document is based, or its newest ancestor whose body is stored.
fn base(origin: &RevisionOrigin, stored: &StoredDocument) -> Option<Revision> {
    let is_stored = |revision: &Revision| stored.tree.content(revision).is_some();
    match origin {
        RevisionOrigin::Here { base, .. } => base.clone().filter(is_stored),
        RevisionOrigin::Elsewhere(path) => path.revisions().skip(1).find(is_stored),
    }
}

impl PreparedDocument {
    /// The document as a function sees it.
    fn to_json(&self) -> String {
        let mut out = format!("{{\"_id\":{}", quoted(self.id.as_str()));
        let revision = match &self.made {
            RevisionOrigin::Here { base, .. } => base.clone(),
            RevisionOrigin::Elsewhere(path) => Some(path.newest()),
        };
        if let Some(revision) = &revision {
            out.push_str(&format!(",\"_rev\":{}", quoted(&revision.to_string())));
        }
        if let RevisionOrigin::Elsewhere(path) = &self.made {
            out.push_str(",\"_revisions\":");
            push_revisions(&mut out, path);
        }
        if self.is_deleted {
            out.push_str(",\"_deleted\":true");
        }
        let stubs: Vec<String> = self.attachments.iter().map(PreparedAttachment::stub).collect();
        if !stubs.is_empty() {
            out.push_str(&format!(",\"_attachments\":{{{}}}", stubs.join(",")));
        }
        for member in Node::root(&self.text).members() {
            out.push(',');
            out.push_str(member.raw());
        }
        out.push('}');
        out
    }
}

impl PreparedAttachment {
    fn stub(&self) -> String {
        let mut out = format!("{}:{{\"stub\":true", quoted(&self.name));
        if let Some(content_type) = &self.content_type {
            out.push_str(&format!(",\"content_type\":{}", quoted(content_type)));
        }
        let stored = self.stored.as_ref();
        if let Some(digest) = stored.map(|stored| &stored.digest).or(self.digest.as_ref()) {
            out.push_str(&format!(",\"digest\":{}", quoted(digest.as_str())));
        }
        if let Some(StoredAttachment { length, .. }) = stored {
            out.push_str(&format!(",\"length\":{length}"));
        }
        out.push('}');
        out
    }
}
