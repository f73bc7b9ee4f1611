"""Warns about agent libraries that are imported without being bound, and refuses them in strict mode.

wrapt's post-import hooks cannot be removed, so each of them checks the current rule.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import wrapt

from spanhook.diagnostics import internal, log
from spanhook.errors import RequirementError, UnboundError
from spanhook.instrument._packages import spec_of
from spanhook.instrument._refusing import Refusal, Refusals
from spanhook.instrument.instrumentor import Bindings
from spanhook.instrument.known import BEDROCK, FASTMCP, Known
from spanhook.instrument.unbound import (
    Unbound,
    imported,
    is_bound,
    is_covered,
    is_of,
    libraries,
    version,
    version_in_use,
)
from spanhook.model import Args, Kwargs, Signal, current_record

_BEDROCK_SERVICES = frozenset({"bedrock-agent-runtime", "bedrock-agentcore"})
"""AWS services through which agents are called; models are called through one that is bound."""

_IMPORT = "the import of"


@dataclass(frozen=True, slots=True)
class Rule:
    """How to treat libraries that are not bound.

    Attributes:
        everything: Whether all libraries should be bound; if only some should, the rest is ignored.
        strict: Whether they are refused instead of causing a warning.
        allowed: Libraries that are tolerated.
    """

    everything: bool = False
    strict: bool = False
    allowed: frozenset[str] = frozenset()


class Watch:
    """Watches imports by one rule.

    Attributes:
        rule: The active rule.
    """

    def __init__(self) -> None:
        self.rule = Rule()
        self._by_module: dict[str, Known] = {}
        self._listening: set[str] = set()
        self._used: set[str] = set()
        self._told: dict[str, object] = {}
        self._refusals = Refusals(self._may_refuse, self._refusal)
        self._signals = Bindings(
            (
                # Every client is created through this, including those of aiobotocore.
                Signal(
                    module="botocore.loaders",
                    name="Loader.load_service_model",
                    after=f"{__name__}:service_loaded",
                    optional=True,
                ),
                *(
                    Signal(module=module, name=name, before=f"{__name__}:tool_called", optional=True)
                    for module, _, name in (place.partition(":") for place in FASTMCP.around)
                ),
            )
        )

    def follow(self, rule: Rule) -> None:
        """Activate a rule."""
        self.rule = rule
        if not rule.everything:
            self._refusals.remove()
            self._signals.restore()
            return
        self._by_module = {name: known for known in libraries() for name in known.modules or ()}
        if rule.strict:
            self._refusals.install()
        else:
            self._refusals.remove()
        self._signals.bind()
        self._listen()

    def _listen(self) -> None:
        for name, known in self._by_module.items():
            if name not in sys.modules and name not in self._listening:
                self._listening.add(name)
                wrapt.register_post_import_hook(self._hook(known), name)

    def _hook(self, known: Known) -> Callable[[ModuleType], None]:
        def just_imported(module: ModuleType) -> None:
            try:
                self._listening.discard(module.__name__)
                if self._minds(known) and is_of(known, spec_of(module)):
                    self._seen(known, _IMPORT, module.__name__)
            except UnboundError:
                raise
            except Exception as error:
                internal.report("unbound", error)

        return just_imported

    def _minds(self, known: Known) -> bool:
        if not self.rule.everything or known.library in self.rule.allowed or is_bound(known):
            return False
        return self.rule.strict or known.library in self._used or not is_covered(known)

    def in_use(self) -> list[Unbound]:
        """Libraries that are in use, not bound and not allowed."""
        return [
            Unbound(known, version_in_use(known))
            for known in libraries()
            if (known.library in self._used or imported(known)) and self._minds(known)
        ]

    def importable(self) -> Iterator[Unbound]:
        """Libraries that are installed but not in use, and would not be bound."""
        for known in libraries():
            found = version(known) if self._minds(known) and not known.shared else ""
            if found and known.library not in self._used and not imported(known):
                yield Unbound(known, found)

    def check(self) -> None:
        """Check whether the libraries in use are allowed.

        Raises:
            RequirementError: The rule is strict and one of them is not allowed.
        """
        if self.rule.strict and (found := self.in_use()):
            raise RequirementError("; ".join(f"{one.name} {one.violation}" for one in found))

    def tell(self) -> None:
        """Warn about libraries in use, once per process for each."""
        for one in self.in_use():
            self._warn(one)

    def _warn(self, one: Unbound) -> None:
        if self._first("warned", one):
            log.warning("spanhook: %s %s", one.name, one.warning)

    def _first(self, what: str, one: Unbound) -> bool:
        mine = object()
        return self._told.setdefault(f"{what} {one.known.library}", mine) is mine

    def _seen(self, known: Known, what: str, module: str) -> None:
        if self.rule.strict:
            raise self._refused(known, what, module)
        self._warn(Unbound(known, version_in_use(known)))

    def _refused(self, known: Known, what: str, module: str) -> UnboundError:
        one = Unbound(known, version_in_use(known))
        if self._first("refused", one):  # code with optional imports takes the error for "not installed"
            log.warning("spanhook: strict mode refused %s %s", what, one.name)
        return UnboundError(one.refusal(what), name=module)

    def _may_refuse(self, module: str) -> bool:
        return module in self._by_module

    def _refusal(self, module: str, spec: ModuleSpec) -> Refusal | None:
        known = self._by_module[module]
        if not self._minds(known) or not is_of(known, spec):
            return None
        return partial(self._refused, known, _IMPORT, module)

    def service(self, name: str) -> None:
        """An AWS service is about to be used."""
        self._used.add(BEDROCK.library)
        if self._minds(BEDROCK):
            self._seen(BEDROCK, f"a client of {name} from botocore,", BEDROCK.library)

    def tool(self) -> None:
        """A tool of FastMCP is about to be called without a gate."""
        if FASTMCP.library not in self._used:
            self._used.add(FASTMCP.library)
            if self._minds(FASTMCP):
                self._warn(Unbound(FASTMCP, version_in_use(FASTMCP)))


watch = Watch()


def service_loaded(_instance: Any, args: Args, kwargs: Kwargs, _result: Any) -> None:
    """An AWS service's description was loaded to create a client."""
    name = args[0] if args else kwargs.get("service_name")
    if name in _BEDROCK_SERVICES:
        watch.service(str(name))


def tool_called(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A function that calls FastMCP's tools was called: inside a gated tool call, or without one."""
    around = current_record()
    while around is not None and around.kind != "tool.execute":
        around = around.parent
    if around is None:
        watch.tool()
    return args, kwargs
