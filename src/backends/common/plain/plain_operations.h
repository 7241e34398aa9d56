// Every operation of the plugin ABI in the plain way, as a table: operation NAME has fits_NAME and
// run_NAME in some plain_*.h, all of which plain_forms.h includes (cmake/rooms.cmake writes it).
#pragma once

#include <plain_forms.h>

#include <span>

#include "backends/common/operation_list.h"
#include "backends/common/plain/plain_table.h"

namespace tenon::plain {

template <typename Math>
inline constexpr Operation<Math> kOperations[] = {
#define TENON_PLAIN(KIND, name, cache) {TENON_OP_##KIND, #name, fits_##name, run_##name<Math>},
    TENON_OPERATIONS(TENON_PLAIN)
#undef TENON_PLAIN
};

/// The table of a backend that does the operations in `own` itself, which outlive it.
template <typename Math>
constexpr OperationTable<Math> operations(std::span<const Operation<Math>> own = {}) noexcept {
  return {own, kOperations<Math>};
}

}  // namespace tenon::plain
