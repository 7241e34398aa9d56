"""Trains the demo model on the CPU and writes its weights.

    train.py WEIGHTS [--minutes 40] [--threads 2] [--seed 42]

Documents follow one another in each row of a batch. The loss counts what the model says: answers,
tool calls and stories, not the questions.
"""
import argparse
import math
import random
import time

import torch
from torch.nn import functional

from corpus import document
from model import Model
from tokenizer import Tokenizer

ROWS, POSITIONS = 24, 256
LEARNING_RATE, LAST_LEARNING_RATE, WARM_UP_STEPS = 2e-3, 5e-5, 100
NOT_LEARNED = -100


def batches(seed: int):
    """Endless pairs of ids and targets, each [ROWS, POSITIONS]."""
    generator, tokenizer = random.Random(seed), Tokenizer()
    ids: list[int] = []
    targets: list[int] = []
    size = ROWS * POSITIONS
    while True:
        while len(ids) <= size:
            for text, is_learned in document(generator):
                tokens = tokenizer.encode(text)
                ids += tokens
                targets += tokens if is_learned else [NOT_LEARNED] * len(tokens)
        yield (torch.tensor(ids[:size]).view(ROWS, POSITIONS),
               torch.tensor(targets[1:size + 1]).view(ROWS, POSITIONS))
        del ids[:size], targets[:size]


def learning_rate(step: int, done: float) -> float:
    """done: 0 to 1."""
    cosine = 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
    return (min(1, (step + 1) / WARM_UP_STEPS)
            * (LAST_LEARNING_RATE + (LEARNING_RATE - LAST_LEARNING_RATE) * cosine))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weights")
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.05)
    begin, average = time.monotonic(), None
    for step, (ids, targets) in enumerate(batches(options.seed)):
        minutes = (time.monotonic() - begin) / 60
        if minutes > options.minutes:
            break
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, minutes / options.minutes)
        loss = functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten(),
                                        ignore_index=NOT_LEARNED)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        if step % 50 == 0:
            print(f"step {step}, {minutes:.1f} minutes, {step * ROWS * POSITIONS / 1e6:.2f} million tokens, "
                  f"loss {average:.4f}", flush=True)
        if step % 500 == 499:
            torch.save(model.state_dict(), options.weights)
    torch.save(model.state_dict(), options.weights)


if __name__ == "__main__":
    main()
