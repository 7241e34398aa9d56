// Memory of JSON trees. nlohmann's destructor collects all children of a tree in a vector, and a
// failed allocation there ends the process. That vector falls back to a reserve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon_http {
namespace json_memory {

/// Behaves as std::allocator. Because the type is ours, the vector in nlohmann's destructor is its
/// only user.
template <typename T>
struct JsonAllocator {
  using value_type = T;

  JsonAllocator() = default;
  template <typename U>
  JsonAllocator(const JsonAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory); }
  friend bool operator==(const JsonAllocator&, const JsonAllocator&) noexcept { return true; }
};

}  // namespace json_memory
using json_memory::JsonAllocator;

template <template <typename, typename, typename...> class Members>
using JsonTreeOf =
    nlohmann::basic_json<Members, std::vector, std::string, bool, int64_t, uint64_t, double,
                         JsonAllocator, nlohmann::adl_serializer, std::vector<uint8_t>>;
/// Keeps the order of members.
using JsonTree = JsonTreeOf<nlohmann::ordered_map>;
/// Sorts members by name.
using SortedJsonTree = JsonTreeOf<std::map>;

// Operators in a namespace that only argument-dependent lookup reaches: any text converts to a
// tree.
namespace json_memory {

/// Compares a value with a text. nlohmann's own operator makes a tree of the text and is noexcept,
/// so a failed allocation ends the process. Overload resolution prefers these operators, also for
/// !=.
inline bool operator==(const JsonTree& value, const char* text) noexcept {
  const auto* const own = value.get_ptr<const std::string*>();
  return own != nullptr && *own == text;
}
inline bool operator==(const SortedJsonTree& value, const char* text) noexcept {
  const auto* const own = value.get_ptr<const std::string*>();
  return own != nullptr && *own == text;
}

}  // namespace json_memory

/// Reserves addresses once per process; unused, they cost no memory. Throws std::bad_alloc.
void reserve_json_memory();
/// Allocates from the heap, else from the reserve. A thread holds the reserve until it has freed
/// all its pieces; other threads wait.
void* take_json_memory(size_t bytes);
void free_json_memory(void* memory) noexcept;

}  // namespace tenon_http

template <template <typename, typename, typename...> class Members>
class std::allocator<nlohmann::basic_json<Members, std::vector, std::string, bool, int64_t,
                                          uint64_t, double, tenon_http::JsonAllocator,
                                          nlohmann::adl_serializer, std::vector<uint8_t>>> {
 public:
  using value_type = tenon_http::JsonTreeOf<Members>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  allocator() = default;
  template <typename U>
  allocator(const std::allocator<U>&) noexcept {}

  value_type* allocate(std::size_t count) {
    return static_cast<value_type*>(tenon_http::take_json_memory(count * sizeof(value_type)));
  }
  void deallocate(value_type* memory, std::size_t) noexcept {
    tenon_http::free_json_memory(memory);
  }
  friend bool operator==(const allocator&, const allocator&) noexcept { return true; }
};
