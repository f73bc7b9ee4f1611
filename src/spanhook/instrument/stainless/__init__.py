"""What the clients of OpenAI, Anthropic, Groq and others share: all are written by the same generator.

Their packages differ in model classes. The transport, its options, raw responses, streams and parsers are the same, and
so is the code that reads and answers them. No such package is imported here.
"""

from spanhook.instrument.stainless.options import body_of, options_of, settle
from spanhook.instrument.stainless.paths import chooser, whole
from spanhook.instrument.stainless.points import points_of
from spanhook.instrument.stainless.transport import StainlessTransport

__all__ = ["StainlessTransport", "body_of", "chooser", "options_of", "points_of", "settle", "whole"]
