//! CouchDB's replication protocol without I/O: the decisions of a database, and its requests and responses.

mod attachment;
mod bulk;
mod canonical;
mod changes;
mod destination;
mod document;
mod find;
mod json;
mod many;
mod name;
mod query;
mod refusal;
mod resource;
mod revision;
mod security;
mod tree;

pub mod mapping;
pub mod multipart;
pub mod replication;
pub mod selector;

pub use attachment::{
    ANY_TYPE, Attachment, AttachmentDigest, AttachmentForm, MOST_ATTACHMENTS, MOST_NAME,
    SentAttachment, SentForm,
};
pub use bulk::{AskedDocument, asked_documents, asked_revisions, bulk_documents};
pub use changes::{ChangesFeed, ChangesFilter, ChangesRequest, FunctionKind, Since};
pub use destination::Destination;
pub use document::{
    Body, DocumentWriter, Fingerprint, SpecialMembers, Submission, edited, members, push_revisions,
    signature,
};
pub use find::{FindRequest, bookmark};
pub use json::{Json, MOST_DEPTH, boolean, integer, quoted, text};
pub use many::{MOST_NAMED, named};
pub use name::{DatabaseName, DocumentId, LocalId, MOST_DATABASE_NAME, MOST_DOCUMENT_ID};
pub use query::{Parameters, revisions, texts};
pub use refusal::{Refusal, RefusalKind};
pub use resource::Resource;
pub use revision::{MOST_GENERATION, MOST_SIGNATURE, Revision, RevisionError, Signature};
pub use security::without_user;
pub use tree::{BodyPlace, Content, DamagedTree, Graft, Leaf, Path, PathError, Purged, Tree};
