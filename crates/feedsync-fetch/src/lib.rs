//! Bounded HTTP requests: one policy for every request that a program sends to another machine.
//!
//! A feed reader or a hub fetches addresses that strangers wrote. [`Fetcher`] does that without reaching the
//! local network for them, without following redirects forever, and without reading more than a [`Policy`]
//! allows:
//!
//! - `http` and `https` only; never from `https` down to `http`.
//! - Redirects are followed here and not by the HTTP library: at most [`Policy::redirects`]. Loops are
//!   reported, and credentials in an address and logins are never sent to another origin.
//! - The size of bodies, both compressed and decompressed, and all times are bounded.
//! - [`Private`] decides whether private addresses are reachable. It is checked for names when they are
//!   resolved, for addresses in URLs, and again on each redirect. Even if they are reachable, a public
//!   address that a person gave never leads to a private one, by a redirect or by a link. Networks that the
//!   operator [names](Fetcher::with_networks) count as public.
//! - Proxies of the environment are used for requests of the person who runs the program, never for those on
//!   behalf of strangers. A proxy resolves names itself, so names are checked here first (`route`).
//! - With the feature `cookies`, cookies that a redirect sets are returned to their server within the same
//!   fetch, and then dropped.
//!
//! An error names the part at fault, and shows no credentials:
//!
//! ```
//! use feedsync_fetch::{FetchError, Fetcher, Policy, Private, address};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), FetchError> {
//! let fetcher = Fetcher::new(Policy::new(Private::Refused))?;
//! let router = address("http://anna:secret@192.168.1.1/feed")?;
//! let refused = fetcher.document(router, "application/atom+xml").await.unwrap_err();
//! assert!(matches!(refused, FetchError::Private { .. }));
//! assert_eq!(refused.to_string(), "http://192.168.1.1/feed: 192.168.1.1 is not a public address");
//! # Ok(())
//! # }
//! ```
//!
//! A program that makes connections of its own checks their addresses with [`is_public`].

mod address;
mod body;
#[cfg_attr(not(feature = "cookies"), path = "no_cookies.rs")]
mod cookies;
mod error;
mod fetcher;
mod link;
mod login;
mod policy;
mod problem;
mod redirect;
mod refusal;
mod request;
mod response;
mod retry;
mod route;
mod traffic;

pub use address::{address, is_private, is_public, with_scheme};
pub use error::{FetchError, shown, shown_text, without_credentials};
pub use fetcher::{Fetched, Fetcher};
pub use login::{Login, LoginError, LoginOrigin, Logins};
pub use policy::{Policy, Private};
pub use problem::Problem;
pub use request::Request;
pub use reqwest::Url;
pub use response::{Response, Validators};
pub use retry::RetryAfter;
pub use traffic::Traffic;
