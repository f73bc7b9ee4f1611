"""A small server on loopback that speaks the JSON of the Gemini API and of Vertex AI: content, embeddings, pictures."""

from collections.abc import Iterator
from typing import Any

from spanhook.cli.conformance.servers.google_interactions import decision, interaction, interaction_events
from spanhook.cli.conformance.servers.openai_replies import Json, Reply, Tokens
from spanhook.cli.conformance.servers.openai_server import Handler, OpenAIServer

_STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}
_REASONS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS"}

_BATCHES = ("batchgeneratecontent", "asyncbatchembedcontent")


class _Answering(Handler):
    @staticmethod
    def error_body(status: int, code: str, message: str) -> Json:
        told = {"code": status, "message": message or "Something went wrong."}
        return {"error": {**told, "status": code or _STATUSES.get(status, "INTERNAL")}}

    def say(self, path: str, body: Json, reply: Reply) -> None:
        if path.endswith("/interactions"):
            self.answer(body, reply, interaction(body, reply), interaction_events(body, reply))
            return
        if path.endswith("/cancel"):
            self.json(200, interaction(body, reply), reply.headers, reply)
            return
        if path.endswith("/decisions"):
            self.json(200, decision(body, reply), reply.headers, reply)
            return
        model, _, method = path.rpartition(":")
        model = model.rpartition("/")[2]
        if method == "generatecontent":
            self.json(200, content(model, reply), reply.headers, reply)
        elif method == "streamgeneratecontent":
            self.answer({"stream": True}, reply, {}, events(model, reply))
        elif method == "batchembedcontents":
            self.json(200, {"embeddings": [_VECTOR for _ in body["requests"]], **_used(reply)}, reply.headers, reply)
        elif method == "embedcontent":
            self.json(200, {"embedding": _VECTOR, **_used(reply)}, reply.headers, reply)
        elif method == "predict":
            self.json(200, {"predictions": [_prediction(one, reply) for one in body["instances"]]}, {}, reply)
        elif method == "predictlongrunning":
            self.json(200, {"name": f"models/{model}/operations/1"}, reply.headers, reply)
        elif method in _BATCHES or path.endswith("/batchpredictionjobs"):
            self.json(200, {"name": "batches/1"}, reply.headers, reply)
        elif method == "counttokens":
            self.json(200, {"totalTokens": reply.tokens.input}, reply.headers, reply)
        else:
            self.unknown()

    def do_GET(self) -> None:  # noqa: N802
        self._take({})
        self.json(200, {}, {})

    do_DELETE = do_GET


class GoogleServer(OpenAIServer):
    """The server: scripted like OpenAI's."""

    handler = _Answering

    @property
    def url(self) -> str:
        """The base URL for the SDK's clients."""
        return self.origin


_VECTOR: Json = {"values": [0.1, 0.2, 0.3]}


def _used(reply: Reply) -> Json:
    return {"usageMetadata": {"promptTokenCount": reply.tokens.input, "totalTokenCount": reply.tokens.input}}


def _prediction(instance: Json, reply: Reply) -> Json:
    if "content" in instance:
        return {"embeddings": {**_VECTOR, "statistics": {"token_count": reply.tokens.input, "truncated": False}}}
    return {"bytesBase64Encoded": "cGljdHVyZQ==", "mimeType": "image/png"}


def usage(tokens: Tokens) -> Json:
    """Usage in Google's form: thoughts are counted apart from what is said."""
    said = tokens.output
    if type(said) is int and type(tokens.reasoning) is int:
        said -= tokens.reasoning
    told: Json = {"promptTokenCount": tokens.input, "candidatesTokenCount": said, "totalTokenCount": tokens.total}
    if tokens.cached:
        told["cachedContentTokenCount"] = tokens.cached
    if tokens.reasoning:
        told["thoughtsTokenCount"] = tokens.reasoning
    return {**told, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens.input}]}


def _head(model: str) -> Json:
    return {"modelVersion": f"{model}-001", "responseId": "resp_1"}


def _candidate(parts: list[Json], reply: Reply, *, last: bool) -> Json:
    told: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
    return {**told, "finishReason": _REASONS.get(reply.reason, reply.reason)} if last else told


def _calls(reply: Reply) -> list[Json]:
    return [{"functionCall": {"name": call.name, "args": call.arguments}} for call in reply.calls]


def content(model: str, reply: Reply) -> Json:
    """A complete response."""
    parts = _calls(reply) or [{"text": reply.text}]
    return {**_head(model), "candidates": [_candidate(parts, reply, last=True)], "usageMetadata": usage(reply.tokens)}


def events(model: str, reply: Reply) -> Iterator[tuple[str, Json | str]]:
    """The response as a stream: the counts that are known so far are in every chunk."""
    if reply.events:
        yield from (("", one) for one in reply.events)
        return
    pieces: list[list[Json]] = [_calls(reply)] if reply.calls else [[{"text": word}] for word in reply.words]
    begun: Any = {"promptTokenCount": reply.tokens.input, "totalTokenCount": reply.tokens.input}
    for place, parts in enumerate(pieces):
        last = place == len(pieces) - 1
        told = {**_head(model), "candidates": [_candidate(parts, reply, last=last)]}
        yield "", {**told, "usageMetadata": usage(reply.tokens) if last else begun}
