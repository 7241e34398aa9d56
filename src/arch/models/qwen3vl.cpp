// Qwen3-VL, its text model (general.architecture "qwen3vl", "qwen3vlmoe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Reads rope.dimension_sections: pairs that turn by time, height and width.
void read_sections(const Keys& keys, ModelSpec& model) {
  constexpr const char* kSections = "rope.dimension_sections";
  const std::vector<uint32_t> sections = keys.counts(kSections, 4, 0, SpecLimits::kHeadDim);
  const uint64_t sum = uint64_t{sections[0]} + sections[1] + sections[2] + sections[3];
  for (LayerSpec& layer : model.layers) {
    RopeSpec& rope = layer.attention.rope;
    if (sum > rope.dimensions / 2 || sections[3] > 0) {
      keys.refuse(Code::Format, kSections,
                  "is {}, {}, {}, {}, not three numbers and 0 of {} pairs in all", sections[0],
                  sections[1], sections[2], sections[3], rope.dimensions / 2);
    }
    rope.interleaved_parts = {sections[1], sections[2]};
  }
}

/// Bai et al. 2025, arXiv 2511.21631: Qwen3 with pairs that turn by interleaved parts of a
/// position; in a text the three parts are equal.
ModelSpec read_qwen3vl(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::EachHead;
  read_sections(keys, model);
  return model;
}

ModelSpec read_qwen3vlmoe(const Keys& keys) {
  ModelSpec model = read_qwen3vl(keys);
  read_experts(keys, {}, model);
  return model;
}

constexpr int32_t kQwen3VlSections[] = {12, 10, 10, 0};
constexpr KeyValue kQwen3VlExample[] = {
    {"rope.dimension_sections", std::span<const int32_t>(kQwen3VlSections)}};
constexpr KeyValue kQwen3VlMoeExample[] = {
    {"rope.dimension_sections", std::span<const int32_t>(kQwen3VlSections)},
    {"expert_count", 8u},
    {"expert_used_count", 2u},
    {"expert_feed_forward_length", 256u}};

}  // namespace

extern constexpr Architecture kQwen3Vl{.read = read_qwen3vl, .example = kQwen3VlExample};
extern constexpr Architecture kQwen3VlMoe{.read = read_qwen3vlmoe, .example = kQwen3VlMoeExample};

}  // namespace tenon
