#include "display.h"

#include <string>

#include "terminal.h"

namespace tenon_program {

void Display::show(const tenon::ChatDelta& delta) {
  switch (delta.kind) {
    case TENON_CHAT_CONTENT:
      enter(delta.kind);
      print(delta.text);
      break;
    case TENON_CHAT_REASONING:
      enter(delta.kind);
      print(styled(stdout_style(), Style::Dim, std::string(delta.text)));
      break;
    case TENON_CHAT_CALL_BEGIN:
      enter(delta.kind);
      print("[" + std::string(delta.text) + " ");
      break;
    case TENON_CHAT_ARGUMENTS:
      print(delta.text);
      break;
    case TENON_CHAT_CALL_END:
      print("]");
      break;
    case TENON_CHAT_CALL_RETRACT:
      print(" ...]\n");
      last_ = 0;
      break;
    default:
      break;
  }
  flush();
}

void Display::end() {
  if (last_ == TENON_CHAT_REASONING) print("\n</think>");
  print("\n");
  flush();
}

void Display::enter(int32_t kind) {
  if (last_ == kind && kind != TENON_CHAT_CALL_BEGIN) return;
  if (last_ == TENON_CHAT_REASONING) {
    print("\n</think>\n");
  } else if (last_ != 0) {
    print("\n");
  }
  if (kind == TENON_CHAT_REASONING) print("<think>\n");
  last_ = kind;
}

}  // namespace tenon_program
