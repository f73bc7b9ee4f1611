"""README.md and docs/: their Python runs and does what it says; every name, option, variable and link in them exists.

A Python block starts with the name of its file; the blocks of one file in one document are one module.
"""

import ast
import asyncio
import importlib
import logging
import os
import pkgutil
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any, get_args
from xml.etree import ElementTree as ET

import click
import pytest
from docs.pictures import operation
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

import spanhook
from spanhook import Reject, Settings, semconv
from spanhook.bootstrap import environment
from spanhook.cards import agent_scope, load_card
from spanhook.cli.conformance.libraries.langchain import ASK, Calls, Turns, agent
from spanhook.cli.demo import run_demo
from spanhook.cli.main import cli
from spanhook.gating.hook import HookSettings
from spanhook.runs import User
from spanhook.telemetry import telemetry
from spanhook.testing import recorder
from tests.inventory import each

ROOT = Path(__file__).parent.parent
README = "README.md"
DOCUMENTS = (
    README,
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "hooks").glob("*.md")),
)

LINKED = (*DOCUMENTS, "CHANGELOG.md", "SECURITY.md", "collector/README.md", "examples/README.md")
"""What has links beside the documents that are run."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+)\.py\n")
_CODE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"\b(?:spanhook|gen_ai|openai)(?:\.[a-z_]+)+(?:\.\*)?")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

TEXTS = {document: (ROOT / document).read_text() for document in DOCUMENTS}
PROSE = {document: _FENCE.sub("", text) for document, text in TEXTS.items()}
"""Everything but fenced blocks."""


def blocks(document: str, language: str) -> list[str]:
    return [body for found, body in _FENCE.findall(TEXTS[document]) if found == language]


def files(document: str) -> dict[str, str]:
    """The Python of a document by module name."""
    found: dict[str, str] = {}
    for block in blocks(document, "python"):
        named = _FILE.match(block)
        assert named, f"{document}: this block does not say which file it is:\n{block}"
        found[named[1]] = found.get(named[1], "") + block
    return found


Importer = Callable[[str], Callable[[str], ModuleType]]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Importer]:
    """Writes the files of a document, and gives what imports one of them."""
    names: list[str] = []

    def write(document: str) -> Callable[[str], ModuleType]:
        for name, source in files(document).items():
            names.append(name)
            monkeypatch.delitem(sys.modules, name, raising=False)
            (tmp_path / f"{name}.py").write_text(source)
        return importlib.import_module

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("document", "file"), [(document, file) for document in DOCUMENTS for file in files(document)])
def test_every_file_can_be_imported(written: Importer, document: str, file: str) -> None:
    assert written(document)(file).__name__ == file


# ----------------------------------------------------------------------------------------------- README


class Desk:
    """Real tools, and what their bodies were called with."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.searched: list[str] = []
        paid, searched = self.paid, self.searched

        @tool
        def refund(amount: int) -> str:
            """Pay money back."""
            paid.append(amount)
            return f"paid {amount}"

        @tool
        def search(query: str) -> str:
            """Search."""
            searched.append(query)
            if query == "down":
                raise ConnectionError
            return f"found {query}"

        self.refund, self.search = refund, search


@pytest.fixture
def readme(written: Importer) -> ModuleType:
    """The README's hooks, put in force by the README's application."""
    load = written(README)
    load("app")
    return load("hooks")


def call_of(name: str, **arguments: Any) -> Any:
    return {"type": "tool_call", "id": "1", "name": name, "args": arguments}


def test_readme_rejects(readme: ModuleType) -> None:
    desk = Desk()
    with pytest.raises(Reject, match="An active subscription is required") as caught:
        desk.refund.invoke({"amount": 1})
    assert caught.value.status_code == 402
    told = desk.refund.invoke(call_of("refund", amount=1))
    assert (told.status, told.content) == ("error", "Tool call rejected: An active subscription is required")
    assert desk.paid == []


def test_readme_rejects_a_run(readme: ModuleType) -> None:
    calls = Calls()
    readme.spent["acme"] = 3_000_000
    with spanhook.context(tenant_id="acme"), pytest.raises(Reject, match="The budget is spent") as caught:
        agent(calls).invoke(ASK)
    assert (caught.value.status_code, caught.value.scope, calls.made) == (429, "run", [])


def test_readme_rewrites(readme: ModuleType) -> None:
    desk = Desk()
    with spanhook.context(user_id="ann"):
        assert desk.refund.invoke({"amount": 80}) == "paid 50"
        assert desk.refund.invoke({"amount": 8}) == "paid 8"


def test_readme_answers(readme: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Turns(turns=["hello"], asked=[])
    monkeypatch.setattr(readme, "CLOSED", True)
    assert model.invoke("hi").content == "We are closed. Please come back at nine."
    assert model.asked == []
    monkeypatch.setattr(readme, "CLOSED", False)
    assert model.invoke("hi").content == "hello"


def test_readme_caches(readme: ModuleType) -> None:
    desk = Desk()
    assert [desk.search.invoke({"query": "1001"}) for _ in range(2)] == ["found 1001"] * 2
    assert desk.searched == ["1001"]


def test_readme_bills(readme: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with spanhook.context(tenant_id="acme", user_id="ann"):
        agent(Calls()).invoke(ASK)
    assert readme.spent["acme"] == 102
    assert capsys.readouterr().out.startswith("gpt-4o-mini 69 33 ")


def test_readme_bills_a_sub_agent_once(readme: ModuleType) -> None:
    desk = spanhook.agent("desk")(lambda: agent(Calls()).invoke(ASK))
    with spanhook.context(tenant_id="acme", user_id="ann"):
        desk()
    assert readme.spent["acme"] == 102


def test_readme_has_the_two_commands() -> None:
    assert [block for block in blocks(README, "sh") if "venv" in block] == [
        'python3 -m venv .venv && .venv/bin/pip install -e ".[demo]" && .venv/bin/spanhook demo\n',
        'python3 -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/pytest\n',
    ]


def test_readme_shows_what_the_demo_prints(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(variable)
    assert run_demo(False, False) == 0

    def even(text: str) -> str:
        """Without lines of trees, which the picture draws, and without what each run has of its own."""
        return " ".join(re.sub(r"\b[0-9a-f]{32}\b|\d[\d.,]*( ms| s\b)?", "#", re.sub("[├╰│─]", "", text)).split())

    picture = ET.parse(ROOT / "docs" / "pictures" / "console.svg")
    _prompt, command, *shown = [one.text or "" for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert command == "spanhook demo"
    assert even(" ".join(shown)) in even(capsys.readouterr().out)


# ----------------------------------------------------------------------------------------------- docs/hooks.md


@pytest.fixture
def example(written: Importer) -> Callable[[str], ModuleType]:
    """A file of docs/hooks.md, its hooks in force."""
    load = written("docs/hooks.md")

    def put_in_force(name: str) -> ModuleType:
        module = load(name)
        spanhook.instrument(module.hooks)
        return module

    return put_in_force


def test_forms(example: Callable[[str], ModuleType], caplog: pytest.LogCaptureFixture) -> None:
    forms = example("forms")
    slow: list[Any] = []
    forms.hooks.after("llm.call")(lambda op: slow.append(op.state["seconds"]))
    calls = Calls()
    agent(calls).invoke(ASK)
    assert forms.hooks.flush()
    assert (calls.made, forms.seen, len(slow)) == (["search", "refund"], ["success"], 3)
    forms.unsubscribe()
    with pytest.raises(Reject, match="More than 20 model calls"), caplog.at_level(logging.ERROR):
        agent(calls, [*([("search", {"query": "x"})] for _ in range(25)), "done"]).invoke(ASK, {"recursion_limit": 100})
    assert len(slow) == 23
    assert forms.seen == ["success"]
    assert [record.getMessage() for record in caplog.records] == [
        "helper ended as rejected: Reject('More than 20 model calls')"
    ]


def test_events(written: Importer, caplog: pytest.LogCaptureFixture) -> None:
    load = written("docs/events.md")
    events, jobs = load("events"), load("jobs")
    with recorder([events.hooks, events.debug]), caplog.at_level(logging.DEBUG, "events"):
        agent(Calls()).invoke(ASK)
        jobs.nightly("cron_1", "exec_1")
        assert events.hooks.flush()
        assert events.debug.flush()
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert [one.partition(":")[0] for one in said] == ["helper", "email-checker"]
    assert said[0].endswith(" ms, 102 tokens")
    assert events.seen[-6:] == [
        "cron.execute.pre",
        "job.pre",
        "agent.invoke.pre",
        "agent.invoke.post",
        "job.post",
        "cron.execute.post",
    ]
    assert "'job_id': 'exec_1'" in caplog.text


def test_shadow(example: Callable[[str], ModuleType]) -> None:
    @tool
    def refund(amount: int) -> str:
        """Pay money back."""
        return f"paid {amount}"

    module = example("shadow")
    decided: list[Any] = []
    module.hooks.on("tool.execute.post", lambda op: decided.append(op))
    assert refund.invoke({"amount": 60}) == "paid 60"
    assert module.hooks.flush()
    [op] = decided
    [decision] = op.shadow_decisions
    assert (decision.decision, decision.reason, decision.status_code) == (
        "reject",
        "Refunds over 50 need a person",
        402,
    )


def test_forms_under_test(written: Importer) -> None:
    tests = written("docs/hooks.md")("test_hooks")
    tests.test_files_are_not_deleted()
    tests.test_our_way_of_calling_tools_is_gated()


def test_rewriting(example: Callable[[str], ModuleType]) -> None:
    example("rewriting")
    model = Turns(turns=["hello"], asked=[])
    given = [HumanMessage("write to ann@example.com"), HumanMessage("please")]
    model.invoke(given)
    assert [message.content for message in model.asked[0]] == ["write to [address]", "please"]
    assert given[0].content == "write to ann@example.com"
    assert model.asked[0][1] is given[1]


def test_answering(example: Callable[[str], ModuleType]) -> None:
    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return f"-----BEGIN {path}-----"

    example("answering")
    model = Turns(turns=["hello"], asked=[])
    assert [model.invoke(said).content for said in ("ping", "hi")] == ["pong", "hello"]
    assert len(model.asked) == 1
    assert read_file.invoke({"path": "PRIVATE KEY"}) == "[a private key was here]"
    assert read_file.invoke({"path": "letter"}) == "-----BEGIN letter-----"


class State(TypedDict):
    said: str


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_approval(example: Callable[[str], ModuleType], answer: str) -> None:
    closed: list[str] = []

    @tool
    def close_account(name: str) -> str:
        """Close an account."""
        closed.append(name)
        return "closed"

    def close(_state: State) -> State:
        return {"said": close_account.invoke({"name": "ann"})}

    example("approval")
    graph: Any = StateGraph(State)
    graph.add_node("close", close)
    graph.add_edge(START, "close")
    graph.add_edge("close", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    paused = compiled.invoke({"said": ""}, config)
    assert paused["__interrupt__"][0].value == {"tool": "close_account", "arguments": {"name": "ann"}}
    assert closed == []
    if answer == "yes":
        assert compiled.invoke(Command(resume=answer), config)["said"] == "closed"
        return
    with pytest.raises(Reject, match="A person said no"):
        compiled.invoke(Command(resume=answer), config)
    assert closed == []


def test_around(example: Callable[[str], ModuleType]) -> None:
    desk = Desk()
    example("around")
    assert [desk.search.invoke({"query": "x"}) for _ in range(2)] == ["found x"] * 2
    assert desk.searched == ["x"]
    assert desk.search.invoke({"query": "down"}) == "The search is down. Try again later."
    model = Turns(turns=["hello"], model_name="draft-model", asked=[])
    assert model.invoke("hi").content == "hello (draft)"
    assert asyncio.run(model.ainvoke("hi")).content == "hello (draft)"
    assert "".join(str(chunk.content) for chunk in model.stream("hi")) == "hello (draft)"


def test_clients_per_loop(example: Callable[[str], ModuleType]) -> None:
    desk = Desk()
    example("subscriptions")

    async def search() -> Any:
        return await desk.search.ainvoke({"query": "async"})

    with pytest.raises(Reject):
        desk.search.invoke({"query": "refused"})
    with spanhook.context(user_id="ann"):
        assert (desk.search.invoke({"query": "sync"}), asyncio.run(search())) == ("found sync", "found async")
    assert desk.searched == ["sync", "async"]


def test_identity(written: Importer, capsys: pytest.CaptureFixture[str]) -> None:
    written("docs/hooks.md")("app")
    assert capsys.readouterr().out == "acme\n"


def test_own_code_of_the_readme(written: Importer) -> None:
    load = written(README)
    with recorder() as seen:
        assert load("own").answer(["order 7"]) == "order 7 is on its way"
    assert [(op.kind, op.name) for op in seen.operations] == [
        ("llm.call", "my-model"),
        ("tool.execute", "look_up"),
        ("agent.invoke", "desk"),
    ]
    assert seen.operations[-1].usage.total_tokens == 15


def test_own_code(written: Importer) -> None:
    load = written("docs/own-code.md")
    desk, shop, model, billing = (load(name) for name in ("desk", "shop", "model", "billing"))
    hooks = spanhook.Hooks()

    @hooks.before("tool.execute", billing.CHARGE)
    def at_most_five(op: spanhook.Operation) -> None:
        if "amount" in op.request.arguments:
            op.replace(arguments={"amount": min(op.request.arguments["amount"], 5)})

    @hooks.before("llm.call")
    def politely(op: spanhook.Operation) -> None:
        if op.request.system:
            op.replace(system="Be kind.")

    async def spoken() -> str:
        return "".join([word async for word in model.spoken("hi")])

    with recorder(hooks) as seen:
        assert asyncio.run(desk.answer("tea")) == "paid 3"
        assert (shop.charge(6), billing.charge_card(7)) == ("paid 5", "charged 5")
        said = asyncio.run(model.complete([{"role": "user", "content": "hi"}]))
        assert said == "You said hi. Be kind."
        assert "".join(model.words("hi")) == asyncio.run(spoken()) == "Hello there"
    assert [op.name for op in seen.operations][:4] == ["search", "refund", "desk", "charge"]
    assert {op.status for op in seen.operations} == {"success"}


def test_agent_cards(written: Importer, tmp_path: Path) -> None:
    load = written("docs/agent-cards.md")
    (card,) = blocks("docs/agent-cards.md", "markdown")
    (tmp_path / "desk.md").write_text(card)
    desk, clones, found = load("desk"), load("clones"), load_card(tmp_path / "desk.md")

    async def ask() -> list[str]:
        async with agent_scope(found, agent=load("hooks").Desk()) as scope:
            return await clones.ask_both(scope)

    assert asyncio.run(desk.serve(found)) == ["orders of acme"]
    assert asyncio.run(ask()) == ["desk[tool]: one", "desk[tool]: two"]


def test_iterations(written: Importer, tmp_path: Path) -> None:
    load = written("docs/iterations.md")
    loop, handlers = load("loop"), load("handlers")
    with recorder(loop.hooks) as seen:
        assert loop.work("s", "book a flight") == "DONE: book a flight"
    assert [op.kind for op in seen.operations] == ["iteration", "iteration"]
    assert [load("by_hand").one_turn(str(tmp_path / "frames.db")) for _ in range(2)] == [0, 3]
    handlers.hooks.on_iteration_end("s", 0, True)
    assert handlers.seen == ["s: iteration_end"]


def test_hooks_of_runs(written: Importer, caplog: pytest.LogCaptureFixture) -> None:
    load = written("docs/run-hooks.md")
    hooks, serve = load("run_hooks").hooks, load("serve").serve

    async def graph(question: str) -> str:
        if not question:
            raise ValueError("nothing was asked")
        return question.upper()

    with recorder(hooks), caplog.at_level(logging.INFO, "audit"):
        assert asyncio.run(serve(graph, User("bob"), "why?")) == (402, "Active subscription required")
        assert asyncio.run(serve(graph, User("ann"), "why?")) == (200, "WHY?")
        with pytest.raises(ValueError):
            asyncio.run(serve(graph, User("ann"), ""))
    first, second = (f"run {run:032x} of research" for run in (2, 3))
    assert [record.getMessage() for record in caplog.records] == [
        f"{first} ended: success",
        f"{second} failed: ValueError: nothing was asked",
    ]


def test_in_code(written: Importer) -> None:
    written("docs/ways-in.md")("app")
    assert telemetry.settings == Settings(stream_usage=True, tenant_metrics=True)


# ----------------------------------------------------------------------------------------------- names

NAMES = {value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}


def exists(name: str) -> bool:
    """Whether a name in the documents is one that is written, the start of such, or one of ours in Python."""
    if name.endswith((".yaml", ".yml", ".json", ".db")):
        return True
    if name.endswith(".*"):
        return any(known.startswith(name[:-1]) for known in NAMES)
    if name in NAMES:
        return True
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return name.startswith("spanhook.")


@each([*DOCUMENTS])
def test_every_name_exists(document: str) -> None:
    assert [name for name in _NAME.findall(PROSE[document]) if not exists(name)] == []


ENGINE = "docs/one-operation.md"


def defined(file: Path) -> set[str]:
    """The functions and classes of a file, and the methods of its classes as ``Class.method``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner}" for inner in (getattr(one, "name", "") for one in node.body) if inner}
    return found


def test_every_function_of_the_way_through_the_engine_is_where_the_page_says() -> None:
    source = ROOT / "src" / "spanhook"
    of_file = {
        path.relative_to(source).as_posix(): defined(path)
        for path in source.rglob("*.py")
        if path.parent == source or path.parent.name in ("concurrency", "engine", "gating", "model", "telemetry")
    }
    anywhere = set[str]().union(*of_file.values(), ["finally", "try"])
    steps: list[str] = []
    for line in PROSE[ENGINE].splitlines():
        names = [code for code in _CODE.findall(line) if re.fullmatch(r"[\w./]+", code)]
        if line.startswith("| ") and names:
            function, file, *names = names
            assert function in of_file[file], f"{file} has no {function}"
            steps.append(line.split("|")[1].strip())
        missing = [name for name in names if name not in anywhere and not (ROOT / name).is_file()]
        assert missing == [], line
    assert steps == list(operation.STEPS.values())


def coded(document: str) -> set[str]:
    return set(_CODE.findall(PROSE[document]))


def test_every_name_that_is_written_is_documented() -> None:
    assert {name for name in NAMES if "." in name} - coded("docs/telemetry.md") == set()


def test_every_kind_outcome_and_setting_is_documented() -> None:
    outcomes = {*semconv.KINDS, *semconv.PHASES, *get_args(semconv.Status), *get_args(semconv.Decision)}
    assert outcomes | set(HookSettings.__annotations__) <= coded("docs/hooks.md") | coded("docs/telemetry.md")
    assert set(HookSettings.__annotations__) <= coded("docs/hooks.md")
    assert {setting.name for setting in fields(Settings)} <= coded("docs/ways-in.md")


def test_every_variable_exists_and_is_documented() -> None:
    assert set(environment.SETTINGS) <= coded("docs/ways-in.md")
    scripts = (ROOT / ".ci" / "run", ROOT / ".ci" / "tools")
    others = (*scripts, ROOT / "docker-compose.yml", *(ROOT / "collector").rglob("*.yaml"))
    of_others = {name for path in others for name in re.findall(r"SPANHOOK_\w+", path.read_text())}
    for text in TEXTS.values():
        assert set(re.findall(r"SPANHOOK_\w+", text)) <= {*environment.SETTINGS, *of_others}


# ----------------------------------------------------------------------------------------------- commands, links


def commands(document: str) -> Iterator[list[str]]:
    """What stands behind the word ``spanhook`` in every command line."""
    shell = [line for block in blocks(document, "sh") for line in block.splitlines()]
    for line in (*shell, *coded(document)):
        for part in line.split(" && "):
            words = [word for word in shlex.split(part, comments=True) if not re.match(r"[A-Z_]+=", word)]
            if words and words[0].rpartition("/")[2] == "spanhook":
                yield words[1:]


def options() -> set[str]:
    found = {"--help"}
    groups = [command for command in cli.commands.values() if isinstance(command, click.Group)]
    for command in (cli, *cli.commands.values(), *(one for group in groups for one in group.commands.values())):
        found |= {name for parameter in command.params for name in parameter.opts if name.startswith("-")}
    return found


@each([*DOCUMENTS])
def test_every_command_can_be_given(document: str) -> None:
    for words in commands(document):
        if not words:
            continue
        try:
            context = cli.commands[words[0]].make_context(words[0], words[1:])
        except (KeyError, click.ClickException) as error:
            raise AssertionError(f"spanhook {' '.join(words)}: {error}") from error
        target = context.params.get("target") or ("app.py",)
        assert target[0] == "-m" or not target[0].startswith("-")
    mentioned = {code.split()[0] for code in coded(document) if re.match(r"--\w", code)}
    assert mentioned <= options()


def test_every_option_of_run_is_documented() -> None:
    mentioned = {code.split()[0] for code in coded("docs/ways-in.md")}
    assert {name for parameter in cli.commands["run"].params for name in parameter.opts if name[0] == "-"} <= mentioned


def anchors(document: str) -> set[str]:
    """Where links can point to, as GitHub makes it of headings."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", (ROOT / document).read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each([*LINKED])
def test_every_link_leads_somewhere(document: str) -> None:
    for link in _LINK.findall(_FENCE.sub("", (ROOT / document).read_text())):
        path, _, anchor = link.partition("#")
        assert "://" not in link, "links lead to files that are here"
        target = (ROOT / document).parent.joinpath(path).resolve() if path else ROOT / document
        assert target.is_file(), link
        assert not anchor or anchor in anchors(str(target.relative_to(ROOT))), link


# ----------------------------------------------------------------------------------- docs/hooks/pii-redaction.md


def test_redaction(written: Importer) -> None:
    load = written("docs/hooks/pii-redaction.md")
    request = {"arguments": {"to": "ann@other.org", "from": "bob@example.com"}}
    with recorder(load("redaction").hooks), spanhook.operation("tool.execute", "send", request=request) as op:
        assert op.request.arguments == {"to": "[EMAIL]", "from": "bob@example.com"}
    texts = load("texts")
    assert (texts.text, texts.found) == ("write to [EMAIL]", {"EMAIL": 1})
    assert texts.released == "write to [EMAIL], please"
