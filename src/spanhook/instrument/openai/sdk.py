"""OpenAI's package, once it is imported."""

from spanhook.instrument.stainless import Sdk

SDK = Sdk("openai")
stream_of, result_of = SDK.stream_of, SDK.result_of
