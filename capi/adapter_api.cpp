// tenon_adapter_*, tenon_session_add_adapter, tenon_session_clear_adapters.
#include <string>

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

tenon_status tenon_session_add_adapter(tenon_session* session, const tenon_adapter* adapter,
                                       double scale) {
  return fence([&] {
    const SessionCall call(session);
    const tenon_adapter& known = checked(adapter);
    if (known.model.get() != &call->session->model()) {
      tenon::fail(tenon::Code::Argument, "adapter was opened for another model");
    }
    call->session->add_adapter({known.adapter, static_cast<float>(scale)});
  });
}

tenon_status tenon_session_clear_adapters(tenon_session* session) {
  return fence([&] {
    const SessionCall call(session);
    call->session->set_adapters({});
  });
}
