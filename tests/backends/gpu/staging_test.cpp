// Common parts of both drivers' contexts: staging memory, memory accounting, the choice of a
// device.
#include "backends/gpu/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/gpu/device_memory.h"

namespace tenon::gpu {
namespace {

using backends::Failure;

/// A vector as device memory, and a context whose copies end immediately.
struct StagedMemory {
  std::vector<std::byte> bytes;
};
struct StagedContext {
  StagingSlots slots;
  std::vector<std::vector<std::byte>> buffers{kStagingSlots};
  std::vector<uint64_t> copies;  ///< bytes per copy
  bool is_lost = false;

  StagedContext() {
    slots.resize(kStagingSlots);
    for (auto& buffer : buffers) buffer.resize(kStagingBytes);
  }
  StagingSlots& staging_slots() { return slots; }
  std::byte* staging_bytes(size_t slot) { return buffers[slot].data(); }
  void wait_for_staging(const StagingSlots::Slot&) const {
    if (is_lost) backends::refuse(TENON_BACKEND_STATE, "the device was lost");
  }
  uint64_t send_staging(size_t slot, const StagedMemory& to, uint64_t offset, uint64_t size) {
    auto* at = const_cast<std::byte*>(to.bytes.data());
    std::copy_n(buffers[slot].begin(), size, at + offset);
    copies.push_back(size);
    return copies.size();
  }
};

TEST(Staging, UploadsInPartsAtAnOffset) {
  std::vector<std::byte> from(2 * kStagingBytes + 3);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 251);
  StagedMemory to{std::vector<std::byte>(from.size() + 5)};
  StagedContext context;
  upload(context, to, 5, from.data(), from.size());
  EXPECT_THAT(context.copies, testing::ElementsAre(kStagingBytes, kStagingBytes, 3));
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to.bytes.begin() + 5));
  EXPECT_EQ(to.bytes[4], std::byte{0});
}

TEST(Staging, GivesTheBufferBackWhereWaitingForItFails) {
  StagedContext context;
  context.is_lost = true;
  EXPECT_THROW((Upload<StagedContext, StagedMemory>(context)), Failure);
  EXPECT_EQ(context.slots.take().index, 0U);
}

TEST(MemoryAccount, RefusesWhatPassesTheLimit) {
  MemoryAccount account;
  account.set_limit(100);
  account.add(60);
  EXPECT_NO_THROW(account.require(40, "weights"));
  try {
    account.require(41, "weights");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), TENON_BACKEND_NO_MEMORY);
    EXPECT_STREQ(failure.what(),
                 "no memory for weights (41 bytes): 60 of the limit of 100 are taken");
  }
  account.remove(60);
  EXPECT_EQ(account.rest(), 100U);
  account.add(101);  // after the limit was lowered
  EXPECT_EQ(account.rest(), 0U);
}

TEST(MemoryAccount, LeavesAGiBOrFivePercentFree) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  EXPECT_EQ(MemoryAccount::default_limit(8 * kGiB, 10 * kGiB), 7 * kGiB);
  EXPECT_EQ(MemoryAccount::default_limit(80 * kGiB, 100 * kGiB), 75 * kGiB);
  EXPECT_EQ(MemoryAccount::default_limit(kGiB / 2, 10 * kGiB), 0U);
}

TEST(UsableDevice, IsThereAndCanBeUsed) {
  struct Device {
    std::string name, unavailable;
  };
  const std::vector<Device> all = {{"first", ""}, {"second", "too old"}};
  EXPECT_EQ(usable_device(all, 0).name, "first");
  EXPECT_THROW(usable_device(all, 1), Failure);
  EXPECT_THROW(usable_device(all, 2), Failure);
}

}  // namespace
}  // namespace tenon::gpu
