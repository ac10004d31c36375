//! Wire formats of FeedSync: Atom, RSS, OPML, POX and JSON, with strict reading and lossless
//! writing.
//!
//! Bytes are read to a [`feedsync_core::Feed`], and a feed is written to bytes. Parts that were not
//! edited are written unchanged. Input that cannot be read is refused with line and column.

// Some parts are used by the reader of published feeds alone.
#![cfg_attr(not(feature = "encodings"), allow(dead_code, unused_imports))]

#[cfg(feature = "addresses")]
mod addresses;
mod app;
mod atom;
mod blobs;
mod categories;
mod charset;
mod compose;
mod context;
mod control;
mod date;
mod details;
mod diagnostic;
mod document;
mod entry;
mod entry_id;
mod extension;
mod feed;
mod head;
mod html_elements;
mod html_names;
mod html_references;
mod items;
pub mod json;
mod json_feed;
mod labelled;
mod mapping;
mod markup;
mod member_feed;
mod mend;
mod moved;
mod names;
mod opml;
mod options;
mod outline_move;
mod outlines;
mod payload;
mod plain;
mod plain_links;
mod pox;
mod proxy_configuration;
#[cfg(feature = "encodings")]
mod published;
#[cfg(test)]
mod random;
mod read;
mod read_payload;
mod reading;
mod references;
mod remarks;
mod revise;
mod rss;
mod search;
mod served;
mod server_parts;
pub mod sse;
mod stale_window;
mod structure;
mod submission;
mod subscription_list;
mod sync;
mod truncate;
mod validate;
mod write;
mod xml;

#[cfg(feature = "addresses")]
pub use addresses::{Notation, WrittenAddress, with_addresses};
pub use app::{
    AppCategories, AppCollection, CATEGORIES_TYPE, SERVICE_TYPE, ServiceDocument,
    categories_document, service_document,
};
pub use blobs::{Blob, blobs, member as blobs_member, with_blob};
pub use categories::{CategoryList, read_categories};
pub use charset::charset;
#[cfg(feature = "encodings")]
pub use charset::with_charset;
pub use compose::{compose, is_iri};
pub use control::is_draft;
pub use date::to_rfc822 as http_date;
pub use details::{
    FeedDetails, HeadMarkup, HeadMarkupError, MAX_HEAD_MARKUP, MAX_HEAD_TEXT, head_line,
};
pub use diagnostic::{Diagnostic, Position, ReadError, Severity};
pub use document::Document;
pub use entry::{Category, ContentType, Entry, Link, Person, entry};
pub use entry_id::with_entry_id;
pub use extension::{attribute, extension, with_attribute, with_extension};
pub use head::{FeedHead, HeadLink};
pub use json_feed::{JSON_FEED_TYPE, JsonFeedWriter};
pub use labelled::{LabelledEntry, labelled_entries};
pub use mapping::{carry_native, item_urn, project, restore};
pub use markup::plain as plain_text;
pub use member_feed::{Member, MemberEdits, MemberFeed, MemberLink};
pub use names::{CHANGES_RELATION, MEDIA_TYPES, media_type, media_types, suffix};
pub use options::{Limits, Mode, ReadOptions};
pub use outline_move::{MoveError, move_outline, with_last_position};
pub use outlines::{Nested, OutlinePosition, nest};
pub use plain::{Plain, read_item, read_plain};
pub use plain_links::plain_links;
pub use proxy_configuration::{PROXY_TYPE, ProxyNamespace, ProxyStyle, read_proxy_configuration};
#[cfg(feature = "encodings")]
pub use published::{PollingHints, PublishedFeed, read_published};
pub use read::{detect, read};
pub use read_payload::{PayloadError, empty_payload, read_payload};
pub use reading::{Reading, Refused};
pub use revise::{ReviseError, Revision, revise};
pub use served::{MediaParts, ServerParts, media, slug, with_media_links, with_server_parts};
pub use server_parts::{without_served, without_server_parts};
pub use submission::{
    Claim, Completion, Fill, Submission, SubmissionError, Terms, complete, read_submission, terms,
};
pub use subscription_list::{ListedOutline, read_subscription_list, write_subscription_list};
pub use truncate::truncate;
pub use validate::{Contents, Validation, validate};
pub use write::{FeedWriter, entry_document};
pub use xml::{escape_attribute, escape_text};
