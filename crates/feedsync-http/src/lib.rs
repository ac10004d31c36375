//! Mechanics of HTTP servers that a hub and a gateway share. Nothing here knows a resource.
//!
//! - [`Problem`] is an error as a response (RFC 9457). It names the part at fault.
//! - [`browser_policy`] sets the headers that keep browsers from running stored content.
//! - [`named_host`], [`is_loopback`] and [`is_from_other_site`] tell who sends a request, and [`is_forwarded`]
//!   whether through a proxy.
//! - [`range`](mod@range), [`conditions`] and [`listed_tags`] decide about conditions and ranges, without the feature
//!   `server`, too; [`partial_content`] refuses
//!   partial uploads.
//! - [`WriteTimeoutStream`] closes connections whose peer stopped reading.
//! - [`Cookie`] is a cookie of a session, and [`pages`] has the building blocks of HTML pages.
//! - [`LocalHubs`] lets a gateway forward requests of local programs to the hubs of the same user.
//!
//! A handler answers a range, or says why it cannot:
//!
//! ```
//! use axum::response::IntoResponse as _;
//! use feedsync_http::Problem;
//! use feedsync_http::range::{RequestedRange, Validators, requested_range, unsatisfiable};
//! use http::{HeaderMap, HeaderValue, header};
//!
//! fn read(content: &'static [u8], headers: &HeaderMap) -> Result<&'static [u8], Problem> {
//!     match requested_range(headers, Validators::default(), content.len() as u64) {
//!         RequestedRange::Whole => Ok(content),
//!         RequestedRange::Part(part) => Ok(&content[part.start as usize..part.end as usize]),
//!         RequestedRange::Nothing => Err(unsatisfiable(content.len() as u64)),
//!     }
//! }
//!
//! let mut headers = HeaderMap::new();
//! headers.insert(header::RANGE, HeaderValue::from_static("bytes=1-2"));
//! assert_eq!(read(b"notes", &headers).unwrap(), b"ot");
//! headers.insert(header::RANGE, HeaderValue::from_static("bytes=9-"));
//! let response = read(b"notes", &headers).unwrap_err().into_response();
//! assert_eq!(response.status(), 416);
//! assert_eq!(response.headers()["content-range"], "bytes */5");
//! ```

#[cfg(feature = "server")]
pub mod browser_policy;
pub mod conditions;
#[cfg(feature = "server")]
mod cookie;
mod entity_tags;
#[cfg(feature = "server")]
mod forwarded;
#[cfg(feature = "server")]
mod host;
#[cfg(feature = "server")]
mod local_hubs;
#[cfg(feature = "server")]
pub mod pages;
#[cfg(feature = "server")]
pub mod partial_content;
#[cfg(feature = "server")]
mod problem;
pub mod range;
#[cfg(feature = "server")]
pub mod request_id;
#[cfg(feature = "server")]
mod write_timeout;

#[cfg(feature = "server")]
pub use cookie::Cookie;
pub use entity_tags::{ListedTag, listed_tags};
#[cfg(feature = "server")]
pub use forwarded::is_forwarded;
#[cfg(feature = "server")]
pub use host::{is_from_other_site, is_loopback, named_host};
#[cfg(feature = "server")]
pub use local_hubs::{HubRegistration, LOCAL_PROOF, LocalHubs, LocalProof};
#[cfg(feature = "server")]
pub use problem::{Problem, ProblemDescription};
#[cfg(feature = "server")]
pub use write_timeout::WriteTimeoutStream;
