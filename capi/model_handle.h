// Object behind a model handle; model/ implements models.
#pragma once

#include <memory>
#include <mutex>

#include "engine/engine.h"
#include "handle.h"
#include "host.h"
#include "model/model.h"
#include "tokenizer_handle.h"

struct tenon_model : tenon::capi::Handle<tenon_model> {
  static constexpr auto kMagic = tenon::capi::Magic::Model;
  static constexpr const char* kName = "model";

  tenon_model(std::shared_ptr<tenon::capi::Host> of_host,
              std::shared_ptr<const tenon::Model> loaded)
      : host(std::move(of_host)), model(std::move(loaded)), tokenizer(model->tokenizer(), *this) {}

  [[nodiscard]] const tenon::ModelFile& file() const { return model->file(); }
  /// The model's own engine, created at the first call. Throws State if the model cannot run.
  [[nodiscard]] std::shared_ptr<tenon::Engine> engine() const;

  std::shared_ptr<tenon::capi::Host> host;  ///< first member: outlives all users of its callbacks
  std::shared_ptr<const tenon::Model> model;
  tenon_tokenizer tokenizer;

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<tenon::Engine> engine_;
};
