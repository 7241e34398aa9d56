// Calls that an answer began and did not complete: a stream has handed them out as calls, so that the whole
// answer shows them as calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon_http {

struct AnswerDelta;

class CutCalls {
 public:
  void add(const AnswerDelta& delta);

  /// A message as the library made it, where a broken call is content, in the words of the stream: with
  /// the calls as far as they came, and without what came as content after the first of them.
  [[nodiscard]] std::string as_streamed(std::string message) const;

 private:
  struct Call {
    std::string name;
    std::string id;
    std::string arguments{};
  };

  size_t num_calls_ = 0;      ///< whole ones and broken ones
  size_t content_bytes_ = 0;  ///< before the first broken call
  Call latest_{};
  struct Broken {
    size_t index;  ///< among all calls
    Call call;
  };
  std::vector<Broken> broken_;
};

}  // namespace tenon_http
