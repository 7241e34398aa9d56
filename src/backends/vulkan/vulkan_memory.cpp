// Allocations of a Context, each with one buffer, and copies between them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "abi/failure.h"
#include "backends/vulkan/vulkan_context.h"

namespace tenon::vulkan {
namespace {

constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
constexpr VkBufferUsageFlags kShaderUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                            VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
                                            VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

}  // namespace

Memory::Memory(Context& context, uint64_t size_bytes, Access access, const char* what)
    : context_(context.plans() ? nullptr : &context), size_bytes_(size_bytes), access_(access) {
  if (context.plans()) return;
  const uint64_t bytes = gpu::allocated_bytes(size_bytes);
  const bool of_device = access == Access::Device;
  if (of_device) context.memory_.require(bytes, what);
  if (bytes > context.physical_.largest_allocation) {
    context_ = nullptr;
    backends::refuse(TENON_BACKEND_LIMIT, "{} has {} bytes; one allocation of the device {}", what,
                     bytes, context.physical_.largest_allocation);
  }
  const DeviceFunctions& vk = context.functions_;
  const VkDevice device = context.handle_;
  try {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = of_device ? kUsage | kShaderUsage : kUsage;
    context.check(vk.CreateBuffer(device, &info, nullptr, &buffer_), "vkCreateBuffer");
    VkMemoryRequirements needs{};
    vk.GetBufferMemoryRequirements(device, buffer_, &needs);
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    if (of_device) flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate.pNext = &flags;
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = context.memory_type(needs.memoryTypeBits, access);
    const VkResult result = vk.AllocateMemory(device, &allocate, nullptr, &memory_);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY) {
      backends::refuse(TENON_BACKEND_NO_MEMORY, "no memory for {} ({} bytes): vkAllocateMemory: {}",
                       what, bytes, result_name(result));
    }
    context.check(result, "vkAllocateMemory");
    context.check(vk.BindBufferMemory(device, buffer_, memory_, 0), "vkBindBufferMemory");
    if (!of_device) {
      void* mapped = nullptr;
      context.check(vk.MapMemory(device, memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
      bytes_ = static_cast<std::byte*>(mapped);
      return;
    }
    VkBufferDeviceAddressInfo address{};
    address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    address.buffer = buffer_;
    address_ = vk.GetBufferDeviceAddress(device, &address);
  } catch (...) {
    vk.DestroyBuffer(device, buffer_, nullptr);
    vk.FreeMemory(device, memory_, nullptr);
    throw;
  }
  context.memory_.add(bytes);
}

Memory::~Memory() {
  if (context_ == nullptr) return;
  context_->functions_.DestroyBuffer(context_->handle_, buffer_, nullptr);
  context_->functions_.FreeMemory(context_->handle_, memory_, nullptr);
  if (access_ == Access::Device) context_->memory_.remove(gpu::allocated_bytes(size_bytes_));
}

void Memory::swap(Memory& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(access_, other.access_);
  std::swap(buffer_, other.buffer_);
  std::swap(memory_, other.memory_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
}

uint32_t Context::memory_type(uint32_t allowed, Access access) const {
  constexpr VkMemoryPropertyFlags kSeen =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kOfDevice = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const VkMemoryPropertyFlags needed = access == Access::Device ? kOfDevice : kSeen;
  const VkMemoryPropertyFlags liked = access == Access::Download ? kCached : 0;
  for (const VkMemoryPropertyFlags flags : {needed | liked, needed}) {
    for (uint32_t i = 0; i < memory_properties_.memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags has = memory_properties_.memoryTypes[i].propertyFlags;
      if ((allowed >> i & 1) != 0 && (has & flags) == flags) return i;
    }
  }
  backends::refuse(TENON_BACKEND_UNSUPPORTED, "the driver has no memory of the kind needed");
}

template <class Record>
void Context::run_copy(const Record& record) {
  finish([&] {
    begin(copies_, true);
    barrier(copies_);
    record();
    barrier(copies_);
    end(copies_);
    submit(std::span(&copies_, 1));
  });
}

void Context::zero(const Memory& memory) {
  run_copy([&] { functions_.CmdFillBuffer(copies_, memory.buffer(), 0, VK_WHOLE_SIZE, 0); });
}

void Context::copy(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
                   uint64_t size) {
  if (size == 0) return;
  const VkBufferCopy region{from_offset, to_offset, size};
  run_copy([&] { functions_.CmdCopyBuffer(copies_, from.buffer(), to.buffer(), 1, &region); });
}

void Context::write(const Memory& to, uint64_t offset, const void* from, uint64_t size) {
  if (plans_) return;
  finish([&] { gpu::upload(*this, to, offset, from, size); });
}

void Context::read(const Memory& from, uint64_t offset, void* to, uint64_t size) {
  gpu::in_staging_parts(size, [&](uint64_t first, uint64_t count) {
    copy(download_, 0, from, offset + first, count);
    std::memcpy(static_cast<std::byte*>(to) + first, download_.bytes(), count);
  });
}

// ---- Uploads ------------------------------------------------------------------------------------

void Context::wait_for_staging(const gpu::StagingSlots::Slot& slot) { wait(slot.last_copy); }

uint64_t Context::send_staging(size_t slot, const Memory& to, uint64_t offset, uint64_t size) {
  const auto& [memory, commands] = staging_[slot];
  const VkBufferCopy region{0, offset, size};
  begin(commands, true);
  barrier(commands);
  functions_.CmdCopyBuffer(commands, memory.buffer(), to.buffer(), 1, &region);
  barrier(commands);
  end(commands);
  return submit(std::span(&commands, 1));
}

}  // namespace tenon::vulkan
