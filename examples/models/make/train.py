"""Trains the demo model on the CPU and writes its weights.

    train.py WEIGHTS [--minutes 40] [--threads 2] [--seed 42] [--begin FILE.gguf]

Rows of a batch begin with a document, and further documents follow. The loss counts what the model
says: answers, tool calls and stories, not the questions. Matrices are multiplied in bfloat16 and
kept in float32. --begin goes on from the weights of a GGUF file.
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

TOKENS = 4096  # of a step
POSITIONS = (256,) * 9 + (1024,)  # of the rows of a step, in turn
LEARNING_RATE, LAST_LEARNING_RATE, WARM_UP_STEPS = 2e-3, 2e-5, 60


def batches(seed: int):
    """Endless ids, targets and weights of the targets, each [rows, positions]."""
    generator, tokenizer = random.Random(seed), Tokenizer()
    step = 0
    while True:
        positions = POSITIONS[step % len(POSITIONS)]
        all_ids, all_targets, all_weights = [], [], []
        for _ in range(TOKENS // positions):
            ids: list[int] = []
            weights: list[float] = []
            while len(ids) <= positions:
                for text, weight in document(generator):
                    tokens = tokenizer.encode(text)
                    ids += tokens
                    weights += [weight] * len(tokens)
            all_ids.append(ids[:positions])
            all_targets.append(ids[1:positions + 1])
            all_weights.append(weights[1:positions + 1])
        yield torch.tensor(all_ids), torch.tensor(all_targets), torch.tensor(all_weights)
        step += 1


def learning_rate(step: int, done: float) -> float:
    """done: 0 to 1."""
    cosine = 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
    return (min(1, (step + 1) / WARM_UP_STEPS)
            * (LAST_LEARNING_RATE + (LEARNING_RATE - LAST_LEARNING_RATE) * cosine))


def weights_of_gguf(path: str) -> dict[str, torch.Tensor]:
    import gguf
    from gguf.quants import dequantize
    return {tensor.name.replace("blk.", "layers."):
            torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
            for tensor in gguf.GGUFReader(path).tensors}


def optimizers(model: Model) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the rest."""
    matrices = [parameter for parameter in model.layers.parameters() if parameter.dim() == 2]
    others = [parameter for name, parameter in model.named_parameters()
              if parameter.dim() == 1 or name.startswith("token_embd")]
    return [torch.optim.Muon(matrices, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.01)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weights")
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--begin", metavar="FILE.gguf")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    model = Model()
    if options.begin:
        model.load_state_dict(weights_of_gguf(options.begin), strict=False)
    both = optimizers(model)
    for layer in model.layers:
        layer.compile(dynamic=False)
    begin, average = time.monotonic(), None
    for step, (ids, targets, weights) in enumerate(batches(options.seed)):
        minutes = (time.monotonic() - begin) / 60
        if minutes > options.minutes:
            break
        for optimizer in both:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, minutes / options.minutes)
        is_learned = weights > 0
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(ids, is_learned)
        losses = functional.cross_entropy(logits.float(), targets[is_learned], reduction="none")
        loss = (losses * weights[is_learned]).sum() / weights.sum()
        for optimizer in both:
            optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in both:
            optimizer.step()
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        if step % 25 == 0:
            print(f"step {step}, {minutes:.1f} minutes, {step * TOKENS / 1e6:.2f} million tokens, "
                  f"loss {average:.4f}", flush=True)
        if step % 250 == 249:
            torch.save(model.state_dict(), options.weights)
    torch.save(model.state_dict(), options.weights)


if __name__ == "__main__":
    main()
