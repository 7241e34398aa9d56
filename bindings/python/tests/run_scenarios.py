#!/usr/bin/env python3
"""Runs bindings/scenarios.json: the behaviour that every binding has in common.

    run_scenarios.py [NAME...]    says what differs, status 1
    run_scenarios.py --record     writes what came as what is expected
"""

from __future__ import annotations

import array
import asyncio
import hashlib
import json
import struct
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import tenon

ROOT = Path(__file__).resolve().parents[3]
LIST = ROOT / "bindings/scenarios.json"
GENERATE = ("max_tokens", "sampling", "parse_special", "ignore_end", "logprobs", "timeout", "priority", "client",
            "weight")
DELTAS = {tenon.constants.CHAT_CONTENT: "content", tenon.constants.CHAT_REASONING: "reasoning",
          tenon.constants.CHAT_CALL_BEGIN: "call_begin", tenon.constants.CHAT_ARGUMENTS: "arguments",
          tenon.constants.CHAT_CALL_END: "call_end", tenon.constants.CHAT_CALL_RETRACT: "call_retract"}


class Thrown(Exception):
    code = "THROWN"


def bits(values):
    """What numbers are, bit by bit."""
    return hashlib.sha256(bytes(values)).hexdigest()[:16]


def float_bits(values):
    return bits(struct.pack(f"<{len(values)}f", *values))


class Runner:
    """The objects of one scenario by their names, and what its steps brought."""

    def __init__(self, setting):
        self.path = ROOT / setting["file"]
        self.options = setting["options"]
        self.objects = {"model": tenon.Model(self.path, **self.options)}
        self.results = {}

    def run(self, steps):
        for step in steps:
            step = dict(step)
            fails, says, into, kept = (step.pop(key, None) for key in ("fails", "says", "into", "as"))
            operation = getattr(self, step.pop("op"))
            try:
                result = operation(**step)
            except (tenon.Error, Thrown) as error:
                if error.code != fails or says and says not in str(error):
                    raise
                continue
            if fails:
                raise AssertionError(f"{operation.__name__} did not fail with {fails}")
            if kept:
                self.objects[kept] = result
            if into:
                self.results[into] = result
        return self.results

    def close_all(self):
        for thing in reversed(list(self.objects.values())):
            if hasattr(thing, "close"):
                thing.close()

    # ---- Making things ----

    def model(self, options=None, path=None, bytes=None, stop_at=None, throws=False, **other):
        options = {**self.options, **(options or {})}
        if throws or stop_at is not None:
            def progress(fraction):
                if throws:
                    raise Thrown("the callback")
                return fraction >= stop_at
            options["progress"] = progress
        if bytes is not None:
            return tenon.Model.from_bytes(bytes.encode(), **options)
        if other.get("from") == "bytes":
            return tenon.Model.from_bytes(self.path.read_bytes(), **options)
        return tenon.Model(path or self.path, **options)

    def session(self, model="model", engine=None, options=None):
        return tenon.Session(self.objects[model], engine=engine and self.objects[engine], **(options or {}))

    def engine(self, model="model", options=None):
        return tenon.Engine(self.objects[model], **(options or {}))

    def grammar(self, kind, value):
        return getattr(tenon.Grammar, kind)(value)

    def chat(self, template=None):
        """Of the model, or of a template alone."""
        return tenon.Chat(self.objects["model"]) if template is None else tenon.Chat(template=template)

    def embedder(self, model, options=None):
        return tenon.Embedder(self.objects[model], **(options or {}))

    def sampler(self, options=None):
        return tenon.Sampler(**(options or {}))

    def close(self, object):
        self.objects[object].close()

    # ---- Texts ----

    def _options(self, step):
        options = {key: step[key] for key in GENERATE if key in step}
        options.update({key: self.objects[step[key]] for key in ("grammar", "sampler") if key in step})
        return options

    def submit(self, session, text=None, **step):
        return self.objects[session].generate(text, **self._options(step))

    @staticmethod
    def _result(pieces, with_logprobs=False):
        result = {"pieces": [str(piece) for piece in pieces],
                  "tokens": [piece.token for piece in pieces],
                  "finish": pieces[-1].finish if pieces else None}
        if with_logprobs:
            result["top"] = [[token for token, _ in piece.top] for piece in pieces]
            result["bits"] = float_bits([value for piece in pieces
                                         for value in (piece.logprob, *(logprob for _, logprob in piece.top))])
        return result

    def generate(self, session, text=None, **step):
        return self._result(list(self.submit(session, text, **step)), "logprobs" in step)

    def take(self, request, pieces):
        return [str(next(self.objects[request])) for _ in range(pieces)]

    def drain(self, request):
        for _ in self.objects[request]:
            pass

    def cancel(self, request):
        self.objects[request].cancel()

    def append(self, session, text, times=1):
        self.objects[session].append(text * times)

    def prefill(self, session, stop_at=None):
        progress = None if stop_at is None else lambda fraction: fraction >= stop_at
        self.objects[session].prefill(progress)

    def logits(self, session):
        return bits(self.objects[session].logits())

    def evaluate(self, session, tokens, throws_at=None):
        rows = []

        def look(row, logits):
            if row == throws_at:
                raise Thrown("the callback")
            rows.append(bits(logits))
        self.objects[session].evaluate(tokens, look)
        return rows

    def score(self, session, texts=None, tokens=None, **options):
        rows = self.objects[session].score(tokens if texts is None else texts, **options)
        return {"counts": [len(row) for row in rows], "bits": [float_bits(row) for row in rows]}

    def next(self, session, count, sampler=None):
        session, sampler = self.objects[session], sampler and self.objects[sampler]
        return [str(session.next(sampler)) for _ in range(count)]

    def take_held(self, session):
        return self.objects[session].take_held()

    def best_of(self, session, count, max_tokens, sampler):
        candidates, best = self.objects[session].best_of(count, sampler=self.objects[sampler],
                                                         max_tokens=max_tokens)
        return {"texts": [candidate.text for candidate in candidates], "best": best}

    def set_source(self, session, text):
        self.objects[session].set_source(text)

    def cancel_session(self, session):
        self.objects[session].cancel()

    def fork(self, session):
        return self.objects[session].fork()

    def rewind(self, session, position):
        self.objects[session].rewind(position)

    def save(self, session):
        return self.objects[session].save()

    def damage(self, saved):
        """What was saved, with another byte in the middle."""
        copy = bytearray(self.objects[saved])
        copy[len(copy) // 2] ^= 1
        return bytes(copy)

    def restore(self, session, **other):
        self.objects[session].restore(self.objects[other["from"]])

    def position(self, session):
        return self.objects[session].position

    def tokens(self, session):
        return self.objects[session].tokens

    def encode(self, text, parse_special=False):
        return self.objects["model"].tokenizer.encode(text, parse_special=parse_special)

    def decode(self, tokens, special=False):
        return self.objects["model"].tokenizer.decode(tokens, special=special)

    def decode_bytes(self, tokens):
        return self.objects["model"].tokenizer.decode_bytes(tokens).hex()

    def find(self, text):
        return self.objects["model"].tokenizer.find(text)

    def metadata(self, key):
        return self.objects["model"].metadata.get(key)

    def info(self, model="model"):
        info = self.objects[model].info
        return [info.architecture, info.vocabulary, info.layers, info.width, info.heads, info.trained_context,
                bool(info.has_weights)]

    def version(self):
        return tenon.version()

    # ---- Samplers and grammars ----

    def bias(self, sampler, token, bias):
        self.objects[sampler].set_bias(token, bias)

    def stop_token(self, sampler, token):
        self.objects[sampler].add_stop_token(token)

    def sample(self, sampler, logits, count):
        """The draws after histories of 0, 1, ... tokens, all of them token 0."""
        values = array.array("f", logits)
        return [self.objects[sampler].sample(values, [0] * length) for length in range(count)]

    def logprobs_of(self, logits, tokens, top):
        of_tokens, likeliest = tenon.logprobs(array.array("f", logits), tokens, top)
        return {"top": [token for token, _ in likeliest],
                "bits": float_bits([*of_tokens, *(value for _, value in likeliest)])}

    def accepts(self, grammar, text):
        return self.objects[grammar].accepts(text)

    def match(self, grammar, text):
        """A matcher that takes a text: whether it does, what must come next, whether the text is complete."""
        matcher = self.objects[grammar].matcher(self.objects["model"].tokenizer)
        return [matcher.accept_text(text), matcher.forced_text, matcher.complete]

    # ---- Chats and embeddings ----

    def render(self, chat, conversation):
        return self.objects[chat].render(conversation)

    def encode_chat(self, chat, conversation):
        return self.objects[chat].encode(conversation)

    def chat_answer(self, chat, session, conversation, max_tokens):
        chat = self.objects[chat]
        sampler = tenon.Sampler(temperature=0)
        chat.constrain(conversation, sampler)
        reply = chat.reply(conversation)
        for piece in self.objects[session].generate(chat.encode(conversation), sampler=sampler,
                                                    max_tokens=max_tokens):
            if piece.token is not None:
                reply.push(piece.token)
        reply.finish()
        message = reply.message()
        for call in message.get("tool_calls", []):
            call.pop("id", None)  # made up anew each time
        return message

    def read_answer(self, chat, conversation, parts):
        """What an answer that comes in parts amounts to: kinds and texts, and its message."""
        reply = self.objects[chat].reply(conversation)
        deltas = [delta for part in parts for delta in reply.push(part)] + reply.finish()
        message = reply.message()
        for call in message.get("tool_calls", []):
            call.pop("id", None)
        return {"deltas": [[DELTAS[delta.kind], delta.text] for delta in deltas], "message": message}

    def embed(self, embedder, texts):
        rows = self.objects[embedder].embed(texts)
        return {"counts": rows.counts, "bits": [bits(rows[index]) for index in range(len(rows))]}

    # ---- Several at a time ----

    def threads(self, count, text, **step):
        texts = [None] * count

        def work(index):
            session = tenon.Session(self.objects["model"])
            texts[index] = session.generate(text, **self._options(step)).text()
        workers = [threading.Thread(target=work, args=(index,)) for index in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return texts

    def stream_many(self, count, text, max_tokens):
        async def all_of_them():
            engine = tenon.Engine(self.objects["model"])
            try:
                return await tenon.gather_texts(
                    [engine.stream(text, max_tokens=max_tokens, sampling={"temperature": 1.0, "seed": seed})
                     for seed in range(count)])
            finally:
                engine.close()
        return asyncio.run(all_of_them())

    def exit_under_way(self, requests, within_seconds):
        """A process of its own that ends while its requests run; the time from its last statement."""
        program = textwrap.dedent(f"""
            import asyncio, sys, time, tenon
            {"tenon.use_library(" + repr(tenon.library_path()) + ")"}
            model = tenon.Model({str(self.path)!r})
            async def main():
                engine = tenon.Engine(model)
                streams = [engine.stream("word " * 400, max_tokens=0) for _ in range({requests})]
                tasks = [asyncio.create_task(stream.__anext__()) for stream in streams]
                await asyncio.sleep(0.02)
                print(time.monotonic(), flush=True)
                sys.exit(3)
            asyncio.run(main())
        """)
        took = []
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
            took.append(time.monotonic() - float(done.stdout))
            assert done.returncode == 3, done.stderr
        # The least: the machine may have had something else to do. Python itself takes 0.1 s to end.
        assert min(took) <= within_seconds + 0.1, f"the process ended {min(took):.3f} s after it exited"


def run(scenario, setting):
    """What a scenario brings, by name."""
    runner = Runner(setting)
    try:
        return runner.run(scenario["steps"])
    finally:
        runner.close_all()


def as_text(data):
    def line(value):
        return json.dumps(value, ensure_ascii=False)
    head = ",\n".join(f' "{key}": {line(data[key])}' for key in ("about", "model"))
    rows = []
    for scenario in data["scenarios"]:
        steps = ",\n".join(f"    {line(step)}" for step in scenario["steps"])
        expect = ",\n".join(f"    {line(key)}: {line(value)}" for key, value in scenario["expect"].items())
        rows.append(f'  {{"name": {line(scenario["name"])},\n   "shows": {line(scenario["shows"])},\n'
                    f'   "steps": [\n{steps}],\n'
                    f'   "expect": {{{chr(10) + expect if expect else ""}}}}}')
    return "{\n" + head + ',\n "scenarios": [\n' + ",\n".join(rows) + "\n ]\n}\n"


def main():
    data = json.loads(LIST.read_text())
    record = "--record" in sys.argv
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    failed = 0
    for scenario in data["scenarios"]:
        if wanted and scenario["name"] not in wanted:
            continue
        try:
            came = json.loads(json.dumps(run(scenario, data["model"])))
        except Exception as error:  # noqa: BLE001 - what a scenario may bring is anything
            print(f"FAILED {scenario['name']}: {type(error).__name__}: {error}")
            failed += 1
            continue
        if record:
            scenario["expect"] = came
        elif came != scenario["expect"]:
            print(f"FAILED {scenario['name']}:\n  came     {came}\n  expected {scenario['expect']}")
            failed += 1
    if record:
        LIST.write_text(as_text(data))
    print(f"{len(data['scenarios'])} scenarios, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
