"""The hook: what it does before and after a call. How texts are redacted is told elsewhere in this package."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, Self, cast

from opentelemetry.metrics import MeterProvider

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.gating import Hook, Measures, TextFilter, handler, validated
from spanhook.hooks.pii_redaction import _config
from spanhook.hooks.pii_redaction._messages import has_media, plain_text, redacted
from spanhook.hooks.pii_redaction._placeholders import Placeholders
from spanhook.hooks.pii_redaction._redactor import Redactor, Substitute
from spanhook.hooks.pii_redaction._rewriting import rewrite, search
from spanhook.hooks.pii_redaction._streaming import StreamRedactor
from spanhook.hooks.pii_redaction._values import changed
from spanhook.model import REPLACEABLE, Operation

RESTORED = "restored placeholders"
_REVERSIBLE = ("llm.call", "tool.execute")
"""Kinds whose results come back to the run that made the placeholders."""


@handler
class PIIRedaction(Hook):
    """Replaces personal data and secrets in requests and results by masks or placeholders, or refuses the call.

    Requests are rewritten before the call, so the model, the tool or the store never gets the value. Streams are held
    back until the whole result has been redacted, unless ``stream`` says otherwise. If it fails, the call is refused.

    Args:
        entities: What is redacted; by default addresses, phone, card and account numbers, and secrets.
        patterns: Further regular expressions by name, in RE2's syntax.
        allow: Values to let through, and domains whose addresses are.
        apply_to: ``"request"``, ``"result"`` or both.
        kinds: Kinds of operation.
        action: ``"mask"``, ``"placeholder"`` or ``"reject"``.
        keep_last: How many last characters of numbers a mask shows.
        media: What becomes of images, sound and files: ``"pass"`` or ``"reject"``.
        stream: What becomes of streams: ``"buffer"`` holds them back until they are complete, ``"window"`` lets text
            out as soon as nothing in it can be a part of what is redacted.
        detector: ``"patterns"``, or ``"presidio"`` for Presidio's pattern recognizers as well.
        telemetry: Redact the content that spanhook records of all operations, too.
        meter_provider: Where findings are counted; by default the one that spanhook reports to.

    Attributes:
        redactor: What finds and masks.

    Raises:
        ConfigurationError: A setting cannot be used, or a package is missing.
    """

    name = "pii_redaction"
    priority = 0  # so that it runs again after every other hook that rewrites
    timeout = 2.0
    fail_mode = "closed"
    stream = "buffer"

    Config = _config.Config

    def __new__(cls, *_args: Any, **settings: Any) -> Self:
        """A hook that leaves results alone has no ``after``, so that streams are not held back for it."""
        one_way = "result" not in settings.get("apply_to", ("result",)) and settings.get("action") != "placeholder"
        made = cast("type[Self]", _Requests) if one_way and cls is PIIRedaction else cls
        return super().__new__(made)

    def __init__(
        self,
        entities: Iterable[str] | None = None,
        patterns: Mapping[str, str] | None = None,
        allow: Iterable[str] = (),
        *,
        apply_to: Iterable[Literal["request", "result"]] = ("request", "result"),
        kinds: Iterable[str] | None = None,
        action: Literal["mask", "placeholder", "reject"] = "mask",
        keep_last: int = 0,
        media: Literal["pass", "reject"] = "pass",
        detector: Literal["patterns", "presidio"] = "patterns",
        stream: Literal["buffer", "window"] = "buffer",
        telemetry: bool = True,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "entities": entities if entities is None else list(entities),
            "patterns": dict(patterns or {}),
            "allow": list(allow),
            "apply_to": list(apply_to),
            "action": action,
            "keep_last": keep_last,
            "media": media,
            "detector": detector,
            "stream": stream,
            "telemetry": telemetry,
        }
        if kinds is not None:
            given["kinds"] = list(kinds)
        config = validated(self.Config, given, "pii_redaction")
        self.kinds = tuple(config.kinds)
        self.redactor = Redactor(_config.entities_of(config), config.allow, config.keep_last)
        self._config = config
        if config.stream == "window":
            self.stream = "window"
        self._counted = Measures("pii_redaction", meter_provider).counter(
            semconv.METRIC_REDACTION_FINDINGS, "{finding}", "Values that were redacted, or for which a call was refused"
        )

    def before(self, op: Operation) -> None:
        """Redact the request.

        Raises:
            Reject: With ``action="reject"``, it contains what is to be redacted; or media, with ``media="reject"``.
        """
        config = self._config
        if config.media == "reject" and has_media(op.request.messages):
            raise Reject("The request has images, sound or files, which cannot be redacted", status_code=422)
        if config.action == "placeholder" and op.kind == "tool.execute":
            restore = self._placeholders(op).restore
            rewrite(op, restore, lambda texts: [restore(text) for text in texts], lambda: RESTORED)
        elif "request" in config.apply_to:
            self._redact(op)

    def after(self, op: Operation) -> None:
        """Redact the result, or restore what placeholders in it stand for.

        Raises:
            Reject: With ``action="reject"``, it contains what is to be redacted.
        """
        if op.kind not in REPLACEABLE:
            return
        found = Counter[str]()
        change = self._in_result(op, found)
        new = changed(op.result, change)
        if new is op.result and op.response.messages:  # such as a raw response, whose body is not in the object
            messages = redacted(op.response.messages, change, lambda texts: texts)
            if messages != list(op.response.messages):
                new = plain_text(messages) or messages
        self._refuse(op, "result", found)
        if new is not op.result:
            op.respond(new, reason=said(found))
            self._count(op, found)

    def text_filter(self, op: Operation) -> TextFilter:
        """With ``stream="window"``: redacts one text of a stream as it arrives."""
        return TextRedaction(self.redactor, partial(self._refuse, op, "result"), partial(self._count, op))

    def conceal(self, text: str) -> str:
        """What telemetry says in place of ``text``: the same with masks."""
        return self.redactor.redact(text)[0] if self._config.telemetry else text

    def _redact(self, op: Operation) -> None:
        found = Counter[str]()
        substitute = None
        if self._config.action == "placeholder" and op.kind in _REVERSIBLE:
            placeholders = self._placeholders(op)
            substitute = placeholders.substitute
            search(op, placeholders.reserve, lambda texts: texts)
        change = self._change(found, substitute)
        together = partial(self._read_as_one, found, substitute)
        if self._config.action == "reject":
            search(op, change, together)
            self._refuse(op, "request", found)
            return
        rewrite(op, change, together, lambda: said(found))
        self._count(op, found)

    def _read_as_one(self, found: Counter[str], substitute: Substitute | None, texts: list[str]) -> list[str]:
        new, counts = self.redactor.redact_together(texts, substitute)
        found.update(counts)
        return new

    def _refuse(self, op: Operation, side: str, found: Counter[str]) -> None:
        if found and self._config.action == "reject":
            self._count(op, found)
            raise Reject(f"The {side} contains {listed(found)}", status_code=422)

    def _change(self, found: Counter[str], substitute: Substitute | None) -> Callable[[str], str]:
        def change(text: str) -> str:
            new, counts = self.redactor.redact(text, substitute)
            found.update(counts)
            return new

        return change

    def _in_result(self, op: Operation, found: Counter[str]) -> Callable[[str], str]:
        reversible = self._config.action == "placeholder" and op.kind in _REVERSIBLE
        if not reversible:
            return self._change(found, None)
        placeholders = self._placeholders(op)
        if op.kind == "tool.execute":
            return self._change(found, placeholders.substitute)
        if "result" not in self._config.apply_to:
            return placeholders.restore

        def known_or_mask(entity: str, value: str) -> str:
            return value if placeholders.knows(entity, value) else self.redactor.mask(entity, value)

        mask = self._change(found, known_or_mask)
        return lambda text: placeholders.restore(mask(text))

    def _placeholders(self, op: Operation) -> Placeholders:
        """Those of the run: the same after the hook has been reloaded, and others in shadow mode."""
        return cast("Placeholders", op.run_state.setdefault(f"pii_redaction {self.name} {op.mode}", Placeholders()))

    def _count(self, op: Operation, found: Counter[str]) -> None:
        for entity, number in found.items():
            told = {semconv.HOOK: self.name, semconv.REDACTION_ENTITY: entity, semconv.MODE: op.mode}
            self._counted(number, told)


class TextRedaction:
    """Redacts one text of a stream.

    Args:
        redactor: What finds and masks.
        refuse: Called with what has been found; raises if that is not allowed.
        count: Called with it once the text is complete.
    """

    def __init__(
        self, redactor: Redactor, refuse: Callable[[Counter[str]], None], count: Callable[[Counter[str]], None]
    ) -> None:
        self._redactor, self._refuse, self._count = StreamRedactor(redactor), refuse, count

    @property
    def reason(self) -> str:
        return said(self._redactor.findings)

    def feed(self, text: str) -> str:
        return self._allowed(self._redactor.feed(text))

    def end(self) -> str:
        rest = self._allowed(self._redactor.end())
        self._count(self._redactor.findings)
        return rest

    def _allowed(self, text: str) -> str:
        self._refuse(self._redactor.findings)
        return text


class _Requests(PIIRedaction):
    """One that leaves results alone."""

    stream = None
    after = Hook.after


def listed(found: Counter[str]) -> str:
    """What was found and how often, never the values."""
    return ", ".join(f"{entity} x{number}" for entity, number in sorted(found.items()))


def said(found: Counter[str]) -> str:
    """What a decision says about a change."""
    return f"redacted {listed(found)}" if found else RESTORED
