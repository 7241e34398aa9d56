"""Training texts of the demo model: questions of a dozen kinds with their answers, and stories.

Seeded: equal seeds give equal texts. KINDS names each kind; evaluate.py asks fresh questions of
each and checks the answers.
"""
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from words import (ADJECTIVES, ANIMALS, CAPITALS, COLOURS, UNKNOWN_TOPICS, FRUITS, JOBS, NAMES,
                   OPPOSITES, PLACES, SOUNDS, SYLLABLES, THINGS)

Random = random.Random


@dataclass
class Exchange:
    """A question and its answer. Texts are without the marks of the chat format.

    tools: names in TOOLS. call: the tool call before the answer, and the tool's result.
    """
    question: str
    answer: str
    tools: list[str] = field(default_factory=list)
    call: dict | None = None
    result: dict | None = None


# --- Names and spellings

def made_up(r: Random, syllables: int) -> str:
    return "".join(r.choice(SYLLABLES) for _ in range(syllables))


def name(r: Random) -> str:
    """A known name, or now and then one that was never seen, so that names are copied."""
    return r.choice(NAMES) if r.random() < 0.8 else made_up(r, r.choice([2, 2, 3])).capitalize()


def spelled(r: Random, text: str) -> str:
    """The question as people type it: in small letters, without its mark, with a please."""
    roll = r.random()
    if roll < 0.6:
        return text
    if roll < 0.75:
        return text.lower()
    if roll < 0.85:
        return text.rstrip("?.!")
    if roll < 0.95:
        return text.lower().rstrip("?.!")
    return text.rstrip(".!?") + (", please?" if text.endswith("?") else ", please.")


def with_articles(text: str) -> str:
    return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)


# --- Kinds of questions

def story_text(r: Random, animal: str | None = None, hero: str | None = None) -> str:
    """A story whose hero, friend, thing and colour stay what they are."""
    a = animal or r.choice(ANIMALS)
    n = hero or name(r)
    b = r.choice([other for other in ANIMALS if other != a])
    m = r.choice([other for other in NAMES if other != n])
    thing, colour, place, kind = (r.choice(THINGS), r.choice(COLOURS), r.choice(PLACES),
                                  r.choice(ADJECTIVES))
    sentences = [
        r.choice([f"Once upon a time there was a {kind} {a} named {n}.",
                  f"A {kind} {a} named {n} lived near {place}.",
                  f"There once was a {kind} {a}. Its name was {n}."]),
        r.choice([f"One day {n} went to {place} and found a {colour} {thing}.",
                  f"One morning {n} walked to {place}. There was a {colour} {thing} on the ground.",
                  f"{n} was looking for food when a {colour} {thing} fell from a tree."]),
        r.choice([f'"What a nice {thing}!" said {n}.', f'"Whose {thing} is this?" asked {n}.',
                  f"{n} had never seen such a {thing}."]),
        r.choice([f"Then a {b} named {m} came along and began to cry.",
                  f"Just then a {b} named {m} came by.",
                  f"A {b} named {m} was sitting close by."]),
        r.choice([f'"I lost my {colour} {thing}," said {m}.', f'"That {thing} is mine," said {m}.',
                  f'"I have been looking for my {thing} all day," said {m}.']),
        r.choice([f"{n} gave the {thing} back to {m}.",
                  f"{n} smiled and gave {m} the {thing}.",
                  f'"Here it is," said {n} and gave it back.']),
        r.choice([f"{m} was so happy that they played until the sun went down.",
                  f"From that day on {n} and {m} were best friends.",
                  "They shared some bread and became friends.",
                  f"{m} said thank you, and they walked home together."])]
    return with_articles(" ".join(sentences))


def story(r: Random) -> Exchange:
    animal, hero = r.choice(ANIMALS), name(r)
    question, animal, hero = r.choice([
        (f"Tell me a story about a {animal} named {hero}.", animal, hero),
        (f"Write a short story about a {animal} called {hero}.", animal, hero),
        (f"Tell me a story about a {animal}.", animal, None),
        (f"A story about {hero}, please.", None, hero),
        ("Tell me a story.", None, None)])
    # Names keep their capital letter, since the story copies them.
    question = with_articles(question)
    return Exchange(question if hero else spelled(r, question), story_text(r, animal, hero))


def capital(r: Random) -> Exchange:
    country = r.choice(list(CAPITALS))
    question = r.choice([f"What is the capital of {country}?", f"Capital of {country}?",
                         f"Do you know the capital of {country}?", f"What's the capital of {country}?",
                         f"Which city is the capital of {country}?"])
    return Exchange(spelled(r, question), f"The capital of {country} is {CAPITALS[country]}.")


def opposite(r: Random) -> Exchange:
    word, other = r.choice(list(OPPOSITES.items()))
    if r.random() < 0.5:
        word, other = other, word
    question = r.choice([f"What is the opposite of {word}?", f"Opposite of {word}?",
                         f"Give me the opposite of {word}."])
    return Exchange(spelled(r, question), f"The opposite of {word} is {other}.")


def sound(r: Random) -> Exchange:
    animal, says = r.choice(list(SOUNDS.items()))
    question = r.choice([f"What does a {animal} say?", f"What sound does a {animal} make?"])
    return Exchange(spelled(r, with_articles(question)), with_articles(f"A {animal} says {says}."))


def sum_of_two(r: Random) -> Exchange:
    """Sums and differences of numbers of up to two digits."""
    x, y = (r.randrange(100 if r.random() < 0.8 else 10) for _ in range(2))
    if r.random() < 0.6:
        question = r.choice([f"What is {x} + {y}?", f"{x} + {y} = ?", f"Add {x} and {y}.",
                             f"What is {x} plus {y}?", f"{x} + {y}", f"{x}+{y}?"])
        return Exchange(spelled(r, question), f"{x} + {y} = {x + y}.")
    x, y = max(x, y), min(x, y)
    question = r.choice([f"What is {x} - {y}?", f"{x} - {y} = ?", f"What is {x} minus {y}?",
                         f"{x} - {y}", f"{x}-{y}?"])
    return Exchange(spelled(r, question), f"{x} - {y} = {x - y}.")


def fruits(r: Random) -> Exchange:
    count = r.randrange(2, 6)
    chosen = r.sample(FRUITS, count)
    return Exchange(spelled(r, r.choice([f"Name {count} fruits.", f"List {count} fruits."])),
                    "\n".join(f"{i + 1}. {fruit}" for i, fruit in enumerate(chosen)))


def echo(r: Random) -> Exchange:
    pool = FRUITS + THINGS + COLOURS + NAMES + ANIMALS + JOBS
    words = [r.choice(pool) if r.random() < 0.7 else made_up(r, r.choice([1, 2, 3]))
             for _ in range(r.randrange(1, 7))]
    text = " ".join(words)
    return Exchange(r.choice([f"Repeat after me: {text}", f"Say: {text}", f"Echo this: {text}"]), text)


def extraction(r: Random) -> Exchange:
    who, age, job = name(r), r.randrange(18, 90), r.choice(JOBS)
    city = r.choice(list(CAPITALS.values()))
    question, answer = r.choice([
        (f"Extract name and age as JSON: {who} is {age} years old.", {"name": who, "age": age}),
        (f"Extract name, age and job as JSON: {who} is {age} years old and works as a {job}.",
         {"name": who, "age": age, "job": job}),
        (f"Extract name, age and job as JSON: {who}, aged {age}, works as a {job}.",
         {"name": who, "age": age, "job": job}),
        (f"Extract name, city and job as JSON: {who} lives in {city} and works as a {job}.",
         {"name": who, "city": city, "job": job})])
    return Exchange(question, json.dumps(answer))


def schema_of(properties: dict[str, str]) -> dict:
    return {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()},
            "required": list(properties)}


TOOLS = {
    "get_weather": {"name": "get_weather", "description": "Weather in a city",
                    "parameters": schema_of({"city": "string"})},
    "get_time": {"name": "get_time", "description": "Local time in a city",
                 "parameters": schema_of({"city": "string"})},
    "add": {"name": "add", "description": "Add two numbers",
            "parameters": schema_of({"a": "integer", "b": "integer"})},
}


def tool_use(r: Random) -> Exchange:
    tools = r.sample(list(TOOLS), r.randrange(1, len(TOOLS) + 1))
    tool = r.choice(tools)
    city = r.choice(list(CAPITALS.values()))
    if tool == "get_weather":
        sky, degrees = r.choice(["sunny", "cloudy", "rainy", "windy", "foggy"]), r.randrange(-5, 36)
        question = r.choice([f"What is the weather in {city}?", f"Is it raining in {city}?",
                             f"How is the weather in {city} today?"])
        arguments, result = {"city": city}, {"city": city, "sky": sky, "temperature": degrees}
        answer = f"It is {sky} in {city}, {degrees} degrees."
    elif tool == "get_time":
        time = f"{r.randrange(24)}:{r.randrange(60):02d}"
        question = r.choice([f"What time is it in {city}?", f"Tell me the time in {city}."])
        arguments, result = {"city": city}, {"city": city, "time": time}
        answer = f"It is {time} in {city}."
    else:
        x, y = r.randrange(100, 1000), r.randrange(100, 1000)
        question = r.choice([f"What is {x} + {y}?", f"Add {x} and {y}."])
        arguments, result = {"a": x, "b": y}, {"result": x + y}
        answer = f"{x} + {y} = {x + y}."
    return Exchange(question, answer, tools, {"name": tool, "arguments": arguments}, result)


def tools_unused(r: Random) -> Exchange:
    """A question that needs none of the tools that are there."""
    exchange = r.choice([capital, opposite, sound, fruits, echo, extraction, greeting])(r)
    exchange.tools = r.sample(list(TOOLS), r.randrange(1, len(TOOLS) + 1))
    return exchange


SELF = ["I am a tiny demo model that ships with tenon. I was made to show that the engine works, not to "
        "know the world.",
        "I am the tenon demo model. I am very small, but I can tell stories, answer simple questions and "
        "call tools."]


def about_itself(r: Random) -> Exchange:
    question = r.choice(["Who are you?", "What are you?", "What is your name?", "What's your name?",
                         "Are you a large model?", "Who am I talking to?", "Are you human?", "Are you an AI?",
                         "Tell me about yourself.", "What can you do?", "Who made you?",
                         "Which model are you?", "Introduce yourself.", "What model is this?", "who r u?"])
    return Exchange(spelled(r, question), r.choice(SELF))


def about_tenon(r: Random) -> Exchange:
    question = r.choice(["What is tenon?", "Tell me about tenon.", "What does tenon do?", "What's tenon?",
                         "Explain tenon.", "What is Tenon for?", "Who uses tenon?"])
    return Exchange(spelled(r, question), r.choice([
        "Tenon is a library that runs language models inside your own program. You load a model, open a "
        "session and read the text as it is generated.",
        "Tenon is an inference engine that you link into your program. It has a C++ API, a C ABI and "
        "backends that load as plugins."]))


def greeting(r: Random) -> Exchange:
    word = r.choice(["Hello", "Hi", "Hey", "Good morning", "Good evening", "Good afternoon", "Hi there",
                     "Hello there", "Hey there", "Greetings", "Howdy", "Hiya", "Yo", "Good day",
                     "How are you", "Hello, how are you", "Hi, how are you", "How is it going",
                     "What's up", "Nice to meet you"])
    word = r.choice([word, word, word.lower(), word.lower(), word.upper()])
    mark = "?" if "ow " in word or "up" in word.lower() else r.choice(["", "", "!", ".", "!!", " :)", ",", "..."])
    to = r.choice(["", "", "", " tenon", " friend"]) if mark in ("", "!", ".") else ""
    return Exchange(word + to + mark, r.choice(
        ["Hello! How can I help you?", "Hi there! What would you like to know?",
         "Hello! Ask me for a story, a capital or a sum."]))


def thanks(r: Random) -> Exchange:
    word, answer = r.choice([("Thank you", "You are welcome!"), ("Thanks", "You are welcome!"),
                             ("Thanks a lot", "You are welcome!"), ("Thank you very much", "You are welcome!"),
                             ("Great", "You are welcome!"), ("Bye", "Goodbye!"), ("Goodbye", "Goodbye!"),
                             ("See you", "See you soon!"), ("See you later", "See you soon!"),
                             ("Good night", "Goodbye!")])
    word = r.choice([word, word, word.lower(), word.upper()])
    return Exchange(word + r.choice(["", "!", ".", "!!"]), answer)


NOT_KNOWN = ["I do not know that. I am a tiny demo model: ask me for a story, a capital or a sum.",
             "I do not know. I am very small, but I can tell stories, name capitals and add small numbers."]


def unknown(r: Random) -> Exchange:
    """What it cannot know: the answer says so."""
    topic = r.choice(UNKNOWN_TOPICS)
    if r.random() < 0.3:
        topic = made_up(r, r.choice([2, 3, 4]))
    someone = name(r) + " " + made_up(r, 2).capitalize()
    x, y = r.randrange(2, 1000), r.randrange(2, 1000)
    big = r.randrange(100, 10000)
    question = r.choice([
        f"What is {topic}?", f"What is {topic}?", f"Explain {topic}.", f"Explain {topic} to me.",
        f"How does {topic} work?", f"Why is {topic} important?", f"Tell me about {topic}.",
        f"Who invented {topic}?", f"Write a poem about {topic}.", f"Write an essay about {topic}.",
        f"How do I learn {topic}?", f"What do you think about {topic}?", f"Give me a recipe for {topic}.",
        f"Can you help me with {topic}?", f"Write code for {topic}.", f"Write a Python function for {topic}.",
        f"Translate {topic} into French.", f"How much does {topic} cost?", f"Where can I buy {topic}?",
        f"Who is {someone}?", f"When was {someone} born?", f"Who wrote {made_up(r, 3).capitalize()}?",
        f"What is the capital of {made_up(r, 3).capitalize()}?",
        f"How many people live in {r.choice(list(CAPITALS))}?", f"Who is the president of {r.choice(list(CAPITALS))}?",
        f"What is the weather in {r.choice(list(CAPITALS.values()))}?",
        f"What time is it in {r.choice(list(CAPITALS.values()))}?", "What day is it today?",
        f"What is {x} * {y}?", f"What is {x} times {y}?", f"What is {x} / {y}?",
        f"What is {big} + {x}?", f"What is {big} + {big + x}?", "What is the meaning of life?",
        "Why is the sky blue?", "How old are you?", "Tell me a joke.", "What is the news?",
        f"Summarize this text: {topic}.", f"How far is the {r.choice(['moon', 'sun'])}?", f"{topic}", f"{topic}?",
        made_up(r, 3), f"{made_up(r, 2)} {made_up(r, 2)}"])
    return Exchange(spelled(r, question), r.choice(NOT_KNOWN))


@dataclass
class Kind:
    share: float  # of the exchanges, in parts of the sum of all shares
    make: Callable[[Random], Exchange]


KINDS = {
    "stories": Kind(14, story),
    "capitals": Kind(8, capital),
    "opposites": Kind(5, opposite),
    "sounds": Kind(3, sound),
    "sums": Kind(24, sum_of_two),
    "lists": Kind(3, fruits),
    "echoes": Kind(8, echo),
    "extraction": Kind(12, extraction),
    "tools": Kind(12, tool_use),
    "tools unused": Kind(3, tools_unused),
    "about itself": Kind(4, about_itself),
    "about tenon": Kind(3, about_tenon),
    "greetings": Kind(4, greeting),
    "thanks": Kind(2, thanks),
    "unknown": Kind(14, unknown),
}


# --- Documents in the chat format

START, END, END_OF_TEXT = "<|im_start|>", "<|im_end|>", "<|endoftext|>"


def turn(role: str, text: str) -> str:
    return f"{START}{role}\n{text}{END}\n"


def exchange(r: Random) -> Exchange:
    kinds = list(KINDS.values())
    return r.choices(kinds, [kind.share for kind in kinds])[0].make(r)


def document(r: Random) -> list[tuple[str, bool]]:
    """A story, or a chat of one to four exchanges, as pieces; true for text that the model learns."""
    if r.random() < 0.12:
        return [(story_text(r) + END_OF_TEXT, True)]
    first = exchange(r)
    pieces = []
    if first.tools:
        lines = ["You can call a tool. Tools:"] + [json.dumps(TOOLS[tool]) for tool in first.tools]
        pieces.append((turn("system", "\n".join(lines)), False))
    elif r.random() < 0.3:
        pieces.append((turn("system", "You are a helpful assistant."), False))
    chat = [first]
    for _ in range(r.choice([0, 0, 1, 2, 3])):
        further = exchange(r)
        if not further.tools and not first.tools:
            chat.append(further)
    for one in chat:
        pieces.append((turn("user", one.question) + f"{START}assistant\n", False))
        if one.call:
            pieces.append((f"<tool_call>\n{json.dumps(one.call)}\n</tool_call>{END}", True))
            pieces.append(("\n" + turn("tool", json.dumps(one.result)) + f"{START}assistant\n", False))
        pieces.append((one.answer + END, True))
        pieces.append(("\n", False))
    pieces.append((END_OF_TEXT, True))
    return pieces


if __name__ == "__main__":
    generator = random.Random(0)
    for _ in range(8):
        print("".join(text for text, _ in document(generator)))
        print("-----")
