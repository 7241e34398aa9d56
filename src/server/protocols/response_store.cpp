#include "server/protocols/response_store.h"

#include <utility>

namespace tenon_http {
namespace {

uint64_t bytes_of(const StoredResponse& response) {
  return response.items.size() + response.response.size();
}

auto is_of(const std::string& owner) {
  return [&owner](const std::shared_ptr<const StoredResponse>& one) { return one->owner == owner; };
}

}  // namespace

void ResponseStore::add(const std::string& id, StoredResponse response) {
  const uint64_t bytes = bytes_of(response);
  auto shared = std::make_shared<const StoredResponse>(std::move(response));
  const std::lock_guard lock(mutex_);
  responses_.add(id, std::move(shared), bytes);
}

std::shared_ptr<const StoredResponse> ResponseStore::find(const std::string& id,
                                                          const std::string& owner) {
  const std::lock_guard lock(mutex_);
  const auto* const found = responses_.find(id, is_of(owner));
  return found == nullptr ? nullptr : *found;
}

bool ResponseStore::remove(const std::string& id, const std::string& owner) {
  const std::lock_guard lock(mutex_);
  return responses_.remove(id, is_of(owner));
}

}  // namespace tenon_http
