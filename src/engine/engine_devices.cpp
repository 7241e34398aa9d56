// What the engine does when the driver has lost a device of its model: blocks are forgotten, devices made anew, and what
// is still wanted is computed again from its tokens.
#include <utility>

#include "base/error.h"
#include "engine/engine.h"
#include "model/placed_executable.h"

namespace tenon {

/// Whether a step may begin. Where devices cannot be had again every request that waits ends with the reason.
bool Engine::follow_devices(Lock& lock) noexcept {
  if (!model_->wants_reopening() && device_epoch_ == model_->device_epoch()) return true;
  lock.lock();
  forget_blocks();
  lock.unlock();
  std::exception_ptr failure;
  try {
    reopen_devices();
    return true;
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  scheduler_.for_each([&](Work& work) { end(static_cast<Request&>(work), failure); });
  lock.unlock();
  return false;
}

/// No step is under way. Each sequence is in a request or idle: what is in a call of its own has no blocks.
void Engine::forget_blocks() noexcept {
  scheduler_.for_each([this](Work& work) { drop(work); });
  while (drop_spare_of_requests()) {
  }
  if (index_ != nullptr) index_->clear();
  while (idle_.take_block()) {
  }
}

/// Another engine of the model may have made them anew already.
void Engine::reopen_devices() {
  for (const auto& step : steps_) step->drop_device_memory();
  trim_slabs();
  for (const auto& pool : pools_) {
    if (pool->slab_pool()->held_bytes() == 0) continue;
    fail(Code::State, "a device was lost, and blocks of it are still in use");
  }
  for (const auto& slabs : slab_memory_) slabs->set_device(nullptr);  // the last that holds it
  if (model_->wants_reopening()) model_->reopen();
  const PlacedExecutable& executable = model_->executable();
  std::vector<uint32_t> numbers;
  (void)device_caches(cache_groups(model_->program(), executable), executable, &numbers);
  for (size_t i = 0; i < slab_memory_.size(); ++i) {
    slab_memory_[i]->set_device(executable.devices()[numbers[i]].device);
  }
  device_epoch_ = model_->device_epoch();
}

}  // namespace tenon
