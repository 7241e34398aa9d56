// Exchanges without a socket: requests of the host itself, which takes answers from a buffer
// (tenon_server_submit).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "server/http/exchange.h"
#include "server/work/condition.h"

namespace tenon_http {

class LocalExchange;

/// Registry of running local requests. Thread-safe.
class LocalExchanges {
 public:
  explicit LocalExchanges(Tasks& loop) : loop_(loop) {}

  /// Throws tenon::Error STATE after close().
  void add(std::shared_ptr<LocalExchange> exchange);
  void remove(const std::shared_ptr<LocalExchange>& exchange) noexcept;
  /// Posts `done` to the loop when no exchange is left.
  void drain(std::shared_ptr<Task> done) noexcept;
  /// Ends all exchanges with CANCELLED for their hosts, and the interest in them. Call on the loop,
  /// or after it has ended.
  void drop_all() noexcept;
  /// Refuses new exchanges and drops running ones. Call after the loop has ended.
  void close() noexcept;

  [[nodiscard]] Tasks& loop() { return loop_; }

 private:
  Tasks& loop_;
  std::mutex mutex_;
  std::set<std::shared_ptr<LocalExchange>> exchanges_;
  std::shared_ptr<Task> done_;
  bool is_closed_ = false;
};

/// Routes write on the loop; the host reads on a thread of its own, one call at a time.
class LocalExchange : public Exchange, public std::enable_shared_from_this<LocalExchange> {
 public:
  /// Progress of the answer since the last take().
  struct Part {
    int status = 0;  ///< HTTP status; 0 before the answer begins
    bool is_last = false;
    std::string content_type{};
    std::string headers{};  ///< lines "Name: value"
    std::string bytes{};
  };

  /// notify: called on any thread when data is available, and again only after take().
  LocalExchange(HttpRequest request, std::function<void()> notify, LocalExchanges& owner);
  ~LocalExchange() override;

  [[nodiscard]] const HttpRequest& request() const override { return request_; }
  void answer(HttpAnswer answer) override;
  void begin_stream(const std::string& content_type) override;
  void send(std::string bytes) override;
  void end_stream() override;
  void fail(Failure why) noexcept override;
  [[nodiscard]] size_t unsent() const override;
  void on_drained(std::shared_ptr<Task> resume) noexcept override;

  /// Waits up to `seconds` for data; a negative value waits forever. Throws tenon::Error CANCELLED
  /// if the server stopped before the answer was complete.
  Part take(double seconds);
  /// Drops the answer. notify is never called after this returns.
  void leave() noexcept;
  /// Called when the server stops.
  void cancel() noexcept;

 private:
  /// Headers by which a host and the server's logs name the request.
  [[nodiscard]] std::string headers_of(const HttpAnswer& answer) const;
  /// Applies `change` to the host's view under the lock, then notifies the host.
  template <typename Change>
  void change(Change&& change);
  void note_end() noexcept;

  HttpRequest request_;
  LocalExchanges& owner_;
  mutable std::mutex mutex_;
  Condition changed_;
  Part pending_;
  bool has_news_ = false;  ///< change since the last take()
  bool is_cancelled_ = false;
  bool is_cut_ = false;
  std::shared_ptr<Task> resume_;
  Task forget_;         ///< runs on the loop after the host drops the answer
  Part out_of_memory_;  ///< allocated in advance, like the next member
  Part defect_;
  std::mutex notify_mutex_;  ///< held during notify_, so leave() waits for it
  std::function<void()> notify_;
};

}  // namespace tenon_http
