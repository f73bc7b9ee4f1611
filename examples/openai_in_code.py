"""The OpenAI SDK with spanhook set up in code: remove addresses from prompts, and enforce a token budget.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
python openai_in_code.py
"""

import re

from openai import OpenAI

import spanhook
from spanhook import Hooks, Operation, Reject

hooks = Hooks()
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
BUDGET_TOKENS = 50
spent = 0


@hooks.before("llm.call", priority=60)
def within_budget(op: Operation) -> None:
    if spent >= BUDGET_TOKENS:
        raise Reject(f"All {BUDGET_TOKENS} tokens are spent", status_code=429)


@hooks.before("llm.call")
def no_addresses(op: Operation) -> None:
    messages = op.request.messages
    parts = [part for message in messages for part in message["parts"] if part["type"] == "text"]
    found = [part for part in parts if ADDRESS.search(part["content"])]
    for part in found:
        part["content"] = ADDRESS.sub("[address]", part["content"])
    if found:
        op.replace(messages=messages)


@hooks.after("llm.call")
def count(op: Operation) -> None:
    global spent
    spent += op.usage.total_tokens


def main() -> None:
    spanhook.instrument(hooks, settings=spanhook.Settings(stream_usage=True))
    client = OpenAI()
    question = "Write a line of thanks to ann@example.com"

    reply = client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": question}])
    print("whole:", reply.choices[0].message.content)

    with client.responses.stream(model="gpt-4o-mini", input=question) as stream:
        print("streamed:", "".join(event.delta for event in stream if event.type == "response.output_text.delta"))

    try:
        client.responses.create(model="gpt-4o-mini", input=question)
    except Reject as error:
        print("rejected:", error.reason, f"({error.status_code})")


if __name__ == "__main__":
    main()
