//! Decisions in a browser, which loads stored data only after a decision has failed for lack of it.

use std::cell::RefCell;
use std::collections::HashSet;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{
    Content, Context, Decision, EditRequest, Entity, Outcome, Representation, Request, Resource,
    Stored,
};
use feedsync_bitsy::location::Location;
use http::{Method, StatusCode};

use crate::desk::{Desk, EDITABLE, FEED, at, entry, feed, fields};
use crate::gateway::{Disk, Gateway};

const MEMBER: &str = "http://www.example.com/feed/entry";
const ATOM: [(&str, &str); 1] = [("content-type", "application/atom+xml")];

/// Data that a decision needs and that is not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Missing {
    Resources(Location),
    Representation(Partition, Location),
    Content(Content),
}

/// The loaded part of a disk.
struct Loaded<'d> {
    disk: &'d Disk,
    loaded: RefCell<HashSet<Missing>>,
}

impl Loaded<'_> {
    fn check(&self, data: Missing) -> Result<(), Missing> {
        if self.loaded.borrow().contains(&data) { Ok(()) } else { Err(data) }
    }
}

impl Stored for Loaded<'_> {
    type Error = Missing;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, Missing> {
        self.check(Missing::Resources(location.clone()))?;
        let Ok(resources) = self.disk.resources(location);
        Ok(resources)
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, Missing> {
        self.check(Missing::Representation(partition, location.clone()))?;
        let Ok(representation) = self.disk.representation(partition, location);
        Ok(representation)
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, Missing> {
        self.check(Missing::Content(*content))?;
        let Ok(bytes) = self.disk.content(content);
        Ok(bytes)
    }
}

/// Decides again and again, and loads what was missing in between. Returns the number of loads, too.
fn decided<R>(
    disk: &Disk,
    mut decide: impl FnMut(&Loaded<'_>) -> Result<R, Missing>,
) -> (R, usize) {
    let loaded = Loaded { disk, loaded: RefCell::default() };
    loop {
        match decide(&loaded) {
            Ok(decided) => return (decided, loaded.loaded.into_inner().len()),
            Err(missing) => {
                assert!(loaded.loaded.borrow_mut().insert(missing), "it is loaded already");
            }
        }
    }
}

#[test]
fn request_is_answered_once_its_stored_data_are_loaded() {
    let mut desk = Desk::with_member();
    desk.go_offline();
    desk.ask("PUT", MEMBER, &ATOM, &entry("mine"));
    let (location, headers) = (at(FEED), fields(&[]));
    let request = Request { method: &Method::GET, location: &location, headers: &headers };
    let Gateway { state, disk, .. } = &desk.gateway;
    let (decision, loads) = decided(disk, |stored| {
        state.responder().decide(Context { stored, random: 0, now: desk.now }, request)
    });
    assert_eq!(loads, 2, "the roles of the address, and the representation");
    let Ok(expected) = desk.gateway.decide(request, desk.now);
    assert_eq!(decision, expected);
    let Decision::Answer(reply) = decision else { panic!("{decision:?}") };
    assert_eq!(reply.status, StatusCode::OK);
}

#[test]
fn edit_is_queued_once_the_edited_resource_is_loaded() {
    let [mut desk, mut browser] = [Desk::with_member(), Desk::with_member()];
    let headers = fields(&ATOM);
    let location = at(MEMBER);
    let request = Request { method: &Method::PUT, location: &location, headers: &headers };
    for desk in [&mut desk, &mut browser] {
        desk.go_offline();
    }
    let Ok(Decision::QueueEdit(proposed)) = desk.gateway.decide(request, desk.now) else {
        panic!("the edit waits")
    };
    let body = entry("mine").into_bytes();
    let [content, _] = [&desk, &browser].map(|desk| desk.gateway.disk.hold(body.clone()));
    let entity = Some(Entity::sent(&headers, content));
    let edit = EditRequest { proposed: &proposed, headers: &headers, entity };
    let now = browser.now;
    let Gateway { state, disk, .. } = &mut browser.gateway;
    let (taken, loads) = decided(disk, |stored| {
        state.delivery().take(Context { stored, random: 7, now }, edit.clone())
    });
    assert!(loads > 0);
    let Ok(expected) = desk.gateway.take(edit, 7, desk.now);
    assert_eq!(taken, expected);
    assert_eq!(browser.gateway.state.edits().count(), 1, "it is queued once");
}

#[test]
fn round_continues_once_its_documents_are_loaded() {
    let [mut desk, mut browser] = [(); 2].map(|()| {
        let mut desk = Desk::new();
        desk.subscribe(&["edit"], &[]);
        desk
    });
    let mut steps = Vec::new();
    for (desk, is_browser) in [(&mut desk, false), (&mut browser, true)] {
        let (tasks, step) = desk.begin();
        desk.take(&step);
        let content = desk.gateway.disk.hold(feed(EDITABLE).body.into_bytes());
        let headers = feed(EDITABLE).headers;
        let outcome = Outcome::ServerResponse { status: StatusCode::OK, headers, content };
        let (id, now) = (tasks[0].id, desk.now);
        let Gateway { state, disk, .. } = &mut desk.gateway;
        let step = if is_browser {
            let (step, loads) = decided(disk, |stored| {
                state.finished(Context { stored, random: 0, now }, id, outcome.clone())
            });
            assert!(loads > 0);
            step
        } else {
            let Ok(step) = state.finished(Context { stored: disk, random: 0, now }, id, outcome);
            step
        };
        desk.take(&step);
        steps.push((step, desk.begin()));
    }
    assert_eq!(steps[0], steps[1]);
    assert_eq!(steps[0].1.0[0].location, at(MEMBER), "the member is requested next");
}
