// The table of all plain operations. Operation NAME has fits_NAME and run_NAME in some plain_*.h;
// plain_forms.h includes them all (written by cmake/rooms.cmake).
#pragma once

#include <plain_forms.h>

#include <span>

#include "abi/operation_list.h"
#include "backends/common/plain/plain_table.h"

namespace tenon::plain {

template <typename Math>
inline constexpr Operation<Math> kOperations[] = {
#define TENON_PLAIN(KIND, name, cache) {TENON_OP_##KIND, #name, fits_##name, run_##name<Math>},
    TENON_OPERATIONS(TENON_PLAIN)
#undef TENON_PLAIN
};

/// Table of a backend that implements the operations in `own`, which must outlive it.
template <typename Math>
constexpr OperationTable<Math> operations(std::span<const Operation<Math>> own = {}) noexcept {
  return {own, kOperations<Math>};
}

}  // namespace tenon::plain
