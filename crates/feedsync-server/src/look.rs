//! What pages for people are made of, for other ports that have such pages: they look and behave as the
//! hub's do.

pub use crate::pages::answer::markup;
pub use crate::pages::differences::{Piece, Side, sides};

/// The style sheet.
pub const STYLE: &str = include_str!("../web/style.css");

/// The script: where a page names events in `data-follow`, parts that are marked with `data-live` are
/// shown as they are now whenever something is told there.
pub const SCRIPT: &str = include_str!("../web/script.js");
