// Tracks tool calls that an answer began but did not complete. A stream has already sent them as
// calls, so the whole answer shows them as calls, too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon_http {

struct AnswerDelta;

class CutCalls {
 public:
  void add(const AnswerDelta& delta);

  /// Rewrites a message of the library, which shows broken calls as content, as the stream showed
  /// it. Keeps the calls received so far; drops content after the first broken call.
  [[nodiscard]] std::string as_streamed(std::string message) const;

 private:
  struct Call {
    std::string name;
    std::string id;
    std::string arguments{};
  };

  size_t num_calls_ = 0;      ///< complete and broken calls
  size_t content_bytes_ = 0;  ///< bytes before the first broken call
  Call latest_{};
  struct Broken {
    size_t index;  ///< index among all calls
    Call call;
  };
  std::vector<Broken> broken_;
};

}  // namespace tenon_http
