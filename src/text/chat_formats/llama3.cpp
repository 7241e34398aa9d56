// Llama 3.1 to 3.3 and 4: JSON as the whole answer, or after the Python tag; also
//   <function=f>{...}</function>
//   [f(key="value")]                          list of calls in Python
//   <|python_tag|>f.call(key="value")         built-in tools of the model
//   <|python_tag|>print("any other code")     call of the tool "python"
#include <algorithm>
#include <initializer_list>

#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_calls.h"
#include "text/chat_formats/named_calls.h"
#include "text/chat_formats/python_calls.h"
#include "text/unicode/json_escapes.h"

namespace tenon {
namespace {

constexpr std::string_view kMethod = ".call";

class Llama3Calls : public CallGrammar {
 public:
  explicit Llama3Calls(std::string_view tag_close)
      : tag_close_(tag_close),
        plain_({.close = tag_close}),
        listed_({.close = tag_close, .only_offered = true}),
        method_({.close = "", .method = kMethod, .listed = false}) {}

  void begin(size_t opener) override {
    kind_ = opener == kFunction ? Kind::Named : Kind::Open;
    has_tag_ = opener == kTag;
    for (CallGrammar* grammar :
         std::initializer_list<CallGrammar*>{&plain_, &named_, &listed_, &method_}) {
      grammar->begin(opener);
    }
  }

  Step step(ReplyInput& in, CallOutput& out) override {
    switch (kind_) {
      case Kind::Open:
        return decide(in, out);
      case Kind::Plain:
        return plain_.step(in, out);
      case Kind::Named:
        return named_.step(in, out);
      case Kind::Listed:
        return listed_.step(in, out);
      case Kind::Method:
        return method_.step(in, out);
      case Kind::Code:
        return code(in, out);
    }
    return Step::Broken;
  }

 private:
  enum class Kind : uint8_t { Open, Plain, Named, Listed, Method, Code };
  static constexpr size_t kTag = 0, kFunction = 1;

  Step decide(ReplyInput& in, CallOutput& out) {
    in.skip_space();
    const std::string_view text = in.rest();
    const std::string_view inside =
        without_space_before(text.substr(text.starts_with('[') ? 1 : 0));
    if (inside.empty()) return in.at_end ? Step::Broken : Step::More;
    if (inside[0] == '{') {
      kind_ = Kind::Plain;
    } else if (text[0] == '[') {
      kind_ = Kind::Listed;
    } else if (!has_tag_) {
      return Step::Broken;
    } else {
      const size_t end = text.find('(');
      if (end == text.npos && text.size() <= kMaxCallName && !in.at_end &&
          text.find_first_of(" \n=") == text.npos) {
        return Step::More;
      }
      const std::string_view head = text.substr(0, std::min(end, text.size()));
      const bool is_method = head.find_first_of(" \n=") == head.npos && head.ends_with(kMethod);
      kind_ = is_method ? Kind::Method : Kind::Code;
      if (!is_method) {
        out.begin_call("python", "");
        out.arguments("{\"code\": \"");
      }
    }
    return Step::Again;
  }

  /// Reads code up to the end of the answer or of the tag.
  Step code(ReplyInput& in, CallOutput& out) {
    const std::array markers{tag_close_};
    const ReplyInput::Found found = in.find(markers);
    const bool closed = found.which == 0;
    std::string json;
    append_json_escaped(in.rest().substr(0, found.at), json);
    out.arguments(json);
    in.skip(found.at + (closed ? tag_close_.size() : 0));
    if (!closed && !in.at_end) return Step::More;
    out.arguments("\"}");
    out.end_call();
    return Step::Done;
  }

  std::string_view tag_close_;
  JsonCalls plain_;
  NamedCalls named_{
      NamedCallLayout{.name_end = ">", .call_close = "</function>", .next_call = "<function="}};
  PythonCalls listed_, method_;
  Kind kind_ = Kind::Open;
  bool has_tag_ = false;
};

constexpr CallShape kShape{.call = "{\"name\": \"$name\", \"parameters\": $arguments}",
                           .trigger = "{\"name\"",
                           .only_at_start = true,
                           .single = true};

}  // namespace

extern constexpr ChatFormat kLlama3Format{
    .name = "llama3",
    .detected_by = {{{"<|start_header_id|>", "<|eot_id|>"}, {"<|python_tag|>"}}},
    .call_openers = {"<|python_tag|>", "<function="},
    .bare_begins = "{[",
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<Llama3Calls>("");
    },
    .shapes = {{kShape}},
};

extern constexpr ChatFormat kLlama4Format{
    .name = "llama4",
    .detected_by = {{{"<|header_start|>", "<|eot|>"}}},
    .call_openers = {"<|python_start|>", "<function="},
    .bare_begins = "{[",
    .dropped = {"<|python_end|>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<Llama3Calls>("<|python_end|>");
    },
    .shapes = {{kShape}},
};

}  // namespace tenon
