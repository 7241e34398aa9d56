"""Encoders and encoder-decoders."""
import torch

from blocks import (adjacent, attention, base_keys, biased_norm, ends, gated, golden, layer_keys,
                    layer_norms, linear, of, ROPE)


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


# Le Breton et al. 2025, arXiv 2502.19587, section 3: norms, rotation and SwiGLU as in Llama. The
# model's own code takes query, key and value of a head from neighbouring rows.
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
