//! The pages in a real browser, by the keyboard alone.

mod support;

use support::browser::{Browser, END, ENTER};
use support::{Hub, Place};

#[test]
fn an_item_is_made_edited_and_its_conflict_resolved_by_the_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
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
    browser.sees("The item is created.");
    let items = desk.json(&["ls", "notes"]);
    assert_eq!(items[0]["content"], "two litres of milk");
    let id = items[0]["id"].as_str().unwrap();

    // Somebody else is quicker; the page says so, and takes nothing away.
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
    browser.sees("Both are kept");
    browser.names_are_complete();
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
        browser.looks(width, scheme);
        browser.picture(&format!("conflict-{width}-{scheme}"));
        let wider = browser.ask("document.documentElement.scrollWidth - innerWidth");
        assert!(wider.as_i64().unwrap() <= 0, "{width}: {wider} too wide");
    }
    browser.looks(1280, "light");
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
    browser.sees("The conflicts are resolved.");
    assert_eq!(desk.json(&["conflicts", "notes"]).as_array().unwrap().len(), 0);
    let title = desk.json(&["ls", "notes"])[0]["title"].as_str().unwrap().to_owned();
    assert!(title.ends_with(", merged"), "{title}");

    browser.tab_to("Delete");
    browser.press(ENTER);
    browser.sees("The item is deleted.");
    browser.tab_to("Restore");
    browser.press(ENTER);
    browser.sees("The item is restored.");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn numbers_follow_changes_and_nothing_of_an_entry_runs() {
    let Some(browser) = Browser::start() else { return };
    let place = Place::new();
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
