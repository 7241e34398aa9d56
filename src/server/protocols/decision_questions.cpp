#include "server/protocols/decision_questions.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "server/api_error.h"
#include "server/protocols/chat_messages.h"

namespace tenon_http {
namespace {

// Limits of OpenAI's interface.
constexpr size_t kMaxQuestions = 400;
constexpr size_t kMaxLabels = 255;

void add_label(const Fields& question, std::string_view field, Question& into, std::string label,
               Json value) {
  if (label.empty()) question.refuse(field, "must hold texts that are not empty");
  if (std::find(into.labels.begin(), into.labels.end(), label) != into.labels.end()) {
    question.refuse(field, "\"" + label + "\" is there twice: equal texts are equally likely");
  }
  into.labels.push_back(std::move(label));
  into.values.push_back(std::move(value));
  into.descriptions.emplace_back();
}

const Json& answers_of(const Fields& question, std::string_view field) {
  const Json* answers = question.list(field);
  if (answers == nullptr) question.refuse(field, "is missing");
  if (answers->size() < 2 || answers->size() > kMaxLabels) {
    question.refuse(field, "must have 2 to 255 entries");
  }
  return *answers;
}

void read_predicate(const Fields& fields, Question& question) {
  const Json* labels = fields.list("labels");
  if (labels == nullptr) {
    add_label(fields, "labels", question, "Yes", true);
    add_label(fields, "labels", question, "No", false);
    return;
  }
  if (labels->size() != 2 || !(*labels)[0].is_string() || !(*labels)[1].is_string()) {
    fields.refuse("labels", "must be two texts: for true, and for false");
  }
  add_label(fields, "labels", question, (*labels)[0], true);
  add_label(fields, "labels", question, (*labels)[1], false);
}

void read_choice(const Fields& fields, Question& question) {
  const Json& choices = answers_of(fields, "choices");
  for (size_t i = 0; i < choices.size(); ++i) {
    const Fields choice(choices[i], item_path(fields.path_of("choices"), i));
    const Json& value = choice.required("value");
    if (!value.is_string() && !value.is_boolean()) {
      choice.refuse("value", "must be a string, true or false");
    }
    add_label(fields, "choices", question,
              value.is_string() ? value.get<std::string>() : to_text(value), value);
    if (const std::string* text = choice.text("description")) question.descriptions[i] = *text;
  }
}

/// Number that the whole label spells; empty for other labels.
std::optional<double> number_of(const std::string& label) {
  double number = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), number);
  const bool is_all = error == std::errc() && end == label.data() + label.size();
  return is_all && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// Value of a level: the given one; else the label, if all labels are numbers; else the index.
void read_score(const Fields& fields, Question& question) {
  const Json& levels = answers_of(fields, "levels");
  bool has_numbers = true;
  for (size_t i = 0; i < levels.size(); ++i) {
    const Fields level(levels[i], item_path(fields.path_of("levels"), i));
    const std::optional<double> value = level.number("value", -1e15, 1e15);
    if (i > 0 && value.has_value() != !question.values[0].is_null()) {
      level.refuse("value", "must be there for all levels or for none");
    }
    add_label(fields, "levels", question, level.required_text("label"),
              value ? Json(*value) : Json(nullptr));
    has_numbers = has_numbers && number_of(question.labels.back());
    if (const std::string* text = level.text("description")) question.descriptions[i] = *text;
  }
  if (!question.values[0].is_null()) return;
  for (size_t i = 0; i < levels.size(); ++i) {
    question.values[i] = has_numbers ? *number_of(question.labels[i]) : static_cast<double>(i);
  }
}

Question read_question(const Fields& fields, bool needs_instructions) {
  Question question;
  if (const std::string* name = fields.text("name")) question.name = *name;
  const Json* instructions = fields.find("instructions");
  if (instructions != nullptr) {
    question.instructions = text_of_content(*instructions, fields.path_of("instructions"));
  }
  if (needs_instructions && question.instructions.empty()) {
    fields.refuse("instructions", "is missing: it says what is asked");
  }
  const std::string& type = fields.required_text("type");
  if (type == "predicate") {
    read_predicate(fields, question);
  } else if (type == "choice") {
    question.kind = Question::Kind::Choice;
    read_choice(fields, question);
  } else if (type == "score") {
    question.kind = Question::Kind::Score;
    read_score(fields, question);
  } else {
    fields.refuse("type", R"(must be "predicate", "choice" or "score")");
  }
  return question;
}

/// Softmax over the logprobs of whole texts.
std::vector<double> shares_of(const std::vector<double>& logprobs) {
  const double most = *std::max_element(logprobs.begin(), logprobs.end());
  std::vector<double> shares;
  double total = 0;
  for (const double logprob : logprobs) {
    // If all answers are impossible, weigh them equally.
    shares.push_back(std::isinf(most) ? 1 : std::exp(logprob - most));
    total += shares.back();
  }
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace

std::vector<Question> read_questions(const Fields& fields, bool needs_instructions) {
  const Json* list = fields.list("questions");
  if (list == nullptr) fields.refuse("questions", "is missing");
  if (list->empty() || list->size() > kMaxQuestions) {
    fields.refuse("questions", "must have 1 to 400 entries");
  }
  std::vector<Question> questions;
  for (size_t i = 0; i < list->size(); ++i) {
    questions.push_back(
        read_question(Fields((*list)[i], item_path("questions", i)), needs_instructions));
  }
  return questions;
}

std::string question_text(const Question& question) {
  std::string text = question.instructions;
  if (question.kind == Question::Kind::Predicate) {
    return text + "\n\nAnswer with " + question.labels[0] + " or " + question.labels[1] +
           ", and nothing else.";
  }
  text += question.kind == Question::Kind::Choice
              ? "\n\nAnswer with one of these choices, and nothing else:"
              : "\n\nAnswer with one of these levels, and nothing else:";
  for (size_t i = 0; i < question.labels.size(); ++i) {
    text += "\n- " + question.labels[i];
    if (!question.descriptions[i].empty()) text += ": " + question.descriptions[i];
  }
  return text;
}

Json answer_json(const Question& question, const std::vector<double>& logprobs) {
  const std::vector<double> shares = shares_of(logprobs);
  const auto likeliest =
      static_cast<size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
  const bool is_score = question.kind == Question::Kind::Score;
  Json probabilities = Json::array();
  double expectation = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    Json entry = is_score ? Json{{"label", question.labels[i]}} : Json::object();
    entry["value"] = question.values[i];
    entry["probability"] = shares[i];
    entry["logprob"] = std::max(logprobs[i], -9999.0);
    probabilities.push_back(std::move(entry));
    if (is_score) expectation += shares[i] * question.values[i].get<double>();
  }
  Json answer{{"type", nullptr}, {"name", question.name ? Json(*question.name) : Json(nullptr)}};
  if (question.kind == Question::Kind::Predicate) {
    answer["type"] = "predicate";
    answer["probability"] = shares[0];
  } else {
    answer["type"] = is_score ? "score" : "choice";
    answer[is_score ? "score" : "choice"] =
        is_score ? Json(expectation) : question.values[likeliest];
    answer["confidence"] = shares[likeliest];
  }
  answer["probabilities"] = std::move(probabilities);
  return answer;
}

}  // namespace tenon_http
