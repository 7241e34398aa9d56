#!/usr/bin/env python3
"""Writes the goldens of tests/data/golden: for each model of goldens.py NAME.json, which says what it
is made of, and NAME.logits, what it must answer (little-endian f32 [tokens, vocab]), computed in
float64 by decoder.py or a module of the model's own. Needs numpy.

    tests/golden/make/make_goldens.py [NAME ...]

The weights are not stored: tests/golden/golden_model.h makes the same from names and shapes.
"""
import json
import os
import sys

import numpy as np

import decoder
import goldens
import kimi_k3

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../data/golden')
# More than fill a block of the KV cache.
TOKENS = 40


def name_seed(text):
    """FNV-1a, 64 bits."""
    seed = 0xcbf29ce484222325
    for byte in text.encode():
        seed = (seed ^ byte) * 0x100000001b3 % 2**64
    return seed


def uniform(name, count):
    """`count` multiples of 2^-23 in [-1, 1): the upper 24 bits of SplitMix64, seeded by a name."""
    with np.errstate(over='ignore'):
        z = np.uint64(name_seed(name)) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(
            0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(40)).astype(np.int64) - 2**23) / 2.0**23


def weight(model, name, shape, centre, spread):
    """f32 values, as float64."""
    values = centre + spread * uniform(model + '/' + name, int(np.prod(shape)))
    return values.astype(np.float32).astype(np.float64).reshape(shape)


def in_f32(value):
    return float(np.float32(value)) if isinstance(value, float) else value


def largest_relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def check(name, architecture, model, weights, tokens, logits):
    """A golden must not sit on the fence: rounding may not decide which expert is chosen."""
    random = np.random.default_rng(1)
    moved = {n: w * (1 + 1e-6 * random.standard_normal(w.shape)) for n, w in weights.items()}
    other = type(model)(architecture, model.keys, moved).logits(tokens)
    moves = largest_relative(other, logits)
    assert moves < 5e-5, '%s: weights that differ by 1e-6 move logits by %g' % (name, moves)
    assert model.nearest_choice > 1e-3, '%s: two experts differ by %g' % (name, model.nearest_choice)
    return moves


def make(name, architecture, keys, tensors, model_class=decoder.Decoder):
    weights = {tensor[0]: weight(name, *tensor) for tensor in tensors}
    tokens = ((uniform(name, TOKENS) + 1) / 2 * goldens.VOCAB).astype(int)
    model = model_class(architecture, {k: in_f32(v) for k, v in keys.items()}, weights)
    logits = model.logits(tokens)
    moves = check(name, architecture, model, weights, tokens, logits)
    print('%-20s largest logit %.2f, moved by %.1e' % (name, np.abs(logits).max(), moves))
    logits.astype('<f4').tofile(os.path.join(FOLDER, name + '.logits'))
    prefixed = {architecture + '.' + key: value for key, value in keys.items()}
    parts = {'keys': {'general.architecture': architecture, **prefixed}, 'vocab': goldens.VOCAB,
             'tokens': tokens.tolist(), 'tensors': tensors}
    with open(os.path.join(FOLDER, name + '.json'), 'w') as out:
        out.write('{\n')
        for part in ('keys', 'vocab', 'tokens'):
            out.write(' "%s": %s,\n' % (part, json.dumps(parts[part])))
        out.write(' "tensors": [\n  %s\n ]\n}\n' % ',\n  '.join(json.dumps(t) for t in tensors))


if __name__ == '__main__':
    wanted = [(name, architecture, keys, list(goldens.tensors(keys, parts)))
              for name, architecture, keys, parts in goldens.MODELS]
    wanted.append(('kimi-k3', 'kimi-k3', kimi_k3.KEYS, list(kimi_k3.tensors()), kimi_k3.Decoder))
    for golden in wanted:
        if len(sys.argv) == 1 or golden[0] in sys.argv[1:]:
            make(*golden)
