// tenon_model_metadata*, tenon_model_tensor*: content of a model file.
#include <cstring>

#include "fence.h"
#include "file/metadata.h"
#include "file/model_file.h"
#include "model_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

using tenon::Code;
using tenon::MetadataValue;
using tenon::ValueType;

const tenon::Metadata::Entry& entry_at(const tenon_model& model, size_t index) {
  const auto& entries = model.file().metadata().entries();
  if (index >= entries.size()) {
    tenon::fail(Code::Argument, "{}: metadata {} does not exist; there are {}", model.file().name(),
                index, entries.size());
  }
  return entries[index];
}

tenon_value value_of_text(std::string_view text) {
  tenon_value out{};
  out.type = TENON_VALUE_STRING;
  out.text = text.data();
  out.length = text.size();
  return out;
}

tenon_value value_of_real(int32_t type, double number) {
  tenon_value out = value_of_text("");
  out.type = type;
  out.number = number;
  return out;
}

/// bits: the sign-extended value for a signed type, the value for an unsigned type.
tenon_value value_of_integer(ValueType type, uint64_t bits) {
  tenon_value out = value_of_text("");
  out.type = static_cast<int32_t>(type);
  out.integer = static_cast<int64_t>(bits);
  out.number =
      type == ValueType::U64 ? static_cast<double>(bits) : static_cast<double>(out.integer);
  return out;
}

template <typename T>
T scalar_at(const MetadataValue& array, uint64_t index) {
  T scalar;
  std::memcpy(&scalar, array.bytes.data() + index * sizeof(T), sizeof(T));
  return scalar;
}

template <typename T>
tenon_value integer_at(const MetadataValue& array, uint64_t index) {
  // Convert through int64_t to sign-extend signed types.
  return value_of_integer(array.element,
                          static_cast<uint64_t>(static_cast<int64_t>(scalar_at<T>(array, index))));
}

tenon_value string_at(const MetadataValue& array, uint64_t index) {
  const tenon::StringArray strings(reinterpret_cast<const char*>(array.bytes.data()),
                                   reinterpret_cast<const uint32_t*>(array.offsets.data()),
                                   array.count);
  return value_of_text(strings[index]);
}

tenon_value element_at(const MetadataValue& array, uint64_t index) {
  switch (array.element) {
    case ValueType::U8:
      return integer_at<uint8_t>(array, index);
    case ValueType::I8:
      return integer_at<int8_t>(array, index);
    case ValueType::U16:
      return integer_at<uint16_t>(array, index);
    case ValueType::I16:
      return integer_at<int16_t>(array, index);
    case ValueType::U32:
      return integer_at<uint32_t>(array, index);
    case ValueType::I32:
      return integer_at<int32_t>(array, index);
    case ValueType::Bool:
      return integer_at<uint8_t>(array, index);
    case ValueType::U64:
      return integer_at<uint64_t>(array, index);
    case ValueType::I64:
      return integer_at<int64_t>(array, index);
    case ValueType::F32:
      return value_of_real(TENON_VALUE_FLOAT32, scalar_at<float>(array, index));
    case ValueType::F64:
      return value_of_real(TENON_VALUE_FLOAT64, scalar_at<double>(array, index));
    case ValueType::String:
      return string_at(array, index);
    case ValueType::Array:
      break;
  }
  tenon::fail(Code::Internal, "an array of arrays");
}

tenon_value single_value(const MetadataValue& value) {
  switch (value.type) {
    case ValueType::String:
      return value_of_text(value.text);
    case ValueType::F32:
    case ValueType::F64:
      return value_of_real(static_cast<int32_t>(value.type), value.real);
    default:
      return value_of_integer(value.type, value.integer);
  }
}

}  // namespace

size_t tenon_model_metadata_count(const tenon_model* model) {
  const HandlesInUse call;
  const tenon_model* live = live_or_null(model);
  return live == nullptr ? 0 : live->file().metadata().entries().size();
}

tenon_status tenon_model_metadata(const tenon_model* model, size_t index,
                                  tenon_metadata* metadata) {
  return fence([&] {
    const auto& [key, value] = entry_at(checked(model), index);
    const bool is_array = value.type == ValueType::Array;
    tenon_metadata out{};
    out.type = static_cast<int32_t>(value.type);
    out.element_type = static_cast<int32_t>(is_array ? value.element : value.type);
    out.key = key.data();
    out.key_length = key.size();
    out.num_elements = is_array ? value.count : 1;
    struct_out(out, metadata, "tenon_metadata");
  });
}

tenon_status tenon_model_metadata_value(const tenon_model* model, size_t index, uint64_t element,
                                        tenon_value* value) {
  return fence([&] {
    const auto& [key, stored] = entry_at(checked(model), index);
    const bool is_array = stored.type == ValueType::Array;
    const uint64_t count = is_array ? stored.count : 1;
    if (element >= count) {
      tenon::fail(Code::Argument, "{}: key \"{}\" has no element {}; it has {}",
                  checked(model).file().name(), key, element, count);
    }
    struct_out(is_array ? element_at(stored, element) : single_value(stored), value, "tenon_value");
  });
}

tenon_status tenon_model_find_metadata(const tenon_model* model, const char* key, size_t length,
                                       size_t* index) {
  return fence([&] {
    size_t& out = checked_out(index, "index");
    const std::string_view wanted = text_in(key, length, "key");
    const tenon::ModelFile& file = checked(model).file();
    const auto& entries = file.metadata().entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].key == wanted) {
        out = i;
        return;
      }
    }
    tenon::fail(Code::Argument, "{}: there is no metadata key \"{}\"", file.name(),
                wanted.substr(0, 64));
  });
}

size_t tenon_model_tensor_count(const tenon_model* model) {
  const HandlesInUse call;
  const tenon_model* live = live_or_null(model);
  return live == nullptr ? 0 : live->file().tensors().size();
}

tenon_status tenon_model_tensor(const tenon_model* model, size_t index, tenon_tensor* tensor) {
  return fence([&] {
    const tenon::ModelFile& file = checked(model).file();
    if (index >= file.tensors().size()) {
      tenon::fail(Code::Argument, "{}: tensor {} does not exist; there are {}", file.name(), index,
                  file.tensors().size());
    }
    const tenon::TensorInfo& info = file.tensors()[index];
    tenon_tensor out{};
    out.num_dimensions = info.rank;
    out.name = info.name.data();
    out.name_length = info.name.size();
    out.format = tenon::find_format(info.format)->name;
    for (uint32_t d = 0; d < tenon::kMaxTensorRank; ++d) {
      out.shape[d] = d < info.rank ? info.shape[d] : 1;
    }
    out.size_bytes = info.bytes;
    out.source = info.source;
    out.offset = info.offset;
    struct_out(out, tensor, "tenon_tensor");
  });
}

tenon_status tenon_model_find_tensor(const tenon_model* model, const char* name, size_t length,
                                     size_t* index) {
  return fence([&] {
    size_t& out = checked_out(index, "index");
    const std::string_view wanted = text_in(name, length, "name");
    const tenon::ModelFile& file = checked(model).file();
    const tenon::TensorInfo* found = file.find(wanted);
    if (found == nullptr) {
      tenon::fail(Code::Argument, "{}: there is no tensor \"{}\"", file.name(),
                  wanted.substr(0, 64));
    }
    out = static_cast<size_t>(found - file.tensors().data());
  });
}
