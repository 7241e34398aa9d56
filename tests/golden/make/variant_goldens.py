#!/usr/bin/env python3
"""Writes goldens of tests/data/golden and its folders, as further_goldens.py does, of files that say things otherwise
than those of the other goldens: without keys that published configurations lack, with optional tensors and with
keys that few files have, as llama.cpp's converter writes them.

    tests/golden/make/variant_goldens.py [NAME ...]
"""
import math
import os
import sys

import torch

import make_transformers_goldens as maker
import transformers_goldens
from further_goldens import (biased_norm, further, GPTNEOX_KEYS, gptneox, layer_keys, linear, LLAMA, llama_layers,
                             ROPE)
from hybrid_goldens import less_one, qwen35_layers, qwen_ends, without
from make_goldens import weight
from transformers_goldens import (AFMOE, AFMOE_KEYS, afmoe, attention, base_keys, DEEPSEEK32, DEEPSEEK32_KEYS, ends, expert_keys, experts, gated,
                                  golden, granite_swa, GRANITE, GRANITE_KEYS, indexed_layers, layer_norms, of, YARN)

transformers_goldens.GOLDENS.clear()

# "gelu" of configurations is the one by erf.
further('gptneox_erf', GPTNEOX_KEYS | {'use_parallel_residual': True, 'hidden_act': 'gelu'},
        of('GPTNeoXForCausalLM', 'GPTNeoXConfig', hidden_size=36, num_hidden_layers=2, num_attention_heads=3,
           intermediate_size=144, hidden_act='gelu', use_parallel_residual=True, layer_norm_eps=1e-2,
           rope_parameters={**ROPE, 'partial_rotary_factor': 8 / 12}),
        'GPTNeoXForCausalLM', architecture='gptneox')(gptneox)

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


# Phi 4's LongRoPE of texts that are longer than the first training's, and of a model opened for no more.
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


# An embedding that is not scaled, as of configurations without mup_enabled.
further('afmoe_plain', {**AFMOE_KEYS, 'embedding_scale': 1.0},
        of('AfmoeForCausalLM', 'AfmoeConfig', **{**AFMOE, 'mup_enabled': False}), 'AfmoeForCausalLM',
        architecture='afmoe')(afmoe)


# Layers are as wide as the experts, which is all that configurations of Qwen3.5 with experts say.
@further('qwen35moe',
         {**without(base_keys(3, 4, 2, 8, 40, 10000.0, 1e-6), 'feed_forward_length'), 'rope.dimension_count': 4,
          'ssm.conv_kernel': 4, 'ssm.inner_size': 24, 'ssm.state_size': 8, 'ssm.time_step_rank': 6,
          'ssm.group_count': 2, 'full_attention_interval': 3, 'rope.dimension_sections': [1, 1, 0, 0],
          **expert_keys(6, 3, 24, shared_feed_forward_length=20)},
         of('Qwen3_5MoeForCausalLM', 'Qwen3_5MoeTextConfig', num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, linear_key_head_dim=8, linear_value_head_dim=4,
            linear_num_key_heads=2, linear_num_value_heads=6, rms_norm_eps=1e-6, tie_word_embeddings=False,
            num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, shared_expert_intermediate_size=20,
            layer_types=['linear_attention'] * 2 + ['full_attention'],
            rope_parameters={**ROPE, 'partial_rotary_factor': 0.5, 'mrope_section': [1, 1, 0],
                             'mrope_interleaved': True}), 'Qwen3_5MoeForCausalLM')
def qwen35moe(m):
    qwen_ends(m)
    qwen35_layers(m)
    for layer in range(3):
        root, block = 'model.layers.%d.mlp.' % layer, 'blk.%d.' % layer
        experts(m, layer, root, shared='shared_expert.')
        m.put(block + 'ffn_gate_inp_shexp.weight', root + 'shared_expert_gate.weight', shape=[32])


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


# Of two index heads all give zero to many positions, so that scores are equal at the border of the chosen ones.
def choosing_lower(model, ids):
    """Logits where of equal scores the lower positions are chosen, for which torch.topk does not care."""
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


def encoder(name, architecture, keys, model, source):
    """The mean of the rows; outside of further/, whose texts come in slices."""
    return golden(name, architecture, {**keys, 'context_length': 64, 'attention.causal': False, 'pooling_type': 1},
                  model, more={'source': 'transformers ' + source},
                  run=lambda model, ids: model(ids).last_hidden_state.mean(1, keepdim=True))


BERT_KEYS = {**layer_keys(2, 4, 4, 8, 40, 10000.0, 1e-12), 'hidden_act': 'gelu'}


def bert_layers(m, root, names):
    for layer in range(2):
        block = 'blk.%d.' % layer
        for tensor, name in zip(('attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_up', 'ffn_down'), names.split()):
            linear(m, block + tensor, root % layer + name)
        for tensor, name in zip(('attn_output_norm', 'layer_output_norm'), names.split()[6:]):
            biased_norm(m, block + tensor, root % layer + name)


@encoder('bert', 'bert', BERT_KEYS,
         of('BertModel', 'BertConfig', num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
            max_position_embeddings=64, layer_norm_eps=1e-12), 'BertModel')
def bert(m):
    m.put('token_embd.weight', 'embeddings.word_embeddings.weight', spread=1.0)
    m.put('position_embd.weight', 'embeddings.position_embeddings.weight', spread=0.5)
    m.put('token_types.weight', 'embeddings.token_type_embeddings.weight', spread=0.5)
    biased_norm(m, 'token_embd_norm', 'embeddings.LayerNorm')
    bert_layers(m, 'encoder.layer.%d.', 'attention.self.query attention.self.key attention.self.value '
                'attention.output.dense intermediate.dense output.dense attention.output.LayerNorm output.LayerNorm')


# Without types of tokens.
@encoder('bert_distilled', 'bert', BERT_KEYS,
         of('DistilBertModel', 'DistilBertConfig', n_layers=2, n_heads=4, dim=32, hidden_dim=40,
            max_position_embeddings=64), 'DistilBertModel')
def bert_distilled(m):
    m.put('token_embd.weight', 'embeddings.word_embeddings.weight', spread=1.0)
    m.put('position_embd.weight', 'embeddings.position_embeddings.weight', spread=0.5)
    biased_norm(m, 'token_embd_norm', 'embeddings.LayerNorm')
    bert_layers(m, 'transformer.layer.%d.', 'attention.q_lin attention.k_lin attention.v_lin attention.out_lin '
                'ffn.lin1 ffn.lin2 sa_layer_norm output_layer_norm')


# The first of two layers sees all.
@encoder('modern-bert_silu', 'modern-bert',
         {**layer_keys(4, 4, 4, 8, 40, 160000.0, 1e-5), 'attention.sliding_window': 6,
          'attention.sliding_window_pattern': 2, 'rope.freq_base_swa': 10000.0, 'hidden_activation': 'silu'},
         of('ModernBertModel', 'ModernBertConfig', num_hidden_layers=4, num_attention_heads=4, intermediate_size=40,
            hidden_activation='silu', norm_eps=1e-5, local_attention=6, cls_token_id=None, sep_token_id=None,
            layer_types=['full_attention', 'sliding_attention'] * 2,
            rope_parameters={'full_attention': {**ROPE, 'rope_theta': 160000.0}, 'sliding_attention': ROPE}),
         'ModernBertModel')
def modern_bert(m):
    m.put('token_embd.weight', 'embeddings.tok_embeddings.weight', spread=1.0)
    m.norm('token_embd_norm.weight', 'embeddings.norm.weight')
    m.norm('output_norm.weight', 'final_norm.weight')
    for layer in range(4):
        root, block = 'layers.%d.' % layer, 'blk.%d.' % layer
        if layer:
            m.norm(block + 'attn_norm.weight', root + 'attn_norm.weight')
        m.norm(block + 'ffn_norm.weight', root + 'mlp_norm.weight')
        for tensor, name in (('attn_qkv', 'attn.Wqkv'), ('attn_output', 'attn.Wo'), ('ffn_up', 'mlp.Wi'),
                             ('ffn_down', 'mlp.Wo')):
            m.put(block + tensor + '.weight', root + name + '.weight')


# ---- Encoder-decoders: the first 20 tokens are the source, the others the answer.
def answer(model, ids):
    return model(input_ids=ids[:, :20], decoder_input_ids=ids[:, 20:]).logits


def encoder_decoder(name, model_class, config_class, more_keys={}, **config):
    keys = {**more_keys, **base_keys(2, 4, 4, 8, 40, 10000.0), 'attention.relative_buckets_count': 8, 'decoder_block_count': 2,
            'decoder_start_token_id': 0}
    model = of(model_class, config_class, d_kv=8, d_ff=40, d_model=32, num_layers=2, num_decoder_layers=2,
               num_heads=4, layer_norm_epsilon=1e-5, relative_attention_num_buckets=8, decoder_start_token_id=0,
               feed_forward_proj='gated-gelu', **config)

    def untied():
        own = model()
        own.lm_head.weight = torch.nn.Parameter(own.lm_head.weight.detach().clone())
        return own

    tied = config['tie_word_embeddings'] or keys.get('scale_decoder_outputs') is False
    return golden('encoder_decoder/' + name, 't5', keys, model if tied else untied, run=answer,
                  more={'source': 'transformers ' + model_class, 'source_tokens': 20})


# Scaled logits where the output matrix is the embedding, and a table of distances in each layer.
@encoder_decoder('t5_tied', 'T5ForConditionalGeneration', 'T5Config', tie_word_embeddings=True)
@encoder_decoder('t5_unscaled', 'T5ForConditionalGeneration', 'T5Config', {'scale_decoder_outputs': False},
                 tie_word_embeddings=False)
@encoder_decoder('umt5', 'UMT5ForConditionalGeneration', 'UMT5Config', tie_word_embeddings=False)
def t5(m):
    m.put('token_embd.weight', 'shared.weight', spread=1.0)
    if 'lm_head.weight' in m.parameters:
        m.put('output.weight', 'lm_head.weight')
    for side, stem in (('enc', 'encoder'), ('dec', 'decoder')):
        m.norm(side + '.output_norm.weight', stem + '.final_layer_norm.weight')
        for layer in range(2):
            root, block = '%s.block.%d.layer.' % (stem, layer), '%s.blk.%d.' % (side, layer)
            parts = [('attn_', '0.SelfAttention.')]
            if side == 'dec':
                parts.append(('cross_attn_', '1.EncDecAttention.'))
            for place, (tensor, name) in enumerate(parts):
                m.norm(block + tensor + 'norm.weight', root + '%d.layer_norm.weight' % place)
                for one in 'qkvo':
                    m.put(block + tensor + one + '.weight', root + name + one + '.weight',
                          spread=0.25 if one == 'q' else None)
                bias = root + name + 'relative_attention_bias.weight'
                if bias in m.parameters:
                    m.put(block + tensor + 'rel_b.weight', bias, spread=1.0)
            last = '%d.' % len(parts)
            m.norm(block + 'ffn_norm.weight', root + last + 'layer_norm.weight')
            for tensor, name in (('ffn_gate', 'wi_0'), ('ffn_up', 'wi_1'), ('ffn_down', 'wo')):
                m.put(block + tensor + '.weight', root + last + 'DenseReluDense.%s.weight' % name)


if __name__ == '__main__':
    for folder in ('further', 'encoder_decoder'):
        os.makedirs(os.path.join(maker.FOLDER, folder), exist_ok=True)
    for name, one in transformers_goldens.GOLDENS.items():
        if len(sys.argv) == 1 or name.split('/')[-1] in sys.argv[1:]:
            maker.make(name, one)
