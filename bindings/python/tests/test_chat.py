"""Turns of conversations, and what Python's users type: keywords, schemas, errors, properties."""

import asyncio
import errno

import pytest
from conftest import DEMO

import tenon

NORWAY = [{"role": "user", "content": "What is the capital of Norway?"}]


def test_one_call_is_a_turn(model):
    chat = tenon.Chat(model)
    message = chat.answer(NORWAY, max_tokens=24, temperature=0)
    assert message["role"] == "assistant" and "Oslo" in message["content"]
    for conversation in ({"messages": NORWAY}, '{"messages": [{"role": "user", "content": "What is the capital of Norway?"}]}'):
        assert chat.answer(conversation, max_tokens=24, temperature=0) == message
    assert asyncio.run(chat.aanswer(NORWAY, max_tokens=24, temperature=0)) == message


def test_answers_stream(model):
    chat = tenon.Chat(model)
    answer = chat.stream(NORWAY, max_tokens=24, temperature=0)
    parts = list(answer)
    assert "".join(parts) == answer.message["content"]
    assert {part.kind for part in parts} == {"content"}
    assert answer.finish == "end" and answer.seed >= 0

    async def main():
        again = chat.stream(NORWAY, max_tokens=24, temperature=0)
        return [part async for part in again], again.message
    assert asyncio.run(main()) == (parts, answer.message)


def test_a_session_is_kept_in_step(model):
    chat = tenon.Chat(model)
    session = model.session()
    first = chat.answer(NORWAY, session=session, max_tokens=24, temperature=0)
    longer = [*NORWAY, first, {"role": "user", "content": "Tell me a story."}]
    second = chat.answer(longer, session=session, max_tokens=8, temperature=0)
    fresh = model.session()
    assert chat.answer(longer, session=fresh, max_tokens=8, temperature=0) == second
    prompt = chat.encode(longer)
    assert session.tokens[:len(prompt)] == prompt and session.tokens == fresh.tokens
    with pytest.raises(tenon.StateError):
        tenon.Chat(template="{{ messages }}").answer(NORWAY)


def test_oldest_turns_are_dropped(model):
    chat = tenon.Chat(model)
    many = [{"role": role, "content": f"Text {i}."} for i in range(60) for role in ("user", "assistant")]
    many.append({"role": "user", "content": "Hi"})
    session = model.session(context=128)
    with pytest.raises(tenon.LimitError):
        chat.answer(many, session=session, max_tokens=8)
    assert chat.answer(many, session=session, max_tokens=8, drop_oldest=True)["role"] == "assistant"


def test_schemas(model):
    class Model2:
        @classmethod
        def model_json_schema(cls):
            return {"enum": ["yes", "no"]}

    for schema in (Model2, {"enum": ["yes", "no"]}, '{"enum": ["yes", "no"]}'):
        assert tenon.Grammar.json_schema(schema).accepts('"yes"')
        assert tenon.Chat(model).answer(NORWAY, schema=schema, max_tokens=8)["content"] in ('"yes"', '"no"')
    with pytest.raises(TypeError, match="pydantic"):
        tenon.Grammar.json_schema(7)


def test_pydantic(model):
    pydantic = pytest.importorskip("pydantic")

    class Person(pydantic.BaseModel):
        name: str
        age: int

    assert tenon.Grammar.json_schema(Person).accepts('{"name": "Anna", "age": 30}')
    assert not tenon.Grammar.json_schema(Person).accepts('{"name": "Anna"}')


def test_drawing_is_said_in_place(model):
    def text(**options):
        return model.session().generate("Once upon a time", max_tokens=12, **options).text()

    assert text(temperature=0) == text(sampling={"temperature": 0}) == text(sampler=tenon.Sampler(temperature=0))
    stop = text(temperature=0)[4:8]
    assert stop not in text(temperature=0, stop=stop)
    assert stop not in text(temperature=0, stop=[stop])
    assert text(temperature=2.0, seed=5) == text(temperature=2.0, seed=5)
    engine = tenon.Engine(model)
    assert engine.stream("Once upon a time", max_tokens=12, temperature=0).text() == text(temperature=0)
    with pytest.raises(TypeError, match="a sampler is given"):
        text(temperature=0, sampler=tenon.Sampler())


def test_seeds_are_random_and_told(model):
    hot = {"temperature": 2.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "max_tokens": 24, "ignore_end": True}
    seen = {}
    for _ in range(4):
        session = model.session()
        generation = session.generate("Once upon a time", **hot)
        text = generation.text()
        assert generation.seed == session.seed
        assert model.session().generate("Once upon a time", seed=generation.seed, **hot).text() == text
        seen[generation.seed] = text
    assert len(set(seen.values())) == 4
    assert tenon.Sampler(seed=7).seed == 7
    with pytest.raises(tenon.ArgumentError):
        tenon.Sampler(seed=-2)


@pytest.mark.parametrize("word, meant", [
    ("temperatur", "temperature"), ("temp", "temperature"), ("max_token", "max_tokens"),
    ("max_new_tokens", "max_tokens"), ("num_predict", "max_tokens"), ("repetition_penalty", "repeat_penalty")])
def test_generations_name_what_was_meant(model, word, meant):
    with pytest.raises(TypeError, match=f"no option {word}; .*{meant}"):
        model.session().generate("x", **{word: 1})


def test_words_of_other_libraries_are_known(model):
    for word, meant in (("n_ctx", "context"), ("n_threads", "threads"), ("n_gpu_layers", "gpu_layers")):
        with pytest.raises(tenon.ArgumentError, match=f'"{word}"; .*"{meant}"'):
            tenon.Session(model, **{word: 1})
    with pytest.raises(TypeError, match="no option qqqqqq$"):
        model.session().generate("x", qqqqqq=1)


def test_missing_files_are_python_s_own_errors(model, tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        tenon.Model(tmp_path / "none.gguf")
    assert isinstance(missing.value, tenon.InputOutputError) and missing.value.errno == errno.ENOENT
    assert missing.value.code == "IO" and "none.gguf" in str(missing.value)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        tenon.Tokenizer(tmp_path / "file" / "none")
    with pytest.raises(FileNotFoundError):
        model.session().save(tmp_path / "none" / "session")
    with pytest.raises(FileNotFoundError):
        asyncio.run(tenon.Model.load(tmp_path / "none.gguf"))


def test_properties_may_be_called(model):
    engine = tenon.Engine(model)
    session = engine.open_session()
    assert engine.stats.running == engine.stats().running == 0
    assert session.stats().prefill_tokens == session.stats.prefill_tokens
    assert model.info().architecture == model.info.architecture
    assert model.execution().threads == model.execution.threads
    generation = session.generate("x", max_tokens=2)
    assert generation.stats().prompt_tokens == generation.stats.prompt_tokens > 0


def test_loading_and_embedding_are_awaitable():
    async def main():
        seen = []
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)
        ticking = asyncio.create_task(tick())
        model = await tenon.Model.load(DEMO, embeddings="on", progress=seen.append)
        embedder = tenon.Embedder(model)
        rows = await embedder.aembed(["a", "b"])
        scores = await embedder.arank("a", ["a", "b"])
        ticking.cancel()
        assert len(rows) == 2 and len(scores) == 2 and seen and ticks > 1
        task = asyncio.create_task(tenon.Model.load(DEMO, progress=lambda fraction: task.cancel()))
        with pytest.raises(asyncio.CancelledError):
            await task
    asyncio.run(main())
