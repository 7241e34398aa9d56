// The rule that every call out of the library into its host goes through call_host (capi/fence.h),
// so that nothing a host's callback throws gets in. Reads source text only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "layering/house_rules.h"

namespace tenon::layering {

/// The names of the functions that a host gives: members of structs and parameters of tenon.h whose
/// type is named *_callback.
std::set<std::string, std::less<>> callbacks_of(const SourceFile& header);

/// The pointers to functions in tenon.h whose type is written in place rather than by a typedef.
std::vector<Finding> check_callback_types(const SourceFile& header);

/// Where a file of capi/ calls a host's function outside call_host and its kin, or hands the pointer
/// on without a wrapper, but for handles, which may keep one. A host's function is known by its first
/// argument, the `user` that came with it, under whatever name it is called.
std::vector<Finding> check_host_calls(const SourceFile& file,
                                      const std::set<std::string, std::less<>>& callbacks);

}  // namespace tenon::layering
