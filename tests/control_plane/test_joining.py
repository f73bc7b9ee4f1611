"""A process that is told by its file to follow a server, and what it takes from that server and what not."""

import base64
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import spanhook
from spanhook import ConfigurationError, Hooks
from spanhook.config import Follower, load_file
from spanhook.control_plane import Following, join, sealed
from tests.control_plane.answering import Answering, answering
from tests.control_plane.test_applying import definition, refund, refused, search

KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
PUBLIC = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()


def sent(tool: str, version: int = 1, tenant: str = "acme", key: Any = KEY, **settings: Any) -> bytes:
    """A set that denies a tool."""
    return sealed(tenant, version, definitions=[definition("a", tool)], policies=[], settings=settings, key=key)


@pytest.fixture
def server() -> Iterator[Answering]:
    with answering() as one:
        yield one


Joining = Callable[..., Following]


@pytest.fixture
def joining(tmp_path: Path, server: Answering) -> Iterator[Joining]:
    """Has this process follow the server; it asks when it is told to."""
    joined = list[Following]()

    def do(settings_of_file: str = "", **entry: Any) -> Following:
        path = tmp_path / "spanhook.yaml"
        given = "".join(f", {name}: {value}" for name, value in entry.items())
        path.write_text(f"control_plane: {{url: '{server.url}'{given}}}\n{settings_of_file}\n")
        file, policies = load_file(str(path)), Hooks()
        spanhook.instrument(policies, only=(), settings=file.settings({}))
        found = join(file, Follower(file, None, policies, {}))
        assert found is not None
        found.stop()
        joined.append(found)
        return found

    yield do
    for one in joined:
        one.stop()


def cache(tmp_path: Path) -> Path:
    return tmp_path / ".spanhook" / "hooks.json"


def test_what_the_server_says_at_the_start_is_in_force_at_once(joining: Joining, server: Answering) -> None:
    server.sends(sent("refund"))
    joining()
    assert refused() == {"refund"}


BAD = {
    "older": sent("search", 4),
    "unsigned": sent("search", 6, key=None),
    "signed by another": sent("search", 6, key=OTHER),
    "another tenant's": sent("search", 6, tenant="globex"),
    "another tenant's, of all": sent("search", 6, tenant=""),
    "damaged": sent("search", 6).replace(b"acme", b"bcme"),
    "no set": b"<html>",
    "with foreign settings": sent("search", 6, definitions_allow=["os"]),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_set_that_is_not_the_servers_newest_changes_nothing(
    joining: Joining, server: Answering, tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: str
) -> None:
    server.sends(sent("refund", 5))
    following = joining(public_key=PUBLIC)
    before = cache(tmp_path).read_bytes()
    server.sends(BAD[bad], '"2"')
    for _ in range(3):
        following.look()
    assert refused() == {"refund"}
    assert cache(tmp_path).read_bytes() == before
    assert caplog.text.count("has sent a set that") == 1
    assert "version 5 stays active" in caplog.text
    server.sends(sent("search", 6), '"3"')
    following.look()
    assert refused() == {"search"}


@pytest.mark.parametrize("bad", [name for name in BAD if name not in ("older", "with foreign settings")])
def test_what_is_kept_is_checked_in_the_same_way(
    joining: Joining, server: Answering, tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: str
) -> None:
    server.status = 503
    cache(tmp_path).parent.mkdir()
    cache(tmp_path).write_bytes(BAD[bad])
    cache(tmp_path).chmod(0o600)
    joining(public_key=PUBLIC, tenant="acme")
    assert refused() == {"drop", "refund", "search"}
    assert "its copy in" in caplog.text


def test_without_a_public_key_the_server_is_believed(joining: Joining, server: Answering) -> None:
    server.sends(sent("refund", 5, key=None))
    following = joining()
    server.sends(sent("search", 4, tenant="globex", key=None), '"2"')
    following.look()
    assert refused() == {"search"}


def test_the_expected_tenant_can_be_named(joining: Joining, server: Answering) -> None:
    server.sends(sent("refund", tenant="globex"))
    joining(tenant="acme", fail_mode="open")
    assert refused() == set()


def test_a_report_tells_what_is_in_force_and_what_is_not(joining: Joining, server: Answering) -> None:
    content = sealed(
        "acme",
        3,
        definitions=[definition("a", "refund"), definition("b", "x", handler_ref="acme.hooks:Missing")],
        policies=[],
        settings={},
        key=None,
    )
    server.sends(content)
    spanhook.instrument(named := Hooks(), only=())
    named.before("tool.execute", name="mine", priority=7)(lambda op: None)
    following = joining()
    following.look()
    (report,) = server.reports
    assert (report["set_version"], report["pid"]) == (3, os.getpid())
    assert report["hooks"] == [{"name": "mine", "kinds": ["tool.execute"], "priority": 7, "mode": "enforce"}]
    (problem,) = report["problems"]
    assert problem["subject"] == "b"


def test_what_is_missing_is_in_force_once_it_is_there(
    joining: Joining, server: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = definition("late", "x", handler_ref="late_hooks:Late", config={})
    server.sends(sealed("acme", 1, definitions=[late], policies=[], settings={}, key=None))
    following = joining(settings_of_file="settings: {definitions_allow: [late_hooks]}")
    assert refused() == set()
    (tmp_path / "late_hooks.py").write_text(LATE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(following, "_again", 0.0)
    following.look()
    assert refused() == {"drop", "refund", "search"}


LATE = """
import spanhook
from spanhook.definitions import handler

@handler
class Late:
    async def execute(self, context, call_next):
        raise spanhook.Reject("late")
"""


def test_a_handler_that_exits_when_it_is_imported_changes_nothing(
    joining: Joining,
    server: Answering,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.sends(sent("refund"))
    following = joining(settings_of_file="settings: {definitions_allow: [exiting_hooks]}")
    (tmp_path / "exiting_hooks.py").write_text("raise SystemExit(7)")
    monkeypatch.syspath_prepend(str(tmp_path))
    exiting = definition("exits", "x", handler_ref="exiting_hooks:Exits", config={})
    server.sends(sealed("acme", 2, definitions=[exiting], policies=[], settings={}, key=None), '"2"')
    following.look()
    assert refused() == {"refund"}
    assert "SystemExit: 7; version 1 stays active" in caplog.text


def test_metrics_tell_what_is_in_force(joining: Joining, server: Answering) -> None:
    reader = InMemoryMetricReader()
    spanhook.instrument(meter_provider=MeterProvider([reader]), only=())
    missing = definition("b", "x", handler_ref="acme.hooks:Missing")
    server.sends(sealed("acme", 3, definitions=[missing], policies=[], settings={}, key=None))
    following = joining()
    server.status = 503
    following.look()
    found = {name: points for name, points in measured(reader).items() if name.startswith("spanhook.control_plane.")}
    assert found.pop("spanhook.control_plane.age")[()] >= 0
    assert found == {
        "spanhook.control_plane.version": {(): 3},
        "spanhook.control_plane.missing": {(): 1},
        "spanhook.control_plane.errors": {(("error.type", "503"),): 1},
    }


def measured(reader: InMemoryMetricReader) -> dict[str, dict[Any, float]]:
    data: Any = reader.get_metrics_data()
    return {
        metric.name: {tuple(sorted(point.attributes.items())): point.value for point in metric.data.data_points}
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if hasattr(metric.data.data_points[0], "value")
    }


def test_reports_that_are_not_taken_do_not_keep_a_process_from_following(joining: Joining, server: Answering) -> None:
    server.report_status = 403
    server.sends(sent("refund"))
    following = joining()
    server.sends(sent("search", 2), '"2"')
    assert following.look() == 0.0
    assert refused() == {"search"}


def test_a_cache_that_cannot_be_written_is_told_and_does_no_harm(
    joining: Joining, server: Answering, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".spanhook").write_text("a file where the folder would be")
    server.sends(sent("refund"))
    joining()
    assert refused() == {"refund"}
    assert "cannot be kept" in caplog.text


def test_after_uninstrument_nothing_is_activated_again(joining: Joining, server: Answering) -> None:
    server.sends(sent("refund"))
    joining()
    spanhook.uninstrument()
    assert (refund(), search()) == ("paid", "found")


def test_a_missing_key_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACME_KEY", raising=False)
    path = tmp_path / "spanhook.yaml"
    path.write_text("control_plane: {url: 'https://control.example', api_key_env: ACME_KEY}")
    file = load_file(str(path))
    with pytest.raises(ConfigurationError, match="environment variable ACME_KEY is not set"):
        join(file, Follower(file, None, Hooks(), {}))


def test_a_file_that_names_none_follows_none(tmp_path: Path) -> None:
    path = tmp_path / "spanhook.yaml"
    path.write_text("version: 1")
    file = load_file(str(path))
    assert join(file, Follower(file, None, Hooks(), {})) is None


@pytest.mark.parametrize("signed", [True, False])
def test_processes_that_share_a_cache_keep_the_latest_set(
    joining: Joining, server: Answering, tmp_path: Path, signed: bool
) -> None:
    server.sends(sent("refund"))
    following = joining(**({"public_key": PUBLIC} if signed else {}))
    kept = cache(tmp_path).stat().st_ino
    another = sent("search", 3)
    cache(tmp_path).write_bytes(another)  # by a process that has asked later, and is told sooner
    server.sends(sent("refund", 2), '"2"')
    following.look()
    assert refused() == {"refund"}
    assert cache(tmp_path).read_bytes() == (another if signed else server.content)  # unsigned, versions may begin anew
    assert (cache(tmp_path).stat().st_ino == kept) is signed


def test_what_is_kept_already_is_not_written_again(joining: Joining, server: Answering, tmp_path: Path) -> None:
    server.sends(sent("refund"))
    following = joining()
    kept = cache(tmp_path).stat().st_ino
    server.sends(server.content, '"another name of it"')
    following.look()
    assert cache(tmp_path).stat().st_ino == kept
