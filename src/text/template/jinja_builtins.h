// Built-in functions as tables: filters, tests, methods and globals. Add a new one as a line in the
// table of its file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

class Interpreter;

/// self: the operand of the '|', the 'is' or the dot; Absent for a global function. arguments: one
/// per parameter, Absent if not given.
using Native = Value (*)(Interpreter& jinja, const Value& self, std::span<const Value> arguments);

struct Builtin {
  std::string_view name;
  /// Comma-separated names; those before "/" are positional only. A final "*" takes further
  /// positional arguments; "**" collects further named ones in a dict as the last argument.
  std::string_view parameters;
  uint32_t required;  ///< number of required parameters
  Native run;
};

struct CallArguments {
  std::vector<Value> positional{};
  std::vector<std::pair<std::string, Value>> named{};
};

/// Each returns null for an unknown name.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
/// Finds a method of the type of `self`.
const Builtin* find_method(const Value& self, std::string_view name);
/// True for methods that change their object, which templates may not call.
bool is_changing_method(const Value& self, std::string_view name);

/// Arranges arguments in the order of the parameters. Throws Failure if they do not fit.
std::vector<Value> bind(const Builtin& builtin, CallArguments arguments);
/// Binds arguments and runs. Argument texts count as work, however they are used.
Value run_builtin(Interpreter& jinja, const Builtin& builtin, const Value& self,
                  CallArguments arguments);

/// Tables searched by the functions above, one per file.
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
