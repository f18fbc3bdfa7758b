//! Hosts and entries of `network.allowed_domains`: no text may make a reader panic, what is read is written so that it reads the same, and
//! nothing that is not public is admitted by `*`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tool_harness_sandbox::network::{Domains, Host};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let any = Domains::parse(&["*"]).expect("an entry");
    if let Ok(host) = Host::parse(&text) {
        assert_eq!(Host::parse(&host.to_string()).as_ref(), Ok(&host));
        if let Some(address) = host.address()
            && any.allows(&host, 443)
        {
            assert!(!address.is_loopback() && !address.is_unspecified() && !address.is_multicast());
            assert!(any.check_address(&host, 443, address).is_ok());
        }
    }
    let entries: Vec<&str> = text.split('\n').collect();
    if let Ok(list) = Domains::parse(&entries) {
        let written = list.to_string();
        let again: Vec<&str> = written.split(", ").collect();
        assert_eq!(Domains::parse(&again).as_ref(), Ok(&list));
        assert!(list.intersect(&Domains::default()).is_empty());
        let narrowed = list.intersect(&any);
        assert!(
            narrowed
                .ports()
                .iter()
                .all(|port| list.ports().contains(port))
        );
    }
});
