// Writes safetensors files, right and wrong ones, for tests. It checks nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

/// A file of a header as it is given and data.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  out += header;
  out += data;
  return out;
}

/// n bytes 0, 1, 2, ...
inline std::string counting_text(size_t n) {
  std::string bytes(n, '\0');
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

class SafetensorsWriter {
 public:
  SafetensorsWriter& metadata(const std::string& key, const std::string& value) {
    metadata_ += (metadata_.empty() ? "" : ",") + ("\"" + key + "\":\"" + value + "\"");
    return *this;
  }
  SafetensorsWriter& add(const std::string& name, const std::string& type,
                         const std::vector<uint64_t>& shape, const std::string& data) {
    std::string extents;
    for (const uint64_t extent : shape) {
      extents += (extents.empty() ? "" : ",") + std::to_string(extent);
    }
    entries_ += ",\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + extents +
                "],\"data_offsets\":[" + std::to_string(data_.size()) + "," +
                std::to_string(data_.size() + data.size()) + "]}";
    data_ += data;
    return *this;
  }
  [[nodiscard]] std::string finish() const {
    return safetensors_file("{\"__metadata__\":{" + metadata_ + "}" + entries_ + "}", data_);
  }

 private:
  std::string metadata_;
  std::string entries_;
  std::string data_;
};

}  // namespace tenon
