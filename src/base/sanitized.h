// Whether this is a build whose frames and times are those of a sanitizer. g++ says so in a macro, clang
// as a feature.
#pragma once

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define TENON_ADDRESS_SANITIZED 1
#else
#define TENON_ADDRESS_SANITIZED 0
#endif
