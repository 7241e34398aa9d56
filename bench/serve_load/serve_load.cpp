// Load generator for servers with OpenAI's interfaces: requests per second, concurrent streams,
// times to the first byte, memory of idle connections. Single-threaded; docs/server-operations.md
// explains the output.
//
//   serve_load http://127.0.0.1:8080 requests [--model demo] [--connections 64] [--seconds 10]
//              [--rate 300]
//   serve_load http://127.0.0.1:8080 streams  [--connections 256] [--tokens 64]
//   serve_load http://127.0.0.1:8080 load     --vocabulary N [--connections 8]
//              [--prompt-tokens 128] [--tokens 64] [--spread 0.5] [--warmup 0] [--seconds 10]
//   serve_load http://127.0.0.1:8080 idle     [--connections 2000] --pid PID
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "load_connection.h"

namespace serve_load {
namespace {

struct Options {
  Target target;
  std::string mode;
  std::string model{};
  std::string key{};
  size_t connections = 64;
  size_t tokens = 64;
  double spread = 0;  ///< answers have tokens * (1 - spread) to tokens * (1 + spread) tokens
  size_t prompt_tokens = 128;
  size_t vocabulary = 0;
  double warmup = 0;
  double seconds = 10;
  /// Independent arrivals per second; 0 means that each request follows an answer.
  double rate = 0;
  std::string pid{};
};

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string request_text(const Options& options, std::string_view method, std::string_view path,
                         const std::string& body = "") {
  std::string text(method);
  text.append(" ").append(path).append(" HTTP/1.1\r\nHost: ").append(options.target.host);
  if (!options.key.empty()) text.append("\r\nAuthorization: Bearer ").append(options.key);
  if (!body.empty()) {
    text.append("\r\nContent-Type: application/json\r\nContent-Length: ");
    text.append(std::to_string(body.size()));
  }
  return text.append("\r\n\r\n").append(body);
}

std::string completion(const Options& options, size_t tokens, bool is_streamed, size_t number) {
  std::string body = "{";
  if (!options.model.empty()) body += "\"model\":\"" + options.model + "\",";
  body += "\"prompt\":\"Number " + std::to_string(number) +
          " asks for the capital of Norway.\",\"max_tokens\":" + std::to_string(tokens) +
          ",\"temperature\":0,\"ignore_eos\":true,\"stream\":" + (is_streamed ? "true" : "false") +
          "}";
  return request_text(options, "POST", "/v1/completions", body);
}

/// Request for a stream after a prompt of random token ids.
std::string token_completion(const Options& options, std::mt19937_64& random) {
  std::string body = "{";
  if (!options.model.empty()) body += "\"model\":\"" + options.model + "\",";
  body += "\"prompt\":[";
  std::uniform_int_distribution<size_t> token(0, options.vocabulary - 1);
  for (size_t i = 0; i < options.prompt_tokens; ++i) {
    body += (i == 0 ? "" : ",") + std::to_string(token(random));
  }
  const auto least =
      static_cast<size_t>(static_cast<double>(options.tokens) * (1 - options.spread));
  std::uniform_int_distribution<size_t> length(std::max<size_t>(least, 1),
                                               2 * options.tokens - least);
  body += "],\"max_tokens\":" + std::to_string(length(random)) +
          ",\"temperature\":0,\"ignore_eos\":true,\"stream\":true}";
  return request_text(options, "POST", "/v1/completions", body);
}

/// Wakes a Poll at a given time.
class Alarm {
 public:
  Alarm() : descriptor_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}
  ~Alarm() { ::close(descriptor_); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Rings immediately for a time in the past.
  void set(Clock::time_point time) const {
    const auto left = std::max<int64_t>((time - Clock::now()).count(), 1);
    itimerspec when{};
    when.it_value = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    ::timerfd_settime(descriptor_, 0, &when, nullptr);
  }

 private:
  int descriptor_;
};

/// Waits for answers on many connections.
class Poll {
 public:
  Poll() : descriptor_(::epoll_create1(EPOLL_CLOEXEC)) {}
  ~Poll() { ::close(descriptor_); }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  void add(LoadConnection& connection) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &connection;
    ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, connection.descriptor(), &event);
  }

  void add(const Alarm& alarm) const {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, alarm.descriptor(), &event);
  }

  /// Calls on_answer for each connection with a complete answer, until it returns false, and
  /// on_alarm when the alarm rings.
  template <typename OnAnswer, typename OnAlarm = void (*)()>
  void run(
      OnAnswer on_answer, OnAlarm on_alarm = [] {}) const {
    std::array<epoll_event, 256> events;
    for (;;) {
      const int count = ::epoll_wait(descriptor_, events.data(), events.size(), 1000);
      if (count < 0) continue;
      for (int i = 0; i < count; ++i) {
        void* const source = events[static_cast<size_t>(i)].data.ptr;
        if (source == nullptr) {
          on_alarm();
          continue;
        }
        auto& connection = *static_cast<LoadConnection*>(source);
        const bool has_answer = connection.on_readable();
        if (connection.take_reconnected()) add(connection);
        if (has_answer && !on_answer(connection)) return;
      }
    }
  }

 private:
  int descriptor_;
};

std::vector<std::unique_ptr<LoadConnection>> connect_all(const Options& options, const Poll& poll) {
  std::vector<std::unique_ptr<LoadConnection>> connections;
  for (size_t i = 0; i < options.connections; ++i) {
    connections.push_back(std::make_unique<LoadConnection>(options.target));
    poll.add(*connections.back());
  }
  return connections;
}

void check_status(const LoadConnection& connection) {
  if (connection.status() == 200) return;
  throw std::runtime_error("the server answered " + std::to_string(connection.status()) + ": " +
                           connection.body().substr(0, 300));
}

void print_times(const char* what, std::vector<double> times) {
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
  };
  double sum = 0;
  for (const double time : times) sum += time;
  std::printf("%-22s mean %8.2f  p50 %8.2f  p95 %8.2f  p99 %8.2f  most %8.2f ms\n", what,
              sum / static_cast<double>(times.size()), at(0.5), at(0.95), at(0.99), times.back());
}

/// Waits for the answer on a single connection.
std::string ask(const Options& options, const std::string& request) {
  const Poll poll;
  LoadConnection connection(options.target);
  poll.add(connection);
  connection.send(request);
  std::string body;
  poll.run([&](LoadConnection& answered) {
    body = answered.body();
    return false;
  });
  return body;
}

/// First sample of a metric in the text of /metrics; 0 if absent.
double sample_of(const std::string& metrics, const std::string& name) {
  const size_t at = metrics.find("\n" + name + "{");
  const size_t value = at == metrics.npos ? metrics.npos : metrics.find("} ", at);
  return value == metrics.npos ? 0 : std::strtod(metrics.c_str() + value + 2, nullptr);
}

/// Sum and count of the engine's own times to the first token, if the server reports them.
struct EngineTimes {
  double seconds = 0;
  double count = 0;
};

EngineTimes engine_times(const Options& options) {
  const std::string text = ask(options, request_text(options, "GET", "/metrics"));
  return {sample_of(text, "vllm:time_to_first_token_seconds_sum"),
          sample_of(text, "vllm:time_to_first_token_seconds_count")};
}

void print_engine_times(const EngineTimes& before, const EngineTimes& after) {
  if (after.count <= before.count) return;
  std::printf("%-22s mean %8.2f ms (the server's own, from submit)\n", "engine's first token",
              (after.seconds - before.seconds) / (after.count - before.count) * 1000);
}

/// Requests one token per connection, repeatedly.
void run_requests(const Options& options) {
  const Poll poll;
  const auto connections = connect_all(options, poll);
  std::vector<double> times;
  size_t number = 0;
  const auto start = Clock::now();
  const auto end = start + std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  size_t running = connections.size();
  for (const auto& connection : connections) {
    connection->send(completion(options, 1, false, number++ % 16));
  }
  poll.run([&](LoadConnection& connection) {
    check_status(connection);
    const auto now = Clock::now();
    times.push_back(milliseconds(now - connection.sent()));
    if (now < end) {
      connection.send(completion(options, 1, false, number++ % 16));
      return true;
    }
    return --running > 0;
  });
  const double took = milliseconds(Clock::now() - start) / 1000;
  std::printf("%zu connections, %zu requests of one token in %.2f s: %.0f requests/s\n",
              connections.size(), times.size(), took, static_cast<double>(times.size()) / took);
  print_times("whole request", times);
}

/// Streams one answer per connection, all concurrently.
void run_streams(const Options& options) {
  const Poll poll;
  const auto connections = connect_all(options, poll);
  const EngineTimes before = engine_times(options);
  std::vector<double> first_bytes;
  std::vector<double> first_events;
  std::vector<double> wholes;
  uint64_t events = 0;
  size_t number = 0;
  const auto start = Clock::now();
  for (const auto& connection : connections) {
    connection->send(completion(options, options.tokens, true, number++));
  }
  poll.run([&](LoadConnection& connection) {
    check_status(connection);
    first_bytes.push_back(milliseconds(connection.first_byte() - connection.sent()));
    first_events.push_back(milliseconds(connection.first_event() - connection.sent()));
    wholes.push_back(milliseconds(Clock::now() - connection.sent()));
    events += connection.num_events();
    return wholes.size() < connections.size();
  });
  const double took = milliseconds(Clock::now() - start) / 1000;
  std::printf("%zu streams of %zu tokens at once in %.2f s: %.0f events/s\n", connections.size(),
              options.tokens, took, static_cast<double>(events) / took);
  print_times("first byte", first_bytes);
  print_times("first event", first_events);
  print_engine_times(before, engine_times(options));
  print_times("whole stream", wholes);
}

/// Sends one-token requests as a Poisson process of options.rate, equal in each run and independent
/// of the server. Times count from the arrival, so they include the wait for a free connection.
void run_arrivals(const Options& options) {
  const Poll poll;
  const auto connections = connect_all(options, poll);
  const Alarm alarm;
  poll.add(alarm);
  std::vector<LoadConnection*> free;
  for (const auto& connection : connections) free.push_back(connection.get());
  std::unordered_map<const LoadConnection*, Clock::time_point> arrivals;
  std::deque<Clock::time_point> waiting;
  std::vector<double> times;
  std::mt19937_64 random(1);
  std::exponential_distribution<double> gap(options.rate);
  const auto next_after = [&](Clock::time_point time) {
    return time + std::chrono::nanoseconds(static_cast<int64_t>(gap(random) * 1e9));
  };
  const auto start = Clock::now();
  const auto end = start + std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  size_t number = 0;
  auto next = start;
  const auto send_what_waits = [&] {
    for (; !waiting.empty() && !free.empty(); waiting.pop_front(), free.pop_back()) {
      arrivals[free.back()] = waiting.front();
      free.back()->send(completion(options, 1, false, number++ % 16));
    }
  };
  const auto on_alarm = [&] {
    for (const auto now = Clock::now(); next <= now && next < end; next = next_after(next)) {
      waiting.push_back(next);
    }
    send_what_waits();
    if (next < end) alarm.set(next);
  };
  alarm.set(next);
  poll.run(
      [&](LoadConnection& connection) {
        check_status(connection);
        times.push_back(milliseconds(Clock::now() - arrivals[&connection]));
        free.push_back(&connection);
        send_what_waits();
        return next < end || free.size() < connections.size();
      },
      on_alarm);
  const double took = milliseconds(Clock::now() - start) / 1000;
  std::printf("%.0f requests/s arriving, %zu requests of one token in %.2f s: %.0f requests/s\n",
              options.rate, times.size(), took, static_cast<double>(times.size()) / took);
  print_times("from the arrival", times);
}

/// Tokens that the server has generated since its start, by its own count.
struct TokenCount {
  double tokens = 0;
  Clock::time_point time{};
};

TokenCount count_tokens(const Options& options) {
  const std::string metrics = ask(options, request_text(options, "GET", "/metrics"));
  return {sample_of(metrics, "vllm:generation_tokens_total"), Clock::now()};
}

/// Streams consecutive answers per connection, to prompts of its own. `tenon bench --clients` runs
/// an equal load without a server; the difference is the server's cost.
void run_load(const Options& options) {
  if (options.vocabulary == 0) throw std::runtime_error("load needs --vocabulary");
  const Poll poll;
  const auto connections = connect_all(options, poll);
  const Alarm alarm;
  poll.add(alarm);
  std::mt19937_64 random(1);
  std::vector<TokenCount> counts;
  std::vector<double> first_events;
  const auto start = Clock::now();
  const auto at_seconds = [&](double seconds) {
    return start + std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  };
  alarm.set(at_seconds(options.warmup));
  for (const auto& connection : connections) connection->send(token_completion(options, random));
  poll.run(
      [&](LoadConnection& connection) {
        check_status(connection);
        if (counts.size() == 1) {
          first_events.push_back(milliseconds(connection.first_event() - connection.sent()));
        }
        connection.send(token_completion(options, random));
        return counts.size() < 2;
      },
      [&] {
        counts.push_back(count_tokens(options));
        if (counts.size() == 1) alarm.set(at_seconds(options.warmup + options.seconds));
      });
  const double took = milliseconds(counts[1].time - counts[0].time) / 1000;
  const double tokens = counts[1].tokens - counts[0].tokens;
  std::printf("%zu connections, %zu tokens after %zu: %.0f tokens in %.2f s: %.2f tokens/s\n",
              connections.size(), options.tokens, options.prompt_tokens, tokens, took,
              tokens / took);
  print_times("first event", first_events);
}

/// Resident bytes of a process.
double resident_bytes(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  throw std::runtime_error("there is no process " + pid);
}

/// Holds connections that have made one request and wait.
void run_idle(const Options& options) {
  if (options.pid.empty()) throw std::runtime_error("idle needs --pid, of the server");
  const std::string request = request_text(options, "GET", "/health");
  for (int i = 0; i < 100; ++i) (void)ask(options, request);
  const double before = resident_bytes(options.pid);
  const Poll poll;
  const auto connections = connect_all(options, poll);
  size_t answered = 0;
  for (const auto& connection : connections) connection->send(request);
  poll.run([&](LoadConnection& connection) {
    check_status(connection);
    return ++answered < connections.size();
  });
  const double bytes = resident_bytes(options.pid) - before;
  std::printf("%zu idle connections: %.1f kB each\n", connections.size(),
              bytes / 1000 / static_cast<double>(connections.size()));
}

Options read_options(int count, char** words) {
  if (count < 3)
    throw std::runtime_error("usage: serve_load ADDRESS requests|streams|load|idle ...");
  Options options{.target = read_target(words[1]), .mode = words[2]};
  for (int i = 3; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const char* value = words[i + 1];
    if (name == "--model") {
      options.model = value;
    } else if (name == "--key") {
      options.key = value;
    } else if (name == "--connections") {
      options.connections = std::stoul(value);
    } else if (name == "--tokens") {
      options.tokens = std::stoul(value);
    } else if (name == "--prompt-tokens") {
      options.prompt_tokens = std::stoul(value);
    } else if (name == "--vocabulary") {
      options.vocabulary = std::stoul(value);
    } else if (name == "--spread") {
      options.spread = std::clamp(std::stod(value), 0.0, 1.0);
    } else if (name == "--warmup") {
      options.warmup = std::stod(value);
    } else if (name == "--seconds") {
      options.seconds = std::stod(value);
    } else if (name == "--rate") {
      options.rate = std::stod(value);
    } else if (name == "--pid") {
      options.pid = value;
    } else {
      throw std::runtime_error("there is no option " + std::string(name));
    }
  }
  return options;
}

void run(const Options& options) {
  if (options.mode == "requests" && options.rate > 0) return run_arrivals(options);
  if (options.mode == "requests") return run_requests(options);
  if (options.mode == "streams") return run_streams(options);
  if (options.mode == "load") return run_load(options);
  if (options.mode == "idle") return run_idle(options);
  throw std::runtime_error("the mode must be requests, streams, load or idle");
}

}  // namespace
}  // namespace serve_load

int main(int count, char** words) {
  try {
    serve_load::run(serve_load::read_options(count, words));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "serve_load: %s\n", error.what());
    return 1;
  }
}
