// Cuts a program into parts, each for one device: what one part computes and another one reads is a
// result of the first and an input of the second. Which device computes what is decided above.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "program/program.h"

namespace tenon {

/// What one device runs in one go.
struct ProgramPart {
  uint32_t device = 0;
  Program program;               ///< names and constants are the whole program's, which outlives it
  std::vector<uint32_t> slots;   ///< [slots of the part] their numbers in the whole program
  std::vector<uint32_t> groups;  ///< [groups of the part] likewise
};

struct CutProgram {
  /// As before it was cut: the slots have the same numbers. But a cache group whose layers live on
  /// several devices is one for each, and those of one device stand side by side.
  Program whole;
  std::vector<uint32_t> group_devices;  ///< [groups of `whole`]
  std::vector<ProgramPart> parts;       ///< in the order in which they run, that of the logits last
};

/// Cuts where neighbouring operations have different devices. A part holds all that its device can
/// compute before it has to wait for another one. An operation over constants alone (rope_angles) has
/// no device: each part that reads it computes it.
///   devices  [ops] a number for each
/// Throws Internal where operations on different devices share a layer of the cache, or numbers (i32),
/// which no input can be: see find_ties().
CutProgram cut_program(Program whole, std::span<const uint32_t> devices);

/// Whether the operation computes the same wherever it stands: it reads constants alone.
bool is_computed_anywhere(const tenon_program& program, const tenon_op& op);

/// Calls visit(group, layer) for each layer of the cache that the operation reads or writes.
void for_each_cache_layer(tenon_op& op,
                          const std::function<void(uint32_t& group, uint32_t& layer)>& visit);
void for_each_cache_layer(const tenon_op& op,
                          const std::function<void(uint32_t group, uint32_t layer)>& visit);

/// Pairs of operations, the earlier one first, that must have one device.
struct OpTie {
  uint32_t first;
  uint32_t second;
};
std::vector<OpTie> find_ties(const tenon_program& program);

}  // namespace tenon
