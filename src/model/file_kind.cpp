#include "model/file_kind.h"

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

struct OtherKind {
  std::string_view type;          ///< "general.type"
  std::string_view architecture;  ///< "general.architecture"; may be empty
  std::string_view key;           ///< a key of older files; may be empty
  const char* what;
};

constexpr OtherKind kOtherKinds[] = {
    {"adapter", "", "adapter.type",
     "is an adapter, which changes the weights of a model and has none of its own; open the "
     "model that it was trained for, with the adapter in the option merged_adapters"},
    {"imatrix", "", "imatrix.chunk_count",
     "is an importance matrix, by which a model's weights are quantized; open the model itself"},
    {"mmproj", "clip", "",
     "is the encoder of pictures or sound that goes with a text model (mmproj), which is not run "
     "here; open the file of the text model, which answers to text without it"},
    {"", "controlvector", "",
     "is a control vector, which is added to the activations of a model; this build applies none: "
     "open the model itself"},
};

/// Text of a key; empty if missing or of another type, which the key's reader reports.
std::string_view text_of(const Metadata& metadata, std::string_view key) {
  const MetadataValue* value = metadata.find_value(key);
  if (value == nullptr || value->type != ValueType::String) return {};
  return value->text;
}

}  // namespace

void refuse_other_kinds(const ModelFile& file) {
  const Metadata& metadata = file.metadata();
  const std::string_view type = text_of(metadata, "general.type");
  const std::string_view architecture = text_of(metadata, "general.architecture");
  // Trust a file that calls itself a model.
  if (type == "model") return;
  for (const OtherKind& kind : kOtherKinds) {
    const bool by_type = !kind.type.empty() && type == kind.type;
    const bool by_architecture = !kind.architecture.empty() && architecture == kind.architecture;
    const bool by_key = type.empty() && !kind.key.empty() && metadata.contains(kind.key);
    if (!by_type && !by_architecture && !by_key) continue;
    fail(Code::Unsupported, "{}: {}", file.name(), kind.what);
  }
}

}  // namespace tenon
