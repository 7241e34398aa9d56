// Cuts a program into parts, one per device. A value computed in one part and read in another is a
// result of the first and an input of the second. Callers assign the devices.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "program/program.h"

namespace tenon {

/// A device's run of operations.
struct ProgramPart {
  uint32_t device = 0;
  Program program;  ///< names and constants belong to the whole program, which must outlive it
  std::vector<uint32_t> slots;   ///< [slots of the part] index in the whole program
  std::vector<uint32_t> groups;  ///< [groups of the part] index in the whole program
};

struct CutProgram {
  /// The program with unchanged slot numbers. A cache group with layers on several devices is split
  /// into one group per device; groups of one device are adjacent.
  Program whole;
  std::vector<uint32_t> group_devices;  ///< [groups of `whole`]
  std::vector<ProgramPart> parts;       ///< in execution order; the part with the logits comes last
};

/// Cuts between neighbouring operations on different devices. Each part holds all operations that
/// its device can compute before it must wait for another. Operations over constants only
/// (rope_angles) have no device: each part that reads their result computes it. Throws Internal if
/// operations on different devices share a cache layer or i32 values, which cannot be inputs: see
/// find_ties().
///   devices  [ops]
CutProgram cut_program(Program whole, std::span<const uint32_t> devices);

/// True if the operation reads constants only and may run on any device.
bool is_computed_anywhere(const tenon_program& program, const tenon_op& op);

/// Calls visit(group, layer) for each cache layer that the operation reads or writes.
void for_each_cache_layer(tenon_op& op,
                          const std::function<void(uint32_t& group, uint32_t& layer)>& visit);
void for_each_cache_layer(const tenon_op& op,
                          const std::function<void(uint32_t group, uint32_t layer)>& visit);

/// Pairs of operations, in program order, that must share a device.
struct OpTie {
  uint32_t first;
  uint32_t second;
};
std::vector<OpTie> find_ties(const tenon_program& program);

}  // namespace tenon
