// The JSON texts of the numbers of a schema, as a DFA that reads digits from left to right: it
// compares them with the bounds, and keeps the remainder for multiples.
//
//   integers from 8 to 12: [89]|1[0-2]
//
// Integers have neither a fraction nor an exponent, which many programs do not read as one, and exponents at most
// two digits. A document that is checked may be written otherwise: canonical_json() comes first.
#pragma once

#include "text/grammar/schema_dnf.h"

namespace tenon::grammar {

/// The texts of the numbers of a shape. Empty when there are none.
Dfa number_texts(const NumberShape& shape, Budget& budget);

}  // namespace tenon::grammar
