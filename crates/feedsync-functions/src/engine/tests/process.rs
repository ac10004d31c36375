//! Requests and responses of the process that executes functions.

use super::*;
use crate::engine::serve;
use crate::message::{self, Response};

/// The responses to requests.
fn responses(requests: &[String]) -> Vec<Response> {
    let mut input = Vec::new();
    for request in requests {
        message::write(&mut input, request).unwrap();
    }
    let mut output = Vec::new();
    let limits = Limits { time: Duration::from_millis(200), memory: 8 << 20, ..Limits::default() };
    serve(&mut &input[..], &mut output, limits).unwrap();
    let mut output = &output[..];
    let read = || message::read(&mut output).unwrap();
    std::iter::from_fn(read).map(|text| message::response(&text)).collect()
}

fn map(design: &str, source: Option<&str>) -> String {
    message::request(design, source, &Call::Map { documents: &["{}"] })
}

fn called(result: &str) -> Response {
    Response::Called(Ok(result.to_owned()))
}

#[test]
fn the_process_ends_after_a_function_that_it_stopped() {
    let good = design(&[("v", "function () { emit(1, 1); }")], "");
    let endless = design(&[("v", "function () { for (;;); }")], "");
    let greedy = design(&[("v", "function () { const all = []; for (;;) all.push([all]); }")], "");
    for (bad, error) in [(endless, CallError::TimeLimit), (greedy, CallError::MemoryLimit)] {
        let found = responses(&[
            map("a", None),
            map("a", Some(&good)),
            String::from("{}"),
            map("c", Some("7")),
            map("a", None),
            map("b", Some(&bad)),
            map("a", None),
        ]);
        let process = CallError::Process("a response without a result".to_owned());
        assert_eq!(
            found,
            [
                Response::Unknown,
                called("[[[[1,1]]]]"),
                Response::Called(Err(process)),
                called("[[]]"),
                called("[[[[1,1]]]]"),
                Response::Called(Err(error)),
            ]
        );
    }
}

#[test]
fn least_recently_used_design_documents_are_forgotten() {
    let source = design(&[("v", "function () {}")], "");
    let mut requests: Vec<_> =
        (0..9).map(|number| map(&number.to_string(), Some(&source))).collect();
    requests.insert(8, map("0", None));
    requests.extend([map("0", None), map("1", None)]);
    let found = responses(&requests);
    assert_eq!(found[8], called("[[[]]]"));
    assert_eq!(found[10..], [called("[[[]]]"), Response::Unknown]);
}

#[test]
fn messages_have_a_limited_length() {
    let mut long = &[0xff, 0xff, 0xff, 0xff, b'{'][..];
    assert!(message::read(&mut long).is_err());
    let mut short = &[0, 0, 0, 9, b'{'][..];
    assert!(message::read(&mut short).is_err());
    assert_eq!(message::read(&mut &[][..]).unwrap(), None);
    assert!(matches!(message::response("{"), Response::Called(Err(CallError::Process(_)))));
}
