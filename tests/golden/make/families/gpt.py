"""Decoders with layer norms and biases, as in GPT-2."""
import torch

from blocks import (base_keys, biased_norm, by_head, ends, further, fused_rows, layer_keys, layer_norms,
                    linear, LLAMA, of, ROPE)


@further('codeshell', layer_keys(2, 4, 2, 8, 40, 10000.0),
         of('Starcoder2ForCausalLM', 'Starcoder2Config', intermediate_size=40, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, norm_epsilon=1e-5, sliding_window=None,
            use_bias=True, tie_word_embeddings=False, rope_parameters=ROPE),
         'Starcoder2ForCausalLM, the same formulas')
def codeshell(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'model.norm')
    m.put('output.weight', 'lm_head.weight')
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        fused_rows(m, block + 'attn_qkv', [root + 'self_attn.%s_proj' % x for x in 'qkv'])
        linear(m, block + 'attn_output', root + 'self_attn.o_proj')
        linear(m, block + 'ffn_up', root + 'mlp.c_fc')
        linear(m, block + 'ffn_down', root + 'mlp.c_proj')


def gpt_ends(m, embedding='transformer.wte', norm='transformer.ln_f', positions=None):
    m.put('token_embd.weight', embedding + '.weight', spread=1.0)
    if positions:
        m.put('position_embd.weight', positions, spread=0.5)
    if norm + '.bias' in m.parameters and m.parameters[norm + '.bias'] is not None:
        biased_norm(m, 'output_norm', norm)
    else:
        m.norm('output_norm.weight', norm + '.weight')


# Three heads more than a power of two, so that the slopes of the second kind are met.
@further('bloom', layer_keys(2, 6, 6, 8, 192, 10000.0, 1e-5, 48),
         of('BloomForCausalLM', 'BloomConfig', hidden_size=48, n_layer=2, n_head=6, layer_norm_epsilon=1e-5),
         'BloomForCausalLM')
def bloom(m):
    gpt_ends(m, 'transformer.word_embeddings')
    biased_norm(m, 'token_embd_norm', 'transformer.word_embeddings_layernorm')
    for layer in range(2):
        root, block = 'transformer.h.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        for ending, spread in (('.weight', None), ('.bias', 0.375)):
            m.put(block + 'attn_qkv' + ending, root + 'self_attention.query_key_value' + ending,
                  spread=spread, change=by_head(6, 8))
        linear(m, block + 'attn_output', root + 'self_attention.dense')
        linear(m, block + 'ffn_up', root + 'mlp.dense_h_to_4h')
        linear(m, block + 'ffn_down', root + 'mlp.dense_4h_to_h')


@further('gptj', layer_keys(2, 4, 4, 8, 128, 10000.0) | {'rope.dimension_count': 4},
         of('GPTJForCausalLM', 'GPTJConfig', n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=256,
            layer_norm_epsilon=1e-5, tie_word_embeddings=False), 'GPTJForCausalLM')
def gptj(m):
    gpt_ends(m)
    linear(m, 'output', 'lm_head')
    for layer in range(2):
        root, block = 'transformer.h.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'ln_1')
        for tensor, name in (('attn_q', 'attn.q_proj'), ('attn_k', 'attn.k_proj'), ('attn_v', 'attn.v_proj'),
                             ('attn_output', 'attn.out_proj'), ('ffn_up', 'mlp.fc_in'),
                             ('ffn_down', 'mlp.fc_out')):
            linear(m, block + tensor, root + name)


def gptneox_model(parallel):
    """Files do not tell which GELU; it is the approximation by tanh."""
    return of('GPTNeoXForCausalLM', 'GPTNeoXConfig', hidden_size=36, num_hidden_layers=2, num_attention_heads=3,
              intermediate_size=144, hidden_act='gelu_new', use_parallel_residual=parallel, layer_norm_eps=1e-2,
              rope_parameters={**ROPE, 'partial_rotary_factor': 8 / 12})


GPTNEOX_KEYS = layer_keys(2, 3, 3, 12, 144, 10000.0, 1e-2, 36) | {'rope.dimension_count': 8}


@further('gptneox', GPTNEOX_KEYS | {'use_parallel_residual': True}, gptneox_model(True), 'GPTNeoXForCausalLM')
@further('gptneox_sequential', GPTNEOX_KEYS | {'use_parallel_residual': False}, gptneox_model(False),
         'GPTNeoXForCausalLM', architecture='gptneox')
def gptneox(m):
    m.put('token_embd.weight', 'gpt_neox.embed_in.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'gpt_neox.final_layer_norm')
    linear(m, 'output', 'lm_head')
    for layer in range(2):
        root, block = 'gpt_neox.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        for ending, spread in (('.weight', None), ('.bias', 0.375)):
            m.put(block + 'attn_qkv' + ending, root + 'attention.query_key_value' + ending, spread=spread,
                  change=by_head(3, 12))
        linear(m, block + 'attn_output', root + 'attention.dense')
        linear(m, block + 'ffn_up', root + 'mlp.dense_h_to_4h')
        linear(m, block + 'ffn_down', root + 'mlp.dense_4h_to_h')


@further('mpt', layer_keys(2, 6, 6, 8, 192, 10000.0, 1e-5, 48),
         of('MptForCausalLM', 'MptConfig', hidden_size=48, n_layers=2, n_heads=6, expansion_ratio=4,
            max_seq_len=256, layer_norm_epsilon=1e-5), 'MptForCausalLM')
def mpt(m):
    gpt_ends(m, norm='transformer.norm_f')
    for layer in range(2):
        root, block = 'transformer.blocks.%d.' % layer, 'blk.%d.' % layer
        m.norm(block + 'attn_norm.weight', root + 'norm_1.weight')
        m.norm(block + 'ffn_norm.weight', root + 'norm_2.weight')
        linear(m, block + 'attn_qkv', root + 'attn.Wqkv')
        linear(m, block + 'attn_output', root + 'attn.out_proj')
        linear(m, block + 'ffn_up', root + 'ffn.up_proj')
        linear(m, block + 'ffn_down', root + 'ffn.down_proj')


@further('starcoder', layer_keys(2, 4, 1, 8, 128, 10000.0),
         of('GPTBigCodeForCausalLM', 'GPTBigCodeConfig', n_embd=32, n_layer=2, n_head=4, n_positions=256,
            multi_query=True, layer_norm_epsilon=1e-5), 'GPTBigCodeForCausalLM')
def starcoder(m):
    gpt_ends(m, positions='transformer.wpe.weight')
    for layer in range(2):
        root, block = 'transformer.h.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'ln_1')
        biased_norm(m, block + 'ffn_norm', root + 'ln_2')
        linear(m, block + 'attn_qkv', root + 'attn.c_attn')
        linear(m, block + 'attn_output', root + 'attn.c_proj')
        linear(m, block + 'ffn_up', root + 'mlp.c_fc')
        linear(m, block + 'ffn_down', root + 'mlp.c_proj')


def with_alibi(model, tokens):
    """Logits of a model that rotates, when it does not (every position is 0) and scores fall with the
    distance instead (Press et al. 2022)."""
    heads, count = model.config.num_attention_heads, tokens.shape[1]
    whole = 2 ** (heads.bit_length() - 1)
    slopes = [2 ** (-8 * (h + 1) / whole) for h in range(whole)]
    slopes += [2 ** (-8 * (2 * h + 1) / (2 * whole)) for h in range(heads - whole)]
    back = torch.arange(count)[:, None] - torch.arange(count)[None, :]
    mask = torch.where(back >= 0, -back * torch.tensor(slopes)[:, None, None], -torch.inf)
    return model(tokens, attention_mask=mask[None], position_ids=torch.zeros_like(tokens),
                 use_cache=False).logits


def jais_model():
    model = of('LlamaForCausalLM', 'LlamaConfig', **{**LLAMA, 'num_key_value_heads': 4, 'head_dim': 8},
               attention_bias=True, mlp_bias=True)()
    model.model.norm = torch.nn.LayerNorm(32, eps=1e-5)
    for layer in model.model.layers:
        layer.input_layernorm = torch.nn.LayerNorm(32, eps=1e-5)
        layer.post_attention_layernorm = torch.nn.LayerNorm(32, eps=1e-5)
        layer.self_attn.scaling = 1 / 8
    return model


@further('jais', layer_keys(2, 4, 4, 8, 40, 10000.0) | {'attention.max_alibi_bias': 8.0}, jais_model,
         'LlamaForCausalLM with layer norms, its scale and ALiBi as its mask', run=with_alibi)
def jais(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    biased_norm(m, 'output_norm', 'model.norm')
    m.put('output.weight', 'lm_head.weight')
    for layer in range(2):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        biased_norm(m, block + 'attn_norm', root + 'input_layernorm')
        biased_norm(m, block + 'ffn_norm', root + 'post_attention_layernorm')
        fused_rows(m, block + 'attn_qkv', [root + 'self_attn.%s_proj' % x for x in 'qkv'])
        linear(m, block + 'attn_output', root + 'self_attn.o_proj')
        for tensor, name in (('ffn_gate', 'gate_proj'), ('ffn_up', 'up_proj'), ('ffn_down', 'down_proj')):
            linear(m, block + tensor, root + 'mlp.' + name)


@further('baichuan_13b', base_keys(40, 2, 2, 4, 12, 10000.0, 1e-5, 8),
         of('LlamaForCausalLM', 'LlamaConfig',
            **{**LLAMA, 'hidden_size': 8, 'num_hidden_layers': 40, 'num_attention_heads': 2,
               'num_key_value_heads': 2, 'head_dim': 4, 'intermediate_size': 12}),
         'LlamaForCausalLM with ALiBi as its mask', run=with_alibi, architecture='baichuan')
def baichuan_13b(m):
    ends(m)
    for layer in range(40):  # as many as the architecture tells its sizes by; each adds little
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        for tensor, name in (('attn_q', 'self_attn.q_proj'), ('attn_k', 'self_attn.k_proj'),
                             ('attn_v', 'self_attn.v_proj'), ('attn_output', 'self_attn.o_proj'),
                             ('ffn_gate', 'mlp.gate_proj'), ('ffn_up', 'mlp.up_proj'),
                             ('ffn_down', 'mlp.down_proj')):
            spread = 0.0625 if tensor in ('attn_output', 'ffn_down') else 0.375
            m.put(block + tensor + '.weight', root + name + '.weight', spread=spread)


@further('mpt_clamped', layer_keys(2, 6, 6, 8, 192, 10000.0, 1e-5, 48) | {'attention.clamp_kqv': 0.75},
         of('MptForCausalLM', 'MptConfig', hidden_size=48, n_layers=2, n_heads=6, expansion_ratio=4,
            max_seq_len=256, layer_norm_epsilon=1e-5, attn_config={'clip_qkv': 0.75}), 'MptForCausalLM',
         architecture='mpt')
def mpt_clamped(m):
    mpt(m)


# "gelu" of configurations is the one by erf.
further('gptneox_erf', GPTNEOX_KEYS | {'use_parallel_residual': True, 'hidden_act': 'gelu'},
        of('GPTNeoXForCausalLM', 'GPTNeoXConfig', hidden_size=36, num_hidden_layers=2, num_attention_heads=3,
           intermediate_size=144, hidden_act='gelu', use_parallel_residual=True, layer_norm_eps=1e-2,
           rope_parameters={**ROPE, 'partial_rotary_factor': 8 / 12}),
        'GPTNeoXForCausalLM', architecture='gptneox')(gptneox)
