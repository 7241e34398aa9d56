"""Llama and decoders that differ from it in details."""
import math

import torch
import transformers as hf
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer

from blocks import (adjacent, attention, base_keys, biased_norm, ends, expert_keys, experts, further,
                    fused_rows, gated, golden, layer_keys, layer_norms, linear, LLAMA, LLAMA_KEYS,
                    llama_layers, LLAMA_MODEL, of, PAIRS, ROPE, YARN, YARN_KEYS)
from families.gpt import with_alibi
from families.qwen import less_one
from make_goldens import weight


# ---- Hunyuan-VL, whose vision tower is not filled
@golden('hunyuan_vl', 'hunyuan_vl',
        {**base_keys(3, 4, 2, 16, 40, 10000.0), 'rope.scaling.alpha': 3.0,
         'rope.dimension_sections': [2, 2, 2, 2]},
        lambda: hf.HunYuanVLForConditionalGeneration(hf.HunYuanVLConfig(
            text_config=dict(vocab_size=64, hidden_size=32, intermediate_size=40, num_hidden_layers=3,
                             num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-5,
                             max_position_embeddings=256, tie_word_embeddings=False,
                             rope_parameters={'rope_type': 'dynamic', 'rope_theta': 10000.0, 'alpha': 3.0,
                                              'factor': 1.0, 'mrope_section': [2, 2, 2, 2]}),
            vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2),
            tie_word_embeddings=False, attn_implementation='eager')))
def hunyuan_vl(m):
    ends(m, 'model.language_model.')
    for layer in range(3):
        root = 'model.language_model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_q_norm='self_attn.query_layernorm', attn_k_norm='self_attn.key_layernorm')
        attention(m, layer, root + 'self_attn.')
        gated(m, layer, root + 'mlp.')


# ---- Granite with windows, dense and with experts
GRANITE_KEYS = {'attention.sliding_window': 9, 'attention.sliding_window_pattern': [False, True, True, True],
                'attention.rope_pattern': [False, True, True, True], 'embedding_scale': 6.0,
                'residual_scale': 0.35, 'attention.scale': 0.11, 'logit_scale': 4.0}
GRANITE = dict(num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
               sliding_window=9, layer_types=['full_attention'] + ['sliding_attention'] * 3,
               layer_rope_theta=[0, 10000.0, 10000.0, 10000.0], embedding_multiplier=6.0,
               residual_multiplier=0.35, attention_multiplier=0.11, logits_scaling=4.0,
               rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}, tie_word_embeddings=True)


def granite_attention(m, layer, root):
    layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
    attention(m, layer, root + 'self_attn.', pairs={'attn_q': 4, 'attn_k': 2})
    m.put('blk.%d.attn_sinks.weight' % layer, root + 'self_attn.sinks', spread=2.0)


@golden('granite-swa', 'granite-swa', {**base_keys(4, 4, 2, 8, 40, 10000.0), **GRANITE_KEYS},
        of('GraniteSWAForCausalLM', 'GraniteSWAConfig', intermediate_size=40, **GRANITE))
def granite_swa(m):
    ends(m, head=None)
    for layer in range(4):
        root = 'model.layers.%d.' % layer
        granite_attention(m, layer, root)
        gated(m, layer, root + 'mlp.')


@golden('granite-swa_experts', 'granite-swa',
        {**base_keys(4, 4, 2, 8, 20, 10000.0), **GRANITE_KEYS, 'expert_count': 6, 'expert_used_count': 3,
         'expert_shared_feed_forward_length': 20},
        of('GraniteMoeSWAForCausalLM', 'GraniteMoeSWAConfig', intermediate_size=20, num_local_experts=6,
           num_experts_per_tok=3, shared_intermediate_size=20, **GRANITE))
def granite_swa_experts(m):
    ends(m, head=None)
    for layer in range(4):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        granite_attention(m, layer, root)
        moe = root + 'block_sparse_moe.'
        m.put(block + 'ffn_gate_inp.weight', moe + 'router.weight', spread=0.75)
        m.put(block + 'ffn_gate_up_exps.weight', moe + 'experts.gate_up_proj')
        m.put(block + 'ffn_down_exps.weight', moe + 'experts.down_proj')
        m.put(block + 'ffn_up_shexp.weight', root + 'shared_mlp.input_linear.weight')
        m.put(block + 'ffn_down_shexp.weight', root + 'shared_mlp.output_linear.weight')


# ---- Muse Glimmer, its text model
MUSE = dict(vocab_size=64, hidden_size=32, intermediate_size=40, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-5, sliding_window=9,
            max_position_embeddings=256, final_logit_softcapping=3.0, qk_scale_factor=3.875,
            output_multiplier=0.7, pad_token_id=None, bos_token_id=None, eos_token_id=None,
            rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0})


def muse_model():
    config = hf.MuseGlimmerConfig(
        text_config=MUSE, attn_implementation='eager', out_hidden_size=32, projector_hidden_size=16,
        vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2))
    return hf.MuseGlimmerForConditionalGeneration(config)


@golden('muse-glimmer', 'muse-glimmer',
        {**base_keys(4, 4, 2, 16, 40, 10000.0), 'attention.sliding_window': 9,
         'attention.sliding_window_pattern': [True, True, True, False], 'logit_scale': 0.7,
         'final_logit_softcapping': 3.0}, muse_model)
def muse_glimmer(m):
    ends(m, 'model.language_model.')
    for layer in range(4):
        root, block = 'model.language_model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, lambda w: w - 1, attn_norm='input_layernorm',
                    post_attention_norm='post_attention_layernorm', ffn_norm='pre_feedforward_layernorm',
                    post_ffw_norm='post_feedforward_layernorm')
        # Files say the factor of queries as the weight of their norm.
        for tensor, factor in (('attn_q_norm', 3.875), ('attn_k_norm', 1.0)):
            m.put(block + tensor + '.weight', torch.empty(16), factor, 0.0)
        attention(m, layer, root + 'self_attn.', pairs={'attn_q': 4, 'attn_k': 2})
        m.put(block + 'attn_gate.weight', root + 'self_attn.gate_proj.weight')
        gated(m, layer, root + 'mlp.')


# ---- Chameleon, its texts, with norms before blocks and after them. Queries and keys have two
# heads to one.
def chameleon_model(swin):
    """(keys, model)"""
    vision = dict(embed_dim=8, num_embeddings=8, latent_dim=8, resolution=32, base_channels=32,
                  channel_multiplier=[1], num_res_blocks=1, attn_resolutions=[])
    keys = {**base_keys(2, 4, 2, 8, 40, 10000.0), 'swin_norm': swin}
    return keys, of('ChameleonForConditionalGeneration', 'ChameleonConfig', intermediate_size=40,
                    num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
                    swin_norm=swin, vq_config=vision, vocabulary_map={'<image>': 63},
                    rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0})


def chameleon(m):
    ends(m)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        attention(m, layer, root + 'self_attn.', pairs={'attn_q': 4, 'attn_k': 2})
        for name, heads in (('q_norm', 4), ('k_norm', 2)):
            for part, centre in (('weight', 1.0), ('bias', 0.0)):
                turned = m.parameters[root + 'self_attn.%s.%s' % (name, part)].view(heads, 2, 4).transpose(1, 2)
                m.put(block + 'attn_%s.%s' % (name, part), turned, centre, 0.5, shape=[heads, 8])
        gated(m, layer, root + 'mlp.')


golden('chameleon', 'chameleon', *chameleon_model(False))(chameleon)
golden('chameleon_swin', 'chameleon', *chameleon_model(True))(chameleon)


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


@further('refact', base_keys(2, 6, 1, 8, 40, 10000.0, 1e-5, 48),
         of('LlamaForCausalLM', 'LlamaConfig',
            **{**LLAMA, 'hidden_size': 48, 'num_attention_heads': 6, 'num_key_value_heads': 1, 'head_dim': 8}),
         'LlamaForCausalLM with ALiBi as its mask', run=with_alibi)
def refact(m):
    ends(m)
    llama_layers(m, 2)


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


# ---- HRM-Text: two stacks of two layers, the low one three times before each of the high one's
# two.
@further('hrm_text',
         {**base_keys(16, 4, 4, 8, 40, 10000.0), 'embedding_scale': 3.0, 'hrm.layers_per_stack': 2,
          'hrm.h_cycles': 2, 'hrm.l_cycles': 3, 'hrm.prefix_lm': True},
         of('HrmTextForCausalLM', 'HrmTextConfig', intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
            head_dim=8, rms_norm_eps=1e-5, H_cycles=2, L_cycles=3, embedding_scale=3.0, rope_parameters=ROPE),
         'HrmTextForCausalLM')
def hrm_text(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    m.put('output.weight', 'lm_head.weight')
    m.put('hrm.z_l_init', 'model.z_L_init', spread=1.0)
    for layer in range(4):
        root, block = 'model.%s_module.layers.%d.' % ('LH'[layer // 2], layer % 2), 'blk.%d.' % layer
        attention(m, layer, root + 'self_attn.')
        m.put(block + 'attn_gate.weight', root + 'self_attn.gate_proj.weight')
        gated(m, layer, root + 'mlp.')


further('granite_swa', {**base_keys(4, 4, 2, 8, 40, 10000.0), **GRANITE_KEYS},
        of('GraniteSWAForCausalLM', 'GraniteSWAConfig', intermediate_size=40, **GRANITE),
        'GraniteSWAForCausalLM')(granite_swa)


@further('granite_biases', {**base_keys(2, 4, 2, 8, 40, 10000.0), 'embedding_scale': 3.0, 'residual_scale': 0.5,
                            'attention.scale': 0.25, 'logit_scale': 2.0},
         of('GraniteForCausalLM', 'GraniteConfig', **{**LLAMA, 'head_dim': 8}, attention_bias=True, mlp_bias=True,
            embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.25, logits_scaling=2.0,
            tie_word_embeddings=False),
         'GraniteForCausalLM', architecture='granite')
def granite_biases(m):
    ends(m)
    llama_layers(m, 2, {'attn_q': 4, 'attn_k': 2})
    for layer in range(2):
        for tensor, name in (('ffn_gate', 'gate_proj'), ('ffn_up', 'up_proj'), ('ffn_down', 'down_proj')):
            m.put('blk.%d.%s.bias' % (layer, tensor), 'model.layers.%d.mlp.%s.bias' % (layer, name), spread=0.375)


# MiniCPM 4 has the tables of LongRoPE.
def longrope_factors(table):
    return weight('further/minicpm_longrope', 'rope_factors_%s.weight' % table, [4], 4.0, 3.0).tolist()


@further('minicpm_longrope', {**base_keys(2, 4, 2, 8, 40, 10000.0), 'embedding_scale': 3.0, 'residual_scale': 0.5,
                              'logit_scale': 2.0, 'rope.scaling.type': 'longrope'},
         of('GraniteForCausalLM', 'GraniteConfig', embedding_multiplier=3.0, residual_multiplier=0.5,
            attention_multiplier=8 ** -0.5, logits_scaling=2.0, tie_word_embeddings=False,
            **{**LLAMA, 'head_dim': 8, 'rope_parameters': {**ROPE, 'rope_type': 'longrope', 'original_max_position_embeddings': 256,
                                   'factor': 1.0, 'short_factor': longrope_factors('short'),
                                   'long_factor': longrope_factors('long')}}),
         'GraniteForCausalLM, the same formulas', architecture='minicpm')
def minicpm_longrope(m):
    ends(m)
    llama_layers(m, 2, {'attn_q': 4, 'attn_k': 2})
    for table in ('short', 'long'):
        m.put('rope_factors_%s.weight' % table, torch.empty(4), 4.0, 3.0)


# Phi 4's LongRoPE of texts that are longer than the first training's, and of a model opened for no
# more.
PHI3_KEYS = {**base_keys(2, 4, 2, 8, 40, 10000.0), 'rope.dimension_count': 6,
             'rope.scaling.original_context_length': 32, 'rope.scaling.attn_factor': (1 + math.log(8) / math.log(32)) ** 0.5}


def phi3(name):
    def factors(table):
        return weight('further/' + name, 'rope_factors_%s.weight' % table, [3], 4.0, 3.0).tolist()

    return of('Phi3ForCausalLM', 'Phi3Config', intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-5, original_max_position_embeddings=32,
              tie_word_embeddings=False,
              rope_parameters={**ROPE, 'rope_type': 'longrope', 'partial_rotary_factor': 0.75,
                               'original_max_position_embeddings': 32, 'short_factor': factors('short'),
                               'long_factor': factors('long')})


@further('phi3_long', PHI3_KEYS, phi3('phi3_long'), 'Phi3ForCausalLM', architecture='phi3')
def phi3_layers(m):
    ends(m)
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        for tensor, name in (('attn_qkv', 'self_attn.qkv_proj'), ('attn_output', 'self_attn.o_proj'),
                             ('ffn_up', 'mlp.gate_up_proj'), ('ffn_down', 'mlp.down_proj')):
            m.put(block + tensor + '.weight', root + name + '.weight')
    for table in ('short', 'long'):
        m.put('rope_factors_%s.weight' % table, torch.empty(3), 4.0, 3.0)


golden('further/phi3_short', 'phi3', PHI3_KEYS, phi3('phi3_short'), tokens=32,
       more={'source': 'transformers Phi3ForCausalLM', 'context': 32})(phi3_layers)


# All that configurations say of YaRN besides its factor.
@further('llama_yarn_keys',
         {**base_keys(2, 4, 2, 16, 40, 1000.0), 'rope.scaling.type': 'yarn', 'rope.scaling.factor': 8.0,
          'rope.scaling.original_context_length': 16, 'rope.scaling.attn_factor': 1.5 / (0.1 * math.log(8) + 1),
          'rope.scaling.yarn_beta_fast': 4.0, 'rope.scaling.yarn_beta_slow': 0.25,
          'rope.scaling.yarn_truncate': False},
         of('LlamaForCausalLM', 'LlamaConfig',
            **{**LLAMA, 'rope_parameters': {**YARN, 'attention_factor': 1.5, 'beta_fast': 4.0, 'beta_slow': 0.25,
                                            'truncate': False}}),
         'LlamaForCausalLM', architecture='llama')
def llama_yarn_keys(m):
    ends(m)
    llama_layers(m, 2, {'attn_q': 4, 'attn_k': 2})


# Windows where a list says.
WINDOWS = ['sliding_attention', 'full_attention', 'full_attention', 'sliding_attention']
WINDOW_KEYS = {'attention.sliding_window': 7, 'attention.sliding_window_pattern': [True, False, False, True]}
WINDOWED = {**LLAMA, 'num_hidden_layers': 4, 'sliding_window': 7, 'layer_types': WINDOWS}


def post_normed(m, layers, change=None, **norms):
    ends(m, change=change)
    for layer in range(layers):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, change, attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm', **norms)
        attention(m, layer, root + 'self_attn.')
        gated(m, layer, root + 'mlp.')


@further('gemma3_pattern', {**base_keys(4, 4, 2, 16, 40, 1e6), **WINDOW_KEYS, 'rope.freq_base_swa': 10000.0},
         of('Gemma3ForCausalLM', 'Gemma3TextConfig',
            **{**WINDOWED, 'rope_parameters': {'full_attention': {**ROPE, 'rope_theta': 1e6},
                                               'sliding_attention': ROPE}},
            query_pre_attn_scalar=16, tie_word_embeddings=False), 'Gemma3ForCausalLM', architecture='gemma3')
def gemma3_pattern(m):
    post_normed(m, 4, less_one, attn_norm='input_layernorm', post_attention_norm='post_attention_layernorm',
                ffn_norm='pre_feedforward_layernorm', post_ffw_norm='post_feedforward_layernorm')


@further('exaone4_windows', {**base_keys(4, 4, 2, 16, 40, 10000.0), **WINDOW_KEYS},
         of('Exaone4ForCausalLM', 'Exaone4Config', **WINDOWED, tie_word_embeddings=False), 'Exaone4ForCausalLM',
         architecture='exaone4')
def exaone4_windows(m):
    post_normed(m, 4, post_attention_norm='post_attention_layernorm', post_ffw_norm='post_feedforward_layernorm')
