//! `GET /service` and `GET /collections/{c}/categories`: the collections in which AtomPub clients may
//! create members (RFC 5023 7, 8).
//!
//! One workspace contains the collections that the principal may see (AP12). It contains the categories,
//! which are also available as a separate document (AP8 to AP11).

use axum::extract::State;
use axum::response::Response;
use feedsync_endpoint::Settings;
use feedsync_formats::{
    AppCategories, AppCollection, CATEGORIES_TYPE, Category, SERVICE_TYPE, ServiceDocument,
    categories_document,
};
use feedsync_store::Collection;

use crate::access::call::Call;
use crate::access::settings;
use crate::http::address::{PublicBase, View};
use crate::http::caching::Caching;
use crate::http::catalogue::Catalogue;
use crate::http::problem::Problem;
use crate::http::text_response::conditional;
use crate::hub::Hub;

/// Path of the service document.
pub(crate) const PATH: &str = "/service";

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let begin = ServiceDocument::begin(hub.name().await?.as_ref());
    let (separator, end) = ("", ServiceDocument::END);
    Catalogue { kind: SERVICE_TYPE, begin, entry, separator, end }.answer(hub, call).await
}

fn entry(base: &PublicBase, collection: &Collection) -> Result<String, Problem> {
    let mut out = String::new();
    ServiceDocument::push(&mut out, &app_collection(base, collection, settings(collection)?));
    Ok(out)
}

pub(crate) async fn categories(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let settings = settings(&collection)?;
    let caching = Caching::of(&settings);
    let offered = settings.categories.map(categories_of).unwrap_or_default();
    conditional(&hub, &call, CATEGORIES_TYPE, caching, categories_document(&offered)).await
}

/// Description of a collection in the service document and in its own feed.
pub(crate) fn app_collection(
    base: &PublicBase,
    collection: &Collection,
    settings: Settings,
) -> AppCollection {
    AppCollection {
        href: base.url(&View::Listing.path(&collection.name, None)),
        title: collection.title.clone(),
        accept: settings.accept.into_iter().map(String::from).collect(),
        categories: settings.categories.map(categories_of),
    }
}

fn categories_of(categories: feedsync_endpoint::Categories) -> AppCategories {
    let category = |category: feedsync_endpoint::Category| {
        let feedsync_endpoint::Category { term, scheme, label } = category;
        Category { term, scheme, label }
    };
    AppCategories {
        fixed: categories.fixed,
        scheme: categories.scheme,
        list: categories.list.into_iter().map(category).collect(),
    }
}
