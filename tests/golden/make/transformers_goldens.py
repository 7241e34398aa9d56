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
@golden('afmoe', 'afmoe',
        {**base_keys(4, 4, 2, 8, 40, 10000.0), 'attention.sliding_window': 9,
         'leading_dense_block_count': 1,
         **expert_keys(6, 3, 20, shared_count=1, weights_scale=2.826, weights_norm=True)},
        of('AfmoeForCausalLM', 'AfmoeConfig', intermediate_size=40, num_hidden_layers=4,
           num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-5, num_dense_layers=1,
           moe_intermediate_size=20, num_experts=6, num_experts_per_tok=3, num_shared_experts=1,
           route_scale=2.826, sliding_window=9, mup_enabled=True,
           rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0}))
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
       {**base_keys(2, 4, 2, 8, 40, 1000.0, 1e-6), **LAGUNA_KEYS},
       of('LagunaForCausalLM', 'LagunaConfig', **LAGUNA, num_hidden_layers=2, gating='per-element',
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
