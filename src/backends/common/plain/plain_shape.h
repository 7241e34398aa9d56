// An operation with its slots resolved, and shape rules shared by operations.
#pragma once

#include <cstdint>
#include <optional>

#include "abi/operation_list.h"
#include "abi/strided.h"
#include "quant/formats.h"
#include "tenon/backend.h"

namespace tenon::plain {

/// An operation with its slots and cache groups resolved.
struct OpShape {
  const tenon_op* op;
  const tenon_slot* inputs[TENON_MAX_INPUTS];    ///< null if absent
  const tenon_slot* outputs[TENON_MAX_OUTPUTS];  ///< null if absent
  const tenon_cache_group* group;                ///< null without a cache group
  const tenon_cache_group* compressed_group;     ///< attention_pools only
  uint32_t position_parts;                       ///< parts per position in the program
  uint32_t token_history;                        ///< tokens before a sequence that steps provide
};

/// Resolves operation `op` of a program; empty if a number is out of range.
inline std::optional<OpShape> find_shape(const tenon_program& program, uint32_t op) noexcept {
  if (op >= program.num_ops) return std::nullopt;
  OpShape shape{&ops_of(program)[op], {}, {}, nullptr, nullptr, program.position_parts,
                program.token_history};
  const auto find = [&](uint32_t number, const tenon_slot*& slot) {
    if (number == TENON_NO_SLOT) return true;
    if (number >= program.num_slots) return false;
    slot = &slots_of(program)[number];
    return true;
  };
  for (uint32_t i = 0; i < TENON_MAX_INPUTS; ++i) {
    if (!find(shape.op->inputs[i], shape.inputs[i])) return std::nullopt;
  }
  for (uint32_t o = 0; o < TENON_MAX_OUTPUTS; ++o) {
    if (!find(shape.op->outputs[o], shape.outputs[o])) return std::nullopt;
  }
  const backends::CacheUse use = backends::cache_use(shape.op->kind);
  if (use == backends::CacheUse::None) return shape;
  const tenon_kv_params& kv = shape.op->params.kv;  // all parameter structs begin with these
  if (kv.group >= program.num_groups) return std::nullopt;
  shape.group = &groups_of(program)[kv.group];
  const bool recurrent = use == backends::CacheUse::State;
  if (kv.layer >= shape.group->layers) return std::nullopt;
  if (recurrent != (shape.group->kind == TENON_CACHE_STATE)) return std::nullopt;
  if (use == backends::CacheUse::ReadsCompressed) {
    const tenon_attention_pools_params& attention = shape.op->params.attention_pools;
    if (attention.pool_group >= program.num_groups) return std::nullopt;
    shape.compressed_group = &groups_of(program)[attention.pool_group];
    if (attention.pool_layer >= shape.compressed_group->layers) return std::nullopt;
  }
  return shape;
}

/// A weight [rows, columns] in a decodable format; rows 0 means any.
inline bool is_weight(const tenon_slot* slot, uint64_t rows, uint64_t columns) noexcept {
  if (slot == nullptr || slot->kind != TENON_SLOT_WEIGHT) return false;
  const FormatInfo* format = find_format(slot->type);
  return format != nullptr && format->weight && format->decode_row != nullptr &&
         slot->columns % format->block_values == 0 && slot->columns == columns && slot->rows > 0 &&
         (rows == 0 || slot->rows == rows);
}

/// True if absent, or a weight [1, columns].
inline bool is_optional_vector(const tenon_slot* slot, uint64_t columns) noexcept {
  return slot == nullptr || is_weight(slot, 1, columns);
}

/// An f32 activation or input; row_class 0 means any.
inline bool is_activation(const tenon_slot* slot, uint32_t row_class = 0) noexcept {
  return slot != nullptr &&
         (slot->kind == TENON_SLOT_ACTIVATION || slot->kind == TENON_SLOT_INPUT) &&
         slot->type == TENON_TYPE_F32 && slot->columns > 0 &&
         (row_class == 0 || slot->row_class == row_class);
}

/// An i32 activation with as many rows as `like`.
inline bool is_integers(const tenon_slot* slot, const tenon_slot* like) noexcept {
  return slot != nullptr && slot->kind == TENON_SLOT_ACTIVATION && slot->type == TENON_TYPE_I32 &&
         slot->columns > 0 && slot->row_class == like->row_class;
}

/// Two activations with equal row classes.
inline bool same_rows(const tenon_slot* a, const tenon_slot* b) noexcept {
  return is_activation(a) && is_activation(b) && a->row_class == b->row_class;
}

/// Two activations with equal row classes and columns.
inline bool same_shape(const tenon_slot* a, const tenon_slot* b) noexcept {
  return same_rows(a, b) && a->columns == b->columns;
}

/// An activation with the rows of `like`, or a weight vector, of `columns` columns.
inline bool is_operand(const tenon_slot* slot, const tenon_slot* like, uint64_t columns) noexcept {
  return is_weight(slot, 1, columns) || (same_rows(slot, like) && slot->columns == columns);
}

}  // namespace tenon::plain
