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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/http/exchange.h"
#include "server/operations/server_log.h"
#include "server/registry/model_file.h"
#include "server/registry/served_adapter.h"
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
  std::vector<ServedAdapter> adapters{};
};

/// What a request asks for.
struct ModelChoice {
  const std::string* name = nullptr;  ///< of a model or an adapter; null: the only model
  std::optional<std::vector<AdapterChoice>> adapters{};  ///< all others have the scale 0
  Share share = Share();                                 ///< client of the request
};

/// Thread-safe, except that add() must precede the server's run. Adapters come and go at any time.
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
  /// Model under the adapters of a request. Throws ApiError also for unknown and repeated adapters,
  /// and the errors of reading an adapter.
  std::shared_ptr<const ServedModel> use(const ModelChoice& choice);
  /// Calls `then` on any thread after loading: with null, or with the exception that prevented it.
  void when_ready(const std::string& name, std::function<void(std::exception_ptr)> then);
  /// Unloads a model. Throws ApiError 404, or 409 while a request uses the model.
  void unload(const std::string& name);

  /// Adds an adapter to the model of that name, or to the only one if `model` is null. Reads it if
  /// the model is loaded. Throws ApiError for a name that is taken, tenon::Error STATE for a model
  /// without slots, and the errors of reading. `id` and `created` of the adapter are set here.
  void add_adapter(const std::string* model, ServedAdapter adapter);
  /// Throws ApiError 404. Requests that have the adapter keep it.
  void remove_adapter(const std::string& name);
  /// Sets the scales of a model's adapters in requests that choose none. Throws ApiError for an
  /// unknown or repeated id; nothing changes then.
  void set_scales(const std::string* model, const std::vector<AdapterChoice>& scales);

  [[nodiscard]] std::vector<ModelView> views() const;
  /// Throws ApiError 404.
  [[nodiscard]] ModelView view(const std::string& name) const;
  /// The only model if `name` is null. Throws ApiError.
  [[nodiscard]] ModelView view(const std::string* name) const;

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
    std::vector<ServedAdapter> adapters{};
    uint32_t next_adapter = 0;
  };

  [[nodiscard]] Entry& find(const std::string& name) const;
  /// The only model if `name` is null. Throws ApiError.
  [[nodiscard]] Entry& find(const std::string* name) const;
  /// Model with the adapter of that name, and the adapter; null if there is none.
  [[nodiscard]] std::pair<Entry*, const ServedAdapter*> find_adapter(const std::string& name) const;
  [[nodiscard]] std::shared_ptr<const ServedModel> use(Entry& entry);
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
