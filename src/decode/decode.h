// A file in memory to pixels or samples. Nothing is fetched, and no file is opened.
#pragma once

#include "decode/formats.h"

namespace tenon::decoding {

/// Facts about a file, from its head alone. Throws Unsupported for a format that is not known, by
/// name where it has one; Format for a damaged head; Limit.
Info inspect(Bytes file, const Limits& limits);

/// Decodes a file. Throws as inspect, and Unsupported for a codec that is not on this machine,
/// NoMemory.
Decoded decode(Bytes file, const Limits& limits);

}  // namespace tenon::decoding
