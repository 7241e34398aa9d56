#include "arch/folder/head_rows.h"

#include <charconv>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

/// Heads of q and of k to those of "blk.N.attn_q.weight"; 0 for other tensors.
uint64_t heads_of(std::string_view tensor,
                  const std::vector<std::pair<uint64_t, uint64_t>>& heads) {
  constexpr std::string_view kLayer = "blk.";
  if (!tensor.starts_with(kLayer)) return 0;
  tensor.remove_prefix(kLayer.size());
  uint64_t layer = 0;
  const auto end = std::from_chars(tensor.data(), tensor.data() + tensor.size(), layer);
  if (end.ec != std::errc() || layer >= heads.size()) return 0;
  tensor.remove_prefix(static_cast<size_t>(end.ptr - tensor.data()));
  if (tensor == ".attn_q.weight" || tensor == ".attn_q.bias") return heads[layer].first;
  if (tensor == ".attn_k.weight" || tensor == ".attn_k.bias") return heads[layer].second;
  return 0;
}

}  // namespace

HeadRows::HeadRows(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers) {
    heads_.emplace_back(layer.attention.heads, layer.attention.kv_heads);
  }
}

uint64_t HeadRows::per_head(const std::string& file, std::string_view tensor, uint64_t rows) const {
  const uint64_t heads = heads_of(tensor, heads_);
  if (heads == 0) return 0;
  if (rows % (2 * heads) != 0) {
    fail(Code::Format, "{}: tensor {}: {} rows are not {} heads", file, quoted(tensor), rows,
         heads);
  }
  return rows / heads;
}

}  // namespace tenon
