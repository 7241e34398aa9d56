#!/usr/bin/env python3
"""Writes goldens of tests/data/golden and its folders whose logits the models' own implementations in
the Python package `transformers` give, in float64. Needs numpy, torch and transformers; made with
torch 2.15.0 and transformers 5.23.0 or 5.24.0 on Python 3.11. If the package has no class for an
architecture, one that computes the same formulas stands in; "source" in the file says which.

    tests/golden/make/make_transformers_goldens.py [NAME ...]

The weights are those that make_goldens.py and golden_model.h make from names and shapes. The modules
of families/ say which parameter of the package each tensor of a file is.
"""
import importlib
import json
import os
import sys

import numpy as np
import torch

# Computes in f64 even where the package chooses f32 for speed.
torch.set_default_dtype(torch.float64)
torch.float32 = torch.float = torch.float64
torch.Tensor.float = torch.Tensor.double

import blocks  # noqa: E402 after the types
from make_goldens import FOLDER, TOKENS, in_f32, largest_relative, uniform, weight  # noqa: E402


class Filler:
    """Fills the parameters of a model, which are NaN until then, tensor by tensor of a file."""

    def __init__(self, name, model):
        self.name, self.parameters, self.tensors, self.noise = name, dict(model.named_parameters()), [], None
        self.parameters.update(model.named_buffers())
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(float('nan'))

    def put(self, tensor, target, centre=0.0, spread=None, shape=None, change=lambda values: values):
        """tensor   its name in the file
        target   the parameter, or a view of a part of it
        spread   of its values around the centre; else one that keeps activations near 1
        shape    in the file, else the target's
        change   from the file's values, of the target's shape, to the parameter's"""
        if isinstance(target, str):
            target = self.parameters[target]
        shape = list(shape or target.shape)
        if spread is None:
            spread = round(256 * 2.6 / shape[-1] ** 0.5) / 256
        self.tensors.append((tensor, shape, centre, spread))
        values = weight(self.name, tensor, shape, centre, spread)
        if self.noise is not None:
            values = values * (1 + 1e-6 * self.noise.standard_normal(values.shape))
        with torch.no_grad():
            target.copy_(change(torch.from_numpy(values).reshape(target.shape)))

    def numbers(self, tensor, target, count):
        """Whole numbers below count, as i32 in the file."""
        if isinstance(target, str):
            target = self.parameters[target]
        shape, centre, spread = list(target.shape), (count - 1) / 2, (count - 1) / 2 + 0.25
        self.tensors.append((tensor, shape, centre, spread, 'i32'))
        values = np.round(weight(self.name, tensor, shape, centre, spread))
        target.copy_(torch.from_numpy(values).reshape(target.shape))

    def norm(self, tensor, target, change=lambda values: values):
        self.put(tensor, target, 1.0, 0.5, change=change)


def as_json(value):
    """Minus infinity, which JSON lacks, is null."""
    if isinstance(value, list):
        return [as_json(one) for one in value]
    return None if value == -np.inf else in_f32(value)


def logits_of(golden, name, tokens, noise=None):
    """([tokens, vocab] or [width], the tensors)"""
    model = golden['model']().double().eval()
    model.set_experts_implementation('eager')
    filler = Filler(name, model)
    filler.noise = noise
    golden['fill'](filler)
    with torch.no_grad():
        out = golden.get('run', lambda of, ids: of(ids, use_cache=False).logits)(model, torch.tensor([tokens]))
    return out[0].double().numpy(), filler.tensors


def make(name, golden):
    tokens = ((uniform(name, golden.get('tokens', TOKENS)) + 1) / 2 * golden['vocab']).astype(int).tolist()
    logits, tensors = logits_of(golden, name, tokens)
    assert np.isfinite(logits).all(), '%s: a parameter was not filled' % name
    # A golden must not sit on the fence: rounding, 6e-8 of a value, may not decide what is chosen.
    moves = largest_relative(logits_of(golden, name, tokens, np.random.default_rng(1))[0], logits)
    size = sum(int(np.prod(tensor[1])) for tensor in tensors) * 4
    print('%-20s %6.1f kB, largest %.2f, moved by %.1e' % (name, size / 1e3, np.abs(logits).max(), moves))
    assert moves < 1e-4, '%s: weights that differ by 1e-6 move logits by %g' % (name, moves)
    assert size < 300000, '%s: the model has %d bytes' % (name, size)
    logits.astype('<f4').tofile(os.path.join(FOLDER, name + '.logits'))
    architecture = golden['architecture']
    keys = {architecture + '.' + key: as_json(value) for key, value in golden['keys'].items()}
    parts = {'keys': {'general.architecture': architecture, **keys}, 'vocab': golden['vocab'],
             'tokens': tokens, **golden.get('more', {})}
    with open(os.path.join(FOLDER, name + '.json'), 'w') as out:
        out.write('{\n')
        for part, value in parts.items():
            out.write(' "%s": %s,\n' % (part, json.dumps(value)))
        out.write(' "tensors": [\n  %s\n ]\n}\n' % ',\n  '.join(json.dumps(t) for t in tensors))


if __name__ == '__main__':
    for folder in ('further', 'encoder_decoder'):
        os.makedirs(os.path.join(FOLDER, folder), exist_ok=True)
    for family in sorted(os.listdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'families'))):
        if family.endswith('.py'):
            importlib.import_module('families.' + family.removesuffix('.py'))
    for name, golden in blocks.GOLDENS.items():
        if len(sys.argv) == 1 or name in sys.argv[1:] or name.split('/')[-1] in sys.argv[1:]:
            make(name, golden)
