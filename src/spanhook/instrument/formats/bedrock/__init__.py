"""Amazon Bedrock's APIs: Converse, and the bodies of models that no other format describes."""

from spanhook.instrument.formats.bedrock.converse import Converse
from spanhook.instrument.formats.bedrock.others import AnyBody, BodyEmbeddings
from spanhook.instrument.formats.bedrock.prompts import COHERE, LLAMA, MISTRAL, TITAN, Prompted

__all__ = ["COHERE", "LLAMA", "MISTRAL", "TITAN", "AnyBody", "BodyEmbeddings", "Converse", "Prompted"]
