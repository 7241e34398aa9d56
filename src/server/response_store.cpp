#include "response_store.h"

#include <utility>

namespace tenon_http {
namespace {

/// What a value takes in memory, for each byte of its text at most: 16 for a value of two bytes.
constexpr uint64_t kBytesOfText = 8;

uint64_t bytes_of(const StoredResponse& response) {
  return (to_text(response.items).size() + to_text(response.response).size()) * kBytesOfText;
}

}  // namespace

void ResponseStore::add(const std::string& id, StoredResponse response) {
  const uint64_t bytes = bytes_of(response);
  if (bytes > limit_bytes_) return;
  auto shared = std::make_shared<const StoredResponse>(std::move(response));
  const std::lock_guard lock(mutex_);
  while (held_bytes_ + bytes > limit_bytes_) drop(std::prev(entries_.end()));
  entries_.push_front({id, std::move(shared), bytes});
  by_id_[id] = entries_.begin();
  held_bytes_ += bytes;
}

void ResponseStore::drop(Entries::iterator entry) {
  held_bytes_ -= entry->bytes;
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

std::shared_ptr<const StoredResponse> ResponseStore::find(const std::string& id,
                                                          const std::string& owner) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || found->second->response->owner != owner) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->response;
}

bool ResponseStore::remove(const std::string& id, const std::string& owner) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || found->second->response->owner != owner) return false;
  drop(found->second);
  return true;
}

}  // namespace tenon_http
