"""tenon.openai: OpenAI's client in this process, and the package `openai` as its judge where it is installed."""

import asyncio
import contextlib
import copy
import gc
import json
import pickle
import re
import subprocess
import sys
import threading

import pytest
from conftest import DEMO, ROOT

import tenon
from tenon.openai import (NOT_GIVEN, APIConnectionError, APITimeoutError, AsyncOpenAI, BadRequestError,
                          LengthFinishReasonError, NotFoundError, OpenAI, OpenAIError, Stream)

CAPITAL = [{"role": "user", "content": "What is the capital of Norway?"}]
OSLO = "The capital of Norway is Oslo."
EXACT = {"model": "demo-q8_0", "messages": CAPITAL, "temperature": 0, "max_tokens": 24}
# More tokens than are generated before a test is about to end it.
CONTEXT = 16384
LONG = {**EXACT, "max_tokens": 16000, "extra_body": {"ignore_eos": True}}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer",
          "minimum": 0, "maximum": 99}}, "required": ["name", "age"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Weather of a city",
          "parameters": {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}},
                         "required": ["city"]}}}]


@pytest.fixture(scope="module")
def client():
    with OpenAI(model=DEMO, context=CONTEXT) as client:
        yield client


def test_an_answer_has_attributes(client):
    answer = client.chat.completions.create(**EXACT)
    assert answer.object == "chat.completion" and answer.model == "demo-q8_0"
    assert answer.choices[0].message.content == OSLO
    assert answer.choices[0].message.tool_calls is None and answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.model_dump()["choices"][0]["message"]["content"] == OSLO
    assert json.loads(answer.model_dump_json()) == answer.to_dict() and answer._request_id
    with pytest.raises(AttributeError, match="no_such_field"):
        answer.no_such_field


def test_a_stream_is_iterated_and_cancelled(client):
    with client.chat.completions.create(**EXACT, stream=True,
                                        stream_options={"include_usage": True}) as stream:
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == OSLO
    assert chunks[-1].usage.completion_tokens > 0 and chunks[-1].choices == []
    stream = client.chat.completions.create(**LONG, stream=True)
    assert isinstance(stream, Stream) and next(stream).object == "chat.completion.chunk"
    stream.close()
    assert list(stream) == []


def test_errors_have_the_names_of_the_package(client):
    with pytest.raises(BadRequestError) as caught:
        client.chat.completions.create(**{**EXACT, "temperature": "hot"})
    assert caught.value.param == "temperature" and caught.value.status_code == 400
    assert isinstance(caught.value, OpenAIError) and caught.value.request_id
    with pytest.raises(BadRequestError):
        client.chat.completions.create(**{**EXACT, "temperature": 9, "stream": True})
    with pytest.raises(NotFoundError):
        client.chat.completions.create(**{**EXACT, "model": "other"})
    with pytest.raises(APITimeoutError):
        client.chat.completions.create(**LONG, timeout=0.05)
    with pytest.raises(TypeError):
        OpenAI()
    with pytest.raises(TypeError, match="no value of a request"):
        client.chat.completions.create(messages=object())


def test_choices_tools_and_schemas(client):
    several = client.chat.completions.create(**{**EXACT, "temperature": 1}, n=3, seed=5, logprobs=True,
                                             top_logprobs=2, logit_bias={"7": -100}, stop=["Oslo"])
    assert [choice.index for choice in several.choices] == [0, 1, 2]
    assert len(several.choices[0].logprobs.content[0].top_logprobs) == 2
    called = client.chat.completions.create(**{**EXACT, "max_tokens": 60}, tools=TOOLS, tool_choice="required")
    call = called.choices[0].message.tool_calls[0]
    assert call.function.name == "weather" and "city" in json.loads(call.function.arguments)
    answer = client.chat.completions.create(**{**EXACT, "max_tokens": 60}, response_format={
        "type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}})
    assert set(json.loads(answer.choices[0].message.content)) == {"name", "age"}


def test_answers_become_objects_of_a_class(client):
    class Person:
        """What a class of pydantic has."""

        @staticmethod
        def model_json_schema():
            return SCHEMA

        @staticmethod
        def model_validate_json(text):
            return ("person", json.loads(text))
    for parse in (client.chat.completions.parse, client.beta.chat.completions.parse):
        answer = parse(**{**EXACT, "max_tokens": 60}, response_format=Person)
        kind, person = answer.choices[0].message.parsed
        assert kind == "person" and set(person) == {"name", "age"}


def test_a_stream_tells_events(client):
    with client.chat.completions.stream(**EXACT, n=2) as stream:
        first = next(stream)
        assert first.type == "chunk" and first.chunk.object == "chat.completion.chunk"
        kinds = {event.type for event in stream}
        assert kinds == {"chunk", "content.delta", "content.done"}
        answer = stream.get_final_completion()
        assert answer is stream.current_completion_snapshot
    assert [choice.message.content for choice in answer.choices] == [OSLO, OSLO]
    with client.chat.completions.stream(**LONG) as stream:
        next(stream)
    assert "chunk" not in {event.type for event in stream}
    with pytest.raises(BadRequestError):
        with client.chat.completions.stream(**{**EXACT, "temperature": "hot"}):
            pass

    async def main():
        async with AsyncOpenAI(model=DEMO) as client:
            async with client.chat.completions.stream(**EXACT) as stream:
                pieces = [event.delta async for event in stream if event.type == "content.delta"]
                answer = await stream.get_final_completion()
            assert "".join(pieces) == answer.choices[0].message.content == OSLO
    asyncio.run(main())


def test_an_answer_that_is_cut_is_no_object(client):
    class Person:
        """What a class of pydantic has."""

        model_json_schema = staticmethod(lambda: SCHEMA)
        model_validate_json = staticmethod(json.loads)
    with pytest.raises(LengthFinishReasonError) as caught:
        client.chat.completions.parse(**{**EXACT, "max_tokens": 2}, response_format=Person)
    assert caught.value.completion.choices[0].finish_reason == "length"


def test_options_of_a_client_are_changed_in_a_copy(client):
    hasty = client.with_options(timeout=0.05, max_retries=2)
    with pytest.raises(APITimeoutError):
        hasty.chat.completions.create(**LONG)
    patient = hasty.copy(timeout=None)
    for one in (client, patient, patient.with_options()):
        assert one.chat.completions.create(**EXACT).choices[0].message.content == OSLO
    assert hasty.with_options().timeout == 0.05 and patient.timeout is None
    with pytest.raises(APITimeoutError):  # a call that leaves it out has the client's
        hasty.chat.completions.create(**LONG, timeout=NOT_GIVEN)
    assert hasty.chat.completions.create(**EXACT, timeout=None).choices[0].message.content == OSLO

    class Timeout:
        """What httpx.Timeout has."""

        read = 0.05
    with pytest.raises(APITimeoutError):
        client.chat.completions.create(**LONG, timeout=Timeout())


def test_answers_are_read_in_pieces(client):
    with client.chat.completions.with_streaming_response.create(**EXACT, stream=True) as answer:
        lines = list(answer.iter_lines())
    assert answer.status_code == 200 and lines[-2:] == ["data: [DONE]", ""] and len(lines) > 6
    with client.chat.completions.with_streaming_response.create(**EXACT) as answer:
        pieces = list(answer.iter_bytes(16))
        assert {len(piece) for piece in pieces[:-1]} == {16}
        assert json.loads(b"".join(pieces))["choices"][0]["message"]["content"] == OSLO
    with client.with_streaming_response.chat.completions.create(**EXACT) as answer:
        assert answer.parse().choices[0].message.content == OSLO and answer.text() == answer.read().decode()
    with pytest.raises(BadRequestError) as caught:
        with client.chat.completions.with_streaming_response.create(**{**EXACT, "n": 0}):
            pass
    assert caught.value.param == "n"
    with pytest.raises(APIConnectionError):
        with client.chat.completions.with_streaming_response.create(**LONG, stream=True) as answer:
            texts = answer.iter_text()
            next(texts)
            closer = threading.Thread(target=answer.close)
            closer.start()
            closer.join()
            list(texts)

    async def main():
        async with AsyncOpenAI(model=DEMO) as other:
            async with other.chat.completions.with_streaming_response.create(**EXACT, stream=True) as answer:
                assert [line async for line in answer.iter_lines()][-2] == "data: [DONE]"
            async with other.chat.completions.with_streaming_response.create(**EXACT) as answer:
                assert (await answer.parse()).choices[0].message.content == OSLO
            assert [model.id async for model in other.models.list()] == ["demo-q8_0"]
            assert [model.id for model in (await other.models.list()).data] == ["demo-q8_0"]
            assert [model.id async for model in await other.models.list()] == ["demo-q8_0"]
            assert (await other.models.with_raw_response.list()).parse().data[0].id == "demo-q8_0"
            with pytest.raises(BadRequestError):
                async with other.chat.completions.with_streaming_response.create(**{**EXACT, "n": 0}):
                    pass
            assert not other.is_closed()
        assert other.is_closed()
    asyncio.run(main())


def test_what_needs_other_machines_is_refused_with_a_sentence(client):
    for call in (lambda: client.files, lambda: client.images.generate(prompt="a fox"), lambda: client.batches.create(),
                 lambda: client.models.delete("demo-q8_0"), lambda: client.chat.completions.list(),
                 lambda: client.responses.connect()):
        with pytest.raises(tenon.UnsupportedError, match="is not served in this process"):
            call()
    assert not hasattr(client, "files") and not hasattr(client, "no_such_thing")
    with pytest.raises(AttributeError, match="no_such_thing"):
        client.no_such_thing



def test_other_routes(client):
    text = client.completions.create(model="demo-q8_0", prompt="Once upon a time", max_tokens=4, temperature=0)
    assert text.choices[0].text == " there was a proud"
    assert [model.id for model in client.models.list()] == ["demo-q8_0"]
    assert client.models.retrieve("demo-q8_0").object == "model"
    stored = client.responses.create(model="demo-q8_0", input=CAPITAL, temperature=0)
    assert stored.output_text == OSLO == client.responses.retrieve(stored.id).output_text
    assert client.responses.delete(stored.id).deleted
    kinds = [event.type for event in client.responses.create(model="demo-q8_0", input=CAPITAL, stream=True)]
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"


class Person:
    """What a class of pydantic has."""

    model_json_schema = staticmethod(lambda: SCHEMA)
    model_validate_json = staticmethod(lambda text: ("person", json.loads(text)))


RESPONSE = {"model": "demo-q8_0", "input": CAPITAL, "temperature": 0, "max_output_tokens": 60}
STRICT = [{"type": "function", "strict": True, **TOOLS[0]["function"]}]


def test_responses_become_objects_of_a_class(client):
    answer = client.responses.parse(**RESPONSE, text_format=Person)
    kind, person = answer.output_parsed
    assert kind == "person" and set(person) == {"name", "age"} and json.loads(answer.output_text) == person
    assert client.responses.parse(**RESPONSE).output_parsed is None
    called = client.responses.parse(**RESPONSE, tools=STRICT, tool_choice="required")
    call, = [item for item in called.output if item.type == "function_call"]
    assert call.parsed_arguments == json.loads(call.arguments)


def test_a_response_is_streamed_with_the_text_so_far(client):
    with client.responses.stream(**RESPONSE) as stream:
        texts = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        answer = stream.get_final_response()
    assert texts[-1] == answer.output_text == OSLO and len(texts) > 3
    assert all(after.startswith(before) for before, after in zip(texts, texts[1:]))
    with client.responses.stream(**RESPONSE, text_format=Person) as stream:
        parsed = [event.parsed for event in stream if event.type == "response.output_text.done"]
        assert parsed == [stream.get_final_response().output_parsed]
    with client.responses.stream(**{**RESPONSE, "max_output_tokens": 2}) as stream:
        with pytest.raises(RuntimeError, match="response.completed"):
            stream.get_final_response()
    with client.responses.stream(**{**RESPONSE, "max_output_tokens": 16000}, extra_body={"ignore_eos": True}) as stream:
        next(stream)
    assert list(stream) == []

    async def main():
        async with AsyncOpenAI(model=DEMO) as client:
            async with client.responses.stream(**RESPONSE) as stream:
                pieces = [event.delta async for event in stream if event.type == "response.output_text.delta"]
                assert "".join(pieces) == (await stream.get_final_response()).output_text == OSLO
            answer = await client.responses.parse(**RESPONSE, text_format=Person)
            assert answer.output_parsed[0] == "person"
    asyncio.run(main())


def test_raw_responses_have_status_headers_and_bytes(client):
    raw = client.chat.completions.with_raw_response.create(**EXACT)
    assert raw.status_code == 200 and raw.headers["Content-Type"] == "application/json"
    assert raw.headers.get("CONTENT-TYPE") == "application/json" and "x-request-id" in raw.headers
    assert raw.json()["choices"][0]["message"]["content"] == OSLO and raw.text.encode() == raw.content
    answer = raw.parse()
    assert answer.choices[0].message.content == OSLO and raw.parse() is answer
    assert answer._request_id == raw.request_id == raw.headers["X-Request-Id"]
    assert client.chat.completions.create(**EXACT).choices  # the client itself is as it was
    raw = client.chat.completions.with_raw_response.create(**EXACT, stream=True)
    with pytest.raises(RuntimeError, match="parse"):
        raw.content
    assert "".join(chunk.choices[0].delta.content or "" for chunk in raw.parse()) == OSLO
    assert client.responses.with_raw_response.parse(**RESPONSE, text_format=Person).parse().output_parsed
    assert [model.id for model in client.models.with_raw_response.list().parse()] == ["demo-q8_0"]
    with pytest.raises(BadRequestError) as caught:
        client.chat.completions.with_raw_response.create(**{**EXACT, "temperature": "hot"})
    assert caught.value.response.status_code == 400 and caught.value.response.json()["error"]["param"] == "temperature"

    async def main():
        async with AsyncOpenAI(model=DEMO) as client:
            raw = await client.chat.completions.with_raw_response.create(**EXACT)
            assert raw.parse().choices[0].message.content == OSLO
            raw = await client.chat.completions.with_raw_response.create(**EXACT, stream=True)
            assert len([chunk async for chunk in raw.parse()]) > 3
    asyncio.run(main())


def test_what_can_be_sent_to_another_process_is_pickled(client):
    answer = client.chat.completions.create(**EXACT)
    assert pickle.loads(pickle.dumps(answer)) == answer == copy.deepcopy(answer)
    with pytest.raises(NotFoundError) as caught:
        client.chat.completions.create(**{**EXACT, "model": "other"})
    error = pickle.loads(pickle.dumps(caught.value))
    assert type(error) is NotFoundError and str(error) == str(caught.value) and error.body == caught.value.body
    assert error.response.status_code == 404 and error.request_id == caught.value.request_id
    for thing in (client, client.chat.completions):
        with pytest.raises(TypeError, match="of this process"):
            pickle.dumps(thing)


def test_embeddings():
    with OpenAI(models={"embed": tenon.Model(DEMO, embeddings="on")}) as client:
        rows = client.embeddings.create(model="embed", input=["a fox", "the sea"])
        assert len(rows.data) == 2 and len(rows.data[0].embedding) == 256


def test_async_calls_run_beside_each_other(model):
    async def main():
        async with AsyncOpenAI(engine=tenon.Engine(model), name="demo-q8_0",
                               context=CONTEXT) as client:
            answers = await asyncio.gather(*(client.chat.completions.create(**EXACT) for _ in range(20)))
            assert {answer.choices[0].message.content for answer in answers} == {OSLO}
            stream = await client.chat.completions.create(**EXACT, stream=True)
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
            assert "".join(pieces) == OSLO and len(pieces) > 3
            with pytest.raises(BadRequestError):
                await client.chat.completions.create(**{**EXACT, "temperature": "hot"})
            with pytest.raises(APITimeoutError):
                await client.chat.completions.create(**LONG, timeout=0.05)
            task = asyncio.ensure_future(client.chat.completions.create(**LONG))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    asyncio.run(main())


def test_closing_ends_what_is_under_way(model):
    client = OpenAI(model=model, name="demo-q8_0", context=CONTEXT)
    threading.Timer(0.1, client.close).start()
    with pytest.raises(APIConnectionError):
        client.chat.completions.create(**LONG)
    with pytest.raises(APIConnectionError):
        client.chat.completions.create(**EXACT)
    engine = tenon.Engine(model)
    client = OpenAI(engine=engine, name="demo-q8_0", context=CONTEXT)
    threading.Timer(0.1, engine.close).start()
    with pytest.raises(APIConnectionError):
        client.chat.completions.create(**LONG)


def test_clients_end_in_any_order():
    for order in range(6):
        model = tenon.Model(DEMO, threads=1)
        client = OpenAI(model=model, name="demo-q8_0", context=CONTEXT)
        stream = client.chat.completions.create(**LONG, stream=True)
        next(stream)
        things = [model, client, stream]
        for _ in range(3):
            order, index = divmod(order, len(things))
            things.pop(index % len(things)).close()
        del model, client, stream
        gc.collect()


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
              "total_time", "obfuscation")


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


def test_what_the_readme_shows_runs(capsys, monkeypatch):
    text = (ROOT / "bindings/python/README.md").read_text()
    program_text = next(block for block in text.split("```") if "tenon.openai" in block and "client =" in block)
    monkeypatch.chdir(ROOT / "examples/models")
    exec(compile(program_text, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == OSLO
