//! FeedSync for JavaScript: edits, merges and resolutions of items as a function of texts.
//!
//! An item is the text of one FeedSync JSON object, in which a script stores it. A request is a JSON object with a member
//! `op`, the stored item, and everything that a decision needs: the time, the authoring line, a random name, and the
//! sequences that were issued. The response is a JSON object, too: the changed item, or an `error` with a `message`.
//! Nothing here reads a clock, a store or the network.

mod batch;
#[cfg(target_arch = "wasm32")]
mod binding;
mod edit;
mod failure;
mod incorporate;
mod item;
mod request;

pub use batch::Batch;
pub use failure::Failure;

use request::Request;

/// Carries out a request, and returns its response.
pub fn run(text: &str) -> String {
    decide(text).unwrap_or_else(|failure| failure.response())
}

/// Incorporates the items of a FeedSync JSON document into stored items. `request` has the stored items with the ids in
/// the document.
pub fn incorporate(request: &str, document: &str) -> String {
    let incorporated =
        Request::parse(request).and_then(|request| incorporate::incorporate(&request, document));
    incorporated.unwrap_or_else(|failure| failure.response())
}

fn decide(text: &str) -> Result<String, Failure> {
    let request = Request::parse(text)?;
    match &*request.text("op")? {
        "create" => edit::create(&request),
        "edit" => edit::edit(&request),
        "resolve" => edit::resolve(&request),
        "reissue" => incorporate::reissue(&request),
        other => Err(Failure::Request(format!("the operation {other:?} is unknown"))),
    }
}
