"""A chat that any of a cluster's machines answers: many_machines.py MODEL [ADDRESS_OF_RAY]

Needs pip install "tenon-llm[ray]". The model's path is the same on each machine; without an address this machine is the
cluster."""

import sys

import ray
from ray import serve

from tenon.ray import Client, application


def main(path, address):
    ray.init(address=address, log_to_driver=False)
    client = Client(serve.run(application(path), name="example", route_prefix=None))
    messages = []
    for question in ("What is the capital of Norway?", "And what is it known for?"):
        messages.append({"role": "user", "content": question})
        answer = ""
        for piece in client.stream(messages, max_tokens=40, sampling={"temperature": 0}):
            print(piece, end="", flush=True)
            answer += piece
        print()
        messages.append({"role": "assistant", "content": answer})
    serve.delete("example")


main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
