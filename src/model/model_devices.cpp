// Model: what runs it, and how that is made anew when a device was lost.
#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "model/model.h"
#include "model/model_executable.h"
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
  for (uint32_t group = 0; group < program_->groups().size(); ++group) {
    placement_ +=
        fmt::format("{}:{} ", executable_->group_device(group), executable_->block_bytes(group));
  }
}

void Model::make_fetcher() const {
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
  const std::shared_lock lock(devices_mutex_);
  if (was_given_up_) fail(Code::State, "{}: its device was lost", file_->name());
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

std::shared_ptr<Device> Model::device() const {
  (void)loaded();
  const std::shared_lock lock(devices_mutex_);
  if (executable_ != nullptr) return executable_->device();
  fail(Code::State, "{}: its device was lost", file_->name());
}

bool Model::wants_reopening() const {
  if (options_.on_lost != "reopen") return false;
  return was_given_up_ || (executable_ != nullptr && executable_->is_lost());
}

bool Model::lies_as(const Model& other) const {
  return std::ranges::equal(std::as_bytes(std::span(program_->groups())),
                            std::as_bytes(std::span(other.program_->groups()))) &&
         program_->view().max_tokens == other.program_->view().max_tokens &&
         placement_ == other.placement_;
}

void Model::reopen() const {
  options_.log(LogLevel::Warning, "{}: its device was lost, and is made anew", file_->name());
  const auto give_up = [this] {
    const std::unique_lock lock(devices_mutex_);
    was_given_up_ = true;
    fetcher_.reset();
    encoder_executable_.reset();
    executable_.reset();
  };
  give_up();
  ModelOptions options = runtime_options(*this);
  options.log = options_.log;
  Model anew(file_, std::move(options));
  anew.build();
  if (!lies_as(anew)) {
    fail(Code::State, "{}: its device was lost, and it would lie on others than before",
         file_->name());
  }
  if (anew.fingerprint_ != fingerprint_) {
    fail(Code::State, "{}: its device was lost, and its file has changed", file_->name());
  }
  {
    const std::unique_lock lock(devices_mutex_);
    executable_ = std::move(anew.executable_);
    encoder_executable_ = std::move(anew.encoder_executable_);
    was_given_up_ = false;
  }
  try {
    if (!tables_.empty()) make_fetcher();
  } catch (...) {
    give_up();
    throw;
  }
  ++device_epoch_;
}

HostServices& Model::services() const { return loaded().device()->host(); }

ThreadTeam& Model::team() const { return services().team(); }

}  // namespace tenon
