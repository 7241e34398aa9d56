"""Blocks that the families share: a golden has a model of the package `transformers`, the keys of a file and,
tensor by tensor, the parameter it is. Every feature of a model is on and none neutral."""
import torch
import transformers as hf

from make_goldens import weight

GOLDENS = {}


def golden(name, architecture, keys, model, vocab=64, **more):
    """Registers a golden; the function is its `fill`."""
    def register(fill):
        GOLDENS[name] = {'architecture': architecture, 'keys': keys, 'model': model, 'fill': fill,
                         'vocab': vocab, **more}
        return fill
    return register


def of(model_class, config_class, **config):
    """A small model with the plain implementation of attention."""
    config = {'vocab_size': 64, 'hidden_size': 32, 'max_position_embeddings': 256, 'pad_token_id': None,
              'bos_token_id': None, 'eos_token_id': None, 'attn_implementation': 'eager', **config}
    return lambda: getattr(hf, model_class)(getattr(hf, config_class)(**config))


def base_keys(layers, heads, kv_heads, head, feed_forward, theta, epsilon=1e-5, width=32):
    return {'block_count': layers, 'context_length': 256, 'embedding_length': width,
            'feed_forward_length': feed_forward, 'attention.head_count': heads,
            'attention.head_count_kv': kv_heads, 'attention.key_length': head,
            'attention.value_length': head, 'attention.layer_norm_rms_epsilon': epsilon,
            'rope.dimension_count': head, 'rope.freq_base': theta}


def expert_keys(count, used, width, **more):
    return {'expert_count': count, 'expert_used_count': used, 'expert_feed_forward_length': width,
            **{'expert_' + name: value for name, value in more.items()}}


def ends(m, root='model.', head='lm_head.weight', norm='output_norm.weight', change=None):
    m.put('token_embd.weight', root + 'embed_tokens.weight', spread=1.0)
    m.norm(norm, root + 'norm.weight', **({'change': change} if change else {}))
    if head:
        m.put('output.weight', head)


def adjacent(parameter, heads):
    """Rows in the order of files whose rotated pairs are neighbours."""
    rows, columns = parameter.shape
    return parameter.view(heads, 2, rows // heads // 2, columns).transpose(1, 2)


def halves(heads, head, plain):
    """From rows whose rotated pairs, after `plain` rows of each head, are neighbours, to rows where they are
    the halves."""
    def change(values):
        parts = values.reshape(heads, head, -1)
        turned = parts[:, plain:].reshape(heads, (head - plain) // 2, 2, -1).transpose(1, 2)
        return torch.cat((parts[:, :plain], turned.reshape(heads, head - plain, -1)), 1).reshape(values.shape)
    return change


def attention(m, layer, root, names='q_proj k_proj v_proj o_proj', pairs=None):
    """pairs: heads of queries and keys, where the pairs of files are neighbours."""
    for tensor, name in zip(('attn_q', 'attn_k', 'attn_v', 'attn_output'), names.split()):
        parameter = m.parameters[root + name + '.weight']
        rows, columns = parameter.shape
        if pairs and tensor in pairs:
            parameter = adjacent(parameter, pairs[tensor])
        m.put('blk.%d.%s.weight' % (layer, tensor), parameter, shape=[rows, columns])


def gated(m, layer, root, suffix=''):
    for tensor, name in (('ffn_gate', 'gate_proj'), ('ffn_up', 'up_proj'), ('ffn_down', 'down_proj')):
        m.put('blk.%d.%s%s.weight' % (layer, tensor, suffix), root + name + '.weight')


def experts(m, layer, root, router='gate.weight', bias=None, bias_name='exp_probs_b.bias',
            shared='shared_experts.'):
    block = 'blk.%d.' % layer
    m.put(block + 'ffn_gate_inp.weight', root + router, spread=0.75)
    if bias:
        m.put(block + bias_name, root + bias, spread=0.25)
    both = m.parameters[root + 'experts.gate_up_proj']
    width = both.shape[1] // 2
    m.put(block + 'ffn_gate_exps.weight', both[:, :width])
    m.put(block + 'ffn_up_exps.weight', both[:, width:])
    m.put(block + 'ffn_down_exps.weight', root + 'experts.down_proj')
    if shared:
        gated(m, layer, root + shared, '_shexp')


def layer_norms(m, layer, root, change=None, **tensors):
    for tensor, name in tensors.items():
        m.norm('blk.%d.%s.weight' % (layer, tensor), root + name + '.weight',
               **({'change': change} if change else {}))


YARN = {'rope_type': 'yarn', 'rope_theta': 1000.0, 'factor': 8.0, 'original_max_position_embeddings': 16,
        'beta_fast': 32.0, 'beta_slow': 1.0}
YARN_KEYS = {'rope.scaling.type': 'yarn', 'rope.scaling.factor': 8.0,
             'rope.scaling.original_context_length': 16}

ROPE = {'rope_type': 'default', 'rope_theta': 10000.0}


def further(name, keys, model, source, **more):
    """A golden named as its architecture; source: the class of the package."""
    return golden('further/' + name, more.pop('architecture', name), keys, model,
                  more={'source': 'transformers ' + source}, **more)


def layer_keys(*arguments, **more):
    """base_keys with the epsilon of layer norms."""
    keys = base_keys(*arguments)
    keys['attention.layer_norm_epsilon'] = keys.pop('attention.layer_norm_rms_epsilon')
    return {**keys, **more}


def biased_norm(m, tensor, target):
    m.norm(tensor + '.weight', target + '.weight')
    m.put(tensor + '.bias', target + '.bias', spread=0.375)


def linear(m, tensor, target, transposed=False):
    """A matrix and, where the parameter has one, its bias."""
    weight = m.parameters[target + '.weight']
    m.put(tensor + '.weight', weight.T if transposed else weight)
    if target + '.bias' in m.parameters:
        m.put(tensor + '.bias', target + '.bias', spread=0.375)


def fused_rows(m, tensor, targets, shape=None):
    """One tensor whose rows are those of several parameters, one after the other; biases alike."""
    for ending, spread in (('.weight', None), ('.bias', 0.375)):
        parts = [m.parameters[t + ending] for t in targets if t + ending in m.parameters]
        if not parts:
            continue
        both = torch.empty([sum(p.shape[0] for p in parts)] + list(parts[0].shape[1:]))
        m.put(tensor + ending, both, spread=spread)
        with torch.no_grad():
            for part, values in zip(parts, both.split([p.shape[0] for p in parts])):
                part.copy_(values)


def by_head(heads, size):
    """From rows of all queries, all keys, all values to those of each head's three together."""
    def change(values):
        return values.view(3, heads, size, *values.shape[1:]).transpose(0, 1).reshape(values.shape)
    return change


def llama_layers(m, layers, pairs=None, biases=False, fused=False):
    """Attention and feed-forward of the package's Llama and its kin."""
    for layer in range(layers):
        root, block = 'model.layers.%d.' % layer, 'blk.%d.' % layer
        layer_norms(m, layer, root, attn_norm='input_layernorm', ffn_norm='post_attention_layernorm')
        if fused:
            fused_rows(m, block + 'attn_qkv', [root + 'self_attn.%s_proj' % x for x in 'qkv'])
        for tensor, name in (('attn_q', 'q_proj'), ('attn_k', 'k_proj'), ('attn_v', 'v_proj'),
                             ('attn_output', 'o_proj')):
            if fused and tensor != 'attn_output':
                continue
            target = root + 'self_attn.' + name
            heads = (pairs or {}).get(tensor)
            for ending, spread in (('.weight', None), ('.bias', 0.375)):
                if target + ending not in m.parameters:
                    continue
                parameter = m.parameters[target + ending]
                shape = list(parameter.shape)
                if heads and len(shape) == 2:
                    parameter = adjacent(parameter, heads)
                elif heads:
                    parameter = parameter.view(heads, 2, shape[0] // heads // 2).transpose(1, 2)
                m.put(block + tensor + ending, parameter, shape=shape, spread=spread)
        if root + 'mlp.gate_proj.weight' in m.parameters:
            gated(m, layer, root + 'mlp.')
        else:
            linear(m, block + 'ffn_up', root + 'mlp.up_proj')
            linear(m, block + 'ffn_down', root + 'mlp.down_proj')


PAIRS = {'attn_q': 4, 'attn_k': 2}
LLAMA = dict(intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             head_dim=16, rms_norm_eps=1e-5, rope_parameters=ROPE)
LLAMA_KEYS = base_keys(2, 4, 2, 16, 40, 10000.0)
LLAMA_MODEL = of('LlamaForCausalLM', 'LlamaConfig', **LLAMA)


class Experts(torch.nn.Module):
    """A mixture of experts, spelt out: route(logits) -> the weight of each expert for each token."""

    def __init__(self, width, count, inner, route, activation):
        super().__init__()
        self.gate = torch.nn.Linear(width, count, bias=False)
        self.gate_exps = torch.nn.Parameter(torch.empty(count, inner, width))
        self.up_exps = torch.nn.Parameter(torch.empty(count, inner, width))
        self.down_exps = torch.nn.Parameter(torch.empty(count, width, inner))
        self.route, self.activation = route, activation

    def forward(self, x, logits=None):
        shares = self.route(self.gate(x) if logits is None else logits)
        hidden = self.activation(torch.einsum('...d,efd->...ef', x, self.gate_exps))
        hidden = hidden * torch.einsum('...d,efd->...ef', x, self.up_exps)
        return torch.einsum('...e,...ef,edf->...d', shares, hidden, self.down_exps)


def of_chosen(used, weights):
    """weights(logits of the chosen, all logits)"""
    def route(logits):
        chosen, places = logits.topk(used, dim=-1)
        return torch.zeros_like(logits).scatter(-1, places, weights(chosen, logits))
    return route


def softmax_of_chosen(chosen, _):
    return torch.softmax(chosen, -1)


def spelt_experts(m, layer, root):
    block = 'blk.%d.' % layer
    m.put(block + 'ffn_gate_inp.weight', root + 'gate.weight', spread=0.75)
    for tensor in ('gate_exps', 'up_exps', 'down_exps'):
        m.put(block + 'ffn_' + tensor + '.weight', root + tensor)


def gelu(x):
    return torch.nn.functional.gelu(x, approximate='tanh')


def without(keys, *names):
    return {key: value for key, value in keys.items() if key not in names}
