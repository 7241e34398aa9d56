// FunctionGemma and Gemma 4, whose arguments are JSON with bare keys and special quotes:
//   <start_function_call>call:f{key:<escape>text<escape>,n:3}<end_function_call>
//   <|tool_call>call:f{key:<|"|>text<|"|>,n:3}<tool_call|>
#include <array>
#include <optional>

#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_scan.h"
#include "text/unicode/json_escapes.h"

namespace tenon {
namespace {

class GemmaCalls : public CallGrammar {
 public:
  GemmaCalls(std::string_view quote, std::string_view open, std::string_view close)
      : quote_(quote), open_(open), close_(close) {}

  void begin(size_t) override { state_ = State::Head; }

  Step step(ReplyInput& in, CallOutput& out) override {
    switch (state_) {
      case State::Head:
        return head(in, out);
      case State::Plain:
        return plain(in, out);
      case State::Quoted:
        return quoted(in, out);
      case State::Close:
        return close(in, out);
      case State::Next: {
        const ReplyInput::Match match = in.match(open_);
        if (match == ReplyInput::Match::Partly) return Step::More;
        if (match == ReplyInput::Match::No) return Step::Done;
        in.skip(open_.size());
        state_ = State::Head;
        return Step::Again;
      }
    }
    return Step::Broken;
  }

 private:
  enum class State : uint8_t { Head, Plain, Quoted, Close, Next };

  Step head(ReplyInput& in, CallOutput& out) {
    constexpr std::array<std::string_view, 1> kBrace{"{"};
    in.skip_space();
    const ReplyInput::Found found = in.find(kBrace);
    if (found.at > kMaxCallName) return Step::Broken;
    if (found.which != 0) return in.at_end ? Step::Broken : Step::More;
    const std::string_view text = in.rest().substr(0, found.at);
    if (!text.starts_with("call:") || text.size() == 5) return Step::Broken;
    out.begin_call(text.substr(5), "");
    in.skip(found.at);
    scan_ = JsonScan();
    word_.clear();
    state_ = State::Plain;
    return Step::Again;
  }

  /// Passes JSON on and tracks its state. False if it is invalid.
  bool pass(std::string_view json, CallOutput& out) {
    for (const char c : json) {
      const JsonScan::State state = scan_.feed(c);
      if (state == JsonScan::State::Bad) return false;
      if (state == JsonScan::State::Complete) state_ = State::Close;
    }
    out.arguments(json);
    return true;
  }

  Step plain(ReplyInput& in, CallOutput& out) {
    const std::string_view text = in.rest();
    if (text.empty()) return in.at_end ? Step::Broken : Step::More;
    const ReplyInput::Match is_quote = in.match(quote_);
    if (is_quote == ReplyInput::Match::Partly) return Step::More;
    if (is_quote == ReplyInput::Match::Yes) {
      in.skip(quote_.size());
      if (!word_.empty() || !pass("\"", out)) return Step::Broken;
      state_ = State::Quoted;
      return Step::Again;
    }
    const char c = text[0];
    in.skip(1);
    if (std::string_view("{}[],:").find(c) == std::string_view::npos) {
      word_ += c;
      return word_.size() > kMaxCallName ? Step::Broken : Step::Again;
    }
    std::string_view word = word_;
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    std::string json;
    const std::optional<std::string> value = c != ':' ? repaired_json(word) : std::nullopt;
    if (value)
      json = *value;
    else if (!word.empty())
      append_json_string(word, json);
    word_.clear();
    json += c;
    if (c == ',' || c == ':') json += ' ';
    return pass(json, out) ? Step::Again : Step::Broken;
  }

  Step quoted(ReplyInput& in, CallOutput& out) {
    const std::array markers{quote_};
    const ReplyInput::Found found = in.find(markers);
    std::string json;
    append_json_escaped(in.rest().substr(0, found.at), json);
    const bool whole = found.which == 0;
    if (whole) json += '"';
    if (!pass(json, out)) return Step::Broken;
    in.skip(found.at + (whole ? quote_.size() : 0));
    if (!whole) return in.at_end ? Step::Broken : Step::More;
    state_ = State::Plain;
    return Step::Again;
  }

  Step close(ReplyInput& in, CallOutput& out) {
    in.skip_space();
    const ReplyInput::Match match = in.match(close_);
    if (match == ReplyInput::Match::Partly) return Step::More;
    if (match == ReplyInput::Match::No && !in.rest().empty()) return Step::Broken;
    in.skip(match == ReplyInput::Match::Yes ? close_.size() : 0);
    out.end_call();
    state_ = State::Next;
    return Step::Again;
  }

  std::string_view quote_, open_, close_;
  State state_ = State::Head;
  std::string word_;
  JsonScan scan_;
};

}  // namespace

extern constexpr ChatFormat kGemmaFormat{
    .name = "gemma",
    .detected_by = {{{"<start_function_call>"}}},
    .call_openers = {"<start_function_call>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<GemmaCalls>("<escape>", "<start_function_call>",
                                          "<end_function_call>");
    },
    .shapes = {{{.call = "<start_function_call>call:$name{$parameters}<end_function_call>",
                 .trigger = "<start_function_call>",
                 .quote = "<escape>"}}},
};

extern constexpr ChatFormat kGemma4Format{
    .name = "gemma-4",
    .detected_by = {{{"<|tool_call>", "<|channel>"}, {"<|tool_call>", "<tool_call|>"}}},
    .think = {"<|channel>thought\n", "<channel|>"},
    .call_openers = {"<|tool_call>"},
    .dropped = {"<|channel>thought\n<channel|>", "<|channel>thought<channel|>", "<|channel>",
                "<channel|>", "<|tool_response>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<GemmaCalls>("<|\"|>", "<|tool_call>", "<tool_call|>");
    },
    .shapes = {{{.call = "<|tool_call>call:$name{$parameters}<tool_call|>",
                 .trigger = "<|tool_call>",
                 .quote = "<|\"|>"}}},
};

}  // namespace tenon
