// Which requests go into the next step, and with how many tokens: priorities, ageing, fairness
// between clients, the bounded queue, preemption. No model, no thread and no clock here.
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

/// A host's customer: the requests under one key share what the weight gives them.
struct Client {
  double weight = 1;
  double served = 0;  ///< tokens over weight; the client that has the least goes first
  uint64_t num_works = 0;
  uint64_t num_running = 0;  ///< number of its running requests, one seat each
  /// The requests of one priority.
  struct Class {
    Client* client = nullptr;
    int32_t priority = 0;
    uint64_t num_works = 0;
    uint64_t last_served_ns = 0;  ///< or when the first request came
    int64_t level = 0;            ///< the priority as aged, in the pick under way
  };
  std::map<int32_t, Class> classes;  ///< by priority; empty ones are removed
};

/// What the scheduler knows about a request; the request derives from it. The owner sets the first
/// part before Scheduler::add.
struct Work {
  int32_t priority = 0;      ///< higher runs first
  Client* client = nullptr;  ///< of Scheduler::client
  /// Counts in the bounds of the queue until it begins.
  bool bounded = false;
  /// Tokens that are to be computed before there is something to wait for. Kept by the owner.
  uint64_t num_left = 0;

  enum class Place : uint8_t { Out, Waiting, Running };
  [[nodiscard]] Place place() const { return place_; }
  [[nodiscard]] bool has_begun() const { return begun_; }

 private:
  friend class Scheduler;
  Place place_ = Place::Out;
  bool begun_ = false;        // has been in a step
  uint64_t arrival_ = 0;      // order of arrival
  uint64_t looked_at_ = 0;    // latest pick that looked at it
  uint64_t queued_left_ = 0;  // its part of the bounds' counters
  uint64_t seat_asked_ = 0;   // latest pick in which it asked for another client's seat
  // Number of a take that came to nothing. It takes again when a request that held memory then has
  // given it back. 0: none.
  uint64_t vain_take_ = 0;
  uint64_t held_since_ = 0;  // first such take, of any request, that met it with memory
  Client::Class* class_ = nullptr;
  Work* next_ = nullptr;
  Work* previous_ = nullptr;
};

/// The memory of requests, as the scheduler asks for it.
class WorkMemory {
 public:
  enum class Room { Reserved, None, Never };
  virtual ~WorkMemory() = default;
  /// Makes use of what others have computed, and brings num_left up to date. False: somebody in
  /// this step is computing the same, so that it pays to wait.
  virtual bool refresh(Work& work) = 0;
  /// Makes room for the next tokens, from what is free or can be had without taking it from a
  /// request. None: not now. Never: not even alone, or the device has none.
  virtual Room reserve(Work& work, uint32_t num_tokens) = 0;
  /// How many of its next tokens a slice may have, 1 to num_tokens.
  virtual uint32_t most_tokens(const Work&, uint32_t num_tokens) { return num_tokens; }
  /// Whether all that is left of it has room now.
  virtual bool fits(const Work& work) = 0;
  /// Whether it would have room after the others were dropped. Counts shared memory once for each
  /// holder, so that true may still mean too little.
  virtual bool fits_without(const Work& work, std::span<Work* const> others) = 0;
  /// Whether preempting it would give memory back.
  virtual bool holds(const Work& work) = 0;
  /// Whether a step under way has tokens of it: it is then put off where it has no room, for that may
  /// change when the step has ended.
  virtual bool is_under_way(const Work&) { return false; }
  /// Preempts: gives all its memory back and brings num_left up to date.
  virtual void drop(Work& work) noexcept = 0;
  /// It was removed, for there is no room for it and no request to take it from.
  virtual void refuse(Work& work) noexcept = 0;
};

struct SchedulerOptions {
  uint32_t step_tokens = 512;        ///< in a step at most
  uint32_t tile_tokens = 1;          ///< a step is best filled with multiples of it
  uint32_t max_running = 256;        ///< requests that have begun and not ended
  uint64_t max_queued = UINT64_MAX;  ///< bounded requests that have not begun
  uint64_t max_queued_tokens = UINT64_MAX;
  uint64_t ageing_ns = 2'000'000'000;  ///< without a token for so long: one priority more
};

/// Tokens of a request in the next step.
struct Pick {
  Work* work;
  uint32_t num_tokens;
};

/// Not thread-safe. Allocates when a request, a client or a larger step than before comes.
class Scheduler {
 public:
  static constexpr int32_t kMaxPriority = 1000;

  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// The client of a key, made when it is new. Valid as long as it has requests.
  Client& client(std::string_view key, double weight);

  /// Puts a request into the queue. Throws Busy, naming the bound, when it is full.
  void add(Work& work, uint64_t now_ns);
  /// Takes it out, wherever it is.
  void remove(Work& work) noexcept;

  /// The slices of the next step, decodes first, as far as `memory` has room. Requests that it
  /// refuses are out. Empty when there is nothing to do, or nothing more while steps are under way;
  /// otherwise something is picked or refused.
  ///   step_tokens    at most, but no more than the option
  ///   beside_tokens  of prompts, when there are decodes: this number, or what fills tiles, whichever is
  ///                  nearest
  ///   alone_tokens   of prompts at most, when there are no decodes
  std::span<const Pick> pick(uint64_t now_ns, uint32_t step_tokens, uint32_t beside_tokens,
                             WorkMemory& memory, uint32_t alone_tokens = UINT32_MAX);
  /// A pick was not computed: its client owes nothing for it.
  static void take_back(const Pick& pick) noexcept;

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] uint64_t num_waiting() const { return num_works_ - num_running_; }
  [[nodiscard]] uint64_t num_running() const { return num_running_; }
  [[nodiscard]] uint64_t num_queued() const { return num_queued_; }
  [[nodiscard]] uint64_t num_queued_tokens() const { return queued_tokens_; }
  [[nodiscard]] uint64_t num_preempted() const { return num_preempted_; }
  /// All requests, oldest first; `visit` may remove the one it is given.
  template <typename Visit>
  void for_each(Visit visit) {
    for (Work* work = first_; work != nullptr;) {
      Work* next = work->next_;
      visit(*work);
      work = next;
    }
  }

 private:
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
  Work* first_ = nullptr;  // by arrival
  Work* last_ = nullptr;
  uint64_t num_works_ = 0;
  uint64_t num_running_ = 0;
  uint64_t num_queued_ = 0;
  uint64_t queued_tokens_ = 0;
  uint64_t num_arrived_ = 0;
  uint64_t num_preempted_ = 0;
  uint64_t num_vain_takes_ = 0;
  double served_floor_ = 0;  // of the clients with requests

  // The pick under way.
  WorkMemory* memory_ = nullptr;
  uint64_t now_ns_ = 0;
  uint64_t num_picks_ = 0;
  uint32_t num_put_off_ = 0;
  uint32_t room_ = 0;
  bool against_the_order_ = false;
  std::vector<Pick> picks_;
  std::vector<Work*> decodes_;
  // The take under way: requests that would give their memory; of these, who had a seat.
  std::vector<Work*> lenders_;
  std::vector<bool> had_seat_;
};

}  // namespace tenon
