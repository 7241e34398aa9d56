#!/usr/bin/env python3
"""Writes goldens of tests/data/prediction, as predictions.py does, whose layers are those of the Python package
`transformers` in float64: a model of the package has the trunk's layers and those of its prediction blocks
in one list, of which the others hand on what they get. Made as make_transformers_goldens.py says.

    tests/golden/make/transformers_predictions.py [NAME ...]

What joins a block's inputs is DeepSeek-V3's (arXiv 2412.19437, section 2.2). Which norms the hidden states
have been through differs, as said at each model.
"""
import os
import sys
import types

import torch
from torch import nn

import make_transformers_goldens as maker
import transformers as hf
import blocks
from blocks import attention, base_keys, ends, expert_keys, experts, gated, golden, layer_norms, of
from families import mixtures
from families.deepseek import indexed, indexed_layers
from families.hybrids import BAILING, bailing_layers
from families.mixtures import STEP

blocks.GOLDENS.clear()
maker.FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../data/prediction')
TOKENS = 24
WIDTH = 32


class Block(nn.Module):
    """Tensors of a prediction block beside its layer. plus_one: norms hold 1 + w, as in the package."""

    def __init__(self, own_norm, own_ends, epsilon, plus_one):
        super().__init__()
        self.epsilon, self.plus_one = epsilon, plus_one
        self.enorm = nn.Parameter(torch.empty(WIDTH))
        self.hnorm = nn.Parameter(torch.empty(WIDTH))
        self.eh_proj = nn.Parameter(torch.empty(WIDTH, 2 * WIDTH))
        self.head_norm = nn.Parameter(torch.empty(WIDTH)) if own_norm else None
        self.head = nn.Parameter(torch.empty(64, WIDTH)) if own_ends else None
        self.tokens = nn.Parameter(torch.empty(64, WIDTH)) if own_ends else None

    def norm(self, x, weight):
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + self.epsilon)
        return x * scale * (1 + weight if self.plus_one else weight)


def passing(layer):
    """The layer hands on what it gets."""
    kept = layer.forward
    gives_two = 'GlmMoeDsa' in type(layer).__name__
    layer.forward = lambda x, *_, **__: (x, None) if gives_two else x
    return types.SimpleNamespace(back=lambda: setattr(layer, 'forward', kept))


def hidden_states(base, norm, active, rows):
    """Rows [1, tokens, width] through some of a model's layers, as they come to the norm after the last."""
    seen = []
    hook = norm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    others = [passing(layer) for i, layer in enumerate(base.layers) if i not in active]
    base(inputs_embeds=rows, use_cache=False)
    for layer in others:
        layer.back()
    hook.remove()
    return seen[0]


def prediction(name, keys, model, blocks, layers_of=lambda block: [block], trunk=2, epsilon=1e-5,
               root='model', final='norm', own_norm='nextn.shared_head_norm', own_ends=False, plus_one=False,
               reads_normed=True, hands_on_normed=True):
    """A golden. trunk, layers_of: layers of the package's model before the first block, and of a block's
    number in the file."""
    def build():
        made = model()
        made.nextn = nn.ModuleList([Block(own_norm, own_ends, epsilon, plus_one) for _ in range(blocks)])
        return made

    def run(made, ids):
        base = made.get_submodule(root)
        norm, head = base.get_submodule(final), made.lm_head.weight
        table = base.get_input_embeddings().weight
        x = hidden_states(base, norm, range(trunk), table[ids])
        normed = norm(x)
        hidden = normed if reads_normed else x
        values = [normed @ head.T, hidden]
        for b, block in enumerate(made.nextn):
            tokens = (table if block.tokens is None else block.tokens)[ids[:, 1 + b:]]
            both = torch.cat([block.norm(tokens, block.enorm), block.norm(hidden[:, :-1], block.hnorm)], -1)
            first = keys['block_count'] - blocks + b
            x = hidden_states(base, norm, layers_of(first), both @ block.eh_proj.T)
            normed = norm(x) if block.head_norm is None else block.norm(x, block.head_norm)
            hidden = normed if hands_on_normed else x
            values += [normed @ (head if block.head is None else block.head).T, hidden]
        return torch.cat([v.reshape(1, -1) for v in values], -1)

    def register(fill):
        def fill_all(m):
            fill(m)
            for b in range(blocks):
                block, own = 'blk.%d.' % (keys['block_count'] - blocks + b), 'nextn.%d.' % b
                change = (lambda w: w - 1) if plus_one else (lambda w: w)
                m.norm(block + 'nextn.enorm.weight', own + 'enorm', change)
                m.norm(block + 'nextn.hnorm.weight', own + 'hnorm', change)
                m.put(block + 'nextn.eh_proj.weight', own + 'eh_proj')
                if own_norm:
                    m.norm(block + own_norm + '.weight', own + 'head_norm', change)
                if own_ends:
                    m.put(block + 'nextn.shared_head_head.weight', own + 'head')
                    m.put(block + 'nextn.embed_tokens.weight', own + 'tokens', spread=1.0)
        golden(name + '_prediction', name, {**keys, 'nextn_predict_layers': blocks}, build, run=run,
               tokens=TOKENS)(fill_all)
        return fill
    return register


# ---- MiMo-V2: blocks with a window and without experts. As in llama.cpp and SGLang hidden states
# are before the norms.
WINDOWS = ['full_attention', 'sliding_attention', 'sliding_attention', 'sliding_attention']


@prediction('mimo2',
            {**base_keys(4, 4, [1, 2, 2, 2], 16, 40, 100000.0), 'attention.value_length': 8,
             'attention.value_scale': 0.707, 'attention.sliding_window': 9,
             'attention.sliding_window_pattern': [0, 1, 1, 1], 'rope.dimension_count': 8,
             'rope.freq_base_swa': 10000.0, **expert_keys(6, 3, 20)},
            of('MiMoV2FlashForCausalLM', 'MiMoV2FlashConfig', intermediate_size=40, num_hidden_layers=4,
               num_attention_heads=4, num_key_value_heads=1, head_dim=16, v_head_dim=8, rms_norm_eps=1e-5,
               sliding_window=9, attention_value_scale=0.707, n_routed_experts=6, num_experts_per_tok=3,
               moe_intermediate_size=20, n_group=1, topk_group=1, routed_scaling_factor=1.0,
               norm_topk_prob=True, layer_types=WINDOWS,
               mlp_layer_types=['dense', 'sparse', 'dense', 'dense'],
               rope_parameters={'full_attention': {'rope_type': 'default', 'rope_theta': 100000.0,
                                                   'partial_rotary_factor': 0.5},
                                'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0,
                                                      'partial_rotary_factor': 0.5}}),
            blocks=2, own_norm='layer_output_norm', reads_normed=False, hands_on_normed=False)
def mimo2(m):
    ends(m)
    for layer in range(4):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        attention(m, layer, root + 'self_attn.')
        if layer > 0:
            m.put('blk.%d.attn_sinks.weight' % layer, root + 'self_attn.sinks', spread=2.0)
        if layer == 1:
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias', shared=None)
        else:
            gated(m, layer, root + 'mlp.')


# ---- Step 3.5: the same, a head of their own. As in llama.cpp and SGLang hidden states are before
# the norms.
def step_model():
    config = hf.Step3p7Config(
        text_config={**STEP, 'layer_types': WINDOWS, 'mlp_layer_types': ['dense', 'sparse', 'dense', 'dense'],
                     'swiglu_limits': [0.0, 0.5, 0.0, 0.0], 'swiglu_limits_shared': [0.5, 0.75, 0.0, 0.25]},
        attn_implementation='eager', tie_word_embeddings=False,
        vision_config=dict(width=16, layers=1, heads=2, image_size=28, patch_size=14))
    return hf.Step3p7ForConditionalGeneration(config)


@prediction('step35',
            {**base_keys(4, [4, 6, 6, 6], 2, 8, 40, 100000.0), 'attention.sliding_window': 9,
             'attention.sliding_window_pattern': [False, True, True, True], 'rope.freq_base_swa': 10000.0,
             'leading_dense_block_count': 1, 'swiglu_clamp_exp': [0.0, 0.5, 0.0, 0.0],
             'swiglu_clamp_shexp': [0.5, 0.75, 0.0, 0.25],
             **expert_keys(6, 3, 20, shared_feed_forward_length=20, weights_scale=2.5, weights_norm=True)},
            step_model, blocks=2, root='model.language_model', own_ends=True, plus_one=True,
            reads_normed=False, hands_on_normed=False)
def step35(m):
    def plus_one(w):
        return w - 1
    ends(m, 'model.language_model.', change=plus_one)
    for layer in range(4):
        root = 'model.language_model.layers.%d.' % layer
        layer_norms(m, layer, root, plus_one, attn_norm='input_layernorm',
                    ffn_norm='post_attention_layernorm', attn_q_norm='self_attn.q_norm',
                    attn_k_norm='self_attn.k_norm')
        attention(m, layer, root + 'self_attn.')
        m.put('blk.%d.attn_gate.weight' % layer, root + 'self_attn.g_proj.weight')
        if layer == 1:
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias')
        else:
            gated(m, layer, root + 'mlp.')


# ---- Nemotron 3: the block is two layers of the package, attention and experts. As in vLLM its
# norms are RMS norms and hidden states are after them.
NEMOTRON = ['linear_attention', 'full_attention', 'moe', 'full_attention', 'moe']


@prediction('nemotron_h_moe',
            {**base_keys(4, 4, [0, 2, 0, 2], 8, [0, 0, 20, 20], 10000.0), 'ssm.conv_kernel': 4,
             'ssm.inner_size': 32, 'ssm.state_size': 8, 'ssm.time_step_rank': 4, 'ssm.group_count': 2,
             'moe_latent_size': 16,
             **expert_keys(6, 3, 20, shared_count=1, shared_feed_forward_length=24, weights_scale=2.5,
                           weights_norm=True)},
            of('NemotronHForCausalLM', 'NemotronHConfig', layers_block_type=NEMOTRON, num_attention_heads=4,
               num_key_value_heads=2, head_dim=8, layer_norm_epsilon=1e-5, mamba_num_heads=4,
               mamba_head_dim=8, ssm_state_size=8, n_groups=2, conv_kernel=4, chunk_size=8,
               n_routed_experts=6, num_experts_per_tok=3, n_shared_experts=1, moe_intermediate_size=20,
               moe_shared_expert_intermediate_size=24, moe_latent_size=16, n_group=1, topk_group=1,
               routed_scaling_factor=2.5, norm_topk_prob=True, intermediate_size=20, use_mamba_kernels=False,
               tie_word_embeddings=False),
            blocks=1, trunk=3, layers_of=lambda _: [3, 4], root='model', final='norm_f')
def nemotron(m):
    m.put('token_embd.weight', 'model.embeddings.weight', spread=1.0)
    m.norm('output_norm.weight', 'model.norm_f.weight')
    m.put('output.weight', 'lm_head.weight')
    for layer, kind in enumerate(NEMOTRON):
        root, number = 'model.layers.%d.' % layer, min(layer, 3)
        block, mixer = 'blk.%d.' % number, root + 'mixer.'
        second = layer == 4
        m.norm(block + ('post_attention_norm.weight' if second else 'attn_norm.weight'), root + 'norm.weight')
        if kind == 'linear_attention':
            m.put(block + 'ssm_in.weight', mixer + 'in_proj.weight')
            m.put(block + 'ssm_conv1d.weight', m.parameters[mixer + 'conv1d.weight'][:, 0], spread=0.6)
            m.put(block + 'ssm_conv1d.bias', mixer + 'conv1d.bias', spread=0.375)
            m.put(block + 'ssm_dt.bias', mixer + 'dt_bias', spread=1.0)
            m.put(block + 'ssm_a', mixer + 'A_log', -1.5, 1.0, [4, 1], lambda a: torch.log(-a))
            m.put(block + 'ssm_d', mixer + 'D', 1.0, 0.5, [4, 1])
            m.put(block + 'ssm_norm.weight', mixer + 'norm.weight', 1.0, 0.5, [2, 16])
            m.put(block + 'ssm_out.weight', mixer + 'out_proj.weight')
        elif kind == 'full_attention':
            attention(m, number, mixer)
        else:
            m.put(block + 'ffn_gate_inp.weight', mixer + 'gate.weight', spread=0.75)
            m.put(block + 'exp_probs_b.bias', mixer + 'gate.e_score_correction_bias', spread=0.25)
            for tensor, name in (('latent_down', 'fc1_latent_proj.weight'),
                                 ('latent_up', 'fc2_latent_proj.weight'), ('up_exps', 'experts.up_proj'),
                                 ('down_exps', 'experts.down_proj'), ('up_shexp', 'shared_experts.up_proj.weight'),
                                 ('down_shexp', 'shared_experts.down_proj.weight')):
                m.put(block + 'ffn_' + tensor + '.weight', mixer + name)


# ---- DeepSeek V3.2 and GLM-5: blocks with an index of their own, GLM-5's after layers that share
# one. A block of DeepSeek's hands on what is before its norm (vLLM), one of GLM's what is after it
# (llama.cpp, `transformers`).
DEEPSEEK_KEYS, DEEPSEEK = indexed(3, None, 2, 1)
GLM_KEYS, GLM = indexed(3, [True, False, True], 1, 1)


@prediction('deepseek32', DEEPSEEK_KEYS, of('DeepseekV32ForCausalLM', 'DeepseekV32Config', **DEEPSEEK),
            blocks=1, epsilon=1e-6, hands_on_normed=False)
def deepseek32(m):
    indexed_layers(m, [True] * 3)


@prediction('glm-dsa', GLM_KEYS, of('GlmMoeDsaForCausalLM', 'GlmMoeDsaConfig', **GLM), blocks=1, epsilon=1e-6)
def glm_dsa(m):
    indexed_layers(m, [True, False, True])


# ---- Hunyuan 3. As in llama.cpp and vLLM hidden states are after the norms.
@prediction('hy_v3',
            {**base_keys(3, 4, 2, 16, 40, 10000.0),
             **expert_keys(8, 3, 24, shared_feed_forward_length=24, weights_scale=2.5)},
            of('HYV3ForCausalLM', 'HYV3Config', intermediate_size=40, num_hidden_layers=3,
               num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-5, num_experts=8,
               num_experts_per_tok=3, num_shared_experts=1, moe_intermediate_size=24,
               router_scaling_factor=2.5, rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}),
            blocks=1)
def hy_v3(m):
    mixtures.hy_v3(m)


# ---- Ling 3: a block of latent attention after layers of the delta rule. As in llama.cpp hidden
# states are after the norms.
@prediction('bailingmoe3',
            {**base_keys(3, 2, [0, 0, 1], 24, 40, 10000.0, 1e-6), 'attention.key_length_mla': 24,
             'attention.value_length_mla': 12, 'attention.kv_lora_rank': 16, 'rope.dimension_count': 8,
             'ssm.conv_kernel': 4, 'kda.head_dim': 16, 'kda.safe_gate': True, 'kda.gate_lower_bound': -2.0,
             'leading_dense_block_count': 1,
             **expert_keys(8, 3, 16, shared_count=1, group_count=2, group_used_count=1, weights_scale=2.5,
                           weights_norm=True, gating_func=2)},
            of('BailingHybridForCausalLM', 'BailingHybridConfig', **BAILING),
            blocks=1, epsilon=1e-6, own_norm='layer_output_norm')
def bailingmoe3(m):
    bailing_layers(m, 3, [2])


# ---- Qwen3-Next. As in llama.cpp and vLLM hidden states are after the norms.
@prediction('qwen3next',
            {**base_keys(3, 4, 2, 16, 40, 10000.0, 1e-6), 'rope.dimension_count': 8, 'ssm.conv_kernel': 4,
             'ssm.inner_size': 32, 'ssm.state_size': 8, 'ssm.time_step_rank': 4, 'ssm.group_count': 2,
             'full_attention_interval': 1, **expert_keys(6, 3, 16, shared_feed_forward_length=24)},
            of('Qwen3NextForCausalLM', 'Qwen3NextConfig', intermediate_size=40, num_hidden_layers=3,
               num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-6,
               layer_types=['full_attention'] * 3, num_experts=6, num_experts_per_tok=3,
               moe_intermediate_size=16, shared_expert_intermediate_size=24, norm_topk_prob=True,
               decoder_sparse_step=1, mlp_only_layers=[], partial_rotary_factor=0.5,
               rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5}),
            blocks=1, epsilon=1e-6, plus_one=True)
def qwen3next(m):
    def plus_one(w):
        return w - 1
    ends(m, change=plus_one)
    for layer in range(3):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, plus_one, attn_norm='input_layernorm',
                    post_attention_norm='post_attention_layernorm', attn_q_norm='self_attn.q_norm',
                    attn_k_norm='self_attn.k_norm')
        attention(m, layer, root + 'self_attn.')
        experts(m, layer, root + 'mlp.', shared='shared_expert.')
        m.put('blk.%d.ffn_gate_inp_shexp.weight' % layer, root + 'mlp.shared_expert_gate.weight', spread=0.75,
              shape=[32])


if __name__ == '__main__':
    for name, one in blocks.GOLDENS.items():
        if len(sys.argv) == 1 or one['architecture'] in sys.argv[1:]:
            maker.make(name, one)
