"""Lets a model call a function, and answer with what that says: tool_calls.py MODEL"""

import json
import sys

import tenon

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}},
                   "required": ["city"], "additionalProperties": False}}}]


def get_weather(city):
    return f"12 degrees and rain in {city}"


model = tenon.Model(sys.argv[1])
chat = tenon.Chat(model)
messages = [{"role": "user", "content": "What is the weather in Oslo?"}]


def answer(tool_choice):
    """The model's next message, which is appended to the conversation."""
    conversation = {"messages": messages, "tools": TOOLS, "tool_choice": tool_choice}
    sampler = tenon.Sampler(temperature=0)
    chat.constrain(conversation, sampler)
    reply = chat.reply(conversation)
    for piece in tenon.Session(model).generate(chat.encode(conversation), sampler=sampler, max_tokens=100):
        if piece.token is not None:
            reply.push(piece.token)
    reply.finish()
    messages.append(reply.message())
    return messages[-1]


for call in answer("required")["tool_calls"]:
    said = get_weather(**json.loads(call["function"]["arguments"]))
    print(f"{call['function']['name']}: {said}")
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": said})
print(answer("none")["content"])
