// Code of the error that an action throws through the C++ headers.
#pragma once

#include <functional>
#include <tenon/tenon.hpp>

namespace tenon_test {

/// Returns Ok if nothing is thrown.
inline tenon::Code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const tenon::Error& error) {
    return error.code();
  }
  return tenon::Code::Ok;
}

}  // namespace tenon_test
