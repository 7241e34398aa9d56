// The objects behind engine and request handles; the engine itself lives in engine/.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "handle.h"
#include "host.h"

struct tenon_engine : tenon::capi::Handle<tenon_engine> {
  static constexpr auto kMagic = tenon::capi::Magic::Engine;
  static constexpr const char* kName = "engine";

  tenon_engine(std::shared_ptr<tenon::capi::Host> of_model, std::shared_ptr<tenon::Engine> made)
      : host(std::move(of_model)), engine(std::move(made)) {}
  /// Calls of tenon_engine_run return.
  void interrupt() noexcept { engine->stop(); }

  std::shared_ptr<tenon::capi::Host> host;  ///< first: outlives what uses its callbacks
  std::shared_ptr<tenon::Engine> engine;
};

struct tenon_request : tenon::capi::Handle<tenon_request> {
  static constexpr auto kMagic = tenon::capi::Magic::Request;
  static constexpr const char* kName = "request";

  tenon_request(std::shared_ptr<tenon::capi::Host> of_model, std::shared_ptr<tenon::Engine> of,
                const tenon_submission& given)
      : host(std::move(of_model)), engine(std::move(of)), notify(given.notify), user(given.user) {}
  /// The host hears no more of it, a call that waits returns, and the session takes its next call.
  void interrupt() noexcept {
    engine->silence(*generation);
    engine->withdraw(*generation);
  }

  std::shared_ptr<tenon::capi::Host> host;  ///< first: outlives what uses its callbacks
  std::shared_ptr<tenon::Engine> engine;
  tenon_notify_callback notify;  ///< the host's, or null; the engine calls it by way of the handle
  void* user;
  std::shared_ptr<tenon::Generation> generation;  ///< null until it is queued
};
