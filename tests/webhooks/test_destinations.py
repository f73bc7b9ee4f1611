import pytest

from spanhook.errors import ConfigurationError
from spanhook.webhooks import DestinationError, Destinations
from tests.forking import children

pytestmark = pytest.mark.anyio

REFUSED = [
    "http://hooks.example/", "ftp://hooks.example/", "file:///etc/passwd", "gopher://hooks.example/",
    "//hooks.example/",
    "hooks.example", "", "https://", "https:///path", "https://ada:secret@hooks.example/", "https://@hooks.example/",
    "https://hooks.example/#a", "https://hooks.example/#", "https://hooks.example:22/", "https://hooks.example:25/",
    "https://hooks.example:99999/", "https://hooks.example:x/", "https://hooks.example\\@127.0.0.1/",
    "https://hooks.example/a b", "https://hooks.example/\r\nX: y", "https://hooks.example/\u00e9", "https://h\u00f6oks.example/",
    "https://127\u30020\u30020\u30021/", "https://\u2460\u2461\u2466.0.0.1/", "https://a..b/", "https://-a.example/", "https://*.example/",
    "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/", "https://127.0.1/",
    "https://0/", "https://127.0.0.1/", "https://127.0.0.1./", "https://0x7f.0.0.1/", "https://017700000001/",
    "https://8.8.8.8./", "https://134744072/", "https://0x08080808/", "https://08.8.8.8/", "https://8.8.8/", "https://8.8.8.0x8/",
    "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/", "https://[::1]/", "https://[::]/",
    "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[0:0:0:0:0:ffff:7f00:1]/", "https://[::127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/", "https://[64:ff9b::a9fe:a9fe]/", "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::]/",
    "https://[2002:a9fe:a9fe::1]/", "https://[2001:0:a00:1::1]/", "https://[2001:0:808:808::80ff:fffe]/", "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/", "https://[fd00:ec2::254]/", "https://[v1.fe80]/", "https://[1.2.3.4]/", "https://[::1",
    "https://hooks.example/" + "a" * 3000,
]  # fmt: skip
ALLOWED = {
    "https://hooks.example": ("hooks.example", 443, "/", "hooks.example"),
    "https://Hooks.Example:8443/a?b=c": ("hooks.example", 8443, "/a?b=c", "hooks.example:8443"),
    "HTTPS://hooks.example.:443/?x": ("hooks.example", 443, "/?x", "hooks.example."),
    "https://xn--hks-0na.example/%20": ("xn--hks-0na.example", 443, "/%20", "xn--hks-0na.example"),
    "https://8.8.8.8:80/": ("8.8.8.8", 80, "/", "8.8.8.8:80"),
    "https://[2606:4700::1111]:8443/": ("2606:4700::1111", 8443, "/", "[2606:4700::1111]:8443"),
}


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_is_refused_whatever_it_resolves_to(url: str) -> None:
    with pytest.raises(DestinationError):
        Destinations().parse(url)


@pytest.mark.parametrize("url", ALLOWED)
def test_a_url_that_is_allowed(url: str) -> None:
    found = Destinations().parse(url)
    assert (found.host, found.port, found.target, found.authority) == ALLOWED[url]
    assert found.secure


async def resolved(*addresses: str, networks: tuple[str, ...] = ()) -> list[str]:
    async def resolve(host: str, port: int) -> list[str]:
        assert (host, port) == ("hooks.example", 443)
        return list(addresses)

    destinations = Destinations(networks, resolve=resolve)
    return await destinations.addresses(destinations.parse("https://hooks.example/"))


async def test_all_addresses_of_a_name_are_checked() -> None:
    assert await resolved("8.8.8.8", "2606:4700::1111", "8.8.8.8") == ["8.8.8.8", "2606:4700::1111"]
    for one in (
        "127.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::1",
        "fe80::1%1",
    ):
        for addresses in ((one,), ("8.8.8.8", one), (one, "8.8.8.8")):
            with pytest.raises(DestinationError):
                await resolved(*addresses)
    with pytest.raises(DestinationError):
        await resolved("8.8.8.8", "2130706433")
    with pytest.raises(OSError, match="no address"):
        await resolved()


@pytest.mark.parametrize(
    ("url", "setting"), [("http://8.8.8.8/", "plain_http"), ("https://10.0.0.1/", "allowed_networks")]
)
def test_the_setting_that_would_allow_it_is_named(url: str, setting: str) -> None:
    with pytest.raises(DestinationError, match=f"the setting {setting}"):
        Destinations().parse(url)
    Destinations(["10.0.0.0/8"], plain_http=True).parse(url)


@pytest.mark.parametrize("name", ["localhost", "localhost.", "LOCALHOST"])
async def test_the_systems_own_names_are_checked_too(name: str) -> None:
    destinations = Destinations()
    with pytest.raises(DestinationError, match="not public"):
        await destinations.addresses(destinations.parse(f"https://{name}/"))


async def test_a_name_that_does_not_exist() -> None:
    destinations = Destinations()
    for name in ("nothing.invalid", f"{'a' * 63}.{'b' * 63}.invalid"):
        with pytest.raises(OSError):
            await destinations.addresses(destinations.parse(f"https://{name}/"))


async def test_only_configuration_allows_more() -> None:
    assert await resolved("10.1.2.3", networks=("10.1.0.0/16",)) == ["10.1.2.3"]
    with pytest.raises(DestinationError):
        await resolved("10.2.0.1", networks=("10.1.0.0/16",))
    assert not Destinations(plain_http=True).parse("http://hooks.example/").secure
    with pytest.raises(ConfigurationError, match="not a network"):
        Destinations(("10.1.2.3/16",))


_FORKED = """
import asyncio, os
from spanhook.webhooks import Destinations

destinations = Destinations(["127.0.0.0/8", "::1/128"])
destination = destinations.parse("https://localhost/")


def resolve():
    return asyncio.run(asyncio.wait_for(destinations.addresses(destination), 60))


found = resolve()
child = os.fork()
if not child:
    os._exit(0 if resolve() == found else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_names_are_resolved_after_a_fork() -> None:
    done = children.run("-c", _FORKED)
    assert (done.returncode, done.stderr) == (0, "")
