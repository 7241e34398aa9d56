// The engine of one model: KV pools, the queue of requests and the steps that serve them. Sessions
// are its users; who goes first is the scheduler's, the arithmetic the backend's business.
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

/// The tokens [begin, end) of a sequence are to be computed, and those before them that are not.
struct BatchItem {
  Sequence* sequence = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  Outputs outputs = Outputs::None;
  float* logits = nullptr;  ///< [1 or end - begin, vocab]; null for None
  /// A flag that any thread may set to stop the item. Null: none.
  const uint32_t* cancel = nullptr;
  /// Of the session, so that its cancel reaches into steps; items of one call may share it. Null:
  /// none.
  CallControl* control = nullptr;
  /// Of the sequence, when that is not the session's own. Null: the control's.
  IdleSequences::Entry* idle = nullptr;
  int32_t priority = 0;
  std::string_view client{};
  double weight = 1;
  /// With Outputs::Last: draws from the logits, in the step. Null: nothing is drawn.
  AnswerLoop* loop = nullptr;
  uint64_t deadline_ns = UINT64_MAX;
};

/// Lets a host's own threads drive: `post` has task(arg) called once, soon, on some thread.
struct DriveExecutor {
  /// False: nothing was posted, and task is never called.
  bool (*post)(void* user, void (*task)(void* arg), void* arg) noexcept = nullptr;
  void* user = nullptr;
  /// Kept as long as the engine can post, and until a task that was posted has returned.
  std::shared_ptr<const void> owner{};
};

/// Any thread. Waiting callers drive it: one of them runs a step for as many requests as fit, the
/// others sleep until theirs are done. docs/engine.md tells the whole. No allocation while a step is
/// built and run, once pools, lists and the prefix index have grown to what is used.
class Engine : public std::enable_shared_from_this<Engine>,
               private WorkMemory,
               private DeviceTurn::Holder {
 public:
  /// Throws State when the model cannot run ("model.gguf holds a vocabulary only"); NoMemory.
  static std::shared_ptr<Engine> create(std::shared_ptr<const Model> model,
                                        const EngineOptions& options = unbounded_engine());
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const Model& model() const { return *model_; }
  /// False in the child of a fork, where nothing runs and the lock may be held for ever.
  [[nodiscard]] bool is_of_this_process() const noexcept;
  [[nodiscard]] const std::shared_ptr<const Model>& shared_model() const { return model_; }
  [[nodiscard]] std::span<const std::shared_ptr<BlockPool>> pools() const { return pools_; }
  /// Of the texts under a salt, for Sequence.
  [[nodiscard]] Hash128 root_of(std::string_view salt) const;

  /// Computes one item, together with whatever else is waiting; returns when it is done. A sequence
  /// may be in one item at a time. Throws Cancelled, NoMemory and what the backend reports: the
  /// tokens of finished slices then stay computed (unless others needed the memory), the rest of
  /// the item is pending as before. State in the child of a fork. Returns how many tokens became
  /// computed other than by taking them from others.
  uint64_t run(const BatchItem& item);

  /// Computes all items in as few steps as they fit into. A sequence is in one of them at most.
  /// The first failure is thrown when all have ended.
  uint64_t run(std::span<const BatchItem> items);

  /// Calls use() while no request takes blocks of the session's sequence: each look at what of it is
  /// computed, and each change of it, between requests. It must be short and not call the engine.
  /// State in the child of a fork.
  template <typename Use>
  auto with_sequence(CallControl& session, Use use) {
    return with_sequence(session.idle, use);
  }
  /// The same for a sequence that is not the session's own.
  template <typename Use>
  auto with_sequence(IdleSequences::Entry& entry, Use use) {
    check_process();
    const std::scoped_lock lock(mutex_);
    const IdleSequences::Away away(idle_, entry);
    return use();
  }
  /// The same for the sequences of two sessions.
  template <typename Use>
  auto with_sequences(CallControl& one, CallControl& other, Use use) {
    check_process();
    const std::scoped_lock lock(mutex_);
    const IdleSequences::Away away(idle_, one.idle);
    const IdleSequences::Away too(idle_, other.idle);
    return use();
  }

  /// Queues a generation. Throws Busy; nothing is then queued.
  void submit(const std::shared_ptr<Generation>& generation);
  /// Returns when there is a token to fetch or it has ended: true, or false after timeout_ns. The
  /// caller drives meanwhile if no other thread does: steps that fit into its time by what the engine
  /// has measured. One that overruns is stopped 5 ms after the time, but for the least that makes
  /// progress: all decodes and a few tokens of prompts. At least one step is begun, so that many
  /// short waits end everything. 0 only looks.
  bool wait(Generation& generation, uint64_t timeout_ns);
  /// The next token, if there is one.
  struct Fetched {
    bool has_token = false;
    bool ended = false;  ///< and there is nothing more to fetch
    Token token = 0;
    Finish finish = Finish::None;  ///< of the last token
    std::exception_ptr failure;    ///< with ended: why it ended early
    std::string_view text{};       ///< what the token shows; valid until the next fetch
  };
  Fetched fetch(Generation& generation);
  /// Of the token fetched last. Throws State when there is none or they were not asked for.
  void logprobs(const Generation& generation, float& logprob, std::span<Token> top_tokens,
                std::span<float> top_logprobs) const;
  void chosen_logprobs(const Generation& generation, std::span<float> logprobs) const;
  [[nodiscard]] ReuseReport report(const Generation& generation) const;
  /// Ends it with Cancelled, unless it has ended.
  void cancel(Generation& generation);
  /// The same, and waits until the engine has let go of it.
  void withdraw(Generation& generation);
  /// Does not notify its host any more; waits for a notification under way.
  void silence(Generation& generation);

  /// One step, if there is work and no other thread drives; whether there was.
  bool step();
  /// Drives until stop(), sleeping while there is no work.
  void serve();
  void stop();
  /// From now on work that no thread drives is driven by tasks on the host's executor.
  void set_executor(const DriveExecutor& executor);
  /// Gives memory of the cache that is not used back to the device, unless a step is under way,
  /// which does so when it ends.
  void release_unused() noexcept;

  /// A flag of a request in a step under way was set. Any thread, and signal handlers.
  void stop_steps() noexcept {
    for (const auto& step : steps_) step->stop();
  }

  // Snapshots: block 0 of each group that keeps positions, block 1, ... up to those that end at
  // `position`, and then the states after it. A group whose window begins later is not in a piece.
  /// Positions in a block of any group. Throws Unsupported when the groups differ in that.
  [[nodiscard]] uint32_t block_tokens() const;
  struct SnapshotPiece {
    uint64_t position;  ///< from which the restored sequence goes on
    uint64_t index;     ///< 0 .. position / block_tokens(), which are the states
  };
  [[nodiscard]] uint64_t piece_bytes(const SnapshotPiece& piece) const;
  /// Where a snapshot of the session's sequence goes on.
  [[nodiscard]] uint64_t snapshot_position(CallControl& session);
  /// Copies a piece of a sequence between requests, [piece_bytes()]; false when it is not all there
  /// (any more).
  bool read_piece(const Sequence& sequence, const SnapshotPiece& piece, std::span<std::byte> out);
  /// Adds a piece to what is computed of the session's sequence, in order; false when one before it
  /// is not there (any more), or when there is no room without taking it from requests.
  bool write_piece(CallControl& session, const SnapshotPiece& piece,
                   std::span<const std::byte> values);
  /// Forgets what was written if the sequence cannot go on from there.
  void end_restore(CallControl& session);
  /// Of the model; found out when it is first asked for. Throws Io.
  const SnapshotIdentity& snapshot_identity();

  [[nodiscard]] EngineMetrics metrics() const;

 private:
  /// A thread that sleeps and could drive.
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
  void end_if_stopped(Request& request);
  void hand_over(Lock& lock) noexcept;
  static void drive_task(void* arg);
  void tell_later(const std::shared_ptr<Generation>& generation) noexcept;
  void tell_hosts(Lock& lock);

  // engine_step.cpp; the driving thread only, which has the turn.
  void trim_slabs() noexcept;
  void drive(Lock& lock, uint64_t until_ns = UINT64_MAX);
  void finish_steps() noexcept override;
  [[nodiscard]] Step& step_at(size_t index) {
    return *steps_[(oldest_step_ + index) % steps_.size()];
  }
  void begin_step(Lock& lock) noexcept;
  void fill_step(Step& step, uint64_t now_ns);
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

  // engine_memory.cpp: what the scheduler asks.
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
  std::vector<uint64_t> needed_;                           // [groups] blocks, in make_room
  std::unique_ptr<PrefixIndex> index_;                     // or null
  std::mutex identity_mutex_;
  std::optional<SnapshotIdentity> identity_;
  uint64_t vocab_;
  int owner_pid_;

  mutable std::mutex mutex_;
  Scheduler scheduler_;
  IdleSequences idle_;
  SliceTuner tuner_;
  EngineMetrics metrics_;
  bool driving_ = false;  // a thread is about a step
  bool stopped_ = false;  // serve() is to return
  Waiter* first_waiter_ = nullptr;
  Waiter* last_waiter_ = nullptr;
  DriveExecutor executor_;
  /// A task is posted: it keeps alive what it needs, the owner longest.
  struct Posted {
    std::shared_ptr<const void> owner;
    std::shared_ptr<Engine> engine;
  };
  Posted posted_;
  uint64_t num_posted_ = 0;
  std::shared_ptr<Generation> first_to_tell_;
  uint32_t step_limit_;  // tokens; smaller after stopped steps

  // The steps under way; they belong to the thread that has the turn, but for their slices, which are
  // under the lock.
  std::vector<std::unique_ptr<Step>> steps_;  // as many as may be under way
  size_t oldest_step_ = 0;
  size_t num_steps_ = 0;            // under way
  size_t first_draw_ = 0;           // moves on with each step, so that each slice is once the first
  uint64_t step_end_ns_ = 0;        // of the latest that ended
  uint64_t until_ns_ = UINT64_MAX;  // when the driving thread wants to be back
  uint64_t late_ns_ = UINT64_MAX;   // when the step is stopped for that
  bool step_is_late_ = false;
};

}  // namespace tenon
