#include "random_model/random_shapes.h"

#include <array>
#include <charconv>
#include <system_error>

#include "arch/architecture_list.h"
#include "base/error.h"
#include "base/nearest_name.h"

namespace tenon {
namespace {

constexpr KeyValue kTinyMoeKeys[] = {
    {"expert_count", 8u}, {"expert_used_count", 2u}, {"expert_feed_forward_length", 256u}};
constexpr KeyValue kMoe1bKeys[] = {
    {"expert_count", 32u}, {"expert_used_count", 4u}, {"expert_feed_forward_length", 512u}};
constexpr KeyValue kQwen3MoeKeys[] = {
    {"expert_count", 128u}, {"expert_used_count", 8u}, {"expert_feed_forward_length", 768u}};

constexpr KeyValue kGemma3n200mKeys[] = {{"attention.sliding_window", 512u},
                                         {"attention.sliding_window_pattern", 5u},
                                         {"attention.shared_kv_layers", 3u},
                                         {"altup.num_inputs", 4u},
                                         {"embedding_length_per_layer_input", 256u}};
// Groups of five layers with a window and a layer without, which has another number of heads.
constexpr int32_t kGemma4Windows[] = {1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1,
                                      1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0};
constexpr int32_t kGemma4KvHeads[] = {8, 8, 8, 8, 8, 2, 8, 8, 8, 8, 8, 2, 8, 8, 8,
                                      8, 8, 2, 8, 8, 8, 8, 8, 2, 8, 8, 8, 8, 8, 2};
constexpr KeyValue kGemma4Keys[] = {
    {"attention.sliding_window_pattern", std::span<const int32_t>(kGemma4Windows)},
    {"attention.head_count_kv", std::span<const int32_t>(kGemma4KvHeads)},
    {"attention.sliding_window", 1024u},
    {"attention.key_length_swa", 256u},
    {"attention.value_length_swa", 256u},
    {"rope.dimension_count_swa", 256u},
    {"rope.freq_base_swa", 10000.0f},
    {"attention.shared_kv_layers", 0u},
    {"embedding_length_per_layer_input", 0u},
    {"final_logit_softcapping", 30.0f},
    {"expert_count", 128u},
    {"expert_used_count", 8u},
    {"expert_feed_forward_length", 704u}};
constexpr KeyValue kGemma3Keys[] = {{"attention.sliding_window", 512u}};
constexpr KeyValue kGptOssKeys[] = {{"attention.sliding_window", 128u},
                                    {"rope.scaling.type", std::string_view("yarn")},
                                    {"rope.scaling.factor", 32.0f},
                                    {"rope.scaling.original_context_length", 4096u},
                                    {"expert_count", 32u},
                                    {"expert_used_count", 4u},
                                    {"expert_feed_forward_length", 2880u}};
constexpr int32_t kQwen35RopeParts[] = {11, 11, 10, 0};
constexpr KeyValue kQwen35SmallKeys[] = {
    {"rope.dimension_count", 64u},
    {"rope.dimension_sections", std::span<const int32_t>(kQwen35RopeParts)},
    {"full_attention_interval", 4u},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 2048u},
    {"ssm.state_size", 128u},
    {"ssm.time_step_rank", 16u},
    {"ssm.group_count", 16u}};
constexpr KeyValue kQwen35MoeKeys[] = {
    {"rope.dimension_count", 64u},
    {"rope.dimension_sections", std::span<const int32_t>(kQwen35RopeParts)},
    {"full_attention_interval", 4u},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 4096u},
    {"ssm.state_size", 128u},
    {"ssm.time_step_rank", 32u},
    {"ssm.group_count", 16u},
    {"expert_count", 256u},
    {"expert_used_count", 8u},
    {"expert_feed_forward_length", 512u},
    {"expert_shared_feed_forward_length", 512u}};
// The cache's row has 512 + 64 values; the heads made from it have 192 + 64 and 256.
constexpr KeyValue kGlmFlashKeys[] = {{"attention.head_count_kv", 1u},
                                      {"attention.key_length", 576u},
                                      {"attention.value_length", 512u},
                                      {"attention.key_length_mla", 256u},
                                      {"attention.value_length_mla", 256u},
                                      {"attention.kv_lora_rank", 512u},
                                      {"attention.q_lora_rank", 768u},
                                      {"rope.dimension_count", 64u},
                                      {"leading_dense_block_count", 1u},
                                      {"expert_count", 64u},
                                      {"expert_used_count", 4u},
                                      {"expert_feed_forward_length", 1536u},
                                      {"expert_shared_count", 1u},
                                      {"expert_gating_func", 2u},
                                      {"expert_weights_norm", true},
                                      {"expert_weights_scale", 1.8f}};
// Layers without key heads are short convolutions.
constexpr int32_t kLfm2KvHeads[] = {0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0};
constexpr KeyValue kLfm2Keys[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kLfm2KvHeads)}, {"shortconv.l_cache", 3u}};
// Layers with key heads are attention, layers with a width are experts, others are Mamba 2.
constexpr int32_t kNemotron3KvHeads[] = {0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0,
                                         0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0,
                                         0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr int32_t kNemotron3Widths[] = {
    0,    1856, 0,    1856, 0,    0,    1856, 0,    1856, 0,    1856, 0,    0,
    1856, 0,    1856, 0,    1856, 0,    0,    1856, 0,    1856, 0,    1856, 0,
    0,    1856, 0,    1856, 0,    1856, 0,    0,    1856, 0,    1856, 0,    1856,
    0,    1856, 0,    0,    1856, 0,    1856, 0,    1856, 0,    1856, 0,    1856};
constexpr KeyValue kNemotron3Keys[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kNemotron3KvHeads)},
    {"feed_forward_length", std::span<const int32_t>(kNemotron3Widths)},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 4096u},
    {"ssm.state_size", 128u},
    {"ssm.time_step_rank", 64u},
    {"ssm.group_count", 8u},
    {"expert_count", 128u},
    {"expert_used_count", 6u},
    {"expert_feed_forward_length", 1856u},
    {"expert_shared_count", 1u},
    {"expert_shared_feed_forward_length", 3712u},
    {"expert_gating_func", 2u},
    {"expert_weights_norm", true},
    {"expert_weights_scale", 2.5f}};
constexpr KeyValue kMamba2Keys[] = {{"ssm.conv_kernel", 4u},
                                    {"ssm.inner_size", 4096u},
                                    {"ssm.state_size", 128u},
                                    {"ssm.time_step_rank", 64u},
                                    {"ssm.group_count", 1u}};
constexpr std::string_view kGemma4Optional[] = {"rope_freqs.weight"};
constexpr std::string_view kStateSpaceOptional[] = {".ssm_conv1d.bias", ".ssm_norm.weight"};
constexpr std::string_view kNemotron3Optional[] = {".ssm_conv1d.bias", ".ssm_norm.weight",
                                                   ".exp_probs_b.bias"};
constexpr KeyValue kRwkv7Keys[] = {{"wkv.head_size", 64u},
                                   {"attention.decay_lora_rank", 96u},
                                   {"attention.iclr_lora_rank", 96u},
                                   {"attention.value_residual_mix_lora_rank", 64u},
                                   {"attention.gate_lora_rank", 256u}};

// clang-format off
#define TENON_TINY_SHAPE(symbol, name) \
    RandomShape{"tiny-" name,   name,     4,  256,  4, 2,  64,   512,    512,   4096, 10000.0f,   true,  {}, true},

constexpr std::array kShapes = {
    //           name            architecture layers width heads kv dim   ff     vocab  context  theta   tied   keys
    RandomShape{"tiny",         "llama",  2,  256,  4, 2,  64,   512,    512,   4096, 10000.0f,   true},
    RandomShape{"llama-1b",     "llama", 16, 2048, 32, 8,  64,  8192, 128256, 131072, 500000.0f,  true},
    RandomShape{"llama-3b",     "llama", 28, 3072, 24, 8, 128,  8192, 128256, 131072, 500000.0f,  true},
    RandomShape{"llama-8b",     "llama", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 500000.0f,  false},
    RandomShape{"qwen2.5-0.5b", "qwen2", 24,  896, 14, 2,  64,  4864, 151936,  32768, 1000000.0f, true},
    RandomShape{"qwen3-0.6b",   "qwen3", 28, 1024, 16, 8, 128,  3072, 151936,  40960, 1000000.0f, true},
    RandomShape{"bert-base",    "bert",  12,  768, 12, 12, 64,  3072,  30522,    512, 10000.0f,   true},
    RandomShape{"tiny-moe",     "qwen3moe",  2,  256,  4, 2,  64,   512,    512,   4096, 10000.0f,   true, kTinyMoeKeys},
    RandomShape{"moe-1b-a300m", "qwen3moe", 16, 1024, 16, 4, 128,  3072, 151936,  40960, 1000000.0f, true, kMoe1bKeys},
    RandomShape{"qwen3-30b-a3b", "qwen3moe", 48, 2048, 32, 4, 128, 6144, 151936,  40960, 1000000.0f, false, kQwen3MoeKeys},
    RandomShape{"gemma3n-200m", "gemma3n", 10, 512, 8, 2,  64,  2048,  65536,  32768, 1000000.0f, true, kGemma3n200mKeys},
    RandomShape{"gemma3-1b",    "gemma3", 26, 1152,  4, 1, 256,  6912, 262144,  32768, 1000000.0f, true, kGemma3Keys},
    RandomShape{"gemma4-26b-a4b", "gemma4", 30, 2816, 16, 8, 512, 2112, 262144, 262144, 1000000.0f, true, kGemma4Keys, false, kGemma4Optional},
    RandomShape{"gpt-oss-20b",  "gpt-oss", 24, 2880, 64, 8, 64,  2880, 201088, 131072, 150000.0f,  false, kGptOssKeys},
    RandomShape{"qwen3.5-0.8b", "qwen35", 24, 1024,  8, 2, 256,  3584, 248320, 262144, 10000000.0f, true, kQwen35SmallKeys},
    RandomShape{"qwen3.5-35b-a3b", "qwen35moe", 40, 2048, 16, 2, 256, 512, 248320, 262144, 10000000.0f, false, kQwen35MoeKeys},
    RandomShape{"glm-4.7-flash", "deepseek2", 47, 2048, 20, 1, 576, 10240, 154880, 202752, 1000000.0f, false, kGlmFlashKeys},
    RandomShape{"lfm2-1.2b",    "lfm2",  16, 2048, 32, 8,  64,  8192,  65536, 128000, 1000000.0f, true, kLfm2Keys},
    RandomShape{"nemotron-3-nano", "nemotron_h_moe", 52, 2688, 32, 2, 128, 1856, 131072, 262144, 10000.0f, false, kNemotron3Keys, false, kNemotron3Optional},
    RandomShape{"mamba2-1.3b",  "mamba2", 48, 2048,  0, 0,  64,     0,  50288, 1048576, 10000.0f, true, kMamba2Keys, false, kStateSpaceOptional},
    RandomShape{"rwkv7-1.5b",   "rwkv7",  24, 2048,  0, 0,  64,  8192,  65536, 1048576, 10000.0f, false, kRwkv7Keys},
    TENON_ARCHITECTURES(TENON_TINY_SHAPE)
};
#undef TENON_TINY_SHAPE
// clang-format on

}  // namespace

std::span<const RandomShape> random_shapes() noexcept { return kShapes; }

ChosenShape find_random_shape(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  NearestName nearest(name);
  for (const RandomShape& shape : kShapes) {
    nearest.consider(shape.name);
    if (!equal_but_for_case(shape.name, name)) continue;
    if (colon == std::string_view::npos) return {shape, shape.layers};
    const std::string_view number = text.substr(colon + 1);
    uint32_t layers = 0;
    const char* const end = number.data() + number.size();
    const auto [rest, error] = std::from_chars(number.data(), end, layers);
    if (error != std::errc() || rest != end || layers == 0 || layers > shape.layers) {
      fail(Code::Argument, "model shape \"{}\": \"{}\" is no number of layers, 1 to {}", shape.name,
           number, shape.layers);
    }
    return {shape, layers};
  }
  fail(Code::Argument, "no model shape \"{}\"{}", nearest.name(), nearest.hint());
}

}  // namespace tenon
