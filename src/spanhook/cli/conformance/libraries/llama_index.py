"""What is gated in LlamaIndex, and every way of calling it, in process and against a server on loopback."""

from importlib.util import find_spec
from typing import Any

from spanhook.cli.conformance.libraries.llama_index_hearing import listeners
from spanhook.cli.conformance.libraries.llama_index_ways import (
    AGENT_WAYS,
    ASK,
    CALLED_WAYS,
    FLOW_WAYS,
    FOUND,
    KEPT_MODELS,
    KEPT_TOOLS,
    MODEL_WAYS,
    OPENED,
    OWN_TOOL_WAYS,
    PREDICTING_WAYS,
    TOOL_WAYS,
    Flow,
    asking,
    async_tool,
    coding,
    one_of_one,
    openai_agent,
    openai_model,
    own,
    own_tool,
    plain_agent,
    predicting,
    prompted,
    reacting,
    team,
    tool,
    using,
)
from spanhook.cli.conformance.servers.openai_server import Reply
from spanhook.cli.conformance.subject import OVER_HTTP, Subject, Ungated

_ASKED: dict[str, Any] = {"asked": ASK, "said": Reply.text, "listeners": listeners}
_MODEL: dict[str, Any] = {**_ASKED, "opened": OPENED}
_FOUND: dict[str, Any] = {"said": FOUND, "listeners": listeners}
_TOLD: dict[str, Any] = {"raises": False, **_FOUND}
_HTTP: dict[str, Any] = {**_ASKED, "faults": OVER_HTTP, "slow": True}
_OVER_HTTP = (
    Subject("LlamaIndex's OpenAI", "llm.call", openai_model, MODEL_WAYS, KEPT_MODELS, **_HTTP, opened=OPENED),
    Subject("a LlamaIndex agent's OpenAI", "llm.call", openai_agent, AGENT_WAYS, {}, **_HTTP),
)

SUBJECTS: tuple[Subject, ...] = (
    Subject("a model of one's own in LlamaIndex", "llm.call", own, MODEL_WAYS, KEPT_MODELS, **_MODEL),
    Subject("a model that takes prompts in LlamaIndex", "llm.call", prompted, MODEL_WAYS, KEPT_MODELS, **_MODEL),
    Subject("a LlamaIndex agent's model", "llm.call", asking, AGENT_WAYS, {}, **_ASKED),
    Subject("the model of a LlamaIndex agent without streams", "llm.call", plain_agent, AGENT_WAYS, {}, **_ASKED),
    *(_OVER_HTTP if find_spec("llama_index.llms") and find_spec("llama_index.llms.openai") else ()),
    Subject("a LlamaIndex agent", "agent.invoke", asking, AGENT_WAYS, {}, asked=ASK, answer="an answer"),
    Subject("a LlamaIndex ReAct agent", "agent.invoke", reacting, AGENT_WAYS, {}, asked=ASK, answer="an answer"),
    Subject("a LlamaIndex CodeAct agent", "agent.invoke", coding, AGENT_WAYS, {}, asked=ASK, answer="an answer"),
    Subject("a LlamaIndex workflow of one agent", "agent.invoke", one_of_one, AGENT_WAYS, {}, asked=ASK, answer="so"),
    Subject("LlamaIndex agents that hand over", "run", team, AGENT_WAYS, {}),
    Subject("a LlamaIndex workflow of one's own", "run", Flow, FLOW_WAYS, {}),
    Subject("a LlamaIndex tool", "tool.execute", using(tool), AGENT_WAYS, {}, **_TOLD),
    Subject("an async LlamaIndex tool", "tool.execute", using(async_tool), AGENT_WAYS, {}, **_TOLD),
    Subject("a LlamaIndex tool of one's own", "tool.execute", using(own_tool, "input"), AGENT_WAYS, {}, **_TOLD),
    Subject("a LlamaIndex tool that a model calls", "tool.execute", predicting, PREDICTING_WAYS, {}, **_TOLD),
    Subject("a LlamaIndex tool, tried", "tool.execute", tool, CALLED_WAYS, {}, **_TOLD),
    Subject("a LlamaIndex tool itself", "tool.execute", tool, TOOL_WAYS, KEPT_TOOLS, **_FOUND),
    Subject("a LlamaIndex tool of one's own itself", "tool.execute", own_tool, OWN_TOOL_WAYS, {}, **_FOUND),
)

UNGATED = (
    Ungated("the function of a tool, called as a function", tool, lambda made: made.fn(query=ASK)),
    Ungated("functions of tools that the executor of a CodeActAgent calls; executing the code is gated"),
    Ungated("embeddings, retrievers and query engines; the models and bound clients inside of them are gated"),
)
