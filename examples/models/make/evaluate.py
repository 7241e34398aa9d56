"""Asks the demo model fresh questions of each kind, by `tenon serve`, and prints how many are right.

    evaluate.py TENON MODEL [--questions 100] [--seed 7] [--least 90] [--show]

Greedy answers; a system prompt stands before every second question. Status 1 if a kind has fewer
right answers than --least percent.
"""
import argparse
import json
import random
import re
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import corpus
from corpus import Exchange
from words import ANIMALS, COLOURS, FURTHER_ANIMALS, NAMES, THINGS

# Topics and questions of no training text.
FRESH_TOPICS = ("origami|submarines|Napoleon|a wedding speech|knitting|the Amazon river|sourdough|penguins|"
                "the moon landing|cryptography|my cat's food|a tax return|hip hop|Kafka|solar panels|blockchain|"
                "the human heart|glaciers|haiku|a cover letter|sushi|the Vikings|microscopes|a bubble sort|"
                "Kubernetes|ethics|thunder|honey|skiing|the Renaissance").split("|")
FRESH_QUESTIONS = """
    How do I boil an egg?|Who won the World Cup in 2018?|Can you write me an email to my boss?|
    What is the tallest mountain?|How many continents are there?|Who painted the Mona Lisa?|What is pi?|
    Where do bananas grow?|What is the speed of light?|Why do cats purr?|When did the war end?|
    Who was the first man on the moon?|How do planes fly?|What should I wear today?|Is coffee healthy?|
    What is the currency of Japan?|How tall is the Eiffel Tower?|Write a haiku.|What rhymes with orange?|
    Can I have a pizza?|What is the boiling point of water?|How do I tie a tie?|Do fish sleep?|
    Which phone should I buy?|What causes rain?|How do vaccines work?|Who discovered America?|
    What language is spoken in Brazil?|How many players are in a football team?|Fix my code.|
    What is a neural network?|Explain relativity to a child.|Is it going to rain tomorrow?|
    Why am I so tired?|How do I lose weight?|Recommend a good film.|What is your opinion on politics?|
    What is 12 * 12?|What is 7 times 8?|What is 100 / 4?|What is the capital of Madagascar?|
    What is the capital of Uruguay?|What is the capital of Atlantis?|What is the opposite of a banana?|
    What does a giraffe say?|Convert 5 miles to kilometres.|Spell necessary.|What is the plural of mouse?|
    Give me three tips for sleeping well.|What year is it?
""".replace("\n", "").split("|")
FRESH_QUESTIONS = [question.strip() for question in FRESH_QUESTIONS]


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
    """Whether hero, animal, thing and colour are those of the question and stay from beginning to end."""
    words = re.findall(r"[A-Za-z]+", answer)
    things, colours = ({word for word in words if word in known} for known in (THINGS, COLOURS))
    wanted = [word for word in re.findall(r"[a-z]+", asked.question)
              if word in ANIMALS + FURTHER_ANIMALS + THINGS + COLOURS]
    hero = re.search(r"(?:named|called|about) ([A-Z][a-z]+)", asked.question)
    names = {word for word in words if word in NAMES} | ({hero[1]} if hero else set())
    return (len(things) == 1 and len(colours) == 1 and len(names) <= 2 and answer.endswith((".", '"'))
            and len(re.findall(r"[.!?]", answer)) >= 6 and all(word in words for word in wanted)
            and (hero is None or answer.count(hero[1]) >= 2))


def is_right(server: Server, asked: Exchange, system: str) -> tuple[bool, str]:
    messages = [{"role": "system", "content": system}] if system else []
    for question, answer in asked.before:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    messages.append({"role": "user", "content": asked.question})
    message = server.chat(messages, asked.tools)
    calls = message.get("tool_calls") or []
    if asked.call:
        if len(calls) != 1:
            return False, f"no call: {message}"
        call = calls[0]["function"]
        if call["name"] != asked.call["name"] or json.loads(call["arguments"]) != asked.call["arguments"]:
            return False, f"another call: {call}"
        messages += [message, {"role": "tool", "tool_call_id": calls[0]["id"],
                               "content": corpus.result_text(asked.result)}]
        message = server.chat(messages, asked.tools)
        calls = message.get("tool_calls") or []
    answer = (message.get("content") or "").strip()
    if calls:
        return False, f"a call: {calls}"
    if asked.answer.count(".") >= 5:
        return is_story(asked, answer), answer
    return answer == asked.answer, answer


def fresh_questions(kind: str, count: int, seed: int) -> list[Exchange]:
    """Questions of a kind that the training texts leave out."""
    generator = random.Random(seed)
    if kind == "unknown":
        fresh = [Exchange(question, corpus.NOT_KNOWN) for question in FRESH_QUESTIONS[:count // 2]]
    else:
        fresh = []
    while len(fresh) < count:
        made = corpus.KINDS[kind].make(generator)
        if corpus.is_kept_back(made):
            fresh.append(made)
    return fresh


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
    with Server(options.tenon, options.model) as server, ThreadPoolExecutor(8) as pool:
        for kind in corpus.KINDS:
            questions = fresh_questions(kind, options.questions, options.seed)
            systems = [corpus.SYSTEMS[i // 2 % len(corpus.SYSTEMS)] if i % 2 else ""
                       for i in range(len(questions))]
            answered = list(pool.map(is_right, [server] * len(questions), questions, systems))
            right = sum(is_good for is_good, _ in answered)
            for asked, (is_good, answer) in zip(questions, answered):
                if options.show and not is_good:
                    print(f"  {asked.question!r}\n    {answer!r}\n    instead of {asked.answer!r}")
            percent = 100 * right / options.questions
            few += percent < options.least
            print(f"{kind:14} {percent:5.1f} %", flush=True)
    return few > 0


if __name__ == "__main__":
    sys.exit(main())
