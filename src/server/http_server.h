// Server: models, sockets, and the threads that work.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/http/http_loop.h"
#include "server/http/local_exchange.h"
#include "server/router.h"
#include "server/work/condition.h"
#include "server/work/task_queue.h"

namespace tenon_http {

struct ServerOptions {
  HttpLimits http = HttpLimits();
  ServerLimits limits{};
  std::vector<ApiClient> clients{};
  uint64_t memory_bytes = 0;  ///< budget of all models loaded from files; 0 means unlimited
  ServerLog log{nullptr, nullptr, 0};
  std::string otlp_address{};  ///< address of an OpenTelemetry collector; "" for none
};

class HttpServer {
 public:
  explicit HttpServer(ServerOptions options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Stops without waiting for answers.
  ~HttpServer();

  /// Call before run(). Throws ApiError if the name is taken.
  void add(std::unique_ptr<ServedModel> model) { state_.models->add(std::move(model)); }
  void add(std::string name, ModelFile file) {
    state_.models->add(std::move(name), std::move(file));
  }
  /// Thread-safe; errors as the registry's.
  void add_adapter(const std::string* model, ServedAdapter adapter) {
    state_.models->add_adapter(model, std::move(adapter));
  }
  void remove_adapter(const std::string& name) { state_.models->remove_adapter(name); }
  /// Call before run(). Returns the port. Throws ListenError.
  uint16_t listen_tcp(const std::string& host, uint16_t port);
  void listen_unix(const std::string& path);

  /// Submits a request of the host, answered once the server runs. Thread-safe. Throws tenon::Error
  /// STATE after stop().
  std::shared_ptr<LocalExchange> submit(HttpRequest request, std::function<void()> notify);

  /// Lends the calling thread until stop(). The first thread serves the sockets, the next ones
  /// compute, one per engine, and all others parse and prepare. With fewer threads, the first takes
  /// over the missing roles.
  void run();
  /// Starts threads that call run(). num_threads: 0 means one for the sockets, one per engine and
  /// three for preparation.
  void start(uint32_t num_threads);
  /// Refuses new requests, waits up to `seconds` for running ones, then cancels the rest. Returns
  /// when all threads have left. Allocates nothing.
  void stop(double seconds) noexcept;

 private:
  enum class Work : uint8_t { Loop, Engine, Prepare };
  struct Seat {
    Work task = Work::Prepare;
    size_t model = 0;
  };

  Seat take_seat();
  void compute_on_loop(const ServedModel& model);
  void compute(size_t model);
  [[nodiscard]] bool has_thread(const ServedModel& model);
  void finish() noexcept;
  void leave_seat() noexcept;
  void add_lane() noexcept;

  HttpLoop loop_;
  LocalExchanges local_{loop_};
  TaskQueue workers_;
  LongTasks long_tasks_{workers_};
  /// Loads one model at a time, on a lane.
  class Loads : public Tasks {
   public:
    explicit Loads(HttpServer& server) : server_(server) {}
    using Tasks::post;
    void post(std::shared_ptr<tenon_http::Task> task) noexcept override;

   private:
    HttpServer& server_;
  };
  Loads loads_{*this};
  size_t num_preparing_ = 0;                ///< number of preparing threads
  std::shared_ptr<SpanExporter> exporter_;  ///< may be null
  ServerState state_;
  std::mutex mutex_;
  Condition changed_;
  bool has_loop_ = false;
  std::set<size_t> computed_;  ///< numbers of models whose engine has a thread
  std::set<std::string> computed_names_;
  size_t num_seats_taken_ = 0;
  bool is_finished_ = false;
  std::mutex threads_mutex_;  ///< held while threads are started or joined
  std::vector<std::thread> threads_;
  size_t num_begun_ = 0;  ///< started threads of threads_; guarded by mutex_
  // Allocated in advance, like the next tasks, so that a stop allocates nothing.
  std::shared_ptr<Task> finish_;
  std::shared_ptr<Task> drain_local_;
  std::shared_ptr<Task> drain_;
  std::shared_ptr<Task> cancel_;
  std::shared_ptr<Task> drop_;
};

}  // namespace tenon_http
