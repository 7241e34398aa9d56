// What is built into the language, as tables of functions: filters, tests, methods and globals. A
// new one is a line in the table of its file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

class Interpreter;

/// self: what stands before the '|', the 'is' or the dot; Absent for a global function.
/// arguments: one for each parameter, Absent where it was not given.
using Native = Value (*)(Interpreter& jinja, const Value& self, std::span<const Value> arguments);

struct Builtin {
  std::string_view name;
  /// Names with commas between them; those before "/" are never named by the caller. "*" at the end
  /// takes further positional arguments, "**" gives the further named ones as a dict in the last
  /// place.
  std::string_view parameters;
  uint32_t required;  ///< how many of the parameters must be given
  Native run;
};

struct CallArguments {
  std::vector<Value> positional{};
  std::vector<std::pair<std::string, Value>> named{};
};

/// Each null when there is none of the name.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
/// Of the type of `self`.
const Builtin* find_method(const Value& self, std::string_view name);
/// Whether the method changes its object, which templates may not.
bool is_changing_method(const Value& self, std::string_view name);

/// Arguments in the order of the parameters. Throws Failure when they do not fit.
std::vector<Value> bind(const Builtin& builtin, CallArguments arguments);
/// Binds and runs; the texts that it is given count as work, whatever it does with them.
Value run_builtin(Interpreter& jinja, const Builtin& builtin, const Value& self,
                  CallArguments arguments);

/// The tables that the functions above look into, one per file.
std::span<const Builtin> text_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selecting_filters();
std::span<const Builtin> tests();
std::span<const Builtin> str_methods();
std::span<const Builtin> str_queries();
std::span<const Builtin> dict_methods();
std::span<const Builtin> sequence_methods();
std::span<const Builtin> loop_methods();
std::span<const Builtin> cycler_methods();
std::span<const Builtin> globals();

}  // namespace tenon::jinja
