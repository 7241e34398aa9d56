// Models by reference: found on this machine, or pulled. Joins listing, choice, downloads and
// caches.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/other_caches.h"
#include "hub/settings.h"

namespace tenon::hub {

/// Any thread; calls run side by side, also those of other processes.
class Hub {
 public:
  /// Throws Argument for invalid settings.
  explicit Hub(Settings settings);

  using Report = std::function<bool(const Progress&)>;

  /// The model on this machine, without asking anybody. Throws State if it is not there.
  [[nodiscard]] Model find(std::string_view reference) const;
  /// Fetches what is missing and returns the model. report: returns true to cancel. Throws
  /// Cancelled, Argument (not found, no access, not the name of a model), Io, Format, Limit, State
  /// (offline and not there), Unsupported (no libcurl; files of other kinds).
  Model pull(std::string_view reference, const Report& report);
  [[nodiscard]] std::vector<Model> list() const;
  /// Removes what was pulled under a reference; returns the bytes freed. Throws Argument for models
  /// of other programs, State for what is not there, Busy for what is being fetched.
  uint64_t remove(std::string_view reference);
  /// Ends the running pulls of this object, from any thread; it then takes no more (Cancelled).
  void cancel() { is_cancelled_ = true; }

 private:
  Model pull_from_hub(const Reference& reference, const Report& report);
  Model pull_url(const Reference& reference, const Report& report);
  [[nodiscard]] Model find_in_cache(const Reference& reference) const;
  [[nodiscard]] Model find_url(const Reference& reference) const;
  [[nodiscard]] std::string url_folder_of(const std::string& url) const;
  [[nodiscard]] std::string url_lock(const std::string& name, const std::string& file) const;
  uint64_t remove_url(const Reference& reference);

  Settings settings_;
  std::atomic<bool> is_cancelled_{false};
};

}  // namespace tenon::hub
