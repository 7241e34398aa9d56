"""Training texts of the demo model: questions of eighteen kinds with their answers, and stories.

Seeded: equal seeds give equal texts. KINDS names each kind; evaluate.py asks fresh questions of
each, which is_kept_back() keeps out of the training texts, and checks the answers.
"""
import json
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from words import (ADJECTIVES, ANIMALS, ANIMALS_WITHOUT_SOUND, CAPITALS, COLOURS, COMMON, COUNT_WORDS,
                   DESCRIBED, FRUITS, FURTHER_ANIMALS, FURTHER_CITIES, FURTHER_COUNTRIES,
                   FURTHER_OPPOSITES, JOBS, NAMES, OPPOSITES, PLACES, SMALL_NUMBERS, SOUNDS, SYLLABLES,
                   THINGS, UNKNOWN_TOPICS, VERBS)

Random = random.Random


@dataclass
class Exchange:
    """A question and its answer. Texts are without the marks of the chat format.

    tools: names in TOOLS. call: the tool call before the answer, and the tool's result. before:
    questions and answers earlier in the chat. key: what makes the question another one; by default
    its text.
    """
    question: str
    answer: str
    tools: list[str] = field(default_factory=list)
    call: dict | None = None
    result: dict | str | None = None
    before: list[tuple[str, str]] = field(default_factory=list)
    key: str = ""


SALT = 103  # keeps no question back that everybody asks, such as "Hi"


def is_kept_back(asked: Exchange) -> bool:
    """Whether the question is one of a tenth that is for the evaluation alone."""
    return zlib.crc32(f"{SALT} {asked.key or asked.question}".encode()) % 10 == 0


# --- Names and spellings

def made_up(r: Random, syllables: int) -> str:
    return "".join(r.choice(SYLLABLES) for _ in range(syllables))


def name(r: Random) -> str:
    """A known name, or now and then one that was never seen, so that names are copied."""
    return r.choice(NAMES) if r.random() < 0.75 else made_up(r, r.choice([2, 2, 3])).capitalize()


def spelled(r: Random, text: str) -> str:
    """The question as people type it: in small letters, without its mark, with a please."""
    roll = r.random()
    if roll < 0.6:
        return text
    if roll < 0.75:
        return text.lower()
    if roll < 0.84:
        return text.rstrip("?.!")
    if roll < 0.94:
        return text.lower().rstrip("?.!").replace("what's", "whats")
    if roll < 0.96:
        return "Please " + text[0].lower() + text[1:]
    return text.rstrip(".!?") + (", please?" if text.endswith("?") else ", please.")


def with_articles(text: str) -> str:
    return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)


# --- Stories

def animal_of_story(r: Random) -> str:
    roll = r.random()
    return (r.choice(ANIMALS) if roll < 0.7 else r.choice(FURTHER_ANIMALS) if roll < 0.9
            else made_up(r, r.choice([2, 3])))


# The most likely names of the two are never the same.
HEROES, FRIENDS = NAMES[::2], NAMES[1::2]


@dataclass
class Story:
    text: str
    hero: str
    animal: str
    friend: str
    thing: str
    colour: str


def make_story(r: Random, animal: str | None = None, hero: str | None = None,
               thing: str | None = None, colour: str | None = None) -> Story:
    """A story whose hero, friend, thing and colour stay what they are."""
    a = animal or r.choice(ANIMALS)
    n = hero or r.choice(HEROES)
    b = r.choice([other for other in ANIMALS if other != a])
    m = r.choice([other for other in FRIENDS if other != n])
    thing, colour = thing or r.choice(THINGS), colour or r.choice(COLOURS)
    place, kind = r.choice(PLACES), r.choice(ADJECTIVES)
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
    return Story(with_articles(" ".join(sentences)), n, a, m, thing, colour)


def request_of_story(r: Random) -> tuple[str, Story]:
    animal, hero, thing, colour = animal_of_story(r), name(r), r.choice(THINGS), r.choice(COLOURS)
    tell = r.choice(["Tell me a story", "Tell me a story", "Write a short story", "Tell me a short story",
                     "Write a story", "Can you tell me a story", "I want a story", "Write me a story",
                     "Please tell me a story", "A story", "Tell a story", "Make up a story",
                     "Could you write a story"])
    named = r.choice(["named", "named", "called"])
    about, animal, hero, thing, colour = r.choice([
        (f" about a {animal} {named} {hero}", animal, hero, None, None),
        (f" about a {animal} {named} {hero}", animal, hero, None, None),
        (f" about {hero} the {animal}", animal, hero, None, None),
        (f" about a {r.choice(ADJECTIVES)} {animal}", animal, None, None, None),
        (f" about a {animal}", animal, None, None, None),
        (f" about a {animal}", animal, None, None, None),
        (f" about {hero}", None, hero, None, None),
        (f" about a {animal} and a {colour} {thing}", animal, None, thing, colour),
        (f" about a {animal} {named} {hero} and a {colour} {thing}", animal, hero, thing, colour),
        ("", None, None, None, None)])
    mark = "?" if tell.startswith(("Can", "Could")) else r.choice([".", ".", "", ", please.", "!"])
    question = with_articles(tell + about + mark)
    # Names keep their capital letter, since the story copies them.
    if r.random() < 0.3:
        question = question[0].lower() + question[1:]
    return question, make_story(r, animal, hero, thing, colour)


def story(r: Random) -> Exchange:
    question, told = request_of_story(r)
    return Exchange(question, told.text)


def about_story(r: Random) -> Exchange:
    """A question about the story that was just told."""
    asked, told = request_of_story(r)
    question, answer = r.choice([
        (f"What was the name of the {told.animal}?", f"The {told.animal} was named {told.hero}."),
        (f"What was the {told.animal} called?", f"The {told.animal} was named {told.hero}."),
        (f"Who was {told.hero}?", f"{told.hero} was a {told.animal}."),
        (f"What colour was the {told.thing}?", f"The {told.thing} was {told.colour}."),
        (f"Which colour did the {told.thing} have?", f"The {told.thing} was {told.colour}."),
        (f"What did {told.hero} find?", f"{told.hero} found a {told.colour} {told.thing}."),
        (f"Who lost the {told.thing}?", f"{told.friend} lost the {told.thing}."),
        (f"Whose {told.thing} was it?", f"It was the {told.thing} of {told.friend}."),
        ("Who was the friend?", f"The friend was {told.friend}."),
        ("What was found?", f"{told.hero} found a {told.colour} {told.thing}.")])
    return Exchange(with_articles(question), with_articles(answer), before=[(asked, told.text)],
                    key=question + told.text)


# --- Facts

def capital(r: Random) -> Exchange:
    country = r.choice(list(CAPITALS))
    city = CAPITALS[country]
    if r.random() < 0.1 and list(CAPITALS.values()).count(city) == 1:
        question = r.choice([f"Which country has the capital {city}?",
                             f"{city} is the capital of which country?"])
    else:
        question = r.choice([f"What is the capital of {country}?", f"What is the capital of {country}?",
                             f"Capital of {country}?", f"Do you know the capital of {country}?",
                             f"What's the capital of {country}?", f"Tell me the capital of {country}.",
                             f"Which city is the capital of {country}?", f"Name the capital of {country}.",
                             f"What is the capital city of {country}?"])
    return Exchange(spelled(r, question), f"The capital of {country} is {city}.")


def opposite(r: Random) -> Exchange:
    word, other = r.choice(list(OPPOSITES.items()))
    if r.random() < 0.5:
        word, other = other, word
    if r.random() < 0.12:
        word, other = r.choice(list(FURTHER_OPPOSITES.items()))
    question = r.choice([f"What is the opposite of {word}?", f"Opposite of {word}?",
                         f"What's the opposite of {word}?", f"Give me the opposite of {word}.",
                         f"Tell me the opposite of {word}.", f"Do you know the opposite of {word}?",
                         f"Which word is the opposite of {word}?"])
    return Exchange(spelled(r, question), f"The opposite of {word} is {other}.")


def sound(r: Random) -> Exchange:
    animal, says = r.choice(list(SOUNDS.items()))
    question = r.choice([f"What does a {animal} say?", f"What sound does a {animal} make?",
                         f"What does the {animal} say?", f"Which sound does a {animal} make?",
                         f"How does a {animal} sound?", f"What noise does a {animal} make?"])
    return Exchange(spelled(r, with_articles(question)), with_articles(f"A {animal} says {says}."))


def sum_of_two(r: Random) -> Exchange:
    """Sums and differences of numbers of up to two digits."""
    x, y = (r.randrange(100 if r.random() < 0.85 else 11) for _ in range(2))
    if r.random() < 0.6:
        if x <= 10 and y <= 10 and r.random() < 0.2:
            a, b = SMALL_NUMBERS[x], SMALL_NUMBERS[y]
            question = r.choice([f"What is {a} plus {b}?", f"{a} plus {b}", f"What is {a} and {b}?"])
        else:
            question = r.choice([
                f"What is {x} + {y}?", f"What is {x} + {y}?", f"{x} + {y} = ?", f"Add {x} and {y}.",
                f"What is {x} plus {y}?", f"{x} + {y}", f"{x}+{y}?", f"{x}+{y}", f"What's {x} + {y}?",
                f"What is {x}+{y}?", f"How much is {x} + {y}?", f"{x} + {y} =", f"{x}+{y}=", f"{x} + {y}?",
                f"What is the sum of {x} and {y}?", f"Calculate {x} + {y}.", f"{x} plus {y}?",
                f"Can you add {x} and {y}?"])
        return Exchange(spelled(r, question), f"{x} + {y} = {x + y}.", key=f"{x}+{y}")
    if r.random() < 0.95:
        x, y = max(x, y), min(x, y)
    question = r.choice([f"What is {x} - {y}?", f"What is {x} - {y}?", f"{x} - {y} = ?",
                         f"What is {x} minus {y}?", f"{x} - {y}", f"{x}-{y}?", f"{x}-{y}",
                         f"What's {x} - {y}?", f"How much is {x} - {y}?", f"{x} - {y} =", f"{x} minus {y}?",
                         f"Subtract {y} from {x}.", f"Calculate {x} - {y}."])
    return Exchange(spelled(r, question), f"{x} - {y} = {x - y}.", key=f"{x}-{y}")


LISTS = {"fruits": FRUITS, "colours": COLOURS, "animals": ANIMALS}


def listed(r: Random) -> Exchange:
    count, what = r.randrange(2, 6), r.choice(list(LISTS))
    number = r.choice([count, count, COUNT_WORDS[count]])
    question = r.choice([f"Name {number} {what}.", f"List {number} {what}.", f"Give me {number} {what}.",
                         f"Can you name {number} {what}?", f"Tell me {number} {what}."])
    lines = [f"{i + 1}. {one}" for i, one in enumerate(LISTS[what][:count])]
    return Exchange(spelled(r, question), "\n".join(lines))


def further(r: Random) -> Exchange:
    """A question that only the one before it makes whole: "And Spain?"."""
    roll = r.random()
    if roll < 0.45:
        country = r.choice(list(CAPITALS))
        asked = capital(r)
        question = r.choice([f"And of {country}?", f"And {country}?", f"What about {country}?",
                             f"And what about {country}?", f"And the capital of {country}?",
                             f"Now {country}."])
        answer = f"The capital of {country} is {CAPITALS[country]}."
    elif roll < 0.65:
        word, other = r.choice(list(OPPOSITES.items()))
        asked = opposite(r)
        question = r.choice([f"And of {word}?", f"And {word}?", f"What about {word}?",
                             f"And the opposite of {word}?"])
        answer = f"The opposite of {word} is {other}."
    elif roll < 0.8:
        animal, says = r.choice(list(SOUNDS.items()))
        asked = sound(r)
        question = r.choice([f"And a {animal}?", f"What about a {animal}?", f"And the {animal}?"])
        answer = f"A {animal} says {says}."
    else:
        told = make_story(r)
        asked = story(r)
        question, answer = r.choice(["Another one, please.", "Another story!", "Tell me another story.",
                                     "One more story, please.", "Tell me another one."]), told.text
    return Exchange(with_articles(question), with_articles(answer), before=[(asked.question, asked.answer)],
                    key=question + asked.question)


NAMELESS = "I do not know your name. Tell me."


def remembered(r: Random) -> Exchange:
    """Somebody says their name, and asks for it later."""
    who = name(r)
    said = r.choice([f"My name is {who}.", f"I am {who}.", f"Hello, I am {who}.", f"Hi, my name is {who}!",
                     f"I'm {who}.", f"Hi, I'm {who}.", f"Hello! My name is {who}.", f"my name is {who}",
                     f"Call me {who}.", f"Hi! I am {who}"])
    met = f"Nice to meet you, {who}! How can I help you?"
    if r.random() < 0.4:
        return Exchange(said, met)
    question = spelled(r, r.choice(["What is my name?", "What's my name?", "Who am I?", "Do you know my name?",
                                    "Do you remember my name?", "What am I called?", "Tell me my name."]))
    if r.random() < 0.25:
        return Exchange(question, NAMELESS)
    before = [(said, met)]
    for _ in range(r.choice([0, 0, 1, 2])):
        between = r.choice([capital, opposite, sum_of_two, thanks, sound])(r)
        before.append((between.question, between.answer))
    return Exchange(question, f"Your name is {who}.", before=before, key=question + who)


# --- Copies

def echo(r: Random) -> Exchange:
    """Words, numbers and short sentences, said again exactly."""
    roll = r.random()
    pool = FRUITS + THINGS + COLOURS + NAMES + ANIMALS + JOBS + COMMON + VERBS
    if roll < 0.6:
        text = " ".join(r.choice(pool) if r.random() < 0.8 else made_up(r, r.choice([1, 2, 3]))
                        for _ in range(r.randrange(1, 6)))
    elif roll < 0.7:
        text = " ".join(str(r.randrange(1000)) for _ in range(r.randrange(1, 5)))
    elif roll < 0.8:
        text = r.choice(["hello", "hi", "yes", "no", "hello world", "good morning", "thank you", "goodbye",
                         "I am here", "hello there", "good night", "ok", "test", "one two three"])
    else:
        text = r.choice([f"{name(r)} is {r.choice(['a', 'my', 'your'])} {r.choice(JOBS)}",
                         f"I like {r.choice(pool)} and {r.choice(pool)}",
                         f"the {r.choice(COLOURS)} {r.choice(THINGS)} is {r.choice(ADJECTIVES)}",
                         f"my {r.choice(ANIMALS)} has a {r.choice(COLOURS)} {r.choice(THINGS)}",
                         f"{name(r)} and {name(r)} went to {r.choice(PLACES)}"])
    if r.random() < 0.15:
        text = r.choice([text.capitalize() + ".", text.capitalize() + "!", text + "!", text.capitalize()])
    question = r.choice([f"Repeat after me: {text}", f"Repeat after me: {text}", f"Say: {text}",
                         f"Echo this: {text}", f"Repeat: {text}", f"Echo: {text}", f'Say "{text}"',
                         f'Say "{text}".', f'Repeat "{text}".', f"Say {text}", f"Repeat this: {text}",
                         f"Repeat exactly: {text}"])
    return Exchange(question, text)


def extraction(r: Random) -> Exchange:
    facts = {"name": name(r), "age": r.randrange(18, 90), "job": r.choice(JOBS),
             "city": r.choice(list(CAPITALS.values()) + FURTHER_CITIES)
             if r.random() < 0.9 else made_up(r, 3).capitalize()}
    keys = r.choice([["name", "age"], ["name", "age", "job"], ["name", "age", "job"], ["name", "city", "job"],
                     ["name", "job"], ["name", "city"], ["name", "age", "city"], ["age", "job"], ["name"],
                     ["name", "age", "city", "job"], ["city", "job"], ["age", "name"], ["job", "name"]])
    clauses = {"age": f"is {facts['age']} years old", "job": f"works as a {facts['job']}",
               "city": f"lives in {facts['city']}"}
    told = [key for key in keys if key != "name"]
    if r.random() < 0.3:
        told = list({*told, r.choice(list(clauses))})
        told.sort()
    if not told:
        told = [r.choice(list(clauses))]
    r.shuffle(told)
    who = facts["name"]
    if told[0] == "age" and len(told) > 1 and r.random() < 0.4:
        told, who = told[1:], f"{who}, aged {facts['age']},"
    spoken = [clauses[key] for key in told]
    sentence = who + " " + (spoken[0] if len(spoken) == 1 else ", ".join(spoken[:-1]) + " and " + spoken[-1]) + "."
    wanted = keys[0] if len(keys) == 1 else ", ".join(keys[:-1]) + " and " + keys[-1]
    question = r.choice([f"Extract {wanted} as JSON: {sentence}", f"Extract {wanted} as JSON: {sentence}",
                         f"Extract {wanted} as JSON: {sentence}", f"Extract the {wanted} as JSON: {sentence}",
                         f"Give me {wanted} as JSON: {sentence}", f"Write {wanted} as JSON: {sentence}"])
    return Exchange(question, json.dumps({key: facts[key] for key in keys}))


# --- Tools

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


FURTHER_DESCRIPTIONS = {
    "get_weather": ["Tells the weather.", "The weather of a city", "Current weather", "Looks up the weather"],
    "get_time": ["Tells the time.", "The time in a city", "Current local time"],
    "add": ["Adds two numbers.", "The sum of two numbers"],
}


def described(r: Random, name: str) -> dict:
    """A tool as programs write it: with another description or none, and a schema that says less or more."""
    if r.random() < 0.5:
        return TOOLS[name]
    tool = json.loads(json.dumps(TOOLS[name]))
    roll = r.random()
    if roll < 0.3:
        del tool["description"]
    elif roll < 0.8:
        tool["description"] = r.choice(FURTHER_DESCRIPTIONS[name])
    roll = r.random()
    if roll < 0.2:
        tool["parameters"] = r.choice([{"type": "object"}, {}, {"type": "object", "properties": {}}])
    elif roll < 0.4:
        tool["parameters"]["additionalProperties"] = False
    elif roll < 0.6:
        del tool["parameters"]["required"]
    elif roll < 0.7:
        for key, schema in tool["parameters"]["properties"].items():
            schema["description"] = f"The {key}"
    return tool


def tool_use(r: Random) -> Exchange:
    tools = r.sample(list(TOOLS), r.randrange(1, len(TOOLS) + 1))
    tool = r.choice(tools)
    city = r.choice(list(CAPITALS.values()) + FURTHER_CITIES)
    if r.random() < 0.15:
        city = made_up(r, r.choice([2, 3])).capitalize()
    if tool == "get_weather":
        sky, degrees = r.choice(["sunny", "cloudy", "rainy", "windy", "foggy"]), r.randrange(-5, 36)
        question = r.choice([f"What is the weather in {city}?", f"Is it raining in {city}?",
                             f"How is the weather in {city} today?", f"What's the weather in {city}?",
                             f"What is the weather like in {city}?", f"Weather in {city}?"])
        arguments, result = {"city": city}, {"city": city, "sky": sky, "temperature": degrees}
        answer = f"It is {sky} in {city}, {degrees} degrees."
        if r.random() < 0.3:
            del result["city"]
        if r.random() < 0.25:
            weather = r.choice([f"{degrees} degrees and {sky}", f"{sky}, {degrees} degrees", sky,
                                f"{degrees} degrees"])
            result, answer = weather, f"It is {weather} in {city}."
    elif tool == "get_time":
        time = f"{r.randrange(24)}:{r.randrange(60):02d}"
        question = r.choice([f"What time is it in {city}?", f"Tell me the time in {city}.",
                             f"What is the time in {city}?", f"What's the time in {city}?"])
        arguments, result = {"city": city}, {"city": city, "time": time}
        answer = f"It is {time} in {city}."
    else:
        x, y = (r.randrange(100, 1000) if r.random() < 0.7 else r.randrange(100) for _ in range(2))
        question = r.choice([f"What is {x} + {y}?", f"Add {x} and {y}.", f"What is {x} plus {y}?"])
        arguments, result = {"a": x, "b": y}, {"result": x + y}
        answer = f"{x} + {y} = {x + y}."
    return Exchange(question, answer, tools, {"name": tool, "arguments": arguments}, result)


def tools_unused(r: Random) -> Exchange:
    """A question that needs none of the tools that are there."""
    exchange = r.choice([capital, opposite, sound, listed, echo, extraction, greeting, about_itself, story])(r)
    exchange.tools = r.sample(list(TOOLS), r.randrange(1, len(TOOLS) + 1))
    return exchange


# --- Talk

SELF = "I am a tiny demo model that ships with tenon. I was made to show that the engine works."
ABLE = ("I can tell stories, name capitals, opposites and animal sounds, add small numbers, repeat words, "
        "extract JSON and call tools.")
MAKER = "I was made for tenon, from texts that a small program wrote."
ABOUT_ITSELF = [
    (["Who are you?", "What are you?", "What is your name?", "What's your name?", "Who am I talking to?",
      "Tell me about yourself.", "Which model are you?", "Introduce yourself.", "What model is this?",
      "who r u?", "Do you have a name?", "Who is this?", "Hi, who are you?", "Hello, who are you?",
      "What kind of model are you?", "Can you introduce yourself?", "What should I call you?"], SELF),
    (["Are you a large model?", "Are you human?", "Are you an AI?", "Are you ChatGPT?", "Are you a robot?",
      "Are you a person?", "Are you real?", "Are you alive?", "Are you a bot?", "Are you intelligent?",
      "Are you big?", "Are you smart?", "Is this ChatGPT?"], SELF),
    (["What can you do?", "What do you know?", "How can you help me?", "What can I ask you?", "Help",
      "What are you good at?", "Can you help me?", "What do you do?", "What can I do here?", "Help me.",
      "What are your skills?", "What questions can you answer?", "I need help.", "What should I ask?",
      "What else can you do?", "Tell me what you can do.", "What can you tell me?"], ABLE),
    (["Who made you?", "Who created you?", "Who trained you?", "How were you made?", "How were you trained?",
      "Where do you come from?", "Who built you?", "Who is your maker?"], MAKER),
]


def about_itself(r: Random) -> Exchange:
    questions, answer = r.choices(ABOUT_ITSELF, [4, 2, 4, 2])[0]
    return Exchange(spelled(r, r.choice(questions)), answer)


def about_tenon(r: Random) -> Exchange:
    question = r.choice(["What is tenon?", "Tell me about tenon.", "What does tenon do?", "What's tenon?",
                         "Explain tenon.", "What is Tenon for?", "Who uses tenon?", "How does tenon work?",
                         "What is Tenon?", "Can you tell me about tenon?", "Describe tenon."])
    return Exchange(spelled(r, question),
                    "Tenon is a library that runs language models inside your own program. You load a model, "
                    "open a session and read the text as it is generated.")


HELLO = "Hello! How can I help you?"
FINE = "I am fine, thank you. How can I help you?"


def greeting(r: Random) -> Exchange:
    plain = ["Hello", "Hi", "Hey", "Good morning", "Good evening", "Good afternoon", "Hi there", "Hello there",
             "Hey there", "Greetings", "Howdy", "Hiya", "Yo", "Good day", "Nice to meet you", "Heya", "Hullo",
             "Morning", "Hallo", "Helo", "Hello hello", "Welcome", "Hey you", "Good morning to you"]
    asking = ["How are you", "How is it going", "How are you doing", "What's up", "How are things",
              "How do you do", "How are you today", "Are you ok", "How do you feel", "Sup"]
    to = r.choice(["", "", "", "", " tenon", " friend", " assistant", " model", " everyone", " bot", " " + name(r)])
    roll = r.random()
    if roll < 0.65:
        word, mark, answer = r.choice(plain) + to, r.choice(["", "", "!", ".", "!!", "!!!", " :)", ",", "..."]), None
    elif roll < 0.8:
        word, mark, answer = r.choice(asking) + r.choice(["", "", to]), r.choice(["?", "?", "", "??"]), FINE
    else:
        joint = r.choice([", ", "! ", " ", ". "])
        ask = r.choice(asking)
        word = r.choice(plain) + to + joint + (ask if joint in "! . " else ask[0].lower() + ask[1:])
        mark, answer = r.choice(["?", "?", ""]), FINE
    word = r.choice([word, word, word, word.lower(), word.lower(), word.upper()])
    return Exchange(word + mark, answer or HELLO)


def thanks(r: Random) -> Exchange:
    words, answer = r.choice([
        (["Thank you", "Thanks", "Thanks a lot", "Thank you very much", "Thank you so much", "Great, thanks",
          "Ok, thanks", "Many thanks", "Thx", "Thanks for the help", "Cool, thank you", "Perfect, thanks",
          "Thank you for your help", "Thanks again", "ty"], "You are welcome!"),
        (["Bye", "Goodbye", "See you", "See you later", "Good night", "Bye bye", "Thanks, bye", "See you soon",
          "I have to go", "Take care", "Farewell", "Have a nice day", "See you tomorrow", "Good bye", "Ciao"],
         "Goodbye!"),
        (["Great", "Ok", "Okay", "Cool", "Nice", "Yes", "No", "Good", "Wow", "Perfect", "Sure", "Well done",
          "Good job", "I see", "Very good", "Right", "Fine", "Haha", "Awesome", "Test", "Amazing"],
         "Ask me for a story, a capital or a sum.")])
    word = r.choice(words)
    word = r.choice([word, word, word.lower(), word.upper()])
    return Exchange(word + r.choice(["", "", "!", ".", "!!", " :)"]), answer)


# --- What it does not know

NOT_KNOWN = "I do not know that. I only know stories, capitals, opposites, animal sounds and small sums."
FURTHER_QUESTIONS = """
    What day is it today?|What is the meaning of life?|Why is the sky blue?|How old are you?|Tell me a joke.|
    What is the news?|Who won the game?|How far is the moon?|How far is the sun?|What time is it?|
    What is the weather?|What is the weather like today?|Is it raining?|Where are you?|Where do you live?|
    Do you like music?|What is your favourite colour?|Do you love me?|Can you sing?|Sing a song.|
    Write a poem.|Write a letter.|Write code.|Translate hello into French.|How do I get to the station?|
    What is the date?|Who is the president?|Who is the king of England?|What should I eat?|I am sad.|
    I am bored.|I am hungry.|I feel sick.|Do you dream?|Are there aliens?|What happened yesterday?|
    Is the earth round?|How many days are in a year?|How many legs does a spider have?|What is one times one?|
    Tell me something interesting.|Tell me a fact.|What do you think?|Let us play a game.|Play music.|
    Set a timer.|Remind me tomorrow.|Send an email.|Search the web.|Open the door.|Turn on the light.|
    Which is better?|Why?|How?|When?|Where?|What?|Who?|Really?|What do you mean?|I do not understand.
""".replace("\n", "").split("|")
FURTHER_QUESTIONS = [question.strip() for question in FURTHER_QUESTIONS]


def composed_question(r: Random) -> str:
    """A question about anything, of common words."""
    topic, noun, verb, best = r.choice(UNKNOWN_TOPICS), r.choice(COMMON), r.choice(VERBS), r.choice(DESCRIBED)
    other = r.choice(COMMON)
    if r.random() < 0.15:
        noun = made_up(r, r.choice([2, 3]))
    if r.random() < 0.15:
        topic = made_up(r, r.choice([2, 3, 4]))
    where = r.choice(["in the world", "on earth", "in Europe", "in " + r.choice(list(CAPITALS)), "here",
                      "in the city", "of all time", "in history"])
    who = name(r)
    return r.choice([
        f"What is the {best} {noun} {where}?", f"Which {noun} is the {best}?", f"Who {verb}s the {best} {noun}?",
        f"How do I {verb} a {noun}?", f"How do you {verb} {topic}?", f"Can you {verb} a {noun} for me?",
        f"How can I {verb} my {noun}?", f"Why does my {noun} not {verb}?", f"Should I {verb} the {noun}?",
        f"Please {verb} this {noun} for me.", f"{verb.capitalize()} the {noun}.",
        f"{verb.capitalize()} a {noun} about {topic}.", f"{verb.capitalize()} {topic}.",
        f"How many {noun}s are {where}?", f"How much does a {noun} cost?", f"How big is a {noun}?",
        f"How long is the {noun}?", f"How old is the {noun}?", f"When was the {noun} made?",
        f"When did {topic} begin?", f"Where is the {noun}?", f"Where can I find a {noun}?",
        f"What is a {noun}?", f"What is the {noun} of {topic}?", f"What does {topic} mean?",
        f"What does {noun} mean?", f"What is the difference between {topic} and a {noun}?",
        f"What is the {noun} of {who}?", f"Who is the {best} {r.choice(JOBS)} {where}?",
        f"Is {topic} {r.choice(ADJECTIVES)}?", f"Is a {noun} better than a {other}?", f"Are {noun}s {r.choice(COLOURS)}?",
        f"Do you like {topic}?", f"Do you have a {noun}?", f"Do you know {who}?", f"Why are {noun}s {r.choice(COLOURS)}?",
        f"Why do people {verb} {noun}s?", f"What happens when I {verb} a {noun}?", f"I want to {verb} a {noun}.",
        f"I need a {noun}.", f"I have a {noun}.", f"I like {topic}.", f"Give me a {noun}.", f"Give me advice on {topic}.",
        f"Tell me the {noun} of {topic}.", f"Tell me how to {verb} a {noun}.", f"Show me a {noun}.",
        f"Let's talk about {topic}.", f"Have you heard about {topic}?", f"What are the {best} {noun}s?",
        f"Name the {best} {noun} {where}.", f"List the {noun}s of {topic}.", f"Which {noun} should I {verb}?"])


def unknown(r: Random) -> Exchange:
    """What it cannot know: the answer says so."""
    roll = r.random()
    if roll < 0.35:
        return Exchange(spelled(r, with_articles(composed_question(r))), NOT_KNOWN)
    if roll < 0.45:
        return Exchange(spelled(r, r.choice(FURTHER_QUESTIONS)), NOT_KNOWN)
    topic = r.choice(UNKNOWN_TOPICS)
    if r.random() < 0.3:
        topic = made_up(r, r.choice([2, 3, 4]))
    someone = name(r) + " " + made_up(r, 2).capitalize()
    x, y, z = r.randrange(2, 1000), r.randrange(2, 1000), r.randrange(100)
    big = r.randrange(100, 10000)
    country, city = r.choice(list(CAPITALS)), r.choice(list(CAPITALS.values()))
    elsewhere = r.choice(FURTHER_COUNTRIES) if r.random() < 0.7 else made_up(r, 3).capitalize()
    word = r.choice(FRUITS + THINGS + JOBS + COMMON + UNKNOWN_TOPICS)
    if roll < 0.65:
        question = r.choice([
            f"What is the capital of {elsewhere}?", f"What is the capital of {elsewhere}?", f"Capital of {elsewhere}?",
            f"What is the opposite of {word}?", f"Opposite of {word}?",
            f"What does a {r.choice(ANIMALS_WITHOUT_SOUND)} say?", f"What does a {made_up(r, 2)} say?",
            f"How many people live in {country}?", f"Who is the president of {country}?",
            f"Which language do people speak in {country}?", f"Tell me about {country}.", f"Where is {country}?",
            f"Where is {city}?", f"Tell me about {city}.", f"What can I see in {city}?", f"What is the flag of {country}?",
            f"What is the weather in {city}?", f"What time is it in {city}?",
            f"What is {x} * {y}?", f"What is {x} times {y}?", f"What is {x} / {y}?", f"{x}*{y}", f"{z} * {x % 100}",
            f"{z}*{x % 10}", f"What is {z} times {x % 10}?", f"What is {z} divided by {x % 10}?",
            f"What is {big} + {x}?", f"{big} + {big + x}", f"{big} - {z}?", f"What is {z} + {x % 100} + {y % 100}?",
            f"Is {x} a prime number?", f"What is the square root of {x}?"])
    else:
        question = r.choice([
            f"What is {topic}?", f"What is {topic}?", f"Explain {topic}.", f"Explain {topic} to me.",
            f"How does {topic} work?", f"Why is {topic} important?", f"Tell me about {topic}.",
            f"Who invented {topic}?", f"Write a poem about {topic}.", f"Write an essay about {topic}.",
            f"How do I learn {topic}?", f"What do you think about {topic}?", f"Give me a recipe for {topic}.",
            f"Can you help me with {topic}?", f"Write code for {topic}.", f"Write a Python function for {topic}.",
            f"Translate {topic} into French.", f"How much does {topic} cost?", f"Where can I buy {topic}?",
            f"Who is {someone}?", f"When was {someone} born?", f"Who wrote {made_up(r, 3).capitalize()}?",
            f"Who was {someone}?", f"Tell me about {someone}.", f"Tell me a joke about {topic}.",
            f"Summarize this text: {topic}.", f"What do you know about {topic}?", f"{topic}", f"{topic}?",
            made_up(r, 3), f"{made_up(r, 2)} {made_up(r, 2)}", f"What is the history of {topic}?"])
    return Exchange(spelled(r, with_articles(question)), NOT_KNOWN)


@dataclass
class Kind:
    share: float  # of the exchanges, in parts of the sum of all shares
    make: Callable[[Random], Exchange]


KINDS = {
    "stories": Kind(6, story),
    "about a story": Kind(6, about_story),
    "capitals": Kind(8, capital),
    "opposites": Kind(6, opposite),
    "sounds": Kind(3, sound),
    "sums": Kind(50, sum_of_two),
    "lists": Kind(2, listed),
    "echoes": Kind(36, echo),
    "extraction": Kind(14, extraction),
    "tools": Kind(12, tool_use),
    "tools unused": Kind(3, tools_unused),
    "about itself": Kind(3, about_itself),
    "about tenon": Kind(1, about_tenon),
    "greetings": Kind(5, greeting),
    "thanks": Kind(4, thanks),
    "follow-ups": Kind(4, further),
    "names": Kind(4, remembered),
    "unknown": Kind(15, unknown),
}


# --- Documents in the chat format

START, END, END_OF_TEXT = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
SYSTEMS = ["You are a helpful assistant.", "You are a helpful assistant.", "You are a helpful assistant.",
           "You are a friendly assistant.", "Answer briefly.", "Be brief.", "You are a pirate.", "Be kind.",
           "You are a teacher.", "Answer in one sentence.", "You are an AI model.", "Be polite and brief.",
           "You answer questions.", "You are tenon's demo model."]


def turn(role: str, text: str) -> str:
    return f"{START}{role}\n{text}{END}\n"


def exchange(r: Random) -> Exchange:
    kinds = list(KINDS.values())
    while True:
        made = r.choices(kinds, [kind.share for kind in kinds])[0].make(r)
        if not is_kept_back(made):
            return made


def weight_of(text: str) -> float:
    """Weight of an answer in the loss. Much of a story is free, so its tokens count less."""
    return 0.3 if text.count(".") >= 5 else 1


def result_text(result: dict | str) -> str:
    return result if isinstance(result, str) else json.dumps(result)


def document(r: Random) -> list[tuple[str, float]]:
    """A story, or a chat of some exchanges, as pieces, each with its weight in the loss."""
    if r.random() < 0.02:
        return [(make_story(r, animal_of_story(r)).text + END_OF_TEXT, 0.3)]
    first = exchange(r)
    system = r.choice(SYSTEMS) if r.random() < 0.35 else ""
    pieces = []
    if first.tools:
        lines = ([system] if system else []) + ["You can call a tool. Tools:"]
        lines += [json.dumps(described(r, tool)) for tool in first.tools]
        pieces.append((turn("system", "\n".join(lines)), 0))
    elif system:
        pieces.append((turn("system", system), 0))
    chat = [first]
    for _ in range(r.choice([0, 0, 1, 2, 3, 8])):
        following = exchange(r)
        is_named = any(one.answer.startswith("Nice to meet") or one.before for one in chat)
        if not following.tools and not first.tools and not (is_named and following.answer == NAMELESS):
            chat.append(following)
    for one in chat:
        for question, answer in one.before:
            pieces.append((turn("user", question) + f"{START}assistant\n", 0))
            pieces.append((answer + END, weight_of(answer)))
            pieces.append(("\n", 0))
        pieces.append((turn("user", one.question) + f"{START}assistant\n", 0))
        if one.call:
            pieces.append((f"<tool_call>\n{json.dumps(one.call)}\n</tool_call>{END}", 1))
            pieces.append(("\n" + turn("tool", result_text(one.result)) + f"{START}assistant\n", 0))
        pieces.append((one.answer + END, weight_of(one.answer)))
        pieces.append(("\n", 0))
    pieces.append((END_OF_TEXT, 1))
    return pieces


if __name__ == "__main__":
    generator = random.Random(0)
    for _ in range(8):
        print("".join(text for text, _ in document(generator)))
        print("-----")
