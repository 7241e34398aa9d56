// A stranger's C++20 program: prints what the model in argv[1] answers, greedily.
#include <iostream>
#include <tenon/tenon.hpp>

int main(int argc, char** argv) {
  try {
    if (argc < 2) return 2;
    const tenon::Model model(argv[1], {.threads = 1});
    tenon::Session session(model);
    const auto prompt =
        "<|im_start|>user\nWhat is the capital of Norway?<|im_end|>\n<|im_start|>assistant\n";
    for (const auto& piece : session.generate(
             prompt, {.max_tokens = 16, .parse_special = true, .sampler = {.temperature = 0.0}})) {
      std::cout << piece;
    }
    std::cout << '\n';
    return 0;
  } catch (const tenon::Error& error) {
    std::cerr << error.code_name() << ": " << error.what() << '\n';
    return 1;
  }
}
