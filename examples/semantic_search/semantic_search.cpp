// Answers a question with the nearest of some texts:
//   semantic_search all-minilm-l6-v2.gguf "how warm is it?" "The sun shines." "It is 30 degrees."
#include <algorithm>
#include <iostream>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: semantic_search MODEL QUESTION TEXT...\n";
    return 2;
  }
  try {
    const tenon::Model model(argv[1], {.embeddings = "on"});
    const tenon::Embedder embedder(model);
    const std::vector<std::string_view> texts(argv + 3, argv + argc);
    const std::vector<float> scores = embedder.rank(argv[2], texts);
    const auto best = std::max_element(scores.begin(), scores.end());
    std::cout << texts[static_cast<size_t>(best - scores.begin())] << "\n";
  } catch (const tenon::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
