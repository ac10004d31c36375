//! `GET /collections/{c}/complete`: the complete FeedSync feed (FeedSync 2.3, 4.1.1, F135).
//!
//! All items by id in one streamed document, under the window from the purge horizon to the change
//! that was the last when the reading began (R-F26, C-D3). An item that changes meanwhile may already
//! be there as it is now; whoever goes on from `until` is told of it again.

use axum::extract::State;
use axum::response::Response;

use crate::address::View;
use crate::call::Call;
use crate::document::{Document, Items};
use crate::hub::Hub;
use crate::problem::Problem;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let publication = hub.endpoint.publish(&collection.name, None).await?;
    let window = publication.window;
    match Document::prepare(&hub, &call, View::Complete, publication.collection).await? {
        Ok(document) => {
            let items = Items::Complete { after: None };
            document.answer(&hub.endpoint, items, Some(window), None).await
        }
        Err(not_modified) => Ok(not_modified),
    }
}
