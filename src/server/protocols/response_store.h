// Stored responses, which requests continue by "previous_response_id". In memory, with LRU eviction
// at a limit.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "server/work/recent_entries.h"

namespace tenon_http {

struct StoredResponse {
  std::string owner;      ///< key of the client
  std::string items;      ///< items of the conversation and the answer: a list, as text
  size_t num_output = 0;  ///< number of the answer's items
  std::string response;   ///< the response as sent
};

/// Thread-safe.
class ResponseStore {
 public:
  explicit ResponseStore(uint64_t limit_bytes) : responses_(limit_bytes) {}

  /// Ignored if the response alone exceeds the limit.
  void add(const std::string& id, StoredResponse response);
  /// Returns null if the owner has no such response.
  [[nodiscard]] std::shared_ptr<const StoredResponse> find(const std::string& id,
                                                           const std::string& owner);
  /// True if removed.
  bool remove(const std::string& id, const std::string& owner);

 private:
  std::mutex mutex_;
  RecentEntries<std::shared_ptr<const StoredResponse>> responses_;  ///< keyed by id
};

}  // namespace tenon_http
