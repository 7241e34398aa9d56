// Scheme "plain": elements are floats, with no scale beside them. Codes of eight bits are never
// taken for numbers.
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

class PlainReader final : public RowReader {
 public:
  explicit PlainReader(const TensorRows& rows)
      : RowReader({rows.rows(), rows.columns()}), rows_(rows) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    rows_.read_floats(first, count, out);
  }
  TensorRows rows_;
};

}  // namespace

bool is_plain(const Module& module) {
  const StoredTensor* weight = module.weight();
  if (weight == nullptr || !is_float_type(weight->type)) return false;
  for (const char* suffix : {".weight_scale", ".weight_scale_inv", ".weight_scale_2", ".scale",
                             ".scales", ".qscale_weight", ".SCB", "_scale_inv", "_scales"}) {
    if (module.has(suffix)) return false;
  }
  return true;
}

std::unique_ptr<const RowReader> open_plain(const Module& module) {
  return std::make_unique<PlainReader>(TensorRows(module, *module.weight()));
}

}  // namespace tenon::foreign
