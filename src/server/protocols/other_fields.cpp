#include "server/protocols/other_fields.h"

#include <algorithm>

namespace tenon_http {
namespace {

using Kind = OtherField::Kind;

bool is_one_of(std::string_view value, std::string_view values) {
  while (!values.empty()) {
    const size_t end = std::min(values.find('|'), values.size());
    if (values.substr(0, end) == value) return true;
    values.remove_prefix(std::min(end + 1, values.size()));
  }
  return false;
}

std::string listed(std::string_view values) {
  std::string list = "must be one of ";
  for (const char c : values) list += c == '|' ? std::string(", ") : std::string(1, c);
  return list;
}

/// Counts the bytes that are no UTF-8 continuation: one per character.
size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

void check_texts(const Fields& fields, std::string_view name) {
  const std::optional<Fields> texts = fields.object(name);
  if (!texts) return;
  if (texts->json().size() > kMaxPairs) {
    fields.refuse(name, "has more than " + std::to_string(kMaxPairs) + " members");
  }
  for (const auto& [key, value] : texts->json().items()) {
    if (count_characters(key) > kMaxPairKeyCharacters) {
      fields.refuse(
          name, "has a name of more than " + std::to_string(kMaxPairKeyCharacters) + " characters");
    }
    if (!value.is_string()) texts->refuse(key, "must be a string");
    if (count_characters(value.get_ref<const std::string&>()) > kMaxPairValueCharacters) {
      texts->refuse(key,
                    "has more than " + std::to_string(kMaxPairValueCharacters) + " characters");
    }
  }
}

void check_name(const Fields& fields, std::string_view name) {
  const std::string* text = fields.text(name);
  if (text == nullptr || count_characters(*text) <= kMaxNameCharacters) return;
  fields.refuse(name, "has more than " + std::to_string(kMaxNameCharacters) + " characters");
}

void check_field(const Fields& fields, const OtherField& field, std::vector<std::string>& notes) {
  const auto refuse = [&] { fields.refuse(field.name, std::string(field.detail)); };
  const Json& value = *fields.find(field.name);
  switch (field.kind) {
    case Kind::Text:
      (void)fields.text(field.name);
      return;
    case Kind::Name:
      return check_name(fields, field.name);
    case Kind::Boolean:
      (void)fields.boolean(field.name);
      return;
    case Kind::Object:
      (void)fields.object(field.name);
      return;
    case Kind::Texts:
      return check_texts(fields, field.name);
    case Kind::OneOf:
      if (!is_one_of(*fields.text(field.name), field.detail)) {
        fields.refuse(field.name, listed(field.detail));
      }
      return;
    case Kind::Refused:
      return refuse();
    case Kind::RefusedTrue:
      if (*fields.boolean(field.name)) refuse();
      return;
    case Kind::RefusedFull:
      if (value.is_string() ? value != "" : value.is_primitive() || !value.empty()) refuse();
      return;
    case Kind::Noted:
      if (!value.is_structured()) fields.refuse(field.name, "must be an object or a list");
      if (!value.empty()) {
        notes.push_back(fields.path_of(field.name) + ": " + std::string(field.detail));
      }
  }
}

}  // namespace

void check_other_fields(const Fields& fields, std::span<const OtherField> others,
                        std::vector<std::string>& notes) {
  for (const OtherField& field : others) {
    if (fields.has(field.name)) check_field(fields, field, notes);
  }
}

bool read_stream_options(const Fields& fields) {
  const std::optional<Fields> options = fields.object("stream_options");
  if (!options) return false;
  (void)options->boolean("include_obfuscation");
  return options->boolean("include_usage").value_or(false);
}

}  // namespace tenon_http
