// <windows.h> without its macros that collide with C++.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#undef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
// clang-format off
#include <windows.h>  // before the others, which use its types
#include <psapi.h>
#include <shellapi.h>
// clang-format on
