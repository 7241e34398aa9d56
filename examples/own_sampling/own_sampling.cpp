// Custom sampling loop: the host receives logits, draws from the tokens that a grammar allows, and
// passes its choice to session and matcher. own_sampling MODEL [SEED]
#include <cmath>
#include <exception>
#include <iostream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

constexpr const char* kPrompt =
    "<|im_start|>user\nExtract name and age as JSON: Mia lives in Oslo.<|im_end|>\n"
    "<|im_start|>assistant\n";
constexpr const char* kSchema = R"({"type": "object", "properties": {
  "name": {"type": "string", "minLength": 1, "maxLength": 20},
  "age": {"type": "integer", "minimum": 0, "maximum": 120}},
  "required": ["name", "age"], "additionalProperties": false})";
constexpr uint64_t kMaxTokens = 48;

/// Custom rule: draws by the square root of the probability among the tokens whose bit is set.
tenon::Token choose(std::span<const float> logits, std::span<const uint64_t> allowed,
                    std::mt19937& random) {
  float largest = -INFINITY;
  for (size_t i = 0; i < logits.size(); ++i) {
    if ((allowed[i / 64] >> (i % 64) & 1) != 0) largest = std::max(largest, logits[i]);
  }
  std::vector<double> weights(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if ((allowed[i / 64] >> (i % 64) & 1) == 0) continue;
    weights[i] = std::exp(0.5 * (logits[i] - largest));
  }
  return std::discrete_distribution<tenon::Token>(weights.begin(), weights.end())(random);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) throw std::runtime_error("usage: own_sampling MODEL [SEED]");
  std::mt19937 random(argc > 2 ? static_cast<unsigned>(std::stoul(argv[2])) : 0);
  const tenon::Model model(argv[1]);
  const tenon::Tokenizer tokenizer = model.tokenizer();
  tenon::Session session(model);
  session.append(kPrompt, {.add_special = true, .parse_special = true});

  tenon::Matcher matcher(tenon::Grammar::json_schema(kSchema), tokenizer);
  matcher.set_token_limit(kMaxTokens);  // the document is complete within the limit
  std::vector<uint64_t> allowed((tokenizer.size() + 63) / 64);
  std::vector<tenon::Token> answer;
  while (!matcher.is_ended()) {
    matcher.mask(allowed);
    const tenon::Token token = choose(session.logits(), allowed, random);
    matcher.accept(token);
    session.append(std::span(&token, 1));
    answer.push_back(token);
  }
  std::cout << tokenizer.decode(answer) << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "own_sampling: " << error.what() << '\n';
  return 1;
}
