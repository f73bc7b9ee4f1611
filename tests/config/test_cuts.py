"""Every cut of real configuration files, whatever is active when it is read: no gate is lost without a warning."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spanhook
from spanhook import Reject
from spanhook.config import OwnHooks, load_file
from spanhook.config.reload import Follower
from spanhook.engine import registry
from tests.config.conftest import Write

ROOT = Path(__file__).parent.parent.parent
MARK = re.compile(r"^\.\.\..*\n\Z", re.MULTILINE)


def _first_yaml(page: str, with_: str) -> str:
    """The first example in a page that has certain text."""
    return next(one for one in re.findall(r"```yaml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL) if with_ in one)


FILES = {
    "of the examples": (ROOT / "examples" / "spanhook.yaml").read_text(),
    "of the readme": _first_yaml("README.md", "policies:").replace("    mode: shadow ", "    mode: enforce"),
    "of the page": _first_yaml("docs/configuration.md", "policies:").replace("hooks: {path", "# hooks: {path"),
}

LONGER = """  - use: tool_policy
    id: deletions
    with: {rules: [{deny: [close_account]}]}
stores: {default: "memory://"}
"""


@spanhook.tool
def refund(amount: int) -> str:
    return f"paid {amount}"


@spanhook.tool
def close_account(amount: int) -> str:
    return f"closed {amount}"


@spanhook.tool
def look_up_order(amount: int) -> str:
    return f"order {amount}"


def allowed() -> set[tuple[str, int, str]]:
    """The calls that may be made now."""
    found = set[tuple[str, int, str]]()
    for tool in (refund, close_account, look_up_order):
        for amount in (10, 1000):
            for tenant in ("acme", "globex"):
                try:
                    with spanhook.context(tenant_id=tenant):
                        tool(amount)
                except Reject:
                    continue
                found.add((tool.__name__, amount, tenant))
    return found


def whole(name: str, *, marked: bool) -> str:
    text = MARK.sub("", FILES[name]) + LONGER
    return text + "...\n" if marked else text


@pytest.fixture
def follower(write: Write) -> Iterator[Follower]:
    file = load_file(write("version: 1\n"))
    policies = file.registry()
    spanhook.instrument(policies, only=())
    yield Follower(file, OwnHooks(), policies, {})
    spanhook.uninstrument()


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 7])
@pytest.mark.parametrize("active", ["the same", pytest.param("an earlier one", marks=pytest.mark.slow)])
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(
    "name", ["of the examples", "of the readme", pytest.param("of the page", marks=pytest.mark.slow)]
)
def test_no_gate_is_lost_without_a_warning(
    write: Write, follower: Follower, caplog: pytest.LogCaptureFixture, name: str, marked: bool, active: str, step: int
) -> None:
    text = whole(name, marked=marked)
    earlier = text if active == "the same" else f"# earlier\n{text}"
    content, refused = text.encode(), 0
    sizes = range(len(text.encode()) - 1, -1, -step)  # the last byte alone is the hardest to miss
    path = Path(write(earlier))
    assert follower.reload()
    gates, kept = allowed(), registry.hooks
    assert gates < {(tool.__name__, amount, tenant) for tool in (refund, close_account, look_up_order)
                    for amount in (10, 1000) for tenant in ("acme", "globex")}  # fmt: skip
    for size in sizes:
        caplog.clear()
        path.write_bytes(content[:size])
        changed = follower.reload()
        warned = any(one.levelname == "WARNING" for one in caplog.records)
        assert warned or not changed or allowed() <= gates, content[:size]
        if changed:
            write(earlier)
            assert follower.reload()
        else:
            assert registry.hooks == kept
            refused += warned
    if marked:  # the mark alone is enough, even without its line break
        assert refused == len(sizes) - len("\n")
    elif active == "the same":
        assert refused == len(sizes)
