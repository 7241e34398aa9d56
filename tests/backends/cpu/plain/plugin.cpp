// The CPU backend with an empty operation table: all operations run their plain forms on the CPU's
// weights, activations and states.
#include "tests/backends/cpu/table_plugin.h"

namespace tenon::cpu {
namespace {

struct EmptyTable {
  static constexpr char kName[] = "cpu_plain";
  static constexpr char kDescription[] = "plain forms in f32";
  static constexpr OperationTable kOperations{{}};
  static constexpr uint32_t kBlocks = TENON_PRECISION_F32;
};

}  // namespace
}  // namespace tenon::cpu

extern "C" [[gnu::visibility("default")]] const tenon_backend_api* tenon_backend_entry(
    uint32_t host_major, uint32_t) {
  return tenon::backends::entry_of<tenon::cpu::TableCpu<tenon::cpu::EmptyTable>>(host_major);
}
