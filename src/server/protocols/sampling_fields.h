// Sampling fields: those of OpenAI's interfaces, and each option of the library's samplers under
// its own name.
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

/// Sampling settings of a request.
struct Sampling {
  tenon::SamplerOptions options = tenon::SamplerOptions();
  std::vector<std::pair<tenon::Token, double>> biases{};
  std::vector<std::string> stops{};
  std::vector<tenon::Token> stop_tokens{};  ///< stop tokens, not part of the answer
  int64_t seed = 0;                         ///< given or random
  bool ignore_end = false;
  int32_t priority = 0;
  int32_t speculation = TENON_SPECULATION_DEFAULT;
  uint32_t draft_max = 0;  ///< 0: as the model says

  [[nodiscard]] bool bans_tokens() const;  ///< True if a bias bans a token.
};

/// Throws ApiError naming the field. Fields unknown to OpenAI have vLLM's names.
Sampling read_sampling(const Fields& fields, const tenon::Tokenizer& tokenizer);

/// Token limit of an answer; empty for no limit, also spelled -1, 0 or "".
std::optional<uint64_t> read_max_tokens(const Fields& fields, std::string_view name);

/// Stop texts under `name`: a string, or a list of non-empty strings. "" means none.
std::vector<std::string> read_stops(const Fields& fields, std::string_view name);

/// Token ids of a list. Throws ApiError at `path` for any other value.
std::vector<tenon::Token> read_token_ids(const Json& list, const std::string& path,
                                         const tenon::Tokenizer& tokenizer);

/// Sampler of answer number `index`.
tenon::Sampler make_sampler(const Sampling& sampling, size_t index);

/// Reads the constraint on the text from vLLM's "structured_outputs", "guided_json",
/// "guided_regex", "guided_choice" and "guided_grammar"; empty for none. Throws ApiError naming the
/// field.
std::optional<tenon::Grammar> read_structured_outputs(const Fields& fields);

}  // namespace tenon_http
