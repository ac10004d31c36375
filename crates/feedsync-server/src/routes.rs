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

use crate::hub::Hub;
use crate::pages;
use crate::{blobs, changes, complete, events, health, index, limits, listing, metrics, offer};
use crate::{collection, service};
use crate::{conflicts, couch, create, log, media, members, newsreaders, sse};

/// Right that a method of a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// No right.
    Public,
    /// A sign-in, or a hub without users.
    SignedIn,
    /// A sign-in with all rights of the user, so not with a restricted token.
    Account,
    /// Reading the collection of the path.
    Read,
    /// Reading it with the details that its drafts hide from readers.
    Follow,
    /// Editing the collection of the path.
    Edit,
    /// Owning it.
    Own,
    /// Owning the collection of the path, or creating it if it does not exist.
    Create,
    /// Editing the collection of the path, or creating it if it does not exist.
    Append,
    /// Administering the hub.
    Administer,
    /// A decision of the resource: for a blob by the collections that name it, for a list by its visible
    /// entries.
    Resource,
}

/// Methods of a route with the right that each requires.
pub(crate) type Rights = &'static [(Method, Right)];

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
        pages::are_at(&self.path)
    }
}

fn route(path: impl Into<String>, methods: MethodRouter<Hub>, rights: Rights) -> Route {
    Route { path: path.into(), methods, rights }
}

/// Database routes check rights themselves, once the database is known.
fn couch(path: &str) -> Route {
    static RIGHTS: LazyLock<Vec<(Method, Right)>> = LazyLock::new(|| {
        let known = [Method::GET, Method::POST, Method::PUT, Method::DELETE, couch::COPY.clone()];
        known.map(|method| (method, Right::Resource)).into()
    });
    let answer = couch::answer;
    route(path, get(answer).post(answer).put(answer).delete(answer), &RIGHTS)
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
            get(log::read).post(log::append).put(log::write).delete(log::remove),
            &[
                (Method::GET, Read),
                (Method::POST, Append),
                (Method::PUT, Edit),
                (Method::DELETE, Own),
            ],
        ),
        route(
            "/logs/{collection}/snapshot",
            get(log::snapshot::read).put(log::snapshot::write),
            &[(Method::GET, Read), (Method::PUT, Edit)],
        ),
        route("/logs/{collection}/events", get(log::events::follow), &[(Method::GET, Read)]),
        route(
            "/logs/{collection}/{generation}",
            get(log::generation::read),
            &[(Method::GET, Read)],
        ),
        route("/pages/assets/{name}", get(pages::assets::read), &[(Method::GET, Public)]),
        route("/pages/remotes", get(pages::remotes::read), &[(Method::GET, Resource)]),
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
            "/pages/reading/transfer",
            get(pages::reading::transfer::read).post(pages::reading::transfer::take_in),
            &[(Method::GET, SignedIn), (Method::POST, SignedIn)],
        ),
        route(
            "/pages/reading/export/{name}",
            get(pages::reading::export::read),
            &[(Method::GET, SignedIn)],
        ),
        route(
            "/reader/google/{*path}",
            get(newsreaders::google::answer).post(newsreaders::google::answer),
            &[(Method::GET, Resource), (Method::POST, Resource)],
        ),
        route(
            "/reader/miniflux/{*path}",
            get(newsreaders::miniflux::answer)
                .post(newsreaders::miniflux::answer)
                .put(newsreaders::miniflux::answer)
                .delete(newsreaders::miniflux::answer),
            &[
                (Method::GET, Resource),
                (Method::POST, Resource),
                (Method::PUT, Resource),
                (Method::DELETE, Resource),
            ],
        ),
        route(
            "/reader/nextcloud/{*path}",
            get(newsreaders::nextcloud::answer)
                .post(newsreaders::nextcloud::answer)
                .put(newsreaders::nextcloud::answer)
                .delete(newsreaders::nextcloud::answer),
            &[
                (Method::GET, Resource),
                (Method::POST, Resource),
                (Method::PUT, Resource),
                (Method::DELETE, Resource),
            ],
        ),
        route(
            "/reader/ttrss/{*path}",
            post(newsreaders::ttrss::answer),
            &[(Method::POST, Resource)],
        ),
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
            get(changes::read).post(offer::incorporate),
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
            get(sse::partial).post(offer::incorporate),
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
