//! The pages in a real browser, operated by the keyboard alone.

mod support;

use std::process::Command;

use support::browser::{Browser, END, ENTER};
use support::{Hub, TestDirectory};

#[test]
fn an_item_is_made_edited_and_its_conflict_resolved_by_the_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Hub::start(&place, "desk");

    browser.go(&format!("{}/", hub.url));
    browser.names_are_complete();
    browser.tab_to("notes");
    browser.press(ENTER);
    browser.sees("0 items, 0 deleted");

    browser.tab_to("New item");
    browser.press(ENTER);
    browser.tab_to("Title");
    browser.press("Milk");
    browser.tab_to("Content");
    browser.press("two litres of milk");
    browser.tab_to("Create");
    browser.press(ENTER);
    browser.sees("The item was created.");
    let items = desk.json(&["ls", "notes"]);
    assert_eq!(items[0]["content"], "two litres of milk");
    let id = items[0]["id"].as_str().unwrap();

    // Another edit comes first; the page says so, and keeps the user's input.
    browser.tab_to("Edit");
    browser.press(ENTER);
    browser.tab_to("Title");
    browser.press(END);
    browser.press(" and bread");
    desk.ok(&["edit", "notes", id, "--title", "Oat milk"]);
    browser.sees("This item has changed.");
    assert_eq!(browser.ask("document.activeElement.value"), "Milk and bread");
    browser.tab_to("Save");
    browser.press(ENTER);
    browser.sees("Both versions were kept");
    browser.names_are_complete();
    browser.fits("conflict");
    let marked = "[...document.querySelectorAll('del, ins')].map(one => one.innerText).join('|')";
    let marked = browser.ask(marked).as_str().unwrap().to_owned();
    assert!(marked.contains("Oat milk") && marked.contains("Milk and bread"), "{marked}");
    assert_eq!(browser.ask("document.querySelectorAll('svg.graph circle').length"), 3);

    browser.go(browser.ask("location.href.split('?')[0]").as_str().unwrap());
    browser.tab_to("Write a merged version");
    browser.press(ENTER);
    browser.tab_to("Title");
    browser.press(END);
    browser.press(", merged");
    browser.tab_to("Save the merged version");
    browser.press(ENTER);
    browser.sees("The conflicts were resolved.");
    assert_eq!(desk.json(&["conflicts", "notes"]).as_array().unwrap().len(), 0);
    let title = desk.json(&["ls", "notes"])[0]["title"].as_str().unwrap().to_owned();
    assert!(title.ends_with(", merged"), "{title}");

    browser.tab_to("Delete");
    browser.press(ENTER);
    browser.sees("The item was deleted.");
    browser.tab_to("Restore");
    browser.press(ENTER);
    browser.sees("The item was restored.");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn numbers_follow_changes_and_nothing_of_an_entry_runs() {
    let Some(browser) = Browser::start() else { return };
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Hub::start(&place, "desk");
    let hostile = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:h</id>\
         <title>&lt;script&gt;document.title='stolen'&lt;/script&gt;</title>\
         <updated>2026-11-20T10:00:00Z</updated><content type=\"html\">&lt;p&gt;Harmless words\
         &lt;img src=x onerror=\"document.title='stolen'\"&gt;&lt;svg onload=\"document.title='stolen'\"&gt;\
         &lt;script&gt;document.title='stolen'&lt;/script&gt;</content></entry>";
    place.write("hostile.xml", hostile);
    let id = desk.ok(&["add", "notes", "--file", "hostile.xml"]);

    browser.go(&format!("{}/", hub.url));
    let items = "document.querySelector('[data-live=notes] [data-label=Items]').innerText";
    assert_eq!(browser.ask(items), "1");
    desk.add("Bread", "one");
    let changed = format!("{items} === '2' ? 'now' : 'later'");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while browser.ask(&changed) != "now" {
        assert!(std::time::Instant::now() < end, "the number stays: {}", browser.ask(items));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    for path in ["", &format!("/items/{}", id.trim())] {
        browser.go(&format!("{}/pages/collections/notes{path}", hub.url));
        browser.sees("Harmless words");
        browser.names_are_complete();
        for scheme in ["light", "dark"] {
            browser.looks(400, scheme);
            let wider = browser.ask("document.documentElement.scrollWidth - innerWidth");
            assert!(wider.as_i64().unwrap() <= 0, "{path}: {wider} too wide");
        }
        assert!(!browser.ask("document.title").as_str().unwrap().starts_with("stolen"));
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

const PASSWORD: &str = "correct horse";

/// Adds a user on the command line.
fn user(place: &TestDirectory, name: &str, more: &[&str]) {
    let arguments = [&["--data", "desk", "user", "add", name, "--password-stdin"], more].concat();
    let run = place.run_with(&arguments, &format!("{PASSWORD}\n"));
    assert_eq!(run.code, 0, "{run:?}");
}

/// Signs in on the sign-in page.
fn sign_in(browser: &Browser, name: &str, password: &str) {
    browser.tab_to("User name");
    browser.press(name);
    browser.tab_to("Password");
    browser.press(password);
    browser.press(ENTER);
}

#[test]
fn users_sign_in_and_are_managed_by_the_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    user(&place, "anna", &["--administrator"]);
    let log = std::fs::File::create(place.path("log")).unwrap();
    let hub = Hub::start_with(&place, "desk", |command| {
        command.env("FEEDSYNC_LOG_LEVEL", "trace").stderr(log);
    });
    let notes = format!("{}/pages/collections/notes", hub.url);

    // A request for a page leads to the sign-in page. A wrong password is refused; the right one leads back
    // to the page.
    browser.go(&notes);
    browser.sees("User name");
    sign_in(&browser, "anna", "a wrong guess");
    browser.sees("Wrong user name or password.");
    browser.tab_to("Password");
    browser.press(PASSWORD);
    browser.press(ENTER);
    browser.sees("0 items, 0 deleted");
    assert_eq!(browser.ask("location.href"), *notes);
    let session = browser.cookie("feedsync-session").unwrap();
    assert_eq!(browser.ask("document.cookie"), "", "no script reads it");

    // Adds a user and grants a role.
    browser.tab_to("Users");
    browser.press(ENTER);
    browser.tab_to("New user");
    browser.press(ENTER);
    browser.tab_to("User name: lower-case letters, digits, . _ -");
    browser.press("otto");
    browser.tab_to("Password (at least 8 characters; leave empty to allow only tokens)");
    browser.press(PASSWORD);
    browser.tab_to("Add user");
    browser.press(ENTER);
    browser.sees("The user was added.");
    browser.tab_to("Change otto");
    browser.press(ENTER);
    browser.tab_to("Make administrator (otto)");
    browser.press(ENTER);
    browser.sees("The user is now an administrator.");
    assert_eq!(desk.json(&["user", "list"])[1]["administrator"], true);
    browser.tab_to("Change otto");
    browser.press(ENTER);
    browser.tab_to("Remove administrator role from otto");
    browser.press(ENTER);
    browser.sees("The user is no longer an administrator.");
    browser.go(&notes);
    browser.tab_to("People and roles");
    browser.press(ENTER);
    browser.tab_to("User name");
    browser.press("otto");
    browser.tab_to("Role");
    browser.press("e");
    browser.tab_to("Add");
    browser.press(ENTER);
    browser.sees("The role was saved.");
    let grants = desk.json(&["collection", "grants", "notes"]);
    assert_eq!((&grants[0]["user"], &grants[0]["role"]), (&"otto".into(), &"editor".into()));

    // Creates a token, which is shown once, and revokes it.
    browser.tab_to("My account: anna");
    browser.press(ENTER);
    browser.tab_to("New token");
    browser.press(ENTER);
    browser.tab_to("Name");
    browser.press("phone");
    browser.tab_to("Create token");
    browser.press(ENTER);
    browser.sees("it is shown only once");
    browser.names_are_complete();
    browser.fits("token");
    let token = browser.ask("document.getElementById('made').value").as_str().unwrap().to_owned();
    assert!(token.starts_with("fsy_") && token.len() == 68, "{token}");
    browser.tab_to("My account: anna");
    browser.press(ENTER);
    browser.sees("phone");
    assert_eq!(
        browser.ask(&format!("document.documentElement.innerHTML.includes('{token}')")),
        false
    );
    browser.tab_to("Revoke token phone");
    browser.press(ENTER);
    browser.sees("The token or session was revoked.");
    let kinds = desk.json(&["user", "token", "list"]);
    assert!(kinds.as_array().unwrap().iter().all(|token| token["kind"] == "session"), "{kinds}");

    browser.tab_to("Sign out");
    browser.press(ENTER);
    browser.sees("Nothing here is public.");
    assert_eq!(browser.cookie("feedsync-session"), None);
    browser.go(&notes);
    sign_in(&browser, "otto", PASSWORD);
    browser.sees("0 items, 0 deleted");
    assert_eq!(
        browser.ask("document.querySelectorAll('a[href$=users], a[href$=people]').length"),
        0
    );

    // The browser logs the page that was refused, and no other error.
    let complaints = browser.complaints();
    assert!(complaints.iter().all(|one| one.contains("status of 403")), "{complaints:?}");
    drop(hub);
    let log = place.read("log");
    assert!(log.contains("/pages/login") && log.contains("anna"), "it is logged who asks: {log}");
    for secret in [PASSWORD, "a wrong guess", "correct+horse", &session, &session[4..], &token] {
        assert!(!log.contains(secret), "{secret} is logged");
    }
}

#[test]
fn every_page_fits_a_screen_and_a_phone_light_and_dark_and_names_its_controls() {
    let Some(browser) = Browser::start() else { return };
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["collection", "create", "recipes", "--title", "Recipes of the whole family"]);
    let id = desk.add("Oat milk", "Soak the oats for half an hour, then strain them.");
    for number in 0..5 {
        desk.add(&format!("Note {number}"), "Something worth remembering, at some length.");
    }
    let hub = Hub::start(&place, "desk");
    let item = format!("/pages/collections/notes/items/{id}");
    let look = |state: &str, path: &str| {
        browser.go(&format!("{}{path}", hub.url));
        let name = path.trim_matches('/').replace(['/', '?'], "-").replace(&id, "item");
        browser.fits(&format!("{state}-{name}"));
        browser.names_are_complete();
        browser.fits(&format!("{state}-{name}-unfolded"));
    };
    add_database(&hub);
    for path in ["/", "/pages/users", "/pages/collections/notes", "/pages/login"] {
        look("open", path);
    }
    user(&place, "anna", &["--administrator"]);
    user(&place, "otto", &[]);
    desk.ok(&["collection", "grant", "notes", "otto", "editor"]);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    look("nobody", "/pages/login");
    look("nobody", "/");
    browser.go(&format!("{}/pages/account", hub.url));
    sign_in(&browser, "anna", PASSWORD);
    browser.sees("My account");
    for path in [
        "/",
        "/pages/collections/notes",
        "/pages/collections/notes?q=nothing",
        &item,
        "/pages/collections/notes/people",
        "/pages/remotes",
        "/pages/databases",
        "/pages/database?name=plans",
        "/pages/document?name=plans&id=garden",
        "/pages/account",
        "/pages/users",
        "/pages/limits",
        "/pages/login",
        "/pages/none",
    ] {
        look("anna", path);
    }
}

/// Adds a database with a document that has a conflict and an attachment.
fn add_database(hub: &Hub) {
    let send = |method: &str, path: &str, body: &str| {
        let url = format!("{}/couch/{path}", hub.url);
        let json = "content-type: application/json";
        let arguments = ["-sSf", "-X", method, "-H", json, "--data", body, &url];
        let done = Command::new("curl").args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    send("PUT", "plans", "{}");
    let documents = r#"{"new_edits": false, "docs": [
        {"_id": "garden", "_revisions": {"start": 2, "ids": ["b", "0"]}, "text": "beans in the third bed"},
        {"_id": "garden", "_revisions": {"start": 2, "ids": ["a", "0"]}, "text": "peas in the third bed",
         "_attachments": {"a map of the garden.txt": {"content_type": "text/plain", "data": "aGVsbG8="}}}
    ]}"#;
    send("POST", "plans/_bulk_docs", documents);
    send(
        "PUT",
        "plans/_design/views",
        r#"{"views": {"by_text": {"map": "function (doc) { emit(doc.text); }"}}}"#,
    );
}
