#!/usr/bin/env python3
"""Writes the goldens of tests/data/golden/further of Maple, Spark X2.5 and Nanbeige 4.2, as
recurrent_goldens.py does: float64 in numpy. No code of these models but llama.cpp's was at hand; the
formulas are those of its graphs, and its logits of the same files differ by less than 4e-6 (Spark X2.5:
7e-4, by its table of GELU).

    tests/golden/make/window_goldens.py [NAME ...]
"""
import sys

import numpy as np

import recurrent_goldens
from decoder import sigmoid, softmax
from recurrent_goldens import golden, make, silu

recurrent_goldens.GOLDENS.clear()


def keys(layers, **more):
    return {'block_count': layers, 'context_length': 256, 'embedding_length': 32, 'feed_forward_length': 40,
            'attention.head_count': 4, 'attention.head_count_kv': 2, 'attention.key_length': 16,
            'attention.value_length': 16, 'attention.layer_norm_rms_epsilon': 1e-5, 'rope.freq_base': 1000.0,
            **{name.replace('__', '.'): value for name, value in more.items()}}


def rotated(x, dims, theta, adjacent=False):
    """x [tokens, heads, size], whose first `dims` values turn."""
    angles = np.arange(len(x))[:, None] * theta ** (-2.0 * np.arange(dims // 2) / dims)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    i = np.arange(dims // 2)
    first, second = (2 * i, 2 * i + 1) if adjacent else (i, i + dims // 2)
    y = x.copy()
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., first] * sin + x[..., second] * cos
    return y


def attended(m, x, block, turn, window=0, normed=False):
    """[tokens, heads * size]; turn: of queries and keys"""
    tokens, heads, kv_heads, size = len(x), 4, 2, 16
    q = m.linear(x, block + 'attn_q', heads * size).reshape(tokens, heads, size)
    k = m.linear(x, block + 'attn_k', kv_heads * size).reshape(tokens, kv_heads, size)
    v = m.linear(x, block + 'attn_v', kv_heads * size).reshape(tokens, kv_heads, size)
    if normed:
        q, k = m.rms_norm(q, block + 'attn_q_norm'), m.rms_norm(k, block + 'attn_k_norm')
    q, k = turn(q), turn(k)
    back = np.arange(tokens)[:, None] - np.arange(tokens)
    seen = (back >= 0) & ((back < window) | (window == 0))
    out = []
    for head in range(heads):
        scores = np.where(seen, q[:, head] @ k[:, head // 2].T / np.sqrt(size), -np.inf)
        out.append(softmax(scores) @ v[:, head // 2])
    return np.concatenate(out, -1)


WINDOWS = [True, True, False, True]


@golden('maple', {**keys(4, attention__sliding_window=9, attention__sliding_window_pattern=WINDOWS,
                         rope__dimension_count=8, expert_count=6, expert_used_count=3,
                         expert_feed_forward_length=16, swiglu_clamp_exp=[0.75] * 4)},
        'from the graph of llama.cpp')
def maple(m, tokens):
    x = m.embedding(tokens)
    for layer, slides in enumerate(WINDOWS):
        block = 'blk.%d.' % layer
        y = m.rms_norm(x, block + 'attn_norm')
        turn = (lambda z: rotated(z, 8, m.keys['rope.freq_base'])) if slides else (lambda z: z)
        x = x + m.linear(attended(m, y, block, turn, 9 if slides else 0, True), block + 'attn_output', 32)
        y = m.rms_norm(x, block + 'ffn_norm')
        share = softmax(y @ m.get(block + 'ffn_gate_inp.weight', 6, 32, spread=0.75).T)
        gate, up = (m.get(block + 'ffn_%s_exps.weight' % name, 6, 16, 32) for name in ('gate', 'up'))
        down = m.get(block + 'ffn_down_exps.weight', 6, 32, 16)
        for row in range(len(x)):
            best = np.argsort(-share[row])[:3]
            for expert in best:
                hidden = (silu(np.minimum(gate[expert] @ y[row], 0.75))
                          * np.clip(up[expert] @ y[row], -0.75, 0.75))
                x[row] += share[row, expert] / share[row, best].sum() * (down[expert] @ hidden)
    return m.output(m.rms_norm(x, 'output_norm'))


def gelu(x):
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x ** 3)))


@golden('spark2_5', {**keys(4, attention__sliding_window=9, attention__sliding_window_pattern=WINDOWS,
                            rope__freq_base_swa=100.0, rope__dimension_count=8, rope__dimension_count_swa=12)},
        'from the graph of llama.cpp')
def spark2_5(m, tokens):
    x = m.embedding(tokens)
    for layer, slides in enumerate(WINDOWS):
        block = 'blk.%d.' % layer
        y = m.rms_norm(x, block + 'attn_norm')
        dims, theta = (12, m.keys['rope.freq_base_swa']) if slides else (8, m.keys['rope.freq_base'])
        heads = attended(m, y, block, lambda z: rotated(z, dims, theta), 9 if slides else 0).reshape(-1, 4, 16)
        heads = heads * sigmoid(m.linear(y, block + 'attn_gate', 4))[..., None]
        x = x + m.linear(heads.reshape(-1, 64), block + 'attn_output', 32)
        y = m.rms_norm(x, block + 'ffn_norm')
        hidden = gelu(m.linear(y, block + 'ffn_gate', 40)) * m.linear(y, block + 'ffn_up', 40)
        x = x + m.linear(hidden, block + 'ffn_down', 32)
    return m.output(m.rms_norm(x, 'output_norm'))


def nanbeige(m, tokens):
    x = m.embedding(tokens)
    for loop in range(2):
        if loop > 0 and not m.keys.get('skip_loop_final_norm'):
            x = m.rms_norm(x, 'output_norm')
        for layer in range(2):
            block = 'blk.%d.' % layer
            y = m.rms_norm(x, block + 'attn_norm')
            turn = lambda z: rotated(z, 16, m.keys['rope.freq_base'], True)
            x = x + m.linear(attended(m, y, block, turn), block + 'attn_output', 32)
            x = x + m.gated(m.rms_norm(x, block + 'ffn_norm'), block)
    return m.output(m.rms_norm(x, 'output_norm'))


golden('nanbeige', keys(2, num_loops=2), 'from the graph of llama.cpp')(nanbeige)
golden('nanbeige_skip', keys(2, num_loops=2, skip_loop_final_norm=True), 'from the graph of llama.cpp',
       architecture='nanbeige')(nanbeige)


if __name__ == '__main__':
    for name, one in recurrent_goldens.GOLDENS.items():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, one)
