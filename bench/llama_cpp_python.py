#!/usr/bin/env python3
"""Tenon's package beside llama-cpp-python on one model, in processes by turns: seconds of import and load, tokens a
second of a prompt and of an answer, and of 64 requests.

    bench/llama_cpp_python.py MODEL [--threads 2] [--rounds 5]

Both packages are installed in the Python that runs this. llama-cpp-python has one request at a time, so 16 of
them one after another tell its speed; Tenon's 64 run side by side in one engine. Figures are the median of the rounds,
and the least and the most.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

PROMPT_TOKENS, ANSWER_TOKENS = 256, 48
REQUESTS, REQUEST_TOKENS = 64, 16
# Of them, of an engine that has one at a time: its speed is the same for all.
ONE_BY_ONE = 16
WORDS = "The fox and the sea have little to say to each other, but the wind tells both of them the news. "


def measure_tenon(path, threads):
    begin = time.perf_counter()
    import tenon
    model = tenon.Model(path, threads=threads)
    yield "load", time.perf_counter() - begin
    prompt = model.tokenizer.encode(WORDS * 40)[:PROMPT_TOKENS]
    session = tenon.Session(model, context=1024)
    generation = iter(session.generate(prompt, max_tokens=ANSWER_TOKENS + 1, ignore_end=True,
                                       sampling={"temperature": 0}))
    yield from measure_answer(generation)
    import asyncio

    async def count(engine, number):
        generation = engine.stream(f"Once upon a time, {number} foxes", max_tokens=REQUEST_TOKENS, ignore_end=True)
        return sum([piece.token is not None async for piece in generation])

    async def many():
        engine = tenon.Engine(model, running=REQUESTS)
        begin = time.perf_counter()
        tokens = sum(await asyncio.gather(*(count(engine, number) for number in range(REQUESTS))))
        seconds = time.perf_counter() - begin
        engine.close()
        return tokens / seconds
    yield "many", asyncio.run(many())


def measure_llama(path, threads):
    begin = time.perf_counter()
    import llama_cpp
    model = llama_cpp.Llama(path, n_threads=threads, n_threads_batch=threads, n_ctx=1024, n_batch=512, verbose=False)
    yield "load", time.perf_counter() - begin
    prompt = model.tokenize((WORDS * 40).encode())[:PROMPT_TOKENS]
    yield from measure_answer(model.generate(prompt, temp=0.0))
    begin = time.perf_counter()
    tokens = 0
    for number in range(ONE_BY_ONE):
        model.reset()
        for _, _ in zip(range(REQUEST_TOKENS), model.generate(
                model.tokenize(f"Once upon a time, {number} foxes".encode()), temp=1.0)):
            tokens += 1
    yield "many", tokens / (time.perf_counter() - begin)


def measure_answer(tokens):
    """Of what gives a token at a time: the first has computed the prompt."""
    begin = time.perf_counter()
    next(tokens)
    first = time.perf_counter()
    for _ in range(ANSWER_TOKENS):
        next(tokens)
    yield "prompt", PROMPT_TOKENS / (first - begin)
    yield "answer", ANSWER_TOKENS / (time.perf_counter() - first)


PACKAGES = {"tenon": measure_tenon, "llama-cpp-python": measure_llama}
SHOWN = {"load": "import and load, s", "prompt": "prompt, tokens/s", "answer": "answer, tokens/s",
         "many": f"{REQUESTS} requests, tokens/s"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", choices=PACKAGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(dict(PACKAGES[options.one](options.model, options.threads))))
        return
    found = {name: [] for name in PACKAGES}
    for number in range(options.rounds):
        for name in list(PACKAGES)[::1 if number % 2 == 0 else -1]:
            done = subprocess.run([sys.executable, __file__, options.model, "--threads", str(options.threads),
                                   "--one", name], check=True, capture_output=True, text=True)
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
            print(name, found[name][-1], file=sys.stderr, flush=True)
    for key, title in SHOWN.items():
        print(title)
        for name, rounds in found.items():
            values = [one[key] for one in rounds]
            print(f"  {name:<17} {statistics.median(values):8.2f}   {min(values):.2f} to {max(values):.2f}")


if __name__ == "__main__":
    main()
