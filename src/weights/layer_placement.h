// Assigns layers to devices by their sizes and the devices' capacities. Finds layers in a program,
// too; callers open devices and cut the program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/program.h"

namespace tenon {

/// The layers of a model, derived from its program.
struct ProgramLayers {
  uint32_t count = 1;
  /// [ops] layer of each operation: the latest of those of its weights ("blk.3.attn_q.weight") and
  /// inputs. An embedding belongs to the first layer, an output matrix to the last.
  std::vector<uint32_t> of_op;
  /// [count] false if no device may begin with the layer, because it shares a part of the cache, or
  /// values that cannot be inputs, with an earlier layer.
  std::vector<bool> may_begin;
};
ProgramLayers find_layers(const tenon_program& program);

/// [ops] true for the work of routed experts: routing, their products, and the operations between.
std::vector<bool> find_expert_ops(const tenon_program& program);

/// Bytes of the weights of each layer [layers.count]. A weight read by operations of several layers
/// counts in each.
///   counted  [ops] operations whose weights count
std::vector<uint64_t> layer_weight_bytes(const tenon_program& program, const ProgramLayers& layers,
                                         const std::vector<bool>& counted);

/// Cache bytes per position of each layer, or bytes of its state, without a backend's padding.
struct LayerCache {
  std::vector<uint64_t> position_bytes;  ///< [layers] for groups without a window
  std::vector<uint64_t> fixed_bytes;     ///< [layers] for windows and states
};
LayerCache layer_cache_bytes(const tenon_program& program, const ProgramLayers& layers);

/// A device for layers.
struct LayerRoom {
  std::string name;                  ///< for messages
  uint64_t bytes = UINT64_MAX;       ///< capacity for layers
  std::optional<uint32_t> layers{};  ///< exact number of layers, if set
  bool takes_rest = false;      ///< the CPU: gets the first layers, which no other device takes
  std::vector<bool> can_run{};  ///< [layers]; empty means all
};

struct LayerRequest {
  std::span<const uint64_t> bytes;  ///< [layers] size of each
  const std::vector<bool>& may_begin;
  /// Number of layers on devices other than the rest's; unset means as many as fit.
  std::optional<uint32_t> device_layers{};
};

/// Returns the device of each layer [layers]. Devices get consecutive layers in the given order, as
/// many as fit; the last device gets the last layers. The device that takes the rest gets the
/// layers before these; at most one of `rooms` may take the rest. Throws Argument for numbers of
/// layers that the model lacks or that cannot be kept. Throws NoMemory if not all layers fit, with
/// the number that do.
std::vector<uint32_t> place_layers(std::span<const LayerRoom> rooms, const LayerRequest& request);

}  // namespace tenon
