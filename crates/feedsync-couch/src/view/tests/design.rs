use feedsync_formats::json::Node;

use crate::refusal::{Refusal, RefusalKind};
use crate::view::{Builtin, DesignViews, Reduction};

fn read(body: &str) -> Result<DesignViews, Refusal> {
    DesignViews::read(Node::root(body))
}

#[test]
fn views_are_in_the_order_of_the_engine() {
    let body = r#"{"views": {
        "\uffee": {"map": "a"}, "\ud83d\ude00": {"map": "b", "reduce": "_sum"}, "lib": {"map": "c"},
        "z": {"reduce": "_count"}, "Z": {"map": "d", "reduce": "function () {}"}, "n": null, "t": "map",
        "a": {"map": 1, "reduce": null}, "b": {"map": "e", "reduce": "_stats"}, "b": {"map": "f"}
    }}"#;
    let views = read(body).unwrap().views;
    let names: Vec<_> = views.iter().map(|view| (&*view.name, view.reduction)).collect();
    let sum = Some(Reduction::Builtin(Builtin::Sum));
    assert_eq!(
        names,
        [
            ("Z", Some(Reduction::Function)),
            ("a", None),
            ("b", None),
            ("\u{1f600}", sum),
            ("\u{ffee}", None),
        ]
    );
}

#[test]
fn views_are_found_by_name() {
    let design = read(r#"{"views":{"b":{"map":"x"},"a":{"map":"x"}}}"#).unwrap();
    assert_eq!(design.find("b").unwrap().0, 1);
    let refused = design.find("lib").unwrap_err();
    assert_eq!((refused.kind, &*refused.reason), (RefusalKind::NotFound, "missing_named_view"));
}

#[test]
fn designs_without_functions_in_javascript_have_no_views_or_are_refused() {
    let body = r#"{"language":"query","views":{"a":{"map":{"fields":{}}, "reduce": "_x"}}}"#;
    assert_eq!(read(body).unwrap().views, []);
    assert_eq!(read("{}").unwrap().views, []);
    for (body, kind) in [
        (r#"{"language":"erlang","views":{}}"#, RefusalKind::NotImplemented),
        (r#"{"options":{"collation":"raw"},"views":{}}"#, RefusalKind::NotImplemented),
        (r#"{"views":[]}"#, RefusalKind::InvalidDesign),
        (r#"{"views":{"a":{"map":"x","reduce":"_unknown"}}}"#, RefusalKind::InvalidDesign),
        (r#"{"views":{"a":{"map":"x","reduce":1}}}"#, RefusalKind::InvalidDesign),
        (r#"{"views":{"\ud800":{"map":"x"}}}"#, RefusalKind::InvalidDesign),
    ] {
        assert_eq!(read(body).unwrap_err().kind, kind, "{body}");
    }
    let refused = read(r#"{"views":{"a":{"map":"x","reduce":"_unknown"}}}"#).unwrap_err();
    assert_eq!(refused.reason, "`_unknown` is not a supported reduce function.");
}

#[test]
fn options_and_members_that_determine_rows_are_in_the_signature() {
    let base = read(r#"{"views":{"a":{"map":"x"}}}"#).unwrap();
    assert!(!base.include_design && !base.local_seq);
    for other in [
        r#"{"views":{"a":{"map":"y"}}}"#,
        r#"{"views":{"a":{"map":"x","reduce":"_sum"}}}"#,
        r#"{"views":{"a":{"map":"x"},"lib":{"m":"exports.x = 1"}}}"#,
        r#"{"views":{"a":{"map":"x"}},"options":{"include_design":true}}"#,
        r#"{"views":{"a":{"map":"x"}},"language":"javascript"}"#,
        r#"{"views":{"a":{"map":"x"}},"options":{"local_seq":true}}"#,
    ] {
        assert_ne!(read(other).unwrap().signature(), base.signature(), "{other}");
    }
    let same = read(r#"{"_id":"_design/x","filters":{},"views":{"a":{"map":"x"}}}"#).unwrap();
    assert_eq!(same.signature(), base.signature());
    let both =
        read(r#"{"x":1,"options":{"include_design":true,"local_seq":true},"views":{}}"#).unwrap();
    assert!(both.include_design && both.local_seq);
    assert_eq!(both.source(), r#"{"views":{},"options":{"include_design":true,"local_seq":true}}"#);
    assert_eq!(read("{}").unwrap().source(), "{}");
}
