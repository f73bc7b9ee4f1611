"""Requests that are operations, and how one function gets them: what is the same for clients and servers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.mcp.failures import error_type, failure
from spanhook.instrument.mcp.forms import Form
from spanhook.instrument.mcp.results import (
    Schema,
    fault,
    prompt_output,
    prompt_result,
    resource_output,
    resource_result,
    tool_amended,
    tool_output,
    tool_result,
)
from spanhook.instrument.mcp.tool_bodies import is_own
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Carried,
    Change,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Receiving,
    Request,
    Role,
    Trait,
    exact_text,
    in_order,
)
from spanhook.semconv import Kind


@dataclass(frozen=True)
class Method:
    """A sort of request.

    Attributes:
        name: The method, as it is called on the wire.
        kind: The kind of operation.
        key: The attribute that names what it is about.
        output: A result's messages.
    """

    name: str
    kind: Kind
    key: str
    output: Callable[[Any], list[Message]]


TOOL = Method("tools/call", "tool.execute", semconv.GEN_AI_TOOL_NAME, tool_output)
RESOURCE = Method("resources/read", cast("Kind", "mcp.resource.read"), semconv.MCP_RESOURCE_URI, resource_output)
PROMPT = Method("prompts/get", cast("Kind", "mcp.prompt.get"), semconv.GEN_AI_PROMPT_NAME, prompt_output)
METHODS = {one.name: one for one in (TOOL, RESOURCE, PROMPT)}


def _nothing(_instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return {}


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Requests of one method, as one function gets them.

    Attributes:
        method: The method.
        form: How their fields are given.
        about: What else is known of a request: attributes of its span.
        made: The function's own result for what it looks like on the wire, called with ``(instance, args, kwargs,
            told)``.
        schema: The schema of a tool's structured results, if it is known, called with ``(instance, name)``.
        strict: Whether a tool's results without their structured part are of no use.
    """

    method: Method
    form: Form
    about: Callable[[Any, Args, Kwargs], Attributes] = _nothing
    made: Callable[[Any, Args, Kwargs, dict[str, Any]], Any]
    schema: Callable[[Any, str], Schema]
    strict: bool = False

    def target(self, args: Args, kwargs: Kwargs) -> str:
        """The tool, resource or prompt."""
        found = self.form.get(args, kwargs, "uri" if self.method is RESOURCE else "name")
        return exact_text(found)

    def arguments(self, args: Args, kwargs: Kwargs) -> dict[str, Any]:
        if self.method is RESOURCE:
            return {"uri": self.target(args, kwargs)}
        found: Any = self.form.get(args, kwargs, "arguments")
        return dict(cast("Mapping[str, Any]", found)) if isinstance(found, Mapping) else {}

    def start(self, instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
        method = self.method
        attributes: Attributes = {semconv.MCP_METHOD_NAME: method.name}
        if method is TOOL:
            attributes[semconv.GEN_AI_OPERATION_NAME] = "execute_tool"
        attributes[method.key] = self.target(args, kwargs)
        attributes.update(self.about(instance, args, kwargs))
        return attributes

    def request(self, _instance: Any, args: Args, kwargs: Kwargs) -> Request:
        return Request(arguments=self.arguments(args, kwargs))

    def carries(self, _instance: Any, args: Args, kwargs: Kwargs) -> Carried:
        told = in_order(self.arguments(args, kwargs))
        return [told if self.method is TOOL else f"{self.target(args, kwargs)} {told}"]

    def tells(self, args: Args, kwargs: Kwargs) -> bool:
        """Whether a result can say why a request was refused; whoever asks for a task waits for a task, or an error."""
        return self.method is TOOL and self.form.get(args, kwargs, "task") is None

    def rewrite(self, _instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
        asked = change.arguments or {}
        if self.method is not RESOURCE:
            return self.form.put(args, kwargs, "arguments", dict(asked))
        if set(asked) != {"uri"}:
            raise ValueError("what is read has one argument, its address: uri")
        return self.form.put(args, kwargs, "uri", exact_text(asked["uri"]))

    def answer(self, instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
        target = self.target(args, kwargs)
        if self.method is TOOL:
            told = tool_result(value, self.schema(instance, target), strict=self.strict)
        else:
            told = resource_result(value, target) if self.method is RESOURCE else prompt_result(value)
        return self.made(instance, args, kwargs, told)

    def amend(self, result: Any, instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
        if self.method is not TOOL:
            return self.answer(instance, args, kwargs, value)
        schema = self.schema(instance, self.target(args, kwargs))
        return self.made(instance, args, kwargs, tool_amended(result, value, schema, strict=self.strict))

    def adapter(
        self,
        layer: str,
        span_kind: SpanKind,
        role: Role = "client",
        *,
        tool: Callable[[Any, str], Any] | None = None,
        rejected: Callable[[Any, Args, Kwargs, str], Any] | None = None,
        onward: Callable[[Any, Args, Kwargs, Mapping[str, str]], tuple[Args, Kwargs]] | None = None,
        context: CallContext | None = None,
        traits: frozenset[Trait] = frozenset(),
    ) -> Adapter:
        """The adapter.

        Args:
            layer, span_kind, role, rejected, onward, context, traits: As in an adapter and its parts.
            tool: For a server that answers with functions: its tool by name, called with ``(instance, name)``.
        """
        method = self.method

        def later(instance: Any, args: Args, kwargs: Kwargs) -> bool:
            assert tool is not None
            return is_own(tool(instance, self.target(args, kwargs)))

        return Adapter(
            kind=method.kind,
            layer=layer,
            span_kind=span_kind,
            method=method.name,
            start=self.start,
            context=context,
            reading=Reading(
                request=self.request,
                output=method.output,
                fault=fault if method is TOOL else None,
                error_type=error_type,
                failure=failure,
            ),
            editing=Editing(
                rewrite=self.rewrite,
                takes=frozenset(("arguments",)),
                answer=self.answer,
                amend=self.amend,
                rejected=rejected,
                onward=onward,
            ),
            nesting=Nesting(role=role, carries=self.carries),
            receiving=Receiving(later=later) if tool is not None else None,
            traits=traits,
        )


def passed_on(adapter: Adapter) -> Adapter:
    """The adapter of requests that an operation in this process has sent on, and that are a part of it."""
    return replace(adapter, nesting=replace(adapter.nesting, role="client"), traits=adapter.traits - {"boundary"})
