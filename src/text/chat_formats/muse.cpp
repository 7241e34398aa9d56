// Muse: consecutive messages, each naming its recipient; the prompt writes the first mark.
//    to=self<|message|>reasoning<|eom|><|start|>assistant to=user<|message|>text
//    to=f<|message|><atem:function_calls>\n<atem:invoke name="f">\n
//   <atem:parameter name="key">value</atem:parameter>\n</atem:invoke>\n
//   </atem:function_calls><|eot|>
#include <array>

#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/tagged_calls.h"

namespace tenon {
namespace {

constexpr std::string_view kMuseMessage = "<|message|>";
constexpr std::string_view kMuseRecipient = "to=";
constexpr std::string_view kCalls = "<atem:function_calls>";
constexpr std::array<std::string_view, 4> kMuseEnds{"<|eom|>", "<|eot|>", "<|start|>", kCalls};
constexpr size_t kMuseStart = 2, kCallsMark = 3;

constexpr TaggedCallLayout kLayout{.call_open = "<atem:invoke name=\"",
                                   .name_end = "\">",
                                   .key_open = "<atem:parameter name=\"",
                                   .key_close = "\">",
                                   .value_close = "</atem:parameter>",
                                   .call_close = "</atem:invoke>",
                                   .section_close = "</atem:function_calls>"};

class MuseReply : public ReplyLayout {
 public:
  void start(std::string_view) override {}
  void resume(bool reasons) override { state_ = reasons ? State::Reasoning : State::Content; }

  void read(ReplyInput& in, ReplyBuilder& out) override {
    while (step(in, out)) {
    }
  }

 private:
  enum class State : uint8_t { Header, Reasoning, Content, Call };

  bool step(ReplyInput& in, ReplyBuilder& out) {
    switch (state_) {
      case State::Header:
        return header(in);
      case State::Reasoning:
      case State::Content:
        return body(in, out);
      case State::Call:
        return call(in, out);
    }
    return false;
  }

  bool header(ReplyInput& in) {
    const std::array markers{kMuseMessage};
    const ReplyInput::Found found = in.find(markers);
    const bool is_long = found.at > kMaxCallName;
    if (is_long || (found.which != 0 && in.at_end)) {
      // The header is incomplete: keep its text as content, unless the header was cut off.
      const bool is_marked = in.rest().starts_with(kMuseEnds[kMuseStart]);
      if (is_marked) in.skip(is_long ? kMuseEnds[kMuseStart].size() : in.rest().size());
      in.forget();
      state_ = State::Content;
      return !in.rest().empty();
    }
    if (found.which != 0) return false;
    std::string_view header = in.rest().substr(0, found.at);
    const size_t to = header.find(kMuseRecipient);
    header.remove_prefix(to == header.npos ? header.size() : to + kMuseRecipient.size());
    state_ = trimmed(header) == "self" ? State::Reasoning : State::Content;
    in.skip(found.at + kMuseMessage.size());
    in.forget();
    return true;
  }

  bool body(ReplyInput& in, ReplyBuilder& out) {
    const bool reasons = state_ == State::Reasoning;
    const auto ends = std::span(kMuseEnds).first(reasons ? kCallsMark : kMuseEnds.size());
    const ReplyInput::Found found = in.find(ends);
    const std::string_view text = in.rest().substr(0, found.at);
    if (reasons) {
      out.reasoning(text);
    } else {
      out.content(text);
    }
    in.skip(found.at);
    in.forget();
    if (found.which == ends.size()) return false;
    // The mark that begins a message belongs to its header.
    if (found.which != kMuseStart) in.skip(ends[found.which].size());
    if (found.which == kCallsMark) {
      calls_.begin(0);
      state_ = State::Call;
      return true;
    }
    in.forget();
    if (reasons) out.end_part();
    state_ = State::Header;
    return true;
  }

  bool call(ReplyInput& in, ReplyBuilder& out) {
    const CallGrammar::Step step = calls_.step(in, out);
    if (step == CallGrammar::Step::More) return false;
    if (step == CallGrammar::Step::Again) return true;
    if (step == CallGrammar::Step::Broken) {
      out.retract();
      out.content(in.read());
    }
    in.forget();
    state_ = State::Content;
    return true;
  }

  State state_ = State::Header;
  TaggedCalls calls_{kLayout};
};

}  // namespace

extern constexpr ChatFormat kMuseFormat{
    .name = "muse",
    .detected_by = {{{kCalls, "<|eom|>"}}},
    .think = {" to=self<|message|>", "<|eom|><|start|>assistant"},
    .call_openers = {kCalls},
    .shapes = {{{.call = " to=$name<|message|><atem:function_calls>\n<atem:invoke name=\"$name\">\n"
                         "$parameters</atem:invoke>\n</atem:function_calls>",
                 .separator = "<|eom|><|start|>assistant",
                 .parameter = "<atem:parameter name=\"$key\">$value</atem:parameter>\n"}}},
    .content_open = " to=user<|message|>",
    .make_layout = []() -> std::unique_ptr<ReplyLayout> { return std::make_unique<MuseReply>(); },
};

}  // namespace tenon
