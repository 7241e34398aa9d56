// Values as Gemma writes them, JSON with bare keys and quotes of its own, as pieces of an NFA:
//   {city:<|"|>Rome<|"|>,days:[1,2],near:{sea:true}}
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "text/chat/parameter_kinds.h"
#include "text/grammar/nfa.h"

namespace tenon {

class BareJson {
 public:
  /// quote: around strings, as the NFA has it. highest: the last byte that a string may hold.
  /// scalar: makes a rule of a JSON Schema without strings, lists and objects. `whole` is the
  /// schema that references begin at; both must outlive this.
  BareJson(grammar::Nfa& nfa, std::string quote, uint8_t highest, const jinja::Value& whole,
           std::function<uint32_t(const std::string& schema)> scalar)
      : nfa_(nfa),
        quote_(std::move(quote)),
        highest_(highest),
        whole_(whole),
        kinds_(whole),
        scalar_(std::move(scalar)) {}

  /// The members of an object by its schema, without the braces; returns the node after them.
  uint32_t members(uint32_t from, const jinja::Value& schema);

 private:
  /// A rule per schema, so that one may hold itself.
  uint32_t rule_of(const jinja::Value& schema);
  uint32_t any_rule();
  void write(const jinja::Value& schema, uint32_t from, uint32_t to);
  void write_choice(const jinja::Value& choice, uint32_t from, uint32_t to);
  void write_string(uint32_t from, uint32_t to);
  void write_list(const jinja::Value& schema, uint32_t from, uint32_t to);
  uint32_t any_members(uint32_t from);

  grammar::Nfa& nfa_;
  std::string quote_;
  uint8_t highest_;
  const jinja::Value& whole_;
  KindReader kinds_;
  std::function<uint32_t(const std::string&)> scalar_;
  std::map<const jinja::Value*, uint32_t> rules_;
  std::optional<uint32_t> any_;
};

}  // namespace tenon
