// A hub with the folders, token and proxy of this user's environment, which the library does not
// read itself.
#pragma once

#include <tenon/hub.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon_program {

/// Facts about a model, copied from tenon_hub_model_info.
struct HubModel {
  std::string reference;
  std::string path;
  std::string projector;
  std::string source;
  std::string commit;
  std::string note;
  uint64_t size_bytes = 0;
  uint64_t num_files = 0;
  bool is_whole = true;
};

struct HubFlags {
  bool offline = false;
  uint32_t connections = 0;
  uint64_t memory_bytes = 0;
  uint64_t context = 0;
};

/// Throws Failure with the library's sentence.
class HubAccess {
 public:
  /// reference: decides which proxy of the environment counts; may be empty.
  HubAccess(const std::string& reference, const HubFlags& flags);

  /// The model on this machine; empty, with the reason, if it is not here. Throws Failure for an
  /// invalid reference.
  std::optional<HubModel> find(const std::string& reference, std::string& why) const;
  /// Fetches what is missing, with progress on a terminal. Throws Interrupted after Ctrl-C; what has
  /// arrived is kept.
  [[nodiscard]] HubModel pull(const std::string& reference) const;
  [[nodiscard]] std::vector<HubModel> list() const;
  /// Returns the bytes freed.
  [[nodiscard]] uint64_t remove(const std::string& reference) const;
  /// Also by HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE.
  [[nodiscard]] bool is_offline() const { return offline_; }

 private:
  bool offline_;
  std::unique_ptr<tenon_hub, void (*)(tenon_hub*)> hub_;
};

}  // namespace tenon_program
