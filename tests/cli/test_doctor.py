"""``spanhook doctor``: what it sees, what it says of it, and the exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spanhook.cli.doctor.loader import loader
from spanhook.cli.doctor.others import others
from spanhook.cli.doctor.variables import examine, usable
from spanhook.config.presence import Presence
from spanhook.config.reading import read
from spanhook.instrument import INSTRUMENTORS, KNOWN, idle
from tests.commands import HOOKS, SPANHOOK, Folder
from tests.control_plane.answering import answering
from tests.here import BOUND
from tests.standin import BY_NAME, library


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def installed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Distributions that seem to be installed: called with a name, a version and entry points by group."""
    monkeypatch.syspath_prepend(folder.path)

    def install(name: str, version: str = "1.0", **groups: str) -> None:
        for module in [one for one in sys.modules if one.partition(".")[0] == name.replace("-", "_")]:
            monkeypatch.delitem(sys.modules, module)  # no other test has imported it
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        folder.file(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"[{group}]\n{entry} = some.module:thing" for group, entry in groups.items()]
        folder.file(f"{info}/entry_points.txt", "\n".join(lines))

    return install


def diagnosed(folder: Folder, *arguments: str, apart: bool = True, **env: str) -> tuple[int, dict[str, Any]]:
    command = ("doctor", "--json", *arguments)
    ran = folder.run(*SPANHOOK, *command, **env) if apart else folder.here(*command, **env)
    return ran.returncode, json.loads(ran.stdout)


# ----------------------------------------------------------------------------------- the command


def test_processes_that_follow_the_file_are_listed_with_what_they_run(folder: Folder) -> None:
    path = folder.file("spanhook.yaml", "version: 1\n...\n")
    presence, content = Presence(), read(str(path))
    try:
        presence.show(content)
        _, report = diagnosed(folder, apart=False)
        process = {"pid": os.getpid(), "path": str(path), "digest": content.digest, "refused": "", "ungated": []}
        assert report["configuration"] == {"path": str(path), "digest": content.digest, "processes": [process]}
        assert not [one for one in report["findings"] if one["about"] == "config"]

        path.write_text("version: 1\n")
        presence.show(content, "it may have been cut short")
        printed = folder.here("doctor", "--strict").stdout
    finally:
        presence.end()
    assert f"Processes that follow {path} (now {read(str(path)).digest})" in printed
    assert f"  {os.getpid()}  {content.digest}  not as the file is now\n" in printed
    assert f"process {os.getpid()} does not run the file as it is now: it may have been cut short" in printed
    assert "spanhook.yaml lacks the end mark that strict mode requires; end it with the line ..." in printed


def test_everything_in_order(folder: Folder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "made", set[str]())  # other tests have made runs
    folder.write(
        hooks=HOOKS
        + "print('loading')\n@hooks.after('*', priority=600, timeout=None)\ndef seen(op): ...\n"
        + "@hooks.on('tool.execute')\ndef told(op): ...\n@hooks.on('run.post')\ndef ended(op): ...\n"
    )

    ran = folder.here("doctor", "--json", "--hooks", "hooks.py:hooks", "--require", "langchain,langgraph")

    report = json.loads(ran.stdout)  # all there is on standard output
    assert (ran.returncode, report["exit_code"]) == (0, 0)
    assert ran.stderr == "loading\n"
    assert [one.partition(",")[0] for one in caplog.messages] == ["spanhook: hook 'ended' is for run"]
    assert [library["name"] for library in report["libraries"]] == list(INSTRUMENTORS)
    found = {library["name"]: library for library in report["libraries"] if library["version"]}
    assert [*found] == [*BOUND]
    assert all(library["supported"] and library["bound"] and not library["missing"] for library in found.values())
    assert report["events"] == {
        "tool.execute.pre": ["no_refunds", "told"],
        "*.post": ["seen"],
        "tool.execute.post": ["told"],
        "tool.execute.error": ["told"],
        "run.post": ["ended"],
    }
    assert report["hooks"][1] == {
        "name": "seen",
        "events": ["*.post"],
        "form": "after",
        "priority": 600,
        "fail_mode": "open",
        "timeout_s": None,
        "tenant_id": "",
        "holds_back": False,
        "windows": False,
    }
    assert [signal["exporters"] for signal in report["telemetry"]["signals"]] == [[], [], []]
    assert report["verdict"] == f"ready: {len(BOUND)} libraries bound, 4 hooks, nothing exported"


@pytest.mark.slow
def test_for_people(folder: Folder) -> None:
    folder.write(
        hooks=HOOKS
        + "@hooks.on('tool.execute.post')\ndef told(op): ...\n"
        + "@hooks.after('llm.call', stream='buffer')\ndef checked(op): ...\n"
    )

    ran = folder.run(*SPANHOOK, "doctor", "--hooks", "hooks.py:hooks", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")

    lines = ran.stdout.splitlines()
    assert ran.returncode == 0
    assert "\x1b" not in ran.stdout
    libraries = lines[lines.index("Libraries") + 1 : lines.index("Libraries") + 1 + len(INSTRUMENTORS)]
    assert [line.endswith("not installed") for line in libraries] == sorted(
        line.endswith("not installed") for line in libraries
    )
    assert "  no_refunds  tool.execute.pre   priority 75, fails closed, 0.2 s" in lines
    assert "  told        tool.execute.post  subscription" in lines
    assert "  checked     llm.call.post      priority 500, fails open, 0.2 s, holds streams back" in lines
    assert "  traces   made by spanhook run  otlp_proto_http to http://127.0.0.1:9" in lines
    assert lines[-1] == f"ready: {len(BOUND)} libraries bound, 3 hooks, traces and metrics and logs exported"


WRONG: list[tuple[list[str], dict[str, str], int, str, str]] = [
    (["--hooks", "nope.py:x"], {}, 2, "hooks", "nope.py does not exist"),
    ([], {"SPANHOOK_HOOKS": "hooks.py:nope"}, 2, "hooks", "hooks.py has no 'nope'; it has hooks"),
    (["--require", "nope"], {}, 2, "require", "unknown library 'nope'"),
    ([], {"SPANHOOK_MODE": "maybe"}, 2, "SPANHOOK_MODE", "mode 'maybe' is unknown"),
    ([], {"OTEL_TRACES_EXPORTER": "pigeon"}, 2, "OTEL_TRACES_EXPORTER", "no such exporter is installed"),
    (
        [],
        {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "ALL"},
        2,
        "OTEL_INSTRUMENTATION_GENAI_",
        "expected one of",
    ),
]


@pytest.mark.every_value
@pytest.mark.parametrize(
    ("arguments", "variables", "code", "about", "text", "apart"),
    [
        *((*one, False) for one in WRONG),
        *(pytest.param(*one, True, marks=pytest.mark.slow) for one in (WRONG[0], WRONG[4])),
    ],
)
def test_wrong_configuration(
    folder: Folder, arguments: list[str], variables: dict[str, str], code: int, about: str, text: str, apart: bool
) -> None:
    folder.write(hooks=HOOKS)

    got, report = diagnosed(folder, *arguments, apart=apart, **variables)

    wrong = [finding for finding in report["findings"] if finding["level"] == "configuration"]
    assert got == report["exit_code"] == code
    assert len(wrong) == 1
    assert wrong[0]["about"].startswith(about)
    assert text in wrong[0]["text"]
    assert report["verdict"].startswith("not ready: ")


@pytest.mark.slow
def test_functions_that_the_file_names(folder: Folder) -> None:
    folder.write(shell="class Base: ...\nclass Shell(Base):\n    def run(self, command): ...\n")
    folder.file("spanhook.yaml", "bind: {tools: ['shell:Shell.run', 'shell:Shell.walk', 'nowhere:run']}\n")
    code, report = diagnosed(folder, "--require", "shell", apart=False)
    assert code == 2
    assert ("configuration", "bind") in {(one["level"], one["about"]) for one in report["findings"]}

    folder.file("spanhook.yaml", "bind: {tools: ['shell:Shell.run', 'shell:Shell.walk']}\n")
    code, report = diagnosed(folder, "--require", "shell", apart=False)
    assert [(one["level"], one["text"]) for one in report["findings"] if one["about"] == "bind"] == [
        ("requirement", "shell:Shell.walk is not bound: shell has no function Shell.walk")
    ]


@pytest.mark.slow
def test_an_unmet_requirement(folder: Folder) -> None:
    folder.file("stubs/langgraph-99.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: langgraph\nVersion: 99.0\n")

    code, report = diagnosed(folder, "--require", "langgraph", PYTHONPATH="stubs")
    assert (code, report["findings"][0]["level"]) == (3, "requirement")

    code, report = diagnosed(folder, PYTHONPATH="stubs")
    assert (code, report["findings"][0]["level"]) == (0, "warning")
    assert report["findings"][0]["text"].startswith("version 99.0 is not supported")


# ----------------------------------------------------------------------------------- what is not bound


def judged(folder: Folder) -> str:
    """Two libraries that are installed, of which the hooks import one; and where they are."""
    for name in ("xai_sdk", "autogen_agentchat"):
        library(folder.path / "installed", BY_NAME[name])
    folder.file("judge.py", "import xai_sdk\n" + HOOKS)
    return str(folder.path / "installed")


OWN = """
from abc import ABCMeta
from langchain_core.embeddings import Embeddings
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

trace.set_tracer_provider(TracerProvider())

class Frozen(ABCMeta):
    def __setattr__(cls, name, value):
        if not name.startswith("_"):
            raise AttributeError("frozen")
        super().__setattr__(name, value)

class Own(Embeddings, metaclass=Frozen):
    def embed_documents(self, texts): ...
    def embed_query(self, text): ...

class Open(Embeddings):
    def embed_documents(self, texts): ...
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The report on hooks that do much as they are imported."""
    folder = Folder(tmp_path_factory.mktemp("odd"))
    installed = judged(folder)
    folder.file("judge.py", (folder.path / "judge.py").read_text() + OWN)
    return folder.run(*SPANHOOK, "doctor", "--json", SPANHOOK_HOOKS="judge.py:hooks", PYTHONPATH=installed)


@pytest.mark.slow
def test_a_provider_that_hooks_set(odd: subprocess.CompletedProcess[str]) -> None:
    signals = json.loads(odd.stdout)["telemetry"]["signals"]

    assert signals[0]["provider"] == "opentelemetry.sdk.trace.TracerProvider"


@pytest.mark.slow
def test_overrides_that_cannot_be_bound(odd: subprocess.CompletedProcess[str]) -> None:
    report = json.loads(odd.stdout)

    assert odd.returncode == 0
    (found,) = [library for library in report["libraries"] if library["ungated"]]
    (warning,) = [one for one in report["findings"] if "cannot be bound" in one["text"]]
    ungated = [name.rpartition(".Own.")[2] for name in found["ungated"]]
    assert (found["name"], ungated) == ("langchain_core", ["embed_documents", "embed_query"])
    assert (warning["level"], warning["about"]) == ("warning", "langchain_core")
    assert all(name in warning["text"] for name in found["ungated"])


@pytest.mark.slow
def test_what_is_not_bound_and_what_traces_itself(odd: subprocess.CompletedProcess[str]) -> None:
    report = json.loads(odd.stdout)

    assert [one for one in report["unbound"] if one["version"] == "1.2.3"] == [
        {
            "name": "xai_sdk",
            "version": "1.2.3",
            "state": "imported",
            "bypass": "model calls made with it directly",
            "allowed": False,
        },
        {
            "name": "autogen_agentchat",
            "version": "1.2.3",
            "state": "importable",
            "bypass": "its agents and tools",
            "allowed": False,
        },
    ]
    assert [one for one in report["self_tracing"] if one["version"] == "1.2.3"] == [
        {
            "name": "autogen_agentchat",
            "version": "1.2.3",
            "scopes": ["autogen-core"],
            "when": "always",
        },
        {
            "name": "xai_sdk",
            "version": "1.2.3",
            "scopes": ["xai_sdk.sync.chat", "xai_sdk.aio.chat"],
            "when": "unless XAI_SDK_DISABLE_TRACING=1",
        },
    ]
    (warning,) = [one for one in report["findings"] if one["about"] == "xai_sdk 1.2.3"]
    assert warning["level"] == "warning"
    assert warning["text"].startswith("is imported but not bound: model calls made with it directly bypass spanhook; ")


@pytest.mark.slow
def test_what_is_not_bound_for_people(folder: Folder) -> None:
    path = judged(folder)

    ran = folder.run(
        *SPANHOOK, "doctor", "--hooks", "judge.py:hooks", "--strict", "--allow", "autogen-agentchat", PYTHONPATH=path
    )

    assert (ran.returncode, ran.stderr) == (3, "")
    lines = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    assert "Not bound (these bypass spanhook)" in lines
    assert "xai_sdk 1.2.3 imported model calls made with it directly" in lines
    assert "autogen_agentchat 1.2.3 importable, allowed its agents and tools" in lines
    assert "SDKs that trace themselves (their spans appear beside ours)" in lines
    assert "xai_sdk 1.2.3 xai_sdk.sync.chat, xai_sdk.aio.chat unless XAI_SDK_DISABLE_TRACING=1" in lines
    said = "is imported but not bound, which strict mode does not allow: model calls made with it directly would bypass"
    assert any(line.startswith(f"requirement xai_sdk 1.2.3 {said}") for line in lines)
    assert lines[-1].startswith(f"not ready: xai_sdk 1.2.3 {said}")


@pytest.mark.parametrize(
    ("variables", "code", "level", "about", "text"),
    [
        (
            {"SPANHOOK_STRICT": "1"},
            0,
            "note",
            "strict",
            "refuses these when they are imported or used: ",
        ),
        (
            {"SPANHOOK_ALLOW": "dashscoop"},
            2,
            "configuration",
            "allow",
            "unknown library 'dashscoop' to allow; did you mean",
        ),
        ({"SPANHOOK_STRICT": "x"}, 2, "configuration", "SPANHOOK_STRICT", "SPANHOOK_STRICT='x', expected 1 or 0"),
    ],
)
def test_strict_by_variables(
    folder: Folder,
    installed: Any,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    code: int,
    level: str,
    about: str,
    text: str,
) -> None:
    installed("xai_sdk")
    installed("autogen-agentchat")
    for module in [module for known in KNOWN for module in known.modules or ()]:
        monkeypatch.delitem(sys.modules, module, raising=False)  # what other tests have imported is not allowed

    got, report = diagnosed(folder, apart=False, **variables)

    (found,) = [one for one in report["findings"] if one["about"] == about]
    assert (got, found["level"], found["text"][: len(text)]) == (code, level, text)


# ----------------------------------------------------------------------------------- others


def test_others_by_entry_point_and_by_name(installed: Any) -> None:
    installed("openinference-instrumentation-langchain", "0.1", opentelemetry_instrumentor="langchain")
    installed("opentelemetry-instrumentation-openai-v2", "2.3", opentelemetry_instrumentor="openai")
    installed("opentelemetry-instrumentation-genai-openai")
    installed("opentelemetry-instrumentation-openai-agents", opentelemetry_instrumentor="openai_agents")
    installed("opentelemetry-instrumentation-requests", opentelemetry_instrumentor="requests")
    installed("logfire", "4.0")

    found = others(["langchain_core", "openai"], {"LANGSMITH_TRACING": "true", "LANGSMITH_OTEL_ENABLED": "true"})

    assert [(one.name, one.version, one.libraries) for one in found] == [
        ("langsmith", found[0].version, ("langchain_core",)),
        ("logfire", "4.0", ("langchain_core", "openai")),
        ("openinference-instrumentation-langchain", "0.1", ("langchain_core",)),
        ("opentelemetry-instrumentation-genai-openai", "1.0", ("openai",)),
        ("opentelemetry-instrumentation-openai-v2", "2.3", ("openai",)),
    ]
    assert found[0].when == "LANGSMITH_TRACING=true: as OpenTelemetry spans too"


def test_nobody_else() -> None:
    assert others(["langchain_core"], {"LANGSMITH_TRACING": "false"}) == []


# ----------------------------------------------------------------------------------- the environment


@pytest.mark.parametrize(
    ("variables", "level", "text"),
    [
        ({"SPANHOOK_HOOK": "x"}, "warning", "is unknown; did you mean SPANHOOK_HOOKS?"),
        ({"SPANHOOK_COLOUR": "x"}, "warning", "is unknown"),
        ({"OTEL_SDK_DISABLED": "true"}, "note", "no spans, metrics or log events; hooks still gate"),
        ({"OTEL_SDK_DISABLED": "1"}, "warning", "'1' counts as false; only true disables the SDK"),
        ({"OTEL_TRACES_SAMPLER": "parentbased_always_off"}, "note", "no spans; hooks still gate"),
        ({"OTEL_TRACES_SAMPLER": "sometimes"}, "warning", "'sometimes' is unknown to the SDK"),
        ({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "*"}, "note", "does not turn spanhook off"),
        ({"OTEL_PYTHON_ID_GENERATOR": "xray"}, "warning", "only opentelemetry-instrument reads it"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"}, "warning", "no scheme; write http://localhost:4318"),
        ({"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://x:4317/"}, "warning", "4317 is the gRPC port"),
    ],
)
def test_what_is_odd(variables: dict[str, str], level: str, text: str) -> None:
    (found,) = examine(variables)

    assert (found.level, found.about) == (level, next(iter(variables)))
    assert text in found.text


def test_what_is_not_odd() -> None:
    variables = {
        "SPANHOOK_HOOKS": "a.py:b",
        "SPANHOOK_STARTED": "run",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_SDK_DISABLED": "false",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4317",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
    }

    assert list(examine(variables)) == []
    assert usable(variables) == (variables, [])


def test_content_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")

    (found,) = examine({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"})

    assert found.text.startswith("SPAN_ONLY: ")


# ----------------------------------------------------------------------------------- the loader


@pytest.mark.slow
def test_what_processes_report(folder: Folder) -> None:
    problems = [{"subject": "payments", "message": "rule 1 has matched no name"}]
    process = {"service": "", "host": "box", "pid": 7, "problems": problems}
    with answering() as told:
        told.sends(json.dumps({"processes": [process]}).encode())
        folder.file("spanhook.yaml", f"version: 1\ncontrol_plane: {{url: '{told.url}'}}\n...\n")
        code, report = diagnosed(folder, apart=False)
        (warning,) = (one for one in report["findings"] if one["about"] == "unnamed (box, process 7)")
        assert (code, warning["level"], warning["text"]) == (0, "warning", "payments: rule 1 has matched no name")
        told.status = 403
        code, report = diagnosed(folder, apart=False)
    (note,) = (one for one in report["findings"] if one["about"] == "control_plane")
    assert (code, note["level"]) == (0, "note")
    assert "it has answered 403" in note["text"]


def test_a_loader_that_would_go_on_ungated(installed: Any) -> None:
    installed("hasty", opentelemetry_pre_instrument="hasty")
    installed("rival", opentelemetry_distro="rival")

    texts = [finding.text for finding in loader({"OTEL_TRACES_EXPORTER": "pigeon", "OTEL_PYTHON_CONFIGURATOR": "gone"})]

    assert any(text.startswith("may call hasty before spanhook") for text in texts)
    assert "is not set, so any of distro, rival may be used" in texts
    assert "'gone' is not installed, and the loader continues without it" in texts
    assert any(text.startswith("fails for lack of the pigeon exporter, and then continues UNGATED") for text in texts)


def test_a_loader_that_is_fine() -> None:
    quiet = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}

    assert [finding.level for finding in loader(quiet)] == ["note"]
