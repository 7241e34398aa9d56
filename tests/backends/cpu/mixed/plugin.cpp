// The CPU backend with entries for some operations. The others run their plain forms between them:
// routes before experts with an entry, an index beside the cache of an attention with one.
#include "tests/backends/cpu/table_plugin.h"

namespace tenon::cpu {
namespace {

constexpr const CpuOperation* kEntries[] = {
    &ops::embed,     &ops::rms_norm,   &ops::linear, &ops::rope,    &ops::kv_write,
    &ops::attention, &ops::glu,        &ops::add,    &ops::softmax, &ops::moe_linear,
    &ops::ssm_scan,  &ops::delta_rule, &ops::conv,   &ops::slice,   &ops::select_within,
};

struct MixedTable {
  static constexpr char kName[] = "cpu_mixed";
  static constexpr char kDescription[] = "portable kernels and plain forms in f32";
  static constexpr OperationTable kOperations{kEntries};
  static constexpr uint32_t kBlocks = TENON_PRECISION_INT8;
};

}  // namespace
}  // namespace tenon::cpu

extern "C" [[gnu::visibility("default")]] const tenon_backend_api* tenon_backend_entry(
    uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::cpu::TableCpu<tenon::cpu::MixedTable>>(host_major);
}
