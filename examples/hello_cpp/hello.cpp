#include <iostream>
#include <tenon/tenon.hpp>

int main(int argc, char** argv) {
  tenon::Model model(argc > 1 ? argv[1] : "examples/models/demo-q8_0.gguf");
  tenon::Session session(model);
  for (auto piece : session.generate("Once upon a time", {.max_tokens = 64}))
    std::cout << piece << std::flush;
}
