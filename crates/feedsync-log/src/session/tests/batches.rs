//! Sizes and keys of appends (LR18, LR36, LR38).

use std::collections::BTreeSet;

use super::*;

/// A session that has read all of a log of 19 bytes.
fn in_step() -> Session {
    let mut session = resumed(of_generation("g", 19));
    answer(&mut session, status(304));
    session
}

/// Lines with these lengths.
fn lines_of(lengths: &[usize]) -> Vec<String> {
    lengths.iter().map(|length| format!("{}\n", "x".repeat(length - 1))).collect()
}

/// Number of records in the next append if lines with these lengths wait.
fn batch(session: &Session, lengths: &[usize]) -> usize {
    let (ids, lines) = (ids(lengths.len() as u64), lines_of(lengths));
    let waiting: Vec<_> =
        ids.iter().zip(&lines).map(|(id, line)| PendingRecord { id, line }).collect();
    let append = append(session, &waiting);
    assert_eq!(append.body, lines[..append.records].concat().as_bytes());
    append.records
}

#[test]
fn batch_holds_as_many_records_as_its_limit_allows_and_one_at_least() {
    let half = MAX_APPEND_BYTES / 2;
    for (lengths, records) in [
        (vec![half, half], 2),
        (vec![half, half, 1], 2),
        (vec![half, half + 1], 1),
        (vec![MAX_APPEND_BYTES + 1, 1], 1),
        (vec![1, MAX_APPEND_BYTES], 1),
        (vec![20; 100], 100),
    ] {
        assert_eq!(batch(&in_step(), &lengths), records, "{lengths:?}");
    }
}

/// After an append that is too large, half of it is tried, down to single records (LR36).
#[test]
fn batch_that_is_too_large_for_the_server_is_halved() {
    let mut session = in_step();
    for records in [8, 4, 2, 1] {
        assert_eq!(batch(&session, &[100; 8]), records);
        let (ids, lines) = (ids(8), lines_of(&[100; 8]));
        let waiting: Vec<_> =
            ids.iter().zip(&lines).map(|(id, line)| PendingRecord { id, line }).collect();
        let ask = session.next(&waiting).unwrap();
        let event = session.handle_response(&ask, status(413), 0);
        match records {
            1 => assert_eq!(event, Event::Stopped(Stop::TooLarge(ids[0].clone()))),
            _ => assert_eq!(event, Event::Nothing),
        }
    }
}

/// A server that stores keys treats other bytes as another append (LR38).
#[test]
fn key_of_an_append_differs_where_records_or_their_bytes_differ() {
    let session = in_step();
    let ids = ids(3);
    let key = |ids: &[RecordId], line: &str| {
        let waiting: Vec<_> = ids.iter().map(|id| PendingRecord { id, line }).collect();
        append(&session, &waiting).key
    };
    let keys = [
        key(&ids, ONE),
        key(&ids, TWO),
        key(&ids[..2], TWO),
        key(&ids[1..], TWO),
        key(&ids[1..2], "ab\n"),
        key(&ids[1..2], "ba\n"),
    ];
    assert_eq!(BTreeSet::from(keys.clone()).len(), keys.len(), "{keys:?}");
    assert_eq!(key(&ids, ONE), keys[0]);
    let letters: Vec<_> = ('a'..='z').map(|letter| key(&ids, &format!("{letter}\n"))).collect();
    let distinct: BTreeSet<_> = letters.iter().collect();
    assert_eq!(distinct.len(), letters.len());
}

#[test]
fn lines_for_one_append_reach_its_limit() {
    let count = |lengths: &[usize]| {
        let lines = ids(lengths.len() as u64).into_iter().zip(lines_of(lengths));
        let taken: Vec<_> = append_batch(lines.clone()).collect();
        assert_eq!(taken, lines.take(taken.len()).collect::<Vec<_>>());
        taken.len()
    };
    assert_eq!(count(&[]), 0);
    assert_eq!(count(&[20; 100]), 100);
    // The first line that exceeds the limit is the last one.
    assert_eq!(count(&[MAX_APPEND_BYTES - 1, 1, 1]), 2);
    assert_eq!(count(&[MAX_APPEND_BYTES - 1, 2, 1]), 2);
    assert_eq!(count(&[MAX_APPEND_BYTES - 2, 1, 1, 1]), 3);
    assert_eq!(count(&[MAX_APPEND_BYTES, 1]), 1);
}
