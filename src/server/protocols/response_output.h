// Output of a response: items, and the events that announce them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/answers/generation.h"
#include "server/json/json_text.h"
#include "server/protocols/custom_tools.h"
#include "server/protocols/response_items.h"

namespace tenon_http {

/// Converts deltas to items: reasoning, messages, calls. Each change is an event; callers that need
/// only the items ignore the events.
class ResponseOutput {
 public:
  /// Members of an event besides its type and number. large: further members as text, each after a
  /// comma.
  using OnEvent = std::function<void(const char* type, Json members, std::string_view large)>;

  struct Form {
    bool logprobs = false;
    bool summarizes = false;  ///< adds a summary to thoughts, equal to their text
  };
  ResponseOutput(std::vector<ResponseTool> tools, tenon::Tokenizer tokenizer, Form form,
                 OnEvent on_event)
      : tools_(std::move(tools)),
        tokenizer_(tokenizer),
        form_(form),
        on_event_(std::move(on_event)) {}

  void add(const AnswerDelta& delta);
  /// Closes the open item. A cut call becomes "incomplete".
  void finish(bool is_cut, const std::vector<DrawnToken>& tokens);
  /// Complete items, as text.
  [[nodiscard]] const ListText& items() const { return items_; }
  /// Estimated size in bytes of what finish() writes.
  [[nodiscard]] size_t num_open_bytes() const { return text_.size() + text_logprobs_.num_bytes(); }

 private:
  enum class Kind : uint8_t { None, Reasoning, Message, Call };

  void open(Kind kind, const AnswerDelta& delta);
  void open_call(const AnswerDelta& delta);
  void close();
  void open_reasoning();
  void close_reasoning();
  void close_message();
  void close_call();
  void end_item();
  /// Records the tokens of the open message; returns them as a list.
  std::string note_tokens(const std::vector<DrawnToken>& tokens);
  /// Sends an event about the open item.
  void emit(const char* type, Json members, std::string_view large = {});
  /// Sends an event about the open item, with the item as text.
  void emit_item(const char* type, const std::string& item);

  std::vector<ResponseTool> tools_;
  tenon::Tokenizer tokenizer_;
  Form form_;
  OnEvent on_event_;
  Kind kind_ = Kind::None;
  Json item_;
  std::string text_;
  ListText text_logprobs_;
  std::string content_;  ///< content of a large open item, as a list
  bool is_custom_ = false;
  CustomInput custom_input_;  ///< parser of a custom tool's call, whose text goes to text_
  bool is_broken_ = false;
  const char* status_ = "completed";
  ListText items_;
};

}  // namespace tenon_http
