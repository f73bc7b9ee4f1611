"""Agents in Celery workers: each worker child is gated, and a rejection reaches the caller that waits for the result.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
spanhook run --hooks ./hooks.py:hooks -- celery -A tasks worker --concurrency 2
python tasks.py ann "hello"     # in another terminal
"""

import os
import sys
from pathlib import Path

from celery import Celery
from openai import OpenAI

import spanhook

# A broker made of files, so that nothing else has to run; in production use Redis or RabbitMQ.
QUEUE = Path(os.environ.get("QUEUE_FOLDER", "queue")).absolute()
for folder in (QUEUE / "tasks", QUEUE / "results"):
    folder.mkdir(parents=True, exist_ok=True)

app = Celery("tasks", broker="filesystem://", backend=f"file://{QUEUE / 'results'}")
app.conf.broker_transport_options = {
    "data_folder_in": str(QUEUE / "tasks"),
    "data_folder_out": str(QUEUE / "tasks"),
    "control_folder": str(QUEUE / "control"),
}


@app.task
def answer(user: str, question: str) -> str:
    with spanhook.context(user_id=user):
        reply = OpenAI().responses.create(model="gpt-4o-mini", input=question)
    return reply.output_text


if __name__ == "__main__":
    try:
        print(app.send_task("tasks.answer", sys.argv[1:3]).get(timeout=60))
    except spanhook.Reject as error:
        print("rejected:", error)
