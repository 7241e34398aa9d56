#include "backends/cpu/phases/op_run.h"
#include "backends/cpu/phases/select_index.h"

namespace tenon::cpu {

constexpr CpuOperation ops::select_candidates{.kind = TENON_OP_SELECT_CANDIDATES,
                                              .placement = Placement::Own,
                                              .fits = select_fits,
                                              .phase = kSelectPhase,
                                              .scratch = select_scratch};

}  // namespace tenon::cpu
