"""What hooks do to recorded text: everything that may quote content passes them, and a failure records none of it."""

from typing import Any

import pytest

import spanhook
from spanhook import Hook, Hooks, Reject, Settings, operation
from spanhook.diagnostics import internal
from spanhook.testing import Recorder, recorder

IN_FULL = Settings(content="SPAN_AND_EVENT", input_output_values=True)


class Conceals(Hook):
    """Hides one word. It sees operations of another kind only."""

    kinds = ("memory.store",)

    def before(self, op: spanhook.Operation) -> None: ...

    def conceal(self, text: str) -> str:
        return text.replace("secret", "***").replace("123456789012", "digits")


class Fails(Conceals):
    def conceal(self, text: str) -> str:
        raise ValueError("secret")


def recorded(seen: Recorder) -> str:
    return "\n".join([*(span.to_json() for span in seen.spans), repr(seen.events)])


class Told:
    def __str__(self) -> str:
        return "secret"


def play() -> None:
    @spanhook.agent("desk")
    def desk(text: str) -> Any:
        with operation("tool.execute", "t", request={"arguments": {"secret": [Told(), 123456789012, 7]}}) as op:
            op.result_of({"found": "secret"})
        messages = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
        with operation("llm.call", "m", provider="acme", request={"messages": messages, "system": "secret"}) as op:
            op.result_of("secret")
        return "secret"

    desk("secret")
    with operation("retrieval.query", "r", request={"inputs": "secret"}):
        pass
    with pytest.raises(ValueError, match="secret"), operation("tool.execute", "fails"):
        raise ValueError("a secret")


def refusing() -> Hook:
    hooks = Hooks()

    @hooks.before("tool.execute", names={"refused"}, name="refuse")
    def refuse(op: spanhook.Operation) -> None:
        raise Reject("it has the secret")

    return next(iter(hooks))


@pytest.mark.parametrize("in_shadow", [False, True])
def test_nothing_that_is_recorded_goes_past_it(in_shadow: bool) -> None:
    hook = Conceals()
    hook.mode = "shadow" if in_shadow else "enforce"
    with recorder(Hooks(hook, refusing()), settings=IN_FULL) as seen:
        play()
        with pytest.raises(Reject, match="the secret"), operation("tool.execute", "refused"):
            pass
    said = recorded(seen)
    if in_shadow:
        assert "secret" in said
        return
    stack = "in play"  # the traceback's own lines of code are concealed too
    assert stack in said
    assert "secret" not in said
    assert "123456789012" not in said
    assert said.count("***") >= 12
    told = dict(seen.spans[0].attributes or {})
    assert told["gen_ai.tool.call.arguments"] == told["input.value"] == '{"***": ["***", "digits", 7]}'


def test_only_of_its_tenant() -> None:
    hook = Conceals()
    hook.tenant_id = "acme"
    with recorder(Hooks(hook), settings=IN_FULL) as seen:
        for tenant in ("acme", "other"):
            request = {"arguments": {"a": "secret"}}
            with spanhook.context(tenant_id=tenant), operation("tool.execute", tenant, request=request):
                pass
    told = {span.name: dict(span.attributes or {})["gen_ai.tool.call.arguments"] for span in seen.spans}
    assert told == {"execute_tool acme": '{"a": "***"}', "execute_tool other": '{"a": "secret"}'}


def test_if_it_fails_nothing_of_the_text_is_recorded() -> None:
    with recorder(Hooks(Fails()), settings=IN_FULL) as seen:
        internal.fatal = False
        play()
    said = recorded(seen)
    assert "secret" not in said
    assert "(withheld)" in said
    assert "desk" in said


def test_when_the_hook_is_gone_so_is_what_it_did() -> None:
    hook = Conceals()
    hooks = Hooks(hook)
    with recorder(hooks, settings=IN_FULL) as seen:
        hooks.remove(hook)
        with operation("tool.execute", "t", request={"arguments": {"a": "secret"}}):
            pass
    assert '{\\"a\\": \\"secret\\"}' in recorded(seen)
