// What `tenon plan` predicts, measured: the model is loaded and its sessions are filled.
#pragma once

#include <cstdint>
#include <string>
#include <tenon/tenon.hpp>

namespace tenon_program {

struct PlanCheck {
  uint64_t context = 0;
  uint64_t peak_bytes = 0;  ///< of the process, since it began
  double prefill_tokens_per_second = 0;
  double decode_tokens_per_second = 0;  ///< of all sessions together, at the end of the contexts
};

/// Fills the sessions of an engine and lets all of them decode together over the last positions.
/// context 0: a session's default.
PlanCheck check_plan(const std::string& path, const tenon::ExtraOptions& options, uint64_t context,
                     uint64_t sessions);

}  // namespace tenon_program
