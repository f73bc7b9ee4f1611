"""A library's own functions, whoever has wrapped them."""

import functools
from typing import Any

import pytest
import wrapt
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel

from spanhook import Hooks, Reject
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from spanhook.instrument.originals import original
from spanhook.testing import recorder


def _refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call")
    def refuse(op: Any) -> None:
        raise Reject("no")

    return hooks


def test_it_is_the_function_without_the_wrapper() -> None:
    body = Body()
    before = vars(BaseChatModel)["generate"].__code__
    with recorder(_refusing()) as seen:
        assert original(BaseChatModel, "generate").__code__ is before
        with pytest.raises(Reject):
            ScriptedChat(body=body).invoke("hi")
        assert body.runs == 0
    assert len(seen.operations) == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("form", ["function", "wrapt"])
def test_it_is_that_of_the_library_if_others_have_wrapped_it_too(
    form: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[str] = []
    own = vars(BaseChatModel)["generate"]
    code = own.__code__

    def wrap() -> None:
        there = vars(BaseChatModel)["generate"]
        if form == "wrapt":

            @wrapt.decorator
            def passing(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
                passed.append(form)
                return wrapped(*args, **kwargs)

            made: Any = passing(there)  # type: ignore[no-untyped-call]
        else:

            @functools.wraps(there)
            def made(*args: Any, **kwargs: Any) -> Any:
                passed.append(form)
                return there.__get__(args[0], type(args[0]))(*args[1:], **kwargs)

        monkeypatch.setattr(BaseChatModel, "generate", made)

    if when == "before":
        wrap()
    with recorder(_refusing()):
        if when == "after":
            wrap()
        assert original(BaseChatModel, "generate").__code__ is code
        assert passed == []
        monkeypatch.undo()


def test_a_function_that_was_put_back_leads_to_the_gate_and_its_original_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = vars(BaseChatModel)["generate"]
    hooks = Hooks()
    hooks.before("llm.call")(lambda op: op.respond("instead"))

    class Hears(BaseCallbackHandler):
        told: list[str] = []

        def on_llm_end(self, response: Any, **kwargs: Any) -> None:
            self.told.append(response.generations[0][0].text)

    with recorder(hooks) as seen:
        monkeypatch.setattr(BaseChatModel, "generate", kept)
        ScriptedChat(body=Body(), callbacks=[Hears()]).invoke("hi")
        monkeypatch.undo()
    assert Hears.told == ["instead"]
    assert len(seen.operations) == 1
