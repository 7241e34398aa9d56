#!/usr/bin/env python3
"""Measures a light client beside the heaviest requests of each route of `tenon serve`.

    serve_beside.py TENON MODEL [--requests 2,8,32] [--seconds 4] [--only WORD] [--limit-ms 250]

Another client sends N heavy requests at a time, for some seconds. The light client asks for four
tokens every 20 ms. Prints its latency per route and N, in ms, and the peak memory of the server in
MB. Status 1 if a p99 exceeds the limit, or a light request gets no answer. For quiet machines: all
latencies grow with the load.
"""
import argparse
import json
import re
import socket
import subprocess
import sys
import threading
import time


def chat(**more):
    return {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4, **more}


def tools(count):
    return [{"type": "function", "function": {"name": f"tool_{i}", "parameters": {
        "type": "object",
        "properties": {f"field_{j}": {"type": "string", "pattern": f"^[a-z]{{1,{i + j + 2}}}$"}
                       for j in range(8)},
        "required": [f"field_{j}" for j in range(8)]}}} for i in range(count)]


def schema(count):
    return {"type": "json_schema", "json_schema": {"name": "wide", "strict": True, "schema": {
        "type": "object",
        "properties": {f"field_{i}": {"enum": [f"{i} {j}" for j in range(60)]} for i in range(count)},
        "required": [f"field_{i}" for i in range(count)], "additionalProperties": False}}}


def heavy_requests():
    """(name, path, body) of the requests that cost most, by route."""
    words = "a b " * 2_000_000
    long_text = "The fox is red. " * 4000
    many_messages = [{"role": "user", "content": "hi"}] * 200_000
    label = [{"value": str(i)} for i in range(20)]
    questions = [{"type": "choice", "instructions": f"Which of these, number {q}?", "choices": label}
                 for q in range(400)]
    letters = "start: a\na: " + "|".join(["b"] * 3000) + '\nb: "' + "x" * 200_000 + '"\n'
    yield "completions, many prompts", "/v1/completions", {
        "prompt": [[5]] * 1000, "max_tokens": 200, "ignore_eos": True}
    yield "completions, long prompt", "/v1/completions", {"prompt": long_text, "max_tokens": 100}
    yield "completions, log probabilities", "/v1/completions", {
        "prompt": [[5]] * 500, "max_tokens": 100, "ignore_eos": True, "logprobs": 20}
    yield "completions, stops", "/v1/completions", {
        "prompt": "hi", "max_tokens": 4, "stop": ["x" * 100_000 + str(i) for i in range(64)]}
    yield "completions, Lark", "/v1/completions", {
        "prompt": "hi", "max_tokens": 4, "structured_outputs": {"grammar": letters}}
    yield "completions, dots", "/v1/completions", {
        "prompt": "hi", "max_tokens": 4, "structured_outputs": {"regex": "." * 300_000}}
    yield "chat, n", "/v1/chat/completions", chat(n=128, max_tokens=200, ignore_eos=True)
    yield "chat, n with log probabilities", "/v1/chat/completions", chat(
        n=128, max_tokens=200, ignore_eos=True, logprobs=True, top_logprobs=20)
    yield "chat, messages", "/v1/chat/completions", {"messages": many_messages, "max_tokens": 4}
    yield "chat, tools", "/v1/chat/completions", chat(tools=tools(200))
    yield "chat, schema", "/v1/chat/completions", chat(response_format=schema(300))
    yield "responses", "/v1/responses", {
        "input": many_messages, "truncation": "auto", "max_output_tokens": 4}
    yield "responses, metadata", "/v1/responses", {
        "input": "hi", "max_output_tokens": 4, "metadata": {str(i): "" for i in range(300_000)}}
    yield "responses, input tokens", "/v1/responses/input_tokens", {"input": long_text * 10}
    yield "messages", "/v1/messages", {"messages": many_messages, "max_tokens": 4}
    yield "messages, count tokens", "/v1/messages/count_tokens", {
        "messages": [{"role": "user", "content": long_text * 10}]}
    yield "decisions", "/v1/decisions", {"input": "The fox is red. ", "questions": questions}
    yield "score", "/v1/score", {"text_1": "a", "text_2": [long_text] * 50}
    yield "rerank", "/v1/rerank", {"query": "a", "documents": [long_text] * 50}
    yield "embeddings", "/v1/embeddings", {"input": [long_text] * 50}
    yield "tokenize", "/tokenize", {"prompt": words, "return_token_strs": True}
    yield "detokenize", "/detokenize", {"tokens": [5] * 1_900_000}


class Server:
    def __init__(self, tenon, model):
        self.process = subprocess.Popen([tenon, "serve", model, "--port", "0"], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in self.process.stdout:
            found = re.search(r"listening on http://.*:(\d+)", line)
            if found:
                self.port = int(found[1])
                return
        raise SystemExit(f"the server did not start: {self.process.wait()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 300)

    def post(self, path, body, stopped=None):
        """Status of the answer; None if the connection ended without one."""
        head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
        begin = b""
        try:
            with self.connect() as connection:
                connection.sendall(head.encode())
                connection.sendall(body)
                connection.settimeout(0.2)
                while not (stopped and stopped()):
                    try:
                        piece = connection.recv(1 << 20)
                    except TimeoutError:
                        continue
                    if not piece:
                        break
                    begin = (begin + piece)[:40] if len(begin) < 40 else begin
        except OSError:
            pass
        return int(begin.split(b" ")[1]) if begin.startswith(b"HTTP/1.1 ") else None

    def peak_mb(self):
        text = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def measure(options, name, path, body, requests):
    """Whether the light client got all its answers in time."""
    with Server(options.tenon, options.model) as server:
        ended = False
        statuses = {}

        def send():
            while not ended:
                status = server.post(path, body, lambda: ended)
                if status is not None:
                    statuses[status] = statuses.get(status, 0) + 1

        light = json.dumps({"prompt": "Once", "max_tokens": 4}).encode()
        server.post("/v1/completions", light)
        threads = [threading.Thread(target=send) for _ in range(requests)]
        for thread in threads:
            thread.start()
        waits, bad = [], 0
        begin = time.perf_counter()
        while time.perf_counter() - begin < options.seconds or len(waits) < 20:
            start = time.perf_counter()
            bad += server.post("/v1/completions", light) != 200
            waits.append(1000 * (time.perf_counter() - start))
            time.sleep(0.02)
        ended = True
        for thread in threads:
            thread.join()
        p99 = percentile(waits, 0.99)
        print(f"{name:32} {requests:3} at a time  p50 {percentile(waits, 0.5):6.0f}  p99 {p99:6.0f}  "
              f"worst {max(waits):6.0f}  {len(waits):4} asked, {bad} refused  "
              f"peak {server.peak_mb():6.0f} MB  heavy answers {statuses}", flush=True)
        return p99 <= options.limit_ms and bad == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tenon")
    parser.add_argument("model")
    parser.add_argument("--requests", default="2,8,32", help="heavy requests at a time")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", default="", help="part of a request's name")
    parser.add_argument("--limit-ms", type=float, default=250)
    options = parser.parse_args()
    missed = 0
    for name, path, body in heavy_requests():
        if options.only in name:
            body = json.dumps(body).encode()
            for requests in map(int, options.requests.split(",")):
                missed += not measure(options, name, path, body, requests)
    print(f"{missed} over {options.limit_ms:g} ms or refused")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
