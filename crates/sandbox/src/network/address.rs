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
/// its kind. Of IPv6, what is outside `2000::/3` and not here is reserved.
///
/// Addresses that carry another one inside (mapped, NAT64, 6to4, Teredo) are listed whatever they
/// carry: no public host needs them, and we cannot know what a gateway makes of them.
const SPECIAL: &[(AddressBlock, &str)] = &[
    (v4([169, 254, 169, 254], 32), METADATA),
    (v4([168, 63, 129, 16], 32), METADATA),
    (v4([100, 100, 100, 200], 32), METADATA),
    (v4([0, 0, 0, 0], 8), "an unspecified"),
    (v4([10, 0, 0, 0], 8), "a private"),
    (v4([100, 64, 0, 0], 10), "a carrier's private"),
    (v4([127, 0, 0, 0], 8), "a loopback"),
    (v4([169, 254, 0, 0], 16), "a link-local"),
    (v4([172, 16, 0, 0], 12), "a private"),
    (v4([192, 0, 0, 0], 24), "a reserved"),
    (v4([192, 0, 2, 0], 24), "a documentation"),
    (v4([192, 88, 99, 0], 24), "a relay"),
    (v4([192, 168, 0, 0], 16), "a private"),
    (v4([198, 18, 0, 0], 15), "a benchmark"),
    (v4([198, 51, 100, 0], 24), "a documentation"),
    (v4([203, 0, 113, 0], 24), "a documentation"),
    (v4([224, 0, 0, 0], 4), "a multicast"),
    (v4([240, 0, 0, 0], 4), "a reserved"),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), METADATA),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), "an unspecified"),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "a loopback"),
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), "an IPv4-mapped"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), "an IPv4-compatible"),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), "a translated"),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "a translated"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), "a Teredo"),
    (v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), "a benchmark"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "a reserved"),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "a documentation"),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "a 6to4"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "a documentation"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "a private"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "a link-local"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "a site-local"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "a multicast"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 3), "a reserved"),
    (v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 2), "a reserved"),
    (v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 1), "a reserved"),
];

const fn v4([a, b, c, d]: [u8; 4], bits: u8) -> AddressBlock {
    let first = IpAddr::V4(Ipv4Addr::new(a, b, c, d));
    AddressBlock { first, bits }
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], bits: u8) -> AddressBlock {
    let first = IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h));
    AddressBlock { first, bits }
}

const METADATA: &str = "a cloud metadata";

/// What kind of address this is, with its article (`a private`); `None` for a public one.
pub(super) fn special(address: IpAddr) -> Option<&'static str> {
    let mut special = SPECIAL.iter().filter(|(block, _)| block.holds(address));
    special.next().map(|(_, kind)| *kind)
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
        let mut touched = SPECIAL.iter().filter(|(special, _)| special.meets(self));
        self.is_public() || touched.any(|(special, _)| special.bits <= self.bits)
    }

    pub(super) fn is_public(self) -> bool {
        !SPECIAL.iter().any(|(special, _)| special.meets(self))
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
