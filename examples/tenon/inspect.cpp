// tenon inspect: content of a model file, and its memory needs.
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "hub_access.h"
#include "number_lists.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

using nlohmann::ordered_json;

struct InspectFlags {
  std::string model;
  uint64_t context = 0;
  bool json = false;
};

/// Number of an array's elements to show; the rest is counted.
constexpr uint64_t kShownElements = 6;
constexpr size_t kShownBytes = 120;

const char* type_name(int32_t type) {
  constexpr std::array kNames = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                 "bool", "string", "array", "u64", "i64", "f64"};
  return type >= 0 && static_cast<size_t>(type) < kNames.size() ? kNames[type] : "?";
}

ordered_json json_value(const tenon::MetadataValue& value) {
  switch (value.type) {
    case TENON_VALUE_STRING:
      return std::string(value.text);
    case TENON_VALUE_BOOL:
      return value.integer != 0;
    case TENON_VALUE_FLOAT32:
    case TENON_VALUE_FLOAT64:
      return value.number;
    case TENON_VALUE_UINT64:
      return static_cast<uint64_t>(value.integer);
    default:
      return value.integer;
  }
}

/// Replace ill-formed UTF-8, which would otherwise end the program.
std::string dump(const ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

/// First elements of entry `index`; exactly one for a single value.
ordered_json json_elements(const tenon::Model& model, size_t index, uint64_t count) {
  ordered_json list = ordered_json::array();
  for (uint64_t i = 0; i < count; ++i) list.push_back(json_value(model.metadata_value(index, i)));
  return list;
}

ordered_json json_metadata(const tenon::Model& model) {
  ordered_json result = ordered_json::array();
  for (size_t i = 0; i < model.num_metadata(); ++i) {
    const tenon_metadata entry = model.metadata(i);
    const bool is_array = entry.type == TENON_VALUE_ARRAY;
    ordered_json item = {{"key", std::string(entry.key, entry.key_length)},
                         {"type", type_name(is_array ? entry.element_type : entry.type)}};
    if (is_array) item["length"] = entry.num_elements;
    const ordered_json elements = json_elements(model, i, is_array ? entry.num_elements : 1);
    item["value"] = is_array ? elements : elements.at(0);
    result.push_back(std::move(item));
  }
  return result;
}

ordered_json json_tensors(const tenon::Model& model) {
  ordered_json result = ordered_json::array();
  for (size_t i = 0; i < model.num_tensors(); ++i) {
    const tenon_tensor tensor = model.tensor(i);
    ordered_json shape = ordered_json::array();
    for (uint32_t d = 0; d < tensor.num_dimensions; ++d) shape.push_back(tensor.shape[d]);
    result.push_back({{"name", std::string(tensor.name, tensor.name_length)},
                      {"format", tensor.format},
                      {"shape", std::move(shape)},
                      {"bytes", tensor.size_bytes}});
  }
  return result;
}

struct FormatTotal {
  uint64_t tensors = 0;
  uint64_t bytes = 0;
};

std::map<std::string, FormatTotal> totals_by_format(const tenon::Model& model) {
  std::map<std::string, FormatTotal> totals;
  for (size_t i = 0; i < model.num_tensors(); ++i) {
    const tenon_tensor tensor = model.tensor(i);
    FormatTotal& total = totals[tensor.format];
    ++total.tensors;
    total.bytes += tensor.size_bytes;
  }
  return totals;
}

void print_json(const tenon::Model& model, const InspectFlags& flags, const std::string& refusal) {
  const tenon_model_info info = model.info();
  ordered_json json = {
      {"architecture", std::string(info.architecture, info.architecture_length)},
      {"name", std::string(info.name, info.name_length)},
      {"parameters", info.parameters},
      {"tensor_bytes", info.tensor_bytes},
      {"trained_context", info.trained_context},
      {"vocabulary", info.vocabulary},
      {"layers", info.layers},
      {"width", info.width},
      {"heads", info.heads},
      {"kv_heads", info.kv_heads},
      {"key_dim", info.key_dim},
      {"value_dim", info.value_dim},
      {"feed_forward", info.feed_forward},
      {"experts", info.experts},
      {"experts_used", info.experts_used},
      {"chat_template", info.chat_template_length != 0},
  };
  if (!refusal.empty()) json["cannot_run"] = refusal;
  if (info.has_weights != 0) {
    const tenon_memory memory = model.memory(flags.context);
    json["memory"] = {{"context", memory.context},
                      {"weights_bytes", memory.weights_bytes},
                      {"scratch_bytes", memory.scratch_bytes},
                      {"kv_bytes", memory.kv_bytes},
                      {"token_cache_bytes", memory.token_cache_bytes}};
  }
  for (const auto& [format, total] : totals_by_format(model)) {
    json["formats"][format] = {{"tensors", total.tensors}, {"bytes", total.bytes}};
  }
  json["metadata"] = json_metadata(model);
  json["tensors"] = json_tensors(model);
  print(dump(json, 2) + "\n");
}

void print_row(const char* label, const std::string& value) {
  std::array<char, 32> head{};
  std::snprintf(head.data(), head.size(), "%-16s ", label);
  print(head.data() + value + "\n");
}

void print_refusal(const std::string& refusal) {
  print("\nThis file cannot run: " + printable(refusal, 4096) + "\n");
}

void print_summary(const tenon::Model& model, const std::string& refusal) {
  const tenon_model_info info = model.info();
  print_row("architecture", printable({info.architecture, info.architecture_length}, kShownBytes));
  print_row("name", printable({info.name, info.name_length}, kShownBytes));
  print_row("parameters", std::to_string(info.parameters));
  print_row("in the file", size_text(info.tensor_bytes));
  if (refusal.empty()) print_row("vocabulary", std::to_string(info.vocabulary));
  print_row("chat template", info.chat_template_length != 0 ? "yes" : "no");
  if (!refusal.empty()) return;
  if (info.has_weights == 0) return print("The file holds a vocabulary only.\n");
  print_row("trained context", std::to_string(info.trained_context));
  print_row("layers", std::to_string(info.layers) + " x " + std::to_string(info.width));
  print_row("heads", std::to_string(info.heads) + " query, " + std::to_string(info.kv_heads) +
                         " KV, of " + std::to_string(info.key_dim));
  print_row("feed-forward", std::to_string(info.feed_forward));
  if (info.experts == 0) return;
  print_row("experts", std::to_string(info.experts) + ", of which a token uses " +
                           std::to_string(info.experts_used));
}

void print_memory(const tenon::Model& model, uint64_t context) {
  if (model.info().has_weights == 0) return;
  const tenon_memory memory = model.memory(context);
  print("\nMemory at a context of " + std::to_string(memory.context) + "\n");
  print_row("weights", size_text(memory.weights_bytes));
  print_row("KV cache", size_text(memory.kv_bytes) + " per session");
  print_row("scratch", size_text(memory.scratch_bytes));
  print_row("together", size_text(memory.weights_bytes + memory.kv_bytes + memory.scratch_bytes));
}

void print_metadata(const tenon::Model& model) {
  print("\nMetadata (" + std::to_string(model.num_metadata()) + ")\n");
  for (size_t i = 0; i < model.num_metadata(); ++i) {
    const tenon_metadata entry = model.metadata(i);
    std::string line = "  " + printable({entry.key, entry.key_length}, kShownBytes) + "  ";
    if (entry.type == TENON_VALUE_ARRAY) {
      const uint64_t shown = std::min(entry.num_elements, kShownElements);
      line += std::string(type_name(entry.element_type)) + "[" +
              std::to_string(entry.num_elements) + "] ";
      std::string elements = dump(json_elements(model, i, shown));
      if (shown < entry.num_elements) elements.insert(elements.size() - 1, ", ...");
      line += printable(elements, kShownBytes);
    } else {
      const std::string value = dump(json_value(model.metadata_value(i)));
      line += std::string(type_name(entry.type)) + " " + printable(value, kShownBytes);
    }
    print(line + "\n");
  }
}

void print_tensors(const tenon::Model& model) {
  print("\nTensors (" + std::to_string(model.num_tensors()) + ")\n");
  for (size_t i = 0; i < model.num_tensors(); ++i) {
    const tenon_tensor tensor = model.tensor(i);
    std::string shape;
    for (uint32_t d = 0; d < tensor.num_dimensions; ++d) {
      shape += (d == 0 ? "" : " x ") + std::to_string(tensor.shape[d]);
    }
    const std::string name = printable({tensor.name, tensor.name_length}, kShownBytes);
    std::array<char, 320> line{};
    std::snprintf(line.data(), line.size(), "  %-40s %-8s %-20s %s\n", name.c_str(), tensor.format,
                  shape.c_str(), size_text(tensor.size_bytes).c_str());
    print(line.data());
  }
  print("\nFormats\n");
  for (const auto& [format, total] : totals_by_format(model)) {
    std::array<char, 96> line{};
    std::snprintf(line.data(), line.size(), "  %-8s %5llu tensors  %s\n", format.c_str(),
                  static_cast<unsigned long long>(total.tensors), size_text(total.bytes).c_str());
    print(line.data());
  }
}

struct Inspected {
  tenon::Model model;
  std::string refusal;  ///< reason why it cannot run; empty if it can
};

/// Opens a file by its metadata alone if it cannot run.
Inspected open_to_inspect(const std::string& path) {
  try {
    return {tenon::Model(path, {.inspect = true}), ""};
  } catch (const tenon::Error& error) {
    const std::string refusal = error.what();
    return {tenon::Model(path, {.metadata_only = true}), refusal};
  }
}

void inspect(const InspectFlags& flags) {
  const Inspected inspected = open_to_inspect(flags.model);
  const tenon::Model& model = inspected.model;
  if (flags.json) {
    print_json(model, flags, inspected.refusal);
  } else {
    print_summary(model, inspected.refusal);
    print_memory(model, flags.context);
    print_metadata(model);
    print_tensors(model);
    if (!inspected.refusal.empty()) print_refusal(inspected.refusal);
  }
  flush();
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Show metadata, tensors and sizes of a model, and what it needs in memory");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file")->required();
  command
      ->add_option("-c,--context,--ctx-size", flags->context,
                   "Context to compute the memory for (default: a session's)")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  command->add_flag("--json", flags->json, "Print everything as JSON, arrays in full");
  command->callback([flags] {
    flags->model = model_path(flags->model);
    inspect(*flags);
  });
}

}  // namespace tenon_program
