"""The first lines of the README on any Python, without packages of others; also checked by mypy --strict."""

import asyncio
import sys
from pathlib import Path

import tenon

ONCE = "Once upon a time"
model = tenon.Model(Path(__file__).resolve().parents[3] / "examples/models/demo-q8_0.gguf", threads=2)
greedy = tenon.Sampler(temperature=0)
text = "".join(tenon.Session(model).generate(ONCE, max_tokens=5, sampler=greedy))


async def stream() -> str:
    engine = tenon.Engine(model)
    return "".join([piece async for piece in engine.stream(ONCE, max_tokens=5, sampler=greedy)])


async def ask(server: tenon.Server) -> str:
    answer = await server.request("POST", "/v1/completions", {"prompt": ONCE, "max_tokens": 5, "temperature": 0})
    choice: str = (await answer.ajson())["choices"][0]["text"]
    return choice


with tenon.Server() as server:
    server.add("demo", model)
    server.start()
    served = asyncio.run(ask(server))
assert text == served == asyncio.run(stream()) == " there was a lonely owl", text
print(f"Python {sys.version.split()[0]}: {ONCE}{text}")
