"""Looks for signs of prompt injection in what an agent reads: results of tools, documents, messages.

Heuristics only: they find careless attacks, and are no protection by themselves.
"""

import logging
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.gating import Hook, Looser, Measures, handler, validated
from spanhook.hooks._settings import Conflict, SettingsModel
from spanhook.hooks.injection_scan._rules import SCORES, Finding, scan, total
from spanhook.hooks.injection_scan._scanned import texts
from spanhook.model import Operation

__all__ = ["SCORES", "Finding", "InjectionScan", "scan", "total"]

log = logging.getLogger(__name__)
Source = Literal["tools", "documents", "tool_messages", "user_messages"]
RuleName = Literal[
    "override",
    "persona",
    "secrecy",
    "leak",
    "chat_template",
    "role_marker",
    "tool_call",
    "exfiltration_image",
    "tag_characters",
    "hidden_in_words",
    "bidi_controls",
    "comment",
    "encoded",
]
_ROLES = {"tool_messages": "tool", "user_messages": "user"}


@handler
class InjectionScan(Hook):
    """Scans results of tools and retrievers, and messages to models, for signs of prompt injection.

    Args:
        action: ``flag`` writes a warning to the log ``spanhook.hooks.injection_scan``; ``reject`` withholds the
            result, or refuses the model call.
        apply_to: What is scanned: results of ``tools``, retrieved ``documents``, and, before a model is called, its
            ``tool_messages`` and ``user_messages``.
        threshold: The score from which a text counts as an injection, from 0 to 1.
        ignore: Rules not to apply.

    Raises:
        ConfigurationError: A setting cannot be used.
    """

    kinds = ("tool.execute", "retrieval.query", "llm.call")
    name = "injection_scan"
    priority = 40

    class Config(SettingsModel):
        """Settings of ``injection_scan``."""

        action: Annotated[Literal["flag", "reject"], Looser(("reject", "flag"))] = Field(
            default="flag", description="What happens to what is found."
        )
        apply_to: list[Source] = Field(default=["tools", "documents"], min_length=1, description="What is scanned.")
        threshold: float = Field(default=0.5, gt=0, le=1, description="The score that counts as an injection.")
        ignore: Annotated[list[RuleName], Looser("more")] = Field(default=[], description="Rules not to apply.")

        def conflicts(self) -> Iterator[Conflict]:
            if self.action == "reject" and 0 < len(_ROLES.keys() & self.apply_to) < len(set(self.apply_to)):
                message = (
                    "with action 'reject', results and messages need a policy each, as streams are held back only "
                    "for results"
                )
                yield Conflict(message, ("action", "apply_to"))

    def __init__(
        self,
        action: Literal["flag", "reject"] = "flag",
        apply_to: list[Source] | None = None,
        threshold: float = 0.5,
        ignore: list[RuleName] | None = None,
    ) -> None:
        given: dict[str, Any] = {"action": action, "threshold": threshold, "ignore": ignore or []}
        given["apply_to"] = ["tools", "documents"] if apply_to is None else apply_to
        config = validated(self.Config, given, "injection_scan")
        self._rejects, self._threshold, self._ignored = config.action == "reject", config.threshold, set(config.ignore)
        self._roles = {_ROLES[one] for one in config.apply_to if one in _ROLES}
        results = {"tools": "tool.execute", "documents": "retrieval.query"}
        self._results = {results[one] for one in config.apply_to if one in results}
        self.kinds = tuple(sorted(self._results | ({"llm.call"} if self._roles else set())))
        # Closed hooks with an `after` hold back every stream; messages are judged before, and refused in case of doubt.
        self.fail_mode = "closed" if self._rejects and self._results else "open"
        self.timeout = 1.0
        self._found = Measures("injection_scan").counter(
            semconv.METRIC_INJECTION_FINDINGS, "{finding}", "Signs of prompt injection in flagged or refused texts"
        )

    def before(self, op: Operation) -> None:
        """Scan the messages of a model call.

        Raises:
            Reject: They look like an injection.
        """
        if op.kind == "llm.call":
            try:
                found = [message for message in op.request.messages if message.get("role") in self._roles]
                self._judge(op, found, "A message")
            except Reject:
                raise
            except Exception as error:
                if self._rejects:
                    raise Reject("The messages could not be scanned", status_code=500) from error
                raise

    def after(self, op: Operation) -> None:
        """Scan the result of a tool or retriever.

        Raises:
            Reject: It looks like an injection.
        """
        if op.kind in self._results:
            self._judge(op, op.response.value if op.kind == "tool.execute" else op.result, "The result")

    def _judge(self, op: Operation, value: object, what: str) -> None:
        for text in texts(value):
            findings = [one for one in scan(text) if one.rule not in self._ignored]
            if findings and total(findings) >= self._threshold:
                for one in findings:
                    said = {semconv.HOOK: self.name, semconv.INJECTION_RULE: one.rule, semconv.MODE: op.mode}
                    self._found(1, said)
                rules = ", ".join(one.rule for one in findings)
                if self._rejects:
                    raise Reject(f"{what} was withheld, as it looks like a prompt injection ({rules})")
                log.warning("%s of %s %r looks like a prompt injection: %s", what, op.kind, op.name, rules)
                return
