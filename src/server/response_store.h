// Responses that clients may come back to: what "previous_response_id" goes on from. In memory, up to a
// limit; the one unused longest goes.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "json.h"

namespace tenon_http {

struct StoredResponse {
  std::string owner;  ///< the key of the client that asked
  Json items;         ///< of the conversation, the answer's included
  Json response;      ///< as it was answered
};

/// Any thread.
class ResponseStore {
 public:
  explicit ResponseStore(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Keeps it if the limit allows.
  void add(const std::string& id, StoredResponse response);
  /// Null when there is none of that owner.
  [[nodiscard]] std::shared_ptr<const StoredResponse> find(const std::string& id,
                                                           const std::string& owner);
  /// Whether there was one.
  bool remove(const std::string& id, const std::string& owner);

 private:
  struct Entry {
    std::string id;
    std::shared_ptr<const StoredResponse> response;
    uint64_t bytes = 0;
  };
  using Entries = std::list<Entry>;
  void drop(Entries::iterator entry);

  std::mutex mutex_;
  uint64_t limit_bytes_;
  uint64_t held_bytes_ = 0;
  Entries entries_;  ///< the one used last in front
  std::unordered_map<std::string, Entries::iterator> by_id_;
};

}  // namespace tenon_http
