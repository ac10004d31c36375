//! All addresses of the hub, as data: their methods, and the right that each requires.
//!
//! A route needs a right for each of its methods: a request that the table does not contain is refused
//! before a handler runs (`access`). `HEAD` is `GET` without a body (AH20), and `OPTIONS` needs no
//! right. Other methods are refused with `Allow` (AH21).

use std::sync::LazyLock;

use axum::routing::{MethodRouter, get, post};
use feedsync_core::Format;
use feedsync_formats::suffix;
use http::Method;

use crate::access::{Right, Rights};
use crate::collections::{
    blobs, changes, collection, complete, conflicts, create, events, incorporate, index, listing,
    media, members, service, sse,
};
use crate::http::paths;
use crate::hub::Hub;
use crate::operations::{health, limits, metrics};
use crate::{authority, couch, logs, pages, readers, web_package};

/// One address.
pub(crate) struct Route {
    /// Its path, as axum matches it.
    pub(crate) path: String,
    /// Its handlers.
    pub(crate) methods: MethodRouter<Hub>,
    /// Right that each method requires.
    pub(crate) rights: Rights,
}

impl Route {
    /// Whether its responses are pages.
    pub(crate) fn is_for_people(&self) -> bool {
        paths::is_for_pages(&self.path)
    }
}

fn route(path: impl Into<String>, methods: MethodRouter<Hub>, rights: Rights) -> Route {
    Route { path: path.into(), methods, rights }
}

/// Database routes check rights themselves, once the database is known.
fn couch(path: &str) -> Route {
    static RIGHTS: LazyLock<Vec<(Method, Right)>> = LazyLock::new(|| {
        let known = [Method::GET, Method::POST, Method::PUT, Method::DELETE, couch::COPY.clone()];
        known.map(|method| (method, Right::Databases)).into()
    });
    let answer = couch::answer;
    route(path, get(answer).post(answer).put(answer).delete(answer), &RIGHTS)
}

/// Fever clients append different names to the address that they are configured with.
fn fever(path: &str) -> Route {
    let answer = get(readers::fever::answer).post(readers::fever::answer);
    route(path, answer, &[(Method::GET, Right::Resource), (Method::POST, Right::Resource)])
}

/// All routes.
pub(crate) fn table() -> Vec<Route> {
    use Right::{
        Account, Administer, Append, Create, Edit, Follow, Own, Public, Read, Resource, SignedIn,
    };
    let mut routes = vec![
        route("/", get(pages::home::read), &[(Method::GET, Resource)]),
        route("/collections", get(index::list), &[(Method::GET, Resource)]),
        route(
            "/collections/{collection}",
            get(listing::read)
                .post(create::create)
                .put(collection::write)
                .delete(collection::remove),
            &[
                (Method::GET, Read),
                (Method::POST, Edit),
                (Method::PUT, Create),
                (Method::DELETE, Own),
            ],
        ),
        route(
            "/collections/{collection}/settings",
            get(collection::settings),
            &[(Method::GET, Read)],
        ),
        route("/service", get(service::read), &[(Method::GET, Resource)]),
        route(
            "/collections/{collection}/categories",
            get(service::categories),
            &[(Method::GET, Read)],
        ),
        route("/collections/{collection}/events", get(events::follow), &[(Method::GET, Follow)]),
        route(
            "/collections/{collection}/items/{id}",
            get(members::read).put(members::replace).delete(members::delete),
            &[(Method::GET, Read), (Method::PUT, Edit), (Method::DELETE, Edit)],
        ),
        route(
            "/collections/{collection}/items/{id}/as/{name}",
            get(members::named),
            &[(Method::GET, Read)],
        ),
        route(
            "/collections/{collection}/items/{id}/conflicts",
            get(conflicts::read).post(conflicts::resolve),
            &[(Method::GET, Read), (Method::POST, Edit)],
        ),
        route(
            "/collections/{collection}/items/{id}/media/{name}",
            get(media::read).put(media::replace).delete(media::delete),
            &[(Method::GET, Read), (Method::PUT, Edit), (Method::DELETE, Edit)],
        ),
        route(
            "/blobs/{sha256}",
            get(blobs::read).put(blobs::write),
            &[(Method::GET, Resource), (Method::PUT, SignedIn)],
        ),
        route(
            "/logs/{collection}",
            get(logs::read).post(logs::append).put(logs::write).delete(logs::remove),
            &[
                (Method::GET, Read),
                (Method::POST, Append),
                (Method::PUT, Edit),
                (Method::DELETE, Own),
            ],
        ),
        route(
            "/logs/{collection}/snapshot",
            get(logs::snapshot::read).put(logs::snapshot::write),
            &[(Method::GET, Read), (Method::PUT, Edit)],
        ),
        route("/logs/{collection}/events", get(logs::events::follow), &[(Method::GET, Read)]),
        route(
            "/logs/{collection}/{generation}",
            get(logs::generation::read),
            &[(Method::GET, Read)],
        ),
        route("/pages/assets/{name}", get(pages::assets::read), &[(Method::GET, Public)]),
        route("/authority.crt", get(authority::read), &[(Method::GET, Public)]),
        route("/bitsy/{*path}", get(web_package::read), &[(Method::GET, Public)]),
        route("/pages/remotes", get(pages::remotes::read), &[(Method::GET, Resource)]),
        route("/pages/databases", get(pages::databases::read), &[(Method::GET, SignedIn)]),
        route(
            "/pages/dropped",
            get(pages::databases::dropped::read).post(pages::databases::dropped::change),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route("/pages/database", get(pages::databases::database::read), &[(Method::GET, SignedIn)]),
        route(
            "/pages/history",
            get(pages::databases::history::read).post(pages::databases::history::change),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/document",
            get(pages::databases::document::read).post(pages::databases::document::change),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/collections/{collection}",
            get(pages::collection::read).post(pages::collection::create),
            &[(Method::GET, Read), (Method::POST, Edit)],
        ),
        route(
            "/pages/collections/{collection}/items/{id}",
            get(pages::item::read).post(pages::change::change),
            &[(Method::GET, Read), (Method::POST, Edit)],
        ),
        route(
            "/pages/collections/{collection}/people",
            get(pages::roles::read).post(pages::roles::change),
            &[(Method::GET, Own), (Method::POST, Own)],
        ),
        route(
            "/pages/login",
            get(pages::login::read).post(pages::login::begin),
            &[(Method::GET, Resource), (Method::POST, Resource)],
        ),
        route("/pages/logout", post(pages::login::end), &[(Method::POST, Resource)]),
        route(
            "/pages/account",
            get(pages::account::read).post(pages::account::change),
            &[(Method::GET, Account), (Method::POST, Account)],
        ),
        route(
            "/pages/users",
            get(pages::users::read).post(pages::users::change),
            &[(Method::GET, Administer), (Method::POST, Administer)],
        ),
        route("/pages/limits", get(pages::limits::read), &[(Method::GET, Resource)]),
        route(
            "/pages/reading",
            get(pages::reading::subscriptions::read).post(pages::reading::subscriptions::change),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/reading/feeds/{number}",
            get(pages::reading::feed::read).post(pages::reading::feed::change),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/reading/icons/{number}",
            get(pages::reading::icon::read),
            &[(Method::GET, SignedIn)],
        ),
        route(
            "/pages/reading/articles",
            get(pages::reading::articles::read).post(pages::reading::articles::mark),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/reading/articles/{number}",
            get(pages::reading::article::read).post(pages::reading::article::mark),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/reading/articles/{number}/pictures/{name}",
            get(pages::reading::picture::read),
            &[(Method::GET, SignedIn)],
        ),
        route(
            "/pages/reading/rules",
            get(pages::reading::rules::read).post(pages::reading::rules::change),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/reading/transfer",
            get(pages::reading::transfer::read).post(pages::reading::transfer::merge_state),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/reading/export/{name}",
            get(pages::reading::export::read),
            &[(Method::GET, SignedIn)],
        ),
        route(
            "/pages/reading/offline",
            get(pages::reading::offline::read),
            &[(Method::GET, SignedIn)],
        ),
        route(
            "/pages/reading/offline/list",
            get(pages::reading::offline::list::read),
            &[(Method::GET, SignedIn)],
        ),
        route(
            "/pages/reading/offline/contents",
            get(pages::reading::offline::contents::read),
            &[(Method::GET, SignedIn)],
        ),
        route(
            "/pages/reading/offline/changes",
            post(pages::reading::offline::changes::merge),
            &[(Method::POST, SignedIn)],
        ),
        route(
            "/pages/reading-worker.js",
            get(pages::reading::offline::worker::script),
            &[(Method::GET, Public)],
        ),
        route(
            "/pages/reading.webmanifest",
            get(pages::reading::offline::worker::manifest),
            &[(Method::GET, Public)],
        ),
        route(
            "/reader/google/{*path}",
            get(readers::google::answer).post(readers::google::answer),
            &[(Method::GET, Resource), (Method::POST, Resource)],
        ),
        route(
            "/reader/miniflux/{*path}",
            get(readers::miniflux::answer)
                .post(readers::miniflux::answer)
                .put(readers::miniflux::answer)
                .delete(readers::miniflux::answer),
            &[
                (Method::GET, Resource),
                (Method::POST, Resource),
                (Method::PUT, Resource),
                (Method::DELETE, Resource),
            ],
        ),
        route(
            "/reader/nextcloud/{*path}",
            get(readers::nextcloud::answer)
                .post(readers::nextcloud::answer)
                .put(readers::nextcloud::answer)
                .delete(readers::nextcloud::answer),
            &[
                (Method::GET, Resource),
                (Method::POST, Resource),
                (Method::PUT, Resource),
                (Method::DELETE, Resource),
            ],
        ),
        fever("/reader/fever"),
        fever("/reader/fever/"),
        fever("/reader/fever/{*path}"),
        route("/reader/ttrss/{*path}", post(readers::ttrss::answer), &[(Method::POST, Resource)]),
        couch("/couch"),
        couch("/couch/"),
        couch("/couch/{*path}"),
        route("/healthz", get(health::read), &[(Method::GET, Public)]),
        route("/limits", get(limits::read), &[(Method::GET, Public)]),
        route("/metrics", get(metrics::read), &[(Method::GET, Resource)]),
    ];
    for suffix in Format::ALL.map(suffix).into_iter().chain([""]) {
        routes.push(route(
            format!("/collections/{{collection}}/changes{suffix}"),
            get(changes::read).post(incorporate::incorporate),
            &[(Method::GET, Follow), (Method::POST, Edit)],
        ));
        routes.push(route(
            format!("/collections/{{collection}}/complete{suffix}"),
            get(complete::read),
            &[(Method::GET, Follow)],
        ));
    }
    for (_, suffix) in sse::FORMATS {
        routes.push(route(
            format!("/collections/{{collection}}/sse{suffix}"),
            get(sse::partial).post(incorporate::incorporate),
            &[(Method::GET, Follow), (Method::POST, Edit)],
        ));
        routes.push(route(
            format!("/collections/{{collection}}/sse-complete{suffix}"),
            get(sse::complete),
            &[(Method::GET, Follow)],
        ));
    }
    routes
}

/// Every path of the hub with its methods, and the right that each requires.
pub fn rights() -> Vec<(String, Method, Right)> {
    let of = |route: Route| {
        let Route { path, rights, .. } = route;
        rights.iter().map(move |(method, right)| (path.clone(), method.clone(), *right))
    };
    table().into_iter().flat_map(of).collect()
}

impl Route {
    /// Value of `Allow`: methods in alphabetical order.
    pub(crate) fn allow(&self) -> String {
        let mut methods = vec!["OPTIONS"];
        for (method, _) in self.rights {
            methods.push(method.as_str());
            if method == Method::GET {
                methods.push("HEAD");
            }
        }
        methods.sort_unstable();
        methods.join(", ")
    }
}
