"""Writes trained weights as a GGUF file.

    export.py WEIGHTS OUT [--type q8_0|f32]
"""
import argparse
from pathlib import Path

import gguf
import numpy
import torch
from gguf.quants import quantize

import model as shape
from tokenizer import SPECIAL, Tokenizer


def write_shape(writer: gguf.GGUFWriter, file_type: int) -> None:
    writer.add_name("Tenon demo")
    writer.add_description("A 2.6M parameter model trained on synthetic chat, stories, extraction and tool calls")
    writer.add_license("Apache-2.0")
    writer.add_context_length(shape.CONTEXT)
    writer.add_embedding_length(shape.WIDTH)
    writer.add_block_count(shape.LAYERS)
    writer.add_feed_forward_length(shape.FEED_FORWARD)
    writer.add_head_count(shape.HEADS)
    writer.add_head_count_kv(shape.KV_HEADS)
    writer.add_key_length(shape.HEAD_WIDTH)
    writer.add_value_length(shape.HEAD_WIDTH)
    writer.add_rope_dimension_count(shape.HEAD_WIDTH)
    writer.add_rope_freq_base(shape.ROPE_BASE)
    writer.add_layer_norm_rms_eps(shape.EPSILON)
    writer.add_vocab_size(shape.VOCABULARY)
    writer.add_file_type(file_type)


def write_vocabulary(writer: gguf.GGUFWriter) -> None:
    tokenizer = Tokenizer()
    tokens = tokenizer.tokens
    control, unused, normal = gguf.TokenType.CONTROL, gguf.TokenType.UNUSED, gguf.TokenType.NORMAL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([control if token in SPECIAL else unused if token.startswith("<|unused") else normal
                            for token in tokens])
    writer.add_token_merges(tokenizer.merges)
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_pad_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template((Path(__file__).parent / "template.jinja").read_text().rstrip("\n"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weights")
    parser.add_argument("out")
    parser.add_argument("--type", choices=["q8_0", "f32"], default="q8_0")
    options = parser.parse_args()
    is_quantized = options.type == "q8_0"
    types = gguf.LlamaFileType
    writer = gguf.GGUFWriter(options.out, "llama")
    write_shape(writer, types.MOSTLY_Q8_0 if is_quantized else types.ALL_F32)
    write_vocabulary(writer)
    for name, values in torch.load(options.weights).items():
        name = name.replace("layers.", "blk.")
        array = numpy.ascontiguousarray(values.numpy().astype(numpy.float32))
        if is_quantized and array.ndim > 1:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
