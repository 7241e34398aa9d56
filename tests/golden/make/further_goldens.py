#!/usr/bin/env python3
"""Writes the goldens of tests/data/golden/further, as make_transformers_goldens.py does: of each
architecture of llama.cpp's long tail a tiny model and the logits that an implementation of the Python
package `transformers` gives in float64. Where the package has no class of the name, one that computes the
same formulas stands in, or is put together from its parts; "source" in the file says which.

    tests/golden/make/further_goldens.py [NAME ...]
"""
import os
import sys

import torch
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Config, DeepseekV2Moe
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer

import make_transformers_goldens as maker
import transformers_goldens
from transformers_goldens import (adjacent, attention, base_keys, ends, expert_keys, experts, gated, golden,
                                  layer_norms, of, YARN, YARN_KEYS)

transformers_goldens.GOLDENS.clear()
ROPE = {'rope_type': 'default', 'rope_theta': 10000.0}


def further(name, keys, model, source, **more):
    """A golden named as its architecture; source: the class of the package."""
    return golden('further/' + name, more.pop('architecture', name), keys, model,
                  more={'source': 'transformers ' + source}, **more)


def layer_keys(*arguments, **more):
    """base_keys with the epsilon of layer norms."""
    keys = base_keys(*arguments)
    keys['attention.layer_norm_epsilon'] = keys.pop('attention.layer_norm_rms_epsilon')
    return {**keys, **more}


def biased_norm(m, tensor, target):
    m.norm(tensor + '.weight', target + '.weight')
    m.put(tensor + '.bias', target + '.bias', spread=0.375)


def linear(m, tensor, target, transposed=False):
    """A matrix and, where the parameter has one, its bias."""
    weight = m.parameters[target + '.weight']
    m.put(tensor + '.weight', weight.T if transposed else weight)
    if target + '.bias' in m.parameters:
        m.put(tensor + '.bias', target + '.bias', spread=0.375)


def fused_rows(m, tensor, targets, shape=None):
    """One tensor whose rows are those of several parameters, one after the other; biases alike."""
    for ending, spread in (('.weight', None), ('.bias', 0.375)):
        parts = [m.parameters[t + ending] for t in targets if t + ending in m.parameters]
        if not parts:
            continue
        both = torch.empty([sum(p.shape[0] for p in parts)] + list(parts[0].shape[1:]))
        m.put(tensor + ending, both, spread=spread)
        with torch.no_grad():
            for part, values in zip(parts, both.split([p.shape[0] for p in parts])):
                part.copy_(values)


def by_head(heads, size):
    """From rows of all queries, all keys, all values to those of each head's three together."""
    def change(values):
        return values.view(3, heads, size, *values.shape[1:]).transpose(0, 1).reshape(values.shape)
    return change


def llama_layers(m, layers, pairs=None, biases=False, fused=False):
    """Attention and feed-forward of the package's Llama and its kin."""
    for layer in range(layers):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        if fused:
            fused_rows(m, block + 'attn_qkv', [root + 'self_attn.%s_proj' % x for x in 'qkv'])
        for tensor, name in (('attn_q', 'q_proj'), ('attn_k', 'k_proj'), ('attn_v', 'v_proj'),
                             ('attn_output', 'o_proj')):
            if fused and tensor != 'attn_output':
                continue
            target = root + 'self_attn.' + name
            heads = (pairs or {}).get(tensor)
            for ending, spread in (('.weight', None), ('.bias', 0.375)):
                if target + ending not in m.parameters:
                    continue
                parameter = m.parameters[target + ending]
                shape = list(parameter.shape)
                if heads and len(shape) == 2:
                    parameter = adjacent(parameter, heads)
                elif heads:
                    parameter = parameter.view(heads, 2, shape[0] // heads // 2).transpose(1, 2)
                m.put(block + tensor + ending, parameter, shape=shape, spread=spread)
        if root + 'mlp.gate_proj.weight' in m.parameters:
            gated(m, layer, root + 'mlp.')
        else:
            linear(m, block + 'ffn_up', root + 'mlp.up_proj')
            linear(m, block + 'ffn_down', root + 'mlp.down_proj')


PAIRS = {'attn_q': 4, 'attn_k': 2}
LLAMA = dict(intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             head_dim=16, rms_norm_eps=1e-5, rope_parameters=ROPE)
LLAMA_KEYS = base_keys(2, 4, 2, 16, 40, 10000.0)
LLAMA_MODEL = of('LlamaForCausalLM', 'LlamaConfig', **LLAMA)


@further('arcee', LLAMA_KEYS, of('ArceeForCausalLM', 'ArceeConfig', **LLAMA), 'ArceeForCausalLM')
def arcee(m):
    ends(m)
    llama_layers(m, 2, PAIRS)


@further('xverse', LLAMA_KEYS, LLAMA_MODEL, 'LlamaForCausalLM, the same formulas')
@further('baichuan', LLAMA_KEYS, LLAMA_MODEL, 'LlamaForCausalLM, the same formulas')
def adjacent_llama(m):
    ends(m)
    llama_layers(m, 2, PAIRS)


@further('exaone', LLAMA_KEYS, LLAMA_MODEL, 'LlamaForCausalLM, the same formulas')
def exaone(m):
    ends(m)
    llama_layers(m, 2)


@further('pangu-embedded', LLAMA_KEYS, of('LlamaForCausalLM', 'LlamaConfig', **LLAMA, attention_bias=True),
         'LlamaForCausalLM with attention_bias, the same formulas')
def pangu(m):
    ends(m)
    llama_layers(m, 2)


@further('qwen', {**base_keys(2, 4, 4, 8, 80, 10000.0)},
         of('Qwen2ForCausalLM', 'Qwen2Config', **{**LLAMA, 'num_key_value_heads': 4, 'head_dim': 8}),
         'Qwen2ForCausalLM, the same formulas')
def qwen(m):
    ends(m)
    llama_layers(m, 2, fused=True)


@further('qwen2vl', base_keys(2, 4, 2, 8, 40, 10000.0),
         of('Qwen2ForCausalLM', 'Qwen2Config', **{**LLAMA, 'head_dim': 8}),
         'Qwen2ForCausalLM, the same formulas of a text')
def qwen2vl(m):
    ends(m)
    llama_layers(m, 2)


@further('maincoder', LLAMA_KEYS, of('HunYuanDenseV1ForCausalLM', 'HunYuanDenseV1Config', **LLAMA),
         'HunYuanDenseV1ForCausalLM, the same formulas')
def maincoder(m):
    ends(m)
    llama_layers(m, 2)
    for layer in range(2):
        layer_norms(m, layer, 'model.layers.%d.' % layer, attn_q_norm='self_attn.query_layernorm',
                    attn_k_norm='self_attn.key_layernorm')


@further('jais2', layer_keys(2, 4, 2, 16, 40, 10000.0),
         of('Jais2ForCausalLM', 'Jais2Config', **{**{k: v for k, v in LLAMA.items() if k != 'rms_norm_eps'},
                                                  'layer_norm_eps': 1e-5}), 'Jais2ForCausalLM')
def jais2(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'model.norm')
    m.put('output.weight', 'lm_head.weight')
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        for tensor, name in (('attn_q', 'self_attn.q_proj'), ('attn_k', 'self_attn.k_proj'),
                             ('attn_v', 'self_attn.v_proj'), ('attn_output', 'self_attn.o_proj'),
                             ('ffn_up', 'mlp.up_proj'), ('ffn_down', 'mlp.down_proj')):
            linear(m, block + tensor, root + name)


@further('orion', layer_keys(2, 4, 2, 8, 40, 10000.0),
         of('StableLmForCausalLM', 'StableLmConfig', intermediate_size=40, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, layer_norm_eps=1e-5,
            rope_parameters={**ROPE, 'partial_rotary_factor': 1.0}),
         'StableLmForCausalLM, the same formulas')
def orion(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'model.norm')
    m.put('output.weight', 'lm_head.weight')
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        for tensor, name in (('attn_q', 'q_proj'), ('attn_k', 'k_proj'), ('attn_v', 'v_proj'),
                             ('attn_output', 'o_proj')):
            linear(m, block + tensor, root + 'self_attn.' + name)
        gated(m, layer, root + 'mlp.')


@further('codeshell', layer_keys(2, 4, 2, 8, 40, 10000.0),
         of('Starcoder2ForCausalLM', 'Starcoder2Config', intermediate_size=40, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, norm_epsilon=1e-5, sliding_window=None,
            use_bias=True, tie_word_embeddings=False, rope_parameters=ROPE),
         'Starcoder2ForCausalLM, the same formulas')
def codeshell(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'model.norm')
    m.put('output.weight', 'lm_head.weight')
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        fused_rows(m, block + 'attn_qkv', [root + 'self_attn.%s_proj' % x for x in 'qkv'])
        linear(m, block + 'attn_output', root + 'self_attn.o_proj')
        linear(m, block + 'ffn_up', root + 'mlp.c_fc')
        linear(m, block + 'ffn_down', root + 'mlp.c_proj')


def gpt_ends(m, embedding='transformer.wte', norm='transformer.ln_f', positions=None):
    m.put('token_embd.weight', embedding + '.weight', spread=1.0)
    if positions:
        m.put('position_embd.weight', positions, spread=0.5)
    if norm + '.bias' in m.parameters and m.parameters[norm + '.bias'] is not None:
        biased_norm(m, 'output_norm', norm)
    else:
        m.norm('output_norm.weight', norm + '.weight')


# Three heads more than a power of two, so that the slopes of the second kind are met.
@further('bloom', layer_keys(2, 6, 6, 8, 192, 10000.0, 1e-5, 48),
         of('BloomForCausalLM', 'BloomConfig', hidden_size=48, n_layer=2, n_head=6, layer_norm_epsilon=1e-5),
         'BloomForCausalLM')
def bloom(m):
    gpt_ends(m, 'transformer.word_embeddings')
    biased_norm(m, 'token_embd_norm', 'transformer.word_embeddings_layernorm')
    for layer in range(2):
        root, block = 'transformer.h.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        for ending, spread in (('.weight', None), ('.bias', 0.375)):
            m.put(block + 'attn_qkv' + ending, root + 'self_attention.query_key_value' + ending,
                  spread=spread, change=by_head(6, 8))
        linear(m, block + 'attn_output', root + 'self_attention.dense')
        linear(m, block + 'ffn_up', root + 'mlp.dense_h_to_4h')
        linear(m, block + 'ffn_down', root + 'mlp.dense_4h_to_h')


@further('gptj', layer_keys(2, 4, 4, 8, 128, 10000.0) | {'rope.dimension_count': 4},
         of('GPTJForCausalLM', 'GPTJConfig', n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=256,
            layer_norm_epsilon=1e-5, tie_word_embeddings=False), 'GPTJForCausalLM')
def gptj(m):
    gpt_ends(m)
    linear(m, 'output', 'lm_head')
    for layer in range(2):
        root, block = 'transformer.h.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'ln_1')
        for tensor, name in (('attn_q', 'attn.q_proj'), ('attn_k', 'attn.k_proj'), ('attn_v', 'attn.v_proj'),
                             ('attn_output', 'attn.out_proj'), ('ffn_up', 'mlp.fc_in'),
                             ('ffn_down', 'mlp.fc_out')):
            linear(m, block + tensor, root + name)


@further('mpt', layer_keys(2, 6, 6, 8, 192, 10000.0, 1e-5, 48),
         of('MptForCausalLM', 'MptConfig', hidden_size=48, n_layers=2, n_heads=6, expansion_ratio=4,
            max_seq_len=256, layer_norm_epsilon=1e-5), 'MptForCausalLM')
def mpt(m):
    gpt_ends(m, norm='transformer.norm_f')
    for layer in range(2):
        root, block = 'transformer.blocks.%d.' % layer, 'blk.%d.' % layer
        m.norm(block + 'attn_norm.weight', root + 'norm_1.weight')
        m.norm(block + 'ffn_norm.weight', root + 'norm_2.weight')
        linear(m, block + 'attn_qkv', root + 'attn.Wqkv')
        linear(m, block + 'attn_output', root + 'attn.out_proj')
        linear(m, block + 'ffn_up', root + 'ffn.up_proj')
        linear(m, block + 'ffn_down', root + 'ffn.down_proj')


@further('starcoder', layer_keys(2, 4, 1, 8, 128, 10000.0),
         of('GPTBigCodeForCausalLM', 'GPTBigCodeConfig', n_embd=32, n_layer=2, n_head=4, n_positions=256,
            multi_query=True, layer_norm_epsilon=1e-5), 'GPTBigCodeForCausalLM')
def starcoder(m):
    gpt_ends(m, positions='transformer.wpe.weight')
    for layer in range(2):
        root, block = 'transformer.h.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'ln_1')
        biased_norm(m, block + 'ffn_norm', root + 'ln_2')
        linear(m, block + 'attn_qkv', root + 'attn.c_attn')
        linear(m, block + 'attn_output', root + 'attn.c_proj')
        linear(m, block + 'ffn_up', root + 'mlp.c_fc')
        linear(m, block + 'ffn_down', root + 'mlp.c_proj')


@further('chatglm', {**base_keys(2, 4, 2, 16, 40, 10000.0), 'rope.dimension_count': 8},
         of('GlmForCausalLM', 'GlmConfig', **{**LLAMA, 'rope_parameters': {**ROPE, 'partial_rotary_factor': 0.5}},
            attention_bias=True), 'GlmForCausalLM')
def chatglm(m):
    ends(m)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        fused_rows(m, block + 'attn_qkv', [root + 'self_attn.%s_proj' % x for x in 'qkv'])
        linear(m, block + 'attn_output', root + 'self_attn.o_proj')
        linear(m, block + 'ffn_up', root + 'mlp.gate_up_proj')
        linear(m, block + 'ffn_down', root + 'mlp.down_proj')


def with_alibi(model, tokens):
    """Logits of a model that rotates, when it does not (every position is 0) and scores fall with the
    distance instead (Press et al. 2022)."""
    heads, count = model.config.num_attention_heads, tokens.shape[1]
    whole = 2 ** (heads.bit_length() - 1)
    slopes = [2 ** (-8 * (h + 1) / whole) for h in range(whole)]
    slopes += [2 ** (-8 * (2 * h + 1) / (2 * whole)) for h in range(heads - whole)]
    back = torch.arange(count)[:, None] - torch.arange(count)[None, :]
    mask = torch.where(back >= 0, -back * torch.tensor(slopes)[:, None, None], -torch.inf)
    return model(tokens, attention_mask=mask[None], position_ids=torch.zeros_like(tokens),
                 use_cache=False).logits


@further('refact', base_keys(2, 6, 1, 8, 40, 10000.0, 1e-5, 48),
         of('LlamaForCausalLM', 'LlamaConfig',
            **{**LLAMA, 'hidden_size': 48, 'num_attention_heads': 6, 'num_key_value_heads': 1, 'head_dim': 8}),
         'LlamaForCausalLM with ALiBi as its mask', run=with_alibi)
def refact(m):
    ends(m)
    llama_layers(m, 2)


def jais_model():
    model = of('LlamaForCausalLM', 'LlamaConfig', **{**LLAMA, 'num_key_value_heads': 4, 'head_dim': 8},
               attention_bias=True, mlp_bias=True)()
    model.model.norm = torch.nn.LayerNorm(32, eps=1e-5)
    for layer in model.model.layers:
        layer.input_layernorm = torch.nn.LayerNorm(32, eps=1e-5)
        layer.post_attention_layernorm = torch.nn.LayerNorm(32, eps=1e-5)
        layer.self_attn.scaling = 1 / 8
    return model


@further('jais', layer_keys(2, 4, 4, 8, 40, 10000.0) | {'attention.max_alibi_bias': 8.0}, jais_model,
         'LlamaForCausalLM with layer norms, its scale and ALiBi as its mask', run=with_alibi)
def jais(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'model.norm')
    m.put('output.weight', 'lm_head.weight')
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        fused_rows(m, block + 'attn_qkv', [root + 'self_attn.%s_proj' % x for x in 'qkv'])
        linear(m, block + 'attn_output', root + 'self_attn.o_proj')
        for tensor, name in (('ffn_gate', 'gate_proj'), ('ffn_up', 'up_proj'), ('ffn_down', 'down_proj')):
            linear(m, block + tensor, root + 'mlp.' + name)


def plamo_model():
    model = of('CohereForCausalLM', 'CohereConfig',
               **{**{k: v for k, v in LLAMA.items() if k not in ('rms_norm_eps', 'head_dim')}},
               layer_norm_eps=1e-5, logit_scale=1.0, tie_word_embeddings=False, use_qk_norm=False)()
    model.model.norm = LlamaRMSNorm(32, 1e-5)
    for layer in model.model.layers:
        layer.input_layernorm = LlamaRMSNorm(32, 1e-5)
    return model


@further('plamo', base_keys(2, 4, 2, 8, 40, 10000.0), plamo_model, 'CohereForCausalLM with RMS norms')
def plamo(m):
    ends(m)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm')
        for tensor, name in (('attn_q', 'q_proj'), ('attn_k', 'k_proj'), ('attn_v', 'v_proj'),
                             ('attn_output', 'o_proj')):
            parameter = m.parameters[root + 'self_attn.' + name + '.weight']
            shape = list(parameter.shape)
            if tensor in PAIRS:  # the class rotates neighbours
                parameter = parameter.view(PAIRS[tensor], 4, 2, 32).transpose(1, 2)
            m.put(block + tensor + '.weight', parameter, shape=shape)
        gated(m, layer, root + 'mlp.')


def openelm_model():
    config = {**LLAMA, 'tie_word_embeddings': True, 'num_hidden_layers': 3}
    model = of('Qwen3ForCausalLM', 'Qwen3Config', **config)()
    for i, (heads, kv_heads, width) in enumerate(((2, 1, 24), (4, 2, 40), (6, 3, 56))):
        own = of('Qwen3Model', 'Qwen3Config', **{**config, 'num_attention_heads': heads,
                                                'num_key_value_heads': kv_heads, 'intermediate_size': width})()
        model.model.layers[i] = Qwen3DecoderLayer(own.config, i)
    return model


@further('openelm', base_keys(3, [2, 4, 6], [1, 2, 3], 16, [24, 40, 56], 10000.0), openelm_model,
         'Qwen3ForCausalLM, layer by layer, the same formulas')
def openelm(m):
    ends(m, head=None)
    llama_layers(m, 3, fused=True)
    for layer in range(3):
        layer_norms(m, layer, 'model.layers.%d.' % layer, attn_q_norm='self_attn.q_norm',
                    attn_k_norm='self_attn.k_norm')


class NoBlock(torch.nn.Module):
    def __init__(self, of_several):
        super().__init__()
        self.of_several = of_several

    def forward(self, hidden_states, **_):
        zeros = torch.zeros_like(hidden_states)
        return (zeros, None) if self.of_several else zeros


def deci_model():
    model = of('LlamaForCausalLM', 'LlamaConfig', **{**LLAMA, 'num_hidden_layers': 4})()
    model.model.layers[1].self_attn = NoBlock(True)
    own = of('LlamaModel', 'LlamaConfig', **{**LLAMA, 'num_key_value_heads': 1, 'intermediate_size': 24})()
    model.model.layers[2] = LlamaDecoderLayer(own.config, 2)
    model.model.layers[3].mlp = NoBlock(False)
    return model


@further('deci', base_keys(4, [4, 0, 4, 4], [2, 0, 1, 2], 16, [40, 40, 24, 0], 10000.0), deci_model,
         'LlamaForCausalLM without some blocks, the same formulas')
def deci(m):
    ends(m)
    for layer in range(4):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        if layer != 1:
            layer_norms(m, layer, root, attn_norm='input_layernorm')
            for tensor, name in (('attn_q', 'q_proj'), ('attn_k', 'k_proj'), ('attn_v', 'v_proj'),
                                 ('attn_output', 'o_proj')):
                parameter = m.parameters[root + 'self_attn.' + name + '.weight']
                shape = list(parameter.shape)
                if tensor in ('attn_q', 'attn_k'):
                    parameter = adjacent(parameter, shape[0] // 16)
                m.put(block + tensor + '.weight', parameter, shape=shape)
        if layer != 3:
            layer_norms(m, layer, root, ffn_norm='post_attention_layernorm')
            gated(m, layer, root + 'mlp.')


def deepseek_model():
    model = of('LlamaForCausalLM', 'LlamaConfig', **LLAMA)()
    config = DeepseekV2Config(hidden_size=32, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2,
                              moe_intermediate_size=24, norm_topk_prob=False, topk_method='greedy',
                              routed_scaling_factor=1.0, n_group=1, topk_group=1)
    config._experts_implementation = 'eager'
    model.model.layers[1].mlp = DeepseekV2Moe(config)
    return model


@further('deepseek', {**LLAMA_KEYS, **expert_keys(8, 3, 24, shared_count=2), 'leading_dense_block_count': 1},
         deepseek_model, 'LlamaForCausalLM with DeepseekV2Moe')
def deepseek(m):
    ends(m)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        attention(m, layer, root + 'self_attn.', pairs=PAIRS)
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.')


@further('olmo', layer_keys(2, 4, 2, 8, 40, 10000.0),
         of('OlmoForCausalLM', 'OlmoConfig', **{k: v for k, v in LLAMA.items() if k not in ('rms_norm_eps',
                                                                                           'head_dim')}),
         'OlmoForCausalLM')
def olmo(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    m.put('output.weight', 'lm_head.weight')
    for layer in range(2):
        attention(m, layer, 'model.layers.%d.self_attn.' % layer, pairs=PAIRS)
        gated(m, layer, 'model.layers.%d.mlp.' % layer)


@further('mellum', {**base_keys(4, 4, 2, 8, 40, 1000.0), **expert_keys(6, 3, 16), **YARN_KEYS,
                    'attention.sliding_window': 9, 'rope.freq_base_swa': 10000.0,
                    'attention.sliding_window_pattern': [True, True, True, False]},
         of('MellumForCausalLM', 'MellumConfig',
            **{**LLAMA, 'num_hidden_layers': 4, 'head_dim': 8,
               'rope_parameters': {'full_attention': YARN, 'sliding_attention': ROPE}},
            sliding_window=9, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=16,
            norm_topk_prob=True,
            layer_types=['sliding_attention'] * 3 + ['full_attention']), 'MellumForCausalLM')
def mellum(m):
    ends(m)
    for layer in range(4):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm')
        attention(m, layer, root + 'self_attn.')
        experts(m, layer, root + 'mlp.', shared=None)


@further('jamba', {**base_keys(4, 4, [0, 2, 0, 0], 8, 40, 10000.0), **expert_keys(4, 2, 40),
                   'ssm.conv_kernel': 4, 'ssm.inner_size': 64, 'ssm.state_size': 8, 'ssm.time_step_rank': 6},
         of('JambaForCausalLM', 'JambaConfig', intermediate_size=40, num_hidden_layers=4,
            num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5, num_experts=4,
            num_experts_per_tok=2, expert_layer_period=2, expert_layer_offset=1, attn_layer_period=4,
            attn_layer_offset=1, mamba_d_state=8, mamba_d_conv=4, mamba_expand=2,
            mamba_dt_rank=6), 'JambaForCausalLM')
def jamba(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    m.norm('output_norm.weight', 'model.final_layernorm.weight')
    m.put('output.weight', 'lm_head.weight')
    for layer in range(4):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='pre_ff_layernorm')
        if layer == 1:
            attention(m, layer, root + 'self_attn.')
        else:
            mamba = root + 'mamba.'
            linear(m, block + 'ssm_in', mamba + 'in_proj')
            m.put(block + 'ssm_conv1d.weight', mamba + 'conv1d.weight', spread=0.75, shape=[64, 4])
            m.put(block + 'ssm_conv1d.bias', mamba + 'conv1d.bias', spread=0.375)
            linear(m, block + 'ssm_x', mamba + 'x_proj')
            linear(m, block + 'ssm_dt', mamba + 'dt_proj')
            for name in ('dt', 'b', 'c'):
                m.norm(block + 'ssm_%s_norm.weight' % name, mamba + name + '_layernorm.weight')
            m.put(block + 'ssm_a', mamba + 'A_log', -1.0, 0.75, change=lambda a: torch.log(-a))
            m.put(block + 'ssm_d', mamba + 'D', 1.0, 0.5)
            linear(m, block + 'ssm_out', mamba + 'out_proj')
        if layer % 2 == 0:
            gated(m, layer, root + 'feed_forward.')
        else:
            experts(m, layer, root + 'feed_forward.', router='router.weight', shared=None)


@further('baichuan_13b', base_keys(40, 2, 2, 4, 12, 10000.0, 1e-5, 8),
         of('LlamaForCausalLM', 'LlamaConfig',
            **{**LLAMA, 'hidden_size': 8, 'num_hidden_layers': 40, 'num_attention_heads': 2,
               'num_key_value_heads': 2, 'head_dim': 4, 'intermediate_size': 12}),
         'LlamaForCausalLM with ALiBi as its mask', run=with_alibi, architecture='baichuan')
def baichuan_13b(m):
    ends(m)
    for layer in range(40):  # as many as the architecture tells its sizes by; each adds little
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        for tensor, name in (('attn_q', 'self_attn.q_proj'), ('attn_k', 'self_attn.k_proj'),
                             ('attn_v', 'self_attn.v_proj'), ('attn_output', 'self_attn.o_proj'),
                             ('ffn_gate', 'mlp.gate_proj'), ('ffn_up', 'mlp.up_proj'),
                             ('ffn_down', 'mlp.down_proj')):
            spread = 0.0625 if tensor in ('attn_output', 'ffn_down') else 0.375
            m.put(block + tensor + '.weight', root + name + '.weight', spread=spread)


if __name__ == '__main__':
    os.makedirs(os.path.join(maker.FOLDER, 'further'), exist_ok=True)
    for name, one in transformers_goldens.GOLDENS.items():
        if len(sys.argv) == 1 or name.split('/')[1] in sys.argv[1:]:
            maker.make(name, one)
