// Llama 3.1 to 3.3: JSON as the whole answer, or behind the Python tag; also
//   <function=f>{...}</function>
#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_calls.h"
#include "text/chat_formats/named_calls.h"

namespace tenon {
namespace {

class Llama3Calls : public CallGrammar {
 public:
  void begin(size_t opener) override {
    is_named_ = opener == 1;
    is_code_ = is_decided_ = false;
    is_python_ = opener == 0;
    plain_.begin(opener);
    named_.begin(opener);
  }

  Step step(ReplyInput& in, CallOutput& out) override {
    if (is_named_) return named_.step(in, out);
    if (is_code_) return code(in, out);
    if (is_python_ && !is_decided_) {
      in.skip_space();
      if (in.rest().empty()) return in.at_end ? Step::Broken : Step::More;
      is_decided_ = true;
      is_code_ = in.rest()[0] != '{' && in.rest()[0] != '[';
      if (is_code_) {
        out.begin_call("python", "");
        out.arguments("{\"code\": \"");
      }
      return Step::Again;
    }
    return plain_.step(in, out);
  }

 private:
  /// What is no JSON behind the Python tag is code, up to the end of the answer.
  Step code(ReplyInput& in, CallOutput& out) {
    std::string json;
    append_json_escaped(in.rest(), json);
    out.arguments(json);
    in.skip(in.rest().size());
    if (!in.at_end) return Step::More;
    out.arguments("\"}");
    out.end_call();
    return Step::Done;
  }

  JsonCalls plain_{JsonCallLayout{}};
  NamedCalls named_{
      NamedCallLayout{.name_end = ">", .call_close = "</function>", .next_call = "<function="}};
  bool is_named_ = false, is_python_ = false, is_code_ = false, is_decided_ = false;
};

}  // namespace

extern constexpr ChatFormat kLlama3Format{
    .name = "llama3",
    .detected_by = {{{"<|start_header_id|>", "<|eot_id|>"}, {"<|python_tag|>"}}},
    .call_openers = {"<|python_tag|>", "<function="},
    .bare_json = true,
    .make_calls = []() -> std::unique_ptr<CallGrammar> { return std::make_unique<Llama3Calls>(); },
    .shapes = {{{.call = "{\"name\": \"$name\", \"parameters\": $arguments}",
                 .trigger = "{\"name\"",
                 .only_at_start = true,
                 .single = true}}},
};

}  // namespace tenon
