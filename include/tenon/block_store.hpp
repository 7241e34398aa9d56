// A host's store of computed prefixes, for Engine::set_store.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tenon/error.hpp>

namespace tenon {
inline namespace v1 {

/// Records of bytes under keys, which survive the process: tenon.h explains the functions at
/// tenon_block_store. One thread of the engine calls them. An exception is a missing record or a
/// refused write.
class BlockStore {
 public:
  using Key = std::array<uint8_t, 16>;

  BlockStore() = default;
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;
  virtual ~BlockStore() = default;

  /// Size of the record in bytes.
  virtual std::optional<uint64_t> find(const Key& key) = 0;
  /// Fills `record`; false if the record has another size.
  virtual bool read(const Key& key, std::span<std::byte> record) = 0;
  /// Stores a record; false if it is refused.
  ///   before  key of the record without which this one is useless; may be null
  virtual bool write(const Key& key, const Key* before, std::span<const std::byte> record) = 0;
  virtual void remove(const Key& key) = 0;
};

namespace detail {

/// The functions of a C++ store; `user` is a std::shared_ptr<BlockStore> on the heap.
class StoreFunctions {
 public:
  static tenon_block_store of(std::shared_ptr<BlockStore>* store, const BlockStore::Key& secret) {
    tenon_block_store functions{};
    functions.struct_size = sizeof functions;
    functions.user = store;
    functions.find = &find;
    functions.read = &read;
    functions.write = &write;
    functions.remove = &remove;
    functions.release = &release;
    static_assert(sizeof functions.secret == sizeof secret);
    std::memcpy(functions.secret, secret.data(), secret.size());
    return functions;
  }

 private:
  static BlockStore& store(void* user) { return **static_cast<std::shared_ptr<BlockStore>*>(user); }
  static BlockStore::Key key_of(const void* bytes) {
    BlockStore::Key key;
    std::memcpy(key.data(), bytes, key.size());
    return key;
  }
  static int64_t find(void* user, const void* key) noexcept {
    try {
      const auto size = store(user).find(key_of(key));
      return size ? static_cast<int64_t>(*size) : -1;
    } catch (...) {
      return -1;
    }
  }
  static int32_t read(void* user, const void* key, void* record, uint64_t size) noexcept {
    try {
      const std::span out(static_cast<std::byte*>(record), static_cast<size_t>(size));
      return store(user).read(key_of(key), out) ? 0 : -1;
    } catch (...) {
      return -1;
    }
  }
  static int32_t write(void* user, const void* key, const void* before, const void* record,
                       uint64_t size) noexcept {
    try {
      const std::span bytes(static_cast<const std::byte*>(record), static_cast<size_t>(size));
      const BlockStore::Key needed = before != nullptr ? key_of(before) : BlockStore::Key{};
      return store(user).write(key_of(key), before != nullptr ? &needed : nullptr, bytes) ? 0 : -1;
    } catch (...) {
      return -1;
    }
  }
  static void remove(void* user, const void* key) noexcept {
    try {
      store(user).remove(key_of(key));
    } catch (...) {
    }
  }
  static void release(void* user) noexcept {
    delete static_cast<std::shared_ptr<BlockStore>*>(user);
  }
};

}  // namespace detail
}  // namespace v1
}  // namespace tenon
