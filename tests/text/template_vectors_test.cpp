// Templates of published models against Jinja2's output, byte by byte. Needs ../shared.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/template/chat_template.h"
#include "text/template/jinja_strftime.h"
#include "text/template/json_values.h"

namespace tenon {
namespace {

using jinja::Kind;
using jinja::Value;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_in(const Value& object, std::string_view key) {
  const Value* found = object.entries().find(key);
  return found != nullptr && found->is(Kind::String) ? found->text().bytes() : "";
}

void check_case(const ChatTemplate& chat, const Value& file, const Value& conversation) {
  const std::string name = text_in(conversation, "name");
  SCOPED_TRACE(name);
  ChatTemplate::Variables variables{{"bos_token", *file.entries().find("bos_token")},
                                    {"eos_token", *file.entries().find("eos_token")}};
  for (const auto& [key, value] : conversation.entries().entries) {
    const std::string& variable = key.text().bytes();
    if (variable == "name" || variable == "expected" || variable == "error") continue;
    variables.emplace(variable, value);
  }
  const auto now = jinja::parse_time(text_in(file, "now"));
  ASSERT_TRUE(now);
  const std::string error = text_in(conversation, "error");
  try {
    const jinja::Text text = chat.render(variables, {}, now);
    EXPECT_EQ(error, "") << "rendered " << text.view();
    EXPECT_EQ(text.view(), text_in(conversation, "expected"));
  } catch (const Error& caught) {
    EXPECT_EQ(caught.code(), Code::Template) << caught.what();
    EXPECT_NE(error, "") << caught.what();
    EXPECT_NE(std::string(caught.what()).find(error), std::string::npos) << caught.what() << "\n"
                                                                         << error;
  }
}

TEST(TemplateVectors, RenderAsJinja2) {
  const std::filesystem::path folder = TENON_SHARED_DIR "/vectors/templates";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  size_t num_templates = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja") continue;
    SCOPED_TRACE(entry.path().filename());
    const std::filesystem::path cases =
        std::filesystem::path(entry.path()).replace_extension("json");
    const Value file = jinja::value_from_json(content_of(cases), "cases");
    const ChatTemplate chat(content_of(entry.path()), entry.path().filename().string());
    for (const Value& one : file.entries().find("cases")->items().values) {
      check_case(chat, file, one);
    }
    ++num_templates;
  }
  EXPECT_GE(num_templates, 33u);
}

}  // namespace
}  // namespace tenon
