// Description of an architecture's Hugging Face folders: keys of config.json and names of tensors,
// beside those of GGUF files. Tables are text, one entry a line: they cost few bytes.
#pragma once

#include <string_view>

namespace tenon {

class FolderConfig;

struct FolderForm {
  /// Values of "model_type", between spaces.
  std::string_view types;
  /// Values of "architectures", between spaces.
  std::string_view classes;
  /// Values of "model_type" of folders that have this model under "text_config", between spaces.
  std::string_view wrappers{};
  /// Keys of config.json, each with its meaning:
  ///   name>key    the value of a metadata key, without the architecture's prefix
  ///   name!key    likewise, and required; without a key only required
  ///   name%key    likewise, a number that may have a fraction
  ///   name$key    likewise, and required
  ///   name=a|b    the only values that are computed; none is null. A missing key and null pass.
  ///   name?stem   a flag: whether the tensor with this name is there
  ///   name#stem   a number: rows of the tensor with this name
  ///   name~       changes nothing here
  std::string_view keys;
  /// Tensors: the name in the folder without prefixes ("model.") and without ".weight" or ".bias",
  /// a space, the name in GGUF files, and maybe a space and flags. Each * is a number. The first
  /// line that matches counts, with those after it of the same name.
  ///   -  as the name in GGUF files: not used
  ///   +  plus one
  ///   n  -exp(x)
  ///   f  as f32
  ///   0, 1  the first or second half of the rows
  ///   e, o  the even or odd rows
  ///   s  without the first two rows
  ///   c  as a column
  ///   g  as a row for each group of heads ("ssm.group_count")
  ///   t  the matrices of a stack are stored transposed
  std::string_view tensors{};
  /// Takes the keys that no table can express. May be null.
  void (*derive)(FolderConfig& config) = nullptr;
  /// Also has the keys and tensors of most decoders.
  bool decoder = true;
  /// "rope_theta" if it is missing; 0 means that it must be there.
  double theta = 0.0;
  /// Gives rows of texts, and has no output matrix.
  bool encoder = false;
  /// GGUF files have the rows of each head of q and k in another order, so that neighbours rotate.
  bool reorders_heads = false;
  /// Another form of the same architecture's folders; may be null.
  const FolderForm* next = nullptr;
};

/// Tensors of Gemma, whose norms are one less than their factors.
inline constexpr std::string_view kGemmaNorms =
    "norm output_norm +\n"
    "layers.*.input_layernorm blk.*.attn_norm +\n"
    "layers.*.post_attention_layernorm blk.*.post_attention_norm +\n"
    "layers.*.pre_feedforward_layernorm blk.*.ffn_norm +\n"
    "layers.*.post_feedforward_layernorm blk.*.post_ffw_norm +\n"
    "layers.*.self_attn.q_norm blk.*.attn_q_norm +\n"
    "layers.*.self_attn.k_norm blk.*.attn_k_norm +\n";

}  // namespace tenon
