#include "server/http_server.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace tenon_http {
namespace {

/// Time for clients to receive the cancellation after a stop.
constexpr double kCancelledSeconds = 0.5;
/// Time for logs and traces to leave after a stop.
constexpr auto kLastWords = std::chrono::milliseconds(500);

/// Allocates once, so that the calling thread gets its own malloc arena. A thread without an arena
/// could never allocate once memory is full.
void open_heap() noexcept {
  char* volatile memory = new (std::nothrow) char[1];
  delete[] memory;
}

}  // namespace

HttpServer::HttpServer(ServerOptions options)
    : loop_(
          std::move(options.http),
          [this](const HttpRequest& request) { return is_admitted(request, state_); },
          [this](const std::shared_ptr<Exchange>& exchange) {
            state_.num_connections = loop_.num_connections();
            route(exchange, state_);
          }),
      workers_(loop_),
      exporter_(options.otlp_address.empty()
                    ? nullptr
                    : std::make_shared<SpanExporter>(options.otlp_address)),
      state_{.loop = loop_,
             .workers = workers_,
             .long_tasks = long_tasks_,
             .models = std::make_unique<ModelRegistry>(options.memory_bytes, loads_, options.log),
             .clients = std::move(options.clients),
             .journal = std::make_shared<RequestJournal>(options.log, exporter_),
             .limits = options.limits},
      finish_(std::make_shared<Task>([this] { finish(); })),
      drain_local_(std::make_shared<Task>([this] { local_.drain(finish_); })),
      drain_(std::make_shared<Task>([this] { loop_.drain(drain_local_); })),
      cancel_(std::make_shared<Task>([this] {
        loop_.cancel_all();
        local_.drop_all();
      })),
      drop_(std::make_shared<Task>([this] { loop_.drop_all(); })) {
  reserve_json_memory();
  state_.submitted = [this](const ServedModel& model) {
    if (model.owns_engine() && !has_thread(model)) compute_on_loop(model);
  };
}

HttpServer::~HttpServer() { stop(0); }

uint16_t HttpServer::listen_tcp(const std::string& host, uint16_t port) {
  loop_.listen_tcp(host, port);
  return loop_.port();
}

void HttpServer::listen_unix(const std::string& path) { loop_.listen_unix(path); }

std::shared_ptr<LocalExchange> HttpServer::submit(HttpRequest request,
                                                  std::function<void()> notify) {
  auto exchange = std::make_shared<LocalExchange>(std::move(request), std::move(notify), local_);
  auto task = std::make_shared<Task>([this, exchange] { route(exchange, state_); });
  local_.add(exchange);
  loop_.post(std::move(task));
  return exchange;
}

HttpServer::Seat HttpServer::take_seat() {
  const std::lock_guard lock(mutex_);
  Seat seat;
  if (!has_loop_) {
    has_loop_ = true;
    seat.task = Work::Loop;
  }
  for (size_t i = 0; i < state_.models->size() && seat.task == Work::Prepare; ++i) {
    if (!state_.models->computes(i) || computed_.contains(i)) continue;
    computed_names_.insert(state_.models->views()[i].name);
    computed_.insert(i);
    seat = {.task = Work::Engine, .model = i};
  }
  ++num_seats_taken_;
  return seat;
}

void HttpServer::leave_seat() noexcept {
  const std::lock_guard lock(mutex_);
  --num_seats_taken_;
  changed_.notify_all();
}

/// Adds a lane of long tasks from the third preparing thread on: two lanes for three threads, one
/// for two.
void HttpServer::add_lane() noexcept {
  (void)fenced([this] {
    std::unique_lock lock(mutex_);
    const bool is_one_more = ++num_preparing_ > 2;
    lock.unlock();
    if (is_one_more) long_tasks_.add_lanes(1);
  });
}

void HttpServer::Loads::post(std::shared_ptr<tenon_http::Task> task) noexcept {
  const bool is_posted = fenced([&] {
    server_.long_tasks_.post("loads of models", [task] {
      task->run();
      return false;
    });
  });
  if (!is_posted) server_.workers_.post(std::move(task));
}

bool HttpServer::has_thread(const ServedModel& model) {
  const std::lock_guard lock(mutex_);
  return computed_names_.contains(model.itself().name());
}

void HttpServer::compute(size_t model) {
  while (const auto served = state_.models->wait_for_engine(model)) {
    if (served->owns_engine()) (void)tenon_engine_run(served->engine());
    state_.models->leave_engine(model);
  }
}

void HttpServer::compute_on_loop(const ServedModel& model) {
  /// Runs one step. A single task runs all steps, so that continuing allocates nothing.
  struct Steps : std::enable_shared_from_this<Steps> {
    Steps(HttpServer& computing, std::shared_ptr<const ServedModel> used)
        : server(computing), held(std::move(used)) {}
    void step() {
      int32_t worked = 0;
      const bool failed = tenon_engine_step(held->engine(), &worked) != TENON_OK;
      if (!failed && worked != 0 && !server.has_thread(*held)) {
        server.loop_.post({shared_from_this(), &task});
      }
    }
    HttpServer& server;
    std::shared_ptr<const ServedModel> held;  // keeps the model loaded during a step
    Task task{[this] { step(); }};
  };
  const auto steps = std::make_shared<Steps>(*this, state_.models->use(&model.itself().name()));
  loop_.post({steps, &steps->task});
}

void HttpServer::run() {
  const Seat seat = take_seat();
  switch (seat.task) {
    case Work::Loop:
      // Logging and tracing threads are optional: without them, lines and spans are dropped.
      (void)fenced([this] { state_.journal->log().start(); });
      (void)fenced([this] {
        if (exporter_ != nullptr) exporter_->start();
      });
      loop_.run();
      break;
    case Work::Engine:
      compute(seat.model);
      break;
    case Work::Prepare:
      add_lane();
      workers_.run();
      break;
  }
  leave_seat();
}

void HttpServer::start(uint32_t num_threads) {
  uint32_t engines = 0;
  for (size_t i = 0; i < state_.models->size(); ++i) engines += state_.models->computes(i) ? 1 : 0;
  const uint32_t wanted = num_threads != 0 ? num_threads : 4 + engines;
  const std::lock_guard lock(threads_mutex_);
  for (uint32_t i = 0; i < wanted; ++i) {
    threads_.emplace_back([this] {
      open_heap();
      {
        const std::lock_guard begun(mutex_);
        ++num_begun_;
        changed_.notify_all();
      }
      // Taking a seat may throw bad_alloc.
      (void)fenced([this] { run(); });
    });
  }
  // Requests may arrive while memory is full.
  std::unique_lock begun(mutex_);
  changed_.wait(begun, [&] { return num_begun_ == threads_.size(); });
}

void HttpServer::finish() noexcept {
  state_.models->stop();
  long_tasks_.stop();
  workers_.stop();
  loop_.finish();
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
  changed_.notify_all();
}

void HttpServer::stop(double seconds) noexcept {
  state_.is_stopping = true;
  {
    std::unique_lock lock(mutex_);
    const bool runs = has_loop_ && !is_finished_;
    lock.unlock();
    if (runs) {
      loop_.post(drain_);
      lock.lock();
      const auto has_finished_in = [&](double limit) {
        return changed_.wait_for(lock, std::chrono::duration<double>(limit),
                                 [&] { return is_finished_; });
      };
      if (!has_finished_in(seconds > 0 ? std::min(seconds, 1e6) : 0)) {
        loop_.post(cancel_);
        if (!has_finished_in(kCancelledSeconds)) loop_.post(drop_);
      }
      lock.unlock();
    } else {
      finish();
    }
    lock.lock();
    changed_.wait(lock, [&] { return is_finished_ && num_seats_taken_ == 0; });
  }
  // Serializes concurrent stops: each returns after all threads have ended.
  const std::lock_guard lock(threads_mutex_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  {
    const std::lock_guard ended(mutex_);
    num_begun_ = 0;
  }
  local_.close();
  // Shared deadline: the log waits for the host, the exporter for the collector.
  const auto limit = SideThread::Clock::now() + kLastWords;
  if (exporter_ != nullptr) exporter_->stop(limit);
  state_.journal->log().stop(limit);
}

}  // namespace tenon_http
