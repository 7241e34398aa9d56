#!/usr/bin/env python3
"""Writes goldens of tests/data/golden/further, as further_goldens.py does, of the recurrent and hybrid
architectures that the package `transformers` has: Mamba, Mamba 2 and what runs beside attention.

    tests/golden/make/hybrid_goldens.py [NAME ...]
"""
import sys

import torch

import make_transformers_goldens as maker
import transformers_goldens
from further_goldens import ROPE, further, linear
from transformers_goldens import attention, base_keys, expert_keys, experts, gated, layer_norms, of

transformers_goldens.GOLDENS.clear()


def without(keys, *names):
    return {key: value for key, value in keys.items() if key not in names}


def decays(m, tensor, target, shape=None):
    """The file has -exp of the parameter."""
    m.put(tensor, target, -1.0, 0.75, shape=shape, change=lambda a: torch.log(-a))


def scan_input(m, block, root, columns, biased=True):
    linear(m, block + 'ssm_in', root + 'in_proj')
    m.put(block + 'ssm_conv1d.weight', root + 'conv1d.weight', spread=0.75, shape=[columns, 4])
    if biased:
        m.put(block + 'ssm_conv1d.bias', root + 'conv1d.bias', spread=0.375)


def mamba_layer(m, layer, root):
    block, inner = 'blk.%d.' % layer, 64
    scan_input(m, block, root, inner)
    linear(m, block + 'ssm_x', root + 'x_proj')
    linear(m, block + 'ssm_dt', root + 'dt_proj')
    decays(m, block + 'ssm_a', root + 'A_log')
    m.put(block + 'ssm_d', root + 'D', 1.0, 0.5)
    linear(m, block + 'ssm_out', root + 'out_proj')


def mamba2_layer(m, layer, root):
    """4 heads of 16, in 2 groups with a state of 8."""
    block = 'blk.%d.' % layer
    scan_input(m, block, root, 64 + 2 * 2 * 8)
    m.put(block + 'ssm_dt.bias', root + 'dt_bias', spread=0.375)
    decays(m, block + 'ssm_a', root + 'A_log', shape=[4, 1])
    m.put(block + 'ssm_d', root + 'D', 1.0, 0.5, shape=[4, 1])
    m.put(block + 'ssm_norm.weight', root + 'norm.weight', 1.0, 0.5, shape=[2, 32])
    linear(m, block + 'ssm_out', root + 'out_proj')


def ends(m, embedding, norm, head=None, norm_tensor='output_norm'):
    m.put('token_embd.weight', embedding + '.weight', spread=1.0)
    m.norm(norm_tensor + '.weight', norm + '.weight')
    if head:
        linear(m, 'output', head)


MAMBA_KEYS = {'block_count': 3, 'context_length': 256, 'embedding_length': 32, 'feed_forward_length': 0,
              'attention.head_count': 0, 'attention.layer_norm_rms_epsilon': 1e-5, 'ssm.conv_kernel': 4,
              'ssm.inner_size': 64, 'ssm.state_size': 8, 'ssm.time_step_rank': 6, 'ssm.dt_b_c_rms': False}
MAMBA = dict(num_hidden_layers=3, state_size=8, time_step_rank=6, layer_norm_epsilon=1e-5)
MAMBA2_KEYS = {'ssm.conv_kernel': 4, 'ssm.inner_size': 64, 'ssm.state_size': 8, 'ssm.time_step_rank': 4,
               'ssm.group_count': 2}


def mamba(m):
    ends(m, 'backbone.embeddings', 'backbone.norm_f')
    for layer in range(3):
        root = 'backbone.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='norm')
        mamba_layer(m, layer, root + 'mixer.')


further('mamba', MAMBA_KEYS, of('MambaForCausalLM', 'MambaConfig', **MAMBA), 'MambaForCausalLM')(mamba)
further('mamba_norms', {**MAMBA_KEYS, 'ssm.dt_b_c_rms': True},
        of('FalconMambaForCausalLM', 'FalconMambaConfig', **MAMBA, mixer_rms_eps=1e-5), 'FalconMambaForCausalLM',
        architecture='mamba')(mamba)


@further('mamba2', {**without(MAMBA_KEYS, 'ssm.dt_b_c_rms'), **MAMBA2_KEYS},
         of('Mamba2ForCausalLM', 'Mamba2Config', num_hidden_layers=3, state_size=8, num_heads=4, head_dim=16,
            n_groups=2, chunk_size=16, layer_norm_epsilon=1e-5), 'Mamba2ForCausalLM')
def mamba2(m):
    ends(m, 'backbone.embeddings', 'backbone.norm_f', 'lm_head')
    for layer in range(3):
        root = 'backbone.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='norm')
        mamba2_layer(m, layer, root + 'mixer.')


@further('falcon-h1', {**base_keys(2, 4, 2, 8, 40, 10000.0), **MAMBA2_KEYS},
         of('FalconH1ForCausalLM', 'FalconH1Config', intermediate_size=40, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5, mamba_d_ssm=64, mamba_n_heads=4,
            mamba_d_head=16, mamba_n_groups=2, mamba_d_state=8, mamba_chunk_size=16, mamba_rms_norm=True,
            mamba_norm_before_gate=False, rope_parameters=ROPE), 'FalconH1ForCausalLM')
def falcon_h1(m):
    ends(m, 'model.embed_tokens', 'model.final_layernorm', 'lm_head')
    for layer in range(2):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm')
        m.norm('blk.%d.ffn_norm' % layer, root + 'pre_ff_layernorm.weight')
        mamba2_layer(m, layer, root + 'mamba.')
        attention(m, layer, root + 'self_attn.')
        gated(m, layer, root + 'feed_forward.')


def lfm2(dense_layers):
    def fill(m):
        ends(m, 'model.embed_tokens', 'model.embedding_norm', norm_tensor='token_embd_norm')
        for layer in range(3):
            root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
            layer_norms(m, layer, root, attn_norm='operator_norm', ffn_norm='ffn_norm')
            if layer == 1:
                layer_norms(m, layer, root, attn_q_norm='self_attn.q_layernorm',
                            attn_k_norm='self_attn.k_layernorm')
                attention(m, layer, root + 'self_attn.', 'q_proj k_proj v_proj out_proj')
            else:
                linear(m, block + 'shortconv.in_proj', root + 'conv.in_proj')
                m.put(block + 'shortconv.conv.weight', root + 'conv.conv.weight', spread=0.75, shape=[32, 3])
                linear(m, block + 'shortconv.out_proj', root + 'conv.out_proj')
            if layer >= dense_layers:
                experts(m, layer, root + 'feed_forward.', bias='expert_bias', shared=None)
                continue
            for tensor, name in (('ffn_gate', 'w1'), ('ffn_up', 'w3'), ('ffn_down', 'w2')):
                linear(m, block + tensor, root + 'feed_forward.' + name)
    return fill


LFM2_KEYS = {**base_keys(3, 4, [0, 2, 0], 8, 40, 10000.0), 'shortconv.l_cache': 3}
LFM2 = dict(intermediate_size=40, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, norm_eps=1e-5,
            conv_L_cache=3, layer_types=['conv', 'full_attention', 'conv'], rope_parameters=ROPE)
further('lfm2', LFM2_KEYS, of('Lfm2ForCausalLM', 'Lfm2Config', **LFM2, block_auto_adjust_ff_dim=False),
        'Lfm2ForCausalLM')(lfm2(3))
further('lfm2moe', {**LFM2_KEYS, **expert_keys(6, 3, 24, gating_func=2), 'leading_dense_block_count': 1},
        of('Lfm2MoeForCausalLM', 'Lfm2MoeConfig', **LFM2, moe_intermediate_size=24, num_dense_layers=1, num_experts=6,
           num_experts_per_tok=3), 'Lfm2MoeForCausalLM')(lfm2(1))


@further('granitehybrid',
         {**base_keys(3, 4, [0, 2, 0], 8, 24, 10000.0), **MAMBA2_KEYS, 'embedding_scale': 3.0, 'residual_scale': 0.6,
          'attention.scale': 0.4, 'logit_scale': 2.0, **expert_keys(6, 3, 24, shared_feed_forward_length=20)},
         of('GraniteMoeHybridForCausalLM', 'GraniteMoeHybridConfig', intermediate_size=24,
            shared_intermediate_size=20, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
            mamba_n_heads=4, mamba_d_head=16, mamba_n_groups=2, mamba_d_state=8, mamba_chunk_size=16,
            num_local_experts=6, num_experts_per_tok=3, layer_types=['mamba', 'attention', 'mamba'],
            rms_norm_eps=1e-5, embedding_multiplier=3.0, residual_multiplier=0.6, attention_multiplier=0.4,
            logits_scaling=2.0, position_embedding_type='rope', rope_parameters=ROPE),
         'GraniteMoeHybridForCausalLM')
def granitehybrid(m):
    ends(m, 'model.embed_tokens', 'model.norm', 'lm_head')
    for layer in range(3):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        if layer == 1:
            attention(m, layer, root + 'self_attn.', pairs={'attn_q': 4, 'attn_k': 2})
        else:
            mamba2_layer(m, layer, root + 'mamba.')
        experts(m, layer, root + 'block_sparse_moe.', router='router.weight', shared=None)
        both = m.parameters[root + 'shared_mlp.input_linear.weight']
        m.put(block + 'ffn_gate_shexp.weight', both[:20])
        m.put(block + 'ffn_up_shexp.weight', both[20:])
        linear(m, block + 'ffn_down_shexp', root + 'shared_mlp.output_linear')


def less_one(values):
    """Norms of the package multiply by 1 + w, those of files by w."""
    return values - 1


def qwen_norms(m, layer, root, **tensors):
    layer_norms(m, layer, root, less_one, **tensors)


def qwen_ends(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    m.norm('output_norm.weight', 'model.norm.weight', change=less_one)
    linear(m, 'output', 'lm_head')


# Of each of two key heads its query and key, and the values and gates of two value heads, are neighbours in
# the package; files have all queries, keys and values, and the gates apart.
@further('qwen3next',
         {**base_keys(3, 4, 2, 8, 40, 10000.0, 1e-6), 'rope.dimension_count': 4, 'ssm.conv_kernel': 4,
          'ssm.inner_size': 24, 'ssm.state_size': 8, 'ssm.time_step_rank': 4, 'ssm.group_count': 2,
          'full_attention_interval': 3, **expert_keys(5, 2, 16, shared_feed_forward_length=20)},
         of('Qwen3NextForCausalLM', 'Qwen3NextConfig', num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, linear_key_head_dim=8, linear_value_head_dim=6,
            linear_num_key_heads=2, linear_num_value_heads=4, moe_intermediate_size=16,
            shared_expert_intermediate_size=20, num_experts=5, num_experts_per_tok=2, rms_norm_eps=1e-6,
            layer_types=['linear_attention'] * 2 + ['full_attention'],
            rope_parameters={**ROPE, 'partial_rotary_factor': 0.5}), 'Qwen3NextForCausalLM')
def qwen3next(m):
    qwen_ends(m)
    for layer in range(3):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        qwen_norms(m, layer, root, attn_norm='input_layernorm', post_attention_norm='post_attention_layernorm')
        if layer == 2:
            attention(m, layer, root + 'self_attn.')
            qwen_norms(m, layer, root, attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm')
        else:
            rule = root + 'linear_attn.'
            of_head = m.parameters[rule + 'in_proj_qkvz.weight'].view(2, 2 * 8 + 2 * 2 * 6, 32)
            qkv = torch.empty(2 * 2 * 8 + 4 * 6, 32)
            m.put(block + 'attn_qkv.weight', qkv)
            with torch.no_grad():
                for part, first, rows in ((qkv[:16], 0, 8), (qkv[16:32], 8, 8), (qkv[32:], 16, 12)):
                    of_head[:, first:first + rows].copy_(part.view(2, rows, 32))
            m.put(block + 'attn_gate.weight', of_head[:, 28:], shape=[24, 32])
            linear(m, block + 'ssm_ba', rule + 'in_proj_ba')
            m.put(block + 'ssm_conv1d.weight', rule + 'conv1d.weight', spread=0.75, shape=[56, 4])
            m.put(block + 'ssm_dt.bias', rule + 'dt_bias', spread=0.375)
            decays(m, block + 'ssm_a', rule + 'A_log')
            m.norm(block + 'ssm_norm.weight', rule + 'norm.weight')
            linear(m, block + 'ssm_out', rule + 'out_proj')
        experts(m, layer, root + 'mlp.', shared='shared_expert.')
        m.put(block + 'ffn_gate_inp_shexp.weight', root + 'mlp.shared_expert_gate.weight', shape=[32], spread=0.75)


# Value heads of files take turns among the key heads that they read; in the package they are neighbours.
def qwen35_layers(m):
    """All but the feed-forwards."""
    def neighbours(values, rows):
        """The last `rows` rows: from [turns, key heads, .] to [key heads, turns, .]."""
        heads = values[-rows:].reshape(3, 2, rows // 6, -1).transpose(0, 1).reshape(values[-rows:].shape)
        return torch.cat((values[:-rows], heads))

    def put(tensor, target, rows, **more):
        change = more.pop('change', lambda values: values)
        m.put(tensor, target, change=lambda values: change(neighbours(values, rows)), **more)

    for layer in range(3):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        qwen_norms(m, layer, root, attn_norm='input_layernorm', post_attention_norm='post_attention_layernorm')
        if layer == 2:
            attention(m, layer, root + 'self_attn.')
            qwen_norms(m, layer, root, attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm')
            continue
        rule = root + 'linear_attn.'
        put(block + 'attn_qkv.weight', rule + 'in_proj_qkv.weight', 24)
        put(block + 'attn_gate.weight', rule + 'in_proj_z.weight', 24)
        put(block + 'ssm_alpha.weight', rule + 'in_proj_a.weight', 6)
        put(block + 'ssm_beta.weight', rule + 'in_proj_b.weight', 6)
        put(block + 'ssm_conv1d.weight', rule + 'conv1d.weight', 24, spread=0.75, shape=[56, 4])
        put(block + 'ssm_dt.bias', rule + 'dt_bias', 6, spread=0.375)
        put(block + 'ssm_a', rule + 'A_log', 6, centre=-1.0, spread=0.75, change=lambda a: torch.log(-a))
        m.norm(block + 'ssm_norm.weight', rule + 'norm.weight')
        m.put(block + 'ssm_out.weight', rule + 'out_proj.weight', change=lambda w: neighbours(w.T, 24).T)


@further('qwen35',
         {**base_keys(3, 4, 2, 8, 40, 10000.0, 1e-6), 'rope.dimension_count': 4, 'ssm.conv_kernel': 4,
          'ssm.inner_size': 24, 'ssm.state_size': 8, 'ssm.time_step_rank': 6, 'ssm.group_count': 2,
          'full_attention_interval': 3, 'rope.dimension_sections': [1, 1, 0, 0]},
         of('Qwen3_5ForCausalLM', 'Qwen3_5TextConfig', intermediate_size=40, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, head_dim=8, linear_key_head_dim=8, linear_value_head_dim=4,
            linear_num_key_heads=2, linear_num_value_heads=6, rms_norm_eps=1e-6, tie_word_embeddings=False,
            layer_types=['linear_attention'] * 2 + ['full_attention'],
            rope_parameters={**ROPE, 'partial_rotary_factor': 0.5, 'mrope_section': [1, 1, 0],
                             'mrope_interleaved': True}), 'Qwen3_5ForCausalLM')
def qwen35(m):
    qwen_ends(m)
    qwen35_layers(m)
    for layer in range(3):
        gated(m, layer, 'model.layers.%d.mlp.' % layer)


def nemotron_h(types):
    def fill(m):
        ends(m, 'model.embeddings', 'model.norm_f', 'lm_head')
        for layer, kind in enumerate(types):
            root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
            layer_norms(m, layer, root, attn_norm='norm')
            mixer = root + 'mixer.'
            if kind == 'linear_attention':
                mamba2_layer(m, layer, mixer)
            elif kind == 'full_attention':
                attention(m, layer, mixer)
            elif kind == 'mlp':
                linear(m, block + 'ffn_up', mixer + 'up_proj')
                linear(m, block + 'ffn_down', mixer + 'down_proj')
            else:
                m.put(block + 'ffn_gate_inp.weight', mixer + 'gate.weight', spread=0.75)
                m.put(block + 'exp_probs_b.bias', mixer + 'gate.e_score_correction_bias', spread=0.25)
                linear(m, block + 'ffn_latent_down', mixer + 'fc1_latent_proj')
                linear(m, block + 'ffn_latent_up', mixer + 'fc2_latent_proj')
                for name in ('up', 'down'):
                    m.put(block + 'ffn_%s_exps.weight' % name, mixer + 'experts.%s_proj' % name)
                    linear(m, block + 'ffn_%s_shexp' % name, mixer + 'shared_experts.%s_proj' % name)
    return fill


NEMOTRON = dict(intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=8, mamba_num_heads=4,
                mamba_head_dim=16, n_groups=2, ssm_state_size=8, chunk_size=16, layer_norm_epsilon=1e-5)
DENSE = ['linear_attention', 'mlp', 'full_attention', 'linear_attention', 'mlp']
SPARSE = ['linear_attention', 'moe', 'full_attention', 'moe']
further('nemotron_h', {**base_keys(5, 4, [0, 0, 2, 0, 0], 8, [0, 40, 0, 0, 40], 10000.0), **MAMBA2_KEYS},
        of('NemotronHForCausalLM', 'NemotronHConfig', **NEMOTRON, layers_block_type=DENSE),
        'NemotronHForCausalLM')(nemotron_h(DENSE))
further('nemotron_h_moe',
        {**base_keys(4, 4, [0, 0, 2, 0], 8, [0, 24, 0, 24], 10000.0), **MAMBA2_KEYS, 'moe_latent_size': 16,
         **expert_keys(6, 3, 24, shared_count=1, shared_feed_forward_length=20, weights_norm=True,
                       weights_scale=2.5)},
        of('NemotronHForCausalLM', 'NemotronHConfig', **NEMOTRON, layers_block_type=SPARSE, n_routed_experts=6,
           num_experts_per_tok=3, moe_intermediate_size=24, moe_shared_expert_intermediate_size=20,
           moe_latent_size=16, routed_scaling_factor=2.5), 'NemotronHForCausalLM')(nemotron_h(SPARSE))


# ---- MiniMax-01: linear attention with a constant decay beside full attention. The package gives its norm an
# epsilon of 1e-6 whatever the configuration says, and rotates whole heads.
@further('minimax-01',
         {**base_keys(4, 4, 2, 8, 20, 10000.0, 1e-6), 'residual_scale': 3.5,
          'full_attention_interval': 3, **expert_keys(6, 3, 20)},
         of('MiniMaxForCausalLM', 'MiniMaxConfig', intermediate_size=20, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-6, num_local_experts=6, num_experts_per_tok=3,
            block_size=16, layer_types=['linear_attention'] * 2 + ['full_attention', 'linear_attention'],
            tie_word_embeddings=False, rope_parameters=ROPE,
            **{kind + '_alpha_factor': 3.5 for kind in ('full_attn', 'linear_attn', 'mlp')}), 'MiniMaxForCausalLM')
def minimax_01(m):
    ends(m, 'model.embed_tokens', 'model.norm', 'lm_head')
    for layer in range(4):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        if layer == 2:
            attention(m, layer, root + 'self_attn.')
        else:
            m.put(block + 'attn_qkv.weight', root + 'self_attn.qkv_proj.weight')
            m.norm(block + 'attn_norm_2.weight', root + 'self_attn.norm.weight')
            m.put(block + 'attn_gate.weight', root + 'self_attn.output_gate.weight')
            m.put(block + 'attn_output.weight', root + 'self_attn.out_proj.weight')
        experts(m, layer, root + 'mlp.', shared=None)


# ---- HRM-Text: two stacks of two layers, the low one three times before each of the high one's two.
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


if __name__ == '__main__':
    for name, one in transformers_goldens.GOLDENS.items():
        if len(sys.argv) == 1 or name.split('/')[1] in sys.argv[1:]:
            maker.make(name, one)
