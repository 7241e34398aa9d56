// Runs the cases of self_test.h on a device. A kernel family that fails, or whose bits differ from
// those of its replacements, is not used there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "abi/failure.h"
#include "backends/gpu/device_buffer.h"
#include "backends/gpu/device_executable.h"
#include "backends/gpu/self_test.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// Results of a case with these families, step by step.
///   Types  the types of a plugin (device_executable.h)
template <typename Types>
std::vector<float> run_case(typename Types::Context& context, const SelfTestCase& test,
                            Families families) {
  DeviceExecutable<Types> executable(context, test.program(), families);
  std::optional<uint32_t> input;
  for (uint32_t i = 0; i < test.slots.size(); ++i) {
    const tenon_slot& slot = test.slots[i];
    if (slot.kind == TENON_SLOT_INPUT) input = i;
    if (slot.kind != TENON_SLOT_WEIGHT) continue;
    executable.load_rows(i, 0, slot.rows, test.values[i].data(), test.values[i].size());
  }
  executable.seal();

  std::vector<uint32_t> blocks;
  std::optional<DeviceBuffer<Types>> slab;
  if (!test.groups.empty()) {
    const uint32_t block_tokens = test.groups[0].block_tokens;
    blocks.resize((test.past + test.max_tokens() + block_tokens - 1) / block_tokens);
    std::iota(blocks.begin(), blocks.end(), 0u);
    std::vector<float> cache(blocks.size() * executable.block_bytes(0) / sizeof(float));
    SelfTestNumbers numbers(cache.size());
    for (float& value : cache) value = numbers.real();
    slab.emplace(context, cache.size() * sizeof(float));
    slab->write(0, cache.data(), cache.size() * sizeof(float));
  }
  tenon_buffer* const slabs[] = {slab ? reinterpret_cast<tenon_buffer*>(&*slab) : nullptr};
  const tenon_cache_pool pool{slabs, 1, static_cast<uint32_t>(blocks.size())};
  const uint32_t* const tables[] = {blocks.data()};

  std::vector<float> results;
  for (const uint32_t num_tokens : test.step_tokens) {
    const std::vector<int32_t> tokens(num_tokens);
    std::vector<int32_t> positions(num_tokens);
    std::iota(positions.begin(), positions.end(), static_cast<int32_t>(test.past));
    const size_t done = results.size();
    results.resize(done + num_tokens * test.slots[test.result].columns);
    std::vector<std::byte> x = test.values[*input];
    const tenon_binding bindings[] = {{*input, 0, x.data()}, {test.result, 0, &results[done]}};
    const tenon_step_sequence sequence{0, num_tokens, test.past, 0, tables};
    tenon_step step{};
    step.struct_size = sizeof(step);
    step.num_tokens = num_tokens;
    step.num_sequences = 1;
    step.sequence_size = sizeof(sequence);
    step.num_pools = static_cast<uint32_t>(test.groups.size());
    step.num_bindings = 2;
    step.binding_size = sizeof(tenon_binding);
    step.tokens = tokens.data();
    step.positions = positions.data();
    step.sequences = &sequence;
    step.pools = &pool;
    step.bindings = bindings;
    executable.wait(executable.run(step));
  }
  return results;
}

/// Kernel families that a device may use. Each is tested before the first program that may need it.
template <typename Types>
class SelfTests {
  using Context = typename Types::Context;

 public:
  /// Families that a program may be compiled with. Throws if the device is lost or has no memory.
  Families usable(Context& context, const tenon_program& program) {
    for (const FamilyTest& test : family_tests()) {
      const bool is_known = tested_.has(test.family);
      if (is_known || !Types::families(context).has(test.family) || !serves(test, program))
        continue;
      const std::string complaint = find_fault(context, test);
      tested_ = tested_.with(test.family);
      if (complaint.empty()) {
        passed_ = passed_.with(test.family);
      } else {
        warn(context.host(), fmt::format("self-test: {}: {}; slower kernels take their place",
                                         test.name, complaint));
      }
    }
    return passed_;
  }
  /// Families without a known fault, for plans.
  [[nodiscard]] Families believed(const Context& context) const {
    return Types::families(context).without(tested_.without(passed_));
  }

 private:
  /// Fault of a family, tested with those that have passed; empty if none.
  std::string find_fault(Context& context, const FamilyTest& test) const {
    const SelfTestCase given = test.make();
    const std::vector<float> expected = run_case<Types>(context, given, passed_);
    std::vector<float> results;
    try {
      results = run_case<Types>(context, given, passed_.with(test.family));
    } catch (const backends::Failure& failure) {
      if (context.is_lost() || failure.status() == TENON_BACKEND_NO_MEMORY) throw;
      return failure.what();
    }
    const size_t bytes = expected.size() * sizeof(float);
    return std::memcmp(results.data(), expected.data(), bytes) == 0 ? "" : "wrong results";
  }

  static void warn(const tenon_host* host, const std::string& text) {
    if (host->log != nullptr) host->log(host->user, TENON_LOG_WARNING, text.data(), text.size());
  }

  Families tested_;
  Families passed_;
};

}  // namespace tenon::gpu
