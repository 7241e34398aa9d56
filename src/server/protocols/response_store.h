// Responses that clients may come back to: what "previous_response_id" goes on from. In memory, up to a
// limit; the one unused longest goes.
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

/// Any thread.
class ResponseStore {
 public:
  explicit ResponseStore(uint64_t limit_bytes) : responses_(limit_bytes) {}

  /// Keeps it if the limit allows.
  void add(const std::string& id, StoredResponse response);
  /// Null when there is none of that owner.
  [[nodiscard]] std::shared_ptr<const StoredResponse> find(const std::string& id,
                                                           const std::string& owner);
  /// Whether there was one.
  bool remove(const std::string& id, const std::string& owner);

 private:
  std::mutex mutex_;
  RecentEntries<std::shared_ptr<const StoredResponse>> responses_;  ///< by their ids
};

}  // namespace tenon_http
