// Questions of POST /v1/decisions: parsing, possible answers, and formatting of their
// probabilities.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/json/fields.h"

namespace tenon_http {

/// Question with its possible answers.
struct Question {
  enum class Kind : uint8_t { Predicate, Choice, Score };
  Kind kind = Kind::Predicate;
  std::optional<std::string> name{};
  std::string instructions{};
  std::vector<std::string> labels{};        ///< texts to compare by likelihood
  Json::array_t values{};                   ///< [labels] the client's name for each
  std::vector<std::string> descriptions{};  ///< [labels], "" for none
};

/// Reads "questions". Throws ApiError naming the field.
///   needs_instructions  false: a question may be empty, since the prompt asks it
std::vector<Question> read_questions(const Fields& fields, bool needs_instructions);

/// Text of a user's message for a chat model: the instructions, and how to answer.
std::string question_text(const Question& question);

/// Formats an answer as OpenAI's interface does.
///   logprobs  [labels] of the whole texts
Json answer_json(const Question& question, const std::vector<double>& logprobs);

}  // namespace tenon_http
