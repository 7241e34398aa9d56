// Functionary v3.2: consecutive messages, each after the name of its recipient; the prompt writes
// the first mark.
//   all\ntext>>>f\n{...}>>>g\n{...}
#include <array>

#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_calls.h"
#include "text/chat_formats/json_scan.h"

namespace tenon {
namespace {

constexpr std::string_view kMark = ">>>";
constexpr std::string_view kEveryone = "all";

class FunctionaryReply : public ReplyLayout {
 public:
  void start(std::string_view) override {}
  void resume(bool) override { state_ = State::Content; }

  void read(ReplyInput& in, ReplyBuilder& out) override {
    while (step(in, out)) {
    }
  }

 private:
  enum class State : uint8_t { Start, Recipient, Content, Call, AfterCall };

  bool step(ReplyInput& in, ReplyBuilder& out) {
    switch (state_) {
      case State::Start:
        return start(in);
      case State::Recipient:
        return recipient(in, out);
      case State::Content:
        return content(in, out);
      case State::Call:
        return call(in, out);
      case State::AfterCall:
        return after_call(in);
    }
    return false;
  }

  /// Accepts at most one mark: a second one is text, in any number of pieces.
  bool start(ReplyInput& in) {
    const ReplyInput::Match mark = in.match(kMark);  // unless the prompt has written it
    if (mark == ReplyInput::Match::Partly) return false;
    if (mark == ReplyInput::Match::Yes) in.skip(kMark.size());
    state_ = State::Recipient;
    return true;
  }

  bool recipient(ReplyInput& in, ReplyBuilder& out) {
    const std::array ends{std::string_view("\n")};
    const ReplyInput::Found found = in.find(ends);
    const std::string_view name = trimmed(in.rest().substr(0, found.at));
    const bool is_line = found.which == 0;
    const bool is_long = found.at > kMaxCallName;
    if (!is_line && !is_long && !in.at_end) return false;
    state_ = State::Content;
    if (!is_line || is_long) {
      if (!is_long && name == kEveryone) in.skip(in.rest().size());
      return true;
    }
    if (name == kEveryone) {
      in.skip(found.at + 1);
      in.forget();
    } else if (!name.empty() && name.find_first_of(" {}\"<>") == name.npos && out.offers(name)) {
      out.begin_call(name, "");
      in.skip(found.at + 1);
      scan_ = JsonScan();
      state_ = State::Call;
    }
    return true;
  }

  bool content(ReplyInput& in, ReplyBuilder& out) {
    const std::array marks{kMark};
    const ReplyInput::Found found = in.find(marks);
    out.content(in.rest().substr(0, found.at));
    in.skip(found.at);
    in.forget();
    if (found.which != 0) return false;
    in.skip(kMark.size());
    state_ = State::Recipient;
    return true;
  }

  bool call(ReplyInput& in, ReplyBuilder& out) {
    const CallGrammar::Step step = pass_arguments(in, scan_, out);
    if (step == CallGrammar::Step::More) return false;
    state_ = step == CallGrammar::Step::Again ? State::AfterCall : State::Content;
    return true;
  }

  bool after_call(ReplyInput& in) {
    in.skip_space();
    if (in.rest().empty()) return false;
    in.forget();
    state_ = State::Content;
    return true;
  }

  State state_ = State::Start;
  JsonScan scan_;
};

}  // namespace

extern constexpr ChatFormat kFunctionaryFormat{
    .name = "functionary",
    .detected_by = {{{">>>all", "<|start_header_id|>"}, {">>>${recipient}"}}},
    .think = {},
    .shapes = {{{.call = "$name\n$arguments", .separator = ">>>", .exact = true}}},
    .content_open = "all\n",
    .make_layout = []() -> std::unique_ptr<ReplyLayout> {
      return std::make_unique<FunctionaryReply>();
    },
};

}  // namespace tenon
