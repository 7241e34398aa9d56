// Objects behind engine and request handles; engine/ implements engines.
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
  /// Makes tenon_engine_run return.
  void interrupt() noexcept { engine->stop(); }

  std::shared_ptr<tenon::capi::Host> host;  ///< first member: outlives all users of its callbacks
  std::shared_ptr<tenon::Engine> engine;
};

struct tenon_request : tenon::capi::Handle<tenon_request> {
  static constexpr auto kMagic = tenon::capi::Magic::Request;
  static constexpr const char* kName = "request";

  tenon_request(std::shared_ptr<tenon::capi::Host> of_model, std::shared_ptr<tenon::Engine> of,
                const tenon_submission& given)
      : host(std::move(of_model)), engine(std::move(of)), notify(given.notify), user(given.user) {}
  /// Stops notifications to the host, lets a waiting call return, and frees the session for its
  /// next call.
  void interrupt() noexcept {
    engine->silence(*generation);
    engine->withdraw(*generation);
  }

  std::shared_ptr<tenon::capi::Host> host;  ///< first member: outlives all users of its callbacks
  std::shared_ptr<tenon::Engine> engine;
  /// The host's callback; may be null. The engine calls it through the handle.
  tenon_notify_callback notify;
  void* user;
  std::shared_ptr<tenon::Generation> generation;  ///< null until queued
};
