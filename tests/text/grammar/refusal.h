// Message of a grammar's refusal.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "text/grammar/grammar.h"

namespace tenon {

/// Message with which a grammar is refused, or "accepted".
inline std::string refusal(GrammarKind kind, std::string_view text) {
  try {
    (void)Grammar::compile(kind, text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Grammar) << error.what();
    return error.what();
  }
  return "accepted";
}

}  // namespace tenon
