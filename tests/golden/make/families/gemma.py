"""Gemma 3n."""
import torch

from blocks import base_keys, ends, gated, golden, layer_norms, of

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
