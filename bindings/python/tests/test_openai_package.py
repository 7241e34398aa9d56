"""tenon.openai beside the package `openai`, its judge where it is installed: one program with both clients."""

import contextlib
import json
import re
import subprocess
import sys

import pytest
from conftest import DEMO
from test_openai import CAPITAL, EXACT, RESPONSE, STRICT, TOOLS, client  # noqa: F401

import tenon
from tenon.openai import OpenAI


def same(ours, theirs, but=()):
    """Every field that the package's type declares has the same value in our record."""
    if hasattr(type(theirs), "model_fields") and not hasattr(type(ours), "model_fields"):
        for name in type(theirs).model_fields:
            if name not in but:
                same(getattr(ours, name), getattr(theirs, name), but)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other, but)
    elif not isinstance(theirs, dict) and not hasattr(type(ours), "model_fields"):
        assert ours == theirs


def test_the_types_of_the_package_read_our_records(client):
    pytest.importorskip("openai")
    from openai.types import Completion, Model
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from openai.types.responses import Response
    chat = {**EXACT, "max_tokens": 60}
    records = [(ChatCompletion, client.chat.completions.create(**chat, logprobs=True, top_logprobs=2)),
               (ChatCompletion, client.chat.completions.create(**chat, tools=TOOLS, tool_choice="required")),
               (Completion, client.completions.create(model="demo-q8_0", prompt="Once", max_tokens=3, logprobs=2)),
               (Model, client.models.retrieve("demo-q8_0")),
               (Response, client.responses.create(model="demo-q8_0", input=CAPITAL, temperature=0))]
    records += [(ChatCompletionChunk, chunk) for chunk in client.chat.completions.create(
        **chat, tools=TOOLS, tool_choice="required", stream=True, stream_options={"include_usage": True})]
    for kind, ours in records:
        # The package itself reads answers with construct(), which checks nothing: its latest types of responses
        # require counts (cache_write_tokens) that servers do not send.
        read = kind.construct if kind is Response else kind.model_validate
        fields = ours.model_dump()
        same(ours, read(**fields) if kind is Response else read(fields))


def pydantic_person():
    """A class of which an answer is to be an object."""
    import pydantic

    class Person(pydantic.BaseModel):
        """Bounded, so that the answer ends."""

        model_config = pydantic.ConfigDict(extra="forbid")
        name: str = pydantic.Field(max_length=8)
        age: int = pydantic.Field(ge=0, le=99)
    return Person


# What the events of chat.completions.stream() have besides their type.
TOLD = ("delta", "content", "name", "index", "arguments", "arguments_delta")


def told_by(event):
    """An event as values."""
    told = [event.type, *(getattr(event, name, None) for name in TOLD)]
    if event.type == "content.delta":
        told.append(event.snapshot)
    parsed = getattr(event, "parsed", None)
    told += [parsed.model_dump() if hasattr(parsed, "model_dump") else parsed, getattr(event, "parsed_arguments", None)]
    if event.type.startswith("logprobs"):
        told[1 + TOLD.index("content")] = [token.token for token in event.content]
    return told


def events_of(client, **fields):
    """The events of chat.completions.stream(), and its final answer, as values."""
    with client.chat.completions.stream(**{**EXACT, "max_tokens": 60, "seed": 1, **fields}) as stream:
        events = [told_by(event) for event in stream]
        answer = stream.get_final_completion()
    message = answer.choices[0].message
    calls = [(call.index, call.type, call.function.name, call.function.arguments, call.function.parsed_arguments)
             for call in message.tool_calls or []]
    logprobs = [token.token for token in answer.choices[0].logprobs.content] if answer.choices[0].logprobs else None
    return [events, answer.object, answer.choices[0].finish_reason, message.role, message.content, message.parsed,
            calls, logprobs, answer.usage.total_tokens if answer.usage else None]


def streaming_program(client):
    """What a program does with chat.completions.stream() of either client."""
    Person = pydantic_person()
    strict = [{"type": "function", "function": {**TOOLS[0]["function"], "strict": True}}]
    found = [events_of(client), events_of(client, logprobs=True, top_logprobs=1, n=1),
             events_of(client, stream_options={"include_usage": True}),
             events_of(client, tools=TOOLS, tool_choice="required"),
             events_of(client, tools=strict, tool_choice="required")]
    found.append(events_of(client, response_format=Person))
    assert isinstance(found[-1][5], Person)
    found[-1][5] = found[-1][5].model_dump()
    for fields in ({}, {"response_format": Person}):
        try:
            events_of(client, max_tokens=3, **fields)
        except Exception as error:
            found.append((type(error).__name__, error.completion.choices[0].message.content))
    return found


def program(client):
    """What a program does with either client, as text."""
    answer = client.chat.completions.create(**EXACT, seed=1)
    stream = client.chat.completions.create(**EXACT, seed=1, stream=True)
    called = client.chat.completions.create(**{**EXACT, "max_tokens": 60}, tools=TOOLS, tool_choice="required")
    events = client.responses.create(model="demo-q8_0", input=CAPITAL, temperature=0, stream=True)
    try:
        client.chat.completions.create(**{**EXACT, "n": 0})
        wrong = None
    except Exception as error:
        wrong = (type(error).__name__, error.status_code, error.param, error.message)
    return [answer.choices[0].message.content,
            [(chunk.choices[0].delta.content, chunk.choices[0].finish_reason) for chunk in stream],
            called.choices[0].message.tool_calls[0].function.arguments,
            [event.type for event in events], [model.id for model in client.models.list()], wrong]


def test_events_of_chunks_are_those_of_the_package():
    """Chunks that the demo model does not send: several choices and tools, members that come again or never."""
    pytest.importorskip("openai")
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    from tenon.openai._chat_stream import Assembler
    from tenon.openai._records import record_of

    def call(index, arguments, **others):
        return {"tool_calls": [{"index": index, "type": "function", **others.pop("call", {}),
                                "function": {"arguments": arguments, **others}}]}
    deltas = [(0, {"role": "assistant", "content": ""}), (0, {"content": "[1"}), (1, {"role": "assistant"}),
              (0, {"content": ", 2]"}), (0, call(0, "", name="weather", call={"id": "a"})), (0, call(0, '{"city":')),
              (1, {"content": "No."}), (0, call(0, '"Oslo"}')), (0, call(1, None, name="time", call={"id": "b"})),
              (0, call(1, "{}")), (0, {})]
    tools = [{"type": "function", "function": {"name": "weather", "strict": True, "parameters": {}}},
             {"type": "function", "function": {"name": "time", "parameters": {}}}]
    theirs, ours = ChatCompletionStreamState(input_tools=tools), Assembler({"tools": tools})
    for number, (index, delta) in enumerate(deltas):
        reason = "tool_calls" if number == len(deltas) - 1 else None
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": None,
                 "choices": [{"index": index, "delta": delta, "finish_reason": reason, "logprobs": None}]}
        expected = [told_by(event) for event in theirs.handle_chunk(ChatCompletionChunk.model_validate(chunk))]
        assert [told_by(event) for event in ours.events(record_of(chunk))] == expected, delta
    whole = theirs.get_final_completion()
    assert len(whole.choices[0].message.tool_calls) == 2
    same(ours.whole(), whole)


def test_the_beginning_of_json_has_a_value():
    from tenon.openai._partial_json import partial_json
    jiter = pytest.importorskip("jiter")
    text = r''' { "a\"b" : [1, -2.5e+3, [], {}, "x\\y\u00e9, ]}"] , "c":{"d":true,"e":null,"":[[0],"é"]}, "f": 1.5}'''
    for end in range(2, len(text) + 1):
        assert partial_json(text[:end]) == jiter.from_json(text[:end].encode(), partial_mode=True), text[:end]
    assert partial_json(text + " [") == json.loads(text)
    for none in ("", " ", "-", '"a', "tr"):
        assert partial_json(none) is None
    with pytest.raises(ValueError):
        partial_json("[1 2")


def test_one_program_runs_with_both_clients(client, tmp_path):
    """The package's over HTTP, ours in this process: equal texts, chunks, events and errors."""
    with client_over_http() as other:
        theirs, streamed = program(other), streaming_program(other)
    ours = program(client)
    assert streamed == streaming_program(client)
    assert ours[:-1] == theirs[:-1]
    assert ours[-1][:3] == theirs[-1][:3] and ours[-1][0] == "BadRequestError"


# What differs from one answer to the next of one server.
OF_ITS_OWN = ("id", "created", "created_at", "completed_at", "item_id", "response_id", "system_fingerprint", "call_id",
              "total_time", "obfuscation", "seed")


def without_own(value):
    """A value of to_dict() without them, and without what is None."""
    if isinstance(value, dict):
        return {key: without_own(one) for key, one in value.items() if key not in OF_ITS_OWN and one is not None}
    return [without_own(one) for one in value] if isinstance(value, list) else value


def shapes_program(client):
    """Each kind of answer, in the order of the calls, as objects."""
    Person = pydantic_person()
    chat = {**EXACT, "seed": 1, "max_tokens": 60}
    yield client.chat.completions.create(**chat, logprobs=True, top_logprobs=2, n=2)
    yield client.chat.completions.create(**chat, tools=TOOLS, tool_choice="required")
    parsed = client.chat.completions.parse(**chat, response_format=Person)
    assert isinstance(parsed.choices[0].message.parsed, Person)
    yield parsed
    yield from client.chat.completions.create(**chat, stream=True, stream_options={"include_usage": True})
    yield client.completions.create(model="demo-q8_0", prompt="Once", max_tokens=3, logprobs=2, temperature=0)
    yield client.responses.create(**RESPONSE)
    yield client.responses.create(**RESPONSE, tools=STRICT, tool_choice="required")
    parsed = client.responses.parse(**RESPONSE, text_format=Person)
    assert isinstance(parsed.output_parsed, Person)
    yield parsed
    for fields in ({}, {"text_format": Person}, {"tools": STRICT, "tool_choice": "required"}):
        with client.responses.stream(**RESPONSE, **fields) as stream:
            yield from stream
            yield stream.get_final_response()
    stored = client.responses.create(**{**RESPONSE, "input": [{"role": "user", "content": f"{i}?"} for i in range(5)]})
    listed = client.responses.input_items.list(stored.id, limit=2, order="asc")
    assert [item.content[0].text for item in listed] == [f"{i}?" for i in range(5)]
    assert len(listed.data) == 2 and listed.has_next_page()
    yield listed.get_next_page().data[0]
    yield client.responses.input_tokens.count(model="demo-q8_0", input=CAPITAL)
    yield client.decisions.create(model="demo-q8_0", input="The fox is red.", questions=[
        {"type": "predicate", "name": "red", "instructions": "Is the fox red?"}])
    assert client.post("/tokenize", body={"prompt": "Once"}, cast_to=object)["count"] > 0
    assert client.get("/models", cast_to=object)["data"][0]["id"] == "demo-q8_0"
    with client.chat.completions.with_streaming_response.create(**chat) as answer:
        assert list(answer.iter_lines()) and answer.headers["content-type"] == "application/json" and answer.request_id
    with client.chat.completions.with_streaming_response.create(**chat) as answer:
        yield answer.parse()
    raw = client.responses.with_raw_response.create(**RESPONSE)
    assert raw.status_code == 200 and raw.headers["content-type"] == "application/json" and raw.request_id
    yield raw.parse()
    yield client.models.retrieve("demo-q8_0")
    yield from client.models.list().data


@contextlib.contextmanager
def client_over_http(*arguments):
    """The package's client of a server in another process."""
    openai = pytest.importorskip("openai")
    server = subprocess.Popen([sys.executable, "-m", "tenon", "serve", str(DEMO), "--port", "0", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = next(found.group(1) for found in (re.search(r"listening on (\S+)", line)
                                                    for line in server.stdout) if found)
        yield openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
    finally:
        server.kill()
        server.wait()


def of_errors(client):
    """What a program sees of errors."""
    wrong = [lambda: client.chat.completions.create(**{**EXACT, "temperature": "hot"}),
             lambda: client.chat.completions.with_raw_response.create(**{**EXACT, "n": 0}),
             lambda: client.chat.completions.create(**{**EXACT, "model": "other"}),
             lambda: client.responses.retrieve("resp_none"),
             lambda: client.models.retrieve("none"),
             lambda: client.responses.cancel("resp_none"),
             lambda: client.responses.compact(model="demo-q8_0", input=CAPITAL),
             lambda: client.responses.input_items.list("resp_none"),
             lambda: client.responses.retrieve("resp_none", stream=True),
             lambda: client.chat.completions.parse(**{**EXACT, "max_tokens": 2}, response_format=pydantic_person())]
    for call in wrong[:-1]:
        try:
            call()
        except Exception as error:
            yield (type(error).__name__, [one.__name__ for one in type(error).__mro__[1:-3]], error.status_code,
                   error.param, error.code, error.type, error.body, error.response.status_code,
                   error.request_id is not None, str(error).split(" - ")[0])
    with pytest.raises(Exception) as caught:
        wrong[-1]()
    yield type(caught.value).__name__


@pytest.mark.filterwarnings("ignore::UserWarning")  # pydantic: what it thinks of its own models while dumping
def test_each_answer_has_the_fields_of_the_package():
    """Field by field, the package's client over HTTP beside ours."""
    rows = {"model": "embed", "input": ["a fox", "the sea"], "dimensions": 8}
    packed = {**rows, "encoding_format": "base64"}
    with client_over_http() as other:
        theirs, their_errors = list(shapes_program(other)), list(of_errors(other))
    with client_over_http("--name", "embed", "--embeddings", "on") as other:
        theirs += [other.embeddings.create(**rows), other.embeddings.create(**packed)]
    with OpenAI(model=DEMO) as client:
        ours, our_errors = list(shapes_program(client)), list(of_errors(client))
    with OpenAI(models={"embed": tenon.Model(DEMO, embeddings="on")}) as client:
        ours += [client.embeddings.create(**rows), client.embeddings.create(**packed)]
    assert our_errors == their_errors and len(our_errors) == 10
    assert len(ours) == len(theirs) > 40
    for mine, other in zip(ours, theirs):
        same(mine, other, OF_ITS_OWN)
        assert without_own(mine.to_dict(mode="json")) == without_own(other.to_dict(mode="json"))


def test_the_package_names_no_error_that_is_not_here():
    openai = pytest.importorskip("openai")
    import tenon.openai
    names = {name for name in openai.__all__ if isinstance(getattr(openai, name), type)
             and issubclass(getattr(openai, name), openai.OpenAIError)}
    # Those of sign-in, web hooks and sockets have no use without a network.
    assert not {name for name in names if not hasattr(tenon.openai, name)
                and not name.startswith(("InvalidWebhook", "OAuth", "WebSocket"))}
    for name in names & set(tenon.openai.__all__):
        assert [one.__name__ for one in getattr(tenon.openai, name).__mro__ if one.__name__ in names] == [
            one.__name__ for one in getattr(openai, name).__mro__ if one.__name__ in names], name
