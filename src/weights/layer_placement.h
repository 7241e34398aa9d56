// Which device gets which layers: by what they take and what devices have room for. What a layer is
// in a program is found here, too; opening devices and cutting the program is done above.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/program.h"

namespace tenon {

/// The layers of a model as its program shows them.
struct ProgramLayers {
  uint32_t count = 1;
  /// [ops] that of its weights ("blk.3.attn_q.weight"), or of what it reads, whichever is later: an
  /// embedding belongs to the first, an output matrix to the last.
  std::vector<uint32_t> of_op;
  /// [count] false: the layer shares a part of the cache, or numbers that no input can be, with one
  /// before it, so that no device may begin with it.
  std::vector<bool> may_begin;
};
ProgramLayers find_layers(const tenon_program& program);

/// [ops] whether it is the work of chosen experts: choosing, their products, and what stands between
/// these.
std::vector<bool> find_expert_ops(const tenon_program& program);

/// Bytes of the weights of each layer [layers.count]; a weight that operations of several layers read
/// counts in each.
///   counted  [ops] those whose weights count
std::vector<uint64_t> layer_weight_bytes(const tenon_program& program, const ProgramLayers& layers,
                                         const std::vector<bool>& counted);

/// Bytes of one position of the cache of each layer, or of its state, without what a backend adds.
struct LayerCache {
  std::vector<uint64_t> position_bytes;  ///< [layers] of groups without a window
  std::vector<uint64_t> fixed_bytes;     ///< [layers] of windows and states
};
LayerCache layer_cache_bytes(const tenon_program& program, const ProgramLayers& layers);

/// A device that layers may be placed on.
struct LayerRoom {
  std::string name;                  ///< for messages
  uint64_t bytes = UINT64_MAX;       ///< that layers may take
  std::optional<uint32_t> layers{};  ///< exactly so many
  bool takes_rest = false;      ///< the CPU: it gets the first layers, those that no other takes
  std::vector<bool> can_run{};  ///< [layers]; empty: all
};

struct LayerRequest {
  std::span<const uint64_t> bytes;  ///< [layers] what each takes
  const std::vector<bool>& may_begin;
  /// Layers on devices that do not take the rest; nothing: as many as fit.
  std::optional<uint32_t> device_layers{};
};

/// The device of each layer [layers]. Devices get neighbouring layers in the order given, as many as
/// they have room for, the last one the last layers; the one that takes the rest gets those before all
/// of these. At most one of `rooms` takes the rest. Throws Argument for numbers of layers that the
/// model does not have or that cannot be kept, NoMemory where not all layers find a place, saying how
/// many do.
std::vector<uint32_t> place_layers(std::span<const LayerRoom> rooms, const LayerRequest& request);

}  // namespace tenon
