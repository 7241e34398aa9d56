#include "backends/vulkan/vulkan_context.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "abi/failure.h"
#include "backends/gpu/codebook_points.h"
#include "backends/gpu/unit_products.h"
#include "backends/vulkan/matrix_modules.h"

namespace tenon::vulkan {
namespace {

/// Threads per workgroup on a GPU: several subgroups hide latency.
constexpr uint32_t kGroupThreads = 128;
}  // namespace

Context::Context(const tenon_host* host, uint32_t index, uint64_t memory_limit)
    : host_(host), physical_(gpu::usable_device(instance_.devices(), index)) {
  memory_.set_limit(memory_limit > 0 ? memory_limit
                                     : gpu::MemoryAccount::default_limit(physical_.memory_available,
                                                                         physical_.memory_total));
  // On a processor, a subgroup is one thread's vector: more would only take turns.
  group_threads_ =
      is_processor() ? physical_.subgroup_size : std::max(kGroupThreads, physical_.subgroup_size);
  if (physical_.has_matrices) unit_products_ = UnitProducts::Matrices;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  instance_.functions().GetPhysicalDeviceMemoryProperties2(physical_.handle, &memory);
  memory_properties_ = memory.memoryProperties;
  try {
    create_device();
    create_objects();
    upload_grids();
  } catch (...) {
    destroy();
    throw;
  }
}

Context::~Context() { destroy(); }

void Context::create_device() {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = physical_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  Features features;
  features.base.features.shaderInt64 = VK_TRUE;
  features.vulkan12.bufferDeviceAddress = VK_TRUE;
  features.vulkan12.timelineSemaphore = VK_TRUE;
  features.vulkan12.scalarBlockLayout = VK_TRUE;
  features.vulkan12.shaderFloat16 = physical_.has_unit_products ? VK_TRUE : VK_FALSE;
  MatrixFeatures matrices;
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT;
  subgroups.computeFullSubgroups = VK_TRUE;
  std::vector<const char*> extensions;
  if (physical_.has_full_subgroups) {
    extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    features.vulkan12.pNext = &subgroups;
  }
  if (physical_.is_portable) extensions.push_back(kPortabilityExtension);
  if (physical_.has_memory_budget) extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (physical_.has_matrices) {
    extensions.push_back(kMatrixExtension);
    features.vulkan12.vulkanMemoryModel = VK_TRUE;
    matrices.cooperative_matrix = VK_TRUE;
    matrices.next = std::exchange(features.vulkan12.pNext, &matrices);
  }
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.base;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  check_result(instance_.functions().CreateDevice(physical_.handle, &info, nullptr, &handle_),
               "vkCreateDevice");
  bool has_all = true;
#define TENON_FIND(name)                                             \
  functions_.name = reinterpret_cast<PFN_vk##name>(                  \
      instance_.functions().GetDeviceProcAddr(handle_, "vk" #name)); \
  has_all = has_all && functions_.name != nullptr;
  TENON_VULKAN_DEVICE_FUNCTIONS(TENON_FIND)
#undef TENON_FIND
  if (has_all) return;
  // Destroying it is the only possible call.
  if (functions_.DestroyDevice != nullptr) functions_.DestroyDevice(handle_, nullptr);
  handle_ = VK_NULL_HANDLE;
  backends::refuse(TENON_BACKEND_UNSUPPORTED, "the driver lacks functions of Vulkan 1.2");
}

void Context::create_objects() {
  functions_.GetDeviceQueue(handle_, physical_.queue_family, 0, &queue_);
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = physical_.queue_family;
  check(functions_.CreateCommandPool(handle_, &pool, nullptr, &pool_), "vkCreateCommandPool");
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &type;
  check(functions_.CreateSemaphore(handle_, &semaphore, nullptr, &timeline_), "vkCreateSemaphore");
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(gpu::Address)};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  check(functions_.CreatePipelineLayout(handle_, &layout, nullptr, &layout_),
        "vkCreatePipelineLayout");
  cache_.create(host_, functions_, handle_, physical_);
  copies_ = allocate_commands();
  for (size_t i = 0; i < gpu::kStagingSlots; ++i) {
    Staging& slot = staging_.emplace_back();
    slot.memory = Memory(*this, kStagingBytes, Access::Upload, "a staging buffer");
    slot.commands = allocate_commands();
  }
  staging_slots_.resize(gpu::kStagingSlots);
  download_ = Memory(*this, kStagingBytes, Access::Download, "a staging buffer");
}

void Context::upload_grids() {
  const std::vector<uint16_t> points = gpu::codebook_points();
  grids_ = Memory(*this, points.size() * sizeof(uint16_t), Access::Device, "the codebooks");
  write(grids_, 0, points.data(), points.size() * sizeof(uint16_t));
}

void Context::destroy() noexcept {
  if (handle_ == VK_NULL_HANDLE) return;
  finish_quietly();
  for (const auto& [key, made] : pipelines_) functions_.DestroyPipeline(handle_, made, nullptr);
  grids_ = Memory();
  download_ = Memory();
  staging_.clear();
  cache_.destroy();
  functions_.DestroyPipelineLayout(handle_, layout_, nullptr);
  functions_.DestroySemaphore(handle_, timeline_, nullptr);
  functions_.DestroyCommandPool(handle_, pool_, nullptr);
  functions_.DestroyDevice(handle_, nullptr);
}

void Context::choose_unit_products(UnitProducts chosen) {
  const bool is_there = chosen == UnitProducts::None ||
                        (chosen == UnitProducts::Emulated && physical_.has_unit_products);
  if (!is_there) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED,
                     "{} cannot emulate matrices: it lacks f16 arithmetic, groups of {} threads or "
                     "shared memory",
                     physical_.name, gpu::kWideThreads);
  }
  unit_products_ = chosen;
}

uint64_t Context::memory_available() const {
  return std::min(instance_.available_bytes(physical_), memory_.rest());
}

void Context::check_alive() const {
  if (lost_) backends::refuse(TENON_BACKEND_STATE, "the device was lost");
}

void Context::check(VkResult result, const char* function) {
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  check_result(result, function);
}

// ---- Commands -----------------------------------------------------------------------------------

VkCommandBuffer Context::allocate_commands() {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(functions_.AllocateCommandBuffers(handle_, &info, &commands), "vkAllocateCommandBuffers");
  return commands;
}

void Context::free_commands(VkCommandBuffer commands) noexcept {
  functions_.FreeCommandBuffers(handle_, pool_, 1, &commands);
}

void Context::begin(VkCommandBuffer commands, bool once) const {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = once ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
                    : VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;  // two steps may be under way
  check_result(functions_.BeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void Context::end(VkCommandBuffer commands) const {
  check_result(functions_.EndCommandBuffer(commands), "vkEndCommandBuffer");
}

void Context::barrier(VkCommandBuffer commands) const {
  VkMemoryBarrier all{};
  all.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  all.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT;
  all.dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT;
  functions_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0,
                                1, &all, 0, nullptr, 0, nullptr);
}

uint64_t Context::submit(std::span<const VkCommandBuffer> commands) {
  check_alive();
  const uint64_t value = last_submission_ + 1;
  VkTimelineSemaphoreSubmitInfo timeline{};
  timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &timeline;
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline_;
  check(functions_.QueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
  return last_submission_ = value;
}

void Context::wait(uint64_t submission) {
  check_alive();
  if (submission == 0) return;
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &submission;
  const VkResult result = functions_.WaitSemaphores(handle_, &info, UINT64_MAX);
  if (result != VK_SUCCESS) finish_quietly();
  check(result, "vkWaitSemaphores");
}

bool Context::has_ended(uint64_t submission) {
  check_alive();
  uint64_t value = 0;
  check(functions_.GetSemaphoreCounterValue(handle_, timeline_, &value),
        "vkGetSemaphoreCounterValue");
  return value >= submission;
}

// ---- Pipelines ----------------------------------------------------------------------------------

VkPipeline Context::create_pipeline(const gpu::KernelKey& key) const {
  const bool emulated = unit_products_ == UnitProducts::Emulated;
  std::span<const uint32_t> words = shader_words(key.kernel, emulated);
  std::vector<uint32_t> rewritten;
  if (!emulated && has_matrices(key.kernel)) words = rewritten = with_khr_matrices(words);
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = words.size_bytes();
  module_info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  check_result(functions_.CreateShaderModule(handle_, &module_info, nullptr, &module),
               "vkCreateShaderModule");
  std::array<VkSpecializationMapEntry, std::tuple_size_v<decltype(key.constants)>> entries{};
  for (uint32_t i = 0; i < entries.size(); ++i) {
    entries[i] = {i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)};
  }
  const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(),
                                       sizeof(key.constants), key.constants.data()};
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  if (physical_.has_full_subgroups) {
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  }
  info.stage.pSpecializationInfo = &constants;
  info.layout = layout_;
  VkPipeline made = VK_NULL_HANDLE;
  const VkResult result =
      functions_.CreateComputePipelines(handle_, cache_.handle(), 1, &info, nullptr, &made);
  functions_.DestroyShaderModule(handle_, module, nullptr);
  check_result(result, "vkCreateComputePipelines");
  return made;
}

void Context::make_pipelines(std::span<const gpu::KernelKey> keys) {
  if (plans_) return;
  std::vector<gpu::KernelKey> missing;
  for (const gpu::KernelKey& key : keys) {
    const bool known = pipelines_.contains(key) || std::ranges::find(missing, key) != missing.end();
    if (!known) missing.push_back(key);
  }
  if (missing.empty()) return;
  struct Job {
    const Context* context;
    std::span<const gpu::KernelKey> keys;
    std::vector<VkPipeline> made;
    std::vector<std::exception_ptr> failures;
  };
  Job job{this, missing, std::vector<VkPipeline>(missing.size()),
          std::vector<std::exception_ptr>(missing.size())};
  tenon_parallel_job parallel{};
  parallel.struct_size = sizeof(parallel);
  parallel.num_phases = 1;
  parallel.arg = &job;
  parallel.run = [](void* arg, uint32_t, uint32_t thread, uint32_t team) {
    Job& mine = *static_cast<Job*>(arg);
    for (size_t i = thread; i < mine.keys.size(); i += team) {
      try {
        mine.made[i] = mine.context->create_pipeline(mine.keys[i]);
      } catch (...) {
        mine.failures[i] = std::current_exception();
      }
    }
  };
  const int32_t stopped = host_->parallel(host_->user, &parallel);
  for (size_t i = 0; i < missing.size(); ++i) {
    if (job.made[i] != VK_NULL_HANDLE) pipelines_.emplace(missing[i], job.made[i]);
  }
  if (stopped != 0) backends::fail_as_host(stopped);
  for (const std::exception_ptr& failure : job.failures) {
    if (failure) std::rethrow_exception(failure);
  }
  cache_.keep();
}

}  // namespace tenon::vulkan
