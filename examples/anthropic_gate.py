"""Gates for Anthropic's SDK: block card numbers, limit large models to some users, and filter answers.

pip install "spanhook[examples]"; export ANTHROPIC_API_KEY=...
python anthropic_gate.py
"""

import re

from anthropic import Anthropic
from anthropic.types import MessageParam

import spanhook
from spanhook import Hooks, Operation, Reject

hooks = Hooks()
CARD = re.compile(r"\b(?:\d[ -]?){15}\d\b")
LARGE = {"claude-opus-4-6"}


@hooks.before("llm.call", priority=10)
def no_card_numbers(op: Operation) -> None:
    said = [str(part) for message in op.request.messages for part in message["parts"]]
    if any(CARD.search(one) for one in (op.request.system, *said)):
        raise Reject("Card numbers stay here", status_code=422)


@hooks.before("llm.call", models=LARGE)
def small_will_do(op: Operation) -> None:
    if op.identity.tenant_id != "research":
        op.replace(model="claude-haiku-4-5")


@hooks.after("llm.call", priority=50)  # a gate, so streams wait for it
def no_inside_names(op: Operation) -> None:
    if "Project Falcon" in op.response.text:
        op.respond("I cannot talk about that.")


def main() -> None:
    spanhook.instrument(hooks)
    client = Anthropic()

    def ask(question: str, model: str = "claude-haiku-4-5") -> str:
        reply = client.messages.create(model=model, max_tokens=200, messages=[{"role": "user", "content": question}])
        return "".join(block.text for block in reply.content if block.type == "text")

    print("small:", ask("Write a line of thanks", "claude-opus-4-6"))
    with spanhook.context(tenant_id="research"):
        print("large:", ask("Write a line of thanks", "claude-opus-4-6"))

    question: MessageParam = {"role": "user", "content": "What are you working on?"}
    with client.messages.stream(model="claude-haiku-4-5", max_tokens=200, messages=[question]) as stream:
        print("streamed:", "".join(stream.text_stream))

    try:
        ask("Is 4111 1111 1111 1111 a good number?")
    except Reject as error:
        print("rejected:", error.reason, f"({error.status_code})")


if __name__ == "__main__":
    main()
