"""Google's APIs for Gemini, which Vertex AI speaks too: content, interactions, decisions,
embeddings, pictures and videos, and batches.
"""

from spanhook.instrument.formats.google.batches import Batches
from spanhook.instrument.formats.google.contents import GenerateContent
from spanhook.instrument.formats.google.decisions import Decisions
from spanhook.instrument.formats.google.embeddings import EmbedContent
from spanhook.instrument.formats.google.interactions import Interactions
from spanhook.instrument.formats.google.predictions import Predictions

__all__ = ["Batches", "Decisions", "EmbedContent", "GenerateContent", "Interactions", "Predictions"]
