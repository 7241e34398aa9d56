// Python's operators on the values of a template: truth, comparison, arithmetic, iteration.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "text/template/jinja_syntax.h"
#include "text/template/jinja_value.h"

namespace tenon::jinja {

/// A list that range() made.
bool is_range(const Value& value);
bool is_list_or_tuple(const Value& value);
/// What can be added, multiplied and ordered.
bool is_joinable(const Value& value);

bool truth(const Value& value);
bool equal(const Value& a, const Value& b, Budget& budget);
/// Negative, zero or positive. Throws Failure for types that have no order between them.
int order(const Value& a, const Value& b, Budget& budget, std::string_view op = "<");
/// `item in container`
bool contains(const Value& container, const Value& item, Budget& budget);
Value binary(Op op, const Value& a, const Value& b, Budget& budget);
Value negative(const Value& value);

/// The list that range(bounds[0], bounds[1], bounds[2]) is, which has these values.
Value range_of(std::vector<Value> values, std::array<int64_t, 3> bounds, Budget& budget);

/// What a loop over the value visits. A generator is used up by it.
std::vector<Value> iterate(const Value& value, Budget& budget);
/// len()
size_t length(const Value& value);

/// container[key] without the fallback to attributes; Absent when there is nothing.
Value lookup(const Value& container, const Value& key, Budget& budget);
/// container[begin:stop:step]; None or Absent where nothing is given. Throws Failure for what has
/// no slices.
Value slice(const Value& container, const Value& begin, const Value& stop, const Value& step,
            Budget& budget);

/// Throws Failure with the message of an undefined value, if it is one.
void require_defined(const Value& value);
/// Throws Failure for what cannot be the key of a dict: lists, dicts, tuples with one inside.
void require_hashable(const Value& value, Budget& budget);
/// An integer argument. Throws Failure naming the type for anything else.
int64_t integer_of(const Value& value);

}  // namespace tenon::jinja
