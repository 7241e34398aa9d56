"""Kimi K3 in float64, from its technical report (arXiv 2607.24653), that of Kimi Delta Attention (arXiv
2510.26692) and that of multi-head latent attention (arXiv 2405.04434). Nothing is shared with the engine but
the names of keys and tensors. The package `transformers` has no such model yet."""
import numpy as np

from decoder import rms_norm, sigmoid, softmax
import goldens

WIDTH, HEADS, LAYERS, EXPERTS = 32, 3, 4, 6
KDA = 8                          # values of a head of Kimi Delta Attention
RANK, QUERY_RANK = 12, 20        # of latent rows, of what queries are made of
PLAIN, SHARED_KEY, VALUE = 8, 4, 10
LATENT, EXPERT, SHARED = 16, 12, 24

KEYS = {
    'block_count': LAYERS, 'context_length': 256, 'embedding_length': WIDTH, 'feed_forward_length': 40,
    'attention.head_count': HEADS, 'attention.head_count_kv': [0, 1, 0, 0],
    'attention.key_length': RANK + SHARED_KEY, 'attention.value_length': RANK,
    'attention.key_length_mla': PLAIN + SHARED_KEY, 'attention.value_length_mla': VALUE,
    'attention.kv_lora_rank': RANK, 'attention.q_lora_rank': QUERY_RANK,
    'attention.layer_norm_rms_epsilon': 1e-3, 'rope.dimension_count': SHARED_KEY, 'rope.freq_base': 10000.0,
    'ssm.conv_kernel': 3, 'kda.head_dim': KDA, 'kda.gate_lower_bound': -3.0, 'leading_dense_block_count': 1,
    'expert_latent_length': LATENT, 'attn_res.block_size': 2, 'activation.situ_beta': 1.5,
    'activation.situ_linear_beta': 2.5,
    **goldens.experts(EXPERTS, 2, EXPERT, expert_shared_count=2, expert_gating_func=2,
                      expert_weights_norm=True, expert_weights_scale=1.75),
}


def tensors():
    """As goldens.tensors."""
    def matrix(name, *shape):
        return name + '.weight', list(shape), 0.0, round(256 * 2.0 / shape[-1] ** 0.5) / 256

    def norm(name, columns):
        return name + '.weight', [columns], 1.0, 0.5

    def score(name):
        return name + '.weight', [WIDTH], 0.0, 0.5

    yield 'token_embd.weight', [goldens.VOCAB, WIDTH], 0.0, 1.0
    yield norm('output_norm', WIDTH)
    yield matrix('output', goldens.VOCAB, WIDTH)
    yield score('output_res_score')
    for layer, attends in enumerate(KEYS['attention.head_count_kv']):
        block = 'blk.%d.' % layer
        yield norm(block + 'attn_norm', WIDTH)
        yield norm(block + 'ffn_norm', WIDTH)
        yield score(block + 'attn_res_score')
        yield score(block + 'ffn_res_score')
        if attends:
            yield matrix(block + 'attn_q_a', QUERY_RANK, WIDTH)
            yield norm(block + 'attn_q_a_norm', QUERY_RANK)
            yield matrix(block + 'attn_q_b', HEADS * (PLAIN + SHARED_KEY), QUERY_RANK)
            yield matrix(block + 'attn_kv_a_mqa', RANK + SHARED_KEY, WIDTH)
            yield norm(block + 'attn_kv_a_norm', RANK)
            yield matrix(block + 'attn_k_b', HEADS, RANK, PLAIN)
            yield matrix(block + 'attn_v_b', HEADS, VALUE, RANK)
            yield matrix(block + 'attn_gate', HEADS * VALUE, WIDTH)
            yield matrix(block + 'attn_output', WIDTH, HEADS * VALUE)
        else:
            inner = HEADS * KDA
            for name in 'qkv':
                yield matrix(block + 'attn_' + name, inner, WIDTH)
                yield block + 'ssm_conv1d_%s.weight' % name, [1, inner, 1, 3], 0.0, 1.0
            yield matrix(block + 'ssm_f_a', KDA, WIDTH)
            yield matrix(block + 'ssm_f_b', inner, KDA)
            yield matrix(block + 'ssm_beta', HEADS, WIDTH)
            yield block + 'ssm_a', [HEADS], -1.0, 0.5
            yield block + 'ssm_dt.bias', [inner], 0.0, 1.0
            yield matrix(block + 'ssm_g', inner, WIDTH)
            yield norm(block + 'ssm_norm', KDA)
            yield matrix(block + 'attn_output', WIDTH, inner)
        if layer < KEYS['leading_dense_block_count']:
            yield matrix(block + 'ffn_gate', 40, WIDTH)
            yield matrix(block + 'ffn_up', 40, WIDTH)
            yield matrix(block + 'ffn_down', WIDTH, 40)
            continue
        yield block + 'ffn_gate_inp.weight', [EXPERTS, WIDTH], 0.0, 0.75
        yield block + 'exp_probs_b.bias', [EXPERTS], 0.0, 0.25
        yield matrix(block + 'ffn_routed_down', LATENT, WIDTH)
        yield matrix(block + 'ffn_gate_exps', EXPERTS, EXPERT, LATENT)
        yield matrix(block + 'ffn_up_exps', EXPERTS, EXPERT, LATENT)
        yield matrix(block + 'ffn_down_exps', EXPERTS, LATENT, EXPERT)
        yield norm(block + 'ffn_routed_norm', LATENT)
        yield matrix(block + 'ffn_routed_up', WIDTH, LATENT)
        yield matrix(block + 'ffn_gate_shexp', SHARED, WIDTH)
        yield matrix(block + 'ffn_up_shexp', SHARED, WIDTH)
        yield matrix(block + 'ffn_down_shexp', WIDTH, SHARED)


class Decoder:
    def __init__(self, architecture, keys, weights):
        self.keys, self.weights = keys, weights
        self.epsilon = keys['attention.layer_norm_rms_epsilon']
        self.nearest_choice = np.inf  # how far an expert was from being chosen, or not

    def linear(self, x, name):
        return x @ self.weights[name + '.weight'].T

    def norm(self, x, name):
        return rms_norm(x, self.weights[name + '.weight'], self.epsilon)

    def situ(self, gate, up):
        """SiTU, section 2 of the report."""
        beta, linear_beta = self.keys['activation.situ_beta'], self.keys['activation.situ_linear_beta']
        return (beta * np.tanh(gate / beta) * sigmoid(gate)) * (linear_beta * np.tanh(up / linear_beta))

    def attend_to_residuals(self, blocks, current, name):
        """Attention residuals, equations 8 to 10: keys are normalised, values are not."""
        values = np.stack(blocks + [current], 1)  # [T, n, width]
        keys = values / np.sqrt((values * values).mean(-1, keepdims=True) + self.epsilon)
        shares = softmax(keys @ self.weights[name + '.weight'])
        return (shares[..., None] * values).sum(1)

    def delta_attention(self, x, block):
        """Arrays are [T, heads, .]."""
        def heads(values):
            return values.reshape(len(x), HEADS, KDA)

        def convolved(name):
            rows = self.linear(x, block + 'attn_' + name)
            taps = self.weights[block + 'ssm_conv1d_%s.weight' % name].reshape(-1, 3)
            padded = np.concatenate((np.zeros((2, rows.shape[1])), rows))
            mixed = sum(padded[i:i + len(x)] * taps[:, i] for i in range(3))
            return heads(mixed * sigmoid(mixed))

        def unit(values):
            return values / np.maximum(np.sqrt((values * values).sum(-1, keepdims=True)), self.epsilon)

        q, k, v = unit(convolved('q')), unit(convolved('k')), convolved('v')
        rate = heads(self.linear(self.linear(x, block + 'ssm_f_a'), block + 'ssm_f_b')
                     + self.weights[block + 'ssm_dt.bias'])
        a = -self.weights[block + 'ssm_a']  # files have -exp(A_log)
        decay = np.exp(self.keys['kda.gate_lower_bound'] * sigmoid(a[:, None] * rate))
        beta = sigmoid(self.linear(x, block + 'ssm_beta'))
        state = np.zeros((HEADS, KDA, KDA))  # key, value
        out = []
        for t in range(len(x)):
            state = decay[t][:, :, None] * state
            change = beta[t][:, None] * (v[t] - np.einsum('hk,hkv->hv', k[t], state))
            state = state + k[t][:, :, None] * change[:, None, :]
            out.append(np.einsum('hk,hkv->hv', q[t], state) / np.sqrt(KDA))
        out = self.norm(np.stack(out), block + 'ssm_norm') * sigmoid(heads(self.linear(x, block + 'ssm_g')))
        return self.linear(out.reshape(len(x), -1), block + 'attn_output')

    def latent_attention(self, x, block):
        """Without positions."""
        query = self.linear(self.norm(self.linear(x, block + 'attn_q_a'), block + 'attn_q_a_norm'),
                            block + 'attn_q_b').reshape(len(x), HEADS, PLAIN + SHARED_KEY)
        row = self.linear(x, block + 'attn_kv_a_mqa')
        latent = self.norm(row[:, :RANK], block + 'attn_kv_a_norm')
        plain = np.einsum('tr,hrk->thk', latent, self.weights[block + 'attn_k_b.weight'])
        shared = np.broadcast_to(row[:, None, RANK:], (len(x), HEADS, SHARED_KEY))
        key = np.concatenate((plain, shared), -1)
        value = np.einsum('tr,hvr->thv', latent, self.weights[block + 'attn_v_b.weight'])
        scores = np.einsum('thd,shd->hts', query, key) / np.sqrt(PLAIN + SHARED_KEY)
        scores[:, np.triu(np.ones((len(x), len(x)), bool), 1)] = -np.inf
        out = np.einsum('hts,shv->thv', softmax(scores), value).reshape(len(x), -1)
        return self.linear(out * sigmoid(self.linear(x, block + 'attn_gate')), block + 'attn_output')

    def experts(self, x, block):
        scores = sigmoid(self.linear(x, block + 'ffn_gate_inp'))
        ranked = np.sort(scores + self.weights[block + 'exp_probs_b.bias'])
        used = self.keys['expert_used_count']
        self.nearest_choice = min(self.nearest_choice, (ranked[:, -used] - ranked[:, -used - 1]).min())
        chosen = np.argsort(-(scores + self.weights[block + 'exp_probs_b.bias']))[:, :used]
        latent = self.linear(x, block + 'ffn_routed_down')
        routed = np.zeros_like(latent)
        for t in range(len(x)):
            shares = scores[t, chosen[t]] / scores[t, chosen[t]].sum() * self.keys['expert_weights_scale']
            for share, expert in zip(shares, chosen[t]):
                gate, up, down = (self.weights[block + 'ffn_%s_exps.weight' % name][expert]
                                  for name in ('gate', 'up', 'down'))
                routed[t] += share * (down @ self.situ(gate @ latent[t], up @ latent[t]))
        routed = self.linear(self.norm(routed, block + 'ffn_routed_norm'), block + 'ffn_routed_up')
        shared = self.situ(self.linear(x, block + 'ffn_gate_shexp'), self.linear(x, block + 'ffn_up_shexp'))
        return routed + self.linear(shared, block + 'ffn_down_shexp')

    def logits(self, tokens):
        x = self.weights['token_embd.weight'][tokens]
        blocks = []  # sums of what the layers of each block give; the first is the embedding
        for layer, attends in enumerate(self.keys['attention.head_count_kv']):
            block = 'blk.%d.' % layer
            mixed = self.attend_to_residuals(blocks, x, block + 'attn_res_score') if blocks else x
            begins = layer % self.keys['attn_res.block_size'] == 0
            if begins:
                blocks = blocks + [x]
            read = self.norm(mixed, block + 'attn_norm')
            given = self.latent_attention(read, block) if attends else self.delta_attention(read, block)
            x = given if begins else x + given
            read = self.norm(self.attend_to_residuals(blocks, x, block + 'ffn_res_score'), block + 'ffn_norm')
            if layer < self.keys['leading_dense_block_count']:
                hidden = self.situ(self.linear(read, block + 'ffn_gate'), self.linear(read, block + 'ffn_up'))
                x = x + self.linear(hidden, block + 'ffn_down')
            else:
                x = x + self.experts(read, block)
        return self.linear(self.norm(self.attend_to_residuals(blocks, x, 'output_res_score'), 'output_norm'),
                           'output')
