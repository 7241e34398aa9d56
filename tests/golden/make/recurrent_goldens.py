#!/usr/bin/env python3
"""Writes the goldens of tests/data/golden/further whose architectures the package `transformers` lacks:
RWKV 6 and 7, alone and under Qwen's feed-forward, and PLaMo 2 and 3. Float64 in numpy, token by token,
written from the papers and the models' own code; nothing is shared with the engine but the names of keys
and tensors.

    tests/golden/make/recurrent_goldens.py [NAME ...]
"""
import json
import os
import sys

import numpy as np

from decoder import rms_norm, sigmoid, softmax, swiglu
from make_goldens import FOLDER, TOKENS, in_f32, largest_relative, uniform, weight

VOCAB = 64
GOLDENS = {}


def golden(name, keys, source, architecture=None):
    """Registers a golden; the function gives the logits [tokens, vocab] of a `Model` for tokens."""
    def register(logits):
        GOLDENS[name] = {'architecture': architecture or name, 'keys': keys, 'source': 'numpy, ' + source,
                         'logits': logits}
        return logits
    return register


class Model:
    """The tensors of a file, made when they are asked for first, and what many models do with them."""

    def __init__(self, name, keys, noise=None):
        self.name, self.keys, self.noise = 'further/' + name, keys, noise
        self.tensors, self.values = [], {}

    def get(self, tensor, *shape, centre=0.0, spread=None):
        """shape: needed when it is asked for first"""
        if tensor not in self.values:
            if spread is None:  # keeps activations near 1
                spread = round(256 * 2.6 / shape[-1] ** 0.5) / 256
            self.tensors.append((tensor, list(shape), centre, spread))
            values = weight(self.name, tensor, shape, centre, spread)
            if self.noise is not None:
                values = values * (1 + 1e-6 * self.noise.standard_normal(values.shape))
            self.values[tensor] = values
        return self.values[tensor]

    def linear(self, x, name, rows, bias=False):
        y = x @ self.get(name + '.weight', rows, x.shape[-1]).T
        return y + self.get(name + '.bias', rows, spread=0.375) if bias else y

    def scale(self, name, *shape):
        return self.get(name, *shape, centre=1.0, spread=0.5)

    def rms_norm(self, x, name, suffix='.weight'):
        return rms_norm(x, self.scale(name + suffix, x.shape[-1]),
                        self.keys['attention.layer_norm_rms_epsilon'])

    def layer_norm(self, x, name):
        return (standardised(x, self.keys['attention.layer_norm_epsilon'])
                * self.scale(name + '.weight', x.shape[-1])
                + self.get(name + '.bias', x.shape[-1], spread=0.375))

    def embedding(self, tokens):
        return self.get('token_embd.weight', VOCAB, self.keys['embedding_length'], spread=1.0)[tokens]

    def output(self, normed):
        return self.linear(normed, 'output', VOCAB)

    def gated(self, x, block):
        width = self.keys['feed_forward_length']
        hidden = swiglu(self.linear(x, block + 'ffn_gate', width), self.linear(x, block + 'ffn_up', width))
        return self.linear(hidden, block + 'ffn_down', x.shape[-1])

    def fused_gated(self, x, block):
        """One matrix of the gate's rows and then the others."""
        gate, up = np.split(self.linear(x, block + 'ffn_up', 2 * self.keys['feed_forward_length']), 2, -1)
        return self.linear(swiglu(gate, up), block + 'ffn_down', x.shape[-1])


def standardised(x, epsilon):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def token_before(x):
    return np.concatenate((np.zeros_like(x[:1]), x[:-1]))


def softplus(x):
    return np.log1p(np.exp(x))


def silu(x):
    return x * sigmoid(x)


# ---- RWKV 6: Peng et al. 2024, arXiv 2404.05892, section 4

def wkv6(r, k, v, w, bonus):
    """Each [tokens, heads, size]; bonus [heads, size], or None: gated linear attention (Yang et al. 2023,
    arXiv 2312.06635), whose token reads the state that has it already."""
    tokens, heads, size = r.shape
    out = np.zeros_like(r)
    for head in range(heads):
        state = np.zeros((size, size))  # [key, value]
        for t in range(tokens):
            added = np.outer(k[t, head], v[t, head])
            if bonus is None:
                state = w[t, head][:, None] * state + added
                out[t, head] = r[t, head] @ state / np.sqrt(size)
            else:
                out[t, head] = r[t, head] @ (state + bonus[head][:, None] * added)
                state = w[t, head][:, None] * state + added
    return out


def time_mix_6(m, x, block, qwen, fused):
    """ddlerp, the decay, and the recurrence. The mixes of files are those of w, k, v, r and g."""
    width, size = x.shape[-1], m.keys['wkv.head_size']
    rank, heads = m.keys['time_mix_extra_dim'], width // size
    change = token_before(x) - x
    first = x + change * m.get(block + 'time_mix_lerp_x.weight', width, centre=0.5, spread=0.5)
    low = np.tanh(m.linear(first, block + 'time_mix_w1', 5 * rank)).reshape(-1, 5, rank)
    moved = np.einsum('tir,iwr->itw', low, m.get(block + 'time_mix_w2.weight', 5, width, rank, spread=0.5))
    if fused:
        mixes = m.get(block + 'time_mix_lerp_fused.weight', 5, 1, 1, width, centre=0.5, spread=0.5)
    else:
        mixes = np.stack([m.get(block + 'time_mix_lerp_%s.weight' % i, width, centre=0.5, spread=0.5)
                          for i in 'wkvrg'])
    xw, xk, xv, xr, xg = x + change * (mixes.reshape(5, 1, width) + moved)

    kv_heads = m.keys.get('attention.head_count_kv', heads)
    r = m.linear(xr, block + 'time_mix_receptance', width, bias=qwen).reshape(-1, heads, size)
    k, v = (np.repeat(m.linear(of, block + name, kv_heads * size, bias=qwen).reshape(-1, kv_heads, size),
                      heads // kv_heads, axis=1)
            for of, name in ((xk, 'time_mix_key'), (xv, 'time_mix_value')))
    gate = m.linear(xg, block + 'time_mix_gate', width)
    low = np.tanh(m.linear(xw, block + 'time_mix_decay_w1', m.keys['time_decay_extra_dim']))
    decay = (m.get(block + 'time_mix_decay.weight', width, centre=-1.0, spread=1.5)
             + m.linear(low, block + 'time_mix_decay_w2', width))
    w = np.exp(-np.exp(decay)).reshape(-1, heads, size)
    if qwen:
        out = wkv6(r, k * (1 - w), v, w, None).reshape(x.shape) * sigmoid(gate)
    else:
        out = wkv6(r, k, v, w, m.get(block + 'time_mix_first.weight', heads, size, spread=0.75))
        out = (standardised(out, 64e-5).reshape(x.shape) * m.scale(block + 'time_mix_ln.weight', width)
               + m.get(block + 'time_mix_ln.bias', width, spread=0.375)) * silu(gate)
    return m.linear(out, block + 'time_mix_output', width)


def channel_mix(m, x, block, gated):
    width = x.shape[-1]
    change = token_before(x) - x

    def mixed(name):
        return x + change * m.get(block + 'channel_mix_lerp_%s.weight' % name, width, centre=0.5, spread=0.5)

    key = np.maximum(m.linear(mixed('k'), block + 'channel_mix_key', m.keys['feed_forward_length']), 0) ** 2
    value = m.linear(key, block + 'channel_mix_value', width)
    return sigmoid(m.linear(mixed('r'), block + 'channel_mix_receptance', width)) * value if gated else value


RWKV6 = {'block_count': 4, 'context_length': 256, 'embedding_length': 32, 'feed_forward_length': 48,
         'attention.layer_norm_epsilon': 1e-5, 'attention.head_count': 0, 'wkv.head_size': 8,
         'time_mix_extra_dim': 4, 'time_decay_extra_dim': 6, 'rescale_every_n_layers': 2}


def rwkv6(fused):
    def logits(m, tokens):
        x = m.layer_norm(m.embedding(tokens), 'token_embd_norm')
        for layer in range(m.keys['block_count']):
            block = 'blk.%d.' % layer
            x = x + time_mix_6(m, m.layer_norm(x, block + 'attn_norm'), block, False, fused)
            x = x + channel_mix(m, m.layer_norm(x, block + 'attn_norm_2'), block, True)
            if (layer + 1) % m.keys['rescale_every_n_layers'] == 0:
                x = x / 2
        return m.output(m.layer_norm(x, 'output_norm'))
    return logits


golden('rwkv6', RWKV6, "from the paper and RWKV's code")(rwkv6(True))
golden('rwkv6_separate', RWKV6, "from the paper and RWKV's code", 'rwkv6')(rwkv6(False))


# Each head of keys and values is shared by three.
@golden('rwkv6qwen2', {'block_count': 2, 'context_length': 256, 'embedding_length': 48, 'feed_forward_length': 40,
                       'attention.layer_norm_rms_epsilon': 1e-5, 'attention.head_count': 0,
                       'attention.head_count_kv': 2, 'wkv.head_size': 8, 'time_mix_extra_dim': 4,
                       'time_decay_extra_dim': 6, 'token_shift_count': 1}, "from Recursal's code of QRWKV6")
def rwkv6qwen2(m, tokens):
    x = m.embedding(tokens)
    for layer in range(m.keys['block_count']):
        block = 'blk.%d.' % layer
        x = x + time_mix_6(m, m.rms_norm(x, block + 'attn_norm'), block, True, True)
        x = x + m.gated(m.rms_norm(x, block + 'ffn_norm'), block)
    return m.output(m.rms_norm(x, 'output_norm'))


# ---- RWKV 7: Peng et al. 2025, arXiv 2503.14456, section 4

def wkv7(r, w, k, v, a, b):
    """Each [tokens, heads, size]."""
    tokens, heads, size = r.shape
    out = np.zeros_like(r)
    for head in range(heads):
        state = np.zeros((size, size))  # [value, key]
        for t in range(tokens):
            state = (state * w[t, head] + np.outer(state @ a[t, head], b[t, head])
                     + np.outer(v[t, head], k[t, head]))
            out[t, head] = state @ r[t, head]
    return out


def time_mix_7(m, x, block, first_values):
    """first_values: those of the first layer, or None in it. The mixes are those of r, w, k, v, a and g."""
    width, size = x.shape[-1], m.keys['wkv.head_size']
    gate_rank = m.keys.get('attention.gate_lora_rank', 0)
    has_norm = gate_rank > 0  # in these goldens
    change = token_before(x) - x
    mixes = 6 if gate_rank else 5
    lerp = m.get(block + 'time_mix_lerp_fused.weight', mixes, 1, 1, width, centre=0.5, spread=0.5)
    mixed = dict(zip('rwkvag', x + change * lerp.reshape(mixes, 1, width)))

    def low_rank(of, stem, rank, middle=lambda low: low, biased=True):
        low = middle(m.linear(mixed[of], block + stem + '1', rank))
        y = m.linear(low, block + stem + '2', width)
        return y + m.get(block + stem + '0.weight', width, spread=0.75) if biased else y

    r = m.linear(mixed['r'], block + 'time_mix_receptance', width)
    w = np.exp(-np.exp(-0.5) * sigmoid(low_rank('w', 'time_mix_w', m.keys['attention.decay_lora_rank'], np.tanh)))
    k = m.linear(mixed['k'], block + 'time_mix_key', width)
    v = m.linear(mixed['v'], block + 'time_mix_value', width)
    if first_values is None:
        first_values = v
    else:
        v = v + (first_values - v) * sigmoid(
            low_rank('v', 'time_mix_v', m.keys['attention.value_residual_mix_lora_rank']))
    a = sigmoid(low_rank('a', 'time_mix_a', m.keys['attention.iclr_lora_rank']))

    def heads(y):
        return y.reshape(len(y), -1, size)

    unit = heads(k * m.scale(block + 'time_mix_k_k.weight', width))
    unit = unit / np.sqrt((unit * unit).sum(-1, keepdims=True))
    k = k * (1 + (a - 1) * m.scale(block + 'time_mix_k_a.weight', width))
    out = wkv7(*(heads(y) for y in (r, w, k, v)), -unit, unit * heads(a))
    if has_norm:
        out = standardised(out, 64e-5).reshape(x.shape) * m.scale(block + 'time_mix_ln.weight', width)
        out = heads(out + m.get(block + 'time_mix_ln.bias', width, spread=0.375))
    match = (heads(r) * heads(k) * heads(m.scale(block + 'time_mix_r_k.weight', width)[None])).sum(-1)
    out = (out + match[..., None] * heads(v)).reshape(x.shape)
    if gate_rank:
        out = out * low_rank('g', 'time_mix_g', gate_rank, sigmoid, biased=False)
    return m.linear(out, block + 'time_mix_output', width), first_values


WKV7 = {'block_count': 3, 'context_length': 256, 'embedding_length': 32, 'feed_forward_length': 40,
        'attention.head_count': 0, 'wkv.head_size': 8, 'attention.decay_lora_rank': 6,
        'attention.iclr_lora_rank': 4, 'attention.value_residual_mix_lora_rank': 5}


@golden('rwkv7', {**WKV7, 'attention.layer_norm_epsilon': 1e-5, 'attention.gate_lora_rank': 7},
        "from the paper and RWKV's code")
def rwkv7(m, tokens):
    x, values = m.layer_norm(m.embedding(tokens), 'token_embd_norm'), None
    for layer in range(m.keys['block_count']):
        block = 'blk.%d.' % layer
        y, values = time_mix_7(m, m.layer_norm(x, block + 'attn_norm'), block, values)
        x = x + y
        x = x + channel_mix(m, m.layer_norm(x, block + 'attn_norm_2'), block, False)
    return m.output(m.layer_norm(x, 'output_norm'))


def arwkv7(m, tokens):
    x, values = m.embedding(tokens), None
    for layer in range(m.keys['block_count']):
        block = 'blk.%d.' % layer
        y, values = time_mix_7(m, m.rms_norm(x, block + 'attn_norm'), block, values)
        x = x + y
        x = x + m.gated(m.rms_norm(x, block + 'ffn_norm'), block)
    return m.output(m.rms_norm(x, 'output_norm'))


ARWKV7 = {**WKV7, 'attention.layer_norm_rms_epsilon': 1e-5, 'token_shift_count': 1}
golden('arwkv7', {**ARWKV7, 'attention.gate_lora_rank': 7}, "from ARWKV's code")(arwkv7)
golden('arwkv7_bare', {**ARWKV7, 'attention.gate_lora_rank': 0}, "from ARWKV's code, without gate and head norm",
       'arwkv7')(arwkv7)


# ---- PLaMo 2 and 3, from the models' own code

def rotated(x, theta):
    """x [tokens, heads, size]: value i and value i + size / 2 are a pair."""
    half = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), -1)


def plamo_attention(m, x, block, heads, kv_heads, norm_of_heads, theta, window=None):
    """One matrix for queries, keys and values; norms of queries and keys, then the rotation."""
    size = m.keys['attention.key_length']
    qkv = m.linear(x, block + 'attn_qkv', (heads + 2 * kv_heads) * size).reshape(len(x), -1, size)
    q, k, v = np.split(qkv, [heads, heads + kv_heads], axis=1)

    def normed(y, name):
        shape = (y.shape[1], size) if norm_of_heads else (size,)
        return rms_norm(y, m.scale(block + name + '.weight', *shape), m.keys['attention.layer_norm_rms_epsilon'])

    q, k = rotated(normed(q, 'attn_q_norm'), theta), rotated(normed(k, 'attn_k_norm'), theta)
    back = np.arange(len(x))[:, None] - np.arange(len(x))[None, :]
    seen = (back >= 0) & (back < (window or len(x)))
    out = []
    for head in range(heads):
        of = head // (heads // kv_heads)
        out.append(softmax(np.where(seen, q[:, head] @ k[:, of].T / np.sqrt(size), -np.inf)) @ v[:, of])
    return m.linear(np.concatenate(out, -1), block + 'attn_output', x.shape[-1])


def plamo_layer(m, x, block, mixer):
    x = x + m.rms_norm(mixer(m.rms_norm(x, block + 'attn_norm')), block + 'post_attention_norm', '')
    return x + m.rms_norm(m.fused_gated(m.rms_norm(x, block + 'ffn_norm'), block), block + 'post_ffw_norm', '')


def plamo2_mamba(m, x, block):
    inner, heads, state, taps = (m.keys['ssm.' + name] for name in
                                 ('inner_size', 'time_step_rank', 'state_size', 'conv_kernel'))
    rank, size = max(64, x.shape[-1] // 16), inner // heads
    zx = m.linear(x, block + 'ssm_in', 2 * inner).reshape(len(x), heads, 2, size)
    z, u = (zx[:, :, part].reshape(len(x), inner) for part in (0, 1))
    padded = np.concatenate((np.zeros((taps - 1, inner)), u))
    filters = m.get(block + 'ssm_conv1d.weight', inner, taps, spread=0.75)
    u = silu(sum(filters[:, i] * padded[i:i + len(x)] for i in range(taps)))
    b, c, dt = np.split(m.linear(u, block + 'ssm_x', rank + 2 * state), [state, 2 * state], axis=-1)
    b, c, dt = (m.rms_norm(y, block + name, '') for y, name in
                ((b, 'ssm_b_norm'), (c, 'ssm_c_norm'), (dt, 'ssm_dt_norm')))
    dt = softplus(m.linear(dt, block + 'ssm_dt', heads, bias=True))
    a = m.get(block + 'ssm_a', heads, centre=-1.0, spread=0.75)
    skip = m.scale(block + 'ssm_d', heads)
    u = u.reshape(len(x), heads, size)
    y = np.zeros_like(u)
    for head in range(heads):
        kept = np.zeros((size, state))
        for t in range(len(x)):
            kept = np.exp(dt[t, head] * a[head]) * kept + dt[t, head] * np.outer(u[t, head], b[t])
            y[t, head] = kept @ c[t] + skip[head] * u[t, head]
    return m.linear(y.reshape(len(x), inner) * silu(z), block + 'ssm_out', x.shape[-1])


@golden('plamo2', {'block_count': 4, 'context_length': 256, 'embedding_length': 32, 'feed_forward_length': 40,
                   'attention.head_count': [0, 4, 0, 4], 'attention.head_count_kv': [0, 2, 0, 2],
                   'attention.key_length': 8, 'attention.value_length': 8,
                   'attention.layer_norm_rms_epsilon': 1e-6, 'rope.freq_base': 10000.0, 'ssm.state_size': 6,
                   'ssm.conv_kernel': 4, 'ssm.time_step_rank': 6, 'ssm.inner_size': 48, 'ssm.group_count': 0},
        'from the code of PLaMo 2')
def plamo2(m, tokens):
    x = m.embedding(tokens)
    for layer in range(m.keys['block_count']):
        block = 'blk.%d.' % layer
        heads = m.keys['attention.head_count'][layer]
        x = plamo_layer(m, x, block, lambda y: plamo2_mamba(m, y, block) if heads == 0 else plamo_attention(
            m, y, block, heads, m.keys['attention.head_count_kv'][layer], True, m.keys['rope.freq_base']))
    return m.rms_norm(x, 'output_norm') @ m.get('token_embd.weight').T


@golden('plamo3', {'block_count': 4, 'context_length': 256, 'embedding_length': 32, 'feed_forward_length': 40,
                   'attention.head_count': 4, 'attention.head_count_kv': 2, 'attention.key_length': 16,
                   'attention.value_length': 16, 'attention.layer_norm_rms_epsilon': 1e-6,
                   'rope.freq_base': 1000.0, 'rope.freq_base_swa': 100.0, 'attention.sliding_window': 9,
                   'attention.sliding_window_pattern': 2}, 'from the code of PLaMo 3')
def plamo3(m, tokens):
    x = m.embedding(tokens)
    for layer in range(m.keys['block_count']):
        block = 'blk.%d.' % layer
        slides = layer % 2 == 0
        x = plamo_layer(m, x, block, lambda y: plamo_attention(
            m, y, block, 4, 2, False, m.keys['rope.freq_base_swa' if slides else 'rope.freq_base'],
            m.keys['attention.sliding_window'] if slides else None))
    return m.output(m.rms_norm(x, 'output_norm'))


def make(name, one):
    tokens = ((uniform('further/' + name, TOKENS) + 1) / 2 * VOCAB).astype(int)
    keys = {key: in_f32(value) for key, value in one['keys'].items()}
    model = Model(name, keys)
    logits = one['logits'](model, tokens)
    # A golden must not sit on the fence of a value that rounding could turn.
    moves = largest_relative(one['logits'](Model(name, keys, np.random.default_rng(1)), tokens), logits)
    size = sum(int(np.prod(shape)) for _, shape, _, _ in model.tensors) * 4
    print('%-20s %6.1f kB, largest %.2f, moved by %.1e' % (name, size / 1e3, np.abs(logits).max(), moves))
    assert moves < 1e-4 and size < 300000 and np.isfinite(logits).all()
    path = os.path.join(FOLDER, 'further', name)
    logits.astype('<f4').tofile(path + '.logits')
    prefixed = {one['architecture'] + '.' + key: value for key, value in keys.items()}
    parts = {'keys': {'general.architecture': one['architecture'], **prefixed}, 'vocab': VOCAB,
             'tokens': tokens.tolist(), 'source': one['source']}
    with open(path + '.json', 'w') as out:
        out.write('{\n')
        for part, value in parts.items():
            out.write(' "%s": %s,\n' % (part, json.dumps(value)))
        out.write(' "tensors": [\n  %s\n ]\n}\n' % ',\n  '.join(json.dumps(t) for t in model.tensors))


if __name__ == '__main__':
    for name, one in GOLDENS.items():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, one)
