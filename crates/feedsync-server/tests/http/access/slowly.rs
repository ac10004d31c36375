//! A right that ends while a body is being received no longer counts when the body is complete.

use axum::body::{Body, Bytes};
use feedsync_store::{CollectionChange, Role};
use futures_util::{StreamExt as _, stream};
use http::{Method, Response, StatusCode};
use tokio::sync::{mpsc, oneshot};
use tower::ServiceExt as _;

use super::world::{World, bearer, collection, user};
use crate::hub::request;

const FORM: &str = "application/x-www-form-urlencoded";

/// A request whose head the hub has read, and whose body it waits for.
struct Slow {
    rest: mpsc::UnboundedSender<Bytes>,
    answer: tokio::task::JoinHandle<Response<Body>>,
}

impl Slow {
    async fn begin(world: &World, method: Method, path: &str, headers: &[(&str, &str)]) -> Self {
        let (rest, mut parts) = mpsc::unbounded_channel::<Bytes>();
        let (reads, read) = oneshot::channel();
        let mut reads = Some(reads);
        let parts = stream::poll_fn(move |context| {
            if let Some(reads) = reads.take() {
                let _ = reads.send(());
            }
            parts.poll_recv(context)
        });
        let body = Body::from_stream(parts.map(Ok::<_, std::convert::Infallible>));
        let request = request(method, path, headers, body);
        let router = world.router.clone();
        let answer = tokio::spawn(async move { router.oneshot(request).await.unwrap() });
        read.await.expect("the hub reads the body");
        Self { rest, answer }
    }

    async fn end(self, body: &str) -> StatusCode {
        self.rest.send(body.to_owned().into()).unwrap();
        drop(self.rest);
        self.answer.await.unwrap().status()
    }
}

#[tokio::test]
async fn a_collection_that_was_founded_meanwhile_is_not_changed_by_who_was_to_make_it() {
    let world = World::in_memory().await;
    let nora = bearer(&world.access("nora").await);
    let owen = bearer(&world.access("owen").await);
    let json =
        |authorization| [("content-type", "application/json"), ("authorization", authorization)];
    let path = "/collections/fresh";
    let slow = Slow::begin(&world, Method::PUT, path, &json(&nora)).await;
    let founded = request(Method::PUT, path, &json(&owen), r#"{"title": "Owen's"}"#.into());
    let founded = world.router.clone().oneshot(founded).await.unwrap();
    assert_eq!(founded.status(), StatusCode::CREATED);
    let refused = slow.end(r#"{"title": "Nora's", "public": true}"#).await;
    assert_eq!(refused, StatusCode::FORBIDDEN);
    let fresh = world.endpoint.collection(&collection("fresh")).await.unwrap();
    assert_eq!(fresh.title, "Owen's");
    assert_ne!(fresh.settings.get("public").map(String::as_str), Some("true"));
}

#[tokio::test]
async fn former_owners_cannot_change_a_new_collection_of_the_same_name() {
    let world = World::in_memory().await;
    let owen = bearer(&world.access("owen").await);
    let headers = [("content-type", "application/json"), ("authorization", &*owen)];
    let slow = Slow::begin(&world, Method::PUT, "/collections/notes", &headers).await;
    world.endpoint.drop_collection(&collection("notes")).await.unwrap();
    crate::hub::create(&world.endpoint, "notes", feedsync_core::Format::Atom).await;
    let refused = slow.end(r#"{"title": "Owen's"}"#).await;
    assert_eq!(refused, StatusCode::FORBIDDEN);
    let notes = world.endpoint.collection(&collection("notes")).await.unwrap();
    assert_eq!(notes.title, "The notes & more");
}

#[tokio::test]
async fn slow_anonymous_request_is_refused_once_a_user_exists() {
    let hub = crate::hub::hub().await;
    let world = World { router: hub.router.clone(), ..World::in_memory().await };
    let headers = [("content-type", FORM)];
    let slow = Slow::begin(&world, Method::POST, "/pages/collections/notes", &headers).await;
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    // The hub caches again that there is no user, and then a user is added.
    assert_eq!(hub.get("/collections/notes").await.status(), StatusCode::OK);
    let anna = feedsync_endpoint::NewUser {
        name: user("anna"),
        password: None,
        administrator: true,
        databases_only: false,
    };
    hub.endpoint.add_user(anna).await.unwrap();
    assert_eq!(slow.end("content=late").await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn rights_revoked_during_an_upload_prevent_the_change() {
    let world = World::in_memory().await;
    let eddy = bearer(&world.access("eddy").await);
    let settings =
        [("accept".to_owned(), r#"["application/atom+xml;type=entry", "image/png"]"#.to_owned())];
    let change = CollectionChange { settings: Some(settings.into()), ..Default::default() };
    world.endpoint.change_collection(&collection("notes"), change).await.unwrap();
    let before = world.endpoint.collection(&collection("notes")).await.unwrap().last;
    let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>late</title></entry>";
    let feed = "<feed xmlns=\"http://www.w3.org/2005/Atom\"/>";
    let mut slow = Vec::new();
    for (method, path, kind, body) in [
        (Method::POST, "/collections/notes", "application/atom+xml;type=entry", entry),
        (Method::POST, "/collections/notes/changes", "application/atom+xml", feed),
        (Method::PUT, "/collections/notes/items/a", "application/atom+xml;type=entry", entry),
        (Method::PUT, "/collections/notes/items/a/media/n", "image/png", "picture"),
        (Method::POST, "/collections/notes/items/a/conflicts", "application/json", "{}"),
        (Method::POST, "/pages/collections/notes/items/a", FORM, "content=late"),
        (Method::POST, "/pages/collections/notes", FORM, "content=late"),
    ] {
        let headers = [("content-type", kind), ("authorization", &*eddy)];
        slow.push((path, Slow::begin(&world, method, path, &headers).await, body));
    }
    world.endpoint.revoke(&user("eddy"), &collection("notes")).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    for (path, slow, body) in slow {
        assert_eq!(slow.end(body).await, StatusCode::NOT_FOUND, "{path}");
    }
    let after = world.endpoint.collection(&collection("notes")).await.unwrap().last;
    assert_eq!(after, before);
    assert_eq!(
        world.endpoint.person(&user("eddy")).await.unwrap().unwrap().role(&collection("notes")),
        None::<Role>
    );
}
