// The models by their names: those of the host, which are always there, and those of files, which are
// loaded when a request wants them and go when others need their memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/http/exchange.h"
#include "server/operations/server_log.h"
#include "server/registry/model_file.h"
#include "server/registry/served_model.h"
#include "server/work/condition.h"

namespace tenon_http {

/// A request's model is being loaded: the request is understood anew when that has ended.
struct ModelNotReady {
  std::string name;
};

struct ModelView {
  std::string name;
  int64_t created = 0;   ///< seconds since 1970
  uint64_t context = 0;  ///< most tokens of a text
  bool is_of_file = false;
  const char* state = "loaded";                 ///< or "unloaded", "loading"
  uint64_t memory_bytes = 0;                    ///< of a file; 0: not known
  std::shared_ptr<const ServedModel> served{};  ///< null while it is not loaded
};

/// Any thread, but add() before the server runs.
class ModelRegistry {
 public:
  /// budget_bytes: of all models of files that are loaded at a time; 0: any.
  ModelRegistry(uint64_t budget_bytes, Tasks& workers, ServerLog log)
      : budget_bytes_(budget_bytes), workers_(workers), log_(log) {}
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  /// Throw ApiError when the name is taken, and the latter when the model alone is beyond the budget.
  void add(std::unique_ptr<ServedModel> model);
  void add(std::string name, ModelFile file);

  /// The model of that name; of the only one when `name` is null. Who holds it keeps it loaded. Throws
  /// ApiError 404, and ModelNotReady after it has begun to load it.
  std::shared_ptr<const ServedModel> use(const std::string* name);
  /// Calls `then` when the model is loaded, with null, or with why it cannot be. On some thread.
  void when_ready(const std::string& name, std::function<void(std::exception_ptr)> then);
  /// Makes room: throws ApiError 409 while a request uses it, 404.
  void unload(const std::string& name);

  [[nodiscard]] std::vector<ModelView> views() const;
  /// Throws ApiError 404.
  [[nodiscard]] ModelView view(const std::string& name) const;

  /// For a thread that computes for the model of that number while it is loaded: waits for its engine;
  /// null when the server stops. Each return of an engine is followed by leave_engine().
  [[nodiscard]] std::shared_ptr<const ServedModel> wait_for_engine(size_t index);
  void leave_engine(size_t index);
  /// Whether it has an engine that the server computes, now or once it is loaded.
  [[nodiscard]] bool computes(size_t index) const;
  [[nodiscard]] size_t size() const { return entries_.size(); }

  /// Ends computing and loading.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : uint8_t { Unloaded, Loading, Loaded, Leaving };
  struct Entry {
    std::string name;
    int64_t created = 0;
    uint64_t context = 0;
    std::unique_ptr<ModelFile> file{};  ///< null: the host's
    State state = State::Loaded;
    std::shared_ptr<const ServedModel> served{};
    Clock::time_point last_use{};
    bool has_thread = false;       ///< a thread uses its engine
    std::shared_ptr<Task> load{};  ///< loads the file; allocated ahead
    std::vector<std::function<void(std::exception_ptr)>> waiting{};
  };

  Entry& find(const std::string& name);
  [[nodiscard]] const Entry& find(const std::string& name) const;
  void check_name(const std::string& name) const;
  [[nodiscard]] static ModelView view_of(const Entry& entry);
  [[nodiscard]] uint64_t used_bytes() const;
  void load(Entry& entry);
  void make_room(Entry& entry, std::unique_lock<std::mutex>& lock);
  void unload(Entry& entry, std::unique_lock<std::mutex>& lock);
  static bool is_idle(const Entry& entry);

  const uint64_t budget_bytes_;
  Tasks& workers_;
  const ServerLog log_;
  mutable std::mutex mutex_;
  Condition changed_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace tenon_http
