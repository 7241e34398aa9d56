// Limits of control groups, read from files as containers and services have them.
#include "base/control_groups.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "tests/base/faulty_system.h"

namespace tenon {
namespace {

/// System with only these files, and eight CPUs.
class FilesOfGroups : public FaultySystem {
 public:
  explicit FilesOfGroups(std::map<std::string, std::string> files) : files_(std::move(files)) {}

  int open(const char* path, OpenMode) noexcept override {
    const auto file = files_.find(path);
    if (file == files_.end()) return -ENOENT;
    ++num_open_;
    return static_cast<int>(std::distance(files_.begin(), file));
  }
  int64_t read_at(int fd, void* out, uint64_t size, uint64_t offset) noexcept override {
    const std::string& text = std::next(files_.begin(), fd)->second;
    if (offset >= text.size()) return 0;
    // The kernel may return fewer bytes than asked.
    const uint64_t count = std::min<uint64_t>({size, text.size() - offset, 7});
    std::memcpy(out, text.data() + offset, count);
    return static_cast<int64_t>(count);
  }
  int close(int) noexcept override {
    --num_open_;
    return 0;
  }
  uint32_t num_usable_cpus() noexcept override { return 8; }
  [[nodiscard]] int num_open() const { return num_open_; }

 private:
  std::map<std::string, std::string> files_;
  int num_open_ = 0;
};

constexpr const char* kMounts = "/proc/self/mountinfo";
constexpr const char* kGroups = "/proc/self/cgroup";
constexpr const char* kVersion2 =
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

/// root: root of the mounted hierarchy.
std::string version_1_mounts(const std::string& root) {
  return "31 22 0:27 " + root + " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
         "32 22 0:28 " + root +
         " /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
}

uint32_t cpus(std::map<std::string, std::string> files) {
  FilesOfGroups system(std::move(files));
  const uint32_t count = num_allowed_cpus(system);
  EXPECT_EQ(system.num_open(), 0);
  return count;
}

/// CPUs of the group /a/b under version 2, with its own limit and its parent's.
uint32_t cpus_of(const std::string& own, const std::string& parent) {
  return cpus({{kMounts, kVersion2},
               {kGroups, "0::/a/b\n"},
               {"/sys/fs/cgroup/a/b/cpu.max", own},
               {"/sys/fs/cgroup/a/cpu.max", parent}});
}

TEST(ControlGroups, WithoutThemAllCpusAreAllowed) {
  EXPECT_EQ(cpus({}), 8u);
  EXPECT_EQ(cpus({{kMounts, kVersion2}}), 8u);
  EXPECT_EQ(cpus({{kMounts, kVersion2}, {kGroups, "0::/\n"}}), 8u);
  EXPECT_EQ(cpus_of("max 100000\n", "max 100000\n"), 8u);
}

TEST(ControlGroups, QuotasRoundDownToAtLeastOne) {
  EXPECT_EQ(cpus_of("100000 100000\n", "max 100000\n"), 1u);
  EXPECT_EQ(cpus_of("250000 100000\n", "max 100000\n"), 2u);
  EXPECT_EQ(cpus_of("299999 100000\n", "max 100000\n"), 2u);
  EXPECT_EQ(cpus_of("50000 100000\n", "max 100000\n"), 1u);
  EXPECT_EQ(cpus_of("1000 1000000\n", "max 100000\n"), 1u);
  EXPECT_EQ(cpus_of("3200000 100000\n", "max 100000\n"), 8u);
  EXPECT_EQ(cpus_of("15000 5000\n", "max 100000\n"), 3u);
}

TEST(ControlGroups, TheLeastOfAllGroupsUpToTheRootCounts) {
  EXPECT_EQ(cpus_of("max 100000\n", "200000 100000\n"), 2u);
  EXPECT_EQ(cpus_of("400000 100000\n", "200000 100000\n"), 2u);
  EXPECT_EQ(cpus_of("200000 100000\n", "400000 100000\n"), 2u);
  // A container with its own namespace sees its group as the root.
  EXPECT_EQ(cpus({{kMounts, kVersion2},
                  {kGroups, "0::/\n"},
                  {"/sys/fs/cgroup/cpu.max", "300000 100000\n"}}),
            3u);
  // A process outside the group sees only the mount's root.
  EXPECT_EQ(cpus({{kMounts, kVersion2},
                  {kGroups, "0::/../other\n"},
                  {"/sys/fs/cgroup/cpu.max", "300000 100000\n"}}),
            3u);
}

TEST(ControlGroups, OfVersion1HaveAFileForQuotaAndPeriod) {
  const auto of = [](const std::string& root, const std::string& group, const std::string& folder,
                     const std::string& quota) {
    return cpus({{kMounts, version_1_mounts(root)},
                 {kGroups, "5:memory:/elsewhere\n4:cpu,cpuacct:" + group + "\n0::/\n"},
                 {folder + "/cpu.cfs_quota_us", quota},
                 {folder + "/cpu.cfs_period_us", "100000\n"}});
  };
  const std::string mount = "/sys/fs/cgroup/cpu,cpuacct";
  EXPECT_EQ(of("/", "/docker/x", mount + "/docker/x", "150000\n"), 1u);
  EXPECT_EQ(of("/", "/docker/x", mount + "/docker", "250000\n"), 2u);
  EXPECT_EQ(of("/", "/docker/x", mount + "/docker/x", "-1\n"), 8u);
  // Without a namespace, a container's mount shows its own group.
  EXPECT_EQ(of("/docker/x", "/docker/x", mount, "250000\n"), 2u);
  EXPECT_EQ(of("/docker/x", "/docker/x/y", mount + "/y", "250000\n"), 2u);
  EXPECT_EQ(of("/docker/x", "/docker/xy", mount, "250000\n"), 2u);
}

TEST(ControlGroups, WhatIsNoNumberIsNoLimit) {
  for (const char* text : {"", "\n", "100000", "100000 0\n", "x 100000\n", "100000 x\n",
                           "99999999999999999999999 1\n", "-5 100000\n"}) {
    EXPECT_EQ(cpus_of(text, ""), 8u) << text;
  }
  EXPECT_EQ(cpus({{kMounts, "nonsense\n - \n1 2 - cgroup2\n"}, {kGroups, ":::\n0::\n::"}}), 8u);
}

TEST(ControlGroups, MountsMayHaveSpacesInTheirPaths) {
  EXPECT_EQ(cpus({{kMounts, "30 22 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n"},
                  {kGroups, "0::/a\n"},
                  {"/my groups/a/cpu.max", "200000 100000\n"}}),
            2u);
}

TEST(ControlGroups, MemoryHasTheLeastLimitOfBothVersions) {
  const auto limit = [](std::map<std::string, std::string> files) {
    FilesOfGroups system(std::move(files));
    return memory_limit_of_groups(system);
  };
  EXPECT_EQ(limit({}), UINT64_MAX);
  EXPECT_EQ(limit({{kMounts, kVersion2},
                   {kGroups, "0::/a/b\n"},
                   {"/sys/fs/cgroup/a/b/memory.max", "max\n"},
                   {"/sys/fs/cgroup/a/memory.max", "1073741824\n"}}),
            1073741824u);
  EXPECT_EQ(limit({{kMounts, version_1_mounts("/")},
                   {kGroups, "5:memory:/docker/x\n"},
                   {"/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "536870912\n"}}),
            536870912u);
}

TEST(ControlGroups, OfThisProcessAllowAtLeastOne) {
  const auto system = System::real();
  EXPECT_GE(num_allowed_cpus(*system), 1u);
  EXPECT_LE(num_allowed_cpus(*system), system->num_usable_cpus());
}

}  // namespace
}  // namespace tenon
