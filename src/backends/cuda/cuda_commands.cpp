#include "backends/cuda/cuda_commands.h"

#include "abi/failure.h"
#include "abi/step_rules.h"

namespace tenon::cuda {

Commands::Commands(Context& context, std::span<const gpu::Stage> stages, uint32_t num_lists)
    : context_(context), stages_(stages), segments_{Event(context), Event(context)} {
  for (uint32_t i = 0; i < num_lists; ++i) ends_.emplace_back(context);
}

void Commands::run_stages(const tenon_step& step) {
  const bool is_long = step.num_tokens > gpu::kLongStep;
  size_t segment = 0;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const gpu::Stage& stage = stages_[i];
    if (is_long && i > 0 && i % gpu::kStagesOfSegment == 0) {
      Event& end = segments_[segment % segments_.size()];
      if (segment >= segments_.size()) end.wait();
      end.record();
      ++segment;
      if (gpu::is_cancelled(step)) backends::refuse(TENON_BACKEND_CANCELLED, "cancelled");
    }
    const uint32_t groups = stage.row_groups(backends::num_rows(step, stage.row_class));
    context_.launch(stage.kernel, stage.parameters, stage.groups, groups);
  }
}

}  // namespace tenon::cuda
