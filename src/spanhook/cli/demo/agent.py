"""The demo's agent: a support desk made with LangChain's ``create_agent``. Nothing in it knows of spanhook."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from spanhook.cli.demo.model import ScriptedModel

_create = cast("Callable[..., Any]", create_agent)
"""Its own type is only partly known."""

NAME = "support-desk"
MODEL, SMALL_MODEL = "gpt-4o-mini", "gpt-4.1-nano"

ORDER = "Where is my order 1001? Please pay me back the 4.99 for shipping."
REFUND = "I want my money back for order 1001."
CLOSE = "Please close my account."
POLICY = "What is your policy on returns?"

INSTRUCTIONS = (
    "You work at the support desk of a shop. Look orders up with search_orders, pay money back with refund, close "
    "accounts with close_account and read the rules with summarize_policy. Always use the tools at once, never ask "
    "back, and answer in one or two sentences. If a tool is refused, say why and do not try again."
)
RULES = (
    "Goods may be sent back within 30 days. Shipping is paid back if a parcel is late. Gift cards, perishables and "
    "goods made to order are not taken back."
)


def make(*, live: bool) -> Any:
    """Create the agent, with scripted models or OpenAI's."""
    reader = _live(SMALL_MODEL) if live else ScriptedModel(model_name=SMALL_MODEL, script=_summary)
    writer = _live(MODEL) if live else ScriptedModel(model_name=MODEL, script=_reply)
    return _create(writer, tools(reader), system_prompt=INSTRUCTIONS, checkpointer=InMemorySaver(), name=NAME)


def _live(model: str) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=model, temperature=0, stream_usage=True)


# ----------------------------------------------------------------------------------------------- tools


def tools(reader: BaseChatModel) -> list[BaseTool]:
    """The agent's tools; one of them calls a model itself."""

    @tool
    def search_orders(query: str) -> str:
        """Look up orders by their number or contents."""
        return f"order {query}: sent on Monday, due on Thursday, now expected on Sunday, shipping 4.99, total 42.00"

    @tool
    def refund(order_id: str, amount: float) -> str:
        """Pay money back to the customer."""
        return f"{amount:.2f} will be paid back for order {order_id}"

    @tool
    def close_account(reason: str) -> str:
        """Close the customer's account. A person has to agree."""
        agreed = interrupt({"question": "Close this account?", "reason": reason})
        return "the account is closed" if agreed else "the account stays open"

    @tool
    def summarize_policy(topic: str) -> str:
        """The shop's rules on a topic, in a sentence."""
        return str(
            reader.invoke([HumanMessage(f"In one sentence, what do these rules say on {topic}? {RULES}")]).content
        )

    return [search_orders, refund, close_account, summarize_policy]


# ----------------------------------------------------------------------------------------------- the script


@dataclass(frozen=True, slots=True)
class Talk:
    """How the scripted model handles one question: the tools it calls in turn, and its answer."""

    steps: Sequence[tuple[str, Mapping[str, Any]]]
    answer: str


_LOOK_UP = ("search_orders", {"query": "1001"})
_TALKS: Mapping[str, Talk] = {
    ORDER: Talk(
        (_LOOK_UP, ("refund", {"order_id": "1001", "amount": 4.99})),
        "Your order arrives on Sunday, three days late. {}.",
    ),
    REFUND: Talk((_LOOK_UP, ("refund", {"order_id": "1001", "amount": 42.00})), "{}."),
    CLOSE: Talk((("close_account", {"reason": "the customer asked for it"}),), "As you wished, {}."),
    POLICY: Talk((("summarize_policy", {"topic": "returns"}),), "{}"),
}


def _reply(messages: Sequence[BaseMessage]) -> AIMessage:
    asked = max(index for index, message in enumerate(messages) if isinstance(message, HumanMessage))
    talk = _TALKS[str(messages[asked].content)]
    answers = [message for message in messages[asked:] if isinstance(message, ToolMessage)]
    if len(answers) < len(talk.steps):
        name, arguments = talk.steps[len(answers)]
        call = {"name": name, "args": dict(arguments), "id": f"call_{len(answers) + 1}", "type": "tool_call"}
        return AIMessage(content="", tool_calls=[call])
    last = answers[-1]
    if last.status == "error":
        return AIMessage(content=f"I am sorry, I cannot do that. {last.content}.")
    return AIMessage(content=talk.answer.format(last.content))


def _summary(_messages: Sequence[BaseMessage]) -> AIMessage:
    return AIMessage(content="Most goods can be sent back within 30 days, but not gift cards or goods made to order.")
