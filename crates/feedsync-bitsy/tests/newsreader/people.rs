//! Separation of accounts.

use feedsync_bitsy::newsreader::{Delivery, DeliveryResult, Interface, Next};

use crate::desk::{Desk, said};
use crate::said::{Deed, readings, ttrss, write};
use crate::server::Server;

/// A desk at which Anna has read all lists, and the server is away.
fn read(interface: Interface) -> Desk {
    let mut desk = Desk::new(interface, Server::new(&[(false, false); 6]));
    desk.sign_in().unwrap();
    readings(interface).iter().for_each(|said| drop(desk.ask(said).unwrap()));
    desk.is_away = true;
    desk
}

fn is_refused(desk: &Desk, answer: &feedsync_reader_api::RawResponse) -> bool {
    !desk.interface.is_done(answer.status, &answer.body)
}

#[test]
fn responses_of_one_account_are_not_shown_to_another() {
    for interface in Interface::ALL {
        let mut desk = read(interface);
        let all = readings(interface);
        let answer = desk.ask(&all[1]).unwrap();
        assert!(!is_refused(&desk, &answer), "{interface:?}");
        // Another user, another password, and no credentials.
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
        // This is Bob's state of the server, which differs from Anna's.
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
fn new_password_continues_with_the_changes_made_under_the_old_one() {
    for interface in Interface::ALL {
        let mut desk = read(interface);
        desk.ask(&write(interface, Deed::Read(1, true))).unwrap();
        let partition = desk.disk.accounts[0].partition;
        desk.server.password = "new".to_owned();
        desk.server.session = "s2".to_owned();
        desk.is_away = false;
        assert_eq!(
            desk.deliver(partition).unwrap(),
            Some(DeliveryResult::Unknown),
            "{interface:?}"
        );
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
        assert_eq!(desk.deliver(partition).unwrap(), Some(DeliveryResult::Sent));
        assert!(desk.server.articles[&1].is_read);
    }
}

/// The effect on articles that were never shown is unknown here, so the request is refused.
#[test]
fn marking_an_unknown_list_as_read_is_refused() {
    for interface in Interface::ALL {
        let mut desk = read(interface);
        let asked = match interface {
            Interface::Google => {
                ["s=feed/99", "s=user/-/label/Nowhere", "s=user/-/state/com.google/like"]
                    .map(|of| said("POST reader/api/0/mark-all-as-read", &format!("{of}&T=t")))
                    .to_vec()
            }
            Interface::Miniflux => vec![
                said("PUT v1/feeds/99/mark-all-as-read", ""),
                said("PUT v1/categories/99/mark-all-as-read", ""),
            ],
            Interface::Nextcloud => ["feeds", "folders"]
                .map(|of| format!("PUT index.php/apps/news/api/v1-2/{of}/99/read?newestItemId=9"))
                .map(|line| said(&line, "{}"))
                .to_vec(),
            Interface::TinyTinyRss => {
                [r#""feed_id":99"#, r#""feed_id":-3"#, r#""feed_id":1,"mode":"1day""#]
                    .map(|of| ttrss("s1", &format!(r#""op":"catchupFeed",{of}"#)))
                    .to_vec()
            }
        };
        for asked in asked {
            let answer = desk.ask(&asked).unwrap();
            assert!(is_refused(&desk, &answer), "{interface:?} {asked:?} {answer:?}");
        }
        assert!(desk.disk.written.is_empty());
    }
}

/// The sign-in page of a network, or an error of an intermediary, is not a response to a change.
#[test]
fn responses_of_intermediaries_leave_a_change_waiting() {
    for interface in Interface::ALL {
        let mut desk = read(interface);
        desk.ask(&write(interface, Deed::Read(1, true))).unwrap();
        let (account, change) = (&desk.disk.accounts[0], &desk.disk.written[0].change);
        let mut answers = vec![(302, ""), (500, ""), (511, "<html>"), (522, "")];
        if matches!(interface, Interface::Google | Interface::TinyTinyRss) {
            answers.extend([(200, "<html>Sign in to the network"), (200, "")]);
        }
        for (status, body) in answers {
            let mut delivery = Delivery::new(account.clone());
            delivery.begin(change.clone());
            let ended = loop {
                if let Next::DeliveryResult(ended) = delivery.answered(status, body.as_bytes()) {
                    break ended;
                }
            };
            assert_eq!(ended, DeliveryResult::Away, "{interface:?} {status} {body}");
        }
    }
}

/// A response that needs no account does not prove the credentials, so no changes are accepted with them.
#[test]
fn public_response_does_not_prove_credentials() {
    let mut desk = read(Interface::Nextcloud);
    desk.is_away = false;
    (desk.server.password, desk.server.writes) = ("wrong".to_owned(), 0);
    let eves = desk.shown();
    desk.server.password = "secret".to_owned();
    desk.ask_as(&said("GET index.php/apps/news/api", ""), &eves).unwrap();
    desk.is_away = true;
    let answer = desk.ask_as(&write(Interface::Nextcloud, Deed::Read(1, true)), &eves).unwrap();
    assert!(is_refused(&desk, &answer), "{answer:?}");
    assert_eq!((desk.disk.accounts.len(), desk.disk.written.len()), (1, 0));
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
