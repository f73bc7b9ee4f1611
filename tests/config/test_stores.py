"""Which store a policy uses."""

from pathlib import Path

import pytest

from spanhook.config import load_file
from spanhook.errors import ConfigurationFileError
from tests.config.conftest import Write
from tests.rules import Keeps


def used(path: str) -> str:
    """The address of the only policy's store."""
    (built,) = load_file(path).policies
    assert isinstance(built.hook, Keeps)
    return built.hook.store


def file(stores: str, with_: str = "") -> str:
    return f"stores: {{{stores}}}\npolicies: [{{use: keeps, id: a, with: {{{with_}}}}}]\n"


def test_without_stores_a_policy_keeps_its_own_default(write: Write) -> None:
    assert used(write("policies: [{use: keeps, id: a}]")) == "memory://"


def test_a_policy_uses_the_store_for_its_purpose(write: Write) -> None:
    assert used(write(file("default: 'memory://', counters: 'redis://127.0.0.1:6379/3'"))) == "redis://127.0.0.1:6379/3"


def test_otherwise_a_policy_uses_the_default_store(write: Write, tmp_path: Path) -> None:
    assert used(write(file("default: 'sqlite:///a.db', other: 'memory://'"))) == f"sqlite:///{tmp_path}/a.db"


def test_a_policy_may_name_a_store(write: Write) -> None:
    assert used(write(file("counters: 'memory://', far: 'redis://h:1/0'", "store: far"))) == "redis://h:1/0"


def test_a_policy_may_have_an_address_of_its_own(write: Write, tmp_path: Path) -> None:
    path = write(file("counters: 'memory://'", "store: 'sqlite:///own.db'"))
    assert used(path) == f"sqlite:///{tmp_path}/own.db"


def test_an_address_may_be_in_a_variable(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "rediss://:secret@h:6379/0")
    assert used(write(file("counters: {url_env: REDIS_URL}"))) == "rediss://:secret@h:6379/0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (file("counters: {url_env: NOT_SET}"), "spanhook.yaml:1: stores.counters: the environment variable NOT_SET"),
        (file("counters: x"), "spanhook.yaml:1: stores.counters: 'x': expected memory://"),
        (file("counters: 'sqlite://a.db'"), "spanhook.yaml:1: stores.counters: 'sqlite://a.db' names no SQLite file"),
        (
            file("a: 'memory://'", "store: b"),
            "spanhook.yaml:2: policies[0].with.store: store='b': stores has a",
        ),
        (file("a: 'memory://'", "store: 'ftp://b'"), "spanhook.yaml:2: policies[0].with.store: a store cannot be"),
        (file("a: {url: 'memory://'}"), "spanhook.yaml:1: stores.a: {'url': 'memory://'}: expected memory://"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(write: Write, text: str, said: str) -> None:
    with pytest.raises(ConfigurationFileError) as caught:
        load_file(write(text))
    assert str(caught.value.mistakes[0]).startswith(said)


def test_a_policy_is_made_anew_if_its_store_is_another(write: Write) -> None:
    before = load_file(write(file("counters: 'memory://'")))
    same = load_file(write(file("counters: 'memory://', other: 'memory://x'")), before.policies)
    other = load_file(write(file("counters: 'redis://h:1/0'")), same.policies)

    assert same.policies[0].hook is before.policies[0].hook
    assert other.policies[0].hook is not before.policies[0].hook
