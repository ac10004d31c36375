//! The operations of one endpoint: edit, incorporate, resolve, publish, discard, purge.
//!
//! Only here do decisions and the store meet: each operation reads, asks the engine, and writes, in one
//! transaction. It does no HTTP and reads no files.

mod actor;
#[cfg(feature = "people")]
mod acts;
mod aggregated;
mod blobs;
#[cfg(feature = "databases")]
pub mod bridge;
mod collections;
mod compose;
mod database_owner;
mod discard;
#[cfg(feature = "databases")]
pub mod documents;
mod edit;
mod endpoint;
mod error;
mod feed_document;
mod import;
mod incorporate;
mod items;
mod limits;
mod logs;
mod member;
mod nearest;
mod outlines;
#[cfg(feature = "people")]
mod people;
mod policy;
mod publish;
mod purge;
mod readings;
mod reincarnate;
mod remotes;
mod retain;
mod settings;
mod signature;
mod sse;
pub mod subscriber;
mod utc_moment;

pub use actor::Actor;
pub use aggregated::{AGGREGATED, aggregated, aggregated_text};
pub use compose::{compose_dated, revise_dated};
pub use discard::SeenVersions;
pub use edit::{EditOutcome, Edited};
pub use endpoint::Endpoint;
pub use error::{EditFailure, EndpointError};
pub use feed_document::{FeedDocument, FileAuthor, FileEditError};
pub use import::{Imported, PlainItem};
pub use incorporate::{Conclusion, Counts, ItemOutcome, ItemReport, Report, Source};
pub use member::{
    BaseStatus, Compose, Guard, Member, MemberChange, MemberEdit, NewMember, Replace, base_status,
};
pub use nearest::{did_you_mean, nearest};
#[cfg(feature = "people")]
pub use people::{
    Asserted, LabelError, NewToken, NewUser, Password, PasswordError, PeopleError, Person,
    TokenSecret, label,
};
pub use policy::ConflictPolicy;
pub use publish::Publication;
pub use purge::Retention;
pub use readings::{ReadingOwner, is_name_allowed, is_reserved, reading_collection};
pub use retain::RetentionProgress;
pub use settings::{
    Categories, CategoriesError, Category, HeadText, HeadTextError, Keep, Markup, MarkupError,
    MediaRange, MediaRangeError, Partial, Period, PeriodError, SettingError, Settings, is_database,
};
pub use sse::SsePublication;
pub use utc_moment::utc_moment;
