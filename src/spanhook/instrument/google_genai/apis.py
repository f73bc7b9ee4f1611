"""Which of Google's APIs a request is for, by the method that its path ends in."""

from typing import Any

from spanhook.instrument.formats.google import Batches, EmbedContent, GenerateContent, Predictions
from spanhook.instrument.google_genai.transport import GoogleTransport, argument, method_in
from spanhook.instrument.layers import GOOGLE_GENAI
from spanhook.instrument.wire import Paths, adapted, fields_of, list_of
from spanhook.model import Adapter, Args, Kwargs

TRANSPORT = GoogleTransport()
CONTENT = adapted(GenerateContent(), TRANSPORT, GOOGLE_GENAI)
EMBEDDINGS = adapted(EmbedContent(), TRANSPORT, GOOGLE_GENAI)
PICTURES = adapted(Predictions("image"), TRANSPORT, GOOGLE_GENAI)
VIDEOS = adapted(Predictions("video"), TRANSPORT, GOOGLE_GENAI)
BATCHES = adapted(Batches(), TRANSPORT, GOOGLE_GENAI)
_BATCHES = Paths(("/batchpredictionjobs",)).ending
"""The path of Vertex AI's batches, which names no method."""
_BY_METHOD = {
    "generatecontent": CONTENT,
    "streamgeneratecontent": CONTENT,
    "embedcontent": EMBEDDINGS,
    "batchembedcontents": EMBEDDINGS,
    "predictlongrunning": VIDEOS,
    "batchgeneratecontent": BATCHES,
    "asyncbatchembedcontent": BATCHES,
}


def choose(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a request; ``None`` if it does not call a model."""
    path = argument(args, kwargs, "path")
    method = method_in(path).lower()
    if not method:
        is_batch = str(argument(args, kwargs, "http_method")).lower() == "post" and _BATCHES(str(path))
        return BATCHES if is_batch else None
    found = _BY_METHOD.get(method)
    if found is not None or method != "predict":
        return found
    instances = list_of(fields_of(argument(args, kwargs, "request_dict")).get("instances"))
    return EMBEDDINGS if any("content" in fields_of(one) for one in instances) else PICTURES
