"""OpenAI's other endpoints, and paths in every form: gated at the same point, each under its own operation name."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from openai import AzureOpenAI, OpenAI

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.openai_endpoints import IMAGES, MODERATIONS, PICTURE, SOUND, SOUNDS, VIDEOS
from spanhook.cli.conformance.libraries.openai_ways import CHAT, sync_client
from spanhook.cli.conformance.servers.openai_server import OpenAIServer
from spanhook.instrument.openai.paths import ADAPTERS, ending
from spanhook.testing import recorder

Ask = Callable[[OpenAI], Any]


def refusing() -> Hooks:
    hooks = Hooks()

    @hooks.before("llm.call", "embeddings.create")
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    return hooks


def changing(change: Callable[[Operation], Any]) -> Hooks:
    hooks = Hooks()
    hooks.before("llm.call", name="change", timeout=60.0)(change)
    return hooks


# ----------------------------------------------------------------------------------------------- paths

PATHS = (
    "/chat%2Fcompletions",
    "/chat%2fcompletions",
    "/chat%252Fcompletions",
    "/%63hat/completions",
    "/Chat/Completions",
    "/CHAT/COMPLETIONS",
    "chat/completions",
    "//chat//completions",
    "/chat/completions/",
    "/chat/completions//",
    "/chat/./completions",
    "/chat/x/../completions",
    "/chat\\completions",
    "/chat/completions?api-version=1",
    "/chat/completions#x",
    "/chat/completions;v=1",
    "/deployments/gpt-4o/chat/completions",
    "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
    "/engines/x/chat/completions",
)


@pytest.mark.every_value
@pytest.mark.parametrize("path", PATHS)
def test_paths_in_every_form(path: str, server: OpenAIServer) -> None:
    with recorder(refusing()) as seen, sync_client(server.url) as client, pytest.raises(Reject):
        client.post(path, cast_to=dict[str, Any], body=CHAT)
    assert server.requests == []
    assert [(op.kind, op.model, len(op.request.messages)) for op in seen.operations] == [("llm.call", "gpt-4o-mini", 2)]


@pytest.mark.parametrize("method", ["POST", "post", "Post"])
def test_absolute_addresses_of_other_hosts(method: str, server: OpenAIServer) -> None:
    with recorder(refusing()) as seen, OpenAIServer() as other, sync_client(server.url) as client:
        for url in (f"{other.url}/chat/completions", f"{other.url.upper().replace('/V1', '/v1')}/Chat%2Fcompletions"):
            with pytest.raises(Reject):
                client.post(url, cast_to=dict[str, Any], body=CHAT)
        assert other.requests == server.requests == []
    assert {op._record.attributes["server.port"] for op in seen.operations} == {other.port}
    del method


@pytest.mark.parametrize(
    ("base", "path", "operation"),
    [
        ("/chat", "/completions", "chat"),
        ("/chat/", "completions", "chat"),
        ("/Chat", "/Completions", "chat"),
        ("/chat/completions", "/", "chat"),
        ("/images", "/generations", "generate_content"),
        ("", "/completions", "text_completion"),
    ],
)
def test_paths_that_begin_in_the_clients_address(base: str, path: str, operation: str, server: OpenAIServer) -> None:
    with recorder(refusing()) as seen, sync_client(f"{server.url}{base}") as client, pytest.raises(Reject):
        client.post(path, cast_to=dict[str, Any], body=CHAT)
    assert [op._record.attributes["gen_ai.operation.name"] for op in seen.operations] == [operation]


def test_azure_deployments(server: OpenAIServer) -> None:
    given: dict[str, Any] = {"azure_endpoint": server.origin, "api_version": "2024-10-21", "api_key": "test"}
    with sync_client(server.url) as plain, recorder(refusing()) as seen:
        for deployment in (None, "mine"):
            azure = AzureOpenAI(**given, azure_deployment=deployment, http_client=plain._client)
            for ask in (lambda one: one.chat.completions.create(**CHAT), IMAGES["generate"], SOUNDS["transcription"]):
                with pytest.raises(Reject):
                    ask(azure)
    assert server.requests == []
    assert {op.provider for op in seen.operations} == {"azure.ai.openai"}
    assert len(seen.operations) == 6


def test_what_is_no_call_of_a_model(server: OpenAIServer) -> None:
    with recorder(refusing()) as seen, sync_client(server.url) as client:
        for path in (
            "/files",
            "/chat/completions/x",
            "/responses/r/cancel",
            "/batches/b/cancel",
            "/threads",
            "/xbatches",
        ):
            with pytest.raises(Exception, match="404"):
                client.post(path, cast_to=dict[str, Any], body={})
        with pytest.raises(Exception, match="404"):
            client.get("/chat/completions", cast_to=dict[str, Any])
    assert seen.operations == []


def test_every_path_is_its_own_ending() -> None:
    assert {ending(path.replace("*", "id_1")) for path in ADAPTERS} == set(ADAPTERS)
    assert ending("/") == ending("") == ending("https://example.com") == ending("/%zz") == ""


# ----------------------------------------------------------------------------------------------- endpoints

MORE: dict[str, tuple[str, dict[str, Any], str]] = {
    "threads.runs": ("/threads/t/runs", {"assistant_id": "a", "model": "gpt-4o"}, "invoke_agent"),
    "thread and run": ("/threads/runs", {"assistant_id": "a"}, "invoke_agent"),
    "tool outputs": ("/threads/t/runs/r/submit_tool_outputs", {"tool_outputs": []}, "invoke_agent"),
    "input tokens": ("/responses/input_tokens", {"model": "gpt-4o", "input": "hi"}, "count_tokens"),
    "batches": ("/batches", {"input_file_id": "f", "endpoint": "/v1/responses"}, "batch"),
    "evals": ("/evals/e/runs", {"data_source": {}}, "evaluate"),
    "graders": ("/fine_tuning/alpha/graders/run", {"grader": {}, "model_sample": "x"}, "evaluate"),
    "fine-tuning": ("/fine_tuning/jobs", {"model": "gpt-4o", "training_file": "f"}, "fine_tune"),
    "sessions": ("/agents/sessions", {"input": "hi"}, "invoke_agent"),
    "session events": ("/agents/sessions/s/events", {}, "invoke_agent"),
    "automations": ("/agents/automations/a/invocations", {}, "invoke_agent"),
    "extensions": ("/videos/extensions", {"prompt": "x"}, "generate_content"),
}


@pytest.mark.every_value
@pytest.mark.parametrize("name", MORE)
def test_what_runs_later(name: str, server: OpenAIServer) -> None:
    path, body, operation = MORE[name]

    def ask(client: OpenAI) -> Any:
        return client.post(path, cast_to=dict[str, Any], body=body)

    with sync_client(server.url) as client:
        expected = ask(client)
        with recorder() as seen:
            assert ask(client) == expected
        with recorder(refusing()), pytest.raises(Reject):
            ask(client)
    assert len(server.requests) == 2
    [op] = seen.operations
    assert (op.kind, op._record.attributes["gen_ai.operation.name"]) == ("llm.call", operation)
    assert op.usage.total_tokens == 0
    assert op.usage.llm_calls == 1


def test_operation_names_and_what_comes_of_it(server: OpenAIServer) -> None:
    asks = {**IMAGES, **SOUNDS, "moderation": MODERATIONS["text"], **VIDEOS}
    with recorder() as seen, sync_client(server.url) as client:
        for ask in asks.values():
            ask(client)
    found = {
        name: (
            op._record.attributes["gen_ai.operation.name"],
            op._record.attributes["openai.api.type"],
            op._record.attributes.get("gen_ai.output.type"),
            op.usage.total_tokens,
        )
        for name, op in zip(asks, seen.operations, strict=True)
    }
    assert found["generate"] == found["generate stream"] == ("generate_content", "images.generations", "image", 28)
    assert found["edit"] == ("generate_content", "images.edits", "image", 28)
    assert found["speech"] == found["speech streaming"] == ("generate_content", "audio.speech", "speech", 0)
    assert found["transcription"] == ("generate_content", "audio.transcriptions", "text", 28)
    assert found["transcription stream"] == found["transcription"]
    assert found["transcription as text"] == ("generate_content", "audio.transcriptions", "text", 0)
    assert found["moderation"] == ("moderation", "moderations", None, 0)
    assert {op.status for op in seen.operations} == {"success"}
    assert seen.operations[list(asks).index("transcription as text")].usage.uncounted == ()


def _facts(value: Any) -> Any:
    if isinstance(value, list):
        return [_facts(one) for one in value]
    content = getattr(value, "content", value)
    return type(value).__name__, content if isinstance(content, bytes | str) else repr(content).partition(" at 0x")[0]


def test_the_application_gets_the_same(server: OpenAIServer) -> None:
    def look(op: Operation) -> None:
        op.state["seen"] = op.request.inputs, op.request.messages, op.response

    hooks = Hooks()
    hooks.before("llm.call")(look)
    hooks.after("llm.call")(look)
    asks = {**IMAGES, **SOUNDS, **MODERATIONS, **VIDEOS}
    with sync_client(server.url) as client:
        expected = {name: _facts(ask(client)) for name, ask in asks.items()}
        sent = [(request.path, request.body) for request in server.requests]
        server.requests.clear()
        with recorder(hooks):
            assert {name: _facts(ask(client)) for name, ask in asks.items()} == expected
    assert [(request.path, request.body) for request in server.requests] == sent


def test_what_hooks_are_shown_and_what_they_change(server: OpenAIServer) -> None:
    shown: list[Any] = []

    def change(op: Operation) -> None:
        messages = op.request.messages
        shown.append((copy.deepcopy(messages), op.request.system, op.model))
        for message in messages:
            for part in message["parts"]:
                if part["type"] == "text":
                    part["content"] = "changed"
        op.replace(messages=messages, model="other")

    with recorder(changing(change)) as seen, sync_client(server.url) as client:
        client.images.edit(model="gpt-image-1", image=PICTURE, prompt="draw")
        client.audio.transcriptions.create(model="whisper-1", file=SOUND)
        client.moderations.create(input=["a", "b"])
    assert shown == [
        (
            [{"role": "user", "parts": [{"type": "text", "content": "draw"}, {"type": "upload", "name": "image"}]}],
            "",
            "gpt-image-1",
        ),
        ([{"role": "user", "parts": [{"type": "upload", "name": "file"}]}], "", "whisper-1"),
        ([{"role": "user", "parts": [{"type": "text", "content": one}]} for one in "ab"], "", ""),
    ]
    images, sound, moderation = (request.body for request in server.requests)
    assert (images["prompt"], images["model"], images["image"]) == ("changed", "other", "7 bytes")
    assert (sound["model"], sound["file"]) == ("other", "5 bytes")
    assert (moderation["input"], moderation["model"]) == (["changed", "changed"], "other")
    assert seen.operations[0].model == "other"


def test_files_that_a_hook_takes_out_are_missed(server: OpenAIServer) -> None:
    told: list[str] = []

    def change(op: Operation) -> None:
        try:
            op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "no picture"}]}])
        except Exception as error:
            told.append(str(error))

    with recorder(changing(change)), sync_client(server.url) as client:
        client.images.edit(model="gpt-image-1", image=PICTURE, prompt="draw")
    assert "the removal of a part in messages=" in told[0]
    assert server.requests[0].body["prompt"] == "draw"


def test_instructions_for_a_voice(server: OpenAIServer) -> None:
    with recorder(changing(lambda op: op.replace(system="Whisper."))), sync_client(server.url) as client:
        client.audio.speech.create(model="gpt-4o-mini-tts", voice="alloy", input="hi", instructions="Shout.")
    assert server.requests[0].body["instructions"] == "Whisper."


def test_answers(server: OpenAIServer) -> None:
    def answer(op: Operation) -> None:
        api = op._record.attributes["openai.api.type"]
        op.respond("said" if "audio" in api else json.loads('{"created": 1, "data": [{"url": "x"}]}'))

    with recorder(changing(answer)), sync_client(server.url) as client:
        transcript = client.audio.transcriptions.create(model="whisper-1", file=SOUND)
        pieces = list(client.audio.transcriptions.create(model="gpt-4o-transcribe", file=SOUND, stream=True))
        image = client.images.generate(model="gpt-image-1", prompt="draw")
        with pytest.raises(Reject, match="HookError"):
            client.audio.speech.create(model="tts-1", voice="alloy", input="hi")
    assert transcript.text == "said"
    assert [piece.type for piece in pieces] == ["transcript.text.delta", "transcript.text.done"]
    assert (type(image).__name__, (image.data or [])[0].url) == ("ImagesResponse", "x")
    assert server.requests == []


THREAD = {"assistant_id": "a", "thread": {"messages": [{"role": "user", "content": "hi"}], "metadata": {"k": "v"}}}
GIVEN: dict[str, dict[str, Any]] = {
    "/threads/t/runs/r/submit_tool_outputs": {"tool_outputs": [{"tool_call_id": "c", "output": "found"}]},
    "/agents/sessions/s/events": {"events": [{"type": "user_message", "text": "found"}]},
}


def test_the_messages_of_a_thread_that_is_made_with_its_run_are_gated(server: OpenAIServer) -> None:
    hooks = Hooks()

    @hooks.before("llm.call")
    def shorten(op: Operation) -> None:
        [message] = op.request.messages
        if message["parts"][0]["content"] == "hi":
            op.replace(messages=[{"role": "user", "parts": [{"type": "text", "content": "ho"}]}])

    with recorder(hooks), sync_client(server.url) as client:
        client.post("/threads/runs", cast_to=dict[str, Any], body=THREAD)
    thread = server.requests[0].body["thread"]
    assert ("ho" in str(thread["messages"]), "hi" in str(thread["messages"])) == (True, False)
    assert thread["metadata"] == {"k": "v"}
    assert "ho" not in str(THREAD)


@pytest.mark.parametrize("path", GIVEN)
def test_what_a_run_is_given_under_way_is_gated(path: str, server: OpenAIServer) -> None:
    hooks, shown = Hooks(), list[str]()

    @hooks.before("llm.call")
    def look(op: Operation) -> None:
        shown.append(f"{op.request.messages} {op.request.inputs}")

    with recorder(hooks), sync_client(server.url) as client:
        client.post(path, cast_to=dict[str, Any], body=GIVEN[path])
    assert shown[0].count("found") == 2
    assert server.requests[0].body == GIVEN[path]
