// The engine: a queue of requests, and steps driven by the threads that wait for them.
#include "engine/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "model/runtime.h"

namespace tenon {
namespace {

/// Slabs from the device that runs the model.
class DeviceSlabs : public SlabMemory {
 public:
  explicit DeviceSlabs(Runtime& runtime) : runtime_(runtime) {}
  tenon_buffer* create(uint64_t size_bytes) override {
    return runtime_.create_buffer(size_bytes, TENON_MEMORY_KV);
  }
  void destroy(tenon_buffer* slab) noexcept override { runtime_.destroy_buffer(slab); }
  void copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from, uint64_t from_offset,
            uint64_t size_bytes) override {
    runtime_.copy_buffer(to, to_offset, from, from_offset, size_bytes);
  }

 private:
  Runtime& runtime_;
};

bool is_set(const uint32_t* flag) {
  return flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

}  // namespace

std::shared_ptr<Engine> Engine::create(std::shared_ptr<const Model> model,
                                       const EngineOptions& options) {
  return std::shared_ptr<Engine>(new Engine(std::move(model), options));
}

Engine::Engine(std::shared_ptr<const Model> model, const EngineOptions& options)
    : model_(std::move(model)),
      slab_memory_(std::make_unique<DeviceSlabs>(model_->runtime())),
      vocab_(model_->hyper_parameters().vocab),
      owner_pid_(::getpid()) {
  const std::span<const tenon_kv_group> groups = model_->program().groups();
  for (uint32_t group = 0; group < groups.size(); ++group) {
    BlockPoolOptions pool;
    pool.block_bytes = model_->runtime().kv_block_bytes(group);
    pool.block_tokens = groups[group].block_tokens;
    pool.budget_bytes = options.cache_bytes / groups.size();
    pools_.push_back(std::make_shared<BlockPool>(*slab_memory_, pool));
  }
  const uint32_t max_tokens = model_->program().view().max_tokens;
  slices_.reserve(max_tokens);
  builder_ = std::make_unique<StepBuilder>(max_tokens, pools_);
}

Engine::~Engine() = default;

void Engine::check_process() const {
  if (::getpid() != owner_pid_) {
    fail(Code::State, "engine: made before fork(), cannot run in the child process");
  }
}

void Engine::run(const BatchItem& item) { run(std::span(&item, 1)); }

void Engine::run(std::span<const BatchItem> items) {
  check_process();
  // One request needs no allocation: that is how every token of a session comes here.
  Request one;
  std::vector<Request> many(items.size() > 1 ? items.size() : 0);
  const std::span<Request> requests =
      items.size() > 1 ? std::span<Request>(many) : std::span<Request>(&one, items.size());
  std::unique_lock lock(mutex_);
  for (size_t i = 0; i < items.size(); ++i) {
    requests[i].item = items[i];
    if (items[i].num_tokens == 0) continue;
    enqueue(requests[i]);
  }
  for (const Request& request : requests) {
    if (request.item.num_tokens != 0) drive_until(request, lock);
  }
  for (const Request& request : requests) {
    if (request.failure) std::rethrow_exception(request.failure);
  }
}

void Engine::enqueue(Request& request) {
  Request** at = &first_;
  while (*at != nullptr) at = &(*at)->next;
  *at = &request;
}

void Engine::drive_until(const Request& request, std::unique_lock<std::mutex>& lock) {
  while (!request.ended) {
    if (driven_) {
      changed_.wait(lock);
      continue;
    }
    driven_ = true;
    pick_slices();
    lock.unlock();
    run_step();
    lock.lock();
    settle_slices();
    remove_ended();
    driven_ = false;
    changed_.notify_all();
  }
}

void Engine::pick_slices() {
  slices_.clear();
  // Sequences that generate go first, so that a long prompt beside them costs each token one slice
  // and not the whole prompt; prompts share what is left, oldest first.
  for (Request* request = first_; request != nullptr; request = request->next) {
    if (request->num_left() == 1) pick_slice(*request);
  }
  for (Request* request = first_; request != nullptr; request = request->next) {
    if (request->num_left() != 1) pick_slice(*request);
  }
}

void Engine::pick_slice(Request& request) {
  uint32_t room = builder_->max_tokens();
  for (const Slice& slice : slices_) room -= slice.num_tokens;
  const uint32_t count = std::min(request.num_left(), room);
  if (count == 0) return;
  uint32_t outputs = 0;
  if (request.item.outputs == Outputs::All) outputs = count;
  if (request.item.outputs == Outputs::Last && count == request.num_left()) outputs = 1;
  slices_.push_back({&request, count, outputs, nullptr});
}

float* Engine::Request::logits_at(uint64_t vocab) const {
  return item.outputs == Outputs::All ? item.logits + num_done * vocab : item.logits;
}

void Engine::run_step() noexcept {
  const std::scoped_lock turn(model_->turn());
  const uint32_t num_prepared = prepare_slices();
  if (num_prepared == 0) return;
  try {
    compute(num_prepared);
  } catch (...) {
    for (Slice& slice : slices_) {
      if (!slice.failure) slice.failure = std::current_exception();
    }
  }
}

uint32_t Engine::prepare_slices() {
  uint32_t num_prepared = 0;
  for (Slice& slice : slices_) {
    try {
      if (is_set(slice.request->item.cancel)) fail(Code::Cancelled, "cancelled");
      slice.request->item.sequence->prepare(slice.num_tokens);
      ++num_prepared;
    } catch (...) {
      slice.failure = std::current_exception();  // the others of the step go on
    }
  }
  return num_prepared;
}

void Engine::compute(uint32_t num_prepared) {
  builder_->clear();
  for (const Slice& slice : slices_) {
    if (slice.failure) continue;
    builder_->add(*slice.request->item.sequence, slice.num_tokens, slice.num_outputs);
    if (num_prepared == 1) return compute_alone(slice);
  }
  const uint64_t needed = builder_->num_outputs() * vocab_ * sizeof(float);
  if (logits_.size() < needed) {
    logits_ = Buffer(model_->options().system, needed, "logits of a batch");
  }
  // One request may not stop the others, so a cancel waits for the end of the step.
  model_->runtime().run(builder_->finish(reinterpret_cast<float*>(logits_.data()), nullptr));
  hand_out_logits();
}

void Engine::compute_alone(const Slice& slice) {
  // Logits in place, and the request's own flag stops the step between operations.
  const Request& request = *slice.request;
  model_->runtime().run(builder_->finish(request.logits_at(vocab_), request.item.cancel));
}

void Engine::hand_out_logits() const {
  const auto* row = reinterpret_cast<const float*>(logits_.data());
  for (const Slice& slice : slices_) {
    if (slice.failure || slice.num_outputs == 0) continue;
    const uint64_t values = slice.num_outputs * vocab_;
    std::memcpy(slice.request->logits_at(vocab_), row, values * sizeof(float));
    row += values;
  }
}

void Engine::settle_slices() {
  for (Slice& slice : slices_) {
    Request& request = *slice.request;
    if (slice.failure) {
      request.item.sequence->roll_back();
      request.failure = std::move(slice.failure);
      request.ended = true;
    } else {
      request.item.sequence->commit(slice.num_tokens);
      request.num_done += slice.num_tokens;
      request.ended = request.num_left() == 0;
    }
  }
}

void Engine::remove_ended() {
  for (Request** at = &first_; *at != nullptr;) {
    if ((*at)->ended) {
      *at = (*at)->next;
    } else {
      at = &(*at)->next;
    }
  }
}

}  // namespace tenon
