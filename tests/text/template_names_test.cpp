// Templates by name, and texts that are no templates.
#include "text/chat/template_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/chat/chat.h"
#include "text/chat_formats/chat_format.h"

namespace tenon {
namespace {

TEST(TemplateNames, TellsTextsFromNames) {
  for (const char* text :
       {"{{ messages[0].content }}", "{% for m in messages %}x{% endfor %}", "a {# b #}"}) {
    EXPECT_TRUE(is_template_text(text)) << text;
  }
  for (const char* text : {"", "chatml", "{ messages }", "templates/chatml.jinja"}) {
    EXPECT_FALSE(is_template_text(text)) << text;
  }
}

TEST(TemplateNames, LeadToTexts) {
  EXPECT_TRUE(template_by_name("chatml-").empty());
  EXPECT_TRUE(template_by_name("plain").empty()) << "a format without a template of its own";
  EXPECT_THAT(template_names(), testing::HasSubstr("chatml"));
  for (const ChatFormat* format : chat_formats()) {
    EXPECT_EQ(template_by_name(format->name), format->own_template);
  }
}

}  // namespace
}  // namespace tenon
