#!/usr/bin/env python3
"""Writes the goldens of tests/data/prediction: models with blocks that predict further tokens. NAME.json
is as make_goldens.py writes it; NAME.logits holds, as f32, of T tokens

    the trunk's logits [T, vocab] and hidden states after its norm [T, width], then of each block b from 0
    logits [T - 1 - b, vocab] and the hidden states that it hands on [T - 1 - b, width]

computed in float64 from DeepSeek-V3's report (arXiv 2412.19437, section 2.2: row i of block b joins the
hidden state of row i of what is before it with the embedding of token i + 1 + b), and from arXiv 2405.04434
(latent attention) and 2508.06471 (GLM-4.5). What a block hands on is before its norm in DeepSeek's and
after it in the others. Needs numpy.
"""
import json
import os

import numpy as np

import decoder
import goldens
import make_goldens
from decoder import sigmoid, softmax, swiglu

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../data/prediction')
TOKENS = 24

SIGMOID = dict(expert_gating_func=2, expert_weights_norm=True, expert_weights_scale=1.5,
               expert_shared_count=1, leading_dense_block_count=1)
SSM = {'ssm.conv_kernel': 4, 'ssm.inner_size': 32, 'ssm.state_size': 8, 'ssm.time_step_rank': 4,
       'ssm.group_count': 2, 'full_attention_interval': 1}
LATENT = {'attention.head_count_kv': 1, 'attention.key_length': 32, 'attention.value_length': 24,
          'attention.key_length_mla': 20, 'attention.value_length_mla': 16,
          'attention.kv_lora_rank': 24, 'attention.q_lora_rank': 20, 'rope.dimension_count': 8}

# (name, architecture, keys, blocks, tensors that a block has of its own)
MODELS = [
    ('glm4moe', 'glm4moe',
     {**goldens.keys(layers=2), 'rope.dimension_count': 8, **goldens.experts(8, 3, 24), **SIGMOID}, 1,
     ['shared_head_norm', 'shared_head_head', 'embed_tokens']),
    ('deepseek2', 'deepseek2',
     {**goldens.keys(layers=2), **LATENT, **goldens.experts(8, 3, 24), **SIGMOID}, 2,
     ['shared_head_norm']),
    ('qwen35', 'qwen35', {**goldens.keys(layers=2), 'rope.dimension_count': 8, **SSM}, 1, []),
]


def tensors(architecture, k, blocks, own):
    def matrix(name, *shape):
        return name + '.weight', list(shape), 0.0, round(256 * 2.6 / shape[-1] ** 0.5) / 256

    def norm(name, columns):
        return name + '.weight', [columns], 1.0, 0.5

    width, heads, kv_heads = (k[name] for name in
                              ('embedding_length', 'attention.head_count', 'attention.head_count_kv'))
    size = k['attention.key_length']
    yield 'token_embd.weight', [goldens.VOCAB, width], 0.0, 1.0
    yield norm('output_norm', width)
    yield matrix('output', goldens.VOCAB, width)
    for layer in range(k['block_count'] + blocks):
        b = 'blk.%d.' % layer
        yield norm(b + 'attn_norm', width)
        if architecture == 'deepseek2':
            rank, rope = k['attention.kv_lora_rank'], k['rope.dimension_count']
            query, value, low = (k['attention.' + name] for name in
                                 ('key_length_mla', 'value_length_mla', 'q_lora_rank'))
            yield matrix(b + 'attn_q_a', low, width)
            yield norm(b + 'attn_q_a_norm', low)
            yield matrix(b + 'attn_q_b', heads * query, low)
            yield matrix(b + 'attn_kv_a_mqa', rank + rope, width)
            yield norm(b + 'attn_kv_a_norm', rank)
            yield matrix(b + 'attn_k_b', heads, rank, query - rope)
            yield matrix(b + 'attn_v_b', heads, value, rank)
            yield matrix(b + 'attn_output', width, heads * value)
        else:
            doubled = 2 if architecture == 'qwen35' else 1
            yield matrix(b + 'attn_q', doubled * heads * size, width)
            yield matrix(b + 'attn_k', kv_heads * size, width)
            yield matrix(b + 'attn_v', kv_heads * size, width)
            yield matrix(b + 'attn_output', width, heads * size)
            yield norm(b + 'attn_q_norm', size)
            yield norm(b + 'attn_k_norm', size)
            if architecture == 'glm4moe':
                for name, rows in ('attn_q', heads), ('attn_k', kv_heads), ('attn_v', kv_heads):
                    yield b + name + '.bias', [rows * size], 0.0, 0.375
        yield norm(b + ('ffn_norm' if architecture == 'deepseek2' else 'post_attention_norm'), width)
        if layer >= k.get('leading_dense_block_count', k['block_count'] + blocks):
            count, hidden = k['expert_count'], k['expert_feed_forward_length']
            yield b + 'ffn_gate_inp.weight', [count, width], 0.0, 0.75
            yield b + 'exp_probs_b.bias', [count], 0.0, 0.25
            yield matrix(b + 'ffn_gate_exps', count, hidden, width)
            yield matrix(b + 'ffn_up_exps', count, hidden, width)
            yield matrix(b + 'ffn_down_exps', count, width, hidden)
            suffix = '_shexp'
        else:
            hidden, suffix = k['feed_forward_length'], ''
        yield matrix(b + 'ffn_gate' + suffix, hidden, width)
        yield matrix(b + 'ffn_up' + suffix, hidden, width)
        yield matrix(b + 'ffn_down' + suffix, width, hidden)
        if layer >= k['block_count']:
            yield matrix(b + 'nextn.eh_proj', width, 2 * width)
            yield norm(b + 'nextn.enorm', width)
            yield norm(b + 'nextn.hnorm', width)
            if 'shared_head_norm' in own:
                yield norm(b + 'nextn.shared_head_norm', width)
            if 'shared_head_head' in own:
                yield matrix(b + 'nextn.shared_head_head', goldens.VOCAB, width)
            if 'embed_tokens' in own:
                yield b + 'nextn.embed_tokens.weight', [goldens.VOCAB, width], 0.0, 1.0


class Model(decoder.Decoder):
    def attention(self, x, block):
        if self.architecture == 'deepseek2':
            return self.latent_attention(x, block)
        k = self.keys
        heads, kv_heads, size = (k['attention.' + name] for name in
                                 ('head_count', 'head_count_kv', 'key_length'))
        tokens = len(x)
        q, gate = self.linear(x, block + 'attn_q'), None
        if self.architecture == 'qwen35':
            q = q.reshape(tokens, heads, 2, size)
            q, gate = q[:, :, 0], q[:, :, 1]
        q = self.rope(self.norm(q.reshape(tokens, heads, size), block + 'attn_q_norm'))
        key = self.linear(x, block + 'attn_k').reshape(tokens, kv_heads, size)
        key = self.rope(self.norm(key, block + 'attn_k_norm'))
        value = self.linear(x, block + 'attn_v').reshape(tokens, kv_heads, size)
        out = np.stack([self.attended(q[:, h], key[:, h * kv_heads // heads],
                                      value[:, h * kv_heads // heads]) for h in range(heads)], 1)
        if gate is not None:
            out = out * sigmoid(gate)
        return self.linear(out.reshape(tokens, -1), block + 'attn_output')

    @staticmethod
    def attended(q, key, value):
        scores = q @ key.T / np.sqrt(q.shape[-1])
        seen = np.tril(np.ones(scores.shape, bool))
        return softmax(np.where(seen, scores, -np.inf)) @ value

    def latent_attention(self, x, block):
        """Keys and values of each head are made from the latent row, as in the paper."""
        k, w = self.keys, self.weights
        heads, rope = k['attention.head_count'], k['rope.dimension_count']
        query, rank = k['attention.key_length_mla'], k['attention.kv_lora_rank']
        tokens = len(x)
        low = self.norm(self.linear(x, block + 'attn_q_a'), block + 'attn_q_a_norm')
        q = self.linear(low, block + 'attn_q_b').reshape(tokens, heads, query)
        both = self.linear(x, block + 'attn_kv_a_mqa')
        latent = self.norm(both[:, :rank], block + 'attn_kv_a_norm')
        rotated_key = self.rotated_pairs(both[:, None, rank:])[:, 0]
        rotated_query = self.rotated_pairs(q[..., query - rope:])
        out = []
        for h in range(heads):
            plain_key = latent @ w[block + 'attn_k_b.weight'][h]
            value = latent @ w[block + 'attn_v_b.weight'][h].T
            out.append(self.attended(
                np.concatenate([q[:, h, :query - rope], rotated_query[:, h]], -1),
                np.concatenate([plain_key, rotated_key], -1), value))
        return self.linear(np.concatenate(out, -1), block + 'attn_output')

    def rotated_pairs(self, x):
        """Neighbours are pairs."""
        angles, _ = self.angles(np.arange(len(x), dtype=np.float64))
        turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)[:, None]
        y = np.empty_like(x)
        y[..., 0::2], y[..., 1::2] = turned.real, turned.imag
        return y

    def experts(self, x, block):
        k, w = self.keys, self.weights
        used = k['expert_used_count']
        score = sigmoid(self.linear(x, block + 'ffn_gate_inp'))
        biased = score + w[block + 'exp_probs_b.bias']
        order = np.argsort(-biased, -1)
        ranked = np.take_along_axis(biased, order, -1)
        self.nearest_choice = min(self.nearest_choice, (ranked[:, used - 1] - ranked[:, used]).min())
        gate, up, down = (w[block + 'ffn_%s_exps.weight' % name] for name in ('gate', 'up', 'down'))
        y = self.gated(x, block, '_shexp')
        for row, of_row in enumerate(order[:, :used]):
            part = score[row, of_row]
            part = k['expert_weights_scale'] * part / part.sum()
            for expert, share in zip(of_row, part):
                y[row] += share * (down[expert] @ swiglu(gate[expert] @ x[row], up[expert] @ x[row]))
        return y

    def layer(self, x, number):
        block = 'blk.%d.' % number
        x = x + self.attention(self.norm(x, block + 'attn_norm'), block)
        norm = 'ffn_norm' if self.architecture == 'deepseek2' else 'post_attention_norm'
        normed = self.norm(x, block + norm)
        has_experts = block + 'ffn_gate_inp.weight' in self.weights
        return x + (self.experts if has_experts else self.gated)(normed, block)

    def all_values(self, tokens, blocks):
        w, count = self.weights, self.keys['block_count']
        x = w['token_embd.weight'][tokens]
        for number in range(count):
            x = self.layer(x, number)
        hidden = self.norm(x, 'output_norm')
        values = [hidden @ w['output.weight'].T, hidden]
        for b in range(blocks):
            name = 'blk.%d.nextn.' % (count + b)
            embedded = w.get(name + 'embed_tokens.weight', w['token_embd.weight'])[tokens[1 + b:]]
            both = np.concatenate([self.norm(embedded, name + 'enorm'),
                                   self.norm(hidden[:-1], name + 'hnorm')], -1)
            x = self.layer(self.linear(both, name + 'eh_proj'), count + b)
            own = name + 'shared_head_norm'
            normed = self.norm(x, own if own + '.weight' in w else 'output_norm')
            head = w.get(name + 'shared_head_head.weight', w['output.weight'])
            hidden = x if self.architecture == 'deepseek2' else normed
            values += [normed @ head.T, hidden]
        return np.concatenate([v.ravel() for v in values])


def make(name, architecture, keys, blocks, own):
    model_name = name + '_prediction'
    made = list(tensors(architecture, keys, blocks, own))
    weights = {t[0]: make_goldens.weight(model_name, *t) for t in made}
    tokens = ((make_goldens.uniform(model_name, TOKENS) + 1) / 2 * goldens.VOCAB).astype(int)
    rounded = {k: make_goldens.in_f32(v) for k, v in keys.items()}
    model = Model(architecture, rounded, weights)
    values = model.all_values(tokens, blocks)
    random = np.random.default_rng(1)
    moved = {n: v * (1 + 1e-6 * random.standard_normal(v.shape)) for n, v in weights.items()}
    moves = make_goldens.largest_relative(Model(architecture, rounded, moved).all_values(tokens, blocks),
                                          values)
    assert moves < 5e-5, moves
    assert model.nearest_choice > 1e-4, model.nearest_choice
    print('%-20s largest %.2f, moved by %.1e' % (model_name, np.abs(values).max(), moves))
    file_keys = {**keys, 'block_count': keys['block_count'] + blocks, 'nextn_predict_layers': blocks}
    prefixed = {architecture + '.' + key: value for key, value in file_keys.items()}
    values.astype('<f4').tofile(os.path.join(FOLDER, model_name + '.logits'))
    parts = {'keys': {'general.architecture': architecture, **prefixed}, 'vocab': goldens.VOCAB,
             'tokens': tokens.tolist()}
    with open(os.path.join(FOLDER, model_name + '.json'), 'w') as out:
        out.write('{\n')
        for part, value in parts.items():
            out.write(' "%s": %s,\n' % (part, json.dumps(value)))
        out.write(' "tensors": [\n  %s\n ]\n}\n' % ',\n  '.join(json.dumps(t) for t in made))


if __name__ == '__main__':
    os.makedirs(FOLDER, exist_ok=True)
    for golden in MODELS:
        make(*golden)
