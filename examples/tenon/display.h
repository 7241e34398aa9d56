// Shows an answer as it arrives; tool calls get lines of their own.
#pragma once

#include <tenon/tenon.hpp>

namespace tenon_program {

class Display {
 public:
  void show(const tenon::ChatDelta& delta);
  void end();

 private:
  void enter(int32_t kind);
  int32_t last_ = 0;
};

}  // namespace tenon_program
