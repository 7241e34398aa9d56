"""Mixtures of experts."""
import torch
import transformers as hf
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from blocks import (attention, base_keys, biased_norm, ends, expert_keys, Experts, experts, further, gated,
                    gelu, golden, layer_keys, layer_norms, linear, LLAMA, LLAMA_KEYS, of, of_chosen, PAIRS,
                    ROPE, softmax_of_chosen, spelt_experts, YARN, YARN_KEYS)


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


# An embedding that is not scaled, as of configurations without mup_enabled.
further('afmoe_plain', {**AFMOE_KEYS, 'embedding_scale': 1.0},
        of('AfmoeForCausalLM', 'AfmoeConfig', **{**AFMOE, 'mup_enabled': False}), 'AfmoeForCausalLM',
        architecture='afmoe')(afmoe)
