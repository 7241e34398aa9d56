// Sequence of parameters as a piece of an NFA: their order, and which are optional.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

#include "text/chat/parameter_kinds.h"
#include "text/grammar/nfa.h"

namespace tenon {

/// Adds the properties of an object's schema in order, each at most once and the required ones
/// always, with `separator` between two. write(from, key, schema) adds a property and returns the
/// node after it. Returns the node after all.
template <typename Write>
uint32_t add_parameters(grammar::Nfa& nfa, uint32_t from, const jinja::Value& schema,
                        std::string_view separator, Write write) {
  const jinja::Value* properties = member_of(schema, "properties");
  if (properties == nullptr || !properties->is(jinja::Kind::Dict)) return from;
  const jinja::Value* required = member_of(schema, "required");
  std::set<std::string_view> required_names;
  if (required != nullptr && required->is(jinja::Kind::List)) {
    for (const jinja::Value& name : required->items().values) required_names.insert(text_of(&name));
  }
  uint32_t none = from, some = nfa.add_node();  // nodes before and after the first written property
  for (const auto& [key, value] : properties->entries().entries) {
    const std::string_view name = key.text().view();
    const uint32_t begin = nfa.add_node(), done = nfa.add_node();
    nfa.add_epsilon(none, begin);
    nfa.add_epsilon(separator.empty() ? some : nfa.add_text(some, separator), begin);
    nfa.add_epsilon(write(begin, name, value), done);
    if (required_names.contains(name)) {
      none = nfa.add_node();  // unreachable
    } else {
      const uint32_t skipped = nfa.add_node();
      nfa.add_epsilon(none, skipped);
      nfa.add_epsilon(some, done);
      none = skipped;
    }
    some = done;
  }
  nfa.add_epsilon(none, some);
  return some;
}

}  // namespace tenon
