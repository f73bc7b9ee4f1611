"""Who is behind a client of OpenAI's; whoever else speaks the protocol is ``openai``."""

from spanhook.instrument.stainless import Servers

AZURE, DEFAULT = "azure.ai.openai", "openai"

server_of = Servers(DEFAULT, {"BaseAzureClient": AZURE}).server_of
