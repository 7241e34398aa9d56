"""Latent attention, and attention to selected or pooled positions."""
import torch
import transformers as hf
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Config, DeepseekV2Moe

from blocks import (attention, base_keys, ends, expert_keys, experts, further, gated, golden, halves,
                    layer_norms, LLAMA, LLAMA_KEYS, of, PAIRS, ROPE, without)


# ---- Hunyuan 4. The package gives its latent norms an epsilon of 1e-6 whatever the configuration
# says, and llama.cpp that of the key, so here all norms have 1e-6.
@golden('hy_v4', 'hy_v4',
        {**base_keys(3, 2, 1, 24, 40, 10000.0, 1e-6), 'attention.value_length': 16, 'attention.key_length_mla': 20,
         'attention.value_length_mla': 12, 'attention.kv_lora_rank': 16, 'attention.q_lora_rank': 24,
         'rope.dimension_count': 8, 'leading_dense_block_count': 1, 'swiglu_clamp_exp': [0.75, 0.75, 0.75],
         'hyper_connection.count': 3, 'hyper_connection.epsilon': 0.125, 'hyper_connection.magnitude': 1.5,
         'attention.indexer.head_count': 8, 'attention.indexer.key_length': 16,
         'attention.indexer.top_k': 6, 'attention.indexer.types': [True, True, False],
         **expert_keys(8, 3, 16, shared_count=1, weights_scale=2.5, weights_norm=True, gating_func=2)},
        of('HYV4ForCausalLM', 'HYV4Config', intermediate_size=40, moe_intermediate_size=16,
           num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=1e-6,
           q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=12,
           n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, routed_scaling_factor=2.5,
           norm_topk_prob=True, n_group=1, topk_group=1, index_topk=6, index_head_dim=16, index_n_heads=8,
           indexer_types=['full', 'full', 'shared'], hc_mult=3, hc_magnitude=1.5, hc_eps=0.125,
           swiglu_limit=0.75, rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}))
def hy_v4(m):
    def connection(prefix, root, names='fn scale base'):
        for name, parameter in zip(('fn', 'scale', 'base'), names.split()):
            m.put(prefix + name + '.weight', root + parameter, *([1.0, 0.5] if name == 'scale' else []))

    ends(m)
    connection('output_hc_', 'model.hc_head.', 'hc_fn hc_scale hc_base')
    for layer in range(3):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        connection(block + 'hc_attn_', root + 'attn_hc.')
        connection(block + 'hc_ffn_', root + 'ffn_hc.')
        a = root + 'self_attn.'
        m.put(block + 'attn_q_a.weight', a + 'q_a_proj.weight')
        m.norm(block + 'attn_q_a_norm.weight', a + 'q_a_layernorm.weight')
        m.put(block + 'attn_q_b.weight', a + 'q_b_proj.weight', change=halves(2, 20, 12))
        m.put(block + 'attn_kv_a_mqa.weight', a + 'kv_a_proj_with_mqa.weight', change=halves(1, 24, 16))
        m.norm(block + 'attn_kv_a_norm.weight', a + 'kv_a_layernorm.weight')
        both = m.parameters[a + 'kv_b_proj.weight'].view(2, 12 + 12, 16)
        m.put(block + 'attn_k_b.weight', both[:, :12].transpose(1, 2))
        m.put(block + 'attn_v_b.weight', both[:, 12:])
        m.put(block + 'attn_sinks.weight', a + 'sinks', spread=2.0)
        m.put(block + 'attn_gate.weight', a + 'gate_proj.weight')
        m.put(block + 'attn_output.weight', a + 'o_proj.weight')
        if layer < 2:
            index = a + 'indexer.'
            m.put(block + 'indexer.attn_q_b.weight', index + 'wq_b.weight', change=halves(8, 16, 8))
            m.put(block + 'indexer.attn_k.weight', index + 'wk.weight', change=halves(1, 16, 8))
            m.norm(block + 'indexer.k_norm.weight', index + 'k_norm.weight', change=halves(1, 16, 8))
            m.put(block + 'indexer.k_norm.bias', index + 'k_norm.bias', spread=0.5,
                  change=halves(1, 16, 8))
            m.put(block + 'indexer.proj.weight', index + 'weights_proj.weight')
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias')


# ---- DeepSeek V3.2 and GLM-5: latent attention to the positions that an index chooses
def indexed(layers, own, groups, used_groups):
    """(keys, configuration); own: which layers have an index of their own."""
    keys = {**base_keys(layers, 4, 1, 32, 40, 10000.0, 1e-6), 'attention.key_length_mla': 24,
            'attention.value_length_mla': 12, 'attention.kv_lora_rank': 24, 'attention.q_lora_rank': 20,
            'attention.value_length': 24, 'rope.dimension_count': 8, 'attention.indexer.head_count': 8,
            'attention.indexer.key_length': 16, 'attention.indexer.top_k': 6,
            'leading_dense_block_count': 1,
            **expert_keys(8, 3, 10, shared_count=1, group_count=groups, group_used_count=used_groups,
                          weights_scale=2.5, weights_norm=True, gating_func=2)}
    config = dict(intermediate_size=40, moe_intermediate_size=10, num_hidden_layers=layers,
                  num_attention_heads=4, num_key_value_heads=4, n_routed_experts=8, num_experts_per_tok=3,
                  n_shared_experts=1, n_group=groups, topk_group=used_groups, routed_scaling_factor=2.5,
                  norm_topk_prob=True, first_k_dense_replace=1, rms_norm_eps=1e-6, kv_lora_rank=24,
                  q_lora_rank=20, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12,
                  index_n_heads=8, index_head_dim=16, index_topk=6,
                  rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0})
    if own:
        keys['attention.indexer.types'] = own
        config['indexer_types'] = ['full' if one else 'shared' for one in own]
    return keys, config


def indexed_layers(m, own):
    ends(m)
    for layer, has_index in enumerate(own):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        a = root + 'self_attn.'
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_q_a_norm='self_attn.q_a_layernorm', attn_kv_a_norm='self_attn.kv_a_layernorm')
        for tensor, name in (('attn_q_a', 'q_a_proj'), ('attn_q_b', 'q_b_proj'),
                             ('attn_kv_a_mqa', 'kv_a_proj_with_mqa'), ('attn_output', 'o_proj')):
            m.put(block + tensor + '.weight', a + name + '.weight')
        both = m.parameters[a + 'kv_b_proj.weight'].view(4, 16 + 12, 24)
        m.put(block + 'attn_k_b.weight', both[:, :16].transpose(1, 2))
        m.put(block + 'attn_v_b.weight', both[:, 16:])
        if has_index:
            for tensor, name in (('attn_q_b', 'wq_b'), ('attn_k', 'wk'), ('proj', 'weights_proj')):
                m.put(block + 'indexer.' + tensor + '.weight', a + 'indexer.' + name + '.weight')
            m.norm(block + 'indexer.k_norm.weight', a + 'indexer.k_norm.weight')
            m.put(block + 'indexer.k_norm.bias', a + 'indexer.k_norm.bias', spread=0.375)
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias')


DEEPSEEK32_KEYS, DEEPSEEK32 = indexed(3, None, 2, 1)
GLM_DSA_KEYS, GLM_DSA = indexed(4, [True, False, True, False], 1, 1)


@golden('deepseek32', 'deepseek32', DEEPSEEK32_KEYS,
        of('DeepseekV32ForCausalLM', 'DeepseekV32Config', **DEEPSEEK32))
def deepseek32(m):
    indexed_layers(m, [True] * 3)


@golden('glm-dsa', 'glm-dsa', GLM_DSA_KEYS, of('GlmMoeDsaForCausalLM', 'GlmMoeDsaConfig', **GLM_DSA))
def glm_dsa(m):
    indexed_layers(m, [True, False, True, False])


# ---- GLM-5.3, its text model: pools of 4 positions, of which 2 are chosen. The package hands a
# selection on to the next layer only.
def glm5_next(architecture, layer_types, own):
    """(keys, model); own: which layers have an index of their own, or None: all."""
    latent = [kind == 'indexed_attention' for kind in layer_types]
    keys = {**base_keys(3, 2, [int(one) for one in latent], 16, 24, 10000.0, 1e-5), 'attention.key_length_mla': 12,
            'attention.value_length_mla': 10, 'attention.kv_lora_rank': 16, 'attention.q_lora_rank': 20,
            'rope.dimension_count': 0, 'attention.layer_norm_epsilon': 1e-6, 'attention.indexer.head_count': 6,
            'attention.indexer.key_length': 16, 'attention.indexer.top_k': 8, 'attention.indexer.kpool': 4,
            'ssm.conv_kernel': 4, 'kda.head_dim': 16, 'kda.gate_lower_bound': -5.0,
            'leading_dense_block_count': 1, 'hyper_connection.count': 3, 'hyper_connection.epsilon': 0.0625,
            'hyper_connection.sinkhorn_iterations': 4, 'swiglu_clamp_exp': [0.75] * 3,
            **expert_keys(6, 2, 12, shared_count=1, weights_scale=1.5, weights_norm=True, gating_func=2)}
    if own:
        keys.update({'attention.indexer.types': own, 'attention.indexer.kpool_select_tail': True})
    else:
        keys['swiglu_clamp_shexp'] = [0.75] * 3
    text = dict(vocab_size=64, hidden_size=32, intermediate_size=24, moe_intermediate_size=12,
                num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=1e-5,
                q_lora_rank=20, kv_lora_rank=16, qk_nope_head_dim=12, qk_rope_head_dim=0, v_head_dim=10,
                n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, routed_scaling_factor=1.5,
                norm_topk_prob=True, n_group=1, topk_group=1, index_topk=8, index_head_dim=16, index_n_heads=6,
                index_kpool=4, linear_head_dim=16, linear_num_heads=2, linear_conv_kernel_dim=4,
                linear_lower_bound=-5.0, hc_mult=3, hc_eps=0.0625, hc_sinkhorn_iters=4, swiglu_limit=0.75,
                layer_types=layer_types, mlp_layer_types=['dense'] + ['sparse'] * 2, pad_token_id=None,
                indexer_types=['full' if one else 'shared' for one in own or [True] * 3])

    def model():
        config = hf.Glm5NextConfig(
            text_config=text, attn_implementation='eager', tie_word_embeddings=False,
            vision_config=dict(depth=1, hidden_size=16, num_heads=2, intermediate_size=16, out_hidden_size=32,
                               projection_intermediate_size=16, image_size=28))
        return hf.Glm5NextForConditionalGeneration(config)
    return architecture, keys, model


def glm5_next_layers(m, layer_types, own, pool):
    """pool: the names of the gate and the biases of a pool."""
    ends(m, 'model.language_model.')
    for layer, kind in enumerate(layer_types):
        root, block = 'model.language_model.layers.%d.' % layer, 'blk.%d.' % layer
        a = root + 'self_attn.'
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        for prefix, name in (('hc_attn_', 'attn_hc.'), ('hc_ffn_', 'ffn_hc.')):
            m.put(block + prefix + 'fn.weight', root + name + 'fn', spread=0.125)
            m.put(block + prefix + 'scale.weight', root + name + 'scale', 1.0, 0.5)
            m.put(block + prefix + 'base.weight', root + name + 'base', spread=1.0)
        if kind == 'linear_attention':
            attention(m, layer, a)
            conv = m.parameters[a + 'conv1d.weight']
            for i, name in enumerate('qkv'):
                m.put(block + 'ssm_conv1d_%s.weight' % name, conv[32 * i:32 * i + 32], spread=0.6)
            for name in ('f_a', 'f_b'):
                m.put(block + 'ssm_%s.weight' % name, a + 'forget_gate.%s_proj.weight' % name)
            m.put(block + 'ssm_dt.bias', a + 'forget_gate.dt_bias', spread=1.0)
            m.put(block + 'ssm_a', a + 'forget_gate.A_log', -1.5, 1.0, change=lambda values: torch.log(-values))
            m.put(block + 'ssm_beta.weight', a + 'b_proj.weight')
            for name in ('g_a', 'g_b'):
                m.put(block + 'ssm_%s.weight' % name, a + name + '_proj.weight')
            m.norm(block + 'ssm_norm.weight', a + 'o_norm.weight')
        else:
            layer_norms(m, layer, a, attn_q_a_norm='q_a_layernorm', attn_kv_a_norm='kv_a_layernorm')
            for tensor, name in (('attn_q_a', 'q_a_proj'), ('attn_q_b', 'q_b_proj'),
                                 ('attn_kv_a_mqa', 'kv_a_proj_with_mqa'), ('attn_output', 'o_proj')):
                m.put(block + tensor + '.weight', a + name + '.weight')
            both = m.parameters[a + 'kv_b_proj.weight'].view(2, 12 + 10, 16)
            m.put(block + 'attn_k_b.weight', both[:, :12].transpose(1, 2))
            m.put(block + 'attn_v_b.weight', both[:, 12:])
        if kind == 'indexed_attention' and own[layer]:
            for tensor, name in (('attn_q_b', 'wq_b'), ('attn_k', 'wk'), ('proj', 'weights_proj')):
                m.put(block + 'indexer.' + tensor + '.weight', a + 'indexer.' + name + '.weight')
            m.norm(block + 'indexer.k_norm.weight', a + 'indexer.k_norm.weight')
            m.put(block + 'indexer.k_norm.bias', a + 'indexer.k_norm.bias', spread=0.375)
            m.put(block + pool % 'gate' + '.weight', a + 'indexer.index_kpool_compress_gate')
            m.put(block + pool % 'ape' + '.weight', a + 'indexer.index_kpool_compress_ape', spread=1.0)
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias')


GLM5_LAYERS = ['linear_attention', 'indexed_attention', 'indexed_attention']
GLM5_SHARING = ['indexed_attention', 'indexed_attention', 'linear_attention']


@golden('glm5next', *glm5_next('glm5next', GLM5_LAYERS, None))
def glm5next(m):
    glm5_next_layers(m, GLM5_LAYERS, [True] * 3, 'indexer_compressor_%s')


@golden('glm5-next', *glm5_next('glm5-next', GLM5_SHARING, [True, False, True]))
def glm5_next_dashed(m):
    glm5_next_layers(m, GLM5_SHARING, [True, False, True], 'indexer.kpool_%s')


# ---- DeepSeek V4: pools of 4 positions, of which 3 are chosen, and pools of 8, all of which are
# looked at. Of few index heads none may like several pools, and which of two zeros is the larger is
# not defined.
def deepseek4_model(layers, told, **rope):
    """(keys, model); told: of how many layers a table tells the experts."""
    strides = {'sliding_attention': 0, 'compressed_sparse_attention': 4, 'heavily_compressed_attention': 8}
    count = len(layers)
    keys = {**base_keys(count, 4, 1, 16, None, 10000.0, 1e-5), 'rope.dimension_count': 8,
            'attention.q_lora_rank': 20, 'attention.output_group_count': 2, 'attention.output_lora_rank': 12,
            'attention.sliding_window': 9, 'attention.compress_ratios': [strides[kind] for kind in layers],
            'attention.compress_rope_freq_base': 2000.0, 'attention.indexer.head_count': 8,
            'attention.indexer.key_length': 12, 'attention.indexer.top_k': 3, 'hash_layer_count': told,
            'swiglu_clamp_exp': [0.75] * count, 'hyper_connection.count': 3, 'hyper_connection.epsilon': 0.0625,
            'hyper_connection.sinkhorn_iterations': 4,
            **expert_keys(6, 2, 12, shared_count=1, weights_scale=1.5, weights_norm=True, gating_func=4)}
    del keys['feed_forward_length']
    return keys, of('DeepseekV4ForCausalLM', 'DeepseekV4Config', moe_intermediate_size=12, num_hidden_layers=count,
                    num_attention_heads=4, head_dim=16, q_lora_rank=20, partial_rotary_factor=0.5,
                    num_experts_per_tok=2, n_routed_experts=6, routed_scaling_factor=1.5, layer_types=layers,
                    compress_rates={'compressed_sparse_attention': 4, 'heavily_compressed_attention': 8},
                    compress_rope_theta=2000.0, hc_mult=3, hc_sinkhorn_iters=4, hc_eps=0.0625, swiglu_limit=0.75,
                    mlp_layer_types=['hash_moe'] * told + ['moe'] * (count - told), sliding_window=9, o_groups=2,
                    o_lora_rank=12, index_n_heads=8, index_head_dim=12, index_topk=3, rms_norm_eps=1e-5, **rope)


def deepseek4_pools(m, block, root, prefix):
    for tensor, name in (('kv', 'kv_proj.weight'), ('gate', 'gate_proj.weight')):
        m.put(block + prefix + tensor + '.weight', root + name)
    m.put(block + prefix + 'ape.weight', root + 'position_bias', spread=1.0)
    m.norm(block + prefix + 'norm.weight', root + 'kv_norm.weight')


def deepseek4_layers(m, layers, told):
    ends(m)
    for tensor in ('fn', 'scale', 'base'):
        centre, spread = {'fn': (0.0, 0.125), 'scale': (1.0, 0.5), 'base': (0.0, 1.0)}[tensor]
        m.put('output_hc_%s.weight' % tensor, 'model.hc_head.hc_' + tensor, centre, spread)
    for layer, kind in enumerate(layers):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        a = root + 'self_attn.'
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_q_a_norm='self_attn.q_a_norm', attn_kv_a_norm='self_attn.kv_norm')
        for prefix, name in (('hc_attn_', 'attn_hc.'), ('hc_ffn_', 'ffn_hc.')):
            m.put(block + prefix + 'fn.weight', root + name + 'fn', spread=0.125)
            m.put(block + prefix + 'scale.weight', root + name + 'scale', 1.0, 0.5)
            m.put(block + prefix + 'base.weight', root + name + 'base', spread=1.0)
        for tensor, name in (('attn_q_a', 'q_a_proj'), ('attn_q_b', 'q_b_proj'), ('attn_kv', 'kv_proj'),
                             ('attn_output_a', 'o_a_proj'), ('attn_output_b', 'o_b_proj')):
            m.put(block + tensor + '.weight', a + name + '.weight')
        m.put(block + 'attn_sinks.weight', a + 'sinks', spread=1.0)
        if kind != 'sliding_attention':
            deepseek4_pools(m, block, a + 'compressor.', 'attn_compressor_')
        if kind == 'compressed_sparse_attention':
            index = a + 'compressor.indexer.'
            deepseek4_pools(m, block, index, 'indexer_compressor_')
            m.put(block + 'indexer.attn_q_b.weight', index + 'q_b_proj.weight')
            m.put(block + 'indexer.proj.weight', index + 'scorer.weights_proj.weight')
        if layer < told:
            m.numbers(block + 'ffn_gate_tid2eid.weight', root + 'mlp.gate.tid2eid', 6)
        experts(m, layer, root + 'mlp.', bias=None if layer < told else 'gate.e_score_correction_bias')


DEEPSEEK4_LAYERS = ['sliding_attention', 'compressed_sparse_attention', 'heavily_compressed_attention']
DEEPSEEK4_POOLED = ['heavily_compressed_attention', 'compressed_sparse_attention']
DEEPSEEK4_YARN = {'rope_type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 64, 'beta_fast': 4.0,
        'beta_slow': 1.0}


@golden('deepseek4', 'deepseek4', *deepseek4_model(DEEPSEEK4_LAYERS, 1))
def deepseek4(m):
    deepseek4_layers(m, DEEPSEEK4_LAYERS, 1)


# Stretched, and the last layer's experts told, too. The file counts a block of prediction that it
# has not.
@golden('deepseek4_yarn', 'deepseek4',
        {**deepseek4_model(DEEPSEEK4_POOLED, 2)[0], 'rope.scaling.type': 'yarn', 'rope.scaling.factor': 4.0,
         'rope.scaling.original_context_length': 64, 'rope.scaling.yarn_beta_fast': 4.0,
         'rope.scaling.yarn_beta_slow': 1.0, 'nextn_predict_layers': 1},
        deepseek4_model(DEEPSEEK4_POOLED, 2, rope_parameters=DEEPSEEK4_YARN)[1])
def deepseek4_yarn(m):
    deepseek4_layers(m, DEEPSEEK4_POOLED, 2)


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


def latent_keys(epsilon, **more):
    return {**base_keys(2, 4, 4, 20, 40, 10000.0, epsilon), 'attention.kv_lora_rank': 16,
            'attention.q_lora_rank': 24, 'rope.dimension_count': 8, **more}


LATENT = dict(intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
              q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=8,
              tie_word_embeddings=False, rope_parameters=ROPE)


def latent_layers(m):
    """Rows as files have them, too: what is rotated is neighbours or halves in both."""
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        a = root + 'self_attn.'
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_q_a_norm='self_attn.q_a_layernorm', attn_kv_a_norm='self_attn.kv_a_layernorm')
        m.put(block + 'attn_q_a.weight', a + 'q_a_proj.weight')
        m.put(block + 'attn_q_b.weight', a + 'q_b_proj.weight')
        m.put(block + 'attn_kv_a_mqa.weight', a + 'kv_a_proj_with_mqa.weight')
        m.put(block + 'attn_kv_b.weight', a + 'kv_b_proj.weight')
        m.put(block + 'attn_output.weight', a + 'o_proj.weight')
        gated(m, layer, root + 'mlp.')


# Values are an even share of the width, as no key says otherwise.
@further('minicpm3', without(latent_keys(1e-6), 'attention.value_length'),
         of('MiniCPM3ForCausalLM', 'MiniCPM3Config', **LATENT, rms_norm_eps=1e-6, scale_emb=12, scale_depth=1.4,
            dim_model_base=256, bos_token_id=1), 'MiniCPM3ForCausalLM')
def minicpm3(m):
    ends(m)
    latent_layers(m)


# Without experts.
@further('deepseek2_dense', {**latent_keys(1e-6), 'attention.value_length': 8},
         of('YoutuForCausalLM', 'YoutuConfig', **LATENT, rms_norm_eps=1e-6, rope_interleave=True),
         'YoutuForCausalLM', architecture='deepseek2')
def deepseek2_dense(m):
    ends(m)
    latent_layers(m)


# Two index heads score many positions zero, so scores are equal at the border of the selection.
def choosing_lower(model, ids):
    """Logits if equal scores select the lower positions; torch.topk leaves that open."""
    def topk(x, k, dim=-1, *_, **__):
        places = torch.sort(x, dim=dim, descending=True, stable=True).indices.narrow(dim, 0, k)
        values = torch.gather(x, dim, places)
        if x.shape[-1] == ids.shape[1] and k == 6:
            ties.append(int(((x == values[..., -1:]).sum(-1) > (values == values[..., -1:]).sum(-1)).sum()))
        return torch.return_types.topk((values, places))

    ties, real, of_tensors = [], torch.topk, torch.Tensor.topk
    torch.topk = torch.Tensor.topk = topk
    try:
        logits = model(ids, use_cache=False).logits
    finally:
        torch.topk, torch.Tensor.topk = real, of_tensors
    assert sum(ties) > 20, ties
    return logits


@further('deepseek32_ties', {**DEEPSEEK32_KEYS, 'attention.indexer.head_count': 2},
         of('DeepseekV32ForCausalLM', 'DeepseekV32Config', **{**DEEPSEEK32, 'index_n_heads': 2}),
         'DeepseekV32ForCausalLM', architecture='deepseek32', run=choosing_lower)
def deepseek32_ties(m):
    indexed_layers(m, [True] * 3)
