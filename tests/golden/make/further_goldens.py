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
    # Files have the pairs side by side, in the norms after the rotation, too.
    ends(m)
    llama_layers(m, 2, PAIRS)
    for layer in range(2):
        layer_norms(m, layer, 'model.layers.%d.' % layer, change=lambda w: w.view(8, 2).T.reshape(16),
                    attn_q_norm='self_attn.query_layernorm', attn_k_norm='self_attn.key_layernorm')


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


def gptneox_model(parallel):
    """Files do not tell which GELU; it is the approximation by tanh."""
    return of('GPTNeoXForCausalLM', 'GPTNeoXConfig', hidden_size=36, num_hidden_layers=2, num_attention_heads=3,
              intermediate_size=144, hidden_act='gelu_new', use_parallel_residual=parallel, layer_norm_eps=1e-2,
              rope_parameters={**ROPE, 'partial_rotary_factor': 8 / 12})


GPTNEOX_KEYS = layer_keys(2, 3, 3, 12, 144, 10000.0, 1e-2, 36) | {'rope.dimension_count': 8}


@further('gptneox', GPTNEOX_KEYS | {'use_parallel_residual': True}, gptneox_model(True), 'GPTNeoXForCausalLM')
@further('gptneox_sequential', GPTNEOX_KEYS | {'use_parallel_residual': False}, gptneox_model(False),
         'GPTNeoXForCausalLM', architecture='gptneox')
def gptneox(m):
    m.put('token_embd.weight', 'gpt_neox.embed_in.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'gpt_neox.final_layer_norm')
    linear(m, 'output', 'lm_head')
    for layer in range(2):
        root, block = 'gpt_neox.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        for ending, spread in (('.weight', None), ('.bias', 0.375)):
            m.put(block + 'attn_qkv' + ending, root + 'attention.query_key_value' + ending, spread=spread,
                  change=by_head(3, 12))
        linear(m, block + 'attn_output', root + 'attention.dense')
        linear(m, block + 'ffn_up', root + 'mlp.dense_h_to_4h')
        linear(m, block + 'ffn_down', root + 'mlp.dense_4h_to_h')


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


@further('olmo', layer_keys(2, 4, 2, 8, 40, 10000.0) | {'attention.clamp_kqv': 1.25},
         of('OlmoForCausalLM', 'OlmoConfig', clip_qkv=1.25,
            **{k: v for k, v in LLAMA.items() if k not in ('rms_norm_eps', 'head_dim')}),
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


# ---- Architectures that the package has
@further('dbrx', layer_keys(2, 4, 2, 8, 24, 10000.0) | {'attention.clamp_kqv': 1.25, **expert_keys(6, 3, 24)},
         of('DbrxForCausalLM', 'DbrxConfig', d_model=32, n_heads=4, n_layers=2, max_seq_len=256,
            tie_word_embeddings=False, rope_parameters=ROPE,
            attn_config={'clip_qkv': 1.25, 'kv_n_heads': 2, 'rope_theta': 10000.0},
            ffn_config={'hidden_size': 32, 'ffn_hidden_size': 24, 'moe_num_experts': 6, 'moe_top_k': 3}),
         'DbrxForCausalLM')
def dbrx(m):
    m.put('token_embd.weight', 'transformer.wte.weight', spread=1.0)
    m.norm('output_norm.weight', 'transformer.norm_f.weight')
    m.put('output.weight', 'lm_head.weight')
    for layer in range(2):
        root, block = 'transformer.blocks.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root + 'norm_attn_norm.', attn_norm='norm_1', attn_output_norm='norm_2')
        linear(m, block + 'attn_qkv', root + 'norm_attn_norm.attn.Wqkv')
        linear(m, block + 'attn_output', root + 'norm_attn_norm.attn.out_proj')
        m.put(block + 'ffn_gate_inp.weight', root + 'ffn.router.layer.weight', spread=0.75)
        parts = {name: m.parameters[root + 'ffn.experts.mlp.' + name].view(6, 24, 32) for name in ('w1', 'v1', 'w2')}
        m.put(block + 'ffn_gate_exps.weight', parts['w1'])
        m.put(block + 'ffn_up_exps.weight', parts['v1'])
        m.put(block + 'ffn_down_exps.weight', parts['w2'].transpose(1, 2))


@further('mpt_clamped', layer_keys(2, 6, 6, 8, 192, 10000.0, 1e-5, 48) | {'attention.clamp_kqv': 0.75},
         of('MptForCausalLM', 'MptConfig', hidden_size=48, n_layers=2, n_heads=6, expansion_ratio=4,
            max_seq_len=256, layer_norm_epsilon=1e-5, attn_config={'clip_qkv': 0.75}), 'MptForCausalLM',
         architecture='mpt')
def mpt_clamped(m):
    mpt(m)


@further('cohere2moe', layer_keys(4, 4, 2, 8, 40, 10000.0) | {
            'attention.sliding_window': 9, 'attention.sliding_window_pattern': [False, True, False, True],
            'leading_dense_block_count': 1, 'logit_scale': 0.25,
            **expert_keys(6, 3, 16, shared_count=2, shared_feed_forward_length=32, weights_norm=True)},
         of('Cohere2MoeForCausalLM', 'Cohere2MoeConfig', intermediate_size=16, num_hidden_layers=4,
            num_attention_heads=4, num_key_value_heads=2, head_dim=8, layer_norm_eps=1e-5, sliding_window=9,
            rope_parameters=ROPE, num_experts=6, num_experts_per_tok=3, num_shared_experts=2, logit_scale=0.25,
            expert_selection_fn='sigmoid', norm_topk_prob=True, prefix_dense_intermediate_size=40,
            layer_types=['full_attention', 'sliding_attention'] * 2,
            mlp_layer_types=['dense', 'sparse', 'sparse', 'sparse']), 'Cohere2MoeForCausalLM')
def cohere2moe(m):
    ends(m, head=None)
    for layer in range(4):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm')
        attention(m, layer, root + 'self_attn.')
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.')


@further('bitnet', base_keys(2, 4, 2, 8, 40, 10000.0) | {'hidden_act': 'relu2'},
         of('BitNetForCausalLM', 'BitNetConfig', intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, rms_norm_eps=1e-5, rope_parameters=ROPE, tie_word_embeddings=True),
         'BitNetForCausalLM')
def bitnet(m):
    ends(m, head=None)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_sub_norm='self_attn.attn_sub_norm', ffn_sub_norm='mlp.ffn_sub_norm')
        attention(m, layer, root + 'self_attn.')
        gated(m, layer, root + 'mlp.')
        if layer == 0:
            continue
        # Files whose weights are -1, 0 and 1 have the factor beside them.
        for tensor, name in (('attn_q', 'self_attn.q_proj'), ('attn_v', 'self_attn.v_proj'),
                             ('attn_output', 'self_attn.o_proj'), ('ffn_up', 'mlp.up_proj'),
                             ('ffn_down', 'mlp.down_proj')):
            factor = torch.empty(1)
            m.put(block + tensor + '.scale', factor, 1.0, 0.5)
            with torch.no_grad():
                m.parameters[root + name + '.weight'].mul_(factor)


# So many experts that some logits come close.
@further('phimoe', base_keys(2, 4, 2, 8, 8, 10000.0) | expert_keys(24, 2, 8),
         of('PhimoeForCausalLM', 'PhimoeConfig', intermediate_size=8, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, rms_norm_eps=1e-5, rope_parameters=ROPE, num_local_experts=24,
            num_experts_per_tok=2, router_jitter_noise=0.01, attention_bias=True, lm_head_bias=True),
         'PhimoeForCausalLM')
def phimoe(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'model.norm')
    linear(m, 'output', 'lm_head')
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        for tensor, name in (('attn_q', 'q_proj'), ('attn_k', 'k_proj'), ('attn_v', 'v_proj'),
                             ('attn_output', 'o_proj')):
            linear(m, block + tensor, root + 'self_attn.' + name)
        experts(m, layer, root + 'mlp.', router='router.weight', shared=None)


# ---- Architectures put together from blocks of the package
class SquaredMlp(torch.nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up_proj = torch.nn.Linear(width, inner, bias=False)
        self.down_proj = torch.nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(torch.relu(self.up_proj(x)) ** 2)


def plm_model():
    model = of('DeepseekV3ForCausalLM', 'DeepseekV3Config', intermediate_size=40, num_hidden_layers=2,
               num_attention_heads=4, num_key_value_heads=4, rms_norm_eps=1e-6, first_k_dense_replace=2,
               q_lora_rank=None, kv_lora_rank=16, qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=12,
               rope_interleave=True, rope_parameters=ROPE, tie_word_embeddings=True)()
    for layer in model.model.layers:
        layer.mlp = SquaredMlp(32, 40)
    return model


@further('plm', {**base_keys(2, 4, 4, 20, 40, 10000.0, 1e-6), 'attention.value_length': 12,
                 'attention.kv_lora_rank': 16, 'rope.dimension_count': 8}, plm_model,
         'DeepseekV3ForCausalLM without experts, with squared ReLU')
def plm(m):
    ends(m, head=None)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_kv_a_norm='self_attn.kv_a_layernorm')
        for tensor, name in (('attn_q', 'self_attn.q_proj'), ('attn_kv_a_mqa', 'self_attn.kv_a_proj_with_mqa'),
                             ('attn_kv_b', 'self_attn.kv_b_proj'), ('attn_output', 'self_attn.o_proj'),
                             ('ffn_up', 'mlp.up_proj'), ('ffn_down', 'mlp.down_proj')):
            linear(m, block + tensor, root + name)


class Experts(torch.nn.Module):
    """A mixture of experts, spelt out: route(logits) -> the weight of each expert for each token."""

    def __init__(self, width, count, inner, route, activation):
        super().__init__()
        self.gate = torch.nn.Linear(width, count, bias=False)
        self.gate_exps = torch.nn.Parameter(torch.empty(count, inner, width))
        self.up_exps = torch.nn.Parameter(torch.empty(count, inner, width))
        self.down_exps = torch.nn.Parameter(torch.empty(count, width, inner))
        self.route, self.activation = route, activation

    def forward(self, x, logits=None):
        shares = self.route(self.gate(x) if logits is None else logits)
        hidden = self.activation(torch.einsum('...d,efd->...ef', x, self.gate_exps))
        hidden = hidden * torch.einsum('...d,efd->...ef', x, self.up_exps)
        return torch.einsum('...e,...ef,edf->...d', shares, hidden, self.down_exps)


def of_chosen(used, weights):
    """weights(logits of the chosen, all logits)"""
    def route(logits):
        chosen, places = logits.topk(used, dim=-1)
        return torch.zeros_like(logits).scatter(-1, places, weights(chosen, logits))
    return route


def softmax_of_chosen(chosen, _):
    return torch.softmax(chosen, -1)


def spelt_experts(m, layer, root):
    block = 'blk.%d.' % layer
    m.put(block + 'ffn_gate_inp.weight', root + 'gate.weight', spread=0.75)
    for tensor in ('gate_exps', 'up_exps', 'down_exps'):
        m.put(block + 'ffn_' + tensor + '.weight', root + tensor)


class ArcticLayer(torch.nn.Module):
    """github.com/Snowflake-Labs: a dense feed-forward, and experts that read what attention reads."""

    def __init__(self, llama):
        super().__init__()
        self.llama = llama
        self.norm_exps = LlamaRMSNorm(32, 1e-5)
        self.experts = Experts(32, 6, 16, of_chosen(2, softmax_of_chosen), torch.nn.functional.silu)

    def forward(self, x, **more):
        return self.llama(x, **more) + self.experts(self.norm_exps(x))


def arctic_model():
    model = of('LlamaForCausalLM', 'LlamaConfig', **LLAMA)()
    for i, layer in enumerate(model.model.layers):
        model.model.layers[i] = ArcticLayer(layer)
    return model


@further('arctic', {**LLAMA_KEYS, **expert_keys(6, 2, 16)}, arctic_model,
         'LlamaForCausalLM with experts beside its layers, as the model card of Arctic says')
def arctic(m):
    ends(m)
    for layer in range(2):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='llama.input_layernorm', ffn_norm='llama.post_attention_layernorm',
                    ffn_norm_exps='norm_exps')
        attention(m, layer, root + 'llama.self_attn.', pairs=PAIRS)
        gated(m, layer, root + 'llama.mlp.')
        spelt_experts(m, layer, root + 'experts.')


def gelu(x):
    return torch.nn.functional.gelu(x, approximate='tanh')


class GrokBlock(torch.nn.Module):
    """Experts whose weights are those of the softmax over all capped logits, and what runs beside them."""

    def __init__(self, dense, cap):
        super().__init__()
        def weights(chosen, logits):
            capped = cap * torch.tanh(logits / cap)
            return torch.softmax(capped, -1).gather(-1, logits.topk(2, dim=-1)[1])
        self.dense = dense
        self.experts = Experts(32, 6, 16, of_chosen(2, weights), gelu)

    def forward(self, x):
        routed = self.experts(x)
        return routed if self.dense is None else (routed + self.dense(x)) * 0.5 ** 0.5


def grok_model(has_dense):
    def make():
        model = of('Gemma2ForCausalLM', 'Gemma2Config', intermediate_size=40, num_hidden_layers=2,
                   num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-5,
                   rope_parameters=ROPE, query_pre_attn_scalar=4, attn_logit_softcapping=2.0,
                   final_logit_softcapping=5.0, layer_types=['full_attention'] * 2,
                   hidden_activation='gelu_pytorch_tanh', tie_word_embeddings=False)()
        model.model.embed_tokens.embed_scale.fill_(3.0)
        for layer in model.model.layers:
            layer.mlp = GrokBlock(layer.mlp if has_dense else None, 1.5)
        return model
    return make


GROK_KEYS = {**base_keys(2, 4, 2, 8, 40, 10000.0), **expert_keys(6, 2, 16), 'embedding_scale': 3.0,
             'logit_scale': 0.75, 'attention.output_scale': 0.5, 'attn_logit_softcapping': 2.0,
             'router_logit_softcapping': 1.5, 'final_logit_softcapping': 5.0}
GROK_SOURCE = 'Gemma2ForCausalLM with the router of github.com/xai-org/grok-1, capped'


def grok_layers(m, last_norm):
    def minus_one(values):
        return values - 1  # the class adds 1 to the weights of its norms
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    m.norm('output_norm.weight', 'model.norm.weight', change=minus_one)
    m.put('output.weight', 'lm_head.weight', change=lambda values: 0.75 * values)
    for layer in range(2):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, change=minus_one, attn_norm='input_layernorm',
                    attn_output_norm='post_attention_layernorm', ffn_norm='pre_feedforward_layernorm',
                    **{last_norm: 'post_feedforward_layernorm'})
        attention(m, layer, root + 'self_attn.')
        spelt_experts(m, layer, root + 'mlp.experts.')


@further('grok', GROK_KEYS, grok_model(False), GROK_SOURCE)
def grok(m):
    grok_layers(m, 'layer_output_norm')


@further('grok_2', GROK_KEYS, grok_model(True), GROK_SOURCE, architecture='grok')
def grok_2(m):
    grok_layers(m, 'post_ffw_norm')
    for layer in range(2):
        gated(m, layer, 'model.layers.%d.mlp.dense.' % layer)


class EarlyExperts(Experts):
    """Experts whose router reads what enters the layer."""

    def __init__(self, weights):
        super().__init__(32, 6, 16, of_chosen(3, weights), torch.relu)

    def route_early(self, layer, positional, named):
        self.logits = self.gate(positional[0] if positional else named['hidden_states'])

    def forward(self, x):
        return super().forward(x, self.logits)


def smallthinker_model(weights, windows):
    def make():
        layers = 5
        model = of('SmolLM3ForCausalLM', 'SmolLM3Config', intermediate_size=40, num_hidden_layers=layers,
                   num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-5, sliding_window=9,
                   use_sliding_window=windows, rope_parameters=ROPE, tie_word_embeddings=False,
                   no_rope_layers=[int(not windows or i % 4 != 0) for i in range(layers)],
                   layer_types=['sliding_attention' if windows and i % 4 else 'full_attention'
                                for i in range(layers)])()
        for layer in model.model.layers:
            layer.mlp = EarlyExperts(weights)
            layer.register_forward_pre_hook(layer.mlp.route_early, with_kwargs=True)
        return model
    return make


def normalised_sigmoid(chosen, _):
    shares = torch.sigmoid(chosen)
    return shares / shares.sum(-1, keepdim=True)


SMALLTHINKER_KEYS = {**base_keys(5, 4, 2, 8, 16, 10000.0), **expert_keys(6, 3, 16)}
SMALLTHINKER_SOURCE = 'SmolLM3ForCausalLM with experts routed as in the code of SmallThinker'


def smallthinker_layers(m):
    ends(m)
    for layer in range(5):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        attention(m, layer, root + 'self_attn.')
        spelt_experts(m, layer, root + 'mlp.')


@further('smallthinker', {**SMALLTHINKER_KEYS, 'attention.sliding_window': 9, 'expert_gating_func': 2},
         smallthinker_model(normalised_sigmoid, True), SMALLTHINKER_SOURCE)
def smallthinker(m):
    smallthinker_layers(m)


@further('smallthinker_softmax', {**SMALLTHINKER_KEYS, 'expert_gating_func': 1},
         smallthinker_model(softmax_of_chosen, False), SMALLTHINKER_SOURCE, architecture='smallthinker')
def smallthinker_softmax(m):
    smallthinker_layers(m)


def weightless_norm(x, epsilon=1e-5):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon)


class WeightlessNorm(torch.nn.Module):
    def forward(self, x):
        return weightless_norm(x)


class HeadGain(torch.nn.Module):
    """x [., heads, head]: a norm without a weight and a factor for each head, or each value of it."""

    def __init__(self, heads, columns):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.empty(heads, columns))

    def forward(self, x):
        return weightless_norm(x) * self.gain


class TalkieLayer(torch.nn.Module):
    def __init__(self, layer, first, columns):
        super().__init__()
        layer.input_layernorm = layer.post_attention_layernorm = WeightlessNorm()
        layer.self_attn.q_norm, layer.self_attn.k_norm = HeadGain(4, columns), WeightlessNorm()
        self.layer, self.first = layer, [first or self]
        self.share = torch.nn.Parameter(torch.empty(1))

    def forward(self, x, **more):
        if self.first[0] is self:
            self.embedded = x
        return self.layer(x, **more) + self.share * self.first[0].embedded


def talkie_model(columns):
    def make():
        model = of('Qwen3ForCausalLM', 'Qwen3Config', **LLAMA, tie_word_embeddings=False)()
        model.model.norm = WeightlessNorm()
        model.model.embed_tokens.register_forward_hook(lambda _, inputs, out: weightless_norm(out))
        first = None
        for i, layer in enumerate(model.model.layers):
            model.model.layers[i] = TalkieLayer(layer, first, columns)
            first = first or model.model.layers[i]
        return model
    return make


TALKIE_SOURCE = 'Qwen3ForCausalLM with the norms and embedding shares of Talkie'


# The factors of query heads are one value each, in older files a row as long as a head.
@further('talkie', {**LLAMA_KEYS, 'logit_scale': 0.5}, talkie_model(1), TALKIE_SOURCE)
@further('talkie_rows', {**LLAMA_KEYS, 'logit_scale': 0.5}, talkie_model(16), TALKIE_SOURCE, architecture='talkie')
def talkie(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    m.put('output.weight', 'lm_head.weight', change=lambda values: 0.5 * values)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        attention(m, layer, root + 'layer.self_attn.')
        gated(m, layer, root + 'layer.mlp.')
        m.norm(block + 'attn_q_norm.weight', root + 'layer.self_attn.q_norm.gain')
        m.put(block + 'layer_output_scale.weight', root + 'share', 0.75, 0.5)


class GroveExperts(Experts):
    """Each chosen expert brings the small one of its group along, with its own weight."""

    def __init__(self, group, scale):
        super().__init__(32, 8, 16, of_chosen(3, softmax_of_chosen), torch.nn.functional.silu)
        self.group, self.scale = group, scale
        self.adjugates = Experts(32, 8 // group, 12, lambda shares: shares, torch.nn.functional.silu)

    def forward(self, x):
        logits = self.gate(x)
        shares = self.route(logits)
        grouped = shares.view(*shares.shape[:-1], -1, self.group).sum(-1)
        return super().forward(x, logits) + self.scale * self.adjugates(x, grouped)


def grovemoe_model():
    model = of('Qwen3ForCausalLM', 'Qwen3Config', **LLAMA, tie_word_embeddings=False)()
    for layer in model.model.layers:
        layer.mlp = GroveExperts(2, 0.375)
    return model


@further('grovemoe', {**LLAMA_KEYS, **expert_keys(8, 3, 16, chunk_feed_forward_length=12, group_scale=0.375),
                      'experts_per_group': 2}, grovemoe_model,
         'Qwen3ForCausalLM with the experts of arXiv 2508.07785')
def grovemoe(m):
    ends(m)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm')
        attention(m, layer, root + 'self_attn.')
        spelt_experts(m, layer, root + 'mlp.')
        with torch.no_grad():
            m.parameters[root + 'mlp.adjugates.gate.weight'].zero_()  # of no use
        for tensor in ('gate', 'up', 'down'):
            m.put(block + 'ffn_%s_chexps.weight' % tensor, root + 'mlp.adjugates.%s_exps' % tensor)


if __name__ == '__main__':
    os.makedirs(os.path.join(maker.FOLDER, 'further'), exist_ok=True)
    for name, one in transformers_goldens.GOLDENS.items():
        if len(sys.argv) == 1 or name.split('/')[1] in sys.argv[1:]:
            maker.make(name, one)
