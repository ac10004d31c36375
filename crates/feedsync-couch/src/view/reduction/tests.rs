//! Laws of the built-in functions, and examples of CouchDB's documentation.

use feedsync_formats::json::Node;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Builtin, MAX_REDUCTION_BYTES};
use crate::refusal::{Refusal, RefusalKind};

fn reduce(builtin: Builtin, values: &[impl AsRef<str>]) -> Result<String, Refusal> {
    let rows = values.iter().map(|value| Node::root(value.as_ref()));
    builtin.reduce(rows.map(|value| (value, value)))
}

/// Reduces parts of the rows, and then their reductions, as often as there are splits.
fn reduce_parts(builtin: Builtin, values: &[String], splits: &[usize]) -> Result<String, Refusal> {
    let Some((first, rest)) = splits.split_first().filter(|_| values.len() > 1) else {
        return reduce(builtin, values);
    };
    let (one, other) = values.split_at(1 + first % (values.len() - 1));
    let parts = [reduce_parts(builtin, one, rest)?, reduce_parts(builtin, other, rest)?];
    builtin.rereduce(parts.iter().map(|part| &**part))
}

/// Numbers of which sums and squares are exact, also as doubles.
fn any_number() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-1_000..1_000_i32).prop_map(|number| number.to_string()),
        2 => any::<i64>().prop_map(|number| number.to_string()),
        1 => Just("9223372036854775807".to_owned()),
    ]
}

fn any_dyadic() -> impl Strategy<Value = String> {
    prop_oneof![
        (-1_000..1_000_i32).prop_map(|number| number.to_string()),
        (-1_000..1_000_i32).prop_map(|number| format!("{:?}", f64::from(number) / 4.0)),
    ]
}

fn any_summand() -> impl Strategy<Value = Vec<String>> {
    let array = || vec(any_number(), 0..4).prop_map(|it| format!("[{}]", it.join(","))).boxed();
    let plain = prop_oneof![any_number(), array()].boxed();
    let name = || select(vec!["a", "b", "c"]);
    let object = vec((name(), any_number()), 0..4).prop_map(|members| {
        let members: Vec<_> =
            members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    });
    let object = object.boxed();
    let nested = (name(), object.clone()).prop_map(|(name, it)| format!("{{\"x{name}\":{it}}}"));
    prop_oneof![
        vec(plain, 1..20),
        vec(prop_oneof![object, nested], 1..20),
        vec(any_dyadic(), 1..20),
    ]
}

fn any_measured() -> impl Strategy<Value = Vec<String>> {
    // Sums of these squares have less than 127 bits.
    let number = (-(1_i64 << 60)..1 << 60).prop_map(|number| number.to_string());
    let known = Just(r#"{"sum":3,"count":2,"min":1,"max":2,"sumsqr":5}"#.to_owned());
    let single = prop_oneof![4 => number, 1 => known].boxed();
    let pair = (single.clone(), single.clone()).prop_map(|(one, other)| format!("[{one},{other}]"));
    prop_oneof![vec(single, 1..20), vec(pair, 1..20), vec(any_dyadic(), 1..20)]
}

fn any_splits() -> impl Strategy<Value = Vec<usize>> {
    vec(any::<usize>(), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn sums_of_parts_are_the_sum_of_all(values in any_summand(), splits in any_splits()) {
        let all = reduce(Builtin::Sum, &values);
        prop_assert!(all.is_ok(), "{:?}", all);
        prop_assert_eq!(reduce_parts(Builtin::Sum, &values, &splits), all);
    }

    #[test]
    fn statistics_of_parts_are_those_of_all(values in any_measured(), splits in any_splits()) {
        let all = reduce(Builtin::Stats, &values);
        prop_assert!(all.is_ok(), "{:?}", all);
        prop_assert_eq!(reduce_parts(Builtin::Stats, &values, &splits), all);
    }

    #[test]
    fn counts_of_parts_are_those_of_all(
        values in vec(any_number(), 1..30),
        splits in any_splits(),
    ) {
        for builtin in [Builtin::Count, Builtin::ApproxCountDistinct] {
            let all = reduce(builtin, &values);
            prop_assert_eq!(reduce_parts(builtin, &values, &splits), all);
        }
        prop_assert_eq!(reduce(Builtin::Count, &values).unwrap(), values.len().to_string());
    }

    #[test]
    fn sums_of_integers_are_exact(values in vec(any::<i64>(), 0..50)) {
        let texts: Vec<_> = values.iter().map(i64::to_string).collect();
        let sum: i128 = values.iter().map(|value| i128::from(*value)).sum();
        prop_assert_eq!(reduce(Builtin::Sum, &texts).unwrap(), sum.to_string());
    }
}

#[test]
fn sums_are_those_of_couchdb() {
    for (values, sum) in [
        (&[] as &[&str], "0"),
        (&["1", "2"], "3"),
        (&["9007199254740992", "1"], "9007199254740993"),
        (&["0.5", "1"], "1.5"),
        (&["0.5", "0.5"], "1.0"),
        (&["[1,2]", "[3,4,5]"], "[4,6,5]"),
        (&["1", "[3,4]", "2"], "[6,4]"),
        (&[r#"{"a":1,"b":[1]}"#, r#"{"a":2,"b":3,"c":{"d":1}}"#], r#"{"a":3,"b":[4],"c":{"d":1}}"#),
        (&["170141183460469231731687303715884105727", "1"], "1.7014118346046923e38"),
        (&["1e2", "1"], "101.0"),
    ] {
        assert_eq!(reduce(Builtin::Sum, values).unwrap(), sum, "{values:?}");
    }
}

#[test]
fn values_that_cannot_be_added_are_refused() {
    for values in [
        &["\"a\""] as &[&str],
        &["null"],
        &["1", "true"],
        &["[\"a\"]"],
        &["[[1]]"],
        &["1", "{}"],
        &["{}", "[1]"],
        &[r#"{"a":"x"}"#],
        &[r#"{"a":1}"#, r#"{"a":{}}"#],
        &["1e308", "1e308"],
        &["1e999"],
    ] {
        let refused = reduce(Builtin::Sum, values).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::BuiltinReduce, "{values:?}");
        assert!(
            refused.reason.starts_with("The _sum function requires that map values be numbers")
        );
    }
    let deep = "{\"a\":".repeat(600) + "1" + &"}".repeat(600);
    assert!(reduce(Builtin::Sum, &[&deep]).is_err());
    let many: Vec<_> = (0..10_000).map(|at| format!("{{\"{at}\":1}}")).collect();
    let refused = reduce(Builtin::Sum, &many).unwrap_err();
    assert!(refused.reason.starts_with("Reduce output must shrink more rapidly"));
}

#[test]
fn statistics_are_those_of_couchdb() {
    let known = r#"{"sum":10,"count":1,"min":10,"max":10,"sumsqr":100}"#;
    for (values, stats) in [
        (&[] as &[&str], r#"{"sum":0,"count":0,"min":0,"max":0,"sumsqr":0}"#),
        (&["1", "2", "3"], r#"{"sum":6,"count":3,"min":1,"max":3,"sumsqr":14}"#),
        (&["-1.5", known], r#"{"sum":8.5,"count":2,"min":-1.5,"max":10,"sumsqr":102.25}"#),
        (
            &["[1,2]", "[3,4]"],
            r#"[{"sum":4,"count":2,"min":1,"max":3,"sumsqr":10},{"sum":6,"count":2,"min":2,"max":4,"sumsqr":20}]"#,
        ),
        (
            &["9007199254740993", "9007199254740992.0"],
            r#"{"sum":1.8014398509481984e16,"count":2,"min":9007199254740992.0,"max":9007199254740993,"sumsqr":1.6225927682921336e32}"#,
        ),
    ] {
        assert_eq!(reduce(Builtin::Stats, values).unwrap(), stats, "{values:?}");
    }
    for (values, reason) in [
        (
            &["\"a\""] as &[&str],
            "The _stats function requires that map values be numbers or arrays of numbers, not '\"a\"'",
        ),
        (
            &["1", "[1]"],
            "The _stats function requires that map values be numbers or arrays of numbers, not '[1]'",
        ),
        (
            &["[1]", "[1,2]"],
            "The _stats function requires that map values be numbers or arrays of numbers, not '[1,2]'",
        ),
        (&[r#"{"sum":1}"#], "user _stats input missing required field count ({\"sum\":1})"),
        (&[r#"{"sum":"x"}"#], "non-numeric _stats input received for sum: \"x\""),
    ] {
        let refused = reduce(Builtin::Stats, values).unwrap_err();
        assert_eq!((refused.kind, &*refused.reason), (RefusalKind::InvalidValue, reason));
    }
}

#[test]
fn different_keys_are_counted_approximately() {
    let estimate = |keys: &[String]| -> u64 {
        let reduction = reduce(Builtin::ApproxCountDistinct, keys).unwrap();
        assert!(reduction.len() < MAX_REDUCTION_BYTES);
        Builtin::ApproxCountDistinct.finish(&reduction).parse().unwrap()
    };
    for count in [0, 1, 2, 10, 100, 1_000, 10_000, 100_000_u64] {
        let keys: Vec<_> = (0..count).map(|key| key.to_string()).collect();
        let counted = estimate(&keys);
        let error = counted.abs_diff(count) as f64 / (count as f64).max(1.0);
        assert!(error < 0.07, "{count}: {counted}");
    }
    let same = ["1", "1.0", "10e-1", "\"a\"", "\"\\u0061\"", "\"\u{e9}\"", "\"e\u{301}\""];
    assert_eq!(estimate(&same.map(String::from)), 3);
    let refused = Builtin::ApproxCountDistinct.rereduce(["1"]).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Internal);
    assert_eq!(Builtin::Stats.finish("{}"), "{}");
}
