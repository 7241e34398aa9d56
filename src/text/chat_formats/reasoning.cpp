// Models that reason but call no tools:
//   <think>...</think>content
#include "text/chat_formats/chat_format.h"

namespace tenon {

extern constexpr ChatFormat kReasoningFormat{
    .name = "reasoning",
    .detected_by = {{{"<think>"}, {"</think>"}}},
};

}  // namespace tenon
