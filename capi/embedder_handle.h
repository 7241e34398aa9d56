// Object behind an embedder handle; engine/embedder.h implements it.
#pragma once

#include <memory>

#include "engine/embedder.h"
#include "handle.h"
#include "host.h"

struct tenon_embedder : tenon::capi::Handle<tenon_embedder> {
  static constexpr auto kMagic = tenon::capi::Magic::Embedder;
  static constexpr const char* kName = "embedder";

  tenon_embedder(std::shared_ptr<tenon::capi::Host> of_model, std::shared_ptr<tenon::Embedder> made)
      : host(std::move(of_model)), embedder(std::move(made)) {}

  std::shared_ptr<tenon::capi::Host> host;  ///< first member: outlives all users of its callbacks
  std::shared_ptr<tenon::Embedder> embedder;
};
