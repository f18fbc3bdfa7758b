//! Addresses: which are public, and the ranges that an entry of the list can name.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses: one address, or all that share its first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct AddressBlock {
    first: IpAddr,
    bits: u8,
}

/// Blocks that are not public Internet, and what they are; the first that holds an address names
/// its kind.
///
/// Addresses that carry another one inside (mapped, NAT64, 6to4, Teredo) are listed whatever they
/// carry: no public host needs them, and we cannot know what a gateway makes of them.
const SPECIAL_V4: &[(Ipv4Addr, u8, &str)] = &[
    (Ipv4Addr::new(169, 254, 169, 254), 32, METADATA),
    (Ipv4Addr::new(168, 63, 129, 16), 32, METADATA),
    (Ipv4Addr::new(100, 100, 100, 200), 32, METADATA),
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an unspecified"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a carrier's private"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmark"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "a documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved"),
];

/// As above; what is outside `2000::/3` and not here is reserved.
const SPECIAL_V6: &[(Ipv6Addr, u8, &str)] = &[
    (
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        128,
        METADATA,
    ),
    (Ipv6Addr::UNSPECIFIED, 128, "an unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "a loopback"),
    (
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0),
        96,
        "an IPv4-mapped",
    ),
    (Ipv6Addr::UNSPECIFIED, 96, "an IPv4-compatible"),
    (
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0),
        96,
        "a translated",
    ),
    (
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0),
        48,
        "a translated",
    ),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "a Teredo"),
    (
        Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0),
        48,
        "a benchmark",
    ),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "a reserved"),
    (
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
        32,
        "a documentation",
    ),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "a 6to4"),
    (
        Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0),
        20,
        "a documentation",
    ),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "a private"),
    (
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0),
        10,
        "a link-local",
    ),
    (
        Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0),
        10,
        "a site-local",
    ),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "a multicast"),
    (Ipv6Addr::UNSPECIFIED, 3, "a reserved"),
    (Ipv6Addr::new(0x4000, 0, 0, 0, 0, 0, 0, 0), 2, "a reserved"),
    (Ipv6Addr::new(0x8000, 0, 0, 0, 0, 0, 0, 0), 1, "a reserved"),
];

const METADATA: &str = "a cloud metadata";

/// What kind of address this is, with its article (`a private`); `None` for a public one.
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    specials(address)
        .find(|(block, _)| block.holds(address))
        .map(|(_, kind)| kind)
}

/// The blocks of this address's family.
fn specials(address: IpAddr) -> Box<dyn Iterator<Item = (AddressBlock, &'static str)>> {
    match address {
        IpAddr::V4(_) => Box::new(SPECIAL_V4.iter().map(|(first, bits, kind)| {
            (
                AddressBlock {
                    first: IpAddr::V4(*first),
                    bits: *bits,
                },
                *kind,
            )
        })),
        IpAddr::V6(_) => Box::new(SPECIAL_V6.iter().map(|(first, bits, kind)| {
            (
                AddressBlock {
                    first: IpAddr::V6(*first),
                    bits: *bits,
                },
                *kind,
            )
        })),
    }
}

impl AddressBlock {
    /// A single address.
    pub(super) fn one(address: IpAddr) -> AddressBlock {
        AddressBlock {
            first: address,
            bits: width(address),
        }
    }

    /// The addresses that share their first `bits` with `first`; `None` if `first` has other bits
    /// set.
    pub(super) fn new(first: IpAddr, bits: u8) -> Option<AddressBlock> {
        let block = AddressBlock { first, bits };
        (bits <= width(first) && value(first) & block.rest() == 0).then_some(block)
    }

    /// Whether it is entirely public, or entirely of one special kind. A mixed block would admit
    /// private addresses unnoticed.
    pub(super) fn of_one_kind(self) -> bool {
        let mut touched = specials(self.first)
            .filter(|(special, _)| special.meets(self))
            .peekable();
        touched.peek().is_none() || touched.any(|(special, _)| special.bits <= self.bits)
    }

    pub(super) fn is_public(self) -> bool {
        !specials(self.first).any(|(special, _)| special.meets(self))
    }

    /// Whether an entry with this block admits the address. Only its own entry admits a metadata
    /// address, because that address hands out credentials.
    pub(super) fn admits(self, address: IpAddr) -> bool {
        self.holds(address) && (self.is_one() || special(address) != Some(METADATA))
    }

    /// The block that both admit.
    pub(super) fn both(self, other: AddressBlock) -> Option<AddressBlock> {
        let (wide, narrow) = if self.bits <= other.bits {
            (self, other)
        } else {
            (other, self)
        };
        (wide.meets(narrow) && (!narrow.is_one() || wide.admits(narrow.first))).then_some(narrow)
    }

    fn is_one(self) -> bool {
        self.bits == width(self.first)
    }

    fn holds(self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4()
            && (value(self.first) ^ value(address)) & !self.rest() == 0
    }

    fn meets(self, other: AddressBlock) -> bool {
        self.holds(other.first) || other.holds(self.first)
    }

    /// A mask of the free bits. IPv4 addresses are the low bits of their value.
    fn rest(self) -> u128 {
        1u128
            .checked_shl(u32::from(width(self.first) - self.bits))
            .map_or(u128::MAX, |above| above - 1)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_one() {
            true => self.first.fmt(f),
            false => write!(f, "{}/{}", self.first, self.bits),
        }
    }
}
