"""tenon.openai: OpenAI's client in this process, and the package `openai` as its judge where it is installed."""

import asyncio
import gc
import json
import threading

import pytest
from conftest import DEMO, ROOT

import tenon
from tenon.openai import (APIConnectionError, APITimeoutError, AsyncOpenAI, BadRequestError, LengthFinishReasonError,
                          NotFoundError, OpenAI, OpenAIError, Stream)

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
    assert hasty.with_options()._timeout == 0.05 and patient._timeout is None


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


def same(ours, theirs):
    """Every field that the package's type declares has the same value in our record."""
    if hasattr(type(theirs), "model_fields"):
        for name in type(theirs).model_fields:
            same(getattr(ours, name), getattr(theirs, name))
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other)
    elif not isinstance(theirs, dict):
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
    import pydantic

    class Person(pydantic.BaseModel):
        """A class of which the answer is to be an object."""

        model_config = pydantic.ConfigDict(extra="forbid")
        name: str = pydantic.Field(max_length=8)
        age: int = pydantic.Field(ge=0, le=99)
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
    openai = pytest.importorskip("openai")
    import re
    import subprocess
    import sys
    server = subprocess.Popen([sys.executable, "-m", "tenon", "serve", str(DEMO), "--port", "0"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = next(found.group(1) for found in (re.search(r"listening on (\S+)", line)
                                                    for line in server.stdout) if found)
        other = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
        theirs, streamed = program(other), streaming_program(other)
    finally:
        server.kill()
        server.wait()
    ours = program(client)
    assert streamed == streaming_program(client)
    assert ours[:-1] == theirs[:-1]
    assert ours[-1][:3] == theirs[-1][:3] and ours[-1][0] == "BadRequestError"


def test_what_the_readme_shows_runs(capsys, monkeypatch):
    text = (ROOT / "bindings/python/README.md").read_text()
    program_text = next(block for block in text.split("```") if "tenon.openai" in block and "client =" in block)
    monkeypatch.chdir(ROOT / "examples/models")
    exec(compile(program_text, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == OSLO
