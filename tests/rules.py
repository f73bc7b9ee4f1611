"""Ready-made hooks of a distribution that tests install: what configuration files may name."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from spanhook import Hook, Operation, Reject
from spanhook.gating import handler

ENTRIES = {
    "deny": "tests.rules:Deny",
    "watch": "tests.rules:Watch",
    "broken": "tests.rules:Broken",
    "exits": "tests.rules:Exits",
    "keeps": "tests.rules:Keeps",
}


class Rule(BaseModel):
    tools: list[str] = Field(min_length=1)
    reason: str = "not allowed"


@handler
class Deny(Hook):
    """Refuses tools by name, and counts what it has seen."""

    kinds = ("tool.execute",)
    priority = 50

    class Config(BaseModel):
        rules: list[Rule] = Field(min_length=1)

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self.seen = 0

    def before(self, op: Operation) -> None:
        self.seen += 1
        for rule in self.rules:
            if op.name in rule.tools:
                raise Reject(rule.reason, status_code=402)


@handler
class Watch(Hook):
    """Runs before and after everything, and takes no settings."""

    def before(self, op: Operation) -> None: ...

    def after(self, op: Operation) -> None: ...


@handler
class Broken(Hook):
    """Cannot be made."""

    def __init__(self) -> None:
        raise OSError("no such socket")

    def before(self, op: Operation) -> Any: ...


@handler
class Exits(Hook):
    """Ends whatever makes it."""

    def __init__(self) -> None:
        raise SystemExit(0)

    def before(self, op: Operation) -> Any: ...


@handler
class Keeps(Hook):
    """Has a store."""

    class Config(BaseModel):
        store: str = Field(default="memory://", json_schema_extra={"spanhook_store": "counters"})

    def __init__(self, store: str) -> None:
        self.store = store

    def before(self, op: Operation) -> None: ...


def install(folder: Path) -> Path:
    """Make a folder of installed distributions that has these hooks; it is to be put on ``sys.path``."""
    info = folder / "tests_rules-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tests-rules\nVersion: 1.0\n")
    lines = [f"{name} = {reference}" for name, reference in ENTRIES.items()]
    (info / "entry_points.txt").write_text("\n".join(["[spanhook_hook]", *lines, ""]))
    return folder
