"""A service with several workers: the user comes from a header, and a rejection becomes the HTTP status.

pip install "spanhook[examples]"; export OPENAI_API_KEY=...
spanhook run --strict --require openai --hooks ./hooks.py:hooks -- uvicorn --workers 2 web:app
curl -H "x-user-id: ann" -H "content-type: application/json" -d '{"text": "hello"}' http://127.0.0.1:8000/ask
"""

import os
from typing import Annotated

from fastapi import FastAPI, Header, Request
from fastapi.responses import JSONResponse
from openai import AsyncOpenAI
from pydantic import BaseModel

import spanhook

app = FastAPI()
client = AsyncOpenAI()


class Question(BaseModel):
    text: str


class Answer(BaseModel):
    text: str
    worker: int


@app.exception_handler(spanhook.Reject)
async def rejected(_request: Request, error: spanhook.Reject) -> JSONResponse:
    return JSONResponse({"detail": error.reason}, error.status_code)


@app.post("/ask")
async def ask(question: Question, x_user_id: Annotated[str, Header()] = "") -> Answer:
    with spanhook.context(user_id=x_user_id):
        reply = await client.responses.create(model="gpt-4o-mini", input=question.text)
    return Answer(text=reply.output_text, worker=os.getpid())
