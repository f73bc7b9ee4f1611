"""Google's APIs for Gemini, which Vertex AI speaks too: content, embeddings, pictures and videos."""

from spanhook.instrument.formats.google.contents import GenerateContent
from spanhook.instrument.formats.google.embeddings import EmbedContent
from spanhook.instrument.formats.google.predictions import Predictions

__all__ = ["EmbedContent", "GenerateContent", "Predictions"]
