// Memory policy: blocks of requests come from free memory, the prefix index, idle sequences and
// preempted requests, in this order.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/block_tier.h"
#include "engine/cache_pools.h"
#include "engine/idle_sequences.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/steps_under_way.h"
#include "kv/prefix_index.h"

namespace tenon {

/// The prefix index and the idle sequences, over an engine's pools. Not thread-safe: the engine's
/// lock guards it. What uses the device also needs its turn.
class RequestMemory {
 public:
  using Turn = DeviceTurn::Held;

  RequestMemory(const Model& model, const EngineOptions& options, const CachePools& pools);

  /// Prefix-tree root for a salt.
  [[nodiscard]] Hash128 root_of(std::string_view salt) const;
  [[nodiscard]] IdleSequences& idle() { return idle_; }

  /// Sets the tier below the prefix index, and the seed of the index, which must be empty. May be
  /// null.
  void set_tier(const Turn& turn, BlockTier* tier, uint64_t seed);
  [[nodiscard]] bool has_index() const { return index_ != nullptr; }
  /// The prefix index; requires has_index().
  [[nodiscard]] PrefixIndex& index() { return *index_; }
  /// Lets a request go on that waits for the store.
  void stop_reading(Request& request) noexcept;
  /// Requests that wait for the store.
  [[nodiscard]] uint64_t num_reading() const { return num_reading_; }

  /// Offers the computed blocks that were not offered yet to the prefix index. Throws
  /// std::bad_alloc; the rest is offered the next time then.
  void share_blocks(Request& request);
  /// Makes room for needed [groups] blocks, without preempting.
  [[nodiscard]] bool make_room(const Turn& turn, Scheduler& scheduler,
                               std::span<const uint64_t> needed);

  /// Sets the counts of tokens and blocks that moved.
  void count(EngineMetrics& metrics) const;
  /// Drops the prefix index; its blocks go back to the pools.
  void clear(const Turn& turn) noexcept;

 private:
  friend class PickMemory;
  bool free_something(Scheduler& scheduler);
  void reuse_blocks(Request& request, std::span<const Hash128> keys);
  void explain_reuse(Request& request, std::span<const Hash128> keys,
                     const PrefixIndex::Match& match, bool adopted);
  bool read_store(Request& request, std::span<const Hash128> keys, uint64_t until_ns);
  [[nodiscard]] bool have_room_for(const Sequence& sequence, uint64_t num_tokens);
  [[nodiscard]] bool fits_ever(const Request& request, uint32_t num_tokens) const;

  const CachePools& pools_;
  uint64_t cache_bytes_;                // the budget
  std::unique_ptr<PrefixIndex> index_;  // may be null
  IdleSequences idle_;
  std::vector<uint64_t> needed_;  // [groups] blocks; scratch
  uint64_t num_reused_ = 0;       // tokens
  BlockTier* tier_ = nullptr;     // may be null
  uint64_t num_reading_ = 0;
};

/// The memory as the scheduler sees it while it picks the slices of the next step.
class PickMemory final : public WorkMemory {
 public:
  using Turn = DeviceTurn::Held;

  ///   slice_tokens  most tokens in a slice
  ///   token_ns      time to compute a token of a prompt; 0 if it is not known
  PickMemory(const Turn& turn, RequestMemory& memory, StepsUnderWay& steps, Scheduler& scheduler,
             uint32_t slice_tokens, double token_ns, uint64_t now_ns)
      : turn_(turn),
        memory_(memory),
        steps_(steps),
        scheduler_(scheduler),
        slice_tokens_(slice_tokens),
        token_ns_(token_ns),
        now_ns_(now_ns) {}

  bool refresh(Work& work) override;
  Room reserve(Work& work, uint32_t num_tokens) override;
  /// Extends the reservation of a request's next tokens by guesses, from free memory only. Returns
  /// false, and keeps the reservation, if that has no room. Sets the request's failure if the
  /// reservation is lost.
  [[nodiscard]] bool reserve_guesses(Request& request, uint32_t num_tokens,
                                     uint32_t num_guesses) noexcept;
  uint32_t most_tokens(const Work& work, uint32_t num_tokens) override;
  bool fits(const Work& work) override { return fits_without(work, {}); }
  bool fits_without(const Work& work, std::span<Work* const> others) override;
  bool holds(const Work& work) override;
  bool is_under_way(const Work& work) override;
  bool is_elsewhere(const Work& work) override;
  void drop(Work& work) noexcept override;
  /// The engine ends the request after the pick; its blocks can be taken at once.
  void refuse(Work& work) noexcept override;

  /// Removes a refused request, whose failure is set, from the list of all; null if there is none.
  [[nodiscard]] Request* take_refused() noexcept;

 private:
  bool make_room(const Sequence& sequence, uint64_t num_tokens);
  bool make_room_alone(Sequence& sequence, uint64_t num_tokens);
  void note_being_computed(Request& request, uint32_t num_tokens);
  [[nodiscard]] bool fits_on(PoolRange device, const Request& request,
                             std::span<Work* const> others) const;

  const Turn& turn_;
  RequestMemory& memory_;
  StepsUnderWay& steps_;
  Scheduler& scheduler_;
  uint32_t slice_tokens_;
  double token_ns_;
  uint64_t now_ns_;
  Request* first_refused_ = nullptr;
};

}  // namespace tenon
