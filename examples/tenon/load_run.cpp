#include "load_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "bench_machine.h"
#include "random.h"
#include "stopwatch.h"

namespace tenon_program {
namespace {

using Seconds = std::chrono::duration<double>;
using Time = Clock::time_point;

// Number of memory samples, evenly spaced over the measurement.
constexpr uint64_t kSamples = 200;
// Delay before a refused client asks again.
constexpr Seconds kRetry(0.01);
// Time without a step after which an engine's requests count as lost. The longest step is one slice
// of a prompt on a slow machine.
constexpr Seconds kStall(120);

Time after(Time start, Seconds seconds) {
  return start + std::chrono::duration_cast<Clock::duration>(seconds);
}

double between(Time from, Time to) { return Seconds(to - from).count(); }

/// Wakes the generating thread; any thread that drives the engine may ring.
class Bell {
 public:
  static void ring(void* bell) {
    auto* self = static_cast<Bell*>(bell);
    {
      const std::scoped_lock lock(self->mutex_);
      self->rung_ = true;
    }
    self->heard_.notify_one();
  }
  void wait_until(Time time) {
    std::unique_lock lock(mutex_);
    heard_.wait_until(lock, time, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable heard_;
  bool rung_ = false;
};

/// Thread that computes for the engine during the object's lifetime.
class EngineThread {
 public:
  EngineThread(tenon::Engine& engine, Bell& bell)
      : engine_(engine), thread_([this, &bell] {
          try {
            engine_.run();
          } catch (...) {
            failure_ = std::current_exception();
            failed_.store(true);
          }
          Bell::ring(&bell);
        }) {}
  ~EngineThread() {
    engine_.stop();
    thread_.join();
  }
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  void rethrow_failure() const {
    if (failed_.load()) std::rethrow_exception(failure_);
  }

 private:
  tenon::Engine& engine_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

/// Running request.
struct Flight {
  uint64_t client;
  Time arrived;
  bool measured;
  uint64_t prompt_tokens;
  uint64_t output_tokens;
  tenon::Session session;
  std::optional<tenon::Request> request{};
  uint64_t received = 0;
  Time first{};
  Time latest{};
};

/// Scheduled arrival of a client; sorts the earliest first.
struct Arrival {
  Time time;
  uint64_t client;
  bool operator<(const Arrival& other) const { return time > other.time; }
};

class Load {
 public:
  Load(const tenon::Model& model, const LoadOptions& options)
      : options_(options),
        vocabulary_(model.info().vocabulary),
        engine_(model, {.extra = options.engine}),
        sampler_({.temperature = 0.0}),
        random_(options.seed) {
    for (uint64_t i = 0; i < options.clients; ++i)
      clients_.push_back("client-" + std::to_string(i));
    result_.samples.reserve(kSamples);
    result_.seconds = options.seconds;
  }

  LoadResult run(const std::function<void(double)>& progress) {
    const EngineThread thread(engine_, bell_);
    begin_ = Clock::now();
    measured_ = after(begin_, Seconds(options_.warmup_seconds));
    end_ = after(measured_, Seconds(options_.seconds));
    step_seen_ = begin_;
    first_arrivals();
    for (;;) {
      const Time now = Clock::now();
      thread.rethrow_failure();
      if (!before_ && now >= measured_) before_ = engine_.stats();
      submit_due(std::min(now, end_));  // all arrivals before the end, even if this runs late
      receive_all();
      look(now);
      if ((now >= end_ && flights_.empty()) || is_stalled(now)) break;
      progress(between(begin_, std::min(now, end_)) / between(begin_, end_));
      bell_.wait_until(next_time(now));
    }
    for (const Flight& flight : flights_) lose(flight, "it never ended");
    settle();
    return std::move(result_);
  }

 private:
  void first_arrivals() {
    if (options_.rate > 0) return arrivals_.push_back({next_poisson(begin_), 0});
    for (uint64_t i = 0; i < options_.clients; ++i) arrivals_.push_back({begin_, i});
  }

  Time next_poisson(Time from) {
    return after(from, Seconds(random_.exponential() / options_.rate));
  }

  void add_arrival(Time time, uint64_t client) {
    arrivals_.push_back({time, client});
    std::push_heap(arrivals_.begin(), arrivals_.end());
  }

  void submit_due(Time now) {
    while (!arrivals_.empty() && arrivals_.front().time <= now) {
      Arrival arrival = arrivals_.front();
      std::pop_heap(arrivals_.begin(), arrivals_.end());
      arrivals_.pop_back();
      if (options_.rate > 0) {
        add_arrival(next_poisson(arrival.time), 0);
        arrival.client = random_.next() % options_.clients;
      }
      if (!submit(arrival) && options_.rate == 0) add_arrival(after(now, kRetry), arrival.client);
    }
  }

  /// Submits a request; false if the engine refused it.
  bool submit(const Arrival& arrival) {
    const uint64_t prompt = options_.prompt_tokens.draw(random_);
    const uint64_t output = options_.output_tokens.draw(random_);
    const bool measured = arrival.time >= measured_;
    if (measured) ++result_.arrived;
    make_prompt(prompt);
    Flight flight{
        arrival.client, arrival.time,
        measured,       prompt,
        output,         engine_.open_session({.context = static_cast<int64_t>(prompt + output)})};
    tenon::Submission what;
    what.tokens = prompt_;
    what.ignore_end = true;
    what.sampler = &sampler_;
    what.max_tokens = output;
    what.client = clients_[arrival.client];
    what.notify = Bell::ring;
    what.user = &bell_;
    try {
      flight.request.emplace(tenon::submit(flight.session, what));
    } catch (const tenon::Error& error) {
      if (error.code() != tenon::Code::Busy) throw;
      if (measured) ++result_.refused;
      return false;
    }
    flights_.push_back(std::move(flight));
    return true;
  }

  /// Makes a prompt: a common prefix, then the request's own tokens.
  void make_prompt(uint64_t tokens) {
    prompt_.resize(tokens);
    const auto shared =
        static_cast<size_t>(std::round(options_.shared_prefix * static_cast<double>(tokens)));
    const std::span<tenon::Token> all(prompt_);
    spread_tokens(all.first(shared), vocabulary_, options_.seed);
    spread_tokens(all.subspan(shared), vocabulary_, random_.next());
  }

  void receive_all() {
    for (size_t i = 0; i < flights_.size();) {
      const uint64_t client = flights_[i].client;
      if (receive(flights_[i])) {
        ++i;
        continue;
      }
      if (i + 1 != flights_.size()) flights_[i] = std::move(flights_.back());
      flights_.pop_back();
      if (options_.rate == 0) add_arrival(Clock::now(), client);
    }
  }

  /// Receives available pieces; true if more will come.
  bool receive(Flight& flight) {
    for (;;) {
      tenon::Piece piece;
      try {
        piece = flight.request->poll();
      } catch (const tenon::Error& error) {
        lose(flight, error.what());
        return false;
      }
      if (piece.token != TENON_NO_TOKEN) take_token(flight, Clock::now());
      if (piece.finish != TENON_FINISH_NONE) {
        finish(flight);
        return false;
      }
      if (piece.token == TENON_NO_TOKEN) return true;
    }
  }

  void take_token(Flight& flight, Time now) {
    const bool within = now >= measured_ && now < end_;
    if (within) ++result_.output_tokens;
    if (flight.received++ == 0) {
      flight.first = now;
      if (within) result_.input_tokens += flight.prompt_tokens;
      if (flight.measured) result_.first_token.add(between(flight.arrived, now));
    } else if (flight.measured) {
      result_.between_tokens.add(between(flight.latest, now));
    }
    flight.latest = now;
  }

  void finish(Flight& flight) {
    if (flight.latest >= measured_ && flight.latest < end_) ++result_.requests_ended;
    if (flight.received != flight.output_tokens) {
      return lose(flight, std::to_string(flight.received) + " of " +
                              std::to_string(flight.output_tokens) + " tokens came");
    }
    look_at_cache(engine_.stats());
    if (!flight.measured) return;
    ++result_.finished;
    const tenon_request_stats stats = flight.request->stats();
    result_.prompt_tokens += stats.prompt_tokens;
    result_.reused_tokens += stats.reused_tokens;
    result_.whole.add(between(flight.arrived, flight.latest));
    if (flight.received < 2) return;
    result_.per_output_token.add(between(flight.first, flight.latest) /
                                 static_cast<double>(flight.received - 1));
  }

  void lose(const Flight& flight, const std::string& why) {
    if (++result_.lost != 1) return;
    result_.first_loss = std::to_string(flight.prompt_tokens) + " tokens of prompt, " +
                         std::to_string(flight.output_tokens) + " of output: " + why;
  }

  /// Samples the memory if a sample is due.
  void look(Time now) {
    const size_t number = result_.samples.size();
    if (number == kSamples || now < sample_time(number)) return;
    const tenon_engine_stats stats = engine_.stats();
    look_at_cache(stats);
    result_.samples.push_back({between(measured_, now), resident_bytes(), stats.kv_held_bytes,
                               stats.kv_used_bytes, stats.running, stats.waiting});
  }

  [[nodiscard]] Time sample_time(size_t number) const {
    return after(measured_, Seconds(options_.seconds * static_cast<double>(number) / kSamples));
  }

  void look_at_cache(const tenon_engine_stats& stats) {
    result_.kv_peak_bytes = std::max(result_.kv_peak_bytes, stats.kv_held_bytes);
    if (stats.kv_held_bytes > stats.kv_limit_bytes) ++result_.over_budget;
  }

  bool is_stalled(Time now) {
    const uint64_t steps = engine_.stats().steps;
    if (steps != steps_seen_ || flights_.empty()) step_seen_ = now;
    steps_seen_ = steps;
    return now - step_seen_ > kStall;
  }

  [[nodiscard]] Time next_time(Time now) const {
    Time next = after(now, Seconds(1));
    if (result_.samples.size() < kSamples) {
      next = std::min(next, sample_time(result_.samples.size()));
    }
    if (now < end_) next = std::min(next, end_);
    if (!arrivals_.empty() && arrivals_.front().time <= end_) {
      next = std::min(next, arrivals_.front().time);
    }
    return next;
  }

  void settle() {
    const tenon_engine_stats after_all = engine_.stats();
    const tenon_engine_stats start = before_.value_or(after_all);
    result_.preempted = after_all.preempted - start.preempted;
    result_.steps = after_all.steps - start.steps;
    result_.steps_stopped = after_all.steps_stopped - start.steps_stopped;
    result_.step_seconds = after_all.step_seconds - start.step_seconds;
    result_.schedule_seconds = after_all.schedule_seconds - start.schedule_seconds;
    result_.kv_limit_bytes = after_all.kv_limit_bytes;
    result_.peak_bytes = PeakMemory().bytes();
  }

  const LoadOptions& options_;
  uint64_t vocabulary_;
  Bell bell_;  // outlives its ringers
  tenon::Engine engine_;
  tenon::Sampler sampler_;
  Random random_;
  std::vector<std::string> clients_;
  std::vector<tenon::Token> prompt_;
  std::vector<Arrival> arrivals_;  // heap by time
  std::vector<Flight> flights_;
  Time begin_;
  Time measured_;  // beginning of the measurement, which lasts until end_
  Time end_;
  std::optional<tenon_engine_stats> before_;
  uint64_t steps_seen_ = 0;
  Time step_seen_;
  LoadResult result_;
};

}  // namespace

LoadResult run_load(const tenon::Model& model, const LoadOptions& options,
                    const std::function<void(double)>& progress) {
  return Load(model, options).run(progress);
}

}  // namespace tenon_program
