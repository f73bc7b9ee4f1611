"""How LiteLLM carries the JSON of an API: as arguments of a function, and results in OpenAI's form."""

from collections.abc import Iterable
from typing import Any

import litellm

from spanhook.instrument.litellm.answers import Answers
from spanhook.instrument.litellm.arguments import given, having, names_of
from spanhook.instrument.litellm.chunks import every_field, opened_choice
from spanhook.instrument.litellm.errors import error_for
from spanhook.instrument.litellm.formats import NOTES
from spanhook.instrument.litellm.providers import is_provider, named, reports_usage, server_of
from spanhook.instrument.wire import Event, Fields, Payload, Server, Transport, list_of
from spanhook.model import Args, Kwargs


class LiteLLMTransport(Transport):
    """The transport of one function.

    Args:
        place: The function whose parameters it takes, as ``module:name``.
        answers: Makes its results.
        is_async: Whether its streams are async.
    """

    def __init__(self, place: str, answers: Answers, *, is_async: bool) -> None:
        self._place, self._answers, self._is_async = place, answers, is_async
        self.opened, self.closed = answers.opened, answers.closed

    @property
    def _names(self) -> tuple[str, ...]:
        return names_of(self._place)

    # ------------------------------------------------------------------------------------------ calls

    def body_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Fields:  # noqa: ARG002
        body = given(self._names, args, kwargs)
        model = body.get("model")
        if isinstance(model, str):
            body["model"] = named(model, _provider_in(body)).model
        return body

    def with_body(self, instance: Any, args: Args, kwargs: Kwargs, body: Fields) -> tuple[Args, Kwargs]:
        before = self.body_of(instance, args, kwargs)
        changes = {name: value for name, value in body.items() if value is not before.get(name)}
        changes.update((name, None) for name in before if name not in body)
        if "model" in changes:
            changes["model"] = _full_name(self.named_model(args, kwargs), before, changes["model"])
        return having(self._names, args, kwargs, changes)

    def named_model(self, args: Args, kwargs: Kwargs) -> str:
        """The model's name as it was passed."""
        model = kwargs.get("model")
        if model is None and "model" in self._names:
            place = self._names.index("model")
            model = args[place] if place < len(args) else None
        return model if isinstance(model, str) else ""

    def provider_of(self, args: Args, kwargs: Kwargs) -> str:
        """The provider, in the conventions' terms."""
        return named(self.named_model(args, kwargs), _provider_in(kwargs)).provider

    def server_of(self, instance: Any, args: Args, kwargs: Kwargs) -> Server:  # noqa: ARG002
        url = kwargs.get("base_url") or kwargs.get("api_base") or litellm.api_base
        named_model = self.named_model(args, kwargs)
        return server_of(named_model, _provider_in(kwargs), url if isinstance(url, str) else "")

    def is_streamed(self, args: Args, kwargs: Kwargs) -> bool:
        stream = kwargs.get("stream")
        if stream is None and "stream" in self._names:
            place = self._names.index("stream")
            stream = args[place] if place < len(args) else None
        return bool(stream)

    def may_request_usage(self, args: Args, kwargs: Kwargs) -> bool:
        return reports_usage(self.named_model(args, kwargs), _provider_in(kwargs))

    # ------------------------------------------------------------------------------------------ results

    def fields_in(self, result: Any) -> Fields:
        return result_fields(result)

    def stream_of(self, result: Any) -> str:
        """What is read step by step; an answer is not, and a stream's class may have steps of both sorts."""
        if hasattr(type(result), "__anext__" if self._is_async else "__next__"):
            return "async" if self._is_async else "sync"
        return ""

    # ------------------------------------------------------------------------------------------ answers

    def fits(self, args: Args, kwargs: Kwargs, value: Any) -> bool:
        return not self.is_streamed(args, kwargs) and isinstance(value, self._answers.kinds)

    def deliver(
        self,
        instance: Any,
        args: Args,
        kwargs: Kwargs,
        payload: Payload,
        events: Iterable[Event],
        last: str,  # noqa: ARG002
    ) -> Any:
        if not self.is_streamed(args, kwargs):
            return self._answers.whole(payload)
        chunks = (self._answers.chunk(data) for _, data in events)
        return self._answers.stream(chunks, self.body_of(instance, args, kwargs), is_async=self._is_async)

    def chunks_for(self, args: Args, kwargs: Kwargs, events: Iterable[Event]) -> Iterable[Any]:  # noqa: ARG002
        return (self._answers.chunk(data) for _, data in events)

    def error(
        self,
        instance: Any,  # noqa: ARG002
        args: Args,
        kwargs: Kwargs,
        status: int,
        reason: str,
        payload: Payload,  # noqa: ARG002
    ) -> BaseException | None:
        provider = named(self.named_model(args, kwargs), _provider_in(kwargs)).prefix.partition("/")[0]
        return error_for(status, reason, self.named_model(args, kwargs), _provider_in(kwargs) or provider)

    def construct(self, args: Args, kwargs: Kwargs, value: Payload) -> Any:  # noqa: ARG002
        return self._answers.whole(value)


def result_fields(result: Any) -> Fields:
    """The fields of a result, also those that its class does not define, such as usage, and LiteLLM's notes."""
    told = every_field(result)
    if not told:
        return told
    choices = [opened_choice(choice) for choice in list_of(told.get("choices"))]
    return {**told, **({"choices": choices} if choices else {}), NOTES: getattr(result, NOTES, None)}


def _provider_in(arguments: Fields) -> str:
    provider = arguments.get("custom_llm_provider")
    return getattr(provider, "value", provider) if isinstance(provider, str) else ""


def _full_name(before: str, arguments: Fields, model: Any) -> Any:
    """A model's name as LiteLLM takes it, for one that a hook gave: at the same provider, unless it names another."""
    given = _provider_in(arguments)
    if not isinstance(model, str) or ("/" in model and not given and is_provider(model.partition("/")[0])):
        return model
    return named(before, given).prefix + model
