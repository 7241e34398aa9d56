// Model: what runs it.
#include <span>

#include "base/error.h"
#include "model/model.h"
#include "model/program_facts.h"
#include "program/program.h"

namespace tenon {

void Model::note_devices() {
  const std::span<const PlacedDevice> devices = executable_->devices();
  for (const PlacedDevice& placed : devices) {
    const Device& device = *placed.device;
    backend_name_ += fmt::format("{}{}", backend_name_.empty() ? "" : "+", device.name());
    if (devices.size() == 1) {
      device_description_ = device.description();
    } else {
      device_description_ += fmt::format("{}{}: {}", device_description_.empty() ? "" : "; ",
                                         device.name(), device.description());
    }
  }
}

void Model::make_fetcher() {
  const tenon_program& view = program().view();
  fetcher_ = std::make_unique<RowFetcher>(
      *file_, tables_,
      RowFetcher::Options{options_.row_cache_bytes, view.max_tokens, view.token_history, &team(),
                          options_.system});
  options_.log(LogLevel::Info, "{}: {} bytes of tables stay in the file, with a row cache of {}",
               file_->name(), table_bytes(tables_),
               row_cache_bytes(tables_, options_.row_cache_bytes));
}

PlacedExecutable& Model::loaded() const {
  if (!has_program()) fail_without_program();
  if (executable_ == nullptr) {
    fail(Code::State, "{} was opened for inspection, without weights", file_->name());
  }
  return *executable_;
}

PlacedExecutable& Model::executable() const {
  if (gives_rows()) {
    fail(Code::State, "{} was opened for embeddings, it generates no text", file_->name());
  }
  return loaded();
}

PlacedExecutable& Model::row_executable() const {
  PlacedExecutable& executable = loaded();
  if (gives_rows()) return executable;
  fail(Code::State, "{} was opened to generate text; set the option embeddings to \"on\"",
       file_->name());
}

const Program& Model::encoder_program() const {
  if (has_encoder()) return *encoder_program_;
  fail(Code::State, "{} has no encoder", file_->name());
}

Executable& Model::encoder_executable() const {
  (void)encoder_program();
  (void)loaded();
  return *encoder_executable_;
}

HostServices& Model::services() const { return loaded().device()->host(); }

ThreadTeam& Model::team() const { return services().team(); }

}  // namespace tenon
