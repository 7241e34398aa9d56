// Object behind adapter handles; arch/adapter reads adapters, model/adapter_bank.h holds them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "arch/adapter/adapter.h"
#include "handle.h"
#include "host.h"
#include "model/model.h"

struct tenon_adapter : tenon::capi::Handle<tenon_adapter> {
  static constexpr auto kMagic = tenon::capi::Magic::Adapter;
  static constexpr const char* kName = "adapter";

  tenon_adapter(std::shared_ptr<tenon::capi::Host> of_model,
                std::shared_ptr<const tenon::Model> trained_for,
                std::vector<tenon::ScaledAdapter> summed)
      : host(std::move(of_model)), model(std::move(trained_for)), sum(std::move(summed)) {}

  std::shared_ptr<tenon::capi::Host> host;  ///< first member: outlives all users of its callbacks
  std::shared_ptr<const tenon::Model> model;
  std::vector<tenon::ScaledAdapter> sum;  ///< without scales of 0
};
