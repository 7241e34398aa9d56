// tenon_adapter_*, tenon_session_set_adapters.
#include <string>
#include <vector>

#include "adapter_handle.h"
#include "fence.h"
#include "model/adapter_bank.h"
#include "model_handle.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

tenon_status tenon_adapter_open(const tenon_model* model, const char* path,
                                tenon_adapter** adapter) {
  return fence([&] {
    tenon_adapter*& out = checked_out(adapter, "adapter");
    const tenon_model& of_handle = checked(model);
    const std::string name(name_in(path, "path"));
    if (of_handle.model->adapter_bank() == nullptr) {
      tenon::fail(tenon::Code::State, "{}: the model was opened without adapter_slots", name);
    }
    auto read = tenon::read_adapter(name, of_handle.file(), of_handle.model->options().system);
    of_handle.model->adapter_bank()->check(*read);
    out = new tenon_adapter(of_handle.host, of_handle.model, std::move(read));
  });
}

void tenon_adapter_destroy(tenon_adapter* adapter) { destroy(adapter); }

tenon_status tenon_session_set_adapters(tenon_session* session,
                                        const tenon_adapter* const* adapters, const float* scales,
                                        size_t num_adapters) {
  return fence([&] {
    const SessionCall call(session);
    const std::span<const float> factors =
        scales == nullptr ? std::span<const float>() : array_in(scales, num_adapters, "scales");
    std::vector<tenon::ScaledAdapter> sum;
    for (const tenon_adapter* one : array_in(adapters, num_adapters, "adapters")) {
      const tenon_adapter& known = checked(one);
      if (known.model.get() != &call->session->model()) {
        tenon::fail(tenon::Code::Argument, "adapters[{}] was opened for another model", sum.size());
      }
      sum.push_back({known.adapter, factors.empty() ? 1.0f : factors[sum.size()]});
    }
    call->session->set_adapters(sum);
  });
}
