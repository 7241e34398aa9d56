#include "server/protocols/prompt_logprobs.h"

namespace tenon_http {

std::vector<DrawnToken> prompt_logprobs(const ServedModel& model, const Tokens& prompt,
                                        uint32_t num_top, const HttpRequest& request) {
  WorkLimit::need(1);
  std::vector<DrawnToken> tokens;
  for (const tenon::Token id : prompt) {
    WorkLimit::look();
    tokens.push_back({.text = model.tokenizer().decode({&id, 1}, true), .id = id});
  }
  const auto session = std::make_shared<tenon::Session>(model.open_session(share_of(request)));
  request.interest->on_end([weak = std::weak_ptr(session)] {
    if (const auto running = weak.lock()) running->cancel();
  });
  session->evaluate(prompt, [&](uint64_t row, std::span<const float> logits) {
    const size_t next = static_cast<size_t>(row) + 1;
    if (next < prompt.size()) {
      tokens[next].logprob = tenon::logprobs(logits, {&prompt[next], 1}).front().logprob;
      for (const tenon::TokenLogprob& top : tenon::top_logprobs(logits, num_top)) {
        tokens[next].top.emplace_back(top.token, top.logprob);
      }
    }
    return true;
  });
  return tokens;
}

}  // namespace tenon_http
