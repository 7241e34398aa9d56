#include "quantize/file_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/words.h"

namespace tenon {
namespace {

// clang-format off
constexpr std::array kFileTypes = {
    FileType{"F32", Format::F32, 0},          FileType{"F16", Format::F16, 1},
    FileType{"BF16", Format::BF16, 32},       FileType{"Q4_0", Format::Q4_0, 2},
    FileType{"Q4_1", Format::Q4_1, 3},        FileType{"Q5_0", Format::Q5_0, 8},
    FileType{"Q5_1", Format::Q5_1, 9},        FileType{"Q8_0", Format::Q8_0, 7},
    FileType{"Q2_K", Format::Q2_K, 10},       FileType{"Q2_K_S", Format::Q2_K, 21},
    FileType{"Q3_K_S", Format::Q3_K, 11},     FileType{"Q3_K_M", Format::Q3_K, 12},
    FileType{"Q3_K_L", Format::Q3_K, 13},     FileType{"Q4_K_S", Format::Q4_K, 14},
    FileType{"Q4_K_M", Format::Q4_K, 15},     FileType{"Q5_K_S", Format::Q5_K, 16},
    FileType{"Q5_K_M", Format::Q5_K, 17},     FileType{"Q6_K", Format::Q6_K, 18},
    FileType{"IQ1_S", Format::IQ1_S, 24},     FileType{"IQ1_M", Format::IQ1_M, 31},
    FileType{"IQ2_XXS", Format::IQ2_XXS, 19}, FileType{"IQ2_XS", Format::IQ2_XS, 20},
    FileType{"IQ2_S", Format::IQ2_XS, 28},    FileType{"IQ2_M", Format::IQ2_S, 29},
    FileType{"IQ3_XXS", Format::IQ3_XXS, 23}, FileType{"IQ3_XS", Format::IQ3_S, 22},
    FileType{"IQ3_S", Format::IQ3_S, 26},     FileType{"IQ3_M", Format::IQ3_S, 27},
    FileType{"IQ4_NL", Format::IQ4_NL, 25},   FileType{"IQ4_XS", Format::IQ4_XS, 30},
    FileType{"TQ1_0", Format::TQ1_0, 36},     FileType{"TQ2_0", Format::TQ2_0, 37},
    FileType{"MXFP4_MOE", Format::MXFP4, 38}, FileType{"NVFP4", Format::NVFP4, 39},
    FileType{"Q1_0", Format::Q1_0, 40},       FileType{"Q2_0", Format::Q2_0, 41},
};

/// general.file_type of files in one format, which mean the format and no mix.
constexpr std::pair<Format, uint32_t> kNumbers[] = {
    {Format::F32, 0},      {Format::F16, 1},     {Format::Q4_0, 2},     {Format::Q4_1, 3},
    {Format::Q8_0, 7},     {Format::Q5_0, 8},    {Format::Q5_1, 9},     {Format::Q2_K, 21},
    {Format::Q3_K, 11},    {Format::Q4_K, 14},   {Format::Q5_K, 16},    {Format::Q6_K, 18},
    {Format::IQ2_XXS, 19}, {Format::IQ2_XS, 20}, {Format::IQ3_XXS, 23}, {Format::IQ1_S, 24},
    {Format::IQ4_NL, 25},  {Format::IQ3_S, 26},  {Format::IQ2_S, 28},   {Format::IQ4_XS, 30},
    {Format::IQ1_M, 31},   {Format::BF16, 32},   {Format::TQ1_0, 36},   {Format::TQ2_0, 37},
    {Format::MXFP4, 38},   {Format::NVFP4, 39},  {Format::Q1_0, 40},    {Format::Q2_0, 41},
};

/// Replacement of a large-block format for rows that its blocks do not fit.
constexpr std::pair<Format, Format> kStandIns[] = {
    {Format::Q4_K, Format::Q5_0},  {Format::Q5_K, Format::Q5_1},  {Format::Q6_K, Format::Q8_0},
    {Format::Q2_K, Format::Q4_0},  {Format::Q3_K, Format::Q4_0},  {Format::TQ1_0, Format::Q4_0},
    {Format::TQ2_0, Format::Q4_0}, {Format::Q2_0, Format::Q4_0},
};

/// Layers to which a rule applies. "More bits" are the first and the last eighth, and every third
/// layer between.
enum class Layers : uint8_t { All, MoreBits, FirstEighth, FirstSixteenth, Middle, FirstFour, FirstTwo };

/// Models to which a rule applies.
enum class Models : uint8_t {
  Any, SharedHeads, SharedHeadsOrExperts, EightExperts, LargeLlama, Importance, NoImportance
};

/// The first rule that matches gives the format; none: the type's own.
struct Rule {
  std::string_view types;   ///< between spaces; empty: all
  std::string_view tensor;
  Layers layers;
  Models models;
  std::optional<Format> format;  ///< nothing: the type's own
};

constexpr std::string_view kOneOrTwoBits = "IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M";

constexpr Rule kValueRules[] = {  // also of attn_qkv and attn_kv_b
    {kOneOrTwoBits, "", Layers::All, Models::SharedHeadsOrExperts, Format::Q4_K},
    {"IQ2_S IQ2_M", "", Layers::All, Models::Any, Format::IQ3_S},
    {kOneOrTwoBits, "", Layers::All, Models::Any, Format::Q2_K},
    {"", "", Layers::All, Models::EightExperts, Format::Q8_0},
    {"Q4_K_M Q5_K_M", "", Layers::MoreBits, Models::Any, Format::Q6_K},
    {"Q2_K Q2_K_S Q3_K_S Q3_K_M Q4_K_S Q4_K_M IQ3_XXS IQ3_XS IQ3_S IQ3_M", "", Layers::All,
     Models::LargeLlama, Format::Q5_K},
    {"Q2_K Q2_K_S IQ3_XXS IQ3_XS IQ3_S", "", Layers::All, Models::SharedHeads, Format::Q4_K},
    {"Q2_K", "", Layers::All, Models::Any, Format::Q3_K},
    {"IQ3_XXS", "", Layers::All, Models::NoImportance, Format::IQ3_S},
    {"IQ3_M", "", Layers::All, Models::Any, Format::Q4_K},
    {"Q3_K_M", "", Layers::FirstTwo, Models::Any, Format::Q5_K},
    {"Q3_K_M", "", Layers::All, Models::Any, Format::Q4_K},
    {"Q3_K_L", "", Layers::All, Models::Any, Format::Q5_K},
    {"IQ4_NL IQ4_XS", "", Layers::All, Models::SharedHeads, Format::Q5_K},
    {"Q4_K_S", "", Layers::FirstFour, Models::Any, Format::Q5_K},
};

constexpr Rule kRules[] = {
    {kOneOrTwoBits, "attn_k", Layers::All, Models::EightExperts, Format::Q4_K},
    {"", "attn_k", Layers::All, Models::EightExperts, Format::Q8_0},
    {"IQ3_XS", "attn_k", Layers::All, Models::Any, Format::IQ3_XXS},
    {"IQ3_XXS", "attn_k", Layers::All, Models::Any, Format::IQ2_S},
    {"IQ3_XS", "attn_q", Layers::All, Models::Any, Format::IQ3_XXS},
    {"IQ3_XXS", "attn_q", Layers::All, Models::Any, Format::IQ2_S},
    {"IQ2_S IQ2_M", "ffn_down", Layers::FirstEighth, Models::Any, Format::IQ3_S},
    {kOneOrTwoBits, "ffn_down", Layers::FirstEighth, Models::Any, Format::Q2_K},
    {"Q2_K", "ffn_down", Layers::All, Models::Any, Format::Q3_K},
    {"Q2_K_S", "ffn_down", Layers::FirstEighth, Models::Any, Format::Q4_K},
    {"IQ3_XXS", "ffn_down", Layers::FirstEighth, Models::NoImportance, Format::Q4_K},
    {"IQ3_XXS", "ffn_down", Layers::All, Models::NoImportance, Format::Q3_K},
    {"Q3_K_M", "ffn_down", Layers::FirstSixteenth, Models::Any, Format::Q5_K},
    {"Q3_K_M", "ffn_down", Layers::All, Models::Any, Format::Q4_K},
    {"IQ3_M", "ffn_down", Layers::FirstEighth, Models::Any, Format::Q4_K},
    {"IQ3_M", "ffn_down", Layers::MoreBits, Models::EightExperts, Format::Q4_K},
    {"Q3_K_L", "ffn_down", Layers::All, Models::Any, Format::Q5_K},
    {"Q4_K_M Q5_K_M", "ffn_down", Layers::MoreBits, Models::Any, Format::Q6_K},
    {"Q4_K_S", "ffn_down", Layers::FirstEighth, Models::Any, Format::Q5_K},
    {"IQ4_NL IQ4_XS", "ffn_down", Layers::FirstEighth, Models::NoImportance, Format::Q5_K},
    {"Q4_0", "ffn_down", Layers::FirstEighth, Models::Importance, Format::Q4_1},
    {"Q5_0", "ffn_down", Layers::FirstEighth, Models::Importance, Format::Q5_1},
    {"IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M Q2_K Q3_K_S Q3_K_M Q4_K_S Q4_K_M IQ3_XXS IQ3_XS IQ3_S "
     "IQ3_M IQ4_NL IQ4_XS", "attn_output", Layers::All, Models::EightExperts, Format::Q5_K},
    {"", "attn_output", Layers::All, Models::EightExperts, std::nullopt},
    {"Q2_K", "attn_output", Layers::All, Models::Any, Format::Q3_K},
    {"IQ3_XXS", "attn_output", Layers::All, Models::Any, Format::IQ3_S},
    {"Q3_K_M IQ3_M", "attn_output", Layers::All, Models::Any, Format::Q4_K},
    {"Q3_K_L", "attn_output", Layers::All, Models::Any, Format::Q5_K},
    {"IQ1_S IQ1_M", "attn_output", Layers::All, Models::Any, Format::IQ2_XXS},
    {"IQ2_S IQ2_M", "attn_output", Layers::All, Models::Any, Format::IQ3_S},
    {"IQ3_XS", "ffn_gate", Layers::Middle, Models::Any, Format::IQ3_XXS},
    {"IQ3_XS", "ffn_up", Layers::Middle, Models::Any, Format::IQ3_XXS},
};
// clang-format on

bool in_layers(Layers which, uint32_t layer, uint32_t layers) {
  const uint32_t eighth = layers / 8;
  switch (which) {
    case Layers::All:
      return true;
    case Layers::MoreBits:
      return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
    case Layers::FirstEighth:
      return layer < eighth;
    case Layers::FirstSixteenth:
      return layer < layers / 16;
    case Layers::Middle:
      return layer >= eighth && layer < 7 * layers / 8;
    case Layers::FirstFour:
      return layer < 4;
    case Layers::FirstTwo:
      return layer < 2;
  }
  return false;
}

bool is_among(Models which, const MixFacts& facts) {
  switch (which) {
    case Models::Any:
      return true;
    case Models::SharedHeads:
      return facts.heads_per_kv_head >= 4;
    case Models::SharedHeadsOrExperts:
      return facts.heads_per_kv_head >= 4 || facts.experts >= 4;
    case Models::EightExperts:
      return facts.experts == 8;
    case Models::LargeLlama:
      return facts.is_large_llama;
    case Models::Importance:
      return facts.has_importance;
    case Models::NoImportance:
      return !facts.has_importance;
  }
  return false;
}

bool fits(Format format, uint64_t columns) {
  return columns % find_format(format)->block_values == 0;
}

bool is_experts_mix(const FileType& type) { return type.name == std::string_view("MXFP4_MOE"); }

Format ruled_format(const FileType& type, const LayerTensor& tensor, const MixFacts& facts) {
  const bool is_value = is_value_matrix(tensor.name);
  for (const Rule& rule : is_value ? std::span<const Rule>(kValueRules) : std::span(kRules)) {
    if (!rule.tensor.empty() && rule.tensor != tensor.name) continue;
    if (!rule.types.empty() && !has_word(rule.types, type.name, ' ')) continue;
    if (!in_layers(rule.layers, tensor.layer, tensor.layers)) continue;
    if (!is_among(rule.models, facts)) continue;
    return rule.format.value_or(type.format);
  }
  return type.format;
}

}  // namespace

std::span<const FileType> file_types() noexcept { return kFileTypes; }

const FileType& find_file_type(std::string_view name) {
  NearestName nearest(name);
  for (const FileType& type : kFileTypes) {
    const std::string_view own = type.name;
    const bool is_short = own.ends_with("_M") && own.find("_K_") != own.npos &&
                          equal_but_for_case(own.substr(0, own.size() - 2), name);
    if (equal_but_for_case(own, name) || is_short) return type;
    nearest.consider(own);
  }
  fail(Code::Argument, "no file type \"{}\"{}", nearest.name(), nearest.hint());
}

bool needs_importance(const FileType& type) noexcept {
  return needs_importance(type.format) || type.name == std::string_view("Q2_K_S");
}

bool needs_importance(Format format) noexcept {
  switch (format) {
    case Format::IQ1_S:
    case Format::IQ1_M:
    case Format::IQ2_XXS:
    case Format::IQ2_XS:
    case Format::IQ2_S:
    case Format::IQ3_XXS:
      return true;
    default:
      return false;
  }
}

const FormatInfo& find_weight_format(std::string_view name) {
  NearestName nearest(name);
  for (const FormatInfo& info : kFormats) {
    if (!info.weight || is_memory_format(info.id)) continue;
    nearest.consider(info.name);
    if (!equal_but_for_case(info.name, name)) continue;
    if (info.encode_row == nullptr) {
      fail(Code::Unsupported, "weight format \"{}\" has no encoder", info.name);
    }
    return info;
  }
  fail(Code::Argument, "no weight format \"{}\"{}", nearest.name(), nearest.hint());
}

bool is_value_matrix(std::string_view name) noexcept {
  return name == "attn_v" || name == "attn_qkv" || name == "attn_kv_b";
}

FileType pure_type(const FormatInfo& format) {
  FileType type{format.name, format.id, UINT32_MAX};
  for (const auto& [own, number] : kNumbers) {
    if (own == format.id) type.number = number;
  }
  return type;
}

Format fitting_format(Format format, uint64_t columns) {
  if (fits(format, columns)) return format;
  for (const auto& [wanted, stand_in] : kStandIns) {
    if (wanted == format && fits(stand_in, columns)) return stand_in;
  }
  return fits(Format::IQ4_NL, columns) ? Format::IQ4_NL : Format::F16;
}

Format layer_format(const FileType& type, const LayerTensor& tensor, const MixFacts& facts) {
  if (!is_quantised(type.format)) return type.format;
  if (is_experts_mix(type)) {
    return fitting_format(tensor.is_stack ? Format::MXFP4 : Format::Q8_0, tensor.columns);
  }
  return fitting_format(ruled_format(type, tensor, facts), tensor.columns);
}

Format output_format(const FileType& type, uint64_t columns, const MixFacts& facts) {
  if (!is_quantised(type.format)) return type.format;
  Format format = Format::Q6_K;
  switch (type.format) {
    case Format::Q8_0:
      format = Format::Q8_0;
      break;
    case Format::IQ1_S:
    case Format::IQ1_M:
    case Format::IQ2_XXS:
    case Format::IQ2_XS:
    case Format::IQ2_S:
    case Format::IQ3_XXS:
      format = Format::Q5_K;
      break;
    default:
      break;
  }
  if (facts.is_falcon || is_experts_mix(type)) format = Format::Q8_0;
  if (!fits(format, columns)) format = Format::Q8_0;
  return fitting_format(format, columns);
}

Format embedding_format(const FileType& type, uint64_t columns) {
  const std::string_view name = type.name;
  Format format = type.format;
  if (is_experts_mix(type)) format = Format::Q8_0;
  if (has_word("IQ1_S IQ1_M IQ2_XXS IQ2_XS", name, ' ')) format = Format::Q2_K;
  if (has_word("IQ2_S IQ2_M IQ3_XXS", name, ' ')) format = Format::IQ3_S;
  if (has_word("TQ1_0 TQ2_0 Q2_0", name, ' ')) format = Format::Q4_K;
  return fitting_format(format, columns);
}

LayerTensorName layer_tensor_name(std::string_view name) {
  LayerTensorName parsed;
  for (const std::string_view side : {"enc.", "dec."}) {
    if (name.starts_with(side)) name.remove_prefix(side.size());
  }
  if (!name.starts_with("blk.")) return parsed;
  const auto [end, error] =
      std::from_chars(name.data() + 4, name.data() + name.size(), parsed.layer);
  if (error != std::errc()) return parsed;
  name.remove_prefix(std::min(name.size(), static_cast<size_t>(end - name.data()) + 1));
  for (const std::string_view suffix : {".weight", "_exps", "_shexp"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  parsed.name = name;
  return parsed;
}

}  // namespace tenon
