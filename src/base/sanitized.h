// Tells builds with a sanitizer, whose frames are larger and slower. g++ defines a macro, clang has
// a feature test.
#pragma once

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define TENON_ADDRESS_SANITIZED 1
#else
#define TENON_ADDRESS_SANITIZED 0
#endif
