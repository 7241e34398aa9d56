"""Qwen, with its hybrids and language models of pictures."""
import torch
import transformers as hf

from blocks import (attention, base_keys, ends, expert_keys, experts, further, gated, golden, layer_norms,
                    linear, LLAMA, llama_layers, of, ROPE, without)
from families.hybrids import decays

# ---- Qwen4-Exp. A value head of a file reads the key head of its number modulo theirs; the package
# has those of a key head side by side. Its norms multiply with 1 + weight, but for those of the
# delta rule.
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


@further('qwen', {**base_keys(2, 4, 4, 8, 80, 10000.0)},
         of('Qwen2ForCausalLM', 'Qwen2Config', **{**LLAMA, 'num_key_value_heads': 4, 'head_dim': 8}),
         'Qwen2ForCausalLM, the same formulas')
def qwen(m):
    ends(m)
    llama_layers(m, 2, fused=True)


@further('qwen2vl', base_keys(2, 4, 2, 8, 40, 10000.0),
         of('Qwen2ForCausalLM', 'Qwen2Config', **{**LLAMA, 'head_dim': 8}),
         'Qwen2ForCausalLM, the same formulas of a text')
def qwen2vl(m):
    ends(m)
    llama_layers(m, 2)


def less_one(values):
    """Norms of the package multiply by 1 + w, those of files by w."""
    return values - 1


def qwen_norms(m, layer, root, **tensors):
    layer_norms(m, layer, root, less_one, **tensors)


def qwen_ends(m):
    m.put('token_embd.weight', 'model.embed_tokens.weight', spread=1.0)
    m.norm('output_norm.weight', 'model.norm.weight', change=less_one)
    linear(m, 'output', 'lm_head')


# In the package the query and key of a key head and the values and gates of its two value heads are
# neighbours; files have all queries, keys and values together, and the gates apart.
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


# Value heads of files take turns among the key heads that they read; in the package they are
# neighbours.
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
