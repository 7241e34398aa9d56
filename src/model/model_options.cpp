#include "model/model_options.h"

#include <cstdint>
#include <utility>

#include "base/error.h"
#include "model/device_options.h"
#include "model/model.h"
#include "model/program_facts.h"

namespace tenon {
namespace {

template <typename T>
void check_range(const char* name, const option::Whole<T>& kind, T value) {
  if (kind.maximum == INT64_MAX) return;
  if (std::cmp_less(value, kind.minimum) || std::cmp_greater(value, kind.maximum)) {
    fail(Code::Argument, "{} is {}, not in {}..{}", name, value, kind.minimum, kind.maximum);
  }
}
template <typename Kind>
void check_range(const char*, const Kind&, const typename Kind::Value&) {}  // any value is allowed

}  // namespace

void check_options(const ModelOptions& options) {
#define OPTION(key, member, kind, doc) check_range(#member, kind, options.member);
#define OPTION_APART(key, kind, doc)
#include "model/model_options.def"
#undef OPTION
#undef OPTION_APART
  check_device_options(options);
}

ModelOptions runtime_options(const Model& model) {
  ModelOptions copy = model.options();
  copy.rows_on_demand = model.demand_tables().empty() ? Switch::Off : Switch::On;
  copy.progress = {};
  copy.log = {};
  return copy;
}

}  // namespace tenon
