"""The command ``spanhook conformance``: that what holds is told, that what does not is, and that it stays apart."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

import spanhook
from spanhook.cli.conformance import _fix, examine  # pyright: ignore[reportPrivateUsage]
from spanhook.cli.conformance.checks import CHECKS, checks_of
from spanhook.cli.conformance.checks.cells import FAILED, NONE, NOT_GATED, OK, Cell, ways_of
from spanhook.cli.conformance.children import environment, fill
from spanhook.cli.conformance.costs import COSTS, IMPORT, Cost
from spanhook.cli.conformance.libraries.langchain_core import SUBJECTS
from spanhook.cli.conformance.matrix import LIBRARIES, Library, Row, quick_rows, rows
from spanhook.cli.conformance.printing import COLUMNS, print_report
from spanhook.cli.conformance.progress import Progress
from spanhook.cli.conformance.report import Absent, Line, Report
from spanhook.cli.conformance.schedule import Schedule, schedule
from spanhook.cli.conformance.subject import Body, Broken, Subject
from spanhook.engine import registry
from spanhook.instrument import INSTRUMENTORS, instrumentor_of
from tests.commands import Folder
from tests.thinning import a_fifth

README = Path(__file__).parents[2] / "README.md"
TOOL = next(subject for subject in SUBJECTS if subject.name == "tool")


def checked(subject: Subject, name: str = "way", library: str = "") -> dict[str, Cell]:
    way = next(way for way in ways_of(subject, library) if way.name == name)
    return {column: check() for column, check in checks_of(way).items()}


def using(use: Callable[[Any], Any], subject: Subject = TOOL) -> dict[str, Cell]:
    """What comes of calling a tool in a way of one's own."""
    return checked(replace(subject, ways={"way": use}, bind={}))


def failures(cells: dict[str, Cell]) -> dict[str, str]:
    return {column: cell.why for column, cell in cells.items() if cell.state == FAILED}


# ----------------------------------------------------------------------------------------------- checks


IDLE = {"usage", "cancelled", "left", "edited", "foreign"}
"""Columns with nothing to check for a tool that is called once and reports no tokens."""


@pytest.mark.parametrize("name", a_fifth(["stream", "invoke", "ainvoke", "batch", "invoke (kept)"]))
def test_what_is_gated_is_ok(name: str) -> None:
    cells = checked(TOOL, name, "langchain_core")
    assert {column: cell.state for column, cell in cells.items()} == {
        column: "n/a" if column in IDLE else "exact" if column == "coerced" else OK for column in CHECKS
    }


def test_what_goes_around_the_gate_fails_every_check_of_it() -> None:
    assert failures(using(lambda tool: tool.func("x"))) == {
        "denied": "a hook refused it, and the call was made",
        "async": "an async hook before the call ran 0 times; calls: 1",
        "timeout": "a hook refused it, and the call was made",
        "rewritten": "a hook rewrote the request, and the original one arrived",
        "answered": "a hook answered, and the call was made",
        "held": "a hook replaced the output, and the caller got 'found'",
        "window": "a hook rewrote the text, and 'found' got out",
        "once": "0 operations, 0 runs of before hooks, 0 runs of after hooks, where there was 1 call",
        "errors": "an exception: the call failed, and its operation did not",
        "unsampled": "a hook refused it, and the call was made",
        "disabled": "a hook refused it, and the call was made",
        "exporter": "the exporter is down, a hook refused it, and the call was made",
    }


def test_names_that_are_not_read_as_their_characters_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    way = next(way for way in ways_of(TOOL, "langchain_core") if way.name == "invoke")
    named = checks_of(way)["named"]
    assert named() == Cell(OK)
    monkeypatch.setattr("spanhook.model.identity.exact_text", str)  # of the tenant
    assert named() == Cell(FAILED, "a hook refused it, and the call was made")


def test_a_refusal_that_is_swallowed_fails() -> None:
    def swallowing(tool: StructuredTool) -> Any:
        try:
            return tool.invoke({"query": "x"})
        except Exception:
            return "never mind"

    why = "a hook refused it, and the caller got 'never mind'"
    assert failures(using(swallowing)) == {
        **dict.fromkeys(("denied", "async", "timeout", "unsampled", "disabled"), why),
        "exporter": f"the exporter is down, {why}",
    }


@pytest.mark.slow
def test_a_call_that_is_two_fails() -> None:
    twice = using(lambda tool: [tool.invoke({"query": "x"}), tool.invoke({"query": "x"})])
    told = "2 operations, 2 runs of before hooks, 2 runs of after hooks, where there was 1 call"
    assert failures(twice) == {
        **dict.fromkeys(("once", "unsampled", "disabled"), told),
        "async": "an async hook before the call ran 2 times; calls: 1",
    }


@pytest.mark.slow
def test_tokens_counted_otherwise_than_used_fail() -> None:
    def make(body: Body) -> Any:
        body.tokens = 1
        return TOOL.make(body)

    cells = using(lambda tool: tool.invoke({"query": "x"}), replace(TOOL, make=make))
    assert failures(cells) == dict.fromkeys(("usage", "unsampled"), "0 tokens were counted, but 1 were used")


def _is_hooked() -> bool:
    return bool(registry.plans)


@pytest.mark.slow
def test_a_caller_that_can_tell_fails() -> None:
    """Of a library whose results differ while it is instrumented."""
    cells = using(lambda tool: (tool.invoke({"query": "x"}), _is_hooked()))
    found = failures(cells)
    assert {"allowed", "timeout", "disabled", "exporter"} <= found.keys()
    assert found["allowed"] == (
        "without spanhook the caller gets ('tuple', [('str', 'found x'), ('bool', False)]), "
        "with it ('tuple', [('str', 'found x'), ('bool', True)])"
    )


@pytest.mark.slow
def test_a_caller_that_can_tell_without_hooks_fails() -> None:
    def telling(tool: StructuredTool) -> Any:
        is_bound = bool(instrumentor_of("langchain_core").states)
        return tool.invoke({"query": "x"}), is_bound and not _is_hooked()

    assert failures(using(telling)) == {
        "allowed": "without hooks the caller gets ('tuple', [('str', 'found x'), ('bool', True)]), "
        "without spanhook ('tuple', [('str', 'found x'), ('bool', False)])"
    }


@pytest.mark.slow
def test_an_error_that_changes_on_its_way_fails() -> None:
    def changing(tool: StructuredTool) -> Any:
        try:
            return tool.invoke({"query": "x"})
        except Broken as error:
            if _is_hooked():
                raise ValueError("something else") from error
            raise

    found = failures(using(changing))
    assert found.keys() == {"errors"}
    assert found["errors"].startswith("an exception: without spanhook the caller gets (<class '")


@pytest.mark.slow
def test_a_call_that_goes_on_when_it_is_cancelled_fails() -> None:
    async def stubborn(tool: StructuredTool) -> Any:
        made = asyncio.ensure_future(asyncio.to_thread(tool.invoke, {"query": "x"}))
        try:
            return await asyncio.shield(made)
        except asyncio.CancelledError:
            return await made

    cells = using(stubborn, replace(TOOL, slow=True))
    assert cells["cancelled"] == Cell(FAILED, "the task of the call was cancelled, and the call went on")


@pytest.mark.slow
def test_a_stream_that_is_left_but_not_gated_fails() -> None:
    def chunks(_tool: StructuredTool) -> Iterator[str]:
        yield from "ab"

    cells = using(lambda tool: tool.invoke({"query": "x"}), replace(TOOL, opened={"way": chunks}))
    assert failures(cells) == {"left": "the stream was closed after its first chunk, and its status is unknown"}


def test_what_the_caller_makes_of_chunks_must_not_reach_hooks() -> None:
    def chunks(_tool: StructuredTool) -> Iterator[dict[str, str]]:
        said = {"text": "found"}
        with spanhook.operation("llm.call", "own") as op:
            yield said
            op.result_of(said["text"])

    subject = replace(TOOL, kind="llm.call", opened={"way": chunks}, ways={"way": lambda tool: tool}, bind={})
    assert checked(subject)["edited"] == Cell(FAILED, "the caller edited chunks, and ['found'] became ['edited']")


@pytest.mark.slow
def test_content_in_telemetry_fails() -> None:
    cells = using(lambda tool: tool.invoke({"query": "x"}), replace(TOOL, asked="look_up"))  # the name of the tool
    found = failures(cells)
    assert found.keys() == {"content"}
    assert found["content"].startswith("content is off, and telemetry shows 'look_up': ")


def test_what_is_not_restored_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    before = BaseTool.run

    def taken(tool: StructuredTool) -> Callable[[], Any]:
        if _is_hooked():
            monkeypatch.setattr(BaseTool, "run", lambda *args, **kwargs: before(*args, **kwargs))
        return lambda: tool.invoke({"query": "x"})

    [way] = ways_of(replace(TOOL, ways={}, bind={"way": taken}))
    told = checks_of(way)["restored"]()
    assert told == Cell(FAILED, "langchain_core.tools.base.BaseTool.run is not the function it was")


def test_what_raises_fails_with_what_it_said() -> None:
    def broken(tool: StructuredTool) -> Any:
        raise ConnectionError("cut\noff")

    found = failures(using(broken))
    gone = (ConnectionError, "cut\noff", None, type(None), list[Any]())
    told = [found.pop(column) for column in ("allowed", "errors", "restored")]
    assert told == [
        "hooks allowed it, and the call was not made",
        "an exception: the call failed, and its operation did not",
        f"spanhook was removed, and the caller gets {gone!r}",
    ]
    assert set(found.values()) == {"ConnectionError: cut off"}


def test_a_way_that_this_version_lacks_is_not_tried() -> None:
    cells = checked(replace(TOOL, ways={}, bind={}, lacking=("way",)))
    assert cells == dict.fromkeys(CHECKS, NONE)


def test_every_check_has_its_column() -> None:
    assert set(CHECKS) == set(COLUMNS)


@pytest.mark.parametrize("library", [one.name for one in LIBRARIES.values() if one.version])
def test_what_is_said_not_to_be_gated_is_not(library: str) -> None:
    found = [row for row in rows(library) if row.note == "documented as not gated"]
    assert len(found) > 0 or library not in INSTRUMENTORS
    for row in found:
        assert row.checks["denied"]().state == NOT_GATED, row.subject


@pytest.mark.parametrize("library", [one for one in COSTS if LIBRARIES[one].version])
def test_costs_are_recorded_anew_when_there_are_many_more_ways(library: str) -> None:
    every = rows(library)  # older versions may have fewer
    assert len(every) <= 1.5 * COSTS[library].ways
    assert len(quick_rows(every)) <= 1.5 * COSTS[library].quick_ways


# ----------------------------------------------------------------------------------------------- the command


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_library_that_is_not_known_or_not_there(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIBRARIES, "absent", Library("absent", "spanhook-absent", "openai"))
    for name, told in (
        ("nonsense", f"unknown; expected one of {', '.join(LIBRARIES)}"),
        ("lang-chain_cor", f"unknown; expected one of {', '.join(LIBRARIES)}; did you mean 'langchain_core'?"),
        ("absent", 'not installed; pip install "spanhook[openai]"'),
    ):
        ran = folder.here("conformance", "--library", name)
        assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"spanhook: --library {name}: {told}\n")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("langchain", "langchain"), ("LangChain-Core", "langchain_core"), (" OpenAI ", "openai"), ("bedrock", "botocore")],
)
def test_a_library_goes_by_every_name(given: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fill(planned: Schedule, _progress: object) -> list[Line]:
        asked.extend(planned.ways)
        return []

    monkeypatch.setattr("spanhook.cli.conformance.children.fill", fill)
    examine([given])
    assert asked == [expected]


def test_how_a_library_is_installed_that_no_extra_brings() -> None:
    assert _fix(Library("langchain_aws", "langchain-aws")) == "pip install langchain-aws"


REPORT = Report(
    spanhook="1",
    python="3",
    executable="python",
    lines=[
        Line("openai", "3.1", "chat", "create", cells=dict.fromkeys(CHECKS, Cell(OK))),
        Line("openai", "3.1", "chat", "raw", cells={**dict.fromkeys(CHECKS, NONE), "once": Cell(FAILED, "two\nlines")}),
        Line("openai", "3.1", "chat", "v3", "not in this version", dict.fromkeys(CHECKS, NONE)),
        Line("openai", "3.1", "graph", "stream", cells={**dict.fromkeys(CHECKS, Cell(OK)), "held": Cell(NOT_GATED)}),
        Line("groq", "1.0", "files", "", "documented", {**dict.fromkeys(CHECKS, NONE), "denied": Cell(NOT_GATED)}),
    ],
    absent=[Absent("langgraph", "pip install it")],
    unsupported=["openai 3.1 is odd"],
    seconds=2.4,
)


def test_the_report_for_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    print_report(REPORT)
    shown = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[:2] == ["spanhook 1, Python 3 (python)", ""]
    assert lines[2:].index("") == len(CHECKS) + 1
    numbers = " ".join(map(str, range(1, len(CHECKS) + 1)))
    assert lines[lines.index("", 2) + 1 :] == [
        "+ holds, X FAILED, ! not gated or not held, as documented, . nothing to check",
        "",
        f"openai 3.1 {numbers}",
        f"chat, create {' '.join('+' for _ in CHECKS)}",
        f"chat, raw {' '.join('X' if one == 'once' else '.' for one in CHECKS)}",
        f"chat, v3 {' '.join('.' for _ in CHECKS)} not in this version",
        f"graph, stream {' '.join('!' if one == 'held' else '+' for one in CHECKS)}",
        "",
        f"groq 1.0 {numbers}",
        f"files ! {' '.join('.' for _ in list(CHECKS)[1:])} documented",
        "",
        "Not installed",
        "langgraph pip install it",
        "",
        "What failed",
        "openai chat, raw: once: two",
        "lines",
        "",
        "openai 3.1 is odd",
        "",
        "5 ways of calling: 2 hold, 1 FAILED, 1 not gated, as documented, 1 not in this version; in 2 s",
    ]
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_report(REPORT)
    assert "\x1b[31mX\x1b[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    print_report(REPORT)
    assert capsys.readouterr().out == shown


def test_the_report_for_machines() -> None:
    document = json.loads(json.dumps(REPORT.as_json()))
    assert document["exit_code"] == 1
    assert document["counts"] == {"ok": 2, "FAILED": 1, "not gated": 1, "n/a": 1}
    assert document["rows"][1]["checks"]["once"] == {"state": "FAILED", "why": "two\nlines"}


def test_a_quick_report_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    quick = replace(REPORT, quick=True, ways=20)
    print_report(quick)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "--quick tried 5 of 20 ways of calling: one subject of each kind, in one way"
    assert [quick.as_json()[name] for name in ("quick", "ways", "exit_code")] == [True, 20, 1]


def test_quick_takes_a_subject_of_each_kind_and_the_ways_by_turns() -> None:
    every = [
        *(Row(one, way, {}, kind="llm.call") for one in ("chat", "responses", "search") for way in ("call", "acall")),
        *(Row(one, way, {}, kind="agent.invoke") for one in ("crew", "agent") for way in ("call", "acall")),
        Row("odd", "new", {}, "not in this version", "tool.execute"),
        Row("odd", "call", {}, kind="tool.execute"),
        Row("files", "", {}, "documented as not gated"),
        Row("batches", "", {}, "documented as not gated"),
    ]
    assert [(row.subject, row.way) for row in quick_rows(every)] == [
        ("chat", "call"),
        ("agent", "acall"),
        ("odd", "call"),
        ("files", ""),
        ("batches", ""),
    ]


# ----------------------------------------------------------------------------------------------- schedule, progress


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "spanhook.cli.conformance.costs.COSTS", {"openai": Cost(100, 10, 80.0, 12.0), "groq": Cost(10, 5, 5.0, 3.0)}
    )


BOTH = [Library("openai", "openai"), Library("groq", "groq")]


@pytest.mark.usefixtures("costs")
def test_long_libraries_are_divided_so_that_all_cores_have_work() -> None:
    planned = schedule(BOTH, cores=2)
    assert (planned.cores, planned.processes) == (2, 3)
    assert [(one.library.name, one.number, one.of) for one in planned.portions] == [
        *(("openai", number, 4) for number in range(4)),
        ("groq", 0, 1),
    ]
    assert planned.longest_first()[-1].library.name == "groq"
    assert planned.ways == {"openai": 100, "groq": 10}
    assert planned.seconds == planned.work / 2 == pytest.approx((85 + 3 * IMPORT) / 2)
    alone = schedule(BOTH, cores=1)
    assert ([one.of for one in alone.portions], alone.processes, alone.seconds) == ([1, 1], 2, 85.0)
    quick = schedule(BOTH, quick=True, cores=8)
    assert quick.ways == {"openai": 10, "groq": 5}
    assert (quick.processes, quick.seconds) == (3, (12.0 + IMPORT) / 2)


@pytest.mark.usefixtures("costs")
def test_progress_is_for_terminals(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    planned = schedule(BOTH, cores=2)
    line = Line("openai", "3.1", "chat", "create", cells={"denied": Cell(FAILED)})
    beforehand = "About 110 ways of calling 2 libraries, in 3 processes: about 45 s.\n"
    for quiet, shown in ((False, beforehand), (True, "")):
        progress = Progress(planned, quiet=quiet)
        progress(line)
        progress.end()
        assert capsys.readouterr() == ("", shown)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("time.monotonic", iter((0.0, 10.0, 20.0)).__next__)
    progress = Progress(planned, quiet=True)
    progress(line)
    planned.ways["openai"] = 1  # its process has reported it
    progress(line)
    progress.end()
    assert capsys.readouterr() == (
        "",
        beforehand
        + "\r\x1b[K1 of 110 ways of calling checked, 1 FAILED; 10 s, about 80 s left; openai: chat, create"
        + "\r\x1b[K2 of 11 ways of calling checked, 2 FAILED; 20 s, about 5 s left; openai: chat, create"
        + "\r\x1b[K",
    )


def test_children_get_nothing_of_the_users(tmp_path: Path) -> None:
    from spanhook.bootstrap import SITE

    given = {
        "PATH": "/bin",
        "OTEL_TRACES_EXPORTER": "otlp",
        "SPANHOOK_HOOKS": "x",
        "LANGSMITH_TRACING": "true",
        "OPENAI_API_KEY": "secret",
        "https_proxy": "http://nowhere",
        "ALL_PROXY": "http://nowhere",
        "PYTHONPATH": os.pathsep.join((SITE, str(tmp_path))),
    }
    assert environment(given) == {"PATH": "/bin", "PYTHONPATH": str(tmp_path)}


# ----------------------------------------------------------------------------------------------- in child processes

AROUND = """
from langchain_core.tools import BaseTool

def invoke(self, input, config=None, **kwargs):
    return self.func(**input)

BaseTool.invoke = invoke
"""

FEWER = """
from spanhook.cli.conformance.libraries import langchain_core

langchain_core.SUBJECTS = tuple(one for one in langchain_core.SUBJECTS if one.name in {})
"""
"""Those alone are called that it is about, and one beside them."""

LOSING = """
import asyncio, os
from langchain_core.embeddings import Embeddings

async def aembed_documents(self, texts):
    os.write(2, b"that was it\\n")
    os._exit(7)

async def aembed_query(self, text):
    await asyncio.Event().wait()

Embeddings.aembed_documents, Embeddings.aembed_query = aembed_documents, aembed_query
"""


def code_of_the_users(folder: Folder, code: str) -> str:
    """A ``PYTHONPATH`` of which every Python runs ``code`` first."""
    folder.file("theirs/sitecustomize.py", code)
    return str(folder.path / "theirs")


@pytest.mark.slow
def test_a_gate_that_is_broken_here(folder: Folder) -> None:
    ran = folder.spanhook(
        "conformance",
        "--library",
        "langchain_core",
        "--json",
        PYTHONPATH=code_of_the_users(folder, AROUND + FEWER.format(("tool", "async tool"))),
    )
    assert ran.returncode == 1, ran.stderr
    document = json.loads(ran.stdout)
    assert document["exit_code"] == 1
    denied = {(row["subject"], row["way"]) for row in document["rows"] if row["checks"]["denied"]["state"] == "FAILED"}
    assert {("tool", "invoke"), ("tool", "invoke (kept)"), ("tool", "stream"), ("tool", "batch")} <= denied
    assert {subject for subject, _ in denied} == {"tool"}
    assert ("tool", "run") not in denied


@pytest.mark.slow
def test_what_ends_its_process_or_never_returns_loses_no_other(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    subjects = ("embeddings", "async tool", "a tool's function, by its own name")
    monkeypatch.setenv("PYTHONPATH", code_of_the_users(folder, LOSING + FEWER.format(subjects)))
    told: list[Line] = []
    lines = fill(schedule([LIBRARIES["langchain_core"]], cores=1), told.append, patience=15.0)
    assert told == lines
    expected = [row for row in rows("langchain_core") if row.subject in subjects]
    assert [row.name for row in told] == [f"{row.subject}, {row.way}".rstrip(", ") for row in expected]
    assert {row.subject for row in expected} == {*subjects}
    failed = {line.name: cell.why for line in lines for cell in line.cells.values() if cell.state == FAILED}
    assert failed.keys() == {"embeddings, adocuments", "embeddings, aquery"}
    assert failed["embeddings, adocuments"] == "it ended its process with exit code 7\nthat was it"
    assert failed["embeddings, aquery"].startswith("it did not return\n")
    assert "in select" in failed["embeddings, aquery"]


@pytest.mark.slow
def test_a_library_that_cannot_be_imported(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.file("theirs/openai.py", "raise RuntimeError('not today')")
    monkeypatch.setenv("PYTHONPATH", str(folder.path / "theirs"))
    planned = schedule([LIBRARIES["openai"]], cores=2)
    assert len(planned.portions) > 1
    (line,) = fill(planned, lambda _line: None)
    assert (line.name, line.state) == ("start of its checks", FAILED)
    assert line.cells["denied"].why.splitlines()[-1] == "RuntimeError: not today"


@pytest.mark.slow
def test_json_alone_whatever_the_user_has(folder: Folder) -> None:
    folder.file("spanhook.yaml", "nonsense: true")
    folder.file("groq.py", "raise SystemExit('mine')")
    theirs = {
        "SPANHOOK_HOOKS": "./none.py:hooks",
        "OTEL_TRACES_EXPORTER": "nonsense",
        "HTTP_PROXY": "http://127.0.0.1:1",
    }
    ran = folder.spanhook("conformance", "--library", "groq", "--json", **theirs)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {row["library"] for row in json.loads(ran.stdout)["rows"]} == {"groq"}


class Terminal:
    """The command, started on a pseudo-terminal."""

    def __init__(self, folder: Folder, *arguments: str) -> None:
        import pty

        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "spanhook", "conformance", *arguments]
        env = {**environment(dict(os.environ)), "TERM": "xterm", "COLUMNS": "120"}
        env.pop("NO_COLOR", None)
        heeding = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
        self.process = subprocess.Popen(
            command, cwd=folder.path, env=env, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=heeding
        )
        os.close(theirs)
        self._shown = b""

    def read(self, until: str = "") -> str:
        """What has been shown, as soon as it has ``until`` in it, or at the end."""
        while not until or until not in self._shown.decode(errors="replace"):
            try:
                read = os.read(self._ours, 65536)
            except OSError:  # the other end is closed
                break
            if not read:
                break
            self._shown += read
        return self._shown.decode()

    def close(self) -> None:
        os.close(self._ours)


@pytest.mark.slow
def test_progress_on_a_terminal(folder: Folder) -> None:
    terminal = Terminal(folder, "--library", "own_code", "--quick")
    text = terminal.read()
    terminal.close()
    assert terminal.process.wait(60) == 0
    beforehand, _, rest = text.partition("\r\n")
    assert re.fullmatch(r"About \d+ ways of calling 1 library, in 1 process: about \d+ s\.", beforehand)
    assert re.search(r"\r\x1b\[K1 of \d+ ways of calling checked; \d+ s, about \d+ s left; own_code: ", rest)
    shown = rest[rest.rindex("\r\x1b[K") :]
    assert shown.startswith("\r\x1b[Kspanhook ")  # the line is cleared before the report
    assert "\x1b[32m+\x1b[0m" in shown
    assert re.search(r"--quick tried (\d+) of \d+ ways of calling: one subject of each kind, in one way", shown)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds child processes in /proc, which Linux has")
def test_an_interrupt_ends_every_process(folder: Folder) -> None:
    terminal = Terminal(folder, "--library", "own_code")
    terminal.read(until="ways of calling checked")
    children = children_of(terminal.process.pid)
    assert children
    terminal.process.send_signal(signal.SIGINT)
    text = terminal.read()
    terminal.close()
    assert terminal.process.wait(60) == 130
    assert text.endswith("\r\x1b[K\r\nspanhook: stopped\r\n")
    assert [one for one in children if Path(f"/proc/{one}").exists()] == []


def children_of(process: int) -> list[int]:
    """The processes that a process has started."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
    return found


@pytest.mark.slow
def test_quick_says_what_it_left_out(folder: Folder) -> None:
    ran = folder.spanhook("conformance", "--library", "own_code", "--quick", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    document = json.loads(ran.stdout)
    assert (document["quick"], document["ways"]) == (True, len(rows("own_code")))
    tried = [(row.subject, row.way) for row in quick_rows(rows("own_code"))]
    assert [(row["subject"], row["way"]) for row in document["rows"]] == tried
    assert all(row["checks"].keys() == CHECKS.keys() for row in document["rows"])


IN_THE_DEMO = {"own_code", "langchain", "langchain_openai", "langgraph"}
"""What CI checks where the README's command for the demo has been run; README shows what comes of others, too."""


@pytest.mark.slow
def test_everything_that_is_installed_keeps_its_promises(capsys: pytest.CaptureFixture[str]) -> None:
    apart = {path.stem.rpartition("-")[0] for path in (README.parent / ".ci/libraries").iterdir()} | IN_THE_DEMO
    here = [one.name for one in LIBRARIES.values() if one.version and one.name not in apart]  # others elsewhere in CI
    report = examine(here)
    assert {line.name: line.cells for line in report.lines if line.state == FAILED} == {}
    assert {line.library for line in report.lines} == {*here}
    print_report(report)
    shown = even(capsys.readouterr().out)
    [told] = re.findall(r"^```text\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert [line for line in even(told) if line not in shown] == []


def even(text: str) -> list[str]:
    """The lines of ``text`` without what differs from time to time."""
    return [re.sub(r"\d[\d.]*", "#", " ".join(line.split())) for line in text.splitlines()]
