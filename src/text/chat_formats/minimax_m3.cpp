// MiniMax M3, whose lists and objects are nested tags, each after the same mark M:
//   M<tool_call>\nM<invoke name="f">M<key>valueM</key>M<list>M<item>1M</item>M</list>M</invoke>\n
//   M</tool_call>
#include <array>
#include <vector>

#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/json_scan.h"
#include "text/chat_formats/tagged_calls.h"
#include "text/unicode/json_escapes.h"

namespace tenon {
namespace {

#define TENON_M "]<]minimax[>["

constexpr std::string_view kMiniMaxMark = TENON_M;
constexpr std::string_view kInvoke = TENON_M "<invoke name=\"";
constexpr std::string_view kSectionClose = TENON_M "</tool_call>";
constexpr size_t kMaxMiniMaxDepth = 64;

class MiniMaxM3Calls : public CallGrammar {
 public:
  void begin(size_t) override {
    state_ = State::Between;
    any_ = false;
  }

  Step step(ReplyInput& in, CallOutput& out) override {
    switch (state_) {
      case State::Between:
        return between(in);
      case State::Name:
        return name(in, out);
      case State::Inside:
        return inside(in, out);
    }
    return Step::Broken;
  }

 private:
  enum class State : uint8_t { Between, Name, Inside };
  /// The content of an element decides whether it is a value, a list or an object.
  enum class Holds : uint8_t { Text, List, Object };
  struct Element {
    std::string name;
    std::string path;  ///< path for CallOutput::kinds_of
    JsonKinds kinds;
    Holds holds = Holds::Text;
    size_t count = 0;
    std::string text{};
    [[nodiscard]] bool is_string() const { return kinds == kStringKind; }
  };

  Step between(ReplyInput& in) {
    in.skip_space();
    if (in.rest().empty() && in.at_end) return any_ ? Step::Done : Step::Broken;
    if (in.rest().empty()) return Step::More;
    const ReplyInput::Match invoke = in.match(kInvoke), close = in.match(kSectionClose);
    if (invoke == ReplyInput::Match::Yes) {
      in.skip(kInvoke.size());
      state_ = State::Name;
      return Step::Again;
    }
    if (close == ReplyInput::Match::Yes) {
      in.skip(kSectionClose.size());
      return Step::Done;
    }
    const bool may_come = invoke == ReplyInput::Match::Partly || close == ReplyInput::Match::Partly;
    return may_come ? Step::More : Step::Broken;
  }

  Step name(ReplyInput& in, CallOutput& out) {
    constexpr std::array<std::string_view, 1> kEnd{"\">"};
    const ReplyInput::Found found = in.find(kEnd);
    if (found.at > kMaxCallName) return Step::Broken;
    if (found.which != 0) return in.at_end ? Step::Broken : Step::More;
    tool_ = trimmed(in.rest().substr(0, found.at));
    if (tool_.empty() || tool_.find_first_of("\n<>{}\"") != tool_.npos) return Step::Broken;
    in.skip(found.at + kEnd[0].size());
    out.begin_call(tool_, "");
    any_ = true;
    open_.clear();
    open_.push_back({"invoke", "", kObjectKind, Holds::Object});
    state_ = State::Inside;
    return Step::Again;
  }

  /// Reads text, then a tag.
  Step inside(ReplyInput& in, CallOutput& out) {
    const std::array markers{kMiniMaxMark};
    const ReplyInput::Found found = in.find(markers);
    if (!add_text(in.rest().substr(0, found.at), out)) return Step::Broken;
    in.skip(found.at);
    if (found.which != 0) return in.at_end ? Step::Broken : Step::More;
    constexpr std::array<std::string_view, 1> kTagEnd{">"};
    const ReplyInput::Found end = in.find(kTagEnd, kMiniMaxMark.size());
    if (end.at > kMiniMaxMark.size() + kMaxCallName) return Step::Broken;
    if (end.which != 0) return in.at_end ? Step::Broken : Step::More;
    const std::string tag(in.rest().substr(kMiniMaxMark.size(), end.at - kMiniMaxMark.size()));
    in.skip(end.at + 1);
    if (tag.starts_with("</")) return close(std::string_view(tag).substr(2), out);
    if (!tag.starts_with('<') || tag.size() == 1) return Step::Broken;
    return open(std::string_view(tag).substr(1), out);
  }

  /// False if text is not allowed at this point.
  bool add_text(std::string_view text, CallOutput& out) {
    Element& top = open_.back();
    if (top.holds != Holds::Text) return without_space_before(text).empty();
    if (!top.is_string()) {
      top.text += text;
      return true;
    }
    top.count += text.size();
    std::string json;
    append_json_escaped(text, json);
    out.arguments(json);
    return true;
  }

  Step open(std::string_view name, CallOutput& out) {
    Element& top = open_.back();
    if (top.holds == Holds::Text) {
      const bool can_hold = !top.is_string() && without_space_before(top.text).empty();
      if (!can_hold || open_.size() == kMaxMiniMaxDepth) return Step::Broken;
      const bool may_be_list = top.kinds == kAnyKind || (top.kinds & kListKind) != 0;
      top.holds = name == "item" && may_be_list ? Holds::List : Holds::Object;
    }
    const bool listed = top.holds == Holds::List;
    if (listed && name != "item") return Step::Broken;
    std::string json = top.count++ > 0 ? ", " : listed ? "[" : "{";
    if (!listed) {
      append_json_string(name, json);
      json += ": ";
    }
    std::string path =
        top.path.empty() ? std::string(name) : top.path + kPathSeparator + std::string(name);
    const JsonKinds kinds = out.kinds_of(tool_, path);
    open_.push_back({std::string(name), std::move(path), kinds});
    if (open_.back().is_string()) json += '"';
    out.arguments(json);
    return Step::Again;
  }

  Step close(std::string_view name, CallOutput& out) {
    const Element& top = open_.back();
    if (name != top.name) return Step::Broken;
    if (top.holds == Holds::List) {
      out.arguments("]");
    } else if (top.holds == Holds::Object) {
      out.arguments(top.count > 0 ? "}" : "{}");
    } else if (top.is_string()) {
      out.arguments("\"");
    } else if (trimmed(top.text).empty() && (top.kinds & ~(kListKind | kNullKind)) == 0) {
      out.arguments("[]");
    } else if (trimmed(top.text).empty() && (top.kinds & ~(kObjectKind | kNullKind)) == 0) {
      out.arguments("{}");
    } else {
      out.arguments(tagged_value_json(top.text, top.kinds));
    }
    open_.pop_back();
    if (!open_.empty()) return Step::Again;
    out.end_call();
    state_ = State::Between;
    return Step::Again;
  }

  State state_ = State::Between;
  bool any_ = false;  // a call has been read
  std::string tool_;
  std::vector<Element> open_;  // the call, then its open elements
};

}  // namespace

extern constexpr ChatFormat kMiniMaxM3Format{
    .name = "minimax-m3",
    .detected_by = {{{kMiniMaxMark, "<invoke name="}}},
    .think = {"<mm:think>", "</mm:think>"},
    .call_openers = {TENON_M "<tool_call>"},
    .dropped = {"</mm:think>"},
    .make_calls = []() -> std::unique_ptr<CallGrammar> {
      return std::make_unique<MiniMaxM3Calls>();
    },
    // Lists and objects may be JSON within their tags, which the parser also accepts.
    .shapes = {{{.call = TENON_M "<invoke name=\"$name\">$parameters" TENON_M "</invoke>\n",
                 .trigger = TENON_M "<tool_call>",
                 .open = TENON_M "<tool_call>\n",
                 .close = kSectionClose,
                 .parameter = TENON_M "<$key>$value" TENON_M "</$key>"}}},
};

#undef TENON_M

}  // namespace tenon
