//! `_users`: users of databases, who register, change their document and password, and have roles.

use feedsync_server::configuration::{Switch, UserRegistration};
use feedsync_server::{Config, Limits, router};
use feedsync_store::{HISTORY_SECONDS, History};
use http::Method;
use serde_json::{Value, json};

use super::{JSON, said, send};
use crate::access::world::{World, basic, user};

const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "another battery staple";

/// A hub where these may add users; `root` and `owen` have a password.
struct Users(World);

impl Users {
    async fn added_by(couch_users: UserRegistration) -> Self {
        Self::with(Config { couch_users, ..Config::default() }).await
    }

    async fn with(config: Config) -> Self {
        let mut world = World::in_memory().await;
        for name in ["root", "owen"] {
            world.password(name, PASSWORD).await;
        }
        world.router = router(world.endpoint.clone(), config);
        Self(world)
    }

    /// Status and JSON of a request by a user with a password, or by nobody.
    async fn ask(
        &self,
        who: Option<(&str, &str)>,
        (method, path): (Method, &str),
        body: Value,
    ) -> (u16, Value) {
        let authorization = who.map(|(name, password)| basic(name, password));
        let mut headers = vec![JSON];
        headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        said(send(&self.0.router, method, path, &headers, body).await).await
    }

    async fn put(&self, who: Option<(&str, &str)>, document: Value) -> (u16, Value) {
        let path = format!("/_users/{}", document["_id"].as_str().unwrap());
        self.ask(who, (Method::PUT, &path), document).await
    }

    async fn get(&self, who: Option<(&str, &str)>, path: &str) -> (u16, Value) {
        self.ask(who, (Method::GET, path), Value::Null).await
    }

    /// The roles of a session; the status if the sign-in is refused.
    async fn roles(&self, name: &str, password: &str) -> Result<Value, u16> {
        let body = json!({"name": name, "password": password});
        match self.ask(None, (Method::POST, "/_session"), body).await {
            (200, told) => Ok(told["roles"].clone()),
            (status, _) => Err(status),
        }
    }
}

const ROOT: Option<(&str, &str)> = Some(("root", PASSWORD));
const OWEN: Option<(&str, &str)> = Some(("owen", PASSWORD));
const LENA: Option<(&str, &str)> = Some(("lena", PASSWORD));

fn document(name: &str, password: &str) -> Value {
    json!({
        "_id": format!("org.couchdb.user:{name}"), "type": "user", "name": name, "roles": [],
        "password": password
    })
}

const LENA_PATH: &str = "/_users/org.couchdb.user:lena";

#[tokio::test]
async fn a_user_registers_signs_in_and_uses_databases_alone() {
    let hub = Users::added_by(UserRegistration::Anyone).await;
    let mut lena = document("lena", PASSWORD);
    lena["motto"] = json!("slowly");
    let (status, added) = hub.put(None, lena).await;
    assert_eq!((status, &added["id"]), (201, &json!("org.couchdb.user:lena")));
    assert_eq!(hub.roles("lena", PASSWORD).await, Ok(json!([])));
    assert_eq!(hub.roles("lena", OTHER).await, Err(401));
    // The own document has all that was written but the password, and nobody else reads it.
    let expected = json!({
        "_id": "org.couchdb.user:lena", "_rev": added["rev"], "type": "user", "name": "lena", "roles": [],
        "motto": "slowly"
    });
    assert_eq!(hub.get(LENA, LENA_PATH).await, (200, expected.clone()));
    assert_eq!(hub.get(ROOT, LENA_PATH).await, (200, expected));
    assert_eq!(hub.get(OWEN, LENA_PATH).await.0, 404);
    assert_eq!(hub.get(None, LENA_PATH).await.0, 401);
    for path in ["/_users", "/_users/_all_docs", "/_users/_changes", "/_users/_local/x"] {
        assert_eq!(hub.get(LENA, path).await.0, 404, "{path}");
        assert_eq!(hub.get(None, path).await.0, 401, "{path}");
    }
    assert_eq!(hub.get(ROOT, "/_users/_all_docs").await.1["total_rows"], 1);
    assert_eq!(hub.get(ROOT, "/_all_dbs").await.1, json!(["_users"]));
    assert_eq!(hub.get(LENA, "/_all_dbs").await.1, json!([]));
    // Databases are all that such users may use, and they create none.
    for path in ["/mine", "/lena"] {
        assert_eq!(hub.ask(LENA, (Method::PUT, path), Value::Null).await.0, 401, "{path}");
    }
    let authorization = basic("lena", PASSWORD);
    for path in ["/collections/open", "/collections/notes", "/pages/account", "/"] {
        assert_eq!(hub.0.get(path, &authorization).await, 403, "{path}");
    }
    let found = hub.0.endpoint.user(&user("lena")).await.unwrap().unwrap();
    assert!(found.databases_only && !found.administrator);
}

/// Devices delete the database of their notes, and create it again.
#[tokio::test]
async fn a_user_of_databases_alone_creates_the_database_of_that_name_and_no_other() {
    let hub = Users::added_by(UserRegistration::Administrators).await;
    assert_eq!(hub.put(ROOT, document("lena", PASSWORD)).await.0, 201);
    for (method, status) in
        [(Method::PUT, 201), (Method::PUT, 412), (Method::DELETE, 200), (Method::PUT, 201)]
    {
        let (found, body) = hub.ask(LENA, (method.clone(), "/lena"), Value::Null).await;
        assert_eq!(found, status, "{method}: {body}");
    }
    let name = "lena".parse().unwrap();
    let made = hub.0.endpoint.databases().database(&name).await.unwrap().unwrap();
    assert_eq!(made.history, History::Kept { seconds: HISTORY_SECONDS });
    assert_eq!(hub.get(LENA, "/lena/_security").await.1["admins"]["names"], json!(["lena"]));
    for path in ["/lena2", "/other"] {
        assert_eq!(hub.ask(LENA, (Method::PUT, path), Value::Null).await.0, 401, "{path}");
    }
}

#[tokio::test]
async fn only_administrators_and_the_user_change_a_document() {
    let hub = Users::added_by(UserRegistration::Anyone).await;
    let (_, added) = hub.put(None, document("lena", PASSWORD)).await;
    // The name is taken, also that of a user who has no document.
    assert_eq!(hub.put(None, document("lena", OTHER)).await.0, 409);
    assert_eq!(hub.put(None, document("nora", OTHER)).await.0, 409);
    assert_eq!(hub.roles("nora", OTHER).await, Err(401));
    let revised = |document: &Value, revision: &Value| {
        let mut document = document.clone();
        document["_rev"] = revision.clone();
        document
    };
    let stolen = revised(&document("lena", OTHER), &added["rev"]);
    for other in [None, OWEN] {
        assert_eq!(hub.put(other, stolen.clone()).await.0, 403);
    }
    // A conflict changes no password, and an edit does.
    let stale = revised(&document("lena", OTHER), &json!("1-00000000000000000000000000000000"));
    assert_eq!(hub.put(LENA, stale).await.0, 409);
    assert_eq!(hub.roles("lena", PASSWORD).await, Ok(json!([])));
    let (status, changed) = hub.put(LENA, stolen).await;
    assert_eq!(status, 201);
    assert_eq!(hub.roles("lena", PASSWORD).await, Err(401), "at once");
    assert_eq!(hub.roles("lena", OTHER).await, Ok(json!([])));
    // Another node changes it.
    hub.0
        .endpoint
        .set_password(&user("lena"), feedsync_endpoint::Password::new(PASSWORD).ok())
        .await
        .unwrap();
    assert_eq!(hub.roles("lena", OTHER).await, Err(401), "no session begins with it");
    // Users give themselves no roles.
    let mut chief = revised(&document("lena", PASSWORD), &changed["rev"]);
    chief["roles"] = json!(["chiefs"]);
    chief.as_object_mut().unwrap().remove("password");
    let (status, told) = hub.put(LENA, chief.clone()).await;
    assert_eq!((status, &told["error"]), (403, &json!("forbidden")));
    assert_eq!(hub.put(None, json!({
        "_id": "org.couchdb.user:otto", "type": "user", "name": "otto", "roles": ["chiefs"], "password": PASSWORD
    })).await.0, 403);
    assert_eq!(hub.0.endpoint.user(&user("otto")).await.unwrap(), None);
    assert_eq!(hub.put(ROOT, chief).await.0, 201);
    assert_eq!(hub.roles("lena", PASSWORD).await, Ok(json!(["chiefs"])));
    // Only they delete it.
    let path = |revision: &Value| format!("{LENA_PATH}?rev={}", revision.as_str().unwrap());
    let revision = hub.get(LENA, LENA_PATH).await.1["_rev"].clone();
    for (other, status) in [(None, 401), (OWEN, 404)] {
        let asked = (Method::DELETE, &*path(&revision));
        assert_eq!(hub.ask(other, asked, Value::Null).await.0, status);
    }
    assert_eq!(hub.ask(LENA, (Method::DELETE, &path(&revision)), Value::Null).await.0, 200);
    assert_eq!(hub.roles("lena", PASSWORD).await, Err(401));
    assert_eq!(hub.0.endpoint.user(&user("lena")).await.unwrap(), None);
    // A later user of the name inherits no roles.
    assert_eq!(hub.put(None, document("lena", OTHER)).await.0, 201);
    assert_eq!(hub.roles("lena", OTHER).await, Ok(json!([])));
}

#[tokio::test]
async fn roles_open_databases() {
    let hub = Users::added_by(UserRegistration::Administrators).await;
    let mut lena = document("lena", PASSWORD);
    assert_eq!(hub.put(None, lena.clone()).await.0, 401, "only administrators add users");
    assert_eq!(hub.put(OWEN, lena.clone()).await.0, 404);
    lena["roles"] = json!(["staff"]);
    assert_eq!(hub.put(ROOT, lena).await.0, 201);
    assert_eq!(hub.ask(ROOT, (Method::PUT, "/ours"), Value::Null).await.0, 201);
    let security = async |security: Value| {
        assert_eq!(hub.ask(ROOT, (Method::PUT, "/ours/_security"), security).await.0, 200);
    };
    let access = async || {
        let (design, empty) = (json!({"views": {}}), json!({}));
        let used = hub.ask(LENA, (Method::POST, "/ours"), empty).await.0;
        let administered =
            hub.ask(LENA, (Method::PUT, "/ours/_design/new?batch=ok"), design).await.0;
        (used, administered)
    };
    security(json!({"members": {"roles": ["other"]}, "admins": {"roles": ["other"]}})).await;
    assert_eq!(access().await, (404, 404));
    security(json!({"members": {"roles": ["other", "staff"]}, "admins": {"roles": ["other"]}}))
        .await;
    assert_eq!(access().await, (201, 403));
    security(json!({"members": {"roles": ["other"]}, "admins": {"roles": ["staff"]}})).await;
    assert_eq!(access().await, (201, 202));
    // The user keeps the document of users who were added elsewhere, and gets roles by it.
    let own = json!({"_id": "org.couchdb.user:owen", "type": "user", "name": "owen", "roles": []});
    let (status, added) = hub.put(OWEN, own.clone()).await;
    assert_eq!(status, 201);
    let mut staff = own;
    (staff["roles"], staff["_rev"]) = (json!(["staff"]), added["rev"].clone());
    let (_, changed) = hub.put(ROOT, staff).await;
    assert_eq!(hub.get(OWEN, "/ours").await.0, 200);
    let path = format!("/_users/org.couchdb.user:owen?rev={}", changed["rev"].as_str().unwrap());
    assert_eq!(hub.ask(ROOT, (Method::DELETE, &path), Value::Null).await.0, 200);
    assert_eq!(
        hub.roles("owen", PASSWORD).await,
        Ok(json!([])),
        "the account stays, without roles"
    );
}

/// The example of CouchDB's documentation, whose password is "apple".
#[tokio::test]
async fn users_of_a_couchdb_keep_their_passwords() {
    let hub = Users::added_by(UserRegistration::Anyone).await;
    let jan = json!({
        "_id": "org.couchdb.user:jan", "type": "user", "name": "jan", "roles": ["editor"],
        "password_scheme": "pbkdf2", "iterations": 10, "salt": "1112283cf988a34f124200a050d308a1",
        "derived_key": "e579375db0e0c6a6fc79cd9e36a36859f71575c3"
    });
    for writer in [None, Some(("jan", "apple"))] {
        let (status, told) = hub.put(writer, jan.clone()).await;
        assert!([401, 403].contains(&status), "only administrators take it over: {told}");
    }
    let bulk = json!({ "docs": [jan] });
    let (_, told) = hub.ask(ROOT, (Method::POST, "/_users/_bulk_docs"), bulk).await;
    assert_eq!(told[0]["ok"], true, "{told}");
    let stored = || async { hub.0.endpoint.user(&user("jan")).await.unwrap().unwrap().password };
    let taken = stored().await.unwrap();
    assert!(taken.starts_with("$couchdb-pbkdf2$sha$10$"), "{taken}");
    assert_eq!(hub.roles("jan", "apples").await, Err(401));
    assert_eq!(stored().await.as_ref(), Some(&taken));
    assert_eq!(hub.roles("jan", "apple").await, Ok(json!(["editor"])));
    let stronger = stored().await.unwrap();
    assert!(stronger.starts_with("$argon2id$"), "{stronger}");
    assert_eq!(hub.roles("jan", "apple").await, Ok(json!(["editor"])));
    assert_eq!(hub.roles("jan", "apples").await, Err(401));
    let (_, shown) = hub.get(ROOT, "/_users/org.couchdb.user:jan").await;
    assert!(shown.get("derived_key").or(shown.get("salt")).is_none(), "{shown}");
}

#[tokio::test]
async fn documents_that_are_not_users_are_refused() {
    let hub = Users::added_by(UserRegistration::Anyone).await;
    let with = |name: &str, value: Value| {
        let mut document = document("lena", PASSWORD);
        document[name] = value;
        document
    };
    for (refused, status) in [
        (with("password", json!("short")), 400),
        (with("password", Value::Null), 400),
        (with("password", json!(7)), 403),
        (with("name", json!("otto")), 403),
        (with("type", json!("note")), 403),
        (with("roles", json!("staff")), 403),
        (with("roles", json!(["_admin"])), 403),
        (with("derived_key", json!("00")), 403),
        (with("_id", json!("org.couchdb.user:Lena")), 403),
        (with("_attachments", json!({"a": {"data": "QQ=="}})), 403),
        (with("large", json!("x".repeat(70_000))), 403),
        (with("large", json!("x".repeat(200_000))), 413),
    ] {
        let (found, told) = hub.put(None, refused.clone()).await;
        assert_eq!(found, status, "{told}");
        assert!(told["reason"].is_string(), "{told}");
    }
    let copies = json!({"new_edits": false, "docs": [{
        "_id": "org.couchdb.user:lena", "_rev": "1-00000000000000000000000000000001", "type": "user",
        "name": "lena", "roles": ["chiefs"]
    }]});
    let (_, told) = hub.ask(ROOT, (Method::POST, "/_users/_bulk_docs"), copies).await;
    assert_eq!(told[0]["error"], "forbidden", "{told}");
    let anywhere = json!({"_id": "note", "type": "user", "name": "note", "roles": []});
    assert_eq!(hub.put(ROOT, anywhere).await.0, 403);
    assert_eq!(hub.0.endpoint.user(&user("lena")).await.unwrap(), None);
    assert_eq!(hub.get(ROOT, "/_users").await.1["doc_count"], 0);
    // The database itself belongs to the hub.
    for (method, path, status) in [
        (Method::PUT, "/_users", 412),
        (Method::DELETE, "/_users", 403),
        (Method::PUT, "/_users/_security", 403),
        (Method::PUT, "/_node/_local/_config/admins/lena", 403),
        (Method::DELETE, "/_node/_local/_config/admins/root", 403),
    ] {
        let (found, told) = hub.ask(ROOT, (method.clone(), path), json!({})).await;
        assert_eq!(found, status, "{method} {path}: {told}");
    }
    let many = json!({"docs": [document("lena", PASSWORD), document("nora", PASSWORD)]});
    let (_, told) = hub.ask(ROOT, (Method::POST, "/_users/_bulk_docs"), many).await;
    assert!(told[0]["ok"] == true && told[1]["ok"] == true, "{told}");
    assert_eq!(hub.roles("nora", PASSWORD).await, Ok(json!([])));
}

#[tokio::test]
async fn registration_has_a_limit_and_can_be_switched_off() {
    let limits = Limits { registered_users: 3, ..Limits::default() };
    let couch_users = UserRegistration::Anyone;
    let hub = Users::with(Config { couch_users, limits, ..Config::default() }).await;
    // One such user is there already.
    for (name, status) in [("lena", 201), ("otto", 201), ("paul", 507)] {
        let (found, told) = hub.put(None, document(name, PASSWORD)).await;
        assert_eq!(found, status, "{name}: {told}");
    }
    let hub = Users::added_by(UserRegistration::Off).await;
    let (status, told) = hub.put(ROOT, document("lena", PASSWORD)).await;
    assert_eq!((status, &told["error"]), (501, &json!("not_implemented")));
    assert!(told["reason"].as_str().unwrap().contains("couch_users"), "{told}");
    assert_eq!(hub.get(ROOT, "/_all_dbs").await.1, json!([]));
}

#[tokio::test]
async fn each_user_has_a_database() {
    let on = Config {
        couch_users: UserRegistration::Anyone,
        couch_user_databases: Switch::On,
        ..Config::default()
    };
    let hub = Users::with(on).await;
    assert_eq!(hub.put(None, document("lena", PASSWORD)).await.0, 201);
    let (own, missing) = ("/userdb-6c656e61", "/userdb-6c656e6162");
    for other in [OWEN, None] {
        let status = if other.is_none() { 401 } else { 404 };
        assert_eq!(hub.get(other, own).await.0, status);
    }
    // Others cannot take the name.
    assert_eq!(hub.ask(OWEN, (Method::PUT, own), Value::Null).await.0, 412);
    assert_eq!(hub.ask(LENA, (Method::PUT, &format!("{own}/a")), json!({})).await.0, 201);
    assert_eq!(hub.get(LENA, own).await.1["doc_count"], 1);
    assert_eq!(hub.get(LENA, "/_all_dbs").await.1, json!(["userdb-6c656e61"]));
    assert_eq!(hub.get(OWEN, own).await.0, 404);
    assert_eq!(hub.get(ROOT, missing).await.0, 404);
    // An administrator can be first; the database belongs to its user.
    assert_eq!(hub.get(ROOT, "/userdb-6f77656e").await.0, 200);
    assert_eq!(hub.ask(OWEN, (Method::PUT, "/userdb-6f77656e/a"), json!({})).await.0, 201);
    let hub = Users::added_by(UserRegistration::Anyone).await;
    assert_eq!(hub.put(None, document("lena", PASSWORD)).await.0, 201);
    assert_eq!(hub.get(LENA, own).await.0, 404, "without the setting there is none");
}

/// A user who is removed otherwise leaves no document, so that a later user of the name has no roles of theirs.
#[tokio::test]
async fn a_removed_user_leaves_no_roles() {
    let hub = Users::added_by(UserRegistration::Anyone).await;
    let mut lena = document("lena", PASSWORD);
    lena["roles"] = json!(["staff"]);
    assert_eq!(hub.put(ROOT, lena).await.0, 201);
    hub.0.endpoint.remove_user(&user("lena")).await.unwrap();
    assert_eq!(hub.get(ROOT, LENA_PATH).await.1["reason"], "deleted");
    assert_eq!(hub.put(None, document("lena", PASSWORD)).await.0, 201);
    assert_eq!(hub.roles("lena", PASSWORD).await, Ok(json!([])));
}
