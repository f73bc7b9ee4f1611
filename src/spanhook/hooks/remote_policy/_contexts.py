"""Asks a service of the agent-hooks contract about contexts that somebody else has made."""

from typing import Any

from spanhook.gating import validated
from spanhook.hooks.remote_policy._agent_hooks import verdict_in
from spanhook.hooks.remote_policy._asking import Asking
from spanhook.hooks.remote_policy._config import Config
from spanhook.hooks.remote_policy._facts import Facts
from spanhook.hooks.remote_policy._services import HTTPService
from spanhook.hooks.remote_policy._verdict import UnreadableAnswer, Verdict

_CONTEXT, _VERDICT = "context", "verdict"


class _Whole:
    """The context is the question; the answer's verdict is handed on as it is."""

    def request(self, facts: Facts) -> Any:
        return facts.sent[_CONTEXT]

    def read(self, answer: Any, facts: Facts) -> Verdict:  # noqa: ARG002
        found = verdict_in(answer)
        decision: Any = found.get("decision")
        match decision:
            case "allow" | "deny" | "transform":
                return Verdict(decision, decision, changes={_VERDICT: dict(found)})
            case _:
                raise UnreadableAnswer("the decision is not known")


class ContextService:
    """A service that is asked about contexts: in time, again where that may help, not while it keeps failing.

    Args:
        url: Its address.
        **settings: Further settings of ``remote_policy``, such as ``timeout`` and ``headers``.

    Raises:
        ConfigurationError: A setting cannot be used, or a package is missing.
    """

    def __init__(self, url: str, **settings: Any) -> None:
        given = {"service": "agent_hooks", "url": url, "send": ["messages", "arguments"], **settings}
        config: Config = validated(Config, given, "agent_hooks")
        self._asking = Asking(config, HTTPService(config, _Whole()))

    async def ask(self, context: dict[str, Any], hook: str) -> dict[str, Any]:
        """The verdict, whose decision is one that the contract knows; the rest of it is as the service wrote it.

        Args:
            context: The context.
            hook: Who asks, in telemetry.

        Raises:
            PolicyError: There is none.
        """
        facts = Facts("", "", context.get("interception_point", ""), {_CONTEXT: context})
        verdict = await self._asking.ask(facts, hook)
        return dict(verdict.changes or {})[_VERDICT]
