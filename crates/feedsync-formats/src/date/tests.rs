use super::*;

fn read(text: &str) -> Option<String> {
    parse(text).map(|date| date.to_string())
}

#[test]
fn dates_of_all_forms_are_one_instant() {
    for text in [
        "2005-05-21T09:43:33Z",
        " 2005-05-21t09:43:33z ",
        "2005-05-21T09:43:33.99Z",
        "2005-05-21T09:43:33,99Z",
        "2005-05-21 11:43:33+02:00",
        "2005-05-21T04:43:33.5-05:00",
        "2005-05-21T04:43:33-05",
        "20050521T094333Z",
        "20050521T114333+0200",
        "20050521T114333 CEST",
        "it was on 20050521T114333+0200",
        "09:43:33 Sat -21 May 2005",
        "2005-141T09:43:33Z",
        "Sat, 21 May 2005 09:43:33 GMT",
        "Tue, 21 may 05 09:43:33 UT",
        "21 May 2005 05:43:33 EDT",
        "Sat, 21 May 2005 11:43:33 +0200",
        "21 May 2005 11:43:33 +2",
        "21 May 2005 11:43:33 a.m. +2",
        "21 May 2005 11:43:33 a. m +2",
        "21 May 2005 11:43:33 AM +2",
        "Sat, 21 May 2005 11:43:33 GMT+0200",
        "Sat, 21 May 2005 11:43:33 UTC+2",
        "Sat May 21 2005 11:43:33 GMT+0200 (Central European Summer Time)",
        "Sat, 21 May 2005 11:43:33 +0200 (CEST)",
        "Sat, 21 May 2005 11:43:33 CEST",
        "Sat May 21 09:43:33 2005",
        "Sat May 21 11:43:33 CEST 2005",
        "Sat May 21 11:43:33 +0200 2005",
        "21/May/2005:09:43:33 +0000",
        "21-May-2005 09:43:33",
        "Saturday, May 21st, 2005 9:43:33 AM",
        "Saturday, May 21, 2005 at 9:43:33 a.m.",
        "5/21/2005 9:43:33 AM",
        "21/05/2005 09:43:33",
        "21.05.2005 09:43:33",
        "21. 5. 2005 9:43:33",
        "21.  5.\t 2005   9:43:33",
        "21.5.2005 klo 9.43.33",
        "2005/05/21 09:43:33",
        "2005.05.21 09:43:33",
        "2005-05-21 09:43:33 +0000 UTC",
        "09:43:33 21 May 2005",
        "1116668613",
        "1116668613000",
        "1116668613000000",
        "1116668613000000000",
        "1116668613.5",
        "2005年5月21日 9時43分33秒",
        "2005년 5월 21일 오전 9:43:33",
        "2005年5月21日 上午9:43:33",
        "2005年5月21日 午前9時43分33秒",
        "2005\u{2010}05\u{2011}21T09:43:33Z",
        "2005-05-21 04:43:33 \u{2212}05:00",
    ] {
        assert_eq!(read(text).as_deref(), Some("2005-05-21T09:43:33Z"), "{text}");
    }
}

#[test]
fn months_have_names_in_many_languages() {
    for (month, names) in [
        (
            1,
            "January Januar janvier enero gennaio janeiro januari ledna stycznia января Ocak tammikuuta Jänner",
        ),
        (2, "Feb Februar févr. février febbraio fev lutego února февраля фев Şubat helmikuuta"),
        (3, "Mar March März Mrz mars marzo março mrt. maart marca března марта Mart maaliskuuta"),
        (4, "Apr avril avr. abril abr aprile kwietnia dubna апреля Nisan huhtikuuta"),
        (5, "May Mai mayo mag maggio maio mei maj maja května мая Mayıs toukokuuta"),
        (6, "Jun Juni juin junio giu giugno junho czerwca června июня июн Haziran kesäkuuta"),
        (7, "Jul Juli juil. juillet julio lug luglio julho lipca července июля Temmuz heinäkuuta"),
        (8, "Aug août agosto ago augustus augusti sierpnia srpna августа Ağustos elokuuta"),
        (
            9,
            "Sept. Sep September septembre septiembre set settembre setembro września září сентября Eylül syyskuuta",
        ),
        (
            10,
            "Oct Okt Oktober octobre octubre ottobre out outubro października října октября Ekim lokakuuta",
        ),
        (
            11,
            "Nov November novembre noviembre novembro listopada listopadu ноября Kasım marraskuuta",
        ),
        (
            12,
            "Dec Dez Dezember déc. décembre dic diciembre dicembre dezembro des desember grudnia prosince декабря Aralık joulukuuta",
        ),
    ] {
        for name in names.split(' ') {
            let expected = format!("2024-{month:02}-06T07:08:09Z");
            for text in [
                format!("6 {name} 2024 07:08:09"),
                format!("{name} 6, 2024 07:08:09 GMT"),
                format!("6. {} 2024, 07:08:09", name.to_uppercase()),
            ] {
                assert_eq!(read(&text).as_deref(), Some(&*expected), "{text}");
            }
        }
    }
}

#[test]
fn weekdays_of_other_languages_are_no_months() {
    for (text, date) in [
        ("mar. 7 mai 2024 07:08", "2024-05-07T07:08:00Z"),
        ("mar, 05 mar 2024 07:08", "2024-03-05T07:08:00Z"),
        ("Montag, 6. Mai 2024 um 07:08 Uhr", "2024-05-06T07:08:00Z"),
        ("lunes, 6 de mayo de 2024 a las 7:08 p. m.", "2024-05-06T19:08:00Z"),
        ("lundi 6 mai 2024 à 7h08", "2024-05-06T07:08:00Z"),
        ("måndag 6 maj 2024 kl. 07.08", "2024-05-06T07:08:00Z"),
        ("Пн, 06 май 2024 07:08:00 +0300", "2024-05-06T04:08:00Z"),
        ("Paz, 05 May 2024 07:08", "2024-05-05T07:08:00Z"),
        ("Pazartesi, 06 Mayıs 2024 07:08", "2024-05-06T07:08:00Z"),
        ("segunda-feira, 6 de maio de 2024 07:08", "2024-05-06T07:08:00Z"),
        ("1er mai 2024", "2024-05-01T00:00:00Z"),
    ] {
        assert_eq!(read(text).as_deref(), Some(date), "{text}");
    }
}

#[test]
fn times_and_days_alone_are_read_as_people_mean_them() {
    for (text, date) in [
        ("2024-05-06", "2024-05-06T00:00:00Z"),
        ("20240506", "2024-05-06T00:00:00Z"),
        ("2024-05", "2024-05-01T00:00:00Z"),
        ("2024", "2024-01-01T00:00:00Z"),
        ("May 2024", "2024-05-01T00:00:00Z"),
        ("Mon, 06 May 2024", "2024-05-06T00:00:00Z"),
        ("05/06/2024", "2024-05-06T00:00:00Z"),
        ("05-06-2024", "2024-06-05T00:00:00Z"),
        ("05.06.24", "2024-06-05T00:00:00Z"),
        // A fourth number is not part of the date.
        ("2024-05-06-1", "2024-05-06T00:00:00Z"),
        ("06.05.2024.17", "2024-05-06T00:00:00Z"),
        ("5/6/2024/7", "2024-05-06T00:00:00Z"),
        ("7h, 6 mai 2024", "2024-05-06T07:00:00Z"),
        ("7h30, 6 mai 2024", "2024-05-06T07:30:00Z"),
        ("6 May 2024 7:08 p. x", "2024-05-06T07:08:00Z"),
        ("6 May 2024 7:08 p m", "2024-05-06T07:08:00Z"),
        ("6. janu\u{e1}ra 2024", "2024-01-06T00:00:00Z"),
        ("6. augusta 2024", "2024-08-06T00:00:00Z"),
        ("5/13/24 1 PM", "2024-05-13T13:00:00Z"),
        ("5/13/24 7:08 p. m.", "2024-05-13T19:08:00Z"),
        ("5/13/24 7:08:09 pm", "2024-05-13T19:08:09Z"),
        ("2024年5月13日 下午1:00", "2024-05-13T13:00:00Z"),
        ("2024年5月13日 午後1時00分", "2024-05-13T13:00:00Z"),
        ("2024년 5월 13일 오후 1:00", "2024-05-13T13:00:00Z"),
        ("2024年5月13日 上午12:15", "2024-05-13T00:15:00Z"),
        ("2024年5月13日 午前12:15", "2024-05-13T00:15:00Z"),
        ("2024년 5월 13일 오전 12:15", "2024-05-13T00:15:00Z"),
        ("2024年5月13日 下午12:15", "2024-05-13T12:15:00Z"),
        ("Sun, 15 Dec 2024 12:15 PM", "2024-12-15T12:15:00Z"),
        ("Sun, 15 Dec 2024 12:15 AM", "2024-12-15T00:15:00Z"),
        ("Sun, 15 Dec 2024 11:15 pm", "2024-12-15T23:15:00Z"),
        ("Sun, 15 Dec 2024 11:15PM EST", "2024-12-16T04:15:00Z"),
        ("Mon, 06 May 2024 24:00:00 GMT", "2024-05-07T00:00:00Z"),
        ("Mon, 06 May 2024 07:08:60 GMT", "2024-05-06T07:09:00Z"),
        ("2024-05-06T07:08Z", "2024-05-06T07:08:00Z"),
        ("2024-05-06T07:08+05:30", "2024-05-06T01:38:00Z"),
        ("2024-05-06 07:08 IST", "2024-05-06T01:38:00Z"),
        ("2024-05-06 07:08:09 Nowhere/Else", "2024-05-06T07:08:09Z"),
        ("Mon, 06 May 2024 07:08:09 -0000", "2024-05-06T07:08:09Z"),
        ("07:08 - 06.05.2024", "2024-05-06T07:08:00Z"),
        ("1999-12-31T23:59:59-01:00", "2000-01-01T00:59:59Z"),
    ] {
        assert_eq!(read(text).as_deref(), Some(date), "{text}");
    }
}

#[test]
fn the_month_of_a_numeric_date_comes_first_only_with_slashes_or_if_the_second_number_exceeds_12() {
    for (text, date) in [
        ("11-12-2024", Some("2024-12-11")),
        ("12-12-2024", Some("2024-12-12")),
        ("12-13-2024", Some("2024-12-13")),
        ("13-12-2024", Some("2024-12-13")),
        ("13-13-2024", None),
        ("5.12.2024", Some("2024-12-05")),
        ("5.13.2024", Some("2024-05-13")),
        ("11/12/2024", Some("2024-11-12")),
        ("12/31/2024", Some("2024-12-31")),
        ("13/12/2024", Some("2024-12-13")),
        ("13/13/2024", None),
        ("31/12/2024", Some("2024-12-31")),
        ("30/02/2024", None),
        ("123/4/2024", None),
        ("4/123/2024", None),
    ] {
        let expected = date.map(|date| format!("{date}T00:00:00Z"));
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn bounds_of_years_days_of_the_year_and_offsets_are_kept() {
    for (text, date) in [
        ("06.05.49", Some("2049-05-06T00:00:00Z")),
        ("06.05.50", Some("1950-05-06T00:00:00Z")),
        ("06.05.00", Some("2000-05-06T00:00:00Z")),
        ("06.05.99", Some("1999-05-06T00:00:00Z")),
        ("2024-001", Some("2024-01-01T00:00:00Z")),
        ("2024-000", None),
        ("2024-366", Some("2024-12-31T00:00:00Z")),
        ("2024-367", None),
        ("2023-365", Some("2023-12-31T00:00:00Z")),
        ("2023-366", None),
        ("2024-05-06T07:08:09+23:59", Some("2024-05-05T07:09:09Z")),
        ("2024-05-06T07:08:09-23:59", Some("2024-05-07T07:07:09Z")),
        ("2024-05-06T07:08:09+24:00", None),
        ("2024-05-06T07:08:09+2400", None),
        ("2024-05-06T07:08:09+00:60", None),
        ("2024-05-06T07:08:09+0060", None),
    ] {
        assert_eq!(read(text).as_deref(), date, "{text}");
    }
}

#[test]
fn names_of_zones_are_offsets() {
    for (offset, names) in [
        ("+0000", "Z GMT UT UTC WET"),
        ("+0100", "WEST BST CET MET MEZ"),
        ("+0200", "CEST MEST MESZ EET SAST"),
        ("+0300", "EEST MSK TRT EAT"),
        ("+0400", "MSD GST"),
        ("+0500", "PKT"),
        ("+0530", "IST"),
        ("+0545", "NPT"),
        ("+0700", "ICT WIB"),
        ("+0800", "SGT HKT AWST"),
        ("+0900", "JST KST"),
        ("+0930", "ACST"),
        ("+1000", "AEST"),
        ("+1030", "ACDT"),
        ("+1100", "AEDT"),
        ("+1200", "NZST"),
        ("+1300", "NZDT"),
        ("-0200", "BRST"),
        ("-0230", "NDT"),
        ("-0300", "BRT ART ADT"),
        ("-0330", "NST"),
        ("-0400", "AST EDT"),
        ("-0500", "EST ET CDT"),
        ("-0600", "CST CT MDT"),
        ("-0700", "MST MT PDT"),
        ("-0800", "PST PT AKDT"),
        ("-0900", "AKST"),
        ("-1000", "HST"),
    ] {
        let expected = read(&format!("6 May 2024 07:08:09 {offset}"));
        assert!(expected.is_some(), "{offset}");
        for name in names.split(' ') {
            assert_eq!(read(&format!("6 May 2024 07:08:09 {name}")), expected, "{name}");
            assert_eq!(read(&format!("May 6 07:08:09 ({name}) 2024")), expected, "{name}");
            // A number takes precedence over a name.
            let both = read(&format!("6 May 2024 07:08:09 {name} -0130"));
            assert_eq!(both.as_deref(), Some("2024-05-06T08:38:09Z"), "{name}");
        }
    }
}

#[test]
fn words_have_no_accents_and_one_spelling_of_each_sign() {
    for (letters, plain) in [
        ("\u{e1}\u{c0}\u{e2}\u{e4}\u{e3}\u{e5}\u{105}\u{103}a\u{301}", "aaaaaaaaa"),
        ("\u{e7}\u{10d}\u{106}", "ccc"),
        ("\u{10f}", "d"),
        ("\u{e9}\u{e8}\u{ca}\u{eb}\u{11b}\u{119}", "eeeeee"),
        ("\u{11f}", "g"),
        ("\u{ed}\u{ec}\u{ee}\u{ef}\u{131}\u{130}", "iiiiii"),
        ("\u{142}", "l"),
        ("\u{f1}\u{148}\u{144}", "nnn"),
        ("\u{f3}\u{f2}\u{f4}\u{f6}\u{f5}\u{f8}\u{151}", "ooooooo"),
        ("\u{159}", "r"),
        ("\u{161}\u{15b}\u{15f}", "sss"),
        ("\u{165}", "t"),
        ("\u{fa}\u{f9}\u{fb}\u{fc}\u{16f}\u{171}", "uuuuuu"),
        ("\u{fd}", "y"),
        ("\u{17e}\u{17a}\u{17c}", "zzz"),
        ("\u{451}", "\u{435}"),
    ] {
        assert_eq!(split(letters), [Word::Name(plain.to_owned())], "{letters}");
        assert_eq!(split(&letters.to_uppercase()).len(), 1, "{letters}");
    }
    let signs = |text: &str| split(text).iter().all(|word| *word == Word::Sign('-'));
    assert!(signs("-\u{2212}\u{2010}\u{2011}"));
    assert!(!signs("\u{2013}"));
}

#[test]
fn a_date_has_a_maximum_length() {
    let text = |length: usize| format!("6 May 2024 {}", "x".repeat(length - 11));
    assert!(read(&text(MAX_DATE_BYTES)).is_some());
    assert!(read(&format!(" {} ", text(MAX_DATE_BYTES))).is_some());
    assert_eq!(read(&text(MAX_DATE_BYTES + 1)), None);
}

#[test]
fn texts_that_are_no_dates_are_none() {
    for text in [
        "",
        "yesterday",
        "12",
        "2005-02-30T00:00:00Z",
        "2005-13-01",
        "2005-366",
        "1 Foo 2005 0:0 GMT",
        "31 Apr 2005",
        "2005-05-21T25:00:00Z",
        "2005-05-21T09:60:00Z",
        "2005-05-21T09:43:33+24:00",
        "é005-05-21T09:43:33Z",
        "1 ééé 5 1",
        "Mon,",
        "T",
        "am",
        "99999999999999999999",
        "12345678",
        ".5",
        "mayor 6 2024",
        "May 24",
        "6 Aprilscherz 2024",
        "11166686130",
        "111666861300000",
        "11166686130000000000",
        "20051301",
        &"2005-05-21 ".repeat(20),
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn a_canonical_date_reads_as_itself() {
    let mut random = crate::random::Random(7);
    for _ in 0..20_000 {
        let seconds = i64::try_from(random.below(250_000_000_000)).unwrap() - 60_000_000_000;
        let Some(date) = Timestamp::from_unix_seconds(seconds) else { continue };
        let text = date.to_string();
        assert_eq!(read(&text).as_deref(), Some(&*text));
        assert_eq!(parse(&to_rfc822(date)).map(Timestamp::unix_seconds), Some(seconds), "{text}");
    }
}

#[test]
fn a_date_is_written_with_its_weekday() {
    for text in [
        "Sat, 21 May 2005 09:43:33 GMT",
        "Mon, 01 Nov 2004 00:00:00 GMT",
        "Tue, 01 Mar 2005 23:59:59 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Wed, 31 Dec 1969 23:59:59 GMT",
    ] {
        assert_eq!(to_rfc822(parse(text).unwrap()), text);
    }
}
