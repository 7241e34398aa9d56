"""Decoders in float64, straight from the papers: nothing is shared with the engine but the names of
keys and tensors. What a model has is told by its tensors."""
import numpy as np

# Files of these architectures have the pairs of a rotation side by side; others, in two halves.
ADJACENT = {'llama'}
# The weights of the chosen experts are those of the softmax over all of them.
NOT_NORMALISED = {'qwen2moe'}


def rms_norm(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def swiglu(gate, up):
    return gate * sigmoid(gate) * up


class Decoder:
    def __init__(self, architecture, keys, weights):
        """keys as the file has them, rounded to f32; weights: name -> float64 array"""
        self.architecture, self.keys, self.weights = architecture, keys, weights
        self.nearest_choice = np.inf  # how far an expert was from being chosen, or not

    def linear(self, x, name):
        y = x @ self.weights[name + '.weight'].T
        return y + self.weights[name + '.bias'] if name + '.bias' in self.weights else y

    def norm(self, x, name):
        weight = self.weights.get(name + '.weight')
        return x if weight is None else rms_norm(x, weight, self.keys['attention.layer_norm_rms_epsilon'])

    def angles(self, positions):
        """([positions, pairs] radians, what cosine and sine are multiplied by)"""
        k = self.keys
        n = k['rope.dimension_count']
        pair = np.arange(n // 2)
        frequency = k['rope.freq_base'] ** (-2.0 * pair / n)
        frequency = frequency / self.weights.get('rope_freqs.weight', 1.0)
        scaling, magnitude = k.get('rope.scaling.type', 'none'), 1.0
        if scaling == 'linear':
            frequency = frequency / k['rope.scaling.factor']
        elif scaling == 'yarn':  # Peng et al. 2023, equations 17 to 23
            factor, original = k['rope.scaling.factor'], k['rope.scaling.original_context_length']

            def pair_with(turns):
                return n * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(k['rope.freq_base']))

            low, high = max(0, np.floor(pair_with(32))), min(n - 1, np.ceil(pair_with(1)))
            kept = 1 - np.clip((pair - low) / max(0.001, high - low), 0, 1)
            frequency = frequency * (kept + (1 - kept) / factor)
            magnitude = (1 + 0.1 * np.log(factor)) * k.get('rope.scaling.attn_factor', 1.0)
        return positions[:, None] * frequency, magnitude

    def rope(self, x):
        """x [positions, heads, size]"""
        angles, magnitude = self.angles(np.arange(len(x), dtype=np.float64))
        cos, sin = (magnitude * f(angles)[:, None, :] for f in (np.cos, np.sin))
        pairs = angles.shape[1]
        i = np.arange(pairs)
        first, second = (2 * i, 2 * i + 1) if self.architecture in ADJACENT else (i, i + pairs)
        y = x.copy()
        y[..., first] = x[..., first] * cos - x[..., second] * sin
        y[..., second] = x[..., first] * sin + x[..., second] * cos
        return y

    def attention(self, x, block):
        k = self.keys
        heads, kv_heads, size = (k['attention.' + name] for name in
                                 ('head_count', 'head_count_kv', 'key_length'))
        tokens = len(x)
        q = self.linear(x, block + 'attn_q').reshape(tokens, heads, size)
        key = self.linear(x, block + 'attn_k').reshape(tokens, kv_heads, size)
        value = self.linear(x, block + 'attn_v').reshape(tokens, kv_heads, -1)
        q, key = self.norm(q, block + 'attn_q_norm'), self.norm(key, block + 'attn_k_norm')
        q, key = self.rope(q), self.rope(key)
        back = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
        window = k.get('attention.sliding_window', 0)
        seen = (back >= 0) & ((back < window) | (window == 0))
        out = []
        for head in range(heads):
            of = head // (heads // kv_heads)
            scores = np.where(seen, q[:, head] @ key[:, of].T / np.sqrt(size), -np.inf)
            out.append(softmax(scores) @ value[:, of])
        return self.linear(np.concatenate(out, -1), block + 'attn_output')

    def experts(self, x, block):
        k = self.keys
        used = k['expert_used_count']
        share = softmax(self.linear(x, block + 'ffn_gate_inp'))
        order = np.argsort(-share, -1)
        sorted_share = np.take_along_axis(share, order, -1)
        self.nearest_choice = min(self.nearest_choice,
                                  (sorted_share[:, used - 1] / sorted_share[:, used] - 1).min())
        gate, up, down = (self.weights[block + 'ffn_%s_exps.weight' % name]
                          for name in ('gate', 'up', 'down'))
        y = np.zeros_like(x)
        for row, of_row in enumerate(order[:, :used]):
            part = share[row, of_row]
            if self.architecture not in NOT_NORMALISED:
                part = part / part.sum()
            for expert, weight in zip(of_row, part):
                y[row] += weight * (down[expert] @ swiglu(gate[expert] @ x[row], up[expert] @ x[row]))
        if block + 'ffn_gate_inp_shexp.weight' in self.weights:
            y += (sigmoid(x @ self.weights[block + 'ffn_gate_inp_shexp.weight'])[:, None]
                  * self.gated(x, block, '_shexp'))
        return y

    def gated(self, x, block, suffix=''):
        hidden = swiglu(self.linear(x, block + 'ffn_gate' + suffix),
                        self.linear(x, block + 'ffn_up' + suffix))
        return self.linear(hidden, block + 'ffn_down' + suffix)

    def logits(self, tokens):
        """[tokens, vocab]"""
        x = self.weights['token_embd.weight'][tokens]
        for layer in range(self.keys['block_count']):
            block = 'blk.%d.' % layer
            x = x + self.attention(self.norm(x, block + 'attn_norm'), block)
            normed = self.norm(x, block + 'ffn_norm')
            x = x + (self.experts if 'expert_count' in self.keys else self.gated)(normed, block)
        head = self.weights.get('output.weight', self.weights['token_embd.weight'])
        return self.norm(x, 'output_norm') @ head.T
