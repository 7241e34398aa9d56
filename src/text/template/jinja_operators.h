// Python's operators on the values of a template: truth, comparison, arithmetic, iteration.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "text/template/jinja_syntax.h"
#include "text/template/jinja_value.h"

namespace tenon::jinja {

/// True for a list made by range().
bool is_range(const Value& value);
bool is_list_or_tuple(const Value& value);
/// True for types that can be added, multiplied and ordered.
bool is_joinable(const Value& value);

bool truth(const Value& value);
bool equal(const Value& a, const Value& b, Budget& budget);
/// Compares: negative, zero or positive. Throws Failure for types without a common order.
int order(const Value& a, const Value& b, Budget& budget, std::string_view op = "<");
/// item in container.
bool contains(const Value& container, const Value& item, Budget& budget);
Value binary(Op op, const Value& a, const Value& b, Budget& budget);
Value negative(const Value& value);

/// Makes the list of range(bounds[0], bounds[1], bounds[2]), whose values are given.
Value range_of(std::vector<Value> values, std::array<int64_t, 3> bounds, Budget& budget);

/// Values visited by a loop. Exhausts a generator.
std::vector<Value> iterate(const Value& value, Budget& budget);
/// len(value).
size_t length(const Value& value);

/// container[key] without the fallback to attributes; Absent if there is no such item.
Value lookup(const Value& container, const Value& key, Budget& budget);
/// container[begin:stop:step]; omitted parts are None or Absent. Throws Failure for types without
/// slices.
Value slice(const Value& container, const Value& begin, const Value& stop, const Value& step,
            Budget& budget);

/// Throws Failure with the message of an undefined value; accepts others.
void require_defined(const Value& value);
/// Throws Failure for values that cannot be keys of a dict: lists, dicts, tuples with one inside.
void require_hashable(const Value& value, Budget& budget);
/// Converts an integer argument. Throws Failure naming the type of anything else.
int64_t integer_of(const Value& value);

}  // namespace tenon::jinja
