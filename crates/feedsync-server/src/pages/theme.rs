//! Building blocks of HTML pages, for other listeners with pages: they look and behave like the hub's.

pub use crate::pages::answer::markup;
pub use crate::pages::differences::{Piece, Side, sides};

/// The style sheet.
pub const STYLE: &str = include_str!("../../web/style.css");

/// The script. Where a page names an event stream in `data-follow`, parts with `data-live` are
/// refreshed on each event.
pub const SCRIPT: &str = include_str!("../../web/script.js");
