// A temporary folder, removed with its contents at the end of its life. For tests only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>

namespace tenon {

/// A new folder that is removed, with its contents, by the destructor.
class TempFolder {
 public:
  TempFolder() {
    const std::filesystem::path parent = std::filesystem::temp_directory_path();
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
      path_ = (parent / ("tenon-test-" + std::to_string(random()))).generic_string();
      if (!std::filesystem::create_directory(path_)) continue;
      std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
      return;
    }
    throw std::runtime_error("no free name for a temporary folder");
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream out(path(name), std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path(name));
    return path(name);
  }
  std::string write(const std::string& name, const std::string& text) const {
    return write(name, std::as_bytes(std::span(text)));
  }

 private:
  std::string path_;
};

}  // namespace tenon
