//! Encodings other than UTF-8, UTF-16, ISO-8859-1 and US-ASCII.
//!
//! With the feature `encodings` they come from `encoding_rs`. With `browser` the browser decodes them, and it encodes
//! none: a document gets references instead. Without both features there are none.

#[cfg(all(feature = "browser", not(feature = "encodings")))]
mod browser;
#[cfg(all(feature = "browser", not(feature = "encodings")))]
pub(crate) use browser::Legacy;

#[cfg(feature = "encodings")]
mod tables;
#[cfg(feature = "encodings")]
pub(crate) use tables::Legacy;

#[cfg(not(any(feature = "browser", feature = "encodings")))]
mod none;
#[cfg(not(any(feature = "browser", feature = "encodings")))]
pub(crate) use none::Legacy;
