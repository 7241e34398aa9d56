// POST /v1/decisions with the demo model.
#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

class DecisionsTest : public ServerTest {
 protected:
  static Value body(const Value& questions, const Value& changes = Value::object()) {
    Value body{{"model", "demo"}, {"input", "The fox is red."}, {"questions", questions}};
    body.update(changes);
    return body;
  }
  static Value decide(const Value& body) {
    const Reply reply = server().post("/v1/decisions", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json();
  }
  static Value predicate() {
    return {{"type", "predicate"}, {"name", "red"}, {"instructions", "Is the fox red?"}};
  }
  static Value choice() {
    return {{"type", "choice"},
            {"instructions", "Which animal is it?"},
            {"choices",
             {{{"value", "fox"}, {"description", "small and red"}},
              {{"value", "fox cub"}},
              {{"value", false}}}}};
  }
  static Value score() {
    return {{"type", "score"},
            {"instructions", "How red is it?"},
            {"levels", {{{"label", "1"}}, {{"label", "2.5"}}, {{"label", "4"}}}}};
  }
  static double sum_of(const Value& answer) {
    double sum = 0;
    for (const Value& entry : answer["probabilities"]) sum += entry["probability"].get<double>();
    return sum;
  }
};

TEST_F(DecisionsTest, WrongFieldsAreNamed) {
  const auto refuses = [](const Value& wrong, const std::string& param) {
    expect_refused(server().post("/v1/decisions", wrong), param);
  };
  refuses({{"model", "demo"}, {"questions", Value::array({predicate()})}}, "input");
  refuses({{"model", "demo"}, {"input", "x"}}, "questions");
  refuses(body(Value::array()), "questions");
  refuses(body(Value::array({predicate()}), {{"prompt", "x"}}), "input");
  refuses(body(Value::array({predicate()}), {{"input", 5}}), "input");
  refuses(body(Value::array({predicate()}), {{"stream", true}}), "stream");
  refuses(body(Value::array({predicate(), 5})), "questions[1]");
  refuses(body(Value::array({Value{{"type", "predicate"}}})), "questions[0].instructions");
  refuses(body(Value::array({Value{{"type", "guess"}, {"instructions", "x"}}})),
          "questions[0].type");
  const auto with = [](Value question, const char* field, const Value& value) {
    question[field] = value;
    return body(Value::array({question}));
  };
  refuses(with(predicate(), "labels", Value::array({"yes"})), "questions[0].labels");
  refuses(with(predicate(), "labels", Value::array({"yes", "yes"})), "questions[0].labels");
  refuses(with(predicate(), "name", 5), "questions[0].name");
  refuses(with(predicate(), "instructions", {{{"type", "input_image"}}}),
          "questions[0].instructions[0]");
  refuses(with(choice(), "choices", Value::array({Value{{"value", "a"}}})), "questions[0].choices");
  refuses(with(choice(), "choices", {{{"value", "a"}}, {{"value", ""}}}), "questions[0].choices");
  refuses(with(choice(), "choices", {{{"value", "true"}}, {{"value", true}}}),
          "questions[0].choices");
  refuses(with(choice(), "choices", {{{"value", "a"}}, {{"value", 5}}}),
          "questions[0].choices[1].value");
  refuses(with(score(), "levels", {{{"label", "a"}, {"value", 1}}, {{"label", "b"}}}),
          "questions[0].levels[1].value");
  const Reply longer = server().post(
      "/v1/decisions", body(Value::array({predicate()}), {{"input", std::string(90000, 'x')}}));
  EXPECT_EQ(longer.status, 400);
  EXPECT_EQ(longer.error()["code"], "context_length_exceeded");
}

TEST_F(DecisionsTest, EachKindHasItsShape) {
  const Value all = decide(body(Value::array({predicate(), choice(), score()})));
  ASSERT_EQ(all["answers"].size(), 3u);
  const Value& yes = all["answers"][0];
  EXPECT_EQ(yes["type"], "predicate");
  EXPECT_EQ(yes["name"], "red");
  EXPECT_EQ(yes["probability"], yes["probabilities"][0]["probability"]);
  const Value& animal = all["answers"][1];
  EXPECT_EQ(animal["type"], "choice");
  EXPECT_TRUE(animal["name"].is_null());
  EXPECT_EQ(animal["probabilities"][2]["value"], false);
  EXPECT_TRUE(animal["confidence"].get<double>() >= 1.0 / 3);
  const Value& red = all["answers"][2];
  EXPECT_EQ(red["type"], "score");
  double expectation = 0;
  for (const Value& entry : red["probabilities"]) {
    EXPECT_EQ(entry["value"].get<double>(), std::stod(entry["label"].get<std::string>()));
    expectation += entry["probability"].get<double>() * entry["value"].get<double>();
  }
  EXPECT_NEAR(red["score"].get<double>(), expectation, 1e-12);
  for (const Value& answer : all["answers"]) EXPECT_NEAR(sum_of(answer), 1, 1e-12);
  EXPECT_EQ(all["usage"]["output_tokens"], 0);
  EXPECT_GT(all["usage"]["input_tokens"].get<int>(), 10);
  // A question's answer does not depend on other questions, and messages are equivalent to input.
  EXPECT_EQ(decide(body(Value::array({choice()})))["answers"][0], animal);
  EXPECT_EQ(decide({{"model", "demo"},
                    {"messages", user_message("The fox is red.")},
                    {"questions", Value::array({score()})}})["answers"][0],
            red);
  Value places = score();
  places["levels"] = {{{"label", "low"}}, {{"label", "high"}}};
  EXPECT_EQ(decide(body(Value::array({places})))["answers"][0]["probabilities"][1]["value"], 1.0);
}

TEST_F(DecisionsTest, LogprobsAreThoseOfWholeTexts) {
  const std::string prompt = "Once upon a time there was a";
  const std::vector<std::string> labels = {" fox", " fox named Lily", " lamp"};
  Value choices = Value::array();
  for (const std::string& label : labels) choices.push_back({{"value", label}});
  const Value answer =
      decide({{"model", "demo"},
              {"prompt", prompt},
              {"questions", {{{"type", "choice"}, {"choices", choices}}}}})["answers"][0];
  const auto tokens = [](const std::string& text, bool special) {
    return server()
        .post("/tokenize", {{"model", "demo"}, {"prompt", text}, {"add_special_tokens", special}})
        .json()["tokens"];
  };
  std::vector<double> sums;
  for (size_t i = 0; i < labels.size(); ++i) {
    Value ids = tokens(prompt, true);
    const size_t before = ids.size();
    for (const Value& id : tokens(labels[i], false)) ids.push_back(id);
    const Value echo = server()
                           .post("/v1/completions", {{"model", "demo"},
                                                     {"prompt", ids},
                                                     {"echo", true},
                                                     {"max_tokens", 0},
                                                     {"logprobs", 0}})
                           .json();
    double sum = 0;
    const Value& logprobs = echo["choices"][0]["logprobs"]["token_logprobs"];
    for (size_t k = before; k < logprobs.size(); ++k) sum += logprobs[k].get<double>();
    sums.push_back(sum);
    EXPECT_EQ(answer["probabilities"][i]["logprob"].get<double>(), sum) << labels[i];
  }
  const double total = std::exp(sums[0]) + std::exp(sums[1]) + std::exp(sums[2]);
  EXPECT_NEAR(answer["probabilities"][2]["probability"].get<double>(), std::exp(sums[2]) / total,
              1e-9);
}

}  // namespace
}  // namespace tenon_http::test
