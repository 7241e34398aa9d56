#include "server/work/long_tasks.h"

#include <algorithm>
#include <utility>

namespace tenon_http {

void LongTasks::add_lanes(size_t count) {
  std::list<Lane> more;
  for (; count > 0; --count) {
    Lane& lane = more.emplace_back();
    lane.task = std::make_shared<Task>([this, &lane] { run(lane); });
  }
  const std::lock_guard lock(mutex_);
  lanes_.splice(lanes_.end(), more);
  fill_lanes();
}

void LongTasks::post(const std::string& client, Step step) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  auto found = std::find_if(clients_.begin(), clients_.end(),
                            [&](const Client& one) { return one.name == client; });
  const bool is_new = found == clients_.end();
  if (is_new) found = clients_.insert(clients_.end(), Client{client});
  try {
    found->waiting.push_back(std::move(step));
  } catch (...) {
    if (is_new) clients_.erase(found);
    throw;
  }
  fill_lanes();
}

/// Posts a lane per client that can run. The caller holds the lock.
void LongTasks::fill_lanes() noexcept {
  const auto num_ready = std::count_if(clients_.begin(), clients_.end(), [](const Client& one) {
    return !one.runs && !one.waiting.empty();
  });
  // Count busy lanes that have not chosen a client yet. If lanes are short, the end of a step posts
  // one.
  const auto num_choosing =
      std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.is_busy; }) -
      std::count_if(clients_.begin(), clients_.end(), [](const Client& one) { return one.runs; });
  auto wanted = num_ready - num_choosing;
  for (Lane& lane : lanes_) {
    if (wanted <= 0) return;
    if (std::exchange(lane.is_busy, true)) continue;
    threads_.post(lane.task);
    --wanted;
  }
}

void LongTasks::run(Lane& lane) noexcept {
  std::unique_lock lock(mutex_);
  const auto next = std::find_if(clients_.begin(), clients_.end(), [](const Client& one) {
    return !one.runs && !one.waiting.empty();
  });
  if (next == clients_.end()) {
    lane.is_busy = false;
    return;
  }
  // Move the client to the end of the queue.
  clients_.splice(clients_.end(), clients_, next);
  next->runs = true;
  Step& step = next->waiting.front();  // stays in the list
  lock.unlock();
  bool has_more = false;
  if (!fenced([&] { has_more = step(); })) has_more = false;
  lock.lock();
  next->runs = false;
  Step ended;  // destroyed after unlocking, like the dropped steps
  std::list<Step> dropped;
  if (!has_more) {
    ended.swap(step);
    next->waiting.pop_front();
  }
  if (is_stopped_) dropped.swap(next->waiting);
  if (next->waiting.empty()) clients_.erase(next);
  lane.is_busy = false;
  fill_lanes();
  lock.unlock();
}

void LongTasks::stop() noexcept {
  std::list<Client> dropped;  // destroyed after unlocking
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  for (auto client = clients_.begin(); client != clients_.end();) {
    const auto next = std::next(client);
    if (!client->runs) dropped.splice(dropped.end(), clients_, client);
    client = next;
  }
}

size_t LongTasks::num_waiting() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const Client& client : clients_) count += client.waiting.size();
  return count;
}

}  // namespace tenon_http
