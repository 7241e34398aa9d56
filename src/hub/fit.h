// Choice of a quantisation by what fits into memory, as tenon_model_plan says, from the beginnings
// of the files at the hub.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hub/choose.h"
#include "hub/settings.h"

namespace tenon::hub {

/// Reads bytes [begin, begin + size) of a file of the list, fewer at its end.
using ReadPart = std::function<std::string(size_t file, uint64_t begin, uint64_t size)>;

/// The largest quantisation that fits, of models that are whole. Those of 16 bits and more count
/// only if there are no others. Throws Limit if none fits, and what `read` throws.
///   files  the list that the models' places refer to
Decision decide_by_plan(const Settings& settings, const std::string& what,
                        const std::vector<NamedFile>& files, const std::vector<GgufModel>& models,
                        const ReadPart& read);

/// "4.2 GiB".
std::string size_text(uint64_t bytes);

}  // namespace tenon::hub
