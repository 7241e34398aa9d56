"""Takes a name and an age out of a sentence: json_by_schema.py MODEL SENTENCE"""

import json
import sys

import tenon

path, sentence = sys.argv[1:]
model = tenon.Model(path)
grammar = tenon.Grammar.json_schema({
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 16},
                   "age": {"type": "integer", "minimum": 0, "maximum": 150}},
    "required": ["name", "age"],
    "additionalProperties": False,
})
prompt = tenon.Chat(model).encode(
    {"messages": [{"role": "user", "content": f"Extract name and age as JSON: {sentence}"}]})
text = tenon.Session(model).generate(prompt, grammar=grammar, sampling={"temperature": 0}).text()
person = json.loads(text)
print(f"{person['name']} is {person['age']}")
