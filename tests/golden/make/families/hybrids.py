"""State spaces, short convolutions and delta rules, alone or beside attention."""
import torch

from blocks import (attention, base_keys, ends, expert_keys, experts, further, gated, golden, layer_norms,
                    linear, of, ROPE, without)

# ---- Ling 3
BAILING = dict(intermediate_size=40, moe_intermediate_size=16, num_hidden_layers=3, num_attention_heads=2,
               num_key_value_heads=2, num_local_experts=8, num_experts=8, num_experts_per_tok=3,
               n_shared_experts=1, n_group=2, topk_group=1, routed_scaling_factor=2.5, norm_topk_prob=True,
               first_k_dense_replace=1, rms_norm_eps=1e-6, kv_lora_rank=16, qk_nope_head_dim=16,
               qk_rope_head_dim=8, v_head_dim=12, head_dim=16, short_conv_kernel_size=4, layer_group_size=3,
               kda_lower_bound=-2.0, num_mtp_layers=0, rope_theta=10000.0)


@golden('bailingmoe3', 'bailingmoe3',
        {**base_keys(3, 2, [0, 0, 1], 24, 40, 10000.0, 1e-6), 'attention.key_length_mla': 24,
         'attention.value_length_mla': 12, 'attention.kv_lora_rank': 16, 'rope.dimension_count': 8,
         'ssm.conv_kernel': 4, 'kda.head_dim': 16, 'kda.safe_gate': True, 'kda.gate_lower_bound': -2.0,
         'leading_dense_block_count': 1,
         **expert_keys(8, 3, 16, shared_count=1, group_count=2, group_used_count=1, weights_scale=2.5,
                       weights_norm=True, gating_func=2)},
        of('BailingHybridForCausalLM', 'BailingHybridConfig', **BAILING), tokens=80)
def bailingmoe3(m):
    bailing_layers(m, 3, [2])


def bailing_layers(m, layers, latent):
    """latent: the layers whose attention is; the others have the delta rule."""
    ends(m)
    for layer in range(layers):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        if layer in latent:
            a = root + 'self_attn.'
            m.put(block + 'attn_q.weight', a + 'q_proj.weight')
            m.put(block + 'attn_kv_a_mqa.weight', a + 'kv_a_proj_with_mqa.weight')
            m.norm(block + 'attn_kv_a_norm.weight', a + 'kv_a_layernorm.weight')
            both = m.parameters[a + 'kv_b_proj.weight'].view(2, 16 + 12, 16)
            m.put(block + 'attn_k_b.weight', both[:, :16].transpose(1, 2))
            m.put(block + 'attn_v_b.weight', both[:, 16:])
            m.put(block + 'attn_gate.weight', a + 'g_proj.weight')
            m.put(block + 'attn_output.weight', a + 'o_proj.weight')
        else:
            a = root + 'self_attn.'
            attention(m, layer, a)
            conv = m.parameters[a + 'conv1d.weight']
            for i, name in enumerate('qkv'):
                m.put(block + 'ssm_conv1d_%s.weight' % name, conv[32 * i:32 * i + 32], spread=0.6)
            m.put(block + 'ssm_f_a.weight', a + 'forget_gate.f_proj.weight')
            m.put(block + 'ssm_dt.bias', a + 'forget_gate.dt_bias', spread=1.0)
            m.put(block + 'ssm_a', a + 'forget_gate.A_log', 1.5, 1.0, [2, 1], torch.log)
            m.put(block + 'ssm_beta.weight', a + 'b_proj.weight')
            m.put(block + 'ssm_g_a.weight', a + 'g_proj.weight')
            m.norm(block + 'ssm_norm.weight', a + 'o_norm.weight')
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias')


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


def final_norm_ends(m, embedding, norm, head=None, norm_tensor='output_norm'):
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
    final_norm_ends(m, 'backbone.embeddings', 'backbone.norm_f')
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
    final_norm_ends(m, 'backbone.embeddings', 'backbone.norm_f', 'lm_head')
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
    final_norm_ends(m, 'model.embed_tokens', 'model.final_layernorm', 'lm_head')
    for layer in range(2):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm')
        m.norm('blk.%d.ffn_norm' % layer, root + 'pre_ff_layernorm.weight')
        mamba2_layer(m, layer, root + 'mamba.')
        attention(m, layer, root + 'self_attn.')
        gated(m, layer, root + 'feed_forward.')


def lfm2(dense_layers):
    def fill(m):
        final_norm_ends(m, 'model.embed_tokens', 'model.embedding_norm', norm_tensor='token_embd_norm')
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
    final_norm_ends(m, 'model.embed_tokens', 'model.norm', 'lm_head')
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


def nemotron_h(types):
    def fill(m):
        final_norm_ends(m, 'model.embeddings', 'model.norm_f', 'lm_head')
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


# ---- MiniMax-01: linear attention with a constant decay beside full attention. The package gives
# its norm an epsilon of 1e-6 whatever the configuration says, and rotates whole heads.
@further('minimax-01',
         {**base_keys(4, 4, 2, 8, 20, 10000.0, 1e-6), 'residual_scale': 3.5,
          'full_attention_interval': 3, **expert_keys(6, 3, 20)},
         of('MiniMaxForCausalLM', 'MiniMaxConfig', intermediate_size=20, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-6, num_local_experts=6, num_experts_per_tok=3,
            block_size=16, layer_types=['linear_attention'] * 2 + ['full_attention', 'linear_attention'],
            tie_word_embeddings=False, rope_parameters=ROPE,
            **{kind + '_alpha_factor': 3.5 for kind in ('full_attn', 'linear_attn', 'mlp')}), 'MiniMaxForCausalLM')
def minimax_01(m):
    final_norm_ends(m, 'model.embed_tokens', 'model.norm', 'lm_head')
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
