#!/usr/bin/env python3
"""Writes goldens of tests/data/golden, as make_transformers_goldens.py does, of DeepSeek-V4.1, which no release of
the package `transformers` has yet. It is written for the package's models/deepseek_v41 of commit 0a2080b43eb6, and was
run with a transcription of that folder: run it again with the release. Needs sympy besides.

    tests/golden/make/deepseek41_goldens.py [NAME ...]
"""
import sys

import torch

import make_transformers_goldens as maker
import transformers as hf
import blocks
from blocks import base_keys, expert_keys, golden, layer_norms

module = sys.modules[hf.DeepseekV41ForCausalLM.__module__]
# The package reads the exponent out of the bits of an f32.
module._pow2_ceil_scale = lambda scale: torch.exp2(torch.ceil(torch.log2(scale)))

VOCAB, COMPRESSED, NGRAM, HEADS, PAD, WIDTH, ENGRAM_ROW = 64, 40, 3, 2, 5, 32, 8
TOKEN_MAP = [7 * token % COMPRESSED for token in range(VOCAB)]
# In place of what the package makes of a tokenizer.
module.build_compressed_token_map = lambda tokenizer: (TOKEN_MAP, COMPRESSED)


class Layers:
    """Layers of a golden: ratios of pools, those that make rows, have an index and n-grams, and the one
    that finds candidates."""

    def __init__(self, ratios, rows, index, candidates, ngrams):
        self.ratios, self.rows, self.index = ratios, rows, index
        self.candidates, self.ngrams = candidates, ngrams

    def config(self):
        return dict(num_hidden_layers=len(self.ratios), compress_ratios=self.ratios, kv_source_layer_ids=self.rows,
                    index_source_layer_ids=self.index, candidate_source_layer_id=self.candidates,
                    engram_layer_ids=self.ngrams, engram_num_embeddings=[0] * len(self.ngrams),
                    engram_vocab_size=11, engram_max_ngram_size=NGRAM, engram_n_heads=HEADS,
                    engram_head_dim=ENGRAM_ROW, engram_pad_id=PAD, engram_compressed_vocab_size=COMPRESSED)

    def primes(self):
        config = hf.DeepseekV41TextConfig(**SIZES, **self.config())
        return [[prime for order in layer for prime in order]
                for layer in module.EngramLayout.from_config(config).primes]

    def keys(self):
        primes = self.primes()
        multipliers = module.compute_hash_multipliers(tuple(self.ngrams), NGRAM, COMPRESSED)
        return {'attention.compress_ratios': self.ratios, 'attention.candidate_source_layer_id': self.candidates,
                'attention.candidate_topk_blocks': 3, 'attention.candidate_block_size': 2,
                'swiglu_clamp_exp': [0.75] * len(self.ratios),
                'engram.layer_ids': self.ngrams, 'engram.max_ngram_size': NGRAM, 'engram.head_count': HEADS,
                'engram.key_length': ENGRAM_ROW, 'engram.pad_id': TOKEN_MAP[PAD], 'engram.token_map': TOKEN_MAP,
                'engram.multipliers': multipliers.flatten().tolist(),
                'engram.primes': sum(primes, []),
                'engram.offsets': [sum(layer[:i]) for layer in primes for i in range(len(layer))]}


# With few index heads, none may score several rows alike: the larger of two zeros is undefined.
SIZES = dict(vocab_size=VOCAB, hidden_size=WIDTH, max_position_embeddings=256, attn_implementation='eager',
             moe_intermediate_size=6, num_attention_heads=4, head_dim=32, q_lora_rank=9, qk_rope_head_dim=8,
             num_experts_per_tok=2, n_routed_experts=4, routed_scaling_factor=1.5, compress_rope_theta=2000.0,
             rope_theta=10000.0, hc_mult=3, hc_sinkhorn_iters=4, hc_eps=0.0625, swiglu_limit=0.75, sliding_window=5,
             o_groups=2, o_lora_rank=4, index_n_heads=8, index_head_dim=32, index_topk=3, candidate_topk_blocks=3,
             candidate_block_size=2, num_nextn_predict_layers=0, rms_norm_eps=1e-20)


def model(layers, **rope):
    def made():
        config = {**SIZES, **layers.config(), **rope}
        config['engram_num_embeddings'] = [sum(primes) for primes in layers.primes()]
        of_config = hf.DeepseekV41ForCausalLM(hf.DeepseekV41TextConfig(**config))
        of_config.model.bind_tokenizer(None)
        return of_config
    return made


def keys(layers, **rope):
    count = len(layers.ratios)
    all_keys = {**base_keys(count, 4, 1, 32, None, 10000.0, 1e-20), 'rope.dimension_count': 8,
                'attention.q_lora_rank': 9, 'attention.output_group_count': 2, 'attention.output_lora_rank': 4,
                'attention.sliding_window': 5, 'attention.compress_rope_freq_base': 2000.0,
                'attention.indexer.head_count': 8, 'attention.indexer.key_length': 32, 'attention.indexer.top_k': 3,
                'hyper_connection.count': 3, 'hyper_connection.epsilon': 0.0625,
                'hyper_connection.sinkhorn_iterations': 4,
                **expert_keys(4, 2, 6, shared_count=1, weights_scale=1.5, weights_norm=True, gating_func=4),
                **layers.keys(), **rope}
    del all_keys['feed_forward_length']
    return all_keys


class Together:
    """Parameters of one shape that are a tensor of a file, one after the other."""

    def __init__(self, parameters):
        self.parameters, self.shape = parameters, (len(parameters), *parameters[0].shape)

    def copy_(self, values):
        for parameter, own in zip(self.parameters, values):
            parameter.copy_(own)


def experts(m, block, root):
    m.put(block + 'ffn_gate_inp.weight', root + 'gate.weight', spread=0.75)
    m.put(block + 'exp_probs_b.bias', root + 'gate.bias', spread=0.25)
    for tensor, name in (('ffn_gate', 'w1'), ('ffn_up', 'w3'), ('ffn_down', 'w2')):
        of_all = [m.parameters[root + 'experts.%d.%s.weight' % (expert, name)] for expert in range(4)]
        m.put(block + tensor + '_exps.weight', Together(of_all))
        m.put(block + tensor + '_shexp.weight', root + 'shared_experts.%s.weight' % name)


def attention(m, block, root, makes_rows, has_index, ratio):
    for tensor, name in (('attn_q_a', 'wq_a'), ('attn_q_b', 'wq_b'), ('attn_kv', 'wkv'), ('attn_output_a', 'wo_a'),
                         ('attn_output_b', 'wo_b')):
        m.put(block + tensor + '.weight', root + name + '.weight')
    m.put(block + 'attn_sinks.weight', root + 'attn_sink', spread=1.0)
    if makes_rows:
        m.put(block + 'attn_compressor_kv.weight', root + 'compressor.wkv.weight')
        if ratio > 1:
            m.put(block + 'attn_compressor_gate.weight', root + 'compressor.wgate.weight')
        m.norm(block + 'attn_compressor_norm.weight', root + 'compressor.norm.weight')
        m.put(block + 'indexer.attn_k.weight', root + 'indexer.wk.weight')
        m.norm(block + 'indexer.k_norm.weight', root + 'indexer.k_norm.weight')
    if has_index:
        m.put(block + 'indexer.attn_q_b.weight', root + 'indexer.wq_b.weight')
        m.put(block + 'indexer.proj.weight', root + 'indexer.weights_proj.weight')


def fill(layers):
    def filled(m):
        m.put('token_embd.weight', 'model.embed.weight', spread=1.0)
        m.norm('output_norm.weight', 'model.norm.weight')
        m.put('output.weight', 'lm_head.weight')
        for layer, ratio in enumerate(layers.ratios):
            root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
            layer_norms(m, layer, root, attn_norm='attn_norm', ffn_norm='ffn_norm', attn_q_a_norm='attn.q_norm',
                        attn_kv_a_norm='attn.kv_norm')
            for site in ('attn', 'ffn'):
                for tensor, centre, spread in (('fn', 0.0, 0.125), ('scale', 1.0, 0.5), ('base', 0.0, 1.0)):
                    m.put(block + 'hc_%s_%s.weight' % (site, tensor), root + 'hc_%s_%s' % (site, tensor), centre,
                          spread)
            attention(m, block, root + 'attn.', layer in layers.rows, layer in layers.index, ratio)
            experts(m, block, root + 'ffn.')
            if layer in layers.ngrams:
                m.put(block + 'engram_embd.weight', root + 'engram.embed.weight', spread=1.0)
                m.put(block + 'engram_wkv.weight', root + 'engram.wkv.weight')
                for tensor in ('q', 'k'):
                    m.norm(block + 'engram_%s.weight' % tensor, root + 'engram.%s_weight' % tensor)
    return filled


# With rows of the cache, as those that a layer publishes replace the ones before; without they are
# joined.
def run(of_config, tokens):
    return of_config(tokens, use_cache=True).logits


ALL = Layers([0, 2, 1, 1, 1], [1, 2], [1, 2, 4], 2, [1, 3])
STRETCHED = Layers([2, 2, 1], [0, 2], [0, 1, 2], -1, [0])
YARN = {'rope_type': 'yarn', 'factor': 4.0, 'original_max_position_embeddings': 64, 'beta_fast': 4.0,
        'beta_slow': 1.0}

golden('deepseek41', 'deepseek41', keys(ALL), model(ALL), run=run)(fill(ALL))
golden('deepseek41_yarn', 'deepseek41',
       keys(STRETCHED, **{'rope.scaling.type': 'yarn', 'rope.scaling.factor': 4.0,
                          'rope.scaling.original_context_length': 64, 'rope.scaling.yarn_beta_fast': 4.0,
                          'rope.scaling.yarn_beta_slow': 1.0}),
       model(STRETCHED, rope_scaling=YARN), run=run)(fill(STRETCHED))

if __name__ == '__main__':
    for name, one in blocks.GOLDENS.items():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            maker.make(name, one)
