// Gemma's notation for values, JSON with bare keys and special quotes, as pieces of an NFA:
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
  /// `nfa` and `whole` outlive this object.
  ///   quote    delimits strings, as the NFA has it
  ///   highest  last byte that a string may hold
  ///   whole    schema in which references resolve
  ///   scalar   makes a rule of a JSON Schema without strings, lists and objects
  BareJson(grammar::Nfa& nfa, std::string quote, uint8_t highest, const jinja::Value& whole,
           std::function<uint32_t(const std::string& schema)> scalar)
      : nfa_(nfa),
        quote_(std::move(quote)),
        highest_(highest),
        whole_(whole),
        kinds_(whole),
        scalar_(std::move(scalar)) {}

  /// Writes an object's members by its schema, without the braces; returns the node after them.
  uint32_t members(uint32_t from, const jinja::Value& schema);

 private:
  /// Rule per schema, so that a schema may contain itself.
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
