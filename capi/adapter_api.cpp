// tenon_adapter_*, tenon_session_add_adapter, tenon_session_clear_adapters.
#include <cmath>
#include <string>
#include <vector>

#include "adapter_handle.h"
#include "arch/adapter/gguf_adapter_output.h"
#include "fence.h"
#include "model/adapter_bank.h"
#include "model/gguf_order.h"
#include "model_handle.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

/// Appends the parts of an adapter, times `scale`.
void append_scaled(std::vector<tenon::ScaledAdapter>& sum, const tenon_adapter& adapter,
                   double scale) {
  for (const tenon::ScaledAdapter& part : adapter.sum) {
    const auto product = static_cast<float>(static_cast<double>(part.scale) * scale);
    if (!std::isfinite(product)) {
      tenon::fail(tenon::Code::Argument, "{}: scale {} is no number", part.adapter->name, product);
    }
    if (product != 0.0f) sum.push_back({part.adapter, product});
  }
}

}  // namespace

tenon_status tenon_adapter_open(const tenon_model* model, const char* path,
                                tenon_adapter** adapter) {
  return fence([&] {
    tenon_adapter*& out = checked_out(adapter, "adapter");
    const tenon_model& of_handle = checked(model);
    const std::string name(name_in(path, "path"));
    if (of_handle.model->adapter_bank() == nullptr) {
      tenon::fail(tenon::Code::State, "{}: the model was opened without adapter_slots", name);
    }
    const std::vector<tenon::ScaledAdapter> sum{
        {tenon::read_adapter(name, of_handle.file(), of_handle.model->options().system), 1.0f}};
    of_handle.model->adapter_bank()->check(sum);
    out = new tenon_adapter(of_handle.host, of_handle.model, sum);
  });
}

tenon_status tenon_adapter_sum(const tenon_adapter* adapter, double scale,
                               const tenon_adapter* other, double other_scale,
                               tenon_adapter** sum) {
  return fence([&] {
    tenon_adapter*& out = checked_out(sum, "sum");
    const tenon_adapter& first = checked(adapter);
    const tenon_adapter& second = checked(other);
    if (first.model != second.model) {
      tenon::fail(tenon::Code::Argument, "the adapters were opened for different models");
    }
    std::vector<tenon::ScaledAdapter> parts;
    append_scaled(parts, first, scale);
    append_scaled(parts, second, other_scale);
    first.model->adapter_bank()->check(parts);
    out = new tenon_adapter(first.host, first.model, std::move(parts));
  });
}

tenon_status tenon_adapter_convert(const char* path, const char* model, const char* target) {
  return fence([&] {
    const auto system = tenon::System::real();
    const std::string name(name_in(path, "path"));
    const std::string of_model(name_in(model, "model"));
    const std::string out(name_in(target, "target"));
    const auto file = tenon::open_in_gguf_order(of_model, system);
    tenon::write_gguf_adapter(system, *tenon::read_adapter(name, *file, system), *file, out);
  });
}

void tenon_adapter_destroy(tenon_adapter* adapter) { destroy(adapter); }

tenon_status tenon_session_add_adapter(tenon_session* session, const tenon_adapter* adapter,
                                       double scale) {
  return fence([&] {
    const SessionCall call(session);
    const tenon_adapter& known = checked(adapter);
    if (known.model.get() != &call->session->model()) {
      tenon::fail(tenon::Code::Argument, "adapter was opened for another model");
    }
    std::vector<tenon::ScaledAdapter> added;
    append_scaled(added, known, scale);
    call->session->add_adapters(added);
  });
}

tenon_status tenon_session_clear_adapters(tenon_session* session) {
  return fence([&] {
    const SessionCall call(session);
    call->session->set_adapters({});
  });
}
