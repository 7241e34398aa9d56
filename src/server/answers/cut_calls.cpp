#include "server/answers/cut_calls.h"

#include <algorithm>
#include <utility>

#include "server/answers/generation.h"
#include "server/json/json.h"

namespace tenon_http {

void CutCalls::add(const AnswerDelta& delta) {
  switch (delta.kind) {
    case TENON_CHAT_CONTENT:
      if (broken_.empty()) content_bytes_ += delta.text.size();
      return;
    case TENON_CHAT_CALL_BEGIN:
      ++num_calls_;
      latest_ = {std::string(delta.text), std::string(delta.id)};
      return;
    case TENON_CHAT_ARGUMENTS:
      latest_.arguments += delta.text;
      return;
    case TENON_CHAT_CALL_RETRACT:
      broken_.push_back({num_calls_ - 1, std::move(latest_)});
      latest_ = {};
      return;
    default:
      return;
  }
}

std::string CutCalls::as_streamed(std::string message) const {
  if (broken_.empty()) return message;
  Json read = parse_json(message);
  if (read["content"].is_string()) {
    const auto& content = read["content"].get_ref<const std::string&>();
    read["content"] = content.substr(0, std::min(content.size(), content_bytes_));
  }
  Json calls = read.value("tool_calls", Json::array());
  for (const Broken& broken : broken_) {
    const auto at = std::min(broken.index, calls.size());
    const Call& call = broken.call;
    Json shown{{"id", call.id},
               {"type", "function"},
               {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
    calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(at), std::move(shown));
  }
  read["tool_calls"] = std::move(calls);
  return to_text(read);
}

}  // namespace tenon_http
