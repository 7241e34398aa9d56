"""Objects in Python: errors, options, buffers, tokenizers, samplers, chats, what is in a model."""

import copy
import ctypes
import math
import pickle

import pytest
from conftest import DEMO, ONCE

import tenon


def test_errors_have_a_code_and_a_class_of_python():
    with pytest.raises(tenon.InputOutputError, match="no such file") as caught:
        tenon.Model("/nonexistent.gguf")
    assert caught.value.code == "IO"
    assert isinstance(caught.value, tenon.Error) and isinstance(caught.value, OSError)
    with pytest.raises(ValueError, match='nearest name is "threads"'):
        tenon.Model(DEMO, thraeds=2)
    with pytest.raises(TypeError, match="generate has no option max_token; the nearest name is max_tokens"):
        tenon.Session(tenon.Model(DEMO)).generate(ONCE, max_token=2)


@pytest.mark.parametrize("make, sentence", [
    (lambda model: tenon.Model(None), "a path, or several, are needed, not NoneType"),
    (lambda model: tenon.Session(None), "a tenon.Model is needed, not NoneType"),
    (lambda model: tenon.Engine("demo.gguf"), "a tenon.Model is needed, not str"),
    (lambda model: tenon.Embedder(tenon.Engine(model)), "a tenon.Model is needed, not Engine"),
    (lambda model: tenon.Session(model).generate(5), "a text or tokens are needed, not int"),
    (lambda model: tenon.Engine(model).stream(ONCE, max_tokens="3"), "int"),
])
def test_what_is_of_another_type_is_named(model, make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make(model)


def test_a_model_tells_what_is_in_it(model):
    assert model.info.architecture == "llama" and model.info.vocabulary == 1024
    assert model.metadata["general.architecture"] == "llama"
    assert len(model.metadata["tokenizer.ggml.tokens"]) == 1024
    assert "no.such.key" not in model.metadata
    assert model.tensors()[0].shape == (1024, 256, 1, 1)
    assert model.memory(64).context == 64
    assert model.execution().threads == 2
    plan = model.plan(model.measure(), context=128, sessions=2)
    assert plan.sessions == 2 and plan.fits == 1


def test_models_without_an_encoder_take_no_source(model):
    with pytest.raises(tenon.StateError, match="encoder"):
        tenon.Session(model).set_source("Once")
    with pytest.raises(tenon.StateError, match="encoder"):
        tenon.Session(model).set_source([1, 2])


def test_progress_ends_loading_and_raises():
    seen = []
    tenon.Model(DEMO, progress=seen.append)
    assert seen[-1] == 1 and seen == sorted(seen)
    with pytest.raises(tenon.CancelledError):
        tenon.Model(DEMO, progress=lambda fraction: True)
    with pytest.raises(ZeroDivisionError):
        tenon.Model(DEMO, progress=lambda fraction: 1 / 0)


def test_a_model_comes_from_bytes_and_descriptors():
    with open(DEMO, "rb") as file:
        by_descriptor = tenon.Model.from_fd(file.fileno())
    by_bytes = tenon.Model.from_bytes(DEMO.read_bytes())
    assert by_descriptor.info.parameters == by_bytes.info.parameters


def test_tokenizers_go_there_and_back(model):
    tokenizer = model.tokenizer
    text = "Grüße, 世界 🦊"
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text and len(tokenizer) == 1024
    assert tokenizer.decode_bytes(tokens[:3]) == text.encode()[:3]
    assert tokenizer.find("<|im_end|>") == tokenizer.encode("<|im_end|>", parse_special=True)[0]
    assert tokenizer.find("no such token") is None
    assert tenon.Tokenizer(DEMO).encode(text) == tokens
    assert tenon.Tokenizer.from_bytes(DEMO.read_bytes()).encode(text) == tokens
    assert isinstance(tokenizer.info(tokens[1]).text, bytes)


def test_logits_are_a_buffer_without_a_copy(session):
    session.append(ONCE)
    logits = session.logits()
    assert len(logits) == 1024 and math.isfinite(logits[0])
    numpy = pytest.importorskip("numpy")
    array = numpy.asarray(logits)
    assert array.dtype == numpy.float32
    assert array.__array_interface__["data"][0] == ctypes.addressof(logits)
    largest = int(array.argmax())
    assert tenon.Sampler(temperature=0).sample(logits) == largest
    assert tenon.Sampler(temperature=0).sample(array) == largest
    assert tenon.Sampler(temperature=0).sample(list(array)) == largest
    of_tokens, top = tenon.logprobs(logits, [largest], 2)
    assert top[0][0] == largest and top[0][1] == of_tokens[0]


def test_a_session_refuses_calls_while_its_logits_are_in_use(session):
    session.append(ONCE)
    logits = session.logits()
    part = memoryview(logits)[10:20]
    for _ in range(2):
        with pytest.raises(tenon.StateError, match="still in use"):
            session.append("more")
        del logits
        logits = None
    session.close()  # put off until the last view is gone
    assert part[0:1].nbytes == 4
    del part
    with pytest.raises(tenon.StateError, match="closed"):
        session.append("more")


def test_numpy_keeps_logits_alive(session):
    numpy = pytest.importorskip("numpy")
    session.append(ONCE)
    array = numpy.asarray(session.logits())[5:9]
    with pytest.raises(tenon.StateError):
        session.append("more")
    del array
    session.append("more")


def test_evaluate_hands_out_logits_and_exceptions(session):
    tokens = session.model.tokenizer.encode(ONCE)
    rows = []
    session.evaluate(tokens, lambda row, logits: rows.append((row, len(logits))))
    assert rows == [(row, 1024) for row in range(len(tokens))]
    with pytest.raises(tenon.CancelledError):
        session.evaluate(tokens, lambda row, logits: True)
    with pytest.raises(KeyError):
        session.evaluate(tokens, lambda row, logits: {}["no"])


def test_pieces_are_text_with_a_token(session):
    pieces = list(session.generate(ONCE, max_tokens=3, logprobs=2, sampling={"temperature": 0}))
    assert "".join(pieces) == session.model.tokenizer.decode([piece.token for piece in pieces])
    assert pieces[-1].finish == "max_tokens" and pieces[0].finish is None
    assert pieces[0].top[0] == (pieces[0].token, pieces[0].logprob) and len(pieces[0].top) == 2


def test_samplers_and_grammars(session):
    grammar = tenon.Grammar.choices(["yes", "no"])
    assert grammar.accepts("no") and not grammar.accepts("maybe")
    assert session.generate("Is it? ", grammar=grammar).text() in ("yes", "no")
    matcher = grammar.matcher(session.model.tokenizer)
    assert matcher.accept_text("ye") and matcher.forced_text == "s" and not matcher.complete
    assert matcher.accept_text("s") and matcher.complete and matcher.ended
    sampler = tenon.Sampler(temperature=0)
    sampler.set("top_k", 5)
    sampler.set_bias(7, -math.inf)
    with pytest.raises(tenon.ArgumentError):
        sampler.set("top_kk", 5)


def test_best_of_and_next(session):
    session.append(ONCE)
    candidates, best = session.best_of(3, sampler=tenon.Sampler(seed=1), max_tokens=4)
    assert len(candidates) == 3 and 0 <= best < 3
    assert session.tokens[-len(candidates[best].tokens):] == candidates[best].tokens
    assert session.next(tenon.Sampler(temperature=0)).token is not None
    assert len(session.drawn_logits()) == 1024


def test_scores(session):
    session.append(ONCE)
    texts = [", a fox", ", a lamp", ", a"]
    scores = session.score(texts)
    tokens = [session.model.tokenizer.encode(text) for text in texts]
    assert [len(score) for score in scores] == [len(ids) for ids in tokens]
    assert session.score(tokens) == scores
    assert scores[2] == scores[0][:len(scores[2])] and all(sum(score) < 0 for score in scores)
    with pytest.raises(tenon.ArgumentError):
        session.score(["x", ""])


def test_files_of_sessions(session, tmp_path):
    session.append(ONCE)
    session.prefill()
    session.save(tmp_path / "saved")
    other = tenon.Session(session.model)
    other.restore(tmp_path / "saved")
    assert other.tokens == session.tokens
    with pytest.raises(tenon.FormatError):
        other.restore(b"nothing that was saved")


def test_rows_of_embedders():
    embedder = tenon.Embedder(tenon.Model(DEMO, embeddings="on"))
    rows = embedder.embed(["a fox", "the sea", "a fox"])
    assert len(rows) == 3 and len(rows[0]) == embedder.dimensions == 256
    assert bytes(rows[0]) == bytes(rows[2]) != bytes(rows[1])
    assert len(embedder.embed([])) == 0
    assert bytes(embedder.embed([[593, 591]])[0]) != bytes(rows[0])
    scores = embedder.rank("a fox", ["the sea", "a fox"])
    assert scores[1] > scores[0]
    numpy = pytest.importorskip("numpy")
    assert numpy.asarray(rows).shape == (3, 256)
    assert numpy.allclose((numpy.asarray(rows) ** 2).sum(axis=1), 1)


def test_chats_read_answers(model):
    chat = tenon.Chat(model)
    conversation = {"messages": [{"role": "user", "content": "What is the capital of Norway?"}]}
    reply = chat.reply(conversation)
    with tenon.Session(model) as session:
        for piece in session.generate(chat.encode(conversation), sampling={"temperature": 0}):
            if piece.token is not None:
                reply.push(piece.token)
    reply.finish()
    assert reply.message()["content"] == "The capital of Norway is Oslo."
    assert chat.format == "hermes"


@pytest.mark.parametrize("made", [
    lambda model: model, lambda model: tenon.Session(model), lambda model: tenon.Engine(model),
    lambda model: tenon.Sampler(), lambda model: model.tokenizer,
    lambda model: tenon.Session(model).generate(ONCE), lambda model: model._handle,
    lambda model: tenon.Grammar.regex("a")])
def test_nothing_can_be_pickled_or_copied(model, made):
    thing = made(model)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            attempt(thing)


def test_wrong_types_are_type_errors(model, session):
    for wrong in (lambda: model.tokenizer.encode(3), lambda: session.append([1.5]),
                  lambda: session.append([2**40]), lambda: tenon.Sampler(temperature={}),
                  lambda: tenon._model._native.session_position(model._handle),
                  lambda: tenon._model._native.session_position(3),
                  lambda: tenon._model._native.session_position()):
        with pytest.raises((TypeError, OverflowError)):
            wrong()
    with pytest.raises(ValueError, match="NUL"):
        tenon.Model("a\0b")
