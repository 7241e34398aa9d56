// Exchange over a connection. May outlive the connection, and then ignores output.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "server/http/byte_budget.h"
#include "server/http/exchange.h"

namespace tenon_http {

class HttpConnection;

class HttpExchange : public Exchange {
 public:
  /// body_bytes: budget held by the request's body. is_old: HTTP/1.0.
  HttpExchange(std::weak_ptr<HttpConnection> connection, HttpRequest request, HeldBytes body_bytes,
               bool is_old)
      : connection_(std::move(connection)),
        request_(std::move(request)),
        body_bytes_(std::move(body_bytes)),
        is_old_(is_old) {}

  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;
  /// Reports the end of the request to the journal.
  ~HttpExchange() override;

  [[nodiscard]] const HttpRequest& request() const override { return request_; }
  void answer(HttpAnswer answer) override;
  void begin_stream(const std::string& content_type) override;
  void send(std::string bytes) override;
  void end_stream() override;
  void fail(Failure why) noexcept override;
  [[nodiscard]] size_t unsent() const override;
  void on_drained(std::shared_ptr<Task> resume) noexcept override;

  /// Task to post when most unsent bytes are written; may be null.
  [[nodiscard]] std::shared_ptr<Task> take_resume() noexcept { return std::move(resume_); }
  [[nodiscard]] bool has_begun() const { return has_begun_; }

 private:
  /// Origin of the requesting page if it may read the answer, else "".
  [[nodiscard]] std::string_view origin_of(const HttpConnection& connection) const;

  /// Adds headers that identify the request in a client's logs, and its notes.
  void add_request_headers(HttpAnswer& answer) const;
  void note_end() noexcept;

  std::weak_ptr<HttpConnection> connection_;
  HttpRequest request_;
  HeldBytes body_bytes_;
  std::shared_ptr<Task> resume_;
  bool is_old_;  ///< HTTP/1.0, without chunks
  bool has_begun_ = false;
  bool has_ended_ = false;
};

}  // namespace tenon_http
