"""The guard of all HTTP: only public addresses, resolved once; and how long an answer asks to wait."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest

from connectors import outbound

SPECIAL = """
0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255 169.254.0.0
169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.9 192.0.0.10 192.0.0.170 192.0.2.1 192.31.196.1
192.52.193.1 192.88.99.1 192.168.0.0 192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.1.2.3 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
64:ff9b::7f00:1 64:ff9b::10.1.2.3 64:ff9b:1::7f00:1 64:ff9b:1::8.8.8.8 64:ff9b:1:7f00:0:100:: 64:ff9b:2::1
100::1 100:0:0:1::1 1fff::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:1::2 2001:2::1 2001:3::1
2001:4:112::1 2001:10::1 2001:20::1 2001:30::1 2001:db8::1 2002:7f00:1:: 2002:808:808::1 2620:4f:8000::1 3fff::1
3fff:fff:ffff::1 4000::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254 fe80::1 fec0::1 feff::1 ff00::1 ff02::1 ff0e::1
"""
PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 93.184.216.34 100.63.255.255 100.128.0.0 128.0.0.1 169.253.255.255 169.255.0.0
172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.1 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0
223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700::1111
2a00:1450:4001::1 3ffe::1
"""


@pytest.mark.parametrize("address", SPECIAL.split())
def test_addresses_that_are_not_public_are_known(address: str) -> None:
    assert not outbound.is_allowed(ip_address(address), ())


@pytest.mark.parametrize("address", PUBLIC.split())
def test_addresses_beside_the_special_ones_are_public(address: str) -> None:
    assert outbound.is_allowed(ip_address(address), ())


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.1.2.3", "10.0.0.0/8"),
        ("::ffff:10.1.2.3", "10.0.0.0/8"),
        ("64:ff9b::10.1.2.3", "10.0.0.0/8"),
        ("64:ff9b:1::10.1.2.3", "64:ff9b:1::/48"),
        ("fd00::7", "fd00::/8"),
    ],
)
def test_an_address_that_is_not_public_is_allowed_by_its_network(address: str, network: str) -> None:
    assert outbound.is_allowed(ip_address(address), (ip_network(network),))
    assert not outbound.is_allowed(ip_address(address), (ip_network("192.168.0.0/16"),))


def test_which_addresses_are_public_does_not_depend_on_the_version_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (IPv4Address, IPv6Address):
        for name in ("is_global", "is_private", "is_reserved"):
            monkeypatch.delattr(kind, name)

    assert outbound.is_allowed(ip_address("8.8.8.8"), ())
    assert not outbound.is_allowed(ip_address("fec0::1"), ())


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("", outbound.DEFAULT_PAUSE),
        ("soon", outbound.DEFAULT_PAUSE),
        ("99999999", 86_400),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0),
        ("Fri, 31 Dec 2100 23:59:59 GMT", 86_400),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_bounded(header: str, seconds: float) -> None:
    assert outbound.retry_after({"Retry-After": header}) == seconds
