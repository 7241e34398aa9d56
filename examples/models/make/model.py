"""The demo model: llama's architecture, small."""
import torch
from torch import Tensor, nn
from torch.nn import functional

VOCABULARY, WIDTH, LAYERS = 1024, 256, 4
HEADS, KV_HEADS, HEAD_WIDTH = 8, 4, 32
FEED_FORWARD, CONTEXT, ROPE_BASE, EPSILON = 512, 1024, 10000.0, 1e-5


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, rows: Tensor) -> Tensor:
        return rows * torch.rsqrt(rows.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


def _angles() -> Tensor:
    frequencies = ROPE_BASE ** (-torch.arange(0, HEAD_WIDTH, 2).float() / HEAD_WIDTH)
    return torch.outer(torch.arange(CONTEXT).float(), frequencies)


ANGLES = _angles()


def rotated(heads: Tensor) -> Tensor:
    """Rope over neighbouring pairs. heads: [batch, head, position, width]"""
    angles = ANGLES[:heads.shape[-2]]
    even, odd = heads[..., 0::2], heads[..., 1::2]
    cosine, sine = angles.cos(), angles.sin()
    return torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), -1).flatten(-2)


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn_norm, self.ffn_norm = Norm(), Norm()
        self.attn_q = linear(WIDTH, HEADS * HEAD_WIDTH)
        self.attn_k = linear(WIDTH, KV_HEADS * HEAD_WIDTH)
        self.attn_v = linear(WIDTH, KV_HEADS * HEAD_WIDTH)
        self.attn_output = linear(HEADS * HEAD_WIDTH, WIDTH)
        self.ffn_gate, self.ffn_up = linear(WIDTH, FEED_FORWARD), linear(WIDTH, FEED_FORWARD)
        self.ffn_down = linear(FEED_FORWARD, WIDTH)

    def forward(self, rows: Tensor) -> Tensor:
        batch, positions, _ = rows.shape

        def heads(projection: nn.Linear, count: int) -> Tensor:
            return projection(normed).view(batch, positions, count, HEAD_WIDTH).transpose(1, 2)

        normed = self.attn_norm(rows)
        keys = rotated(heads(self.attn_k, KV_HEADS)).repeat_interleave(HEADS // KV_HEADS, 1)
        values = heads(self.attn_v, KV_HEADS).repeat_interleave(HEADS // KV_HEADS, 1)
        mixed = functional.scaled_dot_product_attention(
            rotated(heads(self.attn_q, HEADS)), keys, values, is_causal=True)
        rows = rows + self.attn_output(mixed.transpose(1, 2).reshape(batch, positions, -1))
        normed = self.ffn_norm(rows)
        return rows + self.ffn_down(functional.silu(self.ffn_gate(normed)) * self.ffn_up(normed))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token_embd = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.output_norm = Norm()
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)
        for layer in self.layers:
            for projection in (layer.attn_output, layer.ffn_down):
                nn.init.normal_(projection.weight, 0, 0.02 / (2 * LAYERS) ** 0.5)

    def forward(self, ids: Tensor, wanted: Tensor) -> Tensor:
        """Logits of the wanted positions. ids, wanted: [batch, position]; result: [wanted, token]"""
        rows = self.token_embd(ids)
        for layer in self.layers:
            rows = layer(rows)
        return self.output_norm(rows[wanted]) @ self.token_embd.weight.T
