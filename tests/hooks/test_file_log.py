"""Events as lines of JSON in files: what is in them, with how much content, and from which processes."""

import dataclasses
import gzip
import json
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import spanhook
from spanhook import ConfigurationError, Hooks, operation
from spanhook.config import load_file
from spanhook.diagnostics import internal
from spanhook.errors import ConfigurationFileError
from spanhook.gating import find, make
from spanhook.hooks.file_log import FileLog
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.store import RotatingFile
from spanhook.testing import recorder
from tests.forking import children


def entries(directory: Path) -> list[dict[str, Any]]:
    """Every line of the directory's files."""
    found: list[dict[str, Any]] = []
    for path in sorted(directory.glob("events-*")):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        found += [json.loads(line, parse_constant=refuse) for line in text.decode().splitlines()]
    return found


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@spanhook.agent("desk")
def desk(question: str = "hello") -> str:
    with operation("tool.execute", "look-up", request={"arguments": {"question": question}}):
        return f"answer to {question}"


def test_each_event_is_a_line(tmp_path: Path) -> None:
    with recorder(Hooks(make(find("file_log"), {"path": str(tmp_path)}))), spanhook.context(tenant_id="acme"):
        desk()
    start, end = entries(tmp_path)
    assert (start["type"], start["alias"]) == ("agent.invoke.pre", "agent:start")
    assert (end["type"], end["alias"], end["status"]) == ("agent.invoke.post", "agent:end", "success")
    assert (end["agent_name"], end["tenant_id"], end["tools_used"]) == ("desk", "acme", ["look-up"])
    assert start["trace_id"] == end["trace_id"] == f"{1:032x}"
    assert not {"input", "output"} & {*start, *end}


def test_only_the_events_that_are_asked_for(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path), events=["job:cancelled", "agent:end", "tool.execute.pre"])
    with recorder(Hooks(log)), suppress(OSError), operation("job", "desk"):
        desk()
        raise OSError
    assert [one["type"] for one in entries(tmp_path)] == ["tool.execute.pre", "agent.invoke.post"]


def test_filters_apply_as_to_other_hooks(tmp_path: Path) -> None:
    log = make(
        find("file_log"), {"path": str(tmp_path), "level": "trace"}, kinds=["agent.invoke"], tenant_id="acme", name="l"
    )
    with recorder(Hooks(log)):
        for tenant in ("acme", "globex"):
            with spanhook.context(tenant_id=tenant):
                desk()
    assert [(one["tenant_id"], one["type"]) for one in entries(tmp_path)] == [
        ("acme", "agent.invoke.pre"),
        ("acme", "agent.invoke.post"),
    ]


@pytest.mark.parametrize("content", ["none", "errors", "full"])
def test_content_is_kept_only_as_far_as_it_is_asked_for(tmp_path: Path, content: Any) -> None:
    with recorder(Hooks(FileLog(str(tmp_path), content=content, level="trace"))):
        desk("secret question")
        with suppress(ValueError), operation("tool.execute", "x"):
            raise ValueError("secret message")
    text = json.dumps(entries(tmp_path))
    assert ("secret message" in text) == (content != "none")
    assert ("secret question" in text) == (content == "full")
    failed = entries(tmp_path)[-1]
    assert failed["error"] == ("ValueError" if content == "none" else "secret message")
    assert failed["error_type"] == "ValueError"


def test_what_other_hooks_conceal_is_not_kept(tmp_path: Path) -> None:
    hooks = Hooks(PIIRedaction(), FileLog(str(tmp_path), content="full", level="trace"))
    with (
        recorder(hooks),
        suppress(ValueError),
        operation("agent.invoke", "desk", request={"inputs": "ann@example.org"}),
    ):
        raise ValueError("no mailbox bob@example.org")
    text = json.dumps(entries(tmp_path))
    assert "example.org" not in text
    assert "no mailbox" in text


def test_nothing_is_kept_of_what_could_not_be_concealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redaction = PIIRedaction()

    def fail(text: str) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(PIIRedaction, "conceal", lambda self, text: fail(text))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with recorder(Hooks(redaction, FileLog(str(tmp_path), content="full", events=["tool.execute.post"]))):
        internal.fatal = False
        with operation("tool.execute", "x", request={"arguments": {"a": "plain text"}}):
            pass
    (told,) = entries(tmp_path)
    assert "plain text" not in json.dumps(told)
    assert told["tool_name"] == "x"


def test_credentials_of_requests_are_not_kept(tmp_path: Path) -> None:
    request = {"inputs": {"method": "POST", "headers": {"authorization": "Bearer s3cret", "accept": "*/*"}}}
    log = FileLog(str(tmp_path), content="full", events=["request"])
    with recorder(Hooks(log)), operation("request", "POST /", request=request):
        pass
    assert "s3cret" not in json.dumps(entries(tmp_path))
    assert entries(tmp_path)[0]["input"]["headers"]["accept"] == "*/*"


@dataclasses.dataclass
class Order:
    amount: int


class Broken:
    def __str__(self) -> str:
        raise ZeroDivisionError


def test_content_of_every_type_is_json_or_said_to_be_unreadable(tmp_path: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)
    values: list[Any] = [
        Order(5), float("nan"), b"\x00", {1: 2}, {3}, 2**80, "\ud800", Broken(), endless, {("a", "b"): 1},
    ]  # fmt: skip
    with recorder(Hooks(FileLog(str(tmp_path), content="full", events=["tool.execute.pre"]))):
        for value in values:
            with operation("tool.execute", "x", request={"arguments": {"value": value}}):
                pass
    found = entries(tmp_path)
    read = [one["input"]["value"] for one in found if not one.get("input_unreadable")]
    assert read == [{"amount": 5}, "NaN", "00", {"1": 2}, ["3"], 2**63 - 1, "\ufffd"]
    assert len(found) == len(values)


def test_a_file_that_cannot_be_written_does_not_concern_the_application(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "logs"
    blocked.write_text("a file where the directory should be")
    with recorder(Hooks(FileLog(str(blocked)))) as seen:
        assert desk() == "answer to hello"
    assert "file_log" in caplog.text
    counted = seen.metrics()["spanhook.hook.decisions"]
    assert {told["spanhook.decision"] for told, _ in counted if told["spanhook.hook"] == "file_log"} == {"error"}


PROGRAM = """if True:
    import os, sys
    import spanhook
    from spanhook import Hooks, operation
    from spanhook.hooks.file_log import FileLog
    hooks = Hooks(FileLog(sys.argv[1], rotation="size", max_bytes=20_000, events=["agent:end"]))
    spanhook.instrument(hooks)
    def work(name):
        for number in range(100):
            with operation("agent.invoke", f"{name}-{number}"):
                pass
    work(f"{sys.argv[2]}-before")
    child = os.fork()
    work(f"{sys.argv[2]}-{'parent' if child else 'child'}")
    if child:
        assert os.waitpid(child, 0)[1] == 0
    else:
        hooks.flush()
        os._exit(0)
"""


def test_processes_and_their_forks_write_to_the_same_files(tmp_path: Path) -> None:
    if sys.version_info >= (3, 12):
        flags = ["-W", "ignore::DeprecationWarning"]  # of forking while there are threads
    else:
        flags = ["-W", "error"]
    started = [children.Child(*flags, "-c", PROGRAM, tmp_path, str(me)) for me in range(2)]
    assert [one.wait() for one in started] == [0, 0]
    RotatingFile(tmp_path).tidy()  # what they were compressing when they ended
    expected = [
        f"{me}-{who}-{number}" for me in range(2) for who in ("before", "parent", "child") for number in range(100)
    ]
    assert Counter(one["agent_name"] for one in entries(tmp_path)) == Counter(expected)


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": ""}, "path"),
        ({"file": "../x"}, "file"),
        ({"events": []}, "events"),
        ({"events": ["agent:ends"]}, "agent:end"),
        ({"rotation": "hourly"}, "rotation"),
        ({"max_bytes": 10}, "max_bytes"),
        ({"keep": -1}, "keep"),
        ({"content": "all"}, "content"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make(find("file_log"), settings)


def test_a_configuration_file_may_have_several_with_filters(tmp_path: Path) -> None:
    file = tmp_path / "spanhook.yaml"
    file.write_text(f"""
version: 1
policies:
  - use: file_log
    id: tools
    tools: [look-up]
    when: "arguments.question != 'private'"
    mode: shadow
    with: {{path: {tmp_path}, file: tools, events: ["tool:execute", "agent:end"]}}
  - use: file_log
    id: runs
    with: {{path: {tmp_path}}}
""")
    hooks = Hooks(*(one.hook for one in load_file(str(file)).policies))
    with recorder(hooks):
        desk("private")
        desk("public")
        with operation("tool.execute", "other"):
            pass
    (tools,) = tmp_path.glob("tools-*.jsonl")
    assert [json.loads(line)["type"] for line in tools.read_text().splitlines()] == ["tool.execute.post"]
    assert [one["type"] for one in entries(tmp_path)] == ["agent.invoke.pre", "agent.invoke.post"] * 2


def test_a_configuration_file_is_told_which_events_there_are_not(tmp_path: Path) -> None:
    file = tmp_path / "spanhook.yaml"
    file.write_text("""
version: 1
policies:
  - use: file_log
    id: log
    events: [tool.execute]
    with: {events: ["agent:end"]}
  - use: console_log
    id: console
    with: {events: ["agent:ends"]}
""")
    with pytest.raises(ConfigurationFileError) as error:
        load_file(str(file))
    (first, second) = error.value.mistakes
    assert "file_log runs on agent.invoke only" in first.message
    assert "unknown event 'agent:ends'" in second.message
