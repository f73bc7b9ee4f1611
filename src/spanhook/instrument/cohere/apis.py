"""Which of Cohere's APIs a call is, by the end of its path, and how its SDK carries it."""

from collections.abc import Callable, Mapping
from typing import Any

from spanhook.instrument.cohere.transport import EVENTS, IN_LINES, WHOLE, path_of, settle
from spanhook.instrument.formats.cohere import Chat, ChatV1, Embed, Endpoint, Generate, Parse, Rerank, Sound
from spanhook.instrument.layers import COHERE
from spanhook.instrument.wire import Paths, adapted
from spanhook.model import Adapter, Args, Kwargs, current_record

_FORMATS = {
    "/v2/chat": Chat(),
    "/v1/chat": ChatV1(),
    "/v1/generate": Generate(),
    "/v1/embed": Embed(by_type=False),
    "/v2/embed": Embed(by_type=True),
    "/v1/rerank": Rerank(),
    "/v2/rerank": Rerank(),
    "/v1/classify": Endpoint("classification", "inputs", beside=("examples",)),
    "/v1/summarize": Endpoint("generate_content", "text", "summary", ("additional_command",)),
    "/v2/parse": Parse(),
    "/v2/audio/transcriptions": Sound(),
    "/v1/embed-jobs": Endpoint("batch"),
    "/v2/batches": Endpoint("batch"),
}
ADAPTERS = {path: adapted(one, WHOLE, COHERE) for path, one in _FORMATS.items()}
CHAT = ADAPTERS["/v2/chat"]
_STREAMS = {
    "/v2/chat": adapted(Chat(), EVENTS, COHERE),
    "/v1/chat": adapted(ChatV1(), IN_LINES, COHERE),
    "/v1/generate": adapted(Generate(), IN_LINES, COHERE),
}
CHAT_STREAM = _STREAMS["/v2/chat"]


def _chooser(adapters: Mapping[str, Adapter]) -> Callable[[Any, Args, Kwargs], Adapter | None]:
    ending = Paths(adapters).ending

    def choose(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
        """The adapter of a call; ``None`` if it does not call a model, or is a further attempt of one that does."""
        if str(kwargs.get("method")).upper() != "POST":
            return None
        adapter = adapters.get(ending(f"/{path_of(args, kwargs)}"))
        if adapter is None or (kwargs.get("retries") and _is_inside(instance)):
            return None
        settle(kwargs)
        return adapter

    return choose


def _is_inside(instance: Any) -> bool:
    """Whether a call of the same transport is being made: it calls itself for each attempt."""
    op = current_record()
    return op is not None and op.instance is instance and op.called and not op.ended


choose, choose_stream = _chooser(ADAPTERS), _chooser(_STREAMS)
