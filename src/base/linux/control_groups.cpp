#include "base/control_groups.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {
namespace {

// Bound for machines with many containers, which have as many mounts.
constexpr uint64_t kMaxFileBytes = uint64_t{4} << 20;
constexpr uint64_t kReadBytes = uint64_t{16} << 10;

/// Whole kernel file, whose size is unknown in advance; empty if it cannot be read.
std::string read_text(System& system, const std::string& path) {
  int fd = -EINTR;
  while (fd == -EINTR) fd = system.open(path.c_str(), OpenMode::Read);
  if (fd < 0) return {};
  std::string text;
  try {
    while (text.size() < kMaxFileBytes) {
      const size_t end = text.size();
      text.resize(end + kReadBytes);
      const int64_t count = system.read_at(fd, text.data() + end, kReadBytes, end);
      text.resize(end + static_cast<size_t>(std::max<int64_t>(count, 0)));
      if (count == -EINTR) continue;
      if (count <= 0) break;
    }
  } catch (...) {
    system.close(fd);
    throw;
  }
  system.close(fd);
  return text;
}

/// Text before the next `end`; removes both from `rest`.
std::string_view take_until(std::string_view& rest, char end) {
  const size_t at = rest.find(end);
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(at == rest.npos ? rest.size() : at + 1);
  return head;
}

bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    if (take_until(names, ',') == name) return true;
  }
  return false;
}

/// Decodes \040 in paths of mountinfo.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const bool escape = text[i] == '\\' && i + 3 < text.size() &&
                        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr ==
                            text.data() + i + 4;
    out.push_back(escape ? static_cast<char>(code) : text[i]);
    if (escape) i += 3;
  }
  return out;
}

/// Mount of one hierarchy.
struct Mount {
  std::string root;   ///< group visible at `point`
  std::string point;  ///< folder of the mount
};

/// Mount of version 2, or of the version 1 hierarchy with `controller`. mounts: mountinfo.
std::optional<Mount> find_mount(std::string_view mounts, std::string_view controller,
                                bool version_2) {
  for (std::string_view rest = mounts; !rest.empty();) {
    // 36 35 98:0 ROOT POINT OPTIONS [fields] - TYPE SOURCE SUPER_OPTIONS
    std::string_view line = take_until(rest, '\n');
    const size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    std::string_view tail = line.substr(dash + 3);
    const std::string_view type = take_until(tail, ' ');
    take_until(tail, ' ');
    const bool wanted = version_2 ? type == "cgroup2" : type == "cgroup" && lists(tail, controller);
    if (!wanted) continue;
    for (int field = 0; field < 3; ++field) take_until(line, ' ');
    std::string root = unescaped(take_until(line, ' '));
    return Mount{std::move(root), unescaped(take_until(line, ' '))};
  }
  return std::nullopt;
}

/// The process's group in a hierarchy. groups: /proc/self/cgroup.
std::optional<std::string> find_group(std::string_view groups, std::string_view controller,
                                      bool version_2) {
  for (std::string_view rest = groups; !rest.empty();) {
    // Either 4:cpu,cpuacct:/docker/abc or, for version 2, 0::/user.slice.
    std::string_view line = take_until(rest, '\n');
    const std::string_view number = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    const bool is_version_2 = number == "0" && controllers.empty();
    if (version_2 ? is_version_2 : lists(controllers, controller)) return std::string(line);
  }
  return std::nullopt;
}

/// Tables of mounts and groups in /proc/self.
struct GroupTables {
  std::string mounts;
  std::string groups;
};

/// Visible folders of the process's group and its ancestors, the group first.
std::vector<std::string> group_folders(const GroupTables& tables, std::string_view controller,
                                       bool version_2) {
  const auto mount = find_mount(tables.mounts, controller, version_2);
  const auto group = find_group(tables.groups, controller, version_2);
  if (!mount || !group) return {};
  std::string below = *group;
  const std::string root = mount->root == "/" ? "" : mount->root;
  // A container may see only its own group, and the process may lie outside. Then only the mount's
  // root is visible.
  if (below.starts_with(root) && (below.size() == root.size() || below[root.size()] == '/')) {
    below.erase(0, root.size());
  } else {
    below.clear();
  }
  if (below.find("/..") != below.npos) below.clear();
  while (below.ends_with('/')) below.pop_back();
  std::vector<std::string> folders;
  for (;;) {
    folders.push_back(mount->point + below);
    if (below.empty()) return folders;
    below.resize(below.rfind('/') == below.npos ? 0 : below.rfind('/'));
  }
}

/// Parses a number; nothing for "max", -1 and other texts.
std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

/// Whole CPUs in a group's quota.
std::optional<uint64_t> quota_of(System& system, const std::string& folder, bool version_2) {
  std::optional<uint64_t> quota;
  std::optional<uint64_t> period;
  if (version_2) {
    const std::string text = read_text(system, folder + "/cpu.max");
    std::string_view rest = text;
    quota = number_in(take_until(rest, ' '));
    period = number_in(rest);
  } else {
    quota = number_in(read_text(system, folder + "/cpu.cfs_quota_us"));
    if (quota) period = number_in(read_text(system, folder + "/cpu.cfs_period_us"));
  }
  if (!quota || !period || *period == 0) return std::nullopt;
  return *quota / *period;
}

/// Minimum of the numbers that `read` finds in the folders of both versions.
template <typename Read>
uint64_t least_limit(System& system, std::string_view controller, Read read) noexcept {
  uint64_t least = UINT64_MAX;
  try {
    const GroupTables tables{read_text(system, "/proc/self/mountinfo"),
                             read_text(system, "/proc/self/cgroup")};
    for (const bool version_2 : {false, true}) {
      for (const std::string& folder : group_folders(tables, controller, version_2)) {
        least = std::min(least, read(folder, version_2).value_or(UINT64_MAX));
      }
    }
  } catch (const std::exception&) {
    // Out of memory for a path: keep the minimum so far.
  }
  return least;
}

}  // namespace

uint32_t num_allowed_cpus(System& system) noexcept {
  const uint64_t quota = least_limit(system, "cpu", [&](const std::string& folder, bool version_2) {
    return quota_of(system, folder, version_2);
  });
  const uint64_t usable = system.num_usable_cpus();
  return static_cast<uint32_t>(std::clamp<uint64_t>(quota, 1, std::max<uint64_t>(usable, 1)));
}

uint64_t memory_limit_of_groups(System& system) noexcept {
  return least_limit(system, "memory", [&](const std::string& folder, bool version_2) {
    return number_in(
        read_text(system, folder + (version_2 ? "/memory.max" : "/memory.limit_in_bytes")));
  });
}

}  // namespace tenon
