"""tenon.openai: OpenAI's client in this process. test_openai_package.py compares it with the package `openai`."""

import asyncio
import copy
import gc
import json
import pickle
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
    assert text.choices[0].text == " there was a lonely"
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
    engine.close()  # the client keeps what it needs of it
    assert client.chat.completions.create(**EXACT).choices[0].message.content == OSLO
    threading.Timer(0.1, client.close).start()
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


def test_what_the_readme_shows_runs(capsys, monkeypatch):
    text = (ROOT / "bindings/python/README.md").read_text()
    program_text = next(block for block in text.split("```") if "tenon.openai" in block and "client =" in block)
    monkeypatch.chdir(ROOT / "examples/models")
    exec(compile(program_text, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == OSLO
