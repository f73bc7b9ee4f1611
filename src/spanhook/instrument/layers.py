"""Names of layers: which library's view of an operation an adapter is. Defined once, because adapters name the layers
of which they are transports.
"""

from typing import Final

LANGCHAIN_CHAT: Final = "langchain.chat"
LANGCHAIN_CHAT_STREAM: Final = "langchain.chat.stream"
LANGCHAIN_CHAT_INVOKE: Final = "langchain.chat.invoke"
LANGCHAIN_LLM: Final = "langchain.llm"
LANGCHAIN_LLM_STREAM: Final = "langchain.llm.stream"
LANGCHAIN_LLM_INVOKE: Final = "langchain.llm.invoke"
LANGCHAIN_TOOL_INVOKE: Final = "langchain.tool.invoke"
LANGCHAIN_EMBEDDINGS: Final = "langchain.embeddings"
AGENTS_MODEL: Final = "openai_agents.model"
DSPY_MODEL: Final = "dspy.model"
PYDANTIC_AI_MODEL: Final = "pydantic_ai.model"
OPENAI: Final = "openai"
GROQ: Final = "groq"
ANTHROPIC: Final = "anthropic"
COHERE: Final = "cohere"
MISTRAL: Final = "mistralai"
BOTOCORE: Final = "botocore"
AIOBOTOCORE: Final = "aiobotocore"
LITELLM: Final = "litellm"
MCP_CLIENT: Final = "mcp.client"
MCP_SERVER: Final = "mcp.server"
GOOGLE_GENAI: Final = "google_genai"
