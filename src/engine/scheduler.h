// Picks the requests of the next step and their token counts: priorities, ageing, fairness between
// clients, the bounded queue, preemption. Uses no model, thread or clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

class Scheduler;

/// A customer of the host: requests under one key share their client's weight.
struct Client {
  double weight = 1;
  double served = 0;  ///< tokens over weight; the client with the least goes first
  uint64_t num_works = 0;
  uint64_t num_running = 0;  ///< seats of its running requests
  /// Requests of one priority.
  struct Class {
    Client* client = nullptr;
    int32_t priority = 0;
    uint64_t num_works = 0;
    uint64_t last_served_ns = 0;  ///< or arrival of the first request
    int64_t level = 0;            ///< aged priority in the current pick
  };
  std::map<int32_t, Class> classes;  ///< by priority; empty ones are removed
};

/// A request as the scheduler sees it; requests derive from it. The owner sets the public fields
/// before Scheduler::add.
struct Work {
  int32_t priority = 0;      ///< higher runs first
  Client* client = nullptr;  ///< from Scheduler::client
  /// Counts toward the queue bounds until it begins.
  bool bounded = false;
  /// Tokens to compute before a result. Maintained by the owner.
  uint64_t num_left = 0;
  /// Tokens that a decode computes: more than one if tokens of the last one are computed again.
  /// Maintained by the owner.
  uint64_t decode_tokens = 1;
  [[nodiscard]] bool is_decode() const { return num_left > 0 && num_left <= decode_tokens; }

  enum class Place : uint8_t { Out, Waiting, Running };
  [[nodiscard]] Place place() const { return place_; }
  [[nodiscard]] bool has_begun() const { return begun_; }

 private:
  friend class Scheduler;
  Place place_ = Place::Out;
  bool begun_ = false;        // has been in a step
  uint64_t arrival_ = 0;      // order of arrival
  uint64_t looked_at_ = 0;    // latest pick that considered it
  uint64_t queued_left_ = 0;  // its share of the bounds' counters
  uint64_t seat_asked_ = 0;   // latest pick in which it asked for another client's seat
  // Number of its failed take, 0 if none. It takes again after a request that held memory at that
  // time has given memory back.
  uint64_t vain_take_ = 0;
  uint64_t held_since_ = 0;  // first failed take, of any request, while this held memory
  Client::Class* class_ = nullptr;
  Work* next_ = nullptr;
  Work* previous_ = nullptr;
};

/// The memory of requests, as the scheduler sees it.
class WorkMemory {
 public:
  enum class Room { Reserved, None, Never };
  virtual ~WorkMemory() = default;
  /// Reuses computed blocks and updates num_left. Returns false if a request of this step computes
  /// the same prefix, so that waiting pays.
  virtual bool refresh(Work& work) = 0;
  /// Reserves memory for the next tokens from free blocks or blocks that no request holds. None: no
  /// room now. Never: no room even alone, or the device has no memory.
  virtual Room reserve(Work& work, uint32_t num_tokens) = 0;
  /// Tokens that the next slice may have, 1 to num_tokens.
  virtual uint32_t most_tokens(const Work&, uint32_t num_tokens) { return num_tokens; }
  /// True if all its remaining tokens fit now.
  virtual bool fits(const Work& work) = 0;
  /// True if it would fit after the others were dropped. Counts shared memory once per holder, so
  /// true may still mean too little.
  virtual bool fits_without(const Work& work, std::span<Work* const> others) = 0;
  /// True if preempting it would free memory.
  virtual bool holds(const Work& work) = 0;
  /// True if a step under way has a slice of it. Such a request waits instead of being refused: the
  /// running step may free blocks.
  virtual bool is_under_way(const Work&) { return false; }
  /// True if something outside the steps will let it go on, which nothing here may hasten.
  virtual bool is_elsewhere(const Work&) { return false; }
  /// Preempts: frees all its memory and updates num_left.
  virtual void drop(Work& work) noexcept = 0;
  /// Called after removing a request that has no room and no request to take memory from.
  virtual void refuse(Work& work) noexcept = 0;
};

struct SchedulerOptions {
  uint32_t step_tokens = 512;        ///< most tokens in a step
  uint32_t tile_tokens = 1;          ///< steps are best filled with multiples of this
  uint32_t max_running = 256;        ///< most requests that have begun and not ended
  uint64_t max_queued = UINT64_MAX;  ///< most bounded requests that have not begun
  uint64_t max_queued_tokens = UINT64_MAX;
  uint64_t ageing_ns = 2'000'000'000;  ///< time without a token that raises the priority by 1
};

/// A request's tokens in the next step.
struct Pick {
  Work* work;
  uint32_t num_tokens;
};

/// Not thread-safe. Allocates only for new requests, new clients and larger steps.
class Scheduler {
 public:
  static constexpr int32_t kMaxPriority = 1000;

  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// The client of a key, created if new. Valid while it has requests.
  Client& client(std::string_view key, double weight);

  /// Queues a request. Throws Busy, naming the bound, if the queue is full.
  void add(Work& work, uint64_t now_ns);
  /// Removes a request in any state.
  void remove(Work& work) noexcept;

  /// Picks the slices of the next step, decodes first, as far as `memory` has room. Refused
  /// requests are removed. Empty if no work is left, or none beyond the steps under way and the
  /// requests that are elsewhere; otherwise at least one request is picked or refused.
  ///   step_tokens    most tokens, at most the option
  ///   beside_tokens  prompt tokens beside decodes, or the nearest number that fills tiles
  ///   alone_tokens   most prompt tokens without decodes
  std::span<const Pick> pick(uint64_t now_ns, uint32_t step_tokens, uint32_t beside_tokens,
                             WorkMemory& memory, uint32_t alone_tokens = UINT32_MAX);
  /// Charges the client for tokens beyond those that were picked.
  static void charge_more(Work& work, uint64_t num_tokens) noexcept {
    work.client->served += static_cast<double>(num_tokens) / work.client->weight;
  }
  /// Refunds the client of a pick that was not computed.
  static void take_back(const Pick& pick) noexcept;

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] uint64_t num_waiting() const { return num_works_ - num_running_; }
  [[nodiscard]] uint64_t num_running() const { return num_running_; }
  [[nodiscard]] uint64_t num_queued() const { return num_queued_; }
  [[nodiscard]] uint64_t num_queued_tokens() const { return queued_tokens_; }
  [[nodiscard]] uint64_t num_preempted() const { return num_preempted_; }
  /// Visits all requests, oldest first; `visit` may remove its argument.
  template <typename Visit>
  void for_each(Visit visit) {
    for (Work* work = first_; work != nullptr;) {
      Work* next = work->next_;
      visit(*work);
      work = next;
    }
  }

 private:
  void reserve_works(size_t count);
  [[nodiscard]] int64_t aged(const Client::Class& of_priority) const;
  [[nodiscard]] static bool goes_before(const Work& a, const Work& b);
  [[nodiscard]] static bool ranks_below(const Work& a, const Work& b);
  [[nodiscard]] static bool holds_less(const Client& a, const Client& b);
  [[nodiscard]] static bool gives_way(const Work& a, const Work& b);
  void share_seats();
  [[nodiscard]] Work* next_to_seat();
  void seat(Work& work);
  [[nodiscard]] bool find_lenders(const Work& work);
  void give_up_take(Work& work);
  void drop(Work& work) noexcept;
  void note_return(Work& work) noexcept;
  [[nodiscard]] Work* find_seat(const Work& work, bool for_memory);
  [[nodiscard]] bool has_seat() const { return num_running_ < options_.max_running; }
  void unseat(Work& work) noexcept;
  void pick_decodes();
  void pick_prompts(uint32_t beside_tokens, uint32_t alone_tokens);
  [[nodiscard]] uint32_t filled(uint32_t beside_tokens) const;
  void pick_against_the_order();
  Work* next_prompt() const;
  [[nodiscard]] bool lets_begin() const;
  bool may_begin(const Work& work);
  bool try_pick(Work& work, uint32_t num_tokens);
  Work* find_victim(const Work& work);
  [[nodiscard]] bool others_hold(const Work& work);
  void preempt(Work& work) noexcept;
  void begin(Work& work) noexcept;
  void charge(const Work& work, uint32_t num_tokens) noexcept;
  void forget_idle_clients();

  SchedulerOptions options_;
  std::map<std::string, Client, std::less<>> clients_;
  Work* first_ = nullptr;  // ordered by arrival
  Work* last_ = nullptr;
  uint64_t num_works_ = 0;
  uint64_t num_running_ = 0;
  uint64_t num_queued_ = 0;
  uint64_t queued_tokens_ = 0;
  uint64_t num_arrived_ = 0;
  uint64_t num_preempted_ = 0;
  uint64_t num_vain_takes_ = 0;
  double served_floor_ = 0;  // least `served` of clients with requests

  // State of the current pick.
  WorkMemory* memory_ = nullptr;
  uint64_t now_ns_ = 0;
  uint64_t num_picks_ = 0;
  uint32_t num_put_off_ = 0;
  uint32_t room_ = 0;
  bool against_the_order_ = false;
  std::vector<Pick> picks_;
  std::vector<Work*> decodes_;
  // State of the current take: requests that would give their memory, and whether each had a seat.
  std::vector<Work*> lenders_;
  std::vector<bool> had_seat_;
};

}  // namespace tenon
