//! Who gets what.

use feedsync_offline::newsreader::{Ended, Interface};

use crate::desk::Desk;
use crate::said::{Deed, readings, write};
use crate::server::Server;

/// A desk at which Anna has read everything, and the server is away.
fn read(interface: Interface) -> Desk {
    let mut desk = Desk::new(interface, Server::new(&[(false, false); 6]));
    desk.sign_in().unwrap();
    readings(interface).iter().for_each(|said| drop(desk.ask(said).unwrap()));
    desk.is_away = true;
    desk
}

fn is_refused(desk: &Desk, answer: &feedsync_newsreader::Answer) -> bool {
    !desk.interface.is_done(answer.status, &answer.body)
}

#[test]
fn nobody_gets_what_somebody_else_was_answered() {
    for interface in Interface::ALL {
        let mut desk = read(interface);
        let all = readings(interface);
        let answer = desk.ask(&all[1]).unwrap();
        assert!(!is_refused(&desk, &answer), "{interface:?}");
        // Somebody else signs in, another password, and no credentials at all.
        for (name, password) in [("eve", "secret"), ("anna", "wrong"), ("", "")] {
            (desk.server.name, desk.server.password) = (name.to_owned(), password.to_owned());
            if let Some(answer) = desk.sign_in().unwrap() {
                assert!(is_refused(&desk, &answer), "{interface:?} {name}: {answer:?}");
            }
            desk.session = "another".to_owned();
            let shown = desk.shown();
            let mut said = all[1].clone();
            said.body = said.body.replace("s1", "another");
            let answer = desk.ask_as(&said, &shown).unwrap();
            assert!(is_refused(&desk, &answer), "{interface:?} {name}: {answer:?}");
            let mut said = write(interface, Deed::Read(1, true));
            said.body = said.body.replace("\"s1\"", "\"another\"");
            let answer = desk.ask_as(&said, &shown).unwrap();
            assert!(is_refused(&desk, &answer), "{interface:?} {name}: {answer:?}");
        }
        assert!(desk.disk.written.is_empty(), "nobody who is unknown changes anything");
    }
}

#[test]
fn two_people_read_through_one_gateway() {
    for interface in Interface::ALL {
        let mut desk = read(interface);
        let marked = |desk: &mut Desk, session: &str| {
            let said = crate::said::write_in(interface, Deed::Read(1, true), session);
            desk.ask(&said).unwrap()
        };
        let answer = marked(&mut desk, "s1");
        assert!(!is_refused(&desk, &answer), "{interface:?} {answer:?}");
        let annas = desk.server.clone();
        // Bob's server is another one, as far as Anna is concerned.
        desk.server = Server::new(&[(true, false); 6]);
        (desk.server.name, desk.server.session) = ("bob".to_owned(), "s9".to_owned());
        desk.is_away = false;
        desk.sign_in().unwrap();
        let bobs = |said: &crate::desk::Said| {
            let mut said = said.clone();
            said.body = said.body.replace("s1", "s9");
            said
        };
        for said in readings(interface) {
            let answer = desk.ask(&bobs(&said)).unwrap();
            assert!(!is_refused(&desk, &answer), "{interface:?} {said:?} {answer:?}");
        }
        assert_eq!(desk.server.writes, 0, "Anna's changes are not Bob's");
        assert_eq!(desk.disk.accounts.len(), 2);
        desk.is_away = true;
        (desk.server, desk.session) = (annas, "s1".to_owned());
        desk.restart();
        let all = readings(interface);
        let list = desk.ask(&all[1]).unwrap();
        assert!(!is_refused(&desk, &list));
        desk.is_away = false;
        desk.ask(&all[1]).unwrap();
        assert!(desk.server.articles[&1].is_read && !desk.server.articles[&2].is_read);
    }
}

#[test]
fn who_has_another_password_goes_on_with_what_was_changed_under_the_one_before() {
    for interface in Interface::ALL {
        let mut desk = read(interface);
        desk.ask(&write(interface, Deed::Read(1, true))).unwrap();
        let partition = desk.disk.accounts[0].partition;
        desk.server.password = "new".to_owned();
        desk.server.session = "s2".to_owned();
        desk.is_away = false;
        assert_eq!(desk.deliver(partition).unwrap(), Some(Ended::Unknown), "{interface:?}");
        assert!(!desk.server.articles[&1].is_read);
        desk.sign_in().unwrap();
        let mut said = readings(interface)[1].clone();
        said.body = said.body.replace("s1", "s2");
        desk.ask(&said).unwrap();
        desk.ask(&said).unwrap();
        assert!(desk.server.articles[&1].is_read, "{interface:?}");
    }
}

#[test]
fn a_session_that_has_ended_is_renewed() {
    for interface in [Interface::Google, Interface::TinyTinyRss] {
        let mut desk = read(interface);
        desk.ask(&write(interface, Deed::Read(1, true))).unwrap();
        let partition = desk.disk.accounts[0].partition;
        desk.server.session = "s2".to_owned();
        desk.is_away = false;
        assert_eq!(desk.deliver(partition).unwrap(), Some(Ended::Sent));
        assert!(desk.server.articles[&1].is_read);
    }
}

#[test]
fn secrets_are_not_shown() {
    for interface in Interface::ALL {
        let mut desk = read(interface);
        let mut rename = write(interface, Deed::Read(1, true));
        rename.body = rename.body.replace("T=t", "T=hidden");
        desk.ask(&rename).unwrap();
        let shown = format!("{:?}", desk.disk.accounts) + &format!("{:?}", desk.disk.written);
        for secret in ["secret", "s1\"", "hidden", &desk.server.basic()[6..]] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        let text: Vec<String> = desk.disk.written.iter().map(|it| it.change.to_text()).collect();
        assert!(!text.join("").contains("hidden"), "{text:?}");
    }
}
