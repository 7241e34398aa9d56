// The fields that say how to draw: those of OpenAI's interfaces, and every option of the library's
// samplers under its own name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tenon/grammar.hpp>
#include <tenon/options.hpp>
#include <tenon/sampler.hpp>
#include <tenon/tokenizer.hpp>
#include <vector>

#include "server/json/fields.h"

namespace tenon_http {

/// How to draw, as a request says it.
struct Sampling {
  tenon::SamplerOptions options = tenon::SamplerOptions();
  std::vector<std::pair<tenon::Token, double>> biases{};
  std::vector<std::string> stops{};
  std::vector<tenon::Token> stop_tokens{};  ///< stop tokens, not part of the answer
  int64_t seed = 0;                         ///< given, or drawn
  bool ignore_end = false;
  int32_t priority = 0;

  [[nodiscard]] bool bans_tokens() const;  ///< by biases
};

/// Throws ApiError naming the field. Names of their own are those of vLLM.
Sampling read_sampling(const Fields& fields, const tenon::Tokenizer& tokenizer);

/// Token limit of an answer; nothing for no limit, also spelled -1, 0 or "".
std::optional<uint64_t> read_max_tokens(const Fields& fields, std::string_view name);

/// Stop texts of `name`: a string, or a list of strings that are not empty. "" means none.
std::vector<std::string> read_stops(const Fields& fields, std::string_view name);

/// The token ids of a list. Throws ApiError at `path` for what is none.
std::vector<tenon::Token> read_token_ids(const Json& list, const std::string& path,
                                         const tenon::Tokenizer& tokenizer);

/// The sampler of the index-th answer.
tenon::Sampler make_sampler(const Sampling& sampling, size_t index);

/// "structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar" of vLLM:
/// what the text must be; nothing when it may be anything. Throws ApiError naming the field.
std::optional<tenon::Grammar> read_structured_outputs(const Fields& fields);

}  // namespace tenon_http
