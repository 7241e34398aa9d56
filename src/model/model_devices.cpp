// Model: devices and executables.
#include <span>

#include "base/error.h"
#include "model/model.h"
#include "model/program_facts.h"
#include "program/program.h"

namespace tenon {

void Model::note_devices() {
  const std::span<const PlacedDevice> devices = trunk().executable->devices();
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
  ModelProgram& trunk = programs_.front();
  if (trunk.tables.empty()) return;
  const tenon_program& view = trunk.program.view();
  trunk.fetcher = std::make_unique<RowFetcher>(
      *file_, trunk.tables,
      RowFetcher::Options{options_.row_cache_bytes, view.max_tokens, view.token_history, &team(),
                          options_.system});
  options_.log(LogLevel::Info, "{}: {} bytes of tables stay in the file, with a row cache of {}",
               file_->name(), table_bytes(trunk.tables),
               row_cache_bytes(trunk.tables, options_.row_cache_bytes));
}

PlacedExecutable& Model::loaded() const {
  if (trunk().executable == nullptr) {
    fail(Code::State, "{} was opened for inspection, without weights", file_->name());
  }
  return *trunk().executable;
}

PlacedExecutable& Model::executable() const {
  if (gives_rows()) {
    fail(Code::State, "{} was opened for embeddings, it generates no text", file_->name());
  }
  return loaded();
}

PlacedExecutable& Model::row_executable() const {
  PlacedExecutable& executable = loaded();
  if (row_pooling()) return executable;
  fail(Code::State, "{} was opened to generate text; set the option embeddings to \"on\"",
       file_->name());
}

HostServices& Model::services() const { return loaded().device()->host(); }

ThreadTeam& Model::team() const { return services().team(); }

}  // namespace tenon
