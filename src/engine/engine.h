// The engine of one model: KV pools, the request queue and the steps that serve it. Sessions use
// it. The scheduler orders requests; the backend does the arithmetic.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "engine/device_slabs.h"
#include "engine/engine_options.h"
#include "engine/idle_sequences.h"
#include "engine/metrics.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "engine/slice_tuner.h"
#include "engine/snapshot.h"
#include "engine/step.h"
#include "kv/block_pool.h"
#include "kv/prefix_index.h"
#include "model/model.h"

namespace tenon {

/// Asks to compute tokens [begin, end) of a sequence, and any pending tokens before them.
struct BatchItem {
  Sequence* sequence = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  Outputs outputs = Outputs::None;
  float* logits = nullptr;  ///< [1 or end - begin, vocab]; null for None
  /// Flag that any thread may set to stop the item. May be null.
  const uint32_t* cancel = nullptr;
  /// The session's control block; lets cancel() reach a running step. Items of one call may share
  /// it. May be null.
  CallControl* control = nullptr;
  /// The sequence's list entry, if it is not the session's own sequence. Null: that of `control`.
  IdleSequences::Entry* idle = nullptr;
  int32_t priority = 0;
  std::string_view client{};
  double weight = 1;
  /// With Outputs::Last: draws from the logits in the step. Null: no draw.
  AnswerLoop* loop = nullptr;
  uint64_t deadline_ns = UINT64_MAX;
};

/// Lets a host's threads drive: `post` schedules one call of task(arg), soon, on any thread.
struct DriveExecutor {
  /// Returns false if nothing was posted; task is never called then.
  bool (*post)(void* user, void (*task)(void* arg), void* arg) noexcept = nullptr;
  void* user = nullptr;
  /// Kept alive while the engine can post, and until a posted task has returned.
  std::shared_ptr<const void> owner{};
};

/// Any thread. Waiting callers drive: one of them runs a step for as many requests as fit, the
/// others sleep until their requests are done (docs/inside/engine.md). Building and running a step
/// does not allocate once pools, lists and the prefix index have grown to their working size.
class Engine : public std::enable_shared_from_this<Engine>,
               private WorkMemory,
               private DeviceTurn::Holder {
 public:
  /// Throws State if the model cannot run ("model.gguf holds a vocabulary only"), and NoMemory.
  static std::shared_ptr<Engine> create(std::shared_ptr<const Model> model,
                                        const EngineOptions& options = unbounded_engine());
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const Model& model() const { return *model_; }
  /// False in a forked child: no thread runs and the lock may be held forever.
  [[nodiscard]] bool is_of_this_process() const noexcept;
  [[nodiscard]] const std::shared_ptr<const Model>& shared_model() const { return model_; }
  [[nodiscard]] std::span<const std::shared_ptr<BlockPool>> pools() const { return pools_; }
  /// Prefix-tree root for a salt.
  [[nodiscard]] Hash128 root_of(std::string_view salt) const;

  /// Computes an item, together with other waiting requests; returns when it is done. Each sequence
  /// may be in one item at a time. Returns the number of computed tokens, without reused tokens.
  /// Throws Cancelled, NoMemory and the backend's errors: tokens of finished slices stay computed
  /// (unless the memory was needed), the rest stays pending. Throws State in a forked child.
  uint64_t run(const BatchItem& item);

  /// Computes all items in as few steps as possible. Each sequence may be in one item. Throws the
  /// first failure after all items have ended.
  uint64_t run(std::span<const BatchItem> items);

  /// Calls use() while no request takes blocks of the session's sequence. Every read or change of
  /// the sequence's computed part between requests goes through this function. use() must be short
  /// and must not call the engine. Throws State in a forked child.
  template <typename Use>
  auto with_sequence(CallControl& session, Use use) {
    return with_sequence(session.idle, use);
  }
  /// Overload for a sequence that is not the session's own.
  template <typename Use>
  auto with_sequence(IdleSequences::Entry& entry, Use use) {
    check_process();
    const std::scoped_lock lock(mutex_);
    const IdleSequences::Away away(idle_, entry);
    return use();
  }
  /// Locks the sequences of two sessions.
  template <typename Use>
  auto with_sequences(CallControl& one, CallControl& other, Use use) {
    check_process();
    const std::scoped_lock lock(mutex_);
    const IdleSequences::Away away(idle_, one.idle);
    const IdleSequences::Away too(idle_, other.idle);
    return use();
  }

  /// Queues a generation. Throws Busy and queues nothing if the queue is full.
  void submit(const std::shared_ptr<Generation>& generation);
  /// Waits until a token can be fetched or the generation has ended. Returns false after
  /// timeout_ns; 0 only polls. The caller drives if no other thread does, with steps sized by
  /// measured speed to fit its time. A step that overruns by 5 ms is stopped, unless it holds only
  /// the minimum that makes progress: all decodes and a few prompt tokens. At least one step
  /// begins, unless another engine or an embedder has the device until the timeout; the engine
  /// keeps its place in that queue, so repeated short waits always finish.
  bool wait(Generation& generation, uint64_t timeout_ns);
  /// The next token, if any.
  struct Fetched {
    bool has_token = false;
    bool ended = false;  ///< no more tokens to fetch
    Token token = 0;
    Finish finish = Finish::None;  ///< reason if this token is the last
    std::exception_ptr failure;    ///< with ended: why it ended early; null if it did not
    std::string_view text{};       ///< text released with the token; valid until the next fetch
  };
  Fetched fetch(Generation& generation);
  /// Log-probabilities of the token fetched last. Throws State without a token or if none were
  /// requested.
  void logprobs(const Generation& generation, float& logprob, std::span<Token> top_tokens,
                std::span<float> top_logprobs) const;
  void chosen_logprobs(const Generation& generation, std::span<float> logprobs) const;
  [[nodiscard]] ReuseReport report(const Generation& generation) const;
  /// Ends the generation with Cancelled, unless it has ended.
  void cancel(Generation& generation);
  /// Cancels the generation and waits until the engine has released it.
  void withdraw(Generation& generation);
  /// Stops notifying the host; waits for a running notification.
  void silence(Generation& generation);

  /// Runs one step if work is waiting and no other thread drives. Returns true if a step ran.
  bool step();
  /// Drives until stop(); sleeps while no work is waiting.
  void serve();
  void stop();
  /// Sets the host's executor; its tasks drive work that no thread drives.
  void set_executor(const DriveExecutor& executor);
  /// Returns unused cache memory to the device; a step under way does so when it ends.
  void release_unused() noexcept;

  /// Stops running steps after a request's flag was set. Any thread and signal handlers.
  void stop_steps() noexcept {
    for (const auto& step : steps_) step->stop();
  }

  // Snapshots: block 0 of each group with positions, block 1, ... up to the block that ends at
  // `position`, then the states at `position`. A piece leaves out groups whose window begins later.
  /// Positions per block, in all groups. Throws Unsupported if groups differ.
  [[nodiscard]] uint32_t block_tokens() const;
  struct SnapshotPiece {
    uint64_t position;  ///< where the restored sequence continues
    uint64_t index;     ///< 0 .. position / block_tokens(); the last is the states
  };
  [[nodiscard]] uint64_t piece_bytes(const SnapshotPiece& piece) const;
  /// Position at which a snapshot of the session's sequence continues.
  [[nodiscard]] uint64_t snapshot_position(CallControl& session);
  /// Copies a piece of a sequence between requests, [piece_bytes()]. Returns false if any part of
  /// it is gone.
  bool read_piece(const Sequence& sequence, const SnapshotPiece& piece, std::span<std::byte> out);
  /// Appends a piece to the computed part of the session's sequence. Returns false if an earlier
  /// piece is gone or only requests could give the memory.
  bool write_piece(CallControl& session, const SnapshotPiece& piece,
                   std::span<const std::byte> values);
  /// Drops the restored pieces if the sequence cannot continue from them.
  void end_restore(CallControl& session);
  /// Identity of the model, computed at the first call. Throws Io.
  const SnapshotIdentity& snapshot_identity();

  [[nodiscard]] EngineMetrics metrics() const;

 private:
  /// A sleeping thread that could drive.
  struct Waiter {
    Wake* wake;
    bool serves;
    Waiter* next;
    Waiter* previous;
  };
  using Lock = std::unique_lock<std::mutex>;

  Engine(std::shared_ptr<const Model> model, const EngineOptions& options);
  void check_process() const;
  void enqueue(Request& request, const BatchItem& item);
  template <typename Done>
  bool wait_until(Lock& lock, Wake& wake, Request* request, uint64_t until_ns, Done done);
  void sleep(Lock& lock, Wake& wake, bool serves, uint64_t until_ns);
  [[nodiscard]] bool is_stopped(const Request& request) const;
  void end_if_stopped(Request& request);
  void hand_over(Lock& lock) noexcept;
  static void drive_task(void* arg);
  void tell_later(const std::shared_ptr<Generation>& generation) noexcept;
  void tell_hosts(Lock& lock);

  // engine_step.cpp: called only by the driving thread, which holds the device's turn.
  void trim_slabs() noexcept;
  /// What ends a driver's wait for the device's turn.
  struct DriveLimits {
    uint64_t until_ns = UINT64_MAX;  ///< also sizes the steps
    /// Polled without the lock. May be null.
    bool (*is_over)(void* arg) = nullptr;
    void* arg = nullptr;
  };
  void drive(Lock& lock, const DriveLimits& limits);
  void run_step(Lock& lock, DeviceTurn::Use& turn, uint64_t until_ns) noexcept;
  void finish_steps() noexcept override;
  [[nodiscard]] Step& step_at(size_t index) {
    return *steps_[(oldest_step_ + index) % steps_.size()];
  }
  void begin_step(Lock& lock) noexcept;
  void fill_step(Step& step, uint64_t now_ns);
  void add_to_step(Step& step, const Pick& pick) noexcept;
  void end_one(std::exception_ptr failure) noexcept;
  void begin_step_ahead(Lock& lock) noexcept;
  [[nodiscard]] bool name_drawn_tokens(Step& step);
  void finish_oldest(Lock& lock) noexcept;
  void watch_clock(const Step& step) noexcept;
  static void look_at_clock(void* arg) noexcept;
  void settle(Step& step, uint64_t step_ns, bool was_seen);
  void settle_slice(Slice& slice, bool goes_again);
  void let_go_of_steps(Request& request) noexcept;
  void take_drawn(Generation& generation);
  void hand_out(Generation& generation, const AnswerPiece& piece);
  void compute_next(Request& request);
  void end(Request& request, std::exception_ptr failure) noexcept;

  // engine_memory.cpp: implements WorkMemory for the scheduler.
  bool refresh(Work& work) override;
  Room reserve(Work& work, uint32_t num_tokens) override;
  uint32_t most_tokens(const Work& work, uint32_t num_tokens) override;
  bool have_room_for(const Sequence& sequence, uint64_t num_tokens);
  bool free_something();
  bool make_room(const Sequence& sequence, uint64_t num_tokens);
  bool make_room_alone(Sequence& sequence, uint64_t num_tokens);
  bool drop_spare_of_requests();
  [[nodiscard]] bool fits_ever(const Request& request, uint32_t num_tokens);
  bool fits(const Work& work) override { return fits_without(work, {}); }
  bool fits_without(const Work& work, std::span<Work* const> others) override;
  [[nodiscard]] bool fits_on(PoolRange device, const Request& request,
                             std::span<Work* const> others) const;
  bool holds(const Work& work) override;
  bool is_under_way(const Work& work) override;
  void drop(Work& work) noexcept override;
  void refuse(Work& work) noexcept override;
  void reuse_blocks(Request& request, std::span<const Hash128> keys);
  void share_blocks(Request& request, uint64_t cached_before);
  void explain_reuse(Request& request, std::span<const Hash128> keys,
                     const PrefixIndex::Match& match, bool adopted);
  void note_being_computed(Request& request, uint32_t num_tokens);
  [[nodiscard]] bool is_being_computed(Hash128 key) const;
  [[nodiscard]] bool piece_has(size_t group, const SnapshotPiece& piece) const;

  std::shared_ptr<const Model> model_;
  EngineOptions options_;
  System& system_;
  std::vector<std::unique_ptr<DeviceSlabs>> slab_memory_;  // [devices]
  std::vector<std::shared_ptr<BlockPool>> pools_;          // [groups]
  std::vector<uint64_t> needed_;                           // [groups] blocks; scratch of make_room
  std::unique_ptr<PrefixIndex> index_;                     // may be null
  std::mutex identity_mutex_;
  std::optional<SnapshotIdentity> identity_;
  uint64_t vocab_;
  int owner_pid_;

  mutable std::mutex mutex_;
  Scheduler scheduler_;
  IdleSequences idle_;
  SliceTuner tuner_;
  EngineMetrics metrics_;
  bool driving_ = false;  // a thread runs a step
  bool stopped_ = false;  // serve() must return
  Waiter* first_waiter_ = nullptr;
  Waiter* last_waiter_ = nullptr;
  DriveExecutor executor_;
  /// Kept alive by a posted task; the owner is released last.
  struct Posted {
    std::shared_ptr<const void> owner;
    std::shared_ptr<Engine> engine;
  };
  Posted posted_;
  uint64_t num_posted_ = 0;
  std::shared_ptr<Generation> first_to_tell_;
  uint32_t step_limit_;  // tokens; reduced after stopped steps

  // Steps under way. They belong to the thread with the device's turn; their slices are under the
  // lock.
  std::vector<std::unique_ptr<Step>> steps_;  // one per step that may be under way
  size_t oldest_step_ = 0;
  size_t num_steps_ = 0;            // under way
  size_t first_draw_ = 0;           // advances per step, so that each slice draws first once
  uint64_t step_end_ns_ = 0;        // end of the latest step
  uint64_t until_ns_ = UINT64_MAX;  // when the driving thread must return
  uint64_t late_ns_ = UINT64_MAX;   // when the step is stopped to return in time
  bool step_is_late_ = false;
};

}  // namespace tenon
