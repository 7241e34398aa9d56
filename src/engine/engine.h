// The engine of one model: KV pools, the queue of requests and the steps that serve them. Sessions
// are its users; the arithmetic is the backend's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "engine/sequence.h"
#include "engine/step_builder.h"
#include "kv/block_pool.h"
#include "model/model.h"

namespace tenon {

struct EngineOptions {
  uint64_t cache_bytes = UINT64_MAX;  ///< hard budget of the KV pools together
};

/// Which logits a request wants.
enum class Outputs : uint32_t { None, Last, All };

/// The next `num_tokens` pending tokens of a sequence are to be computed.
struct BatchItem {
  Sequence* sequence = nullptr;
  uint32_t num_tokens = 0;
  Outputs outputs = Outputs::None;
  float* logits = nullptr;  ///< [1 or num_tokens, vocab]; null for None
  /// A flag that any thread may set to stop the item: see tenon_step.cancel. Null: none.
  const uint32_t* cancel = nullptr;
};

/// Any thread. Waiting callers drive it: one of them runs a step for as many requests as fit, the
/// others sleep until theirs are done. No allocation while a step is built and run, once the pools
/// have their slabs.
class Engine {
 public:
  /// Throws State when the model cannot run ("model.gguf holds a vocabulary only"); NoMemory.
  static std::shared_ptr<Engine> create(std::shared_ptr<const Model> model,
                                        const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const std::shared_ptr<const Model>& shared_model() const { return model_; }
  [[nodiscard]] std::span<const std::shared_ptr<BlockPool>> pools() const { return pools_; }

  /// Computes one item, together with whatever else is waiting; returns when it is done. A sequence
  /// may be in one item at a time. Throws Cancelled, NoMemory and what the backend reports: the
  /// tokens of finished slices then stay computed, the rest of the item is pending as before. State
  /// in the child of a fork.
  void run(const BatchItem& item);

  /// Computes all items in as few steps as they fit into: how tests put many sequences in one step.
  /// The first failure is thrown when all have ended.
  void run(std::span<const BatchItem> items);

 private:
  /// An item on its way, in the hands of the thread that waits for it.
  struct Request {
    BatchItem item;
    uint32_t num_done = 0;
    bool ended = false;
    std::exception_ptr failure;
    Request* next = nullptr;
    [[nodiscard]] uint32_t num_left() const { return item.num_tokens - num_done; }
    [[nodiscard]] float* logits_at(uint64_t vocab) const;
  };
  /// The part of a request that goes into a step.
  struct Slice {
    Request* request;
    uint32_t num_tokens;
    uint32_t num_outputs;
    std::exception_ptr failure;
  };

  Engine(std::shared_ptr<const Model> model, const EngineOptions& options);
  void check_process() const;
  void enqueue(Request& request);
  void drive_until(const Request& request, std::unique_lock<std::mutex>& lock);
  void pick_slices();
  void pick_slice(Request& request);
  void run_step() noexcept;
  uint32_t prepare_slices();
  void compute(uint32_t num_prepared);
  void compute_alone(const Slice& slice);
  void hand_out_logits() const;
  void settle_slices();
  void remove_ended();

  std::shared_ptr<const Model> model_;
  std::unique_ptr<SlabMemory> slab_memory_;
  std::vector<std::shared_ptr<BlockPool>> pools_;  // [groups]
  uint64_t vocab_;
  int owner_pid_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool driven_ = false;       // a thread is running a step
  Request* first_ = nullptr;  // the queue, oldest first

  // The step under way; belongs to the driving thread.
  std::vector<Slice> slices_;  // capacity max_tokens
  std::unique_ptr<StepBuilder> builder_;
  Buffer logits_;  // [R, vocab] f32, grown on demand
};

}  // namespace tenon
