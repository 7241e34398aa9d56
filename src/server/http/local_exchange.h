// Exchanges without a socket: requests of the host itself, whose answers it takes from a buffer
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

/// The local requests under way. Any thread.
class LocalExchanges {
 public:
  explicit LocalExchanges(Tasks& loop) : loop_(loop) {}

  /// Throws tenon::Error STATE after close().
  void add(std::shared_ptr<LocalExchange> exchange);
  void remove(const std::shared_ptr<LocalExchange>& exchange) noexcept;
  /// Posts `done` to the loop when no exchange is left.
  void drain(std::shared_ptr<Task> done) noexcept;
  /// Ends all of them for their hosts with CANCELLED, and interest in them. On the loop, or when it has ended.
  void drop_all() noexcept;
  /// Takes no more, and drops those under way. When the loop has ended.
  void close() noexcept;

  [[nodiscard]] Tasks& loop() { return loop_; }

 private:
  Tasks& loop_;
  std::mutex mutex_;
  std::set<std::shared_ptr<LocalExchange>> exchanges_;
  std::shared_ptr<Task> done_;
  bool is_closed_ = false;
};

/// The routes write to it on the loop; the host reads on a thread of its own, one at a time.
class LocalExchange : public Exchange, public std::enable_shared_from_this<LocalExchange> {
 public:
  /// What has come of the answer since the host looked last.
  struct Part {
    int status = 0;  ///< of HTTP; 0: the answer has not begun
    bool is_last = false;
    std::string content_type{};
    std::string headers{};  ///< "Name: value", one a line
    std::string bytes{};
  };

  /// notify: there is something to take; on any thread, and again only after take().
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

  /// Waits so many seconds for something; negative: for ever. Throws tenon::Error CANCELLED when the
  /// server was stopped before the answer was complete.
  Part take(double seconds);
  /// The host wants no more: notify is not called any more when this has returned.
  void leave() noexcept;
  /// The server stops.
  void cancel() noexcept;

 private:
  /// Headers by which a host and the server's logs name the request.
  [[nodiscard]] std::string headers_of(const HttpAnswer& answer) const;
  /// Under the lock: changes what the host sees, and tells it.
  template <typename Change>
  void change(Change&& change);
  void note_end() noexcept;

  HttpRequest request_;
  LocalExchanges& owner_;
  mutable std::mutex mutex_;
  Condition changed_;
  Part pending_;
  bool has_news_ = false;  ///< since the last take()
  bool is_cancelled_ = false;
  bool is_cut_ = false;
  std::shared_ptr<Task> resume_;
  Task forget_;         ///< runs on the loop, when the host drops the answer
  Part out_of_memory_;  ///< allocated ahead, as is the next
  Part defect_;
  std::mutex notify_mutex_;  ///< held during notify_, so that leave() waits for it
  std::function<void()> notify_;
};

}  // namespace tenon_http
