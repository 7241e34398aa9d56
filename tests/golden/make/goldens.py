"""The models of tests/data/golden: keys as in a GGUF file, without the prefix of the architecture, and
tensors. Each is as small as it can be and shows what is special about its architecture."""

VOCAB = 64


def keys(width=32, layers=2, heads=4, kv_heads=2, head=16, feed_forward=40, theta=10000.0, **more):
    return {
        'block_count': layers, 'context_length': 256, 'embedding_length': width,
        'feed_forward_length': feed_forward, 'attention.head_count': heads,
        'attention.head_count_kv': kv_heads, 'attention.key_length': head,
        'attention.value_length': head, 'attention.layer_norm_rms_epsilon': 1e-5,
        'rope.dimension_count': head, 'rope.freq_base': theta,
        **{name.replace('__', '.'): value for name, value in more.items()},
    }


def experts(count, used, feed_forward, **more):
    return {'expert_count': count, 'expert_used_count': used,
            'expert_feed_forward_length': feed_forward, **more}


MODELS = [
    # Heads wider than width / heads, an output matrix of its own, divisors of rope frequencies.
    ('llama', 'llama', keys(theta=500000.0), ['output', 'rope_freqs']),
    # The biases that some descendants have; values narrower than keys.
    ('llama_biases', 'llama', keys(attention__value_length=8),
     ['attn_q.bias', 'attn_k.bias', 'attn_v.bias', 'attn_output.bias', 'ffn_gate.bias',
      'ffn_up.bias', 'ffn_down.bias']),
    ('llama_experts', 'llama', {**keys(kv_heads=1), **experts(8, 2, 24)}, []),
    ('llama_linear', 'llama',
     keys(rope__scaling__type='linear', rope__scaling__factor=4.0), []),
    # 16 original positions: the ramp lies within the frequencies.
    ('llama_yarn', 'llama',
     keys(theta=1000.0, rope__scaling__type='yarn', rope__scaling__factor=8.0,
          rope__scaling__original_context_length=16, rope__scaling__attn_factor=1.125), []),
    ('llama_partial_rope', 'llama', {**keys(), 'rope.dimension_count': 8}, []),
    ('llama_window', 'llama', keys(attention__sliding_window=9), []),
    ('qwen2', 'qwen2', keys(theta=1000000.0), ['attn_q.bias', 'attn_k.bias', 'attn_v.bias']),
    # Expert and shared widths differ; the weights of the chosen experts do not sum to 1.
    ('qwen2moe', 'qwen2moe',
     {**keys(), **experts(6, 3, 24, expert_shared_feed_forward_length=32)},
     ['attn_q.bias', 'attn_k.bias', 'attn_v.bias', 'shared_expert']),
    ('qwen3', 'qwen3', keys(theta=1000000.0), ['qk_norm']),
    ('qwen3moe', 'qwen3moe', {**keys(), **experts(8, 3, 24)}, ['qk_norm']),
]


def tensors(k, parts):
    """(name, shape outermost first, centre, spread): values are spread evenly over centre +- spread."""
    def matrix(name, *shape):
        # Keeps activations near 1; a multiple of 1/256, so that products with 24 bits are exact.
        return name + '.weight', list(shape), 0.0, round(256 * 2.6 / shape[-1] ** 0.5) / 256

    def norm(name, columns):
        return name + '.weight', [columns], 1.0, 0.5

    width, heads, kv_heads = (k[name] for name in
                              ('embedding_length', 'attention.head_count', 'attention.head_count_kv'))
    query, value = k['attention.key_length'], k['attention.value_length']
    yield 'token_embd.weight', [VOCAB, width], 0.0, 1.0
    yield norm('output_norm', width)
    if 'output' in parts:
        yield matrix('output', VOCAB, width)
    if 'rope_freqs' in parts:
        yield 'rope_freqs.weight', [k['rope.dimension_count'] // 2], 4.0, 3.0
    for layer in range(k['block_count']):
        block = 'blk.%d.' % layer
        yield norm(block + 'attn_norm', width)
        rows = {'attn_q': heads * query, 'attn_k': kv_heads * query, 'attn_v': kv_heads * value,
                'attn_output': width}
        for name in rows:
            columns = heads * value if name == 'attn_output' else width
            yield matrix(block + name, rows[name], columns)
        if 'qk_norm' in parts:
            yield norm(block + 'attn_q_norm', query)
            yield norm(block + 'attn_k_norm', query)
        yield norm(block + 'ffn_norm', width)
        rows.update(ffn_gate=k['feed_forward_length'], ffn_up=k['feed_forward_length'], ffn_down=width)
        if 'expert_count' in k:
            count, hidden = k['expert_count'], k['expert_feed_forward_length']
            yield block + 'ffn_gate_inp.weight', [count, width], 0.0, 0.75
            yield matrix(block + 'ffn_gate_exps', count, hidden, width)
            yield matrix(block + 'ffn_up_exps', count, hidden, width)
            yield matrix(block + 'ffn_down_exps', count, width, hidden)
        else:
            yield matrix(block + 'ffn_gate', rows['ffn_gate'], width)
            yield matrix(block + 'ffn_up', rows['ffn_up'], width)
            yield matrix(block + 'ffn_down', width, k['feed_forward_length'])
        if 'shared_expert' in parts:
            hidden = k['expert_shared_feed_forward_length']
            yield block + 'ffn_gate_inp_shexp.weight', [width], 0.0, 0.75
            yield matrix(block + 'ffn_gate_shexp', hidden, width)
            yield matrix(block + 'ffn_up_shexp', hidden, width)
            yield matrix(block + 'ffn_down_shexp', width, hidden)
        for part in parts:
            if part.endswith('.bias'):
                yield block + part, [rows[part.removesuffix('.bias')]], 0.0, 0.375
