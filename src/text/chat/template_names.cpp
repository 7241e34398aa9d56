#include "text/chat/template_names.h"

#include "text/chat_formats/chat_format.h"

namespace tenon {
namespace {

struct NamedTemplate {
  std::string_view name;
  std::string_view source;
};

constexpr NamedTemplate kTemplates[] = {
    {"chatml",
     "{% for message in messages %}"
     "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"},
};

}  // namespace

bool is_template_text(std::string_view text) {
  for (const char* mark : {"{{", "{%", "{#"}) {
    if (text.find(mark) != text.npos) return true;
  }
  return false;
}

std::string_view template_by_name(std::string_view name) {
  for (const NamedTemplate& one : kTemplates) {
    if (one.name == name) return one.source;
  }
  const ChatFormat* format = find_chat_format(name);
  return format == nullptr ? std::string_view() : format->own_template;
}

std::string template_names() {
  std::string names;
  const auto add = [&names](std::string_view name) {
    names.append(names.empty() ? "" : ", ").append(name);
  };
  for (const NamedTemplate& one : kTemplates) add(one.name);
  for (const ChatFormat* format : chat_formats()) {
    if (!format->own_template.empty()) add(format->name);
  }
  return names;
}

}  // namespace tenon
