//! The addresses that stand for names inside the namespace.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::network::Host;
use crate::network::listeners::{SANDBOX_IPV4, SANDBOX_IPV6};

/// `198.18.0.0/15` is reserved for benchmarks, so it holds nothing that a program wants to reach.
/// The last bits are the number of a name.
const FIRST_V4: u32 = SANDBOX_IPV4.to_bits();
const FIRST_V6: u128 = SANDBOX_IPV6.to_bits();
/// More names than one call needs; then the oldest gives up its number. Its address then leads to
/// another admitted name.
const MOST: usize = 16_384;

/// Names and the addresses they were given, one of each family.
#[derive(Default)]
pub(super) struct Names {
    numbers: HashMap<Host, usize>,
    names: Vec<Host>,
    next: usize,
}

impl Names {
    /// The addresses of a name, newly assigned if it has none.
    pub(super) fn give(&mut self, name: &Host) -> (Ipv4Addr, Ipv6Addr) {
        let number = self
            .numbers
            .get(name)
            .copied()
            .unwrap_or_else(|| self.add(name));
        // The first address of the range is the namespace's own.
        let offset = u32::try_from(number + 1).unwrap_or(1);
        (
            Ipv4Addr::from_bits(FIRST_V4 + offset),
            Ipv6Addr::from_bits(FIRST_V6 + u128::from(offset)),
        )
    }

    /// The name that has this address.
    pub(super) fn name(&self, address: IpAddr) -> Option<Host> {
        let offset = match address {
            IpAddr::V4(v4) => usize::try_from(v4.to_bits().checked_sub(FIRST_V4)?).ok()?,
            IpAddr::V6(v6) => usize::try_from(v6.to_bits().checked_sub(FIRST_V6)?).ok()?,
        };
        self.names.get(offset.checked_sub(1)?).cloned()
    }

    fn add(&mut self, name: &Host) -> usize {
        let number = self.next;
        self.next = (self.next + 1) % MOST;
        match self.names.get_mut(number) {
            Some(place) => {
                let old = std::mem::replace(place, name.clone());
                self.numbers.remove(&old);
            }
            None => self.names.push(name.clone()),
        }
        self.numbers.insert(name.clone(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: usize) -> Host {
        Host::parse(&format!("n{number}.test")).expect("a name")
    }

    #[test]
    fn both_addresses_lead_back_to_the_name() {
        let mut names = Names::default();
        for number in 0..300 {
            let (v4, v6) = names.give(&host(number));
            assert_eq!(names.name(v4.into()), Some(host(number)));
            assert_eq!(names.name(v6.into()), Some(host(number)));
            assert_eq!(names.give(&host(number)), (v4, v6));
        }
        for other in [
            "198.18.0.0",
            "198.18.200.0",
            "198.17.255.255",
            "127.0.0.1",
            "::1",
            "fd68:6172:6e65:7373::",
            "fd68:6172:6e65:7373:1::1",
        ] {
            assert_eq!(
                names.name(other.parse().expect("an address")),
                None,
                "{other}"
            );
        }
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        let mut names = Names::default();
        for number in 0..(2 * MOST + 7) {
            names.give(&host(number));
        }
        assert_eq!((names.names.len(), names.numbers.len()), (MOST, MOST));
        let (v4, _) = names.give(&host(0));
        assert_eq!(names.name(v4.into()), Some(host(0)));
    }
}
