#include "weights/foreign/quant_config.h"

#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

const JsonNode* quant_section(const JsonNode& config) {
  const JsonNode* section = config.find("quantization_config");
  if (section != nullptr && section->is(JsonNode::Kind::Object)) return section;
  if (const JsonNode* text = config.find("text_config")) {
    section = text->find("quantization_config");
    if (section != nullptr && section->is(JsonNode::Kind::Object)) return section;
  }
  section = config.find("quantization");
  return section != nullptr && section->is(JsonNode::Kind::Object) ? section : nullptr;
}

uint64_t count_of(const JsonNode& node, std::string_view key) {
  const JsonNode* value = node.find(key);
  return value != nullptr && value->is_count ? value->count : 0;
}

bool flag_of(const JsonNode& node, std::string_view key) {
  const JsonNode* value = node.find(key);
  return value != nullptr && value->flag;
}

void read_block(const JsonNode* pair, QuantConfig& out) {
  if (pair == nullptr || pair->items.size() != 2) return;
  if (!pair->items[0].is_count || !pair->items[1].is_count) return;
  out.block_rows = pair->items[0].count;
  out.block_columns = pair->items[1].count;
}

/// Refuses rotations that happen while the model runs; those of weights are in the weights already.
void check_transforms(const JsonNode& section, std::string_view name) {
  const JsonNode* transforms = section.find("transform_config");
  const JsonNode* groups = transforms == nullptr ? nullptr : transforms->find("config_groups");
  if (groups == nullptr) return;
  for (const JsonNode& group : groups->items) {
    const JsonNode* apply = group.find("apply");
    if (apply == nullptr) continue;
    for (const JsonNode& place : apply->items) {
      const std::string_view location = place.text_of("location");
      if (location.starts_with("weight_")) continue;
      fail(Code::Unsupported, "{}: a transform of {} while the model runs is not supported", name,
           quoted(location));
    }
  }
}

void read_compressed_tensors(const JsonNode& section, std::string_view name, QuantConfig& out) {
  const std::string_view format = section.text_of("format");
  if (format.starts_with("sparse-") || format == "marlin-24") {
    fail(Code::Unsupported, "{}: the format {} is not supported", name, quoted(format));
  }
  if (const JsonNode* sparsity = section.find("sparsity_config")) {
    const std::string_view kind = sparsity->text_of("format");
    if (!kind.empty() && kind != "dense") {
      fail(Code::Unsupported, "{}: the format {} is not supported", name, quoted(kind));
    }
  }
  check_transforms(section, name);
  const JsonNode* groups = section.find("config_groups");
  if (groups == nullptr) return;
  for (const JsonNode& group : groups->items) {
    const JsonNode* weights = group.find("weights");
    if (weights == nullptr) continue;
    const uint64_t bits = count_of(*weights, "num_bits");
    if (bits >= 1 && bits <= 8) out.packed_bits.push_back(static_cast<uint32_t>(bits));
    read_block(weights->find("block_structure"), out);
  }
}

QuantConfig read_section(const JsonNode& section, std::string_view name) {
  QuantConfig out;
  out.method = section.text_of("quant_method");
  out.gptq_format = section.text_of("checkpoint_format");
  if (out.gptq_format.empty()) out.gptq_format = section.text_of("format");
  out.is_symmetric = flag_of(section, "sym");
  out.packing = section.text_of("packing_format");
  if (out.packing.empty()) out.packing = section.text_of("backend");
  out.scale_divides = section.text_of("weight_scale_semantics") == "inverse";
  out.group_size = count_of(section, "group_size");
  if (out.group_size == 0) out.group_size = count_of(section, "q_group_size");
  read_block(section.find("weight_block_size"), out);
  read_compressed_tensors(section, name, out);
  for (size_t i = 0; i < section.keys.size(); ++i) {
    const uint64_t group = count_of(section.items[i], "group_size");
    if (group > 0) out.module_groups[section.keys[i]] = group;
  }
  return out;
}

}  // namespace

uint64_t QuantConfig::group_size_of(std::string_view module) const {
  const auto found = module_groups.find(std::string(module));
  return found == module_groups.end() ? group_size : found->second;
}

QuantConfig read_quant_config(const JsonNode& config, std::string_view name) {
  const JsonNode* section = quant_section(config);
  return section == nullptr ? QuantConfig() : read_section(*section, name);
}

QuantConfig read_quant_config(const FileFolder& folder) {
  constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;
  const auto read = [&](const char* file) {
    return parse_json_tree(folder.read_text(file, kMaxConfigBytes), folder.name() + "/" + file);
  };
  if (folder.contains("config.json")) {
    const JsonNode config = read("config.json");
    if (const JsonNode* section = quant_section(config)) {
      return read_section(*section, folder.name() + "/config.json");
    }
  }
  for (const auto& [file, method] :
       {std::pair("quantize_config.json", "gptq"), std::pair("quant_config.json", "awq")}) {
    if (!folder.contains(file)) continue;
    QuantConfig out = read_section(read(file), folder.name() + "/" + file);
    if (out.method.empty()) out.method = method;
    return out;
  }
  return {};
}

}  // namespace tenon
