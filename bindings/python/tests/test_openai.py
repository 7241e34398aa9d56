"""tenon.openai: OpenAI's client in this process, and the package `openai` as its judge where it is installed."""

import asyncio
import gc
import json
import threading

import pytest
from conftest import DEMO, ROOT

import tenon
from tenon.openai import (APIConnectionError, APITimeoutError, AsyncOpenAI, BadRequestError, NotFoundError, OpenAI,
                          OpenAIError, Stream)

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
        theirs = program(openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0))
    finally:
        server.kill()
        server.wait()
    ours = program(client)
    assert ours[:-1] == theirs[:-1]
    assert ours[-1][:3] == theirs[-1][:3] and ours[-1][0] == "BadRequestError"


def test_what_the_readme_shows_runs(capsys, monkeypatch):
    text = (ROOT / "bindings/python/README.md").read_text()
    program_text = next(block for block in text.split("```") if "tenon.openai" in block and "client =" in block)
    monkeypatch.chdir(ROOT / "examples/models")
    exec(compile(program_text, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == OSLO
