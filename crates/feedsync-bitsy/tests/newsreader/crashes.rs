//! A gateway that is killed between any two steps: acknowledged changes arrive.

use feedsync_bitsy::newsreader::Interface;
use proptest::prelude::*;

use crate::desk::{Desk, Killed, requested};
use crate::merging::{interface, meant};
use crate::said::{Deed, readings, write, write_in};
use crate::server::Server;

/// Events of a run.
#[derive(Debug, Clone, Copy)]
enum Happening {
    Does(Deed),
    Reads(usize),
    Network(bool),
    /// The gateway is killed after this number of steps.
    Kill(usize),
    /// The server deletes its sessions.
    Expire,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => crate::merging::deed(6).prop_map(Happening::Does),
        3 => (0..9_usize).prop_map(Happening::Reads),
        2 => any::<bool>().prop_map(Happening::Network),
        3 => (0..6_usize).prop_map(Happening::Kill),
        1 => Just(Happening::Expire),
    ]
}

/// Repeats a request of a newsreader until it gets a response.
fn insist<T>(desk: &mut Desk, mut ask: impl FnMut(&mut Desk) -> Result<T, Killed>) -> T {
    loop {
        match ask(desk) {
            Ok(answer) => return answer,
            Err(Killed) => desk.restart(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]
    #[test]
    fn acknowledged_changes_arrive_after_crashes(
        interface in interface(),
        happenings in prop::collection::vec(happening(), 0..40),
    ) {
        let mut desk = Desk::new(interface, Server::new(&[(false, false); 6]));
        desk.sign_in().unwrap();
        readings(interface).iter().for_each(|said| drop(desk.ask(said).unwrap()));
        let mut mirror = desk.server.clone();
        let mut expired = 0;
        for happening in happenings {
            match happening {
                // A toggle is not idempotent.
                Happening::Does(Deed::Star(..)) if interface == Interface::Miniflux => {}
                Happening::Does(deed) => {
                    let answer = insist(&mut desk, |desk| {
                        // An account that is no longer accepted signs in again.
                        let said = |desk: &Desk| write_in(interface, deed, &desk.session);
                        let answer = desk.ask(&said(desk))?;
                        if interface.is_unknown(answer.status, &answer.body) {
                            desk.sign_in()?;
                            return desk.ask(&said(desk));
                        }
                        Ok(answer)
                    });
                    let done = interface.is_done(answer.status, &answer.body);
                    // If the server is away and no session can be renewed, the response is an error.
                    if done {
                        let shown = match interface {
                            Interface::Google => format!("GoogleLogin auth={}", mirror.session),
                            _ => mirror.basic(),
                        };
                        mirror.answer(interface, &requested(&write(interface, deed)), &shown);
                    } else {
                        prop_assert!(expired > 0, "{answer:?}");
                    }
                }
                Happening::Reads(which) => {
                    let readings = readings(interface);
                    let said = &readings[which % readings.len()];
                    insist(&mut desk, |desk| desk.ask(said));
                }
                Happening::Network(is_away) => desk.is_away = is_away,
                Happening::Kill(after) => desk.left = Some(after),
                Happening::Expire => {
                    expired += 1;
                    desk.server.session = format!("s{}", expired + 1);
                }
            }
        }
        desk.left = None;
        desk.restart();
        desk.is_away = false;
        desk.sign_in().unwrap();
        let partitions: Vec<_> = desk.disk.accounts.iter().map(|account| account.partition).collect();
        for partition in partitions {
            desk.deliver(partition).unwrap();
        }
        prop_assert_eq!(desk.disk.written.iter().filter(|written| !written.is_sent).count(), 0);
        prop_assert_eq!(&desk.server.articles, &mirror.articles);
        // Lists include changes that were sent after the lists were stored.
        desk.is_away = true;
        desk.session = "s1".to_owned();
        for said in readings(interface) {
            let shown = desk.shown();
            let answer = desk.ask(&said).unwrap();
            if interface.is_done(answer.status, &answer.body) {
                let expected = mirror.answer(interface, &requested(&said), &shown);
                prop_assert_eq!(meant(&answer), meant(&expected), "{:?}", said);
            }
        }
    }
}
