//! CouchDB's replication protocol without I/O: the decisions of a database, and its requests and responses.

mod attachment;
mod bulk;
mod canonical;
#[cfg(feature = "queries")]
mod changes;
mod destination;
mod document;
#[cfg(feature = "queries")]
mod find;
mod hexadecimal;
mod json;
mod many;
mod name;
#[cfg(feature = "queries")]
mod options;
mod query;
mod refusal;
mod resource;
mod revision;
mod security;
#[cfg(feature = "queries")]
mod sort;
mod tree;
mod user;

#[cfg(feature = "queries")]
pub mod collation;
#[cfg(feature = "queries")]
pub mod index;
pub mod mapping;
pub mod multipart;
#[cfg(feature = "queries")]
pub mod plan;
#[cfg(feature = "queries")]
pub mod replicate;
pub mod replication;
#[cfg(feature = "queries")]
pub mod selector;
#[cfg(feature = "queries")]
pub mod view;

pub use attachment::{
    ANY_TYPE, Attachment, AttachmentDigest, AttachmentForm, MAX_ATTACHMENT_NAME_BYTES,
    MAX_ATTACHMENTS, SentAttachment, SentForm,
};
pub use bulk::{RequestedDocument, bulk_documents, requested_documents, requested_revisions};
#[cfg(feature = "queries")]
pub use changes::{ChangesFeed, ChangesFilter, ChangesRequest, FunctionKind, Since};
pub use destination::Destination;
pub use document::{
    Body, DocumentWriter, Fingerprint, SpecialMembers, Submission, edited, members, push_revisions,
    signature,
};
#[cfg(feature = "queries")]
pub use find::{FindRequest, FindStatistics, Position, ReplicaOptions};
pub use hexadecimal::hexadecimal_bytes;
pub use json::{Json, MAX_DEPTH, boolean, integer, quoted, text};
pub use many::{MAX_NAMED, named};
pub use name::{DatabaseName, DocumentId, LocalId, MAX_DATABASE_NAME_BYTES, MAX_DOCUMENT_ID_BYTES};
pub use query::{Parameters, revisions, texts};
pub use refusal::{Refusal, RefusalKind};
pub use resource::Resource;
pub use revision::{MAX_GENERATION, MAX_SIGNATURE_BYTES, Revision, RevisionError, Signature};
pub use security::{DEFAULT_SECURITY, Security, security_of, without_user};
#[cfg(feature = "queries")]
pub use sort::{MAX_SORT_FIELDS, Sort, SortField};
pub use tree::{BodyRef, Content, DamagedTree, Graft, Leaf, Path, PathError, Purged, Tree};
pub use user::{
    HashedPassword, MAX_PASSWORD_ITERATIONS, MAX_USER_BYTES, PasswordDigest, USER_ID_PREFIX,
    UserDocument, UserWriter, roles_of_user, user_document_id, user_of_id,
};
