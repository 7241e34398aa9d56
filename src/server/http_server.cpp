#include "http_server.h"

#include <algorithm>
#include <chrono>

namespace tenon_http {

HttpServer::HttpServer(ServerOptions options)
    : loop_(std::move(options.http),
            [this](const std::shared_ptr<Exchange>& exchange) {
              state_.num_connections = loop_.num_connections();
              route(exchange, state_);
            }),
      workers_(loop_),
      state_{.loop = loop_,
             .workers = workers_,
             .api_keys = std::move(options.api_keys),
             .limits = options.limits} {
  state_.submitted = [this](const ServedModel& model) {
    if (model.owns_engine() && !has_thread(model)) compute_on_loop(model);
  };
}

HttpServer::~HttpServer() { stop(0); }

void HttpServer::add(std::unique_ptr<ServedModel> model) {
  for (const auto& other : state_.models) {
    if (other->name() == model->name()) {
      throw invalid_request("there is a model with the name \"" + model->name() + "\" already",
                            "name");
    }
  }
  state_.models.push_back(std::move(model));
}

uint16_t HttpServer::listen_tcp(const std::string& host, uint16_t port) {
  loop_.listen_tcp(host, port);
  return loop_.port();
}

void HttpServer::listen_unix(const std::string& path) { loop_.listen_unix(path); }

HttpServer::Seat HttpServer::take_seat() {
  const std::lock_guard lock(mutex_);
  ++num_seats_taken_;
  if (!has_loop_) {
    has_loop_ = true;
    return {.task = Task::Loop};
  }
  for (size_t i = 0; i < state_.models.size(); ++i) {
    const ServedModel* model = state_.models[i].get();
    if (!model->owns_engine()) continue;
    if (std::find(computed_.begin(), computed_.end(), model) != computed_.end()) continue;
    computed_.push_back(model);
    return {.task = Task::Engine, .engine = i};
  }
  return {.task = Task::Prepare};
}

bool HttpServer::has_thread(const ServedModel& model) {
  const std::lock_guard lock(mutex_);
  return std::find(computed_.begin(), computed_.end(), &model) != computed_.end();
}

void HttpServer::compute_on_loop(const ServedModel& model) {
  loop_.post([this, &model] {
    int32_t worked = 0;
    const bool failed = tenon_engine_step(model.engine(), &worked) != TENON_OK;
    if (!failed && worked != 0 && !has_thread(model)) compute_on_loop(model);
  });
}

void HttpServer::run() {
  const Seat seat = take_seat();
  switch (seat.task) {
    case Task::Loop:
      loop_.run();
      break;
    case Task::Engine:
      (void)tenon_engine_run(state_.models[seat.engine]->engine());
      break;
    case Task::Prepare:
      workers_.run();
      break;
  }
  const std::lock_guard lock(mutex_);
  --num_seats_taken_;
  changed_.notify_all();
}

void HttpServer::start(uint32_t num_threads) {
  const auto engines = static_cast<uint32_t>(std::count_if(
      state_.models.begin(), state_.models.end(), [](const auto& m) { return m->owns_engine(); }));
  const uint32_t wanted = num_threads != 0 ? num_threads : 3 + engines;
  for (uint32_t i = 0; i < wanted; ++i) threads_.emplace_back([this] { run(); });
}

void HttpServer::finish() {
  for (const auto& model : state_.models) {
    if (model->owns_engine()) (void)tenon_engine_stop(model->engine());
  }
  workers_.stop();
  loop_.finish();
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
  changed_.notify_all();
}

void HttpServer::stop(double seconds) {
  state_.is_stopping = true;
  {
    std::unique_lock lock(mutex_);
    const bool runs = has_loop_ && !is_finished_;
    lock.unlock();
    if (runs) {
      loop_.post([this] { loop_.drain([this] { finish(); }); });
      lock.lock();
      const auto limit = std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e6));
      const bool done = changed_.wait_for(lock, limit, [&] { return is_finished_; });
      lock.unlock();
      if (!done) loop_.post([this] { loop_.drop_all(); });
    } else {
      finish();
    }
    lock.lock();
    changed_.wait(lock, [&] { return is_finished_ && num_seats_taken_ == 0; });
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace tenon_http
