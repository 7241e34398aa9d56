"""What the goldens of make_transformers_goldens.py are: for each a model of the package `transformers`, the
keys of a file and, tensor by tensor, the parameter it is. Every feature of a model is on and none neutral."""
import math

import torch
import transformers as hf

GOLDENS = {}


def golden(name, architecture, keys, model, vocab=64, **more):
    """Registers a golden; the function is its `fill`."""
    def register(fill):
        GOLDENS[name] = {'architecture': architecture, 'keys': keys, 'model': model, 'fill': fill,
                         'vocab': vocab, **more}
        return fill
    return register


def of(model_class, config_class, **config):
    """A small model with the plain implementation of attention."""
    config = {'vocab_size': 64, 'hidden_size': 32, 'max_position_embeddings': 256, 'pad_token_id': None,
              'bos_token_id': None, 'eos_token_id': None, 'attn_implementation': 'eager', **config}
    return lambda: getattr(hf, model_class)(getattr(hf, config_class)(**config))


def base_keys(layers, heads, kv_heads, head, feed_forward, theta, epsilon=1e-5, width=32):
    return {'block_count': layers, 'context_length': 256, 'embedding_length': width,
            'feed_forward_length': feed_forward, 'attention.head_count': heads,
            'attention.head_count_kv': kv_heads, 'attention.key_length': head,
            'attention.value_length': head, 'attention.layer_norm_rms_epsilon': epsilon,
            'rope.dimension_count': head, 'rope.freq_base': theta}


def expert_keys(count, used, width, **more):
    return {'expert_count': count, 'expert_used_count': used, 'expert_feed_forward_length': width,
            **{'expert_' + name: value for name, value in more.items()}}


def ends(m, root='model.', head='lm_head.weight', norm='output_norm.weight', change=None):
    m.put('token_embd.weight', root + 'embed_tokens.weight', spread=1.0)
    m.norm(norm, root + 'norm.weight', **({'change': change} if change else {}))
    if head:
        m.put('output.weight', head)


def adjacent(parameter, heads):
    """Rows in the order of files whose rotated pairs are neighbours."""
    rows, columns = parameter.shape
    return parameter.view(heads, 2, rows // heads // 2, columns).transpose(1, 2)


def halves(heads, head, plain):
    """From rows whose rotated pairs, after `plain` rows of each head, are neighbours, to rows where they are
    the halves."""
    def change(values):
        parts = values.reshape(heads, head, -1)
        turned = parts[:, plain:].reshape(heads, (head - plain) // 2, 2, -1).transpose(1, 2)
        return torch.cat((parts[:, :plain], turned.reshape(heads, head - plain, -1)), 1).reshape(values.shape)
    return change


def attention(m, layer, root, names='q_proj k_proj v_proj o_proj', pairs=None):
    """pairs: heads of queries and keys, where the pairs of files are neighbours."""
    for tensor, name in zip(('attn_q', 'attn_k', 'attn_v', 'attn_output'), names.split()):
        parameter = m.parameters[root + name + '.weight']
        rows, columns = parameter.shape
        if pairs and tensor in pairs:
            parameter = adjacent(parameter, pairs[tensor])
        m.put('blk.%d.%s.weight' % (layer, tensor), parameter, shape=[rows, columns])


def gated(m, layer, root, suffix=''):
    for tensor, name in (('ffn_gate', 'gate_proj'), ('ffn_up', 'up_proj'), ('ffn_down', 'down_proj')):
        m.put('blk.%d.%s%s.weight' % (layer, tensor, suffix), root + name + '.weight')


def experts(m, layer, root, router='gate.weight', bias=None, bias_name='exp_probs_b.bias',
            shared='shared_experts.'):
    block = 'blk.%d.' % layer
    m.put(block + 'ffn_gate_inp.weight', root + router, spread=0.75)
    if bias:
        m.put(block + bias_name, root + bias, spread=0.25)
    both = m.parameters[root + 'experts.gate_up_proj']
    width = both.shape[1] // 2
    m.put(block + 'ffn_gate_exps.weight', both[:, :width])
    m.put(block + 'ffn_up_exps.weight', both[:, width:])
    m.put(block + 'ffn_down_exps.weight', root + 'experts.down_proj')
    if shared:
        gated(m, layer, root + shared, '_shexp')


def layer_norms(m, layer, root, change=None, **tensors):
    for tensor, name in tensors.items():
        m.norm('blk.%d.%s.weight' % (layer, tensor), root + name + '.weight',
               **({'change': change} if change else {}))


# ---- Hunyuan 3
@golden('hy_v3', 'hy_v3',
        {**base_keys(3, 4, 2, 16, 40, 10000.0),
         **expert_keys(8, 3, 24, shared_feed_forward_length=24, weights_scale=2.5)},
        of('HYV3ForCausalLM', 'HYV3Config', intermediate_size=40, num_hidden_layers=3,
           num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-5, num_experts=8,
           num_experts_per_tok=3, num_shared_experts=1, moe_intermediate_size=24,
           router_scaling_factor=2.5, rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}))
def hy_v3(m):
    ends(m)
    for layer in range(3):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                    attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm')
        attention(m, layer, root + 'self_attn.')
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.', bias='e_score_correction_bias', bias_name='exp_probs_b')


# ---- Hunyuan 4. The package gives its latent norms an epsilon of 1e-6 whatever the configuration says, and
# llama.cpp that of the key, so here all norms have 1e-6.
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


# ---- Qwen4-Exp. A value head of a file reads the key head of its number modulo theirs; the package has those of
# a key head side by side. Its norms multiply with 1 + weight, but for those of the delta rule.
QWEN4EXP_NGRAMS = dict(vocab_size=64, ngram_size=3, seed=77, heads_per_ngram=2, ngram_vocab_size_base=50)


def qwen4exp_ngrams():
    """The keys of the hashes, from the package's own."""
    from transformers.models.qwen4_exp import modeling_qwen4_exp as package
    config = QWEN4EXP_NGRAMS
    multipliers = package._build_layer_multipliers(config['vocab_size'], config['ngram_size'], 0, config['seed'])
    sizes = [package._find_nth_prime_after(config['ngram_vocab_size_base'] - 1, head + 1) for head in range(4)]
    return {'ple.layer_multipliers': multipliers.tolist(), 'ple.head_vocab_sizes': sizes,
            'ple.head_offsets': [sum(sizes[:head]) for head in range(4)]}


@golden('qwen4exp', 'qwen4exp',
        {**base_keys(4, 4, 2, 16, 40, 100000.0, 1e-6, width=24), 'rope.dimension_count': 8,
         'full_attention_interval': 2, 'ssm.conv_kernel': 3, 'ssm.inner_size': 32, 'ssm.state_size': 8,
         'ssm.time_step_rank': 4, 'ssm.group_count': 2, **expert_keys(6, 2, 12, shared_feed_forward_length=20),
         'hyper_connection.count': 3, 'hyper_connection.low_rank': 10, 'attention.indexer.head_count': 8,
         'attention.indexer.key_length': 12, 'attention.indexer.top_k': 12,
         'attention.compress_ratios': [0, 3, 0, 3], 'embedding_length_per_layer_input': 5, 'ple.layers': [2],
         'ple.ngram_size': 3, 'ple.heads_per_ngram': 2, 'ple.conv_kernel': 3, 'ple.eos_token_id': 2,
         **qwen4exp_ngrams()},
        of('Qwen4ExpForCausalLM', 'Qwen4ExpTextConfig', hidden_size=24, num_hidden_layers=4,
           num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-6,
           layer_types=['linear_attention', 'full_attention'] * 2, linear_conv_kernel_dim=3,
           linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
           moe_intermediate_size=12, shared_expert_intermediate_size=20, num_experts_per_tok=2, num_experts=6,
           hc_count=3, hc_lowrank=10, ple_layer_ids=[3], ple_embed_dim=20, ple_conv_kernel_size=3,
           make_ngram_vocab_size_divisible_by=16, split_ngram_parts=1, indexer_n_heads=8, indexer_kv_heads=1,
           indexer_head_dim=12, indexer_budget=12, indexer_compress_ratio=3, output_gate_type='sigmoid',
           eos_token_id=2, **QWEN4EXP_NGRAMS,
           rope_parameters={'rope_type': 'default', 'rope_theta': 100000.0, 'partial_rotary_factor': 0.5,
                            'mrope_section': [2, 1, 1], 'mrope_interleaved': True}))
def qwen4exp(m):
    def less_one(values):
        return values - 1

    def norm(tensor, name):
        m.norm(tensor + '.weight', name + '.weight', change=less_one)

    def connection(prefix, root, injects=True):
        norm(prefix + 'norm', root + 'hc_norm')
        for tensor in ('down', 'up'):
            m.put(prefix + tensor + '.weight', root + 'input_mix_weight_%s.weight' % tensor)
        if injects:
            m.put(prefix + 'inject.weight', root + 'block_inject_weight.weight')

    def by_key_head(rows):
        """From values of value heads in the order of files."""
        return lambda values: values.reshape(2, 2, rows, -1).transpose(0, 1).reshape(values.shape)

    def delta_rule(block, root):
        def qkv(values):
            return torch.cat((values[:32], by_key_head(8)(values[32:])))
        m.put(block + 'attn_qkv.weight', root + 'in_proj_qkv.weight', change=qkv)
        m.put(block + 'attn_gate.weight', root + 'in_proj_z.weight', change=by_key_head(8))
        m.put(block + 'ssm_conv1d.weight', root + 'conv1d.weight', shape=[64, 3], change=qkv)
        m.put(block + 'ssm_dt.bias', root + 'dt_bias', spread=1.0, change=by_key_head(1))
        m.put(block + 'ssm_a', root + 'A_log', -1.0, 0.5,
              change=lambda values: torch.log(-by_key_head(1)(values)))
        m.put(block + 'ssm_beta.weight', root + 'in_proj_b.weight', change=by_key_head(1))
        m.put(block + 'ssm_alpha.weight', root + 'in_proj_a.weight', change=by_key_head(1))
        m.norm(block + 'ssm_norm.weight', root + 'norm.weight')
        m.put(block + 'ssm_out.weight', root + 'out_proj.weight',
              change=lambda values: by_key_head(8)(values.T).T)

    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    m.put('output.weight', 'lm_head.weight')
    connection('output_hc_', 'model.hyper_connection_mixer.', injects=False)
    for layer in range(4):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        connection(block + 'hc_attn_', root + 'attn_hyper_connection.')
        connection(block + 'hc_ffn_', root + 'mlp_hyper_connection.')
        experts(m, layer, root + 'mlp.', shared='shared_expert.')
        m.put(block + 'ffn_gate_inp_shexp.weight', root + 'mlp.shared_expert_gate.weight')
        if layer % 2 == 0:
            delta_rule(block, root + 'linear_attn.')
            continue
        a = root + 'self_attn.'
        attention(m, layer, a)
        norm(block + 'attn_q_norm', a + 'q_norm')
        norm(block + 'attn_k_norm', a + 'k_norm')
        both = m.parameters[a + 'indexer.index_qk_proj.weight']
        m.put(block + 'indexer.q_proj.weight', both[:96])
        m.put(block + 'indexer.k_proj.weight', both[96:])
        norm(block + 'indexer.q_norm', a + 'indexer.q_layernorm')
        norm(block + 'indexer.k_norm', a + 'indexer.k_layernorm')
    block, root = 'blk.2.', 'model.layers.2.ple.'
    m.put('per_layer_token_embd.weight', root + 'ple_embedding.ngram_embedding.weight', spread=1.0)
    m.put(block + 'ple_key.weight', root + 'key_proj.weight')
    m.put(block + 'ple_value.weight', root + 'value_proj.weight')
    for name in ('key', 'query', 'conv'):
        norm(block + 'ple_norm_' + name, root + 'norm_' + name)
    m.put(block + 'ple_conv1d.weight', root + 'conv1d.weight', shape=[72, 3])


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


# ---- MiMo-V2-Flash
@golden('mimo2', 'mimo2',
        {**base_keys(4, 4, [1, 2, 2, 1], 16, 40, 100000.0), 'attention.value_length': 8,
         'attention.value_scale': 0.707, 'attention.sliding_window': 9,
         'attention.sliding_window_pattern': [0, 1, 1, 0], 'rope.dimension_count': 8,
         'rope.freq_base_swa': 10000.0, **expert_keys(6, 3, 20)},
        of('MiMoV2FlashForCausalLM', 'MiMoV2FlashConfig', intermediate_size=40, num_hidden_layers=4,
           num_attention_heads=4, num_key_value_heads=1, head_dim=16, v_head_dim=8, rms_norm_eps=1e-5,
           sliding_window=9, attention_value_scale=0.707, n_routed_experts=6, num_experts_per_tok=3,
           moe_intermediate_size=20, n_group=1, topk_group=1, routed_scaling_factor=1.0, norm_topk_prob=True,
           layer_types=['full_attention', 'sliding_attention', 'sliding_attention', 'full_attention'],
           rope_parameters={'full_attention': {'rope_type': 'default', 'rope_theta': 100000.0,
                                               'partial_rotary_factor': 0.5},
                            'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0,
                                                  'partial_rotary_factor': 0.5}}))
def mimo2(m):
    ends(m)
    for layer in range(4):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        attention(m, layer, root + 'self_attn.')
        if layer in (1, 2):
            m.put('blk.%d.attn_sinks.weight' % layer, root + 'self_attn.sinks', spread=2.0)
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias', shared=None)


# ---- Trinity
AFMOE_KEYS = {**base_keys(4, 4, 2, 8, 40, 10000.0), 'attention.sliding_window': 9, 'leading_dense_block_count': 1,
              **expert_keys(6, 3, 20, shared_count=1, weights_scale=2.826, weights_norm=True)}
AFMOE = dict(intermediate_size=40, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
             rms_norm_eps=1e-5, num_dense_layers=1, moe_intermediate_size=20, num_experts=6, num_experts_per_tok=3,
             num_shared_experts=1, route_scale=2.826, sliding_window=9, mup_enabled=True,
             rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0})


@golden('afmoe', 'afmoe', AFMOE_KEYS, of('AfmoeForCausalLM', 'AfmoeConfig', **AFMOE))
def afmoe(m):
    ends(m)
    for layer in range(4):
        root = 'model.layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='pre_mlp_layernorm',
                    post_attention_norm='post_attention_layernorm', post_ffw_norm='post_mlp_layernorm',
                    attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm')
        attention(m, layer, root + 'self_attn.')
        m.put('blk.%d.attn_gate.weight' % layer, root + 'self_attn.gate_proj.weight')
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.', router='router.gate.weight', bias='expert_bias')


# ---- Laguna, with windows and a gate of each head, and without and of each value
def laguna_fill(layers):
    def fill(m):
        ends(m)
        for layer in range(layers):
            root = 'model.layers.%d.' % layer
            layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                        attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm')
            attention(m, layer, root + 'self_attn.')
            m.put('blk.%d.attn_gate.weight' % layer, root + 'self_attn.g_proj.weight')
            if layer == 0:
                gated(m, layer, root + 'mlp.')
            else:
                experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias')
    return fill


LAGUNA = dict(intermediate_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
              rms_norm_eps=1e-6, moe_intermediate_size=20, shared_expert_intermediate_size=20, num_experts=6,
              num_experts_per_tok=3, moe_routed_scaling_factor=2.5)
LAGUNA_KEYS = {'leading_dense_block_count': 1,
               **expert_keys(6, 3, 20, shared_feed_forward_length=20, weights_scale=2.5, weights_norm=True,
                             gating_func=2)}
YARN = {'rope_type': 'yarn', 'rope_theta': 1000.0, 'factor': 8.0, 'original_max_position_embeddings': 16,
        'beta_fast': 32.0, 'beta_slow': 1.0}
YARN_KEYS = {'rope.scaling.type': 'yarn', 'rope.scaling.factor': 8.0,
             'rope.scaling.original_context_length': 16}
golden('laguna', 'laguna',
       {**base_keys(4, [4, 6, 6, 6], 2, 8, 40, 1000.0, 1e-6), **YARN_KEYS, **LAGUNA_KEYS,
        'attention.sliding_window': 9, 'rope.dimension_count': 4, 'rope.dimension_count_swa': 8,
        'rope.freq_base_swa': 10000.0},
       of('LagunaForCausalLM', 'LagunaConfig', **LAGUNA, num_hidden_layers=4, sliding_window=9,
          layer_types=['full_attention'] + ['sliding_attention'] * 3, gating='per-head',
          num_attention_heads_per_layer=[4, 6, 6, 6],
          rope_parameters={'full_attention': {**YARN, 'partial_rotary_factor': 0.5},
                           'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0,
                                                 'partial_rotary_factor': 1.0}}))(laguna_fill(4))
golden('laguna_values', 'laguna',
       {**base_keys(2, 4, 2, 8, 40, 1000.0, 1e-6), **LAGUNA_KEYS, 'router_logit_softcapping': 1.5},
       of('LagunaForCausalLM', 'LagunaConfig', **LAGUNA, num_hidden_layers=2, gating='per-element',
          moe_router_logit_softcapping=1.5,
          rope_parameters={'full_attention': {'rope_type': 'default', 'rope_theta': 1000.0,
                                              'partial_rotary_factor': 1.0}}))(laguna_fill(2))


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


# ---- Qwen3-VL, its text model, with positions of text
def qwen3vl_fill(is_moe):
    def fill(m):
        ends(m, 'model.language_model.', head=None if not is_moe else 'lm_head.weight')
        for layer in range(2):
            root, block = 'model.language_model.layers.%d.' % layer, 'blk.%d.' % layer
            layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm',
                        attn_q_norm='self_attn.q_norm', attn_k_norm='self_attn.k_norm')
            attention(m, layer, root + 'self_attn.')
            if is_moe:
                experts(m, layer, root + 'mlp.', shared=None)
            else:
                gated(m, layer, root + 'mlp.')
    return fill


QWEN3VL = dict(intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
               head_dim=16, rms_norm_eps=1e-6, vocab_size=64, hidden_size=32, max_position_embeddings=256,
               rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0, 'mrope_section': [3, 3, 2],
                                'mrope_interleaved': True})
QWEN3VL_VISION = dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, out_hidden_size=32,
                      deepstack_visual_indexes=[])
QWEN3VL_KEYS = {**base_keys(2, 4, 2, 16, 40, 10000.0, 1e-6), 'rope.dimension_sections': [3, 3, 2, 0]}


def qwen3vl_model(kind, **more):
    def make():
        config = getattr(hf, kind + 'Config')(
            text_config={**QWEN3VL, **more}, vision_config=QWEN3VL_VISION, attn_implementation='eager',
            tie_word_embeddings=not more, image_token_id=60, video_token_id=61)
        return getattr(hf, kind + 'ForConditionalGeneration')(config)
    return make


# Four tokens of text, an image of 4 x 5, text.
QWEN3VL_POSITIONS = ([[i] * 3 for i in range(4)] + [[4, 4 + y, 4 + x] for y in range(4) for x in range(5)]
                     + [[9 + i] * 3 for i in range(16)])


def qwen3vl_at_positions(model, ids):
    positions = torch.tensor(QWEN3VL_POSITIONS).T[:, None]
    hidden = model.model.language_model(input_ids=ids, position_ids=positions, use_cache=False)
    return model.lm_head(hidden.last_hidden_state)


golden('qwen3vl', 'qwen3vl', QWEN3VL_KEYS, qwen3vl_model('Qwen3VL'))(qwen3vl_fill(False))
golden('qwen3vl_positions', 'qwen3vl', QWEN3VL_KEYS, qwen3vl_model('Qwen3VL'), run=qwen3vl_at_positions,
       more={'positions': sum(QWEN3VL_POSITIONS, [])})(qwen3vl_fill(False))
golden('qwen3vlmoe', 'qwen3vlmoe', {**QWEN3VL_KEYS, **expert_keys(8, 3, 24)},
       qwen3vl_model('Qwen3VLMoe', num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24,
                     decoder_sparse_step=1, mlp_only_layers=[]))(qwen3vl_fill(True))


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


# ---- GLM-5.3, its text model: pools of 4 positions, of which 2 are chosen. The package hands a selection on to
# the next layer only.
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


# ---- Chameleon, its texts, with norms before blocks and after them. Queries and keys have two heads to one.
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


# ---- DeepSeek V4: pools of 4 positions, of which 3 are chosen, and pools of 8, all of which are looked at. Of few
# index heads none may like several pools, and which of two zeros is the larger is not defined.
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


# Stretched, and the last layer's experts told, too. The file counts a block of prediction that it has not.
@golden('deepseek4_yarn', 'deepseek4',
        {**deepseek4_model(DEEPSEEK4_POOLED, 2)[0], 'rope.scaling.type': 'yarn', 'rope.scaling.factor': 4.0,
         'rope.scaling.original_context_length': 64, 'rope.scaling.yarn_beta_fast': 4.0,
         'rope.scaling.yarn_beta_slow': 1.0, 'nextn_predict_layers': 1},
        deepseek4_model(DEEPSEEK4_POOLED, 2, rope_parameters=DEEPSEEK4_YARN)[1])
def deepseek4_yarn(m):
    deepseek4_layers(m, DEEPSEEK4_POOLED, 2)


# ---- MiniMax M3, its text model. Blocks of positions are shorter than those of the cache.
@golden('minimax-m3', 'minimax-m3',
        {**base_keys(3, 4, 2, 16, 40, 10000.0, 1e-5), 'rope.dimension_count': 8,
         'leading_dense_block_count': 1, 'attention.indexer.head_count': 2,
         'attention.indexer.key_length': 12, 'attention.indexer.top_k': 4,
         'attention.indexer.block_size': 5, 'attention.indexer.local_blocks': 2,
         **expert_keys(8, 3, 24, shared_count=1, weights_scale=2.0, weights_norm=True, gating_func=2)},
        of('MiniMaxM3VLForCausalLM', 'MiniMaxM3VLTextConfig', intermediate_size=24, dense_intermediate_size=40,
           shared_intermediate_size=24, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
           head_dim=16, rms_norm_eps=1e-5, num_local_experts=8, num_experts_per_tok=3,
           routed_scaling_factor=2.0, rotary_dim=8, index_n_heads=2, index_head_dim=12, index_block_size=5,
           index_topk_blocks=4, index_local_blocks=2, mlp_layer_types=['dense', 'sparse', 'sparse'],
           layer_types=['full_attention', 'minimax_m3_sparse', 'minimax_m3_sparse'],
           rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5}))
def minimax_m3(m):
    def plus_one(w):
        return w - 1

    def gated_together(layer, root, suffix=''):
        both = m.parameters[root + 'gate_up_proj.weight']
        width = both.shape[0] // 2
        m.put('blk.%d.ffn_gate%s.weight' % (layer, suffix), both[:width], spread=1.5)
        m.put('blk.%d.ffn_up%s.weight' % (layer, suffix), both[width:], spread=1.5)
        m.put('blk.%d.ffn_down%s.weight' % (layer, suffix), root + 'down_proj.weight')
    ends(m, change=plus_one)
    for layer in range(3):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        norms = {'attn_norm': 'input_layernorm', 'ffn_norm': 'post_attention_layernorm',
                 'attn_q_norm': 'self_attn.q_norm', 'attn_k_norm': 'self_attn.k_norm'}
        attention(m, layer, root + 'self_attn.')
        if layer == 0:
            gated_together(layer, root + 'mlp.')
        else:
            norms.update({'indexer.q_norm': 'self_attn.indexer.q_norm', 'indexer.k_norm': 'self_attn.indexer.k_norm'})
            for name in ('q_proj', 'k_proj'):
                m.put(block + 'indexer.%s.weight' % name, root + 'self_attn.indexer.%s.weight' % name)
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias', shared=None)
            gated_together(layer, root + 'mlp.shared_experts.', '_shexp')
        layer_norms(m, layer, root, plus_one, **norms)


# ---- Step 3.7, its text model
STEP = dict(vocab_size=64, hidden_size=32, intermediate_size=40, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, max_position_embeddings=256, rms_norm_eps=1e-5,
            n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=20, share_expert_dim=20,
            sliding_window=9, num_sliding_attention_heads=6, moe_router_scaling_factor=2.5,
            swiglu_limits=[0.0, 0.5, 0.75, 0.0], swiglu_limits_shared=[0.5, 0.0, 0.75, 0.25],
            mlp_layer_types=['dense', 'sparse', 'sparse', 'sparse'], pad_token_id=0,
            layer_types=['full_attention', 'sliding_attention', 'sliding_attention', 'full_attention'],
            rope_parameters={'full_attention': {'rope_type': 'default', 'rope_theta': 100000.0,
                                                'partial_rotary_factor': 0.5},
                             'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0,
                                                   'partial_rotary_factor': 1.0}})


def step_model():
    config = hf.Step3p7Config(
        text_config=STEP, attn_implementation='eager', tie_word_embeddings=False,
        vision_config=dict(width=16, layers=1, heads=2, image_size=28, patch_size=14))
    return hf.Step3p7ForConditionalGeneration(config)


@golden('step35', 'step35',
        {**base_keys(4, [4, 6, 6, 4], 2, 8, 40, 100000.0), 'attention.sliding_window': 9,
         'attention.sliding_window_pattern': [False, True, True, False], 'rope.freq_base_swa': 10000.0,
         'leading_dense_block_count': 1, 'swiglu_clamp_exp': [0.0, 0.5, 0.75, 0.0],
         'swiglu_clamp_shexp': [0.5, 0.0, 0.75, 0.25],
         **expert_keys(6, 3, 20, shared_feed_forward_length=20, weights_scale=2.5, weights_norm=True)},
        step_model)
def step35(m):
    def plus_one(w):
        return w - 1
    ends(m, 'model.language_model.', change=plus_one)
    for layer in range(4):
        root, block = 'model.language_model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, plus_one, attn_norm='input_layernorm',
                    ffn_norm='post_attention_layernorm', attn_q_norm='self_attn.q_norm',
                    attn_k_norm='self_attn.k_norm')
        attention(m, layer, root + 'self_attn.')
        m.put(block + 'attn_gate.weight', root + 'self_attn.g_proj.weight')
        if layer == 0:
            gated(m, layer, root + 'mlp.')
        else:
            experts(m, layer, root + 'mlp.', bias='gate.e_score_correction_bias')


# ---- EuroBERT, mean of the rows
@golden('eurobert', 'eurobert', {**base_keys(3, 4, 2, 8, 40, 10000.0), 'attention.causal': False},
        of('EuroBertModel', 'EuroBertConfig', intermediate_size=40, num_hidden_layers=3,
           num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5, mask_token_id=1,
           rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}),
        run=lambda model, ids: model(ids).last_hidden_state.mean(1, keepdim=True))
def eurobert(m):
    ends(m, '', head=None)
    for layer in range(3):
        root = 'layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        attention(m, layer, root + 'self_attn.')
        gated(m, layer, root + 'mlp.')


@golden('t5encoder', 't5encoder', {**base_keys(3, 4, 4, 8, 40, 10000.0), 'attention.relative_buckets_count': 8},
        of('T5EncoderModel', 'T5Config', d_kv=8, d_ff=40, num_layers=3, num_heads=4, layer_norm_epsilon=1e-5,
           relative_attention_num_buckets=8, feed_forward_proj='gated-gelu'),
        run=lambda model, ids: model(ids).last_hidden_state.mean(1, keepdim=True))
def t5encoder(m):
    m.put('token_embd.weight', 'shared.weight', spread=1.0)
    m.norm('enc.output_norm.weight', 'encoder.final_layer_norm.weight')
    for layer in range(3):
        root, block = 'encoder.block.%d.layer.' % layer, 'enc.blk.%d.' % layer
        m.norm(block + 'attn_norm.weight', root + '0.layer_norm.weight')
        m.norm(block + 'ffn_norm.weight', root + '1.layer_norm.weight')
        for name in 'qkvo':
            m.put(block + 'attn_%s.weight' % name, root + '0.SelfAttention.%s.weight' % name)
        if layer == 0:
            m.put(block + 'attn_rel_b.weight', root + '0.SelfAttention.relative_attention_bias.weight', spread=1.0)
        for tensor, name in (('ffn_gate', 'wi_0'), ('ffn_up', 'wi_1'), ('ffn_down', 'wo')):
            m.put(block + tensor + '.weight', root + '1.DenseReluDense.%s.weight' % name)


# ---- Encoders of Llama's blocks: the package's Llama with a mask that hides nothing
def llama_encoder(**config):
    return of('LlamaModel', 'LlamaConfig', intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
              rms_norm_eps=1e-5, rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}, **config)


def rows_that_see_all(model, ids):
    mask = torch.zeros(1, 1, ids.shape[1], ids.shape[1])
    return model(ids, attention_mask=mask, use_cache=False).last_hidden_state


@golden('llama-embed', 'llama-embed',
        {**base_keys(3, 4, 2, 8, 40, 10000.0), 'attention.causal': False, 'pooling_type': 3},
        llama_encoder(num_key_value_heads=2), run=lambda model, ids: rows_that_see_all(model, ids)[:, -1:])
def llama_embed(m):
    ends(m, '', head=None)
    for layer in range(3):
        root = 'layers.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        attention(m, layer, root + 'self_attn.', pairs={'attn_q': 4, 'attn_k': 2})
        gated(m, layer, root + 'mlp.')


# Le Breton et al. 2025, arXiv 2502.19587, section 3: norms, rotation and SwiGLU as in Llama. The model's own
# code takes query, key and value of a head from neighbouring rows.
@golden('neo-bert', 'neo-bert',
        {**base_keys(3, 4, 4, 8, 40, 10000.0), 'attention.causal': False, 'pooling_type': 2},
        llama_encoder(num_key_value_heads=4), run=lambda model, ids: rows_that_see_all(model, ids)[:, :1])
def neo_bert(m):
    ends(m, '', head=None, norm='enc.output_norm.weight')
    for layer in range(3):
        root, block = 'layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        fused = torch.empty(4, 3, 8, 32)
        m.put(block + 'attn_qkv.weight', fused, shape=[96, 32])
        with torch.no_grad():
            for kind, name in enumerate('qk'):
                target = adjacent(m.parameters[root + 'self_attn.%s_proj.weight' % name], 4)
                target.copy_(fused[:, kind].view(4, 4, 2, 32))
            m.parameters[root + 'self_attn.v_proj.weight'].copy_(fused[:, 2].reshape(32, 32))
        m.put(block + 'attn_output.weight', root + 'self_attn.o_proj.weight')
        both = torch.empty(80, 32)
        m.put(block + 'ffn_up.weight', both)
        with torch.no_grad():
            m.parameters[root + 'mlp.gate_proj.weight'].copy_(both[:40])
            m.parameters[root + 'mlp.up_proj.weight'].copy_(both[40:])
        m.put(block + 'ffn_down.weight', root + 'mlp.down_proj.weight')


# ---- Gemma 3n, its text model: two layers read the caches of others
GEMMA3N_CUTS = [0.9, 0.6, 0.0, 0.7, 0.0]


@golden('gemma3n', 'gemma3n',
        {**base_keys(5, 4, 2, 8, 40, 100000.0, 1e-6), 'attention.sliding_window': 9,
         'attention.sliding_window_pattern': [True, False, True, True, False],
         'rope.freq_base_swa': 10000.0, 'attention.shared_kv_layers': 2, 'altup.num_inputs': 3,
         'altup.active_idx': 0, 'embedding_length_per_layer_input': 8, 'final_logit_softcapping': 4.0,
         'activation_sparsity_scale': [float(torch.distributions.Normal(0.0, 1.0).icdf(torch.tensor(cut)))
                                       for cut in GEMMA3N_CUTS]},
        of('Gemma3nForCausalLM', 'Gemma3nTextConfig', intermediate_size=[40] * 5, num_hidden_layers=5,
           num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-6, sliding_window=9,
           layer_types=['sliding_attention', 'full_attention', 'sliding_attention', 'sliding_attention',
                        'full_attention'],
           num_kv_shared_layers=2, altup_num_inputs=3, altup_active_idx=0, laurel_rank=8,
           hidden_size_per_layer_input=8, vocab_size_per_layer_input=64, final_logit_softcapping=4.0,
           activation_sparsity_pattern=GEMMA3N_CUTS, tie_word_embeddings=True, pad_token_id=0,
           rope_parameters={'full_attention': {'rope_type': 'default', 'rope_theta': 100000.0},
                            'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000.0}}))
def gemma3n(m):
    ends(m, head=None)
    m.put('per_layer_token_embd.weight', 'model.embed_tokens_per_layer.weight', spread=0.5)
    m.put('per_layer_model_proj.weight', 'model.per_layer_model_projection.weight', spread=1.5)
    m.norm('per_layer_proj_norm.weight', 'model.per_layer_projection_norm.weight')
    for tensor, name in (('altup_proj', 'altup_projections'),
                         ('altup_unembd_proj', 'altup_unembed_projections')):
        both = torch.empty(2, 32, 32)
        m.put(tensor + '.weight', both)
        with torch.no_grad():
            for i in range(2):
                m.parameters['model.%s.%d.weight' % (name, i)].copy_(both[i])
    for layer in range(5):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='pre_feedforward_layernorm',
                    post_attention_norm='post_attention_layernorm',
                    post_ffw_norm='post_feedforward_layernorm', attn_q_norm='self_attn.q_norm',
                    laurel_post_norm='laurel.post_laurel_norm', altup_router_norm='altup.router_norm',
                    post_norm='post_per_layer_input_norm')
        for tensor, name in (('attn_q', 'self_attn.q_proj'), ('attn_k', 'self_attn.k_proj'),
                             ('attn_v', 'self_attn.v_proj'), ('attn_output', 'self_attn.o_proj'),
                             ('laurel_l', 'laurel.linear_left'), ('laurel_r', 'laurel.linear_right'),
                             ('inp_gate', 'per_layer_input_gate'), ('proj', 'per_layer_projection'),
                             ('altup_correct_coef', 'altup.correction_coefs'),
                             ('altup_predict_coef', 'altup.prediction_coefs')):
            if root + name + '.weight' in m.parameters:
                m.put(block + tensor + '.weight', root + name + '.weight',
                      spread=0.4 if 'coef' in tensor else None)
        if layer < 3:
            m.norm(block + 'attn_k_norm.weight', root + 'self_attn.k_norm.weight')
        # The input of the router is divided by the width.
        m.put(block + 'altup_router.weight', root + 'altup.modality_router.weight', spread=8.0)
        m.put(block + 'altup_correct_scale.weight', root + 'altup.correct_output_scale', 1.0, 0.5)
        gated(m, layer, root + 'mlp.')
