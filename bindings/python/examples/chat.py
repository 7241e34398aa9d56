"""A conversation in the terminal: chat.py MODEL"""

import sys

import tenon
from tenon.constants import CHAT_CONTENT

model = tenon.Model(sys.argv[1])
chat = tenon.Chat(model)
session = tenon.Session(model)
messages = []


def show(deltas):
    for delta in deltas:
        if delta.kind == CHAT_CONTENT:
            print(delta.text, end="", flush=True)


while True:
    print("> ", end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        break
    messages.append({"role": "user", "content": line.rstrip("\n")})
    conversation = {"messages": messages}
    reply = chat.reply(conversation)
    tokens = chat.encode(conversation)
    # Tokens that the session has read are not computed again.
    read = session.tokens
    same = 0
    while same < min(len(read), len(tokens) - 1) and read[same] == tokens[same]:
        same += 1
    session.rewind(same)
    for piece in session.generate(tokens[same:], max_tokens=200):
        if piece.token is not None:
            show(reply.push(piece.token))
    show(reply.finish())
    messages.append(reply.message())
    print()
