"""Asks the demo model fresh questions of each kind, by `tenon serve`, and prints how many are right.

    evaluate.py TENON MODEL [--questions 100] [--seed 7] [--least 90] [--show]

Greedy answers. Status 1 if a kind has fewer right answers than --least percent.
"""
import argparse
import json
import random
import re
import subprocess
import sys
import urllib.request

import corpus
from corpus import Exchange
from words import ANIMALS, FRUITS, THINGS

# Of no topic in the training texts.
FRESH_TOPICS = ("origami|submarines|Napoleon|a wedding speech|knitting|the Amazon river|sourdough|penguins|"
                "the moon landing|cryptography|my cat's food|a tax return|hip hop|Kafka|solar panels|blockchain|"
                "the human heart|glaciers|haiku|a cover letter|sushi|the Vikings|microscopes|a bubble sort|"
                "Kubernetes|ethics|thunder|honey|skiing|the Renaissance").split("|")


class Server:
    def __init__(self, tenon: str, model: str) -> None:
        self.process = subprocess.Popen([tenon, "serve", model, "--port", "0"], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in self.process.stdout:
            if found := re.search(r"listening on (http://\S+:\d+)", line):
                self.address = found[1]
                return
        raise SystemExit(f"the server did not start: {self.process.wait()}")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def chat(self, messages: list[dict], tools: list[str]) -> dict:
        body = {"messages": messages, "temperature": 0, "max_tokens": 200}
        if tools:
            body["tools"] = [{"type": "function", "function": corpus.TOOLS[tool]} for tool in tools]
        request = urllib.request.Request(f"{self.address}/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["choices"][0]["message"]


def is_story(asked: Exchange, answer: str) -> bool:
    """Whether it keeps the hero, and one thing from beginning to end."""
    things = {word for word in re.findall(r"[a-z]+", answer) if word in THINGS}
    animals = [animal for animal in ANIMALS if re.search(rf"\b{animal}\b", asked.question.lower())]
    hero = re.search(r"(?:named|called|about) ([A-Z][a-z]+)", asked.question)
    return (len(things) == 1 and answer.endswith((".", '"')) and answer.count(".") >= 5
            and all(re.search(rf"\b{animal}\b", answer) for animal in animals)
            and (hero is None or answer.count(hero[1]) >= 2))


def is_list(asked: Exchange, answer: str) -> bool:
    count = len(asked.answer.split("\n"))
    lines = answer.split("\n")
    fruits = {line.partition(". ")[2] for line in lines}
    return len(lines) == len(fruits) == count and fruits <= set(FRUITS)


def is_one_of(answers: list[str]):
    return lambda asked, answer: answer in answers


def all_answers(kind: str) -> list[str]:
    generator = random.Random(0)
    return sorted({corpus.KINDS[kind].make(generator).answer for _ in range(500)})


CHECKS = {
    "stories": is_story,
    "lists": is_list,
    "about itself": is_one_of(all_answers("about itself")),
    "about tenon": is_one_of(all_answers("about tenon")),
    "greetings": is_one_of(all_answers("greetings")),
    "unknown": is_one_of(corpus.NOT_KNOWN),
}


def is_right(server: Server, kind: str, asked: Exchange) -> tuple[bool, str]:
    messages = [{"role": "user", "content": asked.question}]
    message = server.chat(messages, asked.tools)
    calls = message.get("tool_calls") or []
    if asked.call:
        if len(calls) != 1:
            return False, f"no call: {message}"
        call = calls[0]["function"]
        if call["name"] != asked.call["name"] or json.loads(call["arguments"]) != asked.call["arguments"]:
            return False, f"another call: {call}"
        messages += [message, {"role": "tool", "tool_call_id": calls[0]["id"],
                               "content": json.dumps(asked.result)}]
        message = server.chat(messages, asked.tools)
        calls = message.get("tool_calls") or []
    answer = (message.get("content") or "").strip()
    if kind == "tools unused" and asked.answer in all_answers("greetings"):
        return not calls and answer in all_answers("greetings"), answer
    if kind == "tools unused" and asked.answer.startswith("1. "):
        return not calls and is_list(asked, answer), answer
    check = CHECKS.get(kind, lambda asked, answer: answer == asked.answer)
    return not calls and check(asked, answer), answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tenon")
    parser.add_argument("model")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--least", type=float, default=90, help="percent")
    parser.add_argument("--show", action="store_true", help="print the wrong answers")
    options = parser.parse_args()
    corpus.UNKNOWN_TOPICS[:] = FRESH_TOPICS
    few = 0
    with Server(options.tenon, options.model) as server:
        for kind in corpus.KINDS:
            generator = random.Random(options.seed)
            right = 0
            for _ in range(options.questions):
                asked = corpus.KINDS[kind].make(generator)
                is_good, answer = is_right(server, kind, asked)
                right += is_good
                if options.show and not is_good:
                    print(f"  {asked.question!r}\n    {answer!r}\n    instead of {asked.answer!r}")
            percent = 100 * right / options.questions
            few += percent < options.least
            print(f"{kind:14} {percent:5.1f} %", flush=True)
    return few > 0


if __name__ == "__main__":
    sys.exit(main())
