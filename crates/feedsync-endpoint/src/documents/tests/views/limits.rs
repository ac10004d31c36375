//! Limits of views: slow functions, many rows, and many versions of design documents.

use super::*;

#[test]
fn calls_that_exceed_limits_are_divided() {
    let (room, engine) = with(Engine { most: Some(3), ..Engine::default() });
    let views = views_of(&room);
    let documents: Vec<String> = (0..20)
        .map(|number| format!("{{\"_id\":\"{number:02}\",\"rows\":[[{number},1]]}}"))
        .collect();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    room.write(&documents, Edits::New).unwrap();
    check(&room, &views, &[0, 255]).unwrap();
    assert_eq!(engine.mapped.lock().unwrap().len(), 20);
}

/// One document cannot make a view useless.
#[test]
fn a_document_that_exceeds_limits_has_no_rows() {
    let (room, engine) = with(Engine::default());
    let views = views_of(&room);
    let document = |number: usize| match number {
        17 => format!("{{\"_id\":\"{number:03}\",\"rows\":\"endless\"}}"),
        _ => format!("{{\"_id\":\"{number:03}\",\"rows\":[[{number},1]]}}"),
    };
    let documents: Vec<String> = (0..300).map(document).collect();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    room.write(&documents, Edits::New).unwrap();
    assert_eq!(wait(views.update()).unwrap().rows, [299; 3]);
    assert_eq!(*engine.skipped.lock().unwrap(), ["_design/d 017"]);
}

/// The rows of a step are written in one transaction, so their number is bounded.
#[test]
fn documents_with_many_rows_are_stored_in_several_steps() {
    let (room, _) = with(Engine::default());
    let views = views_of(&room);
    let rows: Vec<String> = (0..300).map(|at| format!("[{at},1]")).collect();
    let (rows, text) = (rows.join(","), "x".repeat(16_000));
    let documents: Vec<String> = (0..200)
        .map(|number| format!("{{\"_id\":\"{number:03}\",\"text\":\"{text}\",\"rows\":[{rows}]}}"))
        .collect();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    room.write(&documents, Edits::New).unwrap();
    // The last document fails, and the steps before it stay.
    room.write(&[r#"{"_id":"z","rows":"fault"}"#], Edits::New).unwrap();
    wait(views.update()).unwrap_err();
    let stored = wait(views.stored()).unwrap();
    let followed = stored.reached.get();
    assert!((100..200).contains(&followed), "{followed}");
    assert_eq!(stored.rows, [followed * 300; 3]);
}

#[test]
fn an_endless_function_fails_the_update_and_keeps_the_rows() {
    let (room, _) = with(Engine::default());
    let views = views_of(&room);
    room.write(&[r#"{"_id":"a","rows":[[1,1]]}"#], Edits::New).unwrap();
    assert_eq!(wait(views.update()).unwrap().rows, [1, 1, 1]);
    let endless = ["b", "c", "d"].map(|id| format!("{{\"_id\":\"{id}\",\"rows\":\"endless\"}}"));
    let endless: Vec<&str> = endless.iter().map(String::as_str).collect();
    room.write(&endless, Edits::New).unwrap();
    let error = wait(views.update()).unwrap_err();
    assert!(
        matches!(&error, DocumentsError::Refused(refusal) if refusal.kind == RefusalKind::FunctionProcess)
    );
    assert!(error.to_string().contains("_design/d"), "{error}");
    assert_eq!(wait(views.stored()).unwrap().rows, [1, 1, 1]);
}

#[test]
fn versions_that_no_design_document_has_are_dropped_for_new_ones() {
    let (room, _) = with(Engine::default());
    let of = |number: usize| {
        let body = format!("{{\"views\":{{\"v{number}\":{{\"map\":\"rows\"}}}}}}");
        let id = "_design/d".parse().unwrap();
        room.endpoint.views(&room.name, id, Node::root(&body)).unwrap().unwrap()
    };
    room.write(&[r#"{"_id":"a","rows":[[1,1]]}"#], Edits::New).unwrap();
    let body = r#"{"_id":"_design/d","views":{"v0":{"map":"rows"}}}"#;
    room.write(&[body], Edits::New).unwrap();
    let first = wait(of(0).update()).unwrap();
    for number in 1..=feedsync_store::MAX_VIEWS + 5 {
        assert_eq!(wait(of(number).update()).unwrap().rows, [1], "{number}");
    }
    assert_eq!(wait(of(0).stored()).unwrap().id, first.id);
    // All versions are in use.
    let designs: Vec<String> = (0..=feedsync_store::MAX_VIEWS)
        .map(|number| {
            format!(
                "{{\"_id\":\"_design/e{number}\",\"views\":{{\"w{number}\":{{\"map\":\"rows\"}}}}}}"
            )
        })
        .collect();
    let designs: Vec<&str> = designs.iter().map(String::as_str).collect();
    room.write(&designs, Edits::New).unwrap();
    let used = |number: usize| {
        let body = format!("{{\"views\":{{\"w{number}\":{{\"map\":\"rows\"}}}}}}");
        room.endpoint
            .views(&room.name, "_design/e".parse().unwrap(), Node::root(&body))
            .unwrap()
            .unwrap()
    };
    let updated: Vec<_> =
        (0..=feedsync_store::MAX_VIEWS).map(|number| wait(used(number).update())).collect();
    let refused = updated.iter().filter(|it| {
        matches!(it, Err(DocumentsError::Refused(refusal)) if refusal.kind == RefusalKind::Forbidden)
    });
    assert_eq!(refused.count(), 2);
}

/// A design document whose views could never be read is refused when it is edited. A replicated one is stored.
#[test]
fn design_documents_with_invalid_views_are_refused() {
    let room = Room::new();
    let design = |at: usize, rest: &str| format!("{{\"_id\":\"_design/{at}\",{rest}}}");
    for (at, rest) in [
        r#""views":[]"#,
        r#""views":"x""#,
        r#""views":{"v":{"map":"m","reduce":"_none"}}"#,
        r#""views":{"v":{"map":"m","reduce":5}}"#,
    ]
    .into_iter()
    .enumerate()
    {
        let refused = room.write(&[&design(at, rest)], Edits::New).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::InvalidDesign, "{rest}");
        let replicated = design(at, &format!("\"_rev\":\"1-a\",{rest}"));
        assert_eq!(room.write(&[&replicated], Edits::Replicated).unwrap(), ["1-a"], "{rest}");
        let deleted = design(at, &format!("\"_rev\":\"1-a\",\"_deleted\":true,{rest}"));
        assert!(room.write(&[&deleted], Edits::New).unwrap()[0].starts_with("2-"), "{rest}");
    }
    for (at, rest) in [
        r#""views":{}"#,
        r#""language":"query","views":{"v":{"map":{"fields":{"a":"asc"}},"reduce":"_count"}}"#,
        r#""language":"erlang","views":{"v":{"map":"m"}}"#,
        r#""views":{"v":{"map":"m","reduce":null},"lib":{"x":"exports.x = 1;"}}"#,
    ]
    .into_iter()
    .enumerate()
    {
        let written = room.write(&[&design(10 + at, rest)], Edits::New).unwrap();
        assert!(written[0].starts_with("1-"), "{rest}: {written:?}");
    }
}
