// Facts about quantised weights that their tensors do not tell, from the configuration of a folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "file/file_folder.h"
#include "json/json_tree.h"

namespace tenon {

struct QuantConfig {
  std::string method;          ///< "quant_method"; empty for none
  std::string gptq_format;     ///< "gptq", "gptq_v2", "gptq_p"
  bool is_symmetric = false;   ///< "sym" of GPTQ
  std::string packing;         ///< "packing_format" or "backend" of AutoRound
  bool scale_divides = false;  ///< FP8 of GPTQModel: weights are divided by the scale
  uint64_t block_rows = 0;     ///< FP8: tile of a scale; 0 for none
  uint64_t block_columns = 0;
  std::vector<uint32_t> packed_bits;              ///< compressed-tensors: widths of its groups
  uint64_t group_size = 0;                        ///< of MLX and AWQ; 0 for none
  std::map<std::string, uint64_t> module_groups;  ///< MLX: group sizes of single modules

  [[nodiscard]] bool is_auto_round() const {
    return method == "auto-round" || method == "intel/auto-round";
  }
  /// Group size of a module of MLX.
  [[nodiscard]] uint64_t group_size_of(std::string_view module) const;
};

/// Reads a config.json: "quantization_config" at its root or under "text_config", else
/// "quantization". Throws Unsupported for arithmetic that no row can express (rotations of
/// activations, sparse formats).
///   name  of the file, for messages
QuantConfig read_quant_config(const JsonNode& config, std::string_view name);

/// Reads the configuration of a folder: its config.json, else the "quantize_config.json" of old
/// GPTQ folders, else the "quant_config.json" of old AWQ folders. Throws as parse_json_tree, too.
QuantConfig read_quant_config(const FileFolder& folder);

}  // namespace tenon
