//! What the list admits.

use proptest::prelude::*;
use tool_harness_sandbox::network::{Domains, Host};

use crate::network::server::domains;

fn check(entries: &[&str], host: &str, port: u16, admitted: bool) {
    let allowed = Host::parse(host).is_ok_and(|host| domains(entries).allows(&host, port));
    assert_eq!(allowed, admitted, "{entries:?} {host} {port}");
}

#[test]
fn names_and_the_names_below_them() {
    for (entry, host, admitted) in [
        ("example.com", "example.com", true),
        ("example.com", "EXAMPLE.com.", true),
        ("example.com", "a.b.example.com", true),
        ("Example.COM.", "a.example.com", true),
        ("example.com", "okexample.com", false),
        ("example.com", "example.com.evil.test", false),
        ("example.com", "example.org", false),
        ("example.com", "com", false),
        ("example.com", "ехаmple.com", false),
        ("example.com", "exampl\u{435}.com", false),
        ("example.com", "example\u{3002}com", true),
        ("example.com", "ｅｘａｍｐｌｅ.com", true),
        ("bücher.example", "xn--bcher-kva.example", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "a.example.com", true),
        ("*.example.com", "a.b.example.com", true),
        ("*.example.com", ".example.com", false),
        ("*", "example.com", true),
        ("*", "localhost", false),
        ("*", "intranet", false),
        ("*", "metadata.google.internal", false),
        ("*", "8.8.8.8", true),
        ("*", "2606:4700::1111", true),
        ("example.com", "8.8.8.8", false),
    ] {
        check(&[entry], host, 443, admitted);
    }
}

#[test]
fn ports_other_than_those_of_the_web_are_named() {
    for (entry, host, port, admitted) in [
        ("example.com", "example.com", 80, true),
        ("example.com", "example.com", 8080, false),
        ("example.com:8080", "a.example.com", 8080, true),
        ("example.com:8080", "example.com", 443, false),
        ("*:8443", "example.com", 8443, true),
        ("*.example.com:22", "a.example.com", 22, true),
        ("[::1]:8080", "::1", 8080, true),
        ("[::1]:8080", "::1", 80, false),
        ("10.1.2.3:8080", "10.1.2.3", 8080, true),
        ("[fd00::/8]:8080", "fd12::1", 8080, true),
        ("localhost:3000", "127.0.0.1", 3000, true),
        ("localhost:3000", "::1", 3000, true),
        ("localhost:3000", "127.0.0.2", 3000, false),
    ] {
        check(&[entry], host, port, admitted);
    }
    assert_eq!(
        domains(&["a.test", "b.test:8080", "*:9000"]).ports(),
        [80, 443, 8080, 9000]
    );
}

#[test]
fn addresses_that_are_not_public_are_admitted_by_themselves_or_their_range_only() {
    let special = [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.1.1",
        "169.254.169.254",
        "168.63.129.16",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:8.8.8.8",
        "::8.8.8.8",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "2001::1",
        "2001:2::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
        "8000::1",
        "5f00::1",
        "100::1",
    ];
    for address in special {
        check(&["*"], address, 443, false);
        check(&[address], address, 443, true);
        let name = Host::parse("name.test").expect("a name");
        let at = address.parse().expect("an address");
        assert!(
            domains(&["name.test"])
                .check_address(&name, 443, at)
                .is_err(),
            "{address}"
        );
        assert!(
            domains(&["name.test", address])
                .check_address(&name, 443, at)
                .is_ok(),
            "{address}"
        );
    }
    check(&["10.0.0.0/8"], "10.200.0.1", 80, true);
    check(&["10.0.0.0/8"], "11.0.0.1", 80, false);
    check(&["169.254.0.0/16"], "169.254.1.1", 80, true);
    check(&["169.254.0.0/16"], "169.254.169.254", 80, false);
    check(&["fd00::/8"], "fd00:ec2::254", 80, false);
    for public in [
        "8.8.8.8",
        "172.32.0.1",
        "100.128.0.1",
        "198.20.0.1",
        "2606:4700::1111",
        "2a00::1",
    ] {
        check(&["*"], public, 443, true);
    }
}

#[test]
fn every_spelling_of_an_address_is_that_address_or_nothing() {
    for spelling in [
        "127.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.1.",
        "１２７.0.0.1",
        "0x7F000001",
        "127。0。0。1",
    ] {
        assert_eq!(
            Host::parse(spelling).expect("an address").address(),
            Some("127.0.0.1".parse().expect("an address")),
            "{spelling}"
        );
    }
    assert_eq!(Host::parse("0").expect("an address").to_string(), "0.0.0.0");
    assert_eq!(
        Host::parse("[::FFFF:127.0.0.1]")
            .expect("an address")
            .to_string(),
        "::ffff:127.0.0.1"
    );
    for no in [
        "",
        ".",
        "..",
        "a..b",
        "-\0",
        "a\0.test",
        "a\n.test",
        "a b",
        "%31",
        "127.0.0.1%00",
        "256.1.1.1",
        "1.2.3.4.5",
        "0x",
        "fe80::1%eth0",
        "[::1",
        "a@b",
        "a/b",
        "a:1",
        "a,b",
        "\u{202e}a.test",
        "xn--\u{e9}",
        "a.1",
    ] {
        assert!(
            Host::parse(no)
                .ok()
                .is_none_or(|h| h.address().is_some() && no == "0x"),
            "{no:?} {:?}",
            Host::parse(no)
        );
    }
    assert!(Host::parse(&format!("{}.test", "a".repeat(64))).is_err());
    assert!(Host::parse(&"a.".repeat(200)).is_err());
}

#[test]
fn an_entry_that_cannot_be_read_says_what_can() {
    for (entry, says) in [
        ("https://example.com/", "not just a host"),
        ("user@example.com", "not just a host"),
        ("example.com/path", "the bits of a range"),
        ("", "empty"),
        (" example.com", "characters that are invalid in a host"),
        ("exa*mple.com", "use `*` alone"),
        ("*example.com", "use `*` alone"),
        ("*.*.com", "not a host"),
        ("*.127.0.0.1", "no names are below an address"),
        ("example.com:0", "its port"),
        ("example.com:99999", "its port"),
        ("example.com:", "its port"),
        ("example.com:+80", "its port"),
        ("example.com:53", "port 53 is DNS"),
        ("10.0.0.1/8", "does not start at its address"),
        ("0.0.0.0/0", "list them separately"),
        ("8.0.0.0/5", "list them separately"),
        ("::/0", "list them separately"),
        ("[example.com]:80", "brackets are for IPv6"),
    ] {
        let error = Domains::parse(&[entry]).expect_err(entry).to_string();
        assert!(
            error.contains(says)
                && error.contains("use a name (`example.com`)")
                && !error.contains('\n'),
            "{entry}: {error}"
        );
    }
}

#[test]
fn refusals_name_the_host_and_what_would_admit_it() {
    let list = domains(&["example.com", "10.0.0.1"]);
    for (host, port, says) in [
        (
            "evil.test",
            443,
            "host \"evil.test\" is not in network.allowed_domains",
        ),
        (
            "example.com",
            8080,
            "port 8080 of host \"example.com\" is not in network.allowed_domains, where `example.com:8080` would admit it",
        ),
        (
            "127.1",
            80,
            "host \"127.0.0.1\" is a loopback address (127.0.0.1), and network.allowed_domains does not have that address on port 80",
        ),
    ] {
        assert_eq!(
            list.check(&Host::parse(host).expect("a host"), port)
                .expect_err(host)
                .to_string(),
            says
        );
    }
}

/// Few labels, so that lists and hosts often match.
fn name() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just("a"),
            Just("b"),
            Just("com"),
            Just("localhost"),
            Just("internal")
        ],
        1..4,
    )
    .prop_map(|parts| parts.join("."))
}

fn address() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("8.8.8.8"),
        Just("8.8.4.4"),
        Just("10.0.0.1"),
        Just("10.1.0.1"),
        Just("127.0.0.1"),
        Just("169.254.169.254"),
        Just("169.254.0.1"),
        Just("::1"),
        Just("fd00::1"),
        Just("fd00:ec2::254"),
        Just("2606::1")
    ]
    .prop_map(str::to_owned)
}

fn entry() -> impl Strategy<Value = String> {
    let range = prop_oneof![
        Just("10.0.0.0/8"),
        Just("10.0.0.0/16"),
        Just("8.8.0.0/16"),
        Just("169.254.0.0/16"),
        Just("fd00::/8"),
        Just("127.0.0.0/8")
    ];
    let who = prop_oneof![
        Just("*".to_owned()),
        name(),
        name().prop_map(|name| format!("*.{name}")),
        address(),
        range.prop_map(str::to_owned)
    ];
    (
        who,
        prop_oneof![Just(None), Just(Some(80)), Just(Some(8080))],
    )
        .prop_map(|(who, port)| match port {
            Some(port) if who.contains(':') => format!("[{who}]:{port}"),
            Some(port) => format!("{who}:{port}"),
            None => who,
        })
}

proptest! {
    #[test]
    fn a_list_narrows_another_to_what_both_admit(
        ours in proptest::collection::vec(entry(), 0..5), theirs in proptest::collection::vec(entry(), 0..5),
        host in prop_oneof![name(), address()], at in address(), port in prop_oneof![Just(80u16), Just(443), Just(8080)],
    ) {
        let (ours, theirs) = (Domains::parse(&ours).expect("entries"), Domains::parse(&theirs).expect("entries"));
        let both = ours.intersect(&theirs);
        let (host, at) = (Host::parse(&host).expect("a host"), at.parse().expect("an address"));
        prop_assert_eq!(both.allows(&host, port), ours.allows(&host, port) && theirs.allows(&host, port), "{} and {} are {}", ours, theirs, both);
        let judged = |list: &Domains| list.check_address(&host, port, at).is_ok();
        prop_assert_eq!(judged(&both), judged(&ours) && judged(&theirs));
        prop_assert_eq!(both.intersect(&both), both.clone());
        prop_assert_eq!(both.clone(), theirs.intersect(&ours));
        prop_assert!(both.ports().iter().all(|port| ours.ports().contains(port) && theirs.ports().contains(port)));
    }

    #[test]
    fn a_list_is_read_again_as_it_was_written(entries in proptest::collection::vec(entry(), 0..6)) {
        let list = Domains::parse(&entries).expect("entries");
        let text = list.to_string();
        let again: Vec<&str> = text.split(", ").filter(|entry| !entry.is_empty()).collect();
        prop_assert_eq!(Domains::parse(&again).expect("entries"), list);
    }

    #[test]
    fn a_bare_name_admits_itself_and_what_is_below(name in "[a-z]{1,8}\\.[a-z]{2,5}", below in "[a-z]{1,8}", glued in "[a-z0-9]{1,5}") {
        let list = domains(&[&name]);
        let allows = |host: String| list.allows(&Host::parse(&host).expect("a host"), 443);
        for good in [name.clone(), [below.as_str(), ".", &name].concat(), name.to_uppercase()] {
            prop_assert!(allows(good.clone()), "{}", good);
        }
        for bad in [[glued, name.clone()].concat(), [name, ".".to_owned(), below].concat()] {
            prop_assert!(!allows(bad.clone()), "{}", bad);
        }
    }

    #[test]
    fn no_text_makes_the_readers_panic_and_hosts_are_read_again(text in "\\PC{0,40}", raw in any::<String>()) {
        for text in [text, raw] {
            let _ = Domains::parse(&[&text]).map(|list| list.to_string()).map_err(|error| error.to_string());
            if let Ok(host) = Host::parse(&text) {
                prop_assert_eq!(Host::parse(&host.to_string()).expect("what was written can be read"), host.clone());
                prop_assert!(host.name().is_none_or(|name| name.is_ascii() && !name.bytes().any(|b| b.is_ascii_uppercase() || b.is_ascii_control())));
            }
        }
    }

    #[test]
    fn every_spelling_of_an_ipv4_address_is_recognised(bits in any::<u32>(), form in 0..6) {
        let [a, b, c, d] = bits.to_be_bytes();
        let text = match form {
            0 => bits.to_string(),
            1 => format!("{bits:#x}"),
            2 => format!("0{a:o}.{b}.{c}.{d}"),
            3 => format!("{a}.{}", bits & 0xff_ffff),
            4 => format!("{a:#X}.{b:#x}.{}", bits & 0xffff).replace("0X", "0x"),
            _ => format!("{a}.{b}.{c}.{d}."),
        };
        prop_assert_eq!(Host::parse(&text).expect("an address").address(), Some(std::net::IpAddr::from([a, b, c, d])), "{}", text);
    }
}
