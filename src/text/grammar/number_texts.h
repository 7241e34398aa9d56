// JSON texts of a schema's numbers, as a DFA that reads digits from left to right, compares them
// with the bounds and tracks remainders for multiples.
//
//   integers from 8 to 12: [89]|1[0-2]
//
// Integers have neither a fraction nor an exponent, which many programs do not read as integers.
// Exponents have at most two digits. Checked documents may use other spellings: canonical_json()
// comes first.
#pragma once

#include "text/grammar/schema_dnf.h"

namespace tenon::grammar {

/// Texts of the numbers of a shape; may be empty.
Dfa number_texts(const NumberShape& shape, Budget& budget);

}  // namespace tenon::grammar
