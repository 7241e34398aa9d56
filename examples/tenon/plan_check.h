// Measures what `tenon plan` predicts: loads the model and fills its sessions.
#pragma once

#include <cstdint>
#include <string>
#include <tenon/tenon.hpp>

namespace tenon_program {

struct PlanCheck {
  uint64_t context = 0;
  uint64_t peak_bytes = 0;  ///< peak of the process since its beginning
  double prefill_tokens_per_second = 0;
  double decode_tokens_per_second = 0;  ///< sum over all sessions, at the end of their contexts
};

/// Fills the sessions of an engine and decodes in all of them over the last positions. context: 0
/// means a session's default.
PlanCheck check_plan(const std::string& path, const tenon::ExtraOptions& options, uint64_t context,
                     uint64_t sessions);

}  // namespace tenon_program
