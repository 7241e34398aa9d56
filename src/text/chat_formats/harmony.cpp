// gpt-oss Harmony: consecutive messages, each with a channel.
//   <|channel|>analysis<|message|>reasoning<|end|><|start|>assistant<|channel|>final<|message|>text
//   <|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}<|call|>
#include <array>

#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_calls.h"
#include "text/chat_formats/json_scan.h"

namespace tenon {
namespace {

constexpr std::array<std::string_view, 5> kEnds{"<|end|>", "<|call|>", "<|return|>", "<|start|>",
                                                "<|channel|>"};
constexpr size_t kStart = 3;
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kRecipient = "to=";
constexpr std::string_view kFunctions = "functions.";

class HarmonyReply : public ReplyLayout {
 public:
  void start(std::string_view) override {}
  void resume(bool reasons) override { state_ = reasons ? State::Reasoning : State::Content; }

  void read(ReplyInput& in, ReplyBuilder& out) override {
    while (step(in, out)) {
    }
  }

 private:
  enum class State : uint8_t { Header, Reasoning, Content, Call, CallEnd };

  bool step(ReplyInput& in, ReplyBuilder& out) {
    switch (state_) {
      case State::Header:
        return header(in, out);
      case State::Reasoning:
      case State::Content:
        return body(in, out);
      case State::Call:
        return call(in, out);
      case State::CallEnd:
        return call_end(in);
    }
    return false;
  }

  bool header(ReplyInput& in, ReplyBuilder& out) {
    const std::array markers{kMessage};
    const ReplyInput::Found found = in.find(markers);
    if (found.at > kMaxCallName) {
      // The header is incomplete: keep its text as content.
      for (const std::string_view mark : std::span(kEnds).subspan(kStart)) {
        if (in.rest().starts_with(mark)) in.skip(mark.size());
      }
      in.forget();
      state_ = State::Content;
      return true;
    }
    if (found.which != 0) {
      if (!in.at_end) return false;
      const bool bare = in.rest().find("<|") == std::string_view::npos;
      if (bare) out.content(in.rest());
      in.skip(in.rest().size());
      in.forget();
      state_ = State::Content;
      return false;
    }
    const std::string header(in.rest().substr(0, found.at));
    in.skip(found.at + kMessage.size());
    const size_t to = header.find(kRecipient);
    if (to != header.npos) {
      const size_t begin = to + kRecipient.size();
      std::string name = header.substr(begin, header.find_first_of(" <\n\t", begin) - begin);
      if (name.starts_with(kFunctions)) name.erase(0, kFunctions.size());
      if (!name.empty()) {
        out.begin_call(name, "");
        scan_ = JsonScan();
        state_ = State::Call;
        return true;
      }
    }
    in.forget();
    const size_t channel = header.find("<|channel|>");
    const std::string_view what = channel == header.npos
                                      ? std::string_view(header)
                                      : std::string_view(header).substr(channel + 11);
    state_ = what.find("analysis") != what.npos ? State::Reasoning : State::Content;
    return true;
  }

  bool body(ReplyInput& in, ReplyBuilder& out) {
    const ReplyInput::Found found = in.find(kEnds);
    const std::string_view text = in.rest().substr(0, found.at);
    if (state_ == State::Reasoning)
      out.reasoning(text);
    else
      out.content(text);
    in.skip(found.at);
    in.forget();
    if (found.which == kEnds.size()) return false;
    // Marks that begin a message are not skipped: they belong to its header.
    if (found.which < kStart) in.skip(kEnds[found.which].size());
    in.forget();
    if (state_ == State::Reasoning) out.end_part();
    state_ = State::Header;
    return true;
  }

  bool call(ReplyInput& in, ReplyBuilder& out) {
    const CallGrammar::Step step = pass_arguments(in, scan_, out);
    if (step == CallGrammar::Step::More) return false;
    state_ = step == CallGrammar::Step::Again ? State::CallEnd : State::Content;
    return true;
  }

  bool call_end(ReplyInput& in) {
    in.skip_space();
    if (in.rest().empty()) return false;
    const ReplyInput::Found found = in.find(kEnds);
    if (found.at == 0 && found.which == kEnds.size() && !in.at_end) return false;
    if (found.at == 0 && found.which < kStart) in.skip(kEnds[found.which].size());
    in.forget();
    state_ = found.at == 0 && found.which != kEnds.size() ? State::Header : State::Content;
    return true;
  }

  State state_ = State::Header;
  JsonScan scan_;
};

}  // namespace

extern constexpr ChatFormat kHarmonyFormat{
    .name = "harmony",
    .detected_by = {{{"<|channel|>", "<|message|>", "<|start|>"}}},
    .think = {"<|channel|>analysis<|message|>", "<|end|><|start|>assistant"},
    .shapes = {{{.call = "<|channel|>commentary to=functions.$name <|constrain|>json<|message|>"
                         "$arguments",
                 .trigger = " to=functions.",
                 .single = true}}},
    .content_open = "<|channel|>final<|message|>",
    .make_layout = []() -> std::unique_ptr<ReplyLayout> {
      return std::make_unique<HarmonyReply>();
    },
};

}  // namespace tenon
