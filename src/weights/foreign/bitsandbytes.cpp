// Scheme "bitsandbytes 4-bit": weight of any type whose bytes are codes, two in a byte, the first
// in the high nibble, over the whole matrix; weight.quant_map F32 [16]; weight.absmax F32 or, with
// weight.nested_absmax and weight.nested_quant_map, U8; a JSON text in
// weight.quant_state.bitsandbytes__nf4 or __fp4.
//   absmax[k] = nested_map[a[k]] * nested_absmax[k / nested_block] + offset
//   W[n] = map[code[n]] * absmax[n / block]
#include <algorithm>

#include "base/checked.h"
#include "json/json_tree.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

const StoredTensor* state_of(const Module& module) {
  for (const char* suffix :
       {".weight.quant_state.bitsandbytes__nf4", ".weight.quant_state.bitsandbytes__fp4"}) {
    if (const StoredTensor* state = module.find(suffix)) return state;
  }
  return nullptr;
}

struct BnbState {
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t block = 0;
  uint64_t nested_block = 0;
  float nested_offset = 0;
};

uint64_t size_in(const Module& module, const StoredTensor& state, const JsonNode* node,
                 const char* what) {
  if (node == nullptr || !node->is_count || node->count == 0) {
    module.refuse(state, "\"{}\" is no number from 1", what);
  }
  return node->count;
}

BnbState read_state(const Module& module, const StoredTensor& state) {
  const std::string text = text_of(module, state, uint64_t{64} << 10);
  const JsonNode root = parse_json_tree(text, module.folder()->place(state));
  BnbState out;
  const JsonNode* shape = root.find("shape");
  if (shape == nullptr || shape->items.empty() || shape->items.size() > kMaxStoredRank) {
    module.refuse(state, "\"shape\" is no array of sizes");
  }
  out.rows = 1;
  for (const JsonNode& extent : shape->items) {
    if (out.columns != 0) out.rows = checked_mul(out.rows, out.columns, state.name);
    out.columns = size_in(module, state, &extent, "shape");
  }
  out.block = size_in(module, state, root.find("blocksize"), "blocksize");
  if (module.has(".weight.nested_absmax")) {
    out.nested_block = size_in(module, state, root.find("nested_blocksize"), "nested_blocksize");
    const JsonNode* offset = root.find("nested_offset");
    if (offset == nullptr || !offset->is(JsonNode::Kind::Number)) {
      module.refuse(state, "\"nested_offset\" is no number");
    }
    out.nested_offset = static_cast<float>(offset->number);
  }
  return out;
}

class BnbReader final : public RowReader {
 public:
  BnbReader(const Module& module, const BnbState& state)
      : RowReader({state.rows, state.columns}), state_(state), folder_(module.folder()) {
    const StoredTensor& codes = *module.weight();
    const uint64_t values = checked_mul(state.rows, state.columns, codes.name);
    if (codes.bytes != (values + 1) / 2) {
      module.refuse(codes, "{} bytes are no {} x {} codes", codes.bytes, state.rows, state.columns);
    }
    codes_ = &codes;
    map_ = all_floats(module, module.get(".weight.quant_map"), 16);
    if (map_.size() != 16) module.refuse(module.get(".weight.quant_map"), "expected 16 values");
    const uint64_t blocks = (values + state.block - 1) / state.block;
    const StoredTensor& maxima = module.get(".weight.absmax");
    maxima_ = TensorRows(module, maxima, 1, blocks);
    require_type(module, maxima, state.nested_block == 0 ? ElementType::F32 : ElementType::U8);
    if (state.nested_block == 0) return;
    const StoredTensor& nested_map = module.get(".weight.nested_quant_map");
    nested_map_ = all_floats(module, nested_map, 256);
    if (nested_map_.size() != 256) module.refuse(nested_map, "expected 256 values");
    nested_maxima_ = TensorRows(module, module.get(".weight.nested_absmax"), 1,
                                (blocks + state.nested_block - 1) / state.nested_block);
  }

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    for (uint64_t i = 0; i < count; ++i) {
      read_values((first + i) * size().columns, size().columns, out + i * size().columns);
    }
  }

  void read_values(uint64_t first, uint64_t count, float* out) const {
    const uint64_t begin = first / 2;
    std::vector<uint8_t> codes((first + count + 1) / 2 - begin);
    folder_->read(*codes_, begin, std::as_writable_bytes(std::span(codes)));
    const uint64_t first_block = first / state_.block;
    const std::vector<float> maxima =
        read_maxima(first_block, (first + count - 1) / state_.block - first_block + 1);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t n = first + i;
      const uint8_t pair = codes[n / 2 - begin];
      const uint8_t code = n % 2 == 0 ? pair >> 4 : pair & 15;
      out[i] = map_[code] * maxima[n / state_.block - first_block];
    }
  }

  [[nodiscard]] std::vector<float> read_maxima(uint64_t first, uint64_t count) const {
    std::vector<float> maxima(count);
    if (state_.nested_block == 0) {
      maxima_.read_floats(0, 1, first, count, maxima.data());
      return maxima;
    }
    std::vector<uint8_t> codes(count);
    maxima_.read(0, 1, first, count, codes.data());
    const uint64_t first_nested = first / state_.nested_block;
    std::vector<float> nested((first + count - 1) / state_.nested_block - first_nested + 1);
    nested_maxima_.read_floats(0, 1, first_nested, nested.size(), nested.data());
    for (uint64_t i = 0; i < count; ++i) {
      const float scale = nested[(first + i) / state_.nested_block - first_nested];
      maxima[i] = nested_map_[codes[i]] * scale + state_.nested_offset;
    }
    return maxima;
  }

  BnbState state_;
  std::shared_ptr<const TensorFolder> folder_;
  const StoredTensor* codes_ = nullptr;
  TensorRows maxima_;
  TensorRows nested_maxima_;
  std::vector<float> map_;
  std::vector<float> nested_map_;
};

}  // namespace

bool is_bnb4(const Module& module) {
  return module.weight() != nullptr && state_of(module) != nullptr;
}

std::unique_ptr<const RowReader> open_bnb4(const Module& module) {
  return std::make_unique<BnbReader>(module, read_state(module, *state_of(module)));
}

}  // namespace tenon::foreign
