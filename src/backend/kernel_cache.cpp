#include "backend/kernel_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"

namespace tenon {
namespace {

/// Header of a file, followed by key and bytes.
struct CacheHeader {
  char magic[8];
  uint64_t key_size;
  uint64_t size;
  Hash128 checksum;  // over key and bytes
};
constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'K', 'C', '1'};

Hash128 checksum_of(std::span<const std::byte> key, std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add(key);
  hasher.add(bytes);
  return hasher.value();
}

/// An open file, closed on scope exit.
class OpenFile {
 public:
  OpenFile(System& system, int fd) : system_(system), fd_(fd) {}
  ~OpenFile() { system_.close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

 private:
  System& system_;
  int fd_;
};

}  // namespace

KernelCache::KernelCache(std::shared_ptr<System> system, std::string folder, Log log)
    : system_(std::move(system)), folder_(std::move(folder)), log_(log) {}

std::string KernelCache::path_of(std::span<const std::byte> key) const {
  return folder_ + "/tenon-" + hash_bytes(key).hex() + ".kernels";
}

void KernelCache::tell(LogLevel level, const std::string& path, const char* what) noexcept {
  try {
    log_(level, "kernel cache: {}: {}", path, what);
  } catch (...) {  // no memory for the line: it is lost
  }
}

std::optional<std::vector<std::byte>> KernelCache::get(std::span<const std::byte> key) noexcept {
  if (key.empty() || key.size() > kMostKeyBytes) return std::nullopt;
  std::string path;
  try {
    path = path_of(key);
    const int fd = open_regular_file(*system_, path);
    const OpenFile file(*system_, fd);
    CacheHeader header{};
    const uint64_t read =
        read_fully(*system_, fd, 0, std::as_writable_bytes(std::span(&header, 1)), path);
    const bool is_whole = read == sizeof(header) &&
                          std::memcmp(header.magic, kMagic, sizeof(kMagic)) == 0 &&
                          header.key_size == key.size() && header.size <= kMostBytes;
    if (!is_whole) {
      tell(LogLevel::Info, path, "is no file of this cache, and not used");
      return std::nullopt;
    }
    std::vector<std::byte> all(header.key_size + header.size);
    const uint64_t rest = read_fully(*system_, fd, sizeof(header), all, path);
    const std::span<const std::byte> bytes = std::span(all).subspan(key.size());
    if (rest != all.size() || !std::ranges::equal(std::span(all).first(key.size()), key) ||
        checksum_of(key, bytes) != header.checksum) {
      tell(LogLevel::Info, path, "is damaged, and not used");
      return std::nullopt;
    }
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  } catch (const std::exception&) {  // usually a missing file
    return std::nullopt;
  }
}

void KernelCache::put(std::span<const std::byte> key, std::span<const std::byte> bytes) noexcept {
  if (key.empty() || key.size() > kMostKeyBytes || bytes.size() > kMostBytes) return;
  try {
    CacheHeader header{};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.key_size = key.size();
    header.size = bytes.size();
    header.checksum = checksum_of(key, bytes);
    AtomicFile file(system_, path_of(key));
    file.write(std::as_bytes(std::span(&header, 1)));
    file.write(key);
    file.write(bytes);
    file.commit();
  } catch (const std::exception& error) {
    tell(LogLevel::Warning, folder_, error.what());
  }
}

}  // namespace tenon
