// The plugin ABI's functions over a backend: casts, null checks and an exception fence around each.
// A backend without its own devices and buffers gets one device that computes in host memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "abi/failure.h"
#include "abi/host_buffer.h"
#include "abi/strided.h"
#include "tenon/backend.h"

namespace tenon::backends {

/// `B` provides the following; all functions but `supports` throw Failure to refuse:
///
///   static constexpr char kName[];
///   struct Device { const tenon_host* host; ... };
///   class Executable;  // host(), program(), block_bytes(), row_granularity(), load_rows(),
///                      // seal(), run(), wait(), memory_bytes(), optionally draw():
///                      // like the functions of tenon_backend_api
///   static std::span<const tenon_backend_option_info> options() noexcept;
///   static tenon_device_info info();  // without options
///   static tenon_device_info info(const Device&);
///   static std::unique_ptr<Device> make_device(const tenon_host*,
///                                              std::span<const tenon_backend_option>);
///   static bool supports(const tenon_program&, uint32_t op) noexcept;
///   static std::unique_ptr<Executable> compile(const Device&, const tenon_program&);
///
/// Backends with several devices or their own memory provide these, too, or instead of the
/// functions without a Device:
///
///   static std::vector<tenon_device_info> list();
///   static std::unique_ptr<Device> make_device(const tenon_host*, uint32_t index,
///                                              std::span<const tenon_backend_option>);
///   static bool supports(const Device&, const tenon_program&, uint32_t op) noexcept;
///   class Buffer;  // host(), read(), write(), copy(): as the functions of tenon_backend_api
///   static std::unique_ptr<Buffer> make_buffer(Device&, uint64_t size, uint32_t purpose);
///   // Executable::poll()
///   static bool is_lost(const Device&) noexcept;
///
/// The entry of the backend is entry_of<B>(host_major).
template <typename B>
class Entry {
  using Device = typename B::Device;
  using Executable = typename B::Executable;

  // The ABI's types are only declared: several backends may share a process, so none defines them.
  static Device* of(tenon_device* device) { return reinterpret_cast<Device*>(device); }
  static Executable* of(tenon_executable* executable) {
    return reinterpret_cast<Executable*>(executable);
  }
  static const Executable* of(const tenon_executable* executable) {
    return reinterpret_cast<const Executable*>(executable);
  }

  // clang-format off: clang-format 14 takes `&` for an operator
  static constexpr bool kListsDevices = requires { B::list(); };
  static constexpr bool kOwnsMemory = requires { typename B::Buffer; };
  // clang-format on

  static auto* own_buffer(tenon_buffer* buffer) requires kOwnsMemory {
    return reinterpret_cast<typename B::Buffer*>(buffer);
  }
  static const auto* own_buffer(const tenon_buffer* buffer) requires kOwnsMemory {
    return reinterpret_cast<const typename B::Buffer*>(buffer);
  }

  template <typename Body>
  static tenon_status fenced(const tenon_host* host, Body&& body) noexcept {
    return fence(host, B::kName, std::forward<Body>(body));
  }

  /// Writes an info to the host's `size` bytes, as far as both sides know it.
  static void write_info(tenon_device_info info, tenon_device_info* to, uint32_t size) noexcept {
    info.struct_size = std::min<uint32_t>(size, sizeof(info));
    std::memcpy(to, &info, info.struct_size);
  }

  static tenon_status list_devices(const tenon_host* host, tenon_device_info* infos,
                                   uint32_t info_size, uint32_t capacity,
                                   uint32_t* count) noexcept {
    if (host == nullptr || count == nullptr || (infos == nullptr && capacity > 0)) {
      return TENON_BACKEND_ARGUMENT;
    }
    return fenced(host, [&] {
      if constexpr (kListsDevices) {
        const std::vector<tenon_device_info> all = B::list();
        auto* to = reinterpret_cast<std::byte*>(infos);
        for (size_t i = 0; i < std::min<size_t>(capacity, all.size()); ++i) {
          write_info(all[i], reinterpret_cast<tenon_device_info*>(to + i * info_size), info_size);
        }
        *count = static_cast<uint32_t>(all.size());
      } else {
        if (capacity > 0) write_info(B::info(), infos, info_size);
        *count = 1;
      }
    });
  }

  static void list_options(tenon_backend_option_info* infos, uint32_t info_size, uint32_t capacity,
                           uint32_t* count) noexcept {
    if (count == nullptr || (infos == nullptr && capacity > 0)) return;
    const auto options = B::options();
    auto* to = reinterpret_cast<std::byte*>(infos);
    for (size_t i = 0; i < std::min<size_t>(capacity, options.size()); ++i) {
      std::memcpy(to + i * info_size, &options[i], std::min<size_t>(info_size, sizeof(options[i])));
    }
    *count = static_cast<uint32_t>(options.size());
  }

  static tenon_status create_device(const tenon_host* host, uint32_t index,
                                    const tenon_backend_option* options, uint32_t num_options,
                                    tenon_device** device) noexcept {
    if (host == nullptr || host->struct_size < kFirstHostBytes || device == nullptr ||
        (options == nullptr && num_options > 0)) {
      return TENON_BACKEND_ARGUMENT;
    }
    return fenced(host, [&] {
      if (index != 0 && !kListsDevices) {
        refuse(TENON_BACKEND_ARGUMENT, "there is no device {}", index);
      }
      for (uint32_t i = 0; i < num_options; ++i) {
        if (options[i].key != nullptr && options[i].value != nullptr) continue;
        refuse(TENON_BACKEND_ARGUMENT, "option {} lacks its key or its value", i);
      }
      std::unique_ptr<Device> made;
      if constexpr (kListsDevices) {
        made = B::make_device(host, index, std::span(options, num_options));
      } else {
        made = B::make_device(host, std::span(options, num_options));
      }
      *device = reinterpret_cast<tenon_device*>(made.release());
    });
  }

  static void destroy_device(tenon_device* device) noexcept { delete of(device); }

  static tenon_status describe(tenon_device* device, tenon_device_info* info) noexcept {
    if (device == nullptr || info == nullptr) return TENON_BACKEND_ARGUMENT;
    return fenced(of(device)->host,
                  [&] { write_info(B::info(*of(device)), info, info->struct_size); });
  }

  static int32_t supports(tenon_device* device, const tenon_program* program,
                          uint32_t op) noexcept {
    if (program == nullptr || program->struct_size < kFirstProgramBytes || op >= program->num_ops) {
      return 0;
    }
    if constexpr (requires { B::supports(*of(device), *program, op); }) {
      return device != nullptr && B::supports(*of(device), known_part(*program), op) ? 1 : 0;
    } else {
      return B::supports(known_part(*program), op) ? 1 : 0;
    }
  }

  static tenon_status buffer_create(tenon_device* device, uint64_t size, uint32_t purpose,
                                    tenon_buffer** buffer) noexcept {
    if (device == nullptr || buffer == nullptr) return TENON_BACKEND_ARGUMENT;
    const tenon_host* host = of(device)->host;
    return fenced(host, [&] {
      if constexpr (kOwnsMemory) {
        *buffer =
            reinterpret_cast<tenon_buffer*>(B::make_buffer(*of(device), size, purpose).release());
      } else {
        *buffer = make_host_buffer(host, B::kName, size, purpose);
      }
    });
  }

  // Functions for backends with their own memory.
  static void buffer_destroy(tenon_buffer* buffer) noexcept requires kOwnsMemory {
    delete own_buffer(buffer);
  }
  static tenon_status buffer_read(tenon_buffer* buffer, uint64_t offset, void* out,
                                  uint64_t size) noexcept requires kOwnsMemory {
    if (buffer == nullptr || (out == nullptr && size > 0)) return TENON_BACKEND_ARGUMENT;
    return fenced(own_buffer(buffer)->host(), [&] { own_buffer(buffer)->read(offset, out, size); });
  }
  static tenon_status buffer_write(tenon_buffer* buffer, uint64_t offset, const void* in,
                                   uint64_t size) noexcept requires kOwnsMemory {
    if (buffer == nullptr || (in == nullptr && size > 0)) return TENON_BACKEND_ARGUMENT;
    return fenced(own_buffer(buffer)->host(), [&] { own_buffer(buffer)->write(offset, in, size); });
  }
  static tenon_status buffer_copy(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                                  uint64_t from_offset,
                                  uint64_t size) noexcept requires kOwnsMemory {
    if (to == nullptr || from == nullptr) return TENON_BACKEND_ARGUMENT;
    return fenced(own_buffer(to)->host(),
                  [&] { own_buffer(to)->copy(to_offset, *own_buffer(from), from_offset, size); });
  }

  static tenon_status compile(tenon_device* device, const tenon_program* program,
                              tenon_executable** executable) noexcept {
    if (device == nullptr || program == nullptr || executable == nullptr ||
        program->struct_size < kFirstProgramBytes) {
      return TENON_BACKEND_ARGUMENT;
    }
    return fenced(of(device)->host, [&] {
      *executable = reinterpret_cast<tenon_executable*>(
          B::compile(*of(device), known_part(*program)).release());
    });
  }

  static void destroy_executable(tenon_executable* executable) noexcept { delete of(executable); }

  static uint64_t block_bytes(const tenon_executable* executable, uint32_t group) noexcept {
    if (executable == nullptr || group >= of(executable)->program().num_groups) return 0;
    return of(executable)->block_bytes(group);
  }

  static uint64_t row_granularity(const tenon_executable* executable, uint32_t slot) noexcept {
    return executable == nullptr ? 0 : of(executable)->row_granularity(slot);
  }

  static tenon_status load_rows(tenon_executable* executable, uint32_t slot, uint64_t first_row,
                                uint64_t num_rows, const void* blocks,
                                uint64_t size_bytes) noexcept {
    if (executable == nullptr) return TENON_BACKEND_ARGUMENT;
    return fenced(of(executable)->host(), [&] {
      of(executable)->load_rows(slot, first_row, num_rows, blocks, size_bytes);
    });
  }

  static tenon_status seal(tenon_executable* executable) noexcept {
    if (executable == nullptr) return TENON_BACKEND_ARGUMENT;
    return fenced(of(executable)->host(), [&] { of(executable)->seal(); });
  }

  static tenon_status run(tenon_executable* executable, const tenon_step* step,
                          uint64_t* ticket) noexcept {
    if (executable == nullptr || step == nullptr || ticket == nullptr ||
        step->struct_size < kFirstStepBytes) {
      return TENON_BACKEND_ARGUMENT;
    }
    return fenced(of(executable)->host(),
                  [&] { *ticket = of(executable)->run(known_part(*step)); });
  }

  static tenon_status wait(tenon_executable* executable, uint64_t ticket) noexcept {
    if (executable == nullptr) return TENON_BACKEND_ARGUMENT;
    return fenced(of(executable)->host(), [&] { of(executable)->wait(ticket); });
  }

  /// True if B::Executable has draw(); its device must set TENON_DEVICE_DRAWS.
  // clang-format off: clang-format 14 takes `&` for an operator
  static constexpr bool kDraws =
      requires(Executable & executable, const Strided<tenon_draw>& draws) {
    { executable.draw(uint64_t{}, draws) } -> std::same_as<uint64_t>;
  };
  // clang-format on
  using DrawFunction = decltype(tenon_backend_api::draw);

  static tenon_status draw(tenon_executable* executable, uint64_t step, const tenon_draw* draws,
                           uint32_t num_draws, uint32_t draw_size,
                           uint64_t* ticket) noexcept requires kDraws {
    if (executable == nullptr || ticket == nullptr ||
        (num_draws > 0 && (draws == nullptr || draw_size < sizeof(tenon_draw)))) {
      return TENON_BACKEND_ARGUMENT;
    }
    return fenced(of(executable)->host(), [&] {
      *ticket = of(executable)->draw(step, Strided<tenon_draw>(draws, num_draws, draw_size));
    });
  }

  static constexpr DrawFunction draw_or_null() {
    if constexpr (kDraws) {
      return draw;
    } else {
      return nullptr;
    }
  }

  static constexpr bool kPolls = requires(Executable & executable) { executable.poll(uint64_t{}); };
  using PollFunction = decltype(tenon_backend_api::poll);

  static tenon_status poll(tenon_executable* executable, uint64_t ticket,
                           uint32_t* ended) noexcept requires kPolls {
    if (executable == nullptr || ended == nullptr) return TENON_BACKEND_ARGUMENT;
    return fenced(of(executable)->host(), [&] { *ended = of(executable)->poll(ticket) ? 1 : 0; });
  }

  static constexpr PollFunction poll_or_null() {
    if constexpr (kPolls) {
      return poll;
    } else {
      return nullptr;
    }
  }

  /// Sets the buffer functions of the table.
  static constexpr void set_buffer_functions(tenon_backend_api& api) {
    if constexpr (kOwnsMemory) {
      api.buffer_destroy = buffer_destroy;
      api.buffer_read = buffer_read;
      api.buffer_write = buffer_write;
      api.buffer_copy = buffer_copy;
    }
  }

  static constexpr bool kCanBeLost = requires(const Device& device) { B::is_lost(device); };

  static int32_t is_lost(const tenon_device* device) noexcept requires kCanBeLost {
    return device != nullptr && B::is_lost(*reinterpret_cast<const Device*>(device)) ? 1 : 0;
  }

  using IsLostFunction = decltype(tenon_backend_api::is_lost);
  static constexpr IsLostFunction is_lost_or_null() {
    if constexpr (kCanBeLost) {
      return is_lost;
    } else {
      return nullptr;
    }
  }

  static uint64_t memory_bytes(const tenon_executable* executable, uint32_t purpose) noexcept {
    return executable == nullptr ? 0 : of(executable)->memory_bytes(purpose);
  }

 public:
  static constexpr tenon_backend_api kApi = [] {
    tenon_backend_api api = {
        TENON_BACKEND_MAGIC,
        TENON_BACKEND_MAJOR,
        TENON_BACKEND_MINOR,
        sizeof(tenon_backend_api),
        B::kName,
        list_devices,
        list_options,
        create_device,
        destroy_device,
        describe,
        supports,
        buffer_create,
        host_buffer_destroy,
        host_buffer_read,
        host_buffer_write,
        host_buffer_copy,
        compile,
        destroy_executable,
        block_bytes,
        row_granularity,
        load_rows,
        seal,
        run,
        wait,
        memory_bytes,
        draw_or_null(),
        poll_or_null(),
        is_lost_or_null(),
    };
    set_buffer_functions(api);
    return api;
  }();
};

/// The function table for a host of this major version; null for other versions.
template <typename B>
const tenon_backend_api* entry_of(uint32_t host_major) noexcept {
  return host_major == TENON_BACKEND_MAJOR ? &Entry<B>::kApi : nullptr;
}

}  // namespace tenon::backends
