from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.webhooks._addresses import is_global, is_within

PUBLIC = ["1.1.1.1", "8.8.8.8", "99.255.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "223.255.255.255"]
PUBLIC_6 = ["2606:4700:4700::1111", "2a00:1450:4001::1", "2620:4f:8000::1"]
SPECIAL = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.9.9.9", "168.63.129.16",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
    "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
    "255.255.255.255",
]  # fmt: skip
SPECIAL_6 = [
    "::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254",
    "ff02::1", "100::1", "2001:db8::1", "2001:2::1", "2001:10::1", "2001:20::1", "3fff::1", "5f00::1",
    "64:ff9b:1::808:808", "4000::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC + PUBLIC_6)
def test_public_addresses(address: str) -> None:
    assert is_global(ip_address(address))


@pytest.mark.parametrize("address", SPECIAL + SPECIAL_6)
def test_special_addresses(address: str) -> None:
    assert not is_global(ip_address(address))


def wrapped(address: IPv4Address) -> dict[str, IPv6Address]:
    """All the ways in which an IPv6 address leads to one of IPv4."""
    number = int(address)
    return {
        "mapped": IPv6Address(0xFFFF << 32 | number),
        "NAT64": IPv6Address(0x64FF9B << 96 | number),
        "6to4": IPv6Address(0x2002 << 112 | number << 80 | 1),
        "Teredo client": IPv6Address(0x20010000 << 96 | 0x08080808 << 64 | (~number & 0xFFFFFFFF)),
        "Teredo server": IPv6Address(0x20010000 << 96 | number << 64 | (~0x08080808 & 0xFFFFFFFF)),
        "ISATAP": IPv6Address(0x26064700 << 96 | 0x00005EFE << 32 | number),
        "ISATAP, global": IPv6Address(0x26064700 << 96 | 0x02005EFE << 32 | number),
    }


@pytest.mark.parametrize("address", SPECIAL)
def test_a_special_address_stays_one_however_it_is_wrapped(address: str) -> None:
    assert not any(map(is_global, wrapped(IPv4Address(address)).values()))
    assert not is_global(IPv6Address(0xFFFF << 48 | int(IPv4Address(address))))
    assert not is_global(IPv6Address(int(IPv4Address(address))))


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_stays_one(address: str) -> None:
    assert [how for how, one in wrapped(IPv4Address(address)).items() if not is_global(one)] == []


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_public(address: IPv4Address | IPv6Address) -> None:
    assert not (is_global(address) and (address.is_loopback or address.is_link_local or address.is_multicast))
    assert not (is_global(address) and address.version == 4 and address.is_private)


def test_networks_that_are_allowed() -> None:
    networks = (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))
    assert is_within(ip_address("10.1.2.3"), networks)
    assert is_within(ip_address("::ffff:10.1.2.3"), networks)
    assert is_within(ip_address("fd00::1"), networks)
    assert not is_within(ip_address("10.2.0.1"), networks)
    assert not is_within(ip_address("::ffff:10.2.0.1"), networks)
    assert not is_within(ip_address("fe80::1"), networks)
