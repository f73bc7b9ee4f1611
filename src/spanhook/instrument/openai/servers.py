"""The provider behind an OpenAI client; unknown providers that use the protocol are ``openai``."""

from spanhook.instrument.stainless import Servers

AZURE, DEFAULT = "azure.ai.openai", "openai"

server_of = Servers(DEFAULT, {"BaseAzureClient": AZURE}).server_of
