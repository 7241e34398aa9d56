// The questions of POST /v1/decisions: what is asked, which answers there may be, and how an answer's
// probabilities are told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/json/fields.h"

namespace tenon_http {

/// One question and its possible answers.
struct Question {
  enum class Kind : uint8_t { Predicate, Choice, Score };
  Kind kind = Kind::Predicate;
  std::optional<std::string> name{};
  std::string instructions{};
  std::vector<std::string> labels{};        ///< the texts whose likelihoods are compared
  Json::array_t values{};                   ///< [labels] the client's name of each
  std::vector<std::string> descriptions{};  ///< [labels], "" for none
};

/// Reads "questions". Throws ApiError naming the field.
///   needs_instructions  else a question may be empty: the prompt asks it
std::vector<Question> read_questions(const Fields& fields, bool needs_instructions);

/// What a user asks a model that chats: the instructions, and how to answer.
std::string question_text(const Question& question);

/// The answer in the form of OpenAI's interface.
///   logprobs  [labels] of the whole texts
Json answer_json(const Question& question, const std::vector<double>& logprobs);

}  // namespace tenon_http
