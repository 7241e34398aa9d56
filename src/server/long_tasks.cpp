#include "long_tasks.h"

#include <algorithm>
#include <utility>

namespace tenon_http {

void LongTasks::set_lanes(size_t lanes) {
  std::unique_lock lock(mutex_);
  lanes_ = std::max<size_t>(lanes, 1);
  fill_lanes(lock);
}

void LongTasks::post(const std::string& client, Step step) {
  std::unique_lock lock(mutex_);
  if (is_stopped_) return;
  auto found = std::find_if(clients_.begin(), clients_.end(),
                            [&](const Client& one) { return one.name == client; });
  if (found == clients_.end()) found = clients_.insert(clients_.end(), Client{client});
  found->waiting.push_back(std::move(step));
  fill_lanes(lock);
}

/// Posts as many runners as can do something.
void LongTasks::fill_lanes(std::unique_lock<std::mutex>& lock) {
  const size_t busy = static_cast<size_t>(
      std::count_if(clients_.begin(), clients_.end(), [](const Client& one) { return one.runs; }));
  const size_t idle = clients_.size() - busy;
  // Some of the runners have yet to choose.
  const size_t choosing = num_runners_ - std::min(num_runners_, busy);
  size_t wanted =
      std::min(idle - std::min(idle, choosing), lanes_ - std::min(lanes_, num_runners_));
  num_runners_ += wanted;
  lock.unlock();
  for (; wanted > 0; --wanted) threads_.post([this] { run(); });
  lock.lock();
}

void LongTasks::run() {
  std::unique_lock lock(mutex_);
  const auto next = std::find_if(clients_.begin(), clients_.end(), [](const Client& one) {
    return !one.runs && !one.waiting.empty();
  });
  if (next == clients_.end()) {
    --num_runners_;
    return;
  }
  // The others come before it again.
  clients_.splice(clients_.end(), clients_, next);
  next->runs = true;
  Step step = std::move(next->waiting.front());
  next->waiting.pop_front();
  lock.unlock();
  const bool has_more = step();
  if (!has_more) step = nullptr;
  lock.lock();
  next->runs = false;
  if (has_more && !is_stopped_) next->waiting.push_front(std::move(step));
  if (next->waiting.empty()) clients_.erase(next);
  --num_runners_;
  fill_lanes(lock);
  lock.unlock();
}

void LongTasks::stop() {
  std::list<std::deque<Step>> dropped;
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  for (auto client = clients_.begin(); client != clients_.end();) {
    dropped.push_back(std::move(client->waiting));
    client->waiting.clear();
    client = client->runs ? std::next(client) : clients_.erase(client);
  }
}

size_t LongTasks::num_waiting() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const Client& client : clients_) count += client.waiting.size();
  return count;
}

}  // namespace tenon_http
