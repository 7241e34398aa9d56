#include "weights/layer_placement.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "abi/cache_rows.h"
#include "base/error.h"
#include "base/saturating.h"
#include "program/cache_types.h"
#include "program/cut.h"
#include "quant/formats.h"

namespace tenon {
namespace {

constexpr uint32_t kNoOp = UINT32_MAX;
constexpr uint32_t kMostLayers = 1u << 16;

/// Layer in a name: 3 for "blk.3.attn_q.weight".
std::optional<uint32_t> layer_of_name(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  uint32_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc{} || layer >= kMostLayers) return std::nullopt;
  return layer;
}

std::vector<uint32_t> writers_in(const tenon_program& program) {
  std::vector<uint32_t> writers(program.num_slots, kNoOp);
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    for (uint32_t i = 0; i < program.ops[op].num_outputs; ++i) {
      writers[program.ops[op].outputs[i]] = op;
    }
  }
  return writers;
}

template <typename Visit>
void for_each_slot_read(const tenon_op& op, Visit visit) {
  for (uint32_t i = 0; i < op.num_inputs; ++i) {
    if (op.inputs[i] != TENON_NO_SLOT) visit(op.inputs[i]);
  }
}

}  // namespace

ProgramLayers find_layers(const tenon_program& program) {
  const std::vector<uint32_t> writers = writers_in(program);
  ProgramLayers layers;
  layers.of_op.assign(program.num_ops, 0);
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    uint32_t& layer = layers.of_op[op];
    for_each_slot_read(program.ops[op], [&](uint32_t slot) {
      if (program.slots[slot].kind == TENON_SLOT_WEIGHT) {
        layer = std::max(layer, layer_of_name(program.slots[slot].name).value_or(0));
      } else if (writers[slot] != kNoOp) {
        layer = std::max(layer, layers.of_op[writers[slot]]);
      }
    });
    layers.count = std::max(layers.count, layer + 1);
  }
  layers.may_begin.assign(layers.count, true);
  for (const OpTie& tie : find_ties(program)) {
    const auto [first, last] = std::minmax(layers.of_op[tie.first], layers.of_op[tie.second]);
    for (uint32_t layer = first + 1; layer <= last; ++layer) layers.may_begin[layer] = false;
  }
  return layers;
}

std::vector<bool> find_expert_ops(const tenon_program& program) {
  const std::vector<uint32_t> writers = writers_in(program);
  const auto is_expert = [&](uint32_t op) {
    const uint32_t kind = program.ops[op].kind;
    return kind == TENON_OP_MOE_ROUTE || kind == TENON_OP_MOE_LINEAR;
  };
  // An operation between experts reads only their results (`after`) and is read only by them
  // (`before`).
  std::vector<bool> after(program.num_ops, false);
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    bool all = program.ops[op].num_inputs > 0;
    for_each_slot_read(program.ops[op], [&](uint32_t slot) {
      const uint32_t writer = writers[slot];
      all = all && writer != kNoOp && (is_expert(writer) || after[writer]);
    });
    after[op] = all;
  }
  std::vector<bool> before(program.num_ops, true);
  const std::set<uint32_t> results(program.results, program.results + program.num_results);
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    const tenon_op& each = program.ops[op];
    before[op] = each.num_outputs > 0;
    for (uint32_t i = 0; i < each.num_outputs; ++i) {
      if (results.contains(each.outputs[i])) before[op] = false;
    }
  }
  for (uint32_t op = program.num_ops; op-- > 0;) {
    if (is_expert(op) || (before[op] && after[op])) continue;
    for_each_slot_read(program.ops[op], [&](uint32_t slot) {
      if (writers[slot] != kNoOp) before[writers[slot]] = false;
    });
  }
  std::vector<bool> experts(program.num_ops, false);
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    experts[op] = is_expert(op) || (before[op] && after[op]);
  }
  return experts;
}

std::vector<uint64_t> layer_weight_bytes(const tenon_program& program, const ProgramLayers& layers,
                                         const std::vector<bool>& counted) {
  std::vector<uint64_t> bytes(layers.count, 0);
  std::set<std::pair<uint32_t, uint32_t>> seen;  // (slot, layer)
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    if (!counted[op]) continue;
    const uint32_t layer = layers.of_op[op];
    for_each_slot_read(program.ops[op], [&](uint32_t number) {
      const tenon_slot& slot = program.slots[number];
      if (slot.kind != TENON_SLOT_WEIGHT || !seen.insert({number, layer}).second) return;
      const FormatInfo* const format = find_format(slot.type);
      const uint64_t row = row_bytes(*format, slot.columns).value_or(0);
      bytes[layer] = saturating_add(bytes[layer], saturating_mul(row, slot.rows));
    });
  }
  return bytes;
}

LayerCache layer_cache_bytes(const tenon_program& program, const ProgramLayers& layers) {
  LayerCache cache{std::vector<uint64_t>(layers.count, 0), std::vector<uint64_t>(layers.count, 0)};
  std::set<std::pair<uint32_t, uint32_t>> seen;  // (group, layer of it)
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    for_each_cache_layer(std::as_const(program.ops[op]), [&](uint32_t number, uint32_t layer) {
      if (!seen.insert({number, layer}).second) return;
      const tenon_cache_group& group = program.groups[number];
      const uint32_t at = layers.of_op[op];
      if (group.kind == TENON_CACHE_STATE) {
        // Two states: the latest and the one before it.
        cache.fixed_bytes[at] += 2 * uint64_t{group.state_values} * sizeof(float);
        return;
      }
      const CacheTypeInfo& type = *find_cache_type(group.type);
      const bool latent = group.kind == TENON_CACHE_LATENT;
      const uint64_t dims = uint64_t{group.key_dim} + (latent ? 0 : group.value_dim);
      const uint64_t head_bytes = dims * type.bits / 8 + (latent ? 1 : 2) * type.head_bytes;
      const uint64_t row = group.kv_heads * head_bytes;
      if (group.window > 0) {
        cache.fixed_bytes[at] += row * (uint64_t{group.window} + 2 * group.block_tokens);
      } else {
        const uint64_t rows = backends::rows_of_block(group);
        cache.position_bytes[at] += (row * rows + group.block_tokens - 1) / group.block_tokens;
      }
    });
  }
  return cache;
}

namespace {

/// Assigns layers to devices.
class LayerDealer {
 public:
  LayerDealer(std::span<const LayerRoom> rooms, const LayerRequest& request)
      : rooms_(rooms), request_(request), num_layers_(static_cast<uint32_t>(request.bytes.size())) {
    for (uint32_t i = 0; i < rooms.size(); ++i) {
      (rooms[i].takes_rest ? rest_ : devices_).push_back(i);
    }
    if (rest_.size() > 1) fail(Code::Internal, "placement: two devices take the rest");
  }

  std::vector<uint32_t> run() {
    check_numbers();
    const uint32_t wanted = std::min(request_.device_layers.value_or(num_layers_), num_layers_);
    for (uint32_t first = num_layers_ - wanted; first <= num_layers_; ++first) {
      if (deal(first)) return placed_;
      const bool must = request_.device_layers && can_begin(first);
      if (must) fail_to_fit(first);
    }
    fail_to_fit(num_layers_);
  }

 private:
  void check_numbers() const {
    uint64_t sum = 0;
    for (const LayerRoom& room : rooms_) sum += room.layers.value_or(0);
    const bool all_told =
        std::ranges::all_of(rooms_, [](const LayerRoom& room) { return room.layers.has_value(); });
    if (sum > num_layers_ || (all_told && sum < num_layers_)) {
      fail(Code::Argument, "devices: {} layers are asked for, the model has {}", sum, num_layers_);
    }
  }

  [[nodiscard]] bool can_begin(uint32_t layer) const {
    return layer == 0 || layer == num_layers_ || request_.may_begin[layer];
  }

  [[nodiscard]] bool has_room(const LayerRoom& room, uint32_t first, uint32_t end) const {
    uint64_t bytes = 0;
    for (uint32_t layer = first; layer < end; ++layer) {
      if (!room.can_run.empty() && !room.can_run[layer]) return false;
      bytes = saturating_add(bytes, request_.bytes[layer]);
    }
    return bytes <= room.bytes;
  }

  /// Assigns the layers from `first` on to devices, those before to the device that takes the rest.
  bool deal(uint32_t first) {
    if (!can_begin(first) || (first > 0 && rest_.empty())) return false;
    if (!rest_.empty()) {
      const LayerRoom& rest = rooms_[rest_[0]];
      if (rest.layers.value_or(first) != first || !has_room(rest, 0, first)) return false;
    }
    placed_.assign(num_layers_, rest_.empty() ? 0 : rest_[0]);
    uint32_t next = first;
    for (const uint32_t device : devices_) {
      const LayerRoom& room = rooms_[device];
      const uint32_t most = std::min(room.layers.value_or(num_layers_), num_layers_ - next);
      uint32_t end = next + most;
      while (end > next && !(can_begin(end) && has_room(room, next, end))) --end;
      if (room.layers && end - next != *room.layers) return false;
      std::fill(placed_.begin() + next, placed_.begin() + end, device);
      next = end;
    }
    return next == num_layers_;
  }

  /// Refuses numbers of layers that separate tied layers.
  void check_ties() const {
    uint64_t sum = 0;
    for (const uint32_t device : devices_) sum += rooms_[device].layers.value_or(num_layers_);
    if (sum > num_layers_) return;  // some device can take more or fewer
    auto begin = static_cast<uint32_t>(num_layers_ - sum);
    for (const uint32_t device : devices_) {
      if (!can_begin(begin)) {
        fail(Code::Argument,
             "devices: \"{}\" cannot begin with layer {}, which shares the cache of one before it",
             rooms_[device].name, begin);
      }
      begin += *rooms_[device].layers;
    }
  }

  [[noreturn]] void fail_to_fit(uint32_t first) {
    check_ties();
    uint32_t fitting = first;
    while (fitting <= num_layers_ && !deal(fitting)) ++fitting;
    std::string names;
    for (const LayerRoom& room : rooms_) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", room.name);
      if (room.bytes != UINT64_MAX)
        names += fmt::format(" with room for {} bytes of layers", room.bytes);
    }
    const uint64_t bytes =
        std::accumulate(request_.bytes.begin(), request_.bytes.end(), uint64_t{0}, saturating_add);
    if (fitting > num_layers_) {
      fail(Code::NoMemory, "devices: the {} layers take {} bytes, which do not fit {}", num_layers_,
           bytes, names);
    }
    fail(Code::NoMemory, "gpu_layers is {}, but {} of {} layers at most fit {}",
         request_.device_layers.value_or(0), num_layers_ - fitting, num_layers_, names);
  }

  std::span<const LayerRoom> rooms_;
  const LayerRequest& request_;
  uint32_t num_layers_;
  std::vector<uint32_t> rest_;     // empty or a single device
  std::vector<uint32_t> devices_;  // the others
  std::vector<uint32_t> placed_;   // [layers]
};

}  // namespace

std::vector<uint32_t> place_layers(std::span<const LayerRoom> rooms, const LayerRequest& request) {
  return LayerDealer(rooms, request).run();
}

}  // namespace tenon
