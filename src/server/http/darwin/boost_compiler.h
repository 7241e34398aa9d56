// Boost's settings for clang (BOOST_COMPILER_CONFIG) without the one that exports its objects from
// a library whatever the flags say.
#pragma once

#include <boost/config/compiler/clang.hpp>

#undef BOOST_SYMBOL_VISIBLE
