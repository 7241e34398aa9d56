// Scheduler: the order of requests and the picking of slices (docs/inside/engine.md).
#include "engine/scheduler.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

/// Most idle clients kept, so that their service counts when they return.
constexpr size_t kMaxIdleClients = 4096;

/// Most requests deferred in a step, for lack of room or because others compute the same. No other
/// request begins after that: with thousands queued, the search would outlast the step.
constexpr uint32_t kMaxPutOff = 32;

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options) : options_(options) {
  picks_.reserve(options_.step_tokens);
  reserve_works(std::min(options_.step_tokens, 1024u));
}

void Scheduler::reserve_works(size_t count) {
  lenders_.reserve(count);
  had_seat_.reserve(count);
  decodes_.reserve(count);
}

Scheduler::~Scheduler() { assert(empty()); }

Client& Scheduler::client(std::string_view key, double weight) {
  auto at = clients_.find(key);
  if (at == clients_.end()) {
    if (clients_.size() >= kMaxIdleClients) forget_idle_clients();
    at = clients_.try_emplace(std::string(key)).first;
  }
  at->second.weight = weight;
  return at->second;
}

void Scheduler::forget_idle_clients() {
  std::erase_if(clients_, [](const auto& entry) { return entry.second.num_works == 0; });
}

void Scheduler::add(Work& work, uint64_t now_ns) {
  if (work.bounded) {
    if (num_queued_ >= options_.max_queued) {
      fail(Code::Busy, "engine: {} requests are waiting, the limit is {}", num_queued_,
           options_.max_queued);
    }
    if (work.num_left > options_.max_queued_tokens - queued_tokens_) {
      fail(Code::Busy, "engine: {} tokens are waiting, {} more pass the limit of {}",
           queued_tokens_, work.num_left, options_.max_queued_tokens);
    }
  }
  // Reserved so that a pick does not allocate.
  if (decodes_.capacity() <= num_works_) reserve_works(2 * num_works_ + 16);
  Client& client = *work.client;
  Client::Class& of_priority = client.classes[work.priority];
  if (client.num_works++ == 0) client.served = std::max(client.served, served_floor_);
  if (of_priority.num_works++ == 0) of_priority = {&client, work.priority, 1, now_ns};
  work.class_ = &of_priority;
  work.arrival_ = ++num_arrived_;
  work.place_ = Work::Place::Waiting;
  work.begun_ = false;
  work.looked_at_ = 0;
  work.seat_asked_ = 0;
  work.vain_take_ = 0;
  work.held_since_ = 0;
  if (work.bounded) {
    ++num_queued_;
    queued_tokens_ += work.queued_left_ = work.num_left;
  }
  work.previous_ = last_;
  work.next_ = nullptr;
  (last_ != nullptr ? last_->next_ : first_) = &work;
  last_ = &work;
  ++num_works_;
}

void Scheduler::remove(Work& work) noexcept {
  if (work.place_ == Work::Place::Out) return;
  unseat(work);
  note_return(work);
  if (work.bounded && !work.begun_) {
    --num_queued_;
    queued_tokens_ -= work.queued_left_;
  }
  (work.previous_ != nullptr ? work.previous_->next_ : first_) = work.next_;
  (work.next_ != nullptr ? work.next_->previous_ : last_) = work.previous_;
  --num_works_;
  work.place_ = Work::Place::Out;
  Client& client = *work.client;
  // A client's default class stays, so single tokens come and go without allocation.
  if (--work.class_->num_works == 0 && work.priority != 0) client.classes.erase(work.priority);
  --client.num_works;
  std::erase_if(picks_, [&work](const Pick& pick) { return pick.work == &work; });
}

int64_t Scheduler::aged(const Client::Class& of_priority) const {
  const uint64_t since = of_priority.last_served_ns;
  const uint64_t waited_ns = now_ns_ > since ? now_ns_ - since : 0;
  const uint64_t levels = options_.ageing_ns == 0 ? 0 : waited_ns / options_.ageing_ns;
  return of_priority.priority + static_cast<int64_t>(std::min<uint64_t>(levels, 4 * kMaxPriority));
}

bool Scheduler::goes_before(const Work& a, const Work& b) {
  if (a.class_->level != b.class_->level) return a.class_->level > b.class_->level;
  if (a.client != b.client && a.client->served != b.client->served) {
    return a.client->served < b.client->served;
  }
  return a.arrival_ < b.arrival_;
}

bool Scheduler::ranks_below(const Work& a, const Work& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  return a.arrival_ > b.arrival_;
}

/// True if `a`, after taking a seat from `b`, would hold at most as many seats per weight as `b`.
/// The reverse is false then, so no seat moves back and forth.
bool Scheduler::holds_less(const Client& a, const Client& b) {
  const auto seats_of_a = static_cast<double>(a.num_running + 1);
  return &a != &b && seats_of_a / a.weight < static_cast<double>(b.num_running) / b.weight;
}

/// True if `b` may take memory from `a`. At equal priority, evict unseated requests first, then
/// requests of the client with more seats, then the youngest.
bool Scheduler::gives_way(const Work& a, const Work& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  const auto was_unseated = [](const Work& work) {
    return work.begun_ && work.place_ == Work::Place::Waiting;
  };
  if (was_unseated(a) != was_unseated(b)) return was_unseated(a);
  if (holds_less(*b.client, *a.client)) return true;
  if (holds_less(*a.client, *b.client)) return false;
  return a.arrival_ > b.arrival_;
}

std::span<const Pick> Scheduler::pick(uint64_t now_ns, uint32_t step_tokens, uint32_t beside_tokens,
                                      WorkMemory& memory, uint32_t alone_tokens) {
  memory_ = &memory;
  now_ns_ = now_ns;
  room_ = std::min(step_tokens, options_.step_tokens);
  picks_.clear();
  ++num_picks_;
  num_put_off_ = 0;
  double floor = std::numeric_limits<double>::infinity();
  bool steps_under_way = false;
  for (const Work* work = first_; work != nullptr; work = work->next_) {
    floor = std::min(floor, work->client->served);
    steps_under_way = steps_under_way || memory.is_under_way(*work);
    work->class_->level = aged(*work->class_);
  }
  if (first_ != nullptr) served_floor_ = std::max(served_floor_, floor);
  const uint64_t num_works = num_works_;
  share_seats();
  pick_decodes();
  pick_prompts(beside_tokens, alone_tokens);
  if (picks_.empty() && num_works_ == num_works && first_ != nullptr && !steps_under_way) {
    pick_against_the_order();
  }
  return picks_;
}

void Scheduler::share_seats() {
  for (uint32_t i = 0; i < kMaxPutOff; ++i) {
    Work* work = next_to_seat();
    if (work == nullptr) return;
    work->seat_asked_ = num_picks_;
    if (memory_->refresh(*work)) seat(*work);
  }
}

/// First waiting request whose client holds less than its share while another holds more.
Work* Scheduler::next_to_seat() {
  const Client* fullest = nullptr;
  for (const Work* work = first_; work != nullptr; work = work->next_) {
    if (work->place_ != Work::Place::Running || work->client->num_running < 2) continue;
    const auto seats = static_cast<double>(work->client->num_running);
    if (fullest == nullptr || seats / work->client->weight >
                                  static_cast<double>(fullest->num_running) / fullest->weight) {
      fullest = work->client;
    }
  }
  if (fullest == nullptr) return nullptr;
  Work* best = nullptr;
  for (Work* work = first_; work != nullptr; work = work->next_) {
    if (work->place_ != Work::Place::Waiting || work->seat_asked_ == num_picks_) continue;
    if (work->vain_take_ != 0 || !holds_less(*work->client, *fullest)) continue;
    if (best == nullptr || goes_before(*work, *best)) best = work;
  }
  return best;
}

/// Gives the request a seat and memory, taken from clients above their share. Takes nothing if all
/// of that would not suffice.
void Scheduler::seat(Work& work) {
  // The request begins in the usual order if nothing need be taken.
  if (has_seat() && memory_->fits(work)) return;
  Work* const seated = has_seat() ? nullptr : find_seat(work, false);
  if (!has_seat() && seated == nullptr) return;
  if (seated != nullptr) unseat(*seated);
  bool has_dropped = false;
  while (!memory_->fits(work)) {
    if (!find_lenders(work)) {
      if (seated != nullptr && !has_dropped) begin(*seated);
      if (seated != nullptr && has_dropped) ++num_preempted_;
      if (has_dropped) give_up_take(work);
      return;
    }
    for (size_t i = 0; i < lenders_.size(); ++i) {
      if (memory_->fits(work)) {
        if (had_seat_[i]) begin(*lenders_[i]);
        continue;
      }
      has_dropped = true;
      if (had_seat_[i]) ++num_preempted_;
      lenders_[i]->looked_at_ = num_picks_;
      drop(*lenders_[i]);
    }
  }
  // Rows of the request that lost its seat stay until their memory is needed.
  if (seated != nullptr) {
    ++num_preempted_;
    seated->looked_at_ = num_picks_;
  }
  begin(work);
}

/// Unseats requests whose memory together would suffice for `work`. Returns false and restores all
/// seats if they hold too little.
bool Scheduler::find_lenders(const Work& work) {
  lenders_.clear();
  had_seat_.clear();
  const auto lend = [this](Work& from) {
    lenders_.push_back(&from);
    had_seat_.push_back(from.place_ == Work::Place::Running);
    unseat(from);
  };
  for (Work* from = last_; from != nullptr; from = from->previous_) {
    const bool was_unseated = from->begun_ && from->place_ == Work::Place::Waiting;
    if (!was_unseated || from == &work || from->priority > work.priority) continue;
    if (!memory_->holds(*from)) continue;
    lend(*from);
    if (memory_->fits_without(work, lenders_)) return true;
  }
  while (Work* from = find_seat(work, true)) {
    lend(*from);
    if (memory_->fits_without(work, lenders_)) return true;
  }
  for (size_t i = 0; i < lenders_.size(); ++i) {
    if (had_seat_[i]) begin(*lenders_[i]);
  }
  return false;
}

/// Notes that the request exceeds its share, which showed only after others had lost memory. It
/// waits for a request that holds the missing memory, so that it does not unseat the others again
/// and again.
void Scheduler::give_up_take(Work& work) {
  work.vain_take_ = ++num_vain_takes_;
  for (Work* other = first_; other != nullptr; other = other->next_) {
    if (other == &work || other->held_since_ != 0 || !memory_->holds(*other)) continue;
    other->held_since_ = num_vain_takes_;
  }
}

void Scheduler::drop(Work& work) noexcept {
  note_return(work);
  memory_->drop(work);
}

/// Lets requests take again that lacked memory while `work` held some.
void Scheduler::note_return(Work& work) noexcept {
  const uint64_t since = std::exchange(work.held_since_, 0);
  if (since == 0) return;
  for (Work* other = first_; other != nullptr; other = other->next_) {
    if (other->vain_take_ >= since) other->vain_take_ = 0;
  }
}

/// Lowest request of the fullest client above its share.
Work* Scheduler::find_seat(const Work& work, bool for_memory) {
  Work* lowest = nullptr;
  for (Work* other = first_; other != nullptr; other = other->next_) {
    if (other->place_ != Work::Place::Running || other->priority > work.priority) continue;
    if (other->client->num_running < 2 || !holds_less(*work.client, *other->client)) continue;
    if (for_memory && !memory_->holds(*other)) continue;
    if (lowest == nullptr || gives_way(*other, *lowest)) lowest = other;
  }
  return lowest;
}

void Scheduler::pick_against_the_order() {
  // Breaks a deadlock: running requests wait for memory of a request that may not run before they
  // end.
  Work* best = nullptr;
  for (Work* work = first_; work != nullptr; work = work->next_) {
    if (work->num_left == 0 || memory_->is_elsewhere(*work)) continue;
    const bool runs = work->place_ == Work::Place::Running;
    const bool best_runs = best != nullptr && best->place_ == Work::Place::Running;
    if (best == nullptr || (runs != best_runs ? runs : ranks_below(*best, *work))) best = work;
  }
  if (best == nullptr || !memory_->refresh(*best)) return;
  against_the_order_ = true;
  const auto num_tokens = static_cast<uint32_t>(std::min<uint64_t>(best->num_left, room_));
  try_pick(*best, memory_->most_tokens(*best, num_tokens));
  against_the_order_ = false;
}

void Scheduler::pick_decodes() {
  decodes_.clear();
  for (Work* work = first_; work != nullptr; work = work->next_) {
    if (work->is_decode()) decodes_.push_back(work);
  }
  std::sort(decodes_.begin(), decodes_.end(),
            [](const Work* a, const Work* b) { return goes_before(*a, *b); });
  for (Work* work : decodes_) {
    if (room_ == 0) return;
    if (work->looked_at_ == num_picks_) continue;  // unseated in this pick
    work->looked_at_ = num_picks_;
    // May have been preempted for another request.
    if (!work->is_decode() || !may_begin(*work)) continue;
    if (work->num_left == 1) {
      try_pick(*work, 1);
    } else {
      const auto num_tokens = static_cast<uint32_t>(std::min<uint64_t>(work->num_left, room_));
      try_pick(*work, memory_->most_tokens(*work, num_tokens));
    }
  }
}

uint32_t Scheduler::filled(uint32_t beside_tokens) const {
  const auto decodes = static_cast<uint32_t>(picks_.size());
  const uint32_t tile = std::max(options_.tile_tokens, 1u);
  const uint32_t wanted = std::min(decodes + beside_tokens, options_.step_tokens);
  uint32_t total = (wanted + tile / 2) / tile * tile;
  if (total < decodes + (tile + 1) / 2) total += tile;
  return total - decodes;
}

void Scheduler::pick_prompts(uint32_t beside_tokens, uint32_t alone_tokens) {
  // Never more than alone, however large the device's tiles.
  room_ = std::min({room_, alone_tokens, picks_.empty() ? UINT32_MAX : filled(beside_tokens)});
  while (room_ > 0) {
    Work* work = next_prompt();
    if (work == nullptr) return;
    work->looked_at_ = num_picks_;
    if (!memory_->refresh(*work) || !may_begin(*work)) {
      ++num_put_off_;
      continue;
    }
    const auto num_tokens = static_cast<uint32_t>(std::min<uint64_t>(work->num_left, room_));
    if (num_tokens > 0) try_pick(*work, memory_->most_tokens(*work, num_tokens));
  }
}

bool Scheduler::lets_begin() const { return has_seat() && num_put_off_ < kMaxPutOff; }

Work* Scheduler::next_prompt() const {
  Work* best = nullptr;
  for (Work* work = first_; work != nullptr; work = work->next_) {
    if (work->looked_at_ == num_picks_ || memory_->is_elsewhere(*work)) continue;
    if (work->place_ == Work::Place::Waiting && !lets_begin()) continue;
    if (best == nullptr || goes_before(*work, *best)) best = work;
  }
  return best;
}

bool Scheduler::may_begin(const Work& work) {
  if (work.place_ == Work::Place::Running) return true;
  if (!lets_begin()) return false;
  if (memory_->fits(work)) return true;
  // Starting a request that does not fit would make it and the others preempt each other in turn.
  // The exception is a request that others must give way to, or one with none to wait for.
  bool others = false;
  uint64_t num_to_see = num_running_;
  for (const Work* other = first_; other != nullptr && num_to_see > 0; other = other->next_) {
    if (other->place_ != Work::Place::Running) continue;
    --num_to_see;
    if (!memory_->holds(*other)) continue;
    if (other->priority < work.priority) return true;
    others = true;
  }
  return !others;
}

bool Scheduler::try_pick(Work& work, uint32_t num_tokens) {
  for (;;) {
    const WorkMemory::Room room = memory_->reserve(work, num_tokens);
    if (room == WorkMemory::Room::Reserved) {
      begin(work);
      picks_.push_back({&work, num_tokens});
      room_ -= num_tokens;
      charge(work, num_tokens);
      return true;
    }
    if (room == WorkMemory::Room::None) {
      if (Work* victim = find_victim(work); victim != nullptr) {
        preempt(*victim);
        continue;
      }
      // A request ranked above it will end, or be preempted by one ranked higher still.
      if (others_hold(work)) return false;
    }
    if (memory_->is_under_way(work)) return false;
    remove(work);
    memory_->refuse(work);
    return false;
  }
}

Work* Scheduler::find_victim(const Work& work) {
  Work* lowest = nullptr;
  for (Work* other = first_; other != nullptr; other = other->next_) {
    if (other == &work || !memory_->holds(*other)) continue;
    if (!against_the_order_ && !gives_way(*other, work)) continue;
    if (lowest == nullptr || gives_way(*other, *lowest)) lowest = other;
  }
  return lowest;
}

bool Scheduler::others_hold(const Work& work) {
  for (const Work* other = first_; other != nullptr; other = other->next_) {
    if (other != &work && memory_->holds(*other)) return true;
  }
  return false;
}

void Scheduler::preempt(Work& work) noexcept {
  for (const Pick& pick : picks_) {
    if (pick.work == &work) {
      take_back(pick);
      room_ += pick.num_tokens;
    }
  }
  std::erase_if(picks_, [&work](const Pick& pick) { return pick.work == &work; });
  unseat(work);
  work.looked_at_ = num_picks_;  // excluded from this step
  ++num_preempted_;
  drop(work);
}

void Scheduler::unseat(Work& work) noexcept {
  if (work.place_ != Work::Place::Running) return;
  work.place_ = Work::Place::Waiting;
  --num_running_;
  --work.client->num_running;
}

void Scheduler::begin(Work& work) noexcept {
  if (work.place_ == Work::Place::Running) return;
  work.place_ = Work::Place::Running;
  ++num_running_;
  ++work.client->num_running;
  if (work.begun_) return;
  work.begun_ = true;
  if (work.bounded) {
    --num_queued_;
    queued_tokens_ -= work.queued_left_;
  }
}

void Scheduler::charge(const Work& work, uint32_t num_tokens) noexcept {
  work.client->served += num_tokens / work.client->weight;
  work.class_->last_served_ns = now_ns_;
  work.class_->level = work.priority;
}

void Scheduler::take_back(const Pick& pick) noexcept {
  pick.work->client->served -= pick.num_tokens / pick.work->client->weight;
}

}  // namespace tenon
