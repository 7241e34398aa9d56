// Registry of models by name. The host's models stay; models of files are loaded on demand and
// evicted when others need their memory.
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

/// Thrown while a request's model is loading; the request restarts when the load ends.
struct ModelNotReady {
  std::string name;
};

struct ModelView {
  std::string name;
  int64_t created = 0;   ///< seconds since 1970
  uint64_t context = 0;  ///< context length in tokens
  bool is_of_file = false;
  const char* state = "loaded";                 ///< "loaded", "unloaded" or "loading"
  uint64_t memory_bytes = 0;                    ///< memory of a model file; 0 if unknown
  std::shared_ptr<const ServedModel> served{};  ///< null if not loaded
};

/// Thread-safe, except that add() must precede the server's run.
class ModelRegistry {
 public:
  /// budget_bytes: for all loaded models of files together; 0 means unlimited.
  ModelRegistry(uint64_t budget_bytes, Tasks& workers, ServerLog log)
      : budget_bytes_(budget_bytes), workers_(workers), log_(log) {}
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  /// Throw ApiError if the name is taken, or if a model file alone exceeds the budget.
  void add(std::unique_ptr<ServedModel> model);
  void add(std::string name, ModelFile file);

  /// Model of that name, or the only model if `name` is null. The returned pointer keeps the model
  /// loaded. Throws ApiError 404. Starts loading an unloaded model and throws ModelNotReady.
  std::shared_ptr<const ServedModel> use(const std::string* name);
  /// Calls `then` on any thread after loading: with null, or with the exception that prevented it.
  void when_ready(const std::string& name, std::function<void(std::exception_ptr)> then);
  /// Unloads a model. Throws ApiError 404, or 409 while a request uses the model.
  void unload(const std::string& name);

  [[nodiscard]] std::vector<ModelView> views() const;
  /// Throws ApiError 404.
  [[nodiscard]] ModelView view(const std::string& name) const;

  /// Waits until model number `index` is loaded and has an engine that the server computes; null
  /// when the server stops. Call leave_engine() after each engine returned. For computing threads.
  [[nodiscard]] std::shared_ptr<const ServedModel> wait_for_engine(size_t index);
  void leave_engine(size_t index);
  /// True if the server computes the model's engine, now or after loading.
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
    std::unique_ptr<ModelFile> file{};  ///< null for a model of the host
    State state = State::Loaded;
    std::shared_ptr<const ServedModel> served{};
    Clock::time_point last_use{};
    bool has_thread = false;       ///< a thread is using the engine
    std::shared_ptr<Task> load{};  ///< loads the file; allocated in advance
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
