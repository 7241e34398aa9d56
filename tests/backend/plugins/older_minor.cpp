// A plugin of minor version 0: usable, but refuses later operations.
#include "tests/backend/plugins/stub_table.h"

namespace {

int32_t supports(tenon_device*, const tenon_program* program, uint32_t op) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(program->ops);
  const auto* known = reinterpret_cast<const tenon_op*>(bytes + uint64_t{program->op_size} * op);
  return known->kind <= TENON_OP_SOFT_CAP ? 1 : 0;
}

constexpr tenon_backend_api kApi = [] {
  tenon_backend_api api = tenon::stub_table();
  api.minor = 0;
  api.name = "older";
  api.create_device = [](const tenon_host*, uint32_t, const tenon_backend_option*, uint32_t,
                         tenon_device** device) {
    static char nothing;
    *device = reinterpret_cast<tenon_device*>(&nothing);
    return tenon_status{TENON_BACKEND_OK};
  };
  api.describe = [](tenon_device*, tenon_device_info* info) {
    info->kind = TENON_DEVICE_ACCELERATOR;
    info->step_tokens = info->step_outputs = info->token_multiple = info->block_tokens = 1;
    info->slab_bytes = 1;
    info->steps_under_way = 1;
    return tenon_status{TENON_BACKEND_OK};
  };
  api.supports = supports;
  return api;
}();

}  // namespace

TENON_TEST_ENTRY(uint32_t, uint32_t) { return &kApi; }
