"""Objects made, used and destroyed in random orders. TENON_ORDERS: how many (200)."""

import asyncio
import os
import random

from conftest import DEMO

import tenon

ORDERS = int(os.environ.get("TENON_ORDERS", "200"))
# One order: so many steps over the objects that there are.
STEPS = 12


class Order:
    """One random order. What is used too late, or at a wrong time, must be a tenon.Error."""

    def __init__(self, seed, model):
        self.random = random.Random(seed)
        self.shared = model
        self.objects = []

    def pick(self, kind):
        found = [one for one in self.objects if isinstance(one, kind)]
        return self.random.choice(found) if found else None

    def make(self):
        model = self.pick(tenon.Model) or self.shared
        engine, session = self.pick(tenon.Engine), self.pick(tenon.Session)
        makers = [lambda: tenon.Engine(model), lambda: tenon.Session(model), lambda: model.tokenizer,
                  lambda: tenon.Sampler(seed=1), lambda: tenon.Chat(model), lambda: tenon.Grammar.regex("a+b")]
        server = self.pick(tenon.Server)
        if server is not None:
            makers += [lambda: server.request("POST", "/v1/completions", '{"prompt": "Once", "max_tokens": 3}')] * 3
        if self.random.random() < 0.02:
            makers = [lambda: tenon.Model(DEMO, threads=1)]
        elif self.random.random() < 0.04:
            makers = [lambda: self.serve(engine or model)]
        if engine is not None:
            makers += [engine.open_session, lambda: engine.stream("Once", max_tokens=2)]
        if session is not None:
            makers += [session.fork, lambda: session.generate("Once", max_tokens=3)]
        self.objects.append(self.random.choice(makers)())

    @staticmethod
    def serve(served):
        server = tenon.Server()
        server.add("demo", served)
        server.start()
        return server

    def use(self):
        one = self.random.choice(self.objects)
        if isinstance(one, tenon.Session):
            self.random.choice([lambda: one.append("a fox"), one.prefill, lambda: one.logits()[0],
                                lambda: one.rewind(0), one.cancel, one.save, lambda: one.tokens])()
        elif isinstance(one, tenon.Generation):
            self.random.choice([lambda: next(one, None), one.text, one.cancel,
                                lambda: asyncio.run(one.atext())])()
        elif isinstance(one, tenon.Answer):
            self.random.choice([lambda: next(one, None), one.read, lambda: one.status,
                                lambda: asyncio.run(one.aread())])()
        elif isinstance(one, tenon.Server):
            self.random.choice([lambda: one.add("late", self.shared), lambda: one.request("GET", "/health").read(),
                                lambda: one.stop(0)])()
        elif isinstance(one, tenon.Engine):
            self.random.choice([one.stats, one.step, one.stats_text])()
        elif isinstance(one, tenon.Tokenizer):
            one.decode(one.encode("a fox"))
        elif isinstance(one, tenon.Model):
            one.info

    def destroy(self):
        one = self.objects.pop(self.random.randrange(len(self.objects)))
        if self.random.random() < 0.5:
            one.close()

    def run(self):
        refused = 0
        for _ in range(STEPS):
            steps = [self.make, self.make, self.use, self.use, self.destroy] if self.objects else [self.make]
            try:
                self.random.choice(steps)()
            except tenon.Error:
                refused += 1
        return refused


def test_random_orders(model):
    refused = sum(Order(seed, model).run() for seed in range(ORDERS))
    assert refused < ORDERS * STEPS / 2
