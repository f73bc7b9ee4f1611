"""Which IP addresses are of the public internet, whatever they are wrapped in.

Python's ``is_global`` follows the registries of IANA, which call some addresses global that lead to others inside of
them (6to4, NAT64), and differs between versions. So this says what is global, and refuses the rest.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

IP = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_SPECIAL_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",  # a public address by which Azure's hosts serve their machines
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/3",  # multicast, reserved, broadcast
        ),
    )
)
"""What is not global of IPv4 (https://www.iana.org/assignments/iana-ipv4-special-registry)."""
_UNICAST = IPv6Network("2000::/3")
"""All that IANA has given away of IPv6."""
_SPECIAL_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
"""What is special of that (https://www.iana.org/assignments/iana-ipv6-special-registry)."""
_TEREDO, _6TO4 = IPv6Network("2001::/32"), IPv6Network("2002::/16")
_MAPPED, _NAT64 = IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
_32 = 0xFFFFFFFF


def embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to, or may lead to: IPv4-mapped (RFC 4291), translated (RFC 2765),
    NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo's server and client (RFC 4380), and ISATAP (RFC 5214).
    """
    number = int(address)
    if address in _MAPPED or address in _NAT64 or address in _TRANSLATED:
        yield IPv4Address(number & _32)
    elif address in _6TO4:
        yield IPv4Address(number >> 80 & _32)
    elif address in _TEREDO:
        yield IPv4Address(number >> 64 & _32)
        yield IPv4Address(~number & _32)
    if number >> 32 & _32 in _ISATAP:
        yield IPv4Address(number & _32)


def is_global(address: IP) -> bool:
    """Whether an address, and each that it leads to, is of the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in one for one in _SPECIAL_4)
    inside = list(embedded(address))
    if address.scope_id is not None or not all(map(is_global, inside)):
        return False
    if address in _MAPPED or address in _NAT64 or address in _TEREDO:
        return True
    return address in _UNICAST and not any(address in one for one in _SPECIAL_6)


def is_within(address: IP, networks: tuple[Network, ...]) -> bool:
    """Whether an address is in one of these networks, or leads only to addresses that are."""
    if any(address.version == one.version and address in one for one in networks):
        return True
    inside = list(embedded(address)) if isinstance(address, IPv6Address) else []
    return bool(inside) and all(is_within(one, networks) for one in inside)
