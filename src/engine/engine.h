// The engine of one model: the loop that serves requests. Its parts are the scheduler, which orders
// them, the memory (cache_pools.h, request_memory.h) and the steps on the device
// (steps_under_way.h). Sessions use it.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device_turn.h"
#include "engine/block_drafter.h"
#include "engine/block_tier.h"
#include "engine/cache_pools.h"
#include "engine/draft_model.h"
#include "engine/ended_answers.h"
#include "engine/engine_options.h"
#include "engine/guarded.h"
#include "engine/guess_pricer.h"
#include "engine/idle_sequences.h"
#include "engine/metrics.h"
#include "engine/request.h"
#include "engine/request_memory.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "engine/slice_tuner.h"
#include "engine/snapshot.h"
#include "engine/snapshot_pieces.h"
#include "engine/steps_under_way.h"
#include "kv/block_store.h"
#include "model/model.h"

namespace tenon {

class Prediction;

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
  /// Guesses of the tokens after `end`, made by `guessed_by`; the engine may leave them out.
  std::span<const Token> guesses{};
  const Speculator* guessed_by = nullptr;
  float* guess_logits = nullptr;    ///< [guesses, vocab] logits after each guess
  uint32_t* num_guessed = nullptr;  ///< [out] number of guesses computed
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
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  /// Throws State if the model cannot run ("model.gguf holds a vocabulary only"), and NoMemory.
  static std::shared_ptr<Engine> create(std::shared_ptr<const Model> model,
                                        const EngineOptions& options = unbounded_engine());
  /// The same with another draft model than Model::draft(), or none. Throws Unsupported for a model
  /// that cannot draft (check_draft_model).
  static std::shared_ptr<Engine> create(std::shared_ptr<const Model> model,
                                        const EngineOptions& options,
                                        std::shared_ptr<const Model> draft);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const Model& model() const { return *model_; }
  /// False in a forked child: no thread runs and the lock may be held forever.
  [[nodiscard]] bool is_of_this_process() const noexcept;
  [[nodiscard]] const std::shared_ptr<const Model>& shared_model() const { return model_; }
  [[nodiscard]] std::span<const std::shared_ptr<BlockPool>> pools() const { return pools_.all(); }
  /// Prefix-tree root for a salt.
  [[nodiscard]] Hash128 root_of(std::string_view salt);
  /// Keeps computed prefixes in a store of the host. Throws State after a session was made or with
  /// a store already, and Unsupported without a prefix index.
  void set_store(std::shared_ptr<BlockStore> store);
  /// Waits until the store was given all that waits for it. For tests and measurements.
  void settle_store();

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
    const Lock lock(state_);
    const IdleSequences::Away away(lock->memory.idle(), entry);
    return use();
  }
  /// Locks the sequences of two sessions.
  template <typename Use>
  auto with_sequences(CallControl& one, CallControl& other, Use use) {
    check_process();
    const Lock lock(state_);
    const IdleSequences::Away away(lock->memory.idle(), one.idle);
    const IdleSequences::Away too(lock->memory.idle(), other.idle);
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
  /// Counts of a generation's guesses.
  struct DraftReport {
    uint64_t drafted = 0;
    uint64_t accepted = 0;
    uint64_t predicted = 0;                  ///< accepted guesses of its prediction
    DraftSource source = DraftSource::None;  ///< of most accepted guesses
  };
  [[nodiscard]] DraftReport draft_report(const Generation& generation) const;
  /// A text that is guessed.
  struct GuessedText {
    uint32_t context = 0;                   ///< most tokens of the text
    std::string_view salt{};                ///< of its session
    std::optional<Speculation> mode{};      ///< in place of the engine's
    uint32_t most = Drafter::kMostGuesses;  ///< most guesses at once
    std::span<const Token> prediction{};    ///< the likely answer; may be empty
    uint64_t prompt_size = 0;               ///< tokens of the text before the answer
  };
  /// Makes the guesses of one text; null without speculation.
  [[nodiscard]] std::unique_ptr<Speculator> make_speculator(const GuessedText& text);
  /// Lets the draft model guess for a session's call, after its speculator. `ask.text` ends with
  /// the token that the call computes.
  void draft_for_call(DraftAsk& ask) noexcept;
  /// The draft model; null if there is none.
  [[nodiscard]] DraftModel* draft_model() const { return drafts_.get(); }
  /// The prediction blocks that guess; null if there are none, or a draft model.
  [[nodiscard]] BlockDrafter* block_drafter() const { return blocks_.get(); }
  /// A predicted answer of one request or more. Requests that predict the same as the one before,
  /// like the choices of an answer, share it while one of them lives.
  [[nodiscard]] std::shared_ptr<const Prediction> share_prediction(std::span<const Token> tokens);
  /// Replaces the built-in drafters of texts that begin from now on.
  void set_drafters(DrafterFactory make_drafter);

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
  void stop_steps() noexcept { steps_.stop(); }

  // Snapshots (snapshot_pieces.h).
  /// Positions per block, in all groups. Throws Unsupported if groups differ.
  [[nodiscard]] uint32_t block_tokens() const { return piece_block_tokens(pools()); }
  [[nodiscard]] uint64_t piece_bytes(const SnapshotPiece& piece) const {
    return tenon::piece_bytes(pools(), piece);
  }
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
  /// How tokens are guessed, a line for each drafter, or why it is not used.
  [[nodiscard]] std::string describe_drafters() const;

 private:
  /// Proof of the device's turn.
  using Turn = DeviceTurn::Held;
  /// A sleeping thread that could drive.
  struct Waiter {
    Wake* wake;
    bool serves;
    Waiter* next;
    Waiter* previous;
  };
  /// Kept alive by a posted task; the owner is released last.
  struct Posted {
    std::shared_ptr<const void> owner;
    std::shared_ptr<Engine> engine;
  };
  /// State that the engine's lock guards, with the requests in the scheduler. A function that needs
  /// the lock takes it.
  struct State {
    State(const Model& model, const EngineOptions& options, const CachePools& pools);

    Scheduler scheduler;
    RequestMemory memory;
    SliceTuner tuner;
    GuessPricer pricer;
    DrafterFactory make_drafter;
    /// A guess of the step to fill.
    struct Guess {
      float value = 0;
      uint32_t pick = 0;   ///< index
      uint32_t index = 0;  ///< among the guesses of its request
    };
    std::weak_ptr<const Prediction> latest_prediction;
    std::vector<Guess> guesses;         // scratch
    std::vector<float> guess_values;    // scratch
    std::vector<uint32_t> num_guesses;  // [picks] scratch
    std::vector<DraftAsk> draft_asks;   // scratch of the driving thread
    std::vector<Request*> drafted;      // [draft_asks] scratch of the driving thread
    EngineMetrics metrics;
    uint32_t step_limit;      // tokens; reduced after stopped steps
    bool is_driven = false;   // a thread runs a step
    bool is_stopped = false;  // serve() must return
    Waiter* first_waiter = nullptr;
    Waiter* last_waiter = nullptr;
    DriveExecutor executor;
    Posted posted;
    uint64_t num_posted = 0;
    std::shared_ptr<Generation> first_to_tell;
    std::unique_ptr<Speculator> first_spent;  // of ended requests, freed without the lock
    bool has_roots = false;                   // keys of texts were given out
    /// True if a thread that drives has something to do.
    [[nodiscard]] bool has_work() const {
      return scheduler.num_waiting() + scheduler.num_running() > memory.num_reading();
    }
  };
  using Lock = Guarded<State>::Lock;
  /// Ends a step that outlasts the time of its driver.
  struct StepClock {
    System& system;
    StepsUnderWay& steps;
    uint64_t late_ns = UINT64_MAX;
    bool is_late = false;
    static void look(void* arg) noexcept;
  };
  /// State that only the thread with the device's turn touches, besides the steps.
  struct OnTurn {
    StepClock clock;
    uint64_t until_ns = UINT64_MAX;  // when the driving thread must return
    uint64_t step_end_ns = 0;        // end of the latest step
    size_t first_draw = 0;           // advances per step, so that each slice draws first once
  };
  /// Settles the steps that the engine left under way.
  class LeftSteps final : public DeviceTurn::Holder {
   public:
    explicit LeftSteps(Engine& engine) : engine_(engine) {}
    void finish_steps(const Turn& turn) noexcept override { engine_.finish_steps(turn); }

   private:
    Engine& engine_;
  };
  /// The cache for the tier's thread (engine_store.cpp).
  class StoreCache final : public TierCache {
   public:
    explicit StoreCache(Engine& engine) : engine_(engine) {}
    /// Notes the groups of the index.
    void begin(State& state);
    [[nodiscard]] std::span<const Group> groups() const override { return groups_; }
    [[nodiscard]] uint32_t block_tokens() const override { return block_tokens_; }
    Found find(Hash128 key, uint32_t group) override;
    bool copy(Hash128 key, uint32_t group, const Found& found, std::span<std::byte> out) override;
    std::optional<uint64_t> look_up(const StoreRead& read, std::span<uint8_t> held) override;
    bool add(const StoreRead& read, std::span<const Block> blocks) override;
    void end(StoreRead& read) override;

   private:
    bool add_node(PrefixIndex& index, const StoreRead& read, uint64_t number,
                  std::span<const Block> blocks);

    Engine& engine_;
    std::vector<Group> groups_;
    uint32_t block_tokens_ = 1;
  };
  /// Limits on a driver's wait for the device's turn.
  struct DriveLimits {
    uint64_t until_ns = UINT64_MAX;  ///< also sizes the steps
    /// Polled without the lock. May be null.
    bool (*is_over)(void* arg) = nullptr;
    void* arg = nullptr;
  };

  Engine(std::shared_ptr<const Model> model, const EngineOptions& options,
         std::shared_ptr<const Model> draft);
  [[nodiscard]] const ModelDrafter* drafter() const {
    if (drafts_ != nullptr) return drafts_.get();
    return blocks_.get();
  }
  void check_process() const;
  /// Throws Unsupported without a prefix index.
  static void check_index(const State& state);
  void enqueue(State& state, Request& request, const BatchItem& item);
  template <typename Done>
  bool wait_until(Lock& lock, Wake& wake, Request* request, uint64_t until_ns, Done done);
  void sleep(Lock& lock, Wake& wake, bool serves, uint64_t until_ns);
  uint64_t end_late_reads(State& state) noexcept;
  [[nodiscard]] bool is_stopped(const Request& request) const;
  void end_if_stopped(State& state, Request& request);
  void hand_over(Lock& lock) noexcept;
  static void drive_task(void* arg);
  static void tell_later(State& state, const std::shared_ptr<Generation>& generation) noexcept;
  static void tell_hosts(Lock& lock);

  void drive(Lock& lock, const DriveLimits& limits);
  void draft_for_requests(Lock& lock, ModelDrafter& drafter, uint64_t until_ns);
  [[nodiscard]] double most_draft_ns(uint64_t until_ns) const;
  [[nodiscard]] static bool can_guess(const Request& request);
  void run_step(DeviceTurn::Use& use, uint64_t until_ns) noexcept;
  void finish_steps(const Turn& turn) noexcept;
  void begin_step(const Turn& turn) noexcept;
  void fill_step(const Turn& turn, State& state, Step& step, uint64_t now_ns) noexcept;
  void add_to_step(const Turn& turn, State& state, Step& step, const Pick& pick,
                   uint32_t num_guesses) noexcept;
  static void drop_settled(Generation& generation) noexcept;
  void choose_guesses(const Turn& turn, State& state, PickMemory& memory, Step& step,
                      std::span<const Pick> picks);
  void end_one(State& state, std::exception_ptr failure) noexcept;
  void begin_step_ahead(const Turn& turn) noexcept;
  [[nodiscard]] static bool name_drawn_tokens(State& state, Step& step);
  void watch_clock(const Turn& turn, const Step& step) noexcept;
  void finish_oldest(const Turn& turn) noexcept;
  void settle(const Turn& turn, State& state, Step& step, uint64_t step_ns, bool was_seen);
  [[nodiscard]] static std::span<const Token> guesses_of(const Request& request);
  [[nodiscard]] static const Speculator* speculator_of(const Request& request);
  static void commit(State& state, Request& request, const Slice& slice);
  void settle_slice(const Turn& turn, State& state, Slice& slice, bool goes_again);
  void take_drawn(const Turn& turn, State& state, Generation& generation);
  [[nodiscard]] bool hand_out_settled(State& state, Generation& generation);
  void hand_out(State& state, Generation& generation, const AnswerPiece& piece);
  static void compute_next(State& state, Request& request);
  void end(State& state, Request& request, std::exception_ptr failure) noexcept;
  void end_now(const Turn& turn, State& state, Request& request,
               std::exception_ptr failure) noexcept;

  std::shared_ptr<const Model> model_;
  EngineOptions options_;
  System& system_;
  int owner_pid_;
  std::mutex identity_mutex_;
  std::optional<SnapshotIdentity> identity_;
  CachePools pools_;
  std::shared_ptr<DraftModel> drafts_;    // may be null
  std::shared_ptr<BlockDrafter> blocks_;  // may be null; null with a draft model
  std::shared_ptr<EndedAnswers> answers_;
  mutable Guarded<State> state_;
  StepsUnderWay steps_;
  DeviceTurn::Owned<OnTurn> on_turn_;
  LeftSteps left_steps_{*this};
  StoreCache store_cache_{*this};
  std::unique_ptr<BlockTier> tier_;  // null without a store
};

}  // namespace tenon
