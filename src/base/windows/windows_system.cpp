#include "base/windows/windows_system.h"

#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "base/control_groups.h"
#include "base/host_memory.h"
#include "base/loaded_code.h"
#include "base/process_id.h"
#include "base/reserving_system.h"
#include "base/windows/commit_on_touch.h"
#include "base/windows/wide_text.h"

namespace tenon {
namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr uint64_t kMostTransferBytes = uint64_t{1} << 30;

struct ErrorNumber {
  DWORD error;
  int number;
};

constexpr ErrorNumber kErrorNumbers[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_DRIVE, ENOENT},
    {ERROR_BAD_NETPATH, ENOENT},
    {ERROR_BAD_NET_NAME, ENOENT},
    {ERROR_MOD_NOT_FOUND, ENOENT},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_SHARING_VIOLATION, EACCES},
    {ERROR_LOCK_VIOLATION, EACCES},
    {ERROR_USER_MAPPED_FILE, EACCES},
    {ERROR_PRIVILEGE_NOT_HELD, EPERM},
    {ERROR_INVALID_HANDLE, EBADF},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_COMMITMENT_LIMIT, ENOMEM},
    {ERROR_NO_SYSTEM_RESOURCES, ENOMEM},
    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_FILE_TOO_LARGE, EFBIG},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_BUFFER_OVERFLOW, ENAMETOOLONG},
    {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_INVALID_NAME, EINVAL},
    {ERROR_INVALID_PARAMETER, EINVAL},
    {ERROR_BAD_PATHNAME, EINVAL},
    {ERROR_NOT_SUPPORTED, ENOTSUP},
    {ERROR_INVALID_FUNCTION, EINVAL},
    {ERROR_OPERATION_ABORTED, EINTR},
    {ERROR_NOT_READY, ENXIO},
};

int negative_errno(DWORD error) noexcept {
  for (const ErrorNumber& known : kErrorNumbers) {
    if (known.error == error) return -known.number;
  }
  return -EIO;
}

int last_error() noexcept { return negative_errno(::GetLastError()); }

/// Handles have 32 significant bits in 64-bit processes, too, so that 32-bit ones can share them.
HANDLE handle_of(int fd) noexcept { return reinterpret_cast<HANDLE>(static_cast<intptr_t>(fd)); }

int descriptor_of(HANDLE handle) noexcept {
  if (handle == INVALID_HANDLE_VALUE) return last_error();
  const auto value = reinterpret_cast<intptr_t>(handle);
  if (value >= 0 && value <= std::numeric_limits<int>::max()) return static_cast<int>(value);
  ::CloseHandle(handle);
  return -EMFILE;
}

/// Calls `use` with the path for Windows; -EINVAL for one that is no UTF-8 or empty.
template <typename Use>
int64_t with_path(const char* path, Use use) noexcept {
  try {
    const std::wstring wide = wide_path(path);
    return wide.empty() ? -EINVAL : use(wide.c_str());
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

OVERLAPPED position(uint64_t offset) noexcept {
  OVERLAPPED at{};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return at;
}

/// Bytes transferred by ReadFile or WriteFile, also on a handle that the host opened for
/// overlapped transfers.
int64_t transferred(HANDLE file, BOOL done, OVERLAPPED& at, DWORD count) noexcept {
  if (!done && ::GetLastError() == ERROR_IO_PENDING) {
    done = ::GetOverlappedResult(file, &at, &count, TRUE);
  }
  if (done) return count;
  return ::GetLastError() == ERROR_HANDLE_EOF ? 0 : last_error();
}

struct ThreadStart {
  void* (*entry)(void*);
  void* arg;
};

DWORD WINAPI run_thread(void* given) {
  const std::unique_ptr<ThreadStart> start(static_cast<ThreadStart*>(given));
  const ThreadStart copy = *start;
  (void)copy.entry(copy.arg);
  return 0;
}

uint64_t nanoseconds(const FILETIME& time) noexcept {
  return ((uint64_t{time.dwHighDateTime} << 32) | time.dwLowDateTime) * 100;
}

/// Text of the last error for the caller of load_library, per thread.
const char* loader_text(DWORD error) noexcept {
  thread_local char text[256];
  wchar_t wide[200];
  const DWORD length = ::FormatMessageW(
      FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK,
      nullptr, error, MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US), wide,
      static_cast<DWORD>(std::size(wide)), nullptr);
  int size = ::WideCharToMultiByte(CP_UTF8, 0, wide, static_cast<int>(length), text,
                                   static_cast<int>(sizeof text - 1), nullptr, nullptr);
  while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '.')) --size;
  text[size] = '\0';
  return size > 0 ? text : "the system refuses it";
}

/// A reparse point's buffer, as FSCTL_GET_REPARSE_POINT fills it for symbolic links.
struct LinkBuffer {
  ULONG tag;
  USHORT data_bytes;
  USHORT reserved;
  USHORT substitute_offset;
  USHORT substitute_bytes;
  USHORT print_offset;
  USHORT print_bytes;
  ULONG flags;
  wchar_t names[8000];
};

/// Module of this code; null if the loader does not know it.
HMODULE own_module(DWORD flags) noexcept {
  HMODULE module = nullptr;
  ::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | flags,
                       reinterpret_cast<LPCWSTR>(&own_code), &module);
  return module;
}

}  // namespace

void* WindowsSystem::map_pages(uint64_t size_bytes) noexcept {
  return map_aligned(size_bytes, true);
}

void* WindowsSystem::map_aligned(uint64_t size_bytes, bool commit) noexcept {
  constexpr uint64_t kPageBytes = 4096;
  const uint64_t extra = size_bytes >= kHugePageBytes ? kHugePageBytes : 0;
  if (size_bytes == 0 || size_bytes > SIZE_MAX - extra - kPageBytes) return nullptr;
  void* const pages = ::VirtualAlloc(nullptr, size_bytes + extra, MEM_RESERVE, PAGE_READWRITE);
  if (pages == nullptr) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(pages);
  const uintptr_t aligned =
      extra == 0 ? begin : (begin + kHugePageBytes - 1) & ~uintptr_t{kHugePageBytes - 1};
  void* const block = reinterpret_cast<void*>(aligned);
  // Only address space lies before and after the block.
  if (!commit || ::VirtualAlloc(block, size_bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr) {
    return block;
  }
  ::VirtualFree(pages, 0, MEM_RELEASE);
  return nullptr;
}

void WindowsSystem::unmap_pages(void* pages, uint64_t) noexcept {
  MEMORY_BASIC_INFORMATION info{};
  if (pages == nullptr || ::VirtualQuery(pages, &info, sizeof info) == 0) return;
  ::VirtualFree(info.AllocationBase, 0, MEM_RELEASE);
}

// Large pages need a privilege that programs do not have: there is nothing to ask for, and nothing
// that a user could change.
int WindowsSystem::advise_huge_pages(void*, uint64_t) noexcept { return 0; }
int64_t WindowsSystem::huge_page_bytes(const void*, uint64_t) noexcept { return 0; }

void* WindowsSystem::allocate(uint64_t size_bytes, uint64_t alignment) noexcept {
  return ::_aligned_malloc(size_bytes, std::max<uint64_t>(alignment, sizeof(void*)));
}
void WindowsSystem::release(void* memory, uint64_t, uint64_t) noexcept { ::_aligned_free(memory); }

// Memory is granted against RAM and page file together: what is granted beyond RAM would swap.
uint64_t WindowsSystem::available_memory() noexcept {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (!::GlobalMemoryStatusEx(&status)) return 1;
  const uint64_t available = std::min(status.ullAvailPhys, status.ullAvailPageFile);
  return std::max<uint64_t>(1, std::min(available, memory_limit_of_groups(*this)));
}

int WindowsSystem::open(const char* path, OpenMode mode) noexcept {
  const bool looks = mode != OpenMode::Read && mode != OpenMode::ReadNoLink;
  const bool is_link = mode == OpenMode::ReadNoLink || mode == OpenMode::LookAtLink;
  // Without the flag, folders are refused like files without permission.
  const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (is_link ? FILE_FLAG_OPEN_REPARSE_POINT : 0);
  const auto fd = static_cast<int>(with_path(path, [&](const wchar_t* wide) {
    return descriptor_of(::CreateFileW(wide, looks ? FILE_READ_ATTRIBUTES : GENERIC_READ, kShareAll,
                                       nullptr, OPEN_EXISTING, flags, nullptr));
  }));
  if (fd < 0 || mode != OpenMode::ReadNoLink) return fd;
  FILE_ATTRIBUTE_TAG_INFO info{};
  if (::GetFileInformationByHandleEx(handle_of(fd), FileAttributeTagInfo, &info, sizeof info) &&
      (info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
      info.ReparseTag == IO_REPARSE_TAG_SYMLINK) {
    close(fd);
    return -ELOOP;
  }
  return fd;
}

int WindowsSystem::duplicate(int fd) noexcept {
  if (fd < 0) return -EBADF;  // a negative value stands for the process
  HANDLE copy = nullptr;
  const HANDLE process = ::GetCurrentProcess();
  if (!::DuplicateHandle(process, handle_of(fd), process, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS)) {
    return last_error();
  }
  return descriptor_of(copy);
}

// Owner and mode stay 0: access lists decide who may write a file.
int WindowsSystem::stat(int fd, FileStat& out) noexcept {
  const HANDLE file = handle_of(fd);
  out = {};
  if (::GetFileType(file) != FILE_TYPE_DISK) {
    return ::GetLastError() == ERROR_INVALID_HANDLE ? -EBADF : 0;
  }
  BY_HANDLE_FILE_INFORMATION info{};
  if (!::GetFileInformationByHandle(file, &info)) return last_error();
  out.size_bytes = (uint64_t{info.nFileSizeHigh} << 32) | info.nFileSizeLow;
  out.modified_ns = static_cast<int64_t>(nanoseconds(info.ftLastWriteTime));
  out.inode = (uint64_t{info.nFileIndexHigh} << 32) | info.nFileIndexLow;
  out.device = info.dwVolumeSerialNumber;
  out.is_regular = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
  return 0;
}

int64_t WindowsSystem::read_at(int fd, void* buffer, uint64_t size_bytes,
                               uint64_t offset) noexcept {
  OVERLAPPED at = position(offset);
  DWORD count = 0;
  const auto size = static_cast<DWORD>(std::min(size_bytes, kMostTransferBytes));
  const BOOL done = ::ReadFile(handle_of(fd), buffer, size, &count, &at);
  return transferred(handle_of(fd), done, at, count);
}

int WindowsSystem::close(int fd) noexcept {
  return ::CloseHandle(handle_of(fd)) ? 0 : last_error();
}

int WindowsSystem::create(const char* path) noexcept {
  return static_cast<int>(with_path(path, [](const wchar_t* wide) {
    return descriptor_of(::CreateFileW(wide, GENERIC_WRITE, kShareAll, nullptr, CREATE_NEW,
                                       FILE_ATTRIBUTE_NORMAL, nullptr));
  }));
}

int WindowsSystem::open_private(const char* path) noexcept {
  // The folder's access list decides who may open the file.
  const int fd = static_cast<int>(with_path(path, [](const wchar_t* wide) {
    return descriptor_of(
        ::CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, kShareAll, nullptr, OPEN_ALWAYS,
                      FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  }));
  if (fd < 0) return fd;
  FILE_ATTRIBUTE_TAG_INFO info{};
  if (::GetFileInformationByHandleEx(handle_of(fd), FileAttributeTagInfo, &info, sizeof info) &&
      (info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
    close(fd);
    return -ELOOP;
  }
  return fd;
}

int WindowsSystem::make_folder(const char* path) noexcept {
  return static_cast<int>(with_path(path, [](const wchar_t* wide) {
    return ::CreateDirectoryW(wide, nullptr) ? 0 : last_error();
  }));
}

// The byte is far beyond the file's end: locks are mandatory, and the contents stay readable.
int WindowsSystem::try_lock(int fd) noexcept {
  OVERLAPPED at = position(uint64_t{1} << 62);
  constexpr DWORD kFlags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  if (::LockFileEx(handle_of(fd), kFlags, 0, 1, 0, &at)) return 0;
  return ::GetLastError() == ERROR_LOCK_VIOLATION ? -EWOULDBLOCK : last_error();
}

int WindowsSystem::unlock(int fd) noexcept {
  OVERLAPPED at = position(uint64_t{1} << 62);
  return ::UnlockFileEx(handle_of(fd), 0, 1, 0, &at) ? 0 : last_error();
}

int WindowsSystem::touch(int fd) noexcept {
  FILETIME now{};
  ::GetSystemTimeAsFileTime(&now);
  return ::SetFileTime(handle_of(fd), nullptr, nullptr, &now) ? 0 : last_error();
}

int WindowsSystem::create_unnamed(const char*) noexcept { return -EOPNOTSUPP; }
int WindowsSystem::link_unnamed(int, const char*) noexcept { return -EOPNOTSUPP; }

int64_t WindowsSystem::write_at(int fd, const void* buffer, uint64_t size_bytes,
                                uint64_t offset) noexcept {
  OVERLAPPED at = position(offset);
  DWORD count = 0;
  const auto size = static_cast<DWORD>(std::min(size_bytes, kMostTransferBytes));
  const BOOL done = ::WriteFile(handle_of(fd), buffer, size, &count, &at);
  return transferred(handle_of(fd), done, at, count);
}

int WindowsSystem::sync(int fd) noexcept {
  return ::FlushFileBuffers(handle_of(fd)) ? 0 : last_error();
}

int WindowsSystem::rename(const char* from, const char* to) noexcept {
  return static_cast<int>(with_path(from, [to](const wchar_t* wide_from) {
    return with_path(to, [wide_from](const wchar_t* wide_to) {
      const DWORD flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
      return ::MoveFileExW(wide_from, wide_to, flags) ? 0 : last_error();
    });
  }));
}

int64_t WindowsSystem::read_link(const char* path, char* target, uint64_t size_bytes) noexcept {
  const int fd = open(path, OpenMode::LookAtLink);
  if (fd < 0) return fd;
  const std::unique_ptr<LinkBuffer> link(new (std::nothrow) LinkBuffer);
  DWORD count = 0;
  const bool found =
      link != nullptr && ::DeviceIoControl(handle_of(fd), FSCTL_GET_REPARSE_POINT, nullptr, 0,
                                           link.get(), sizeof *link, &count, nullptr) != 0;
  close(fd);
  if (link == nullptr) return -ENOMEM;
  const bool is_junction = found && link->tag == IO_REPARSE_TAG_MOUNT_POINT;
  if (!is_junction && (!found || link->tag != IO_REPARSE_TAG_SYMLINK)) return -EINVAL;
  // A junction's names begin where a link has its flags.
  const wchar_t* const names =
      is_junction ? reinterpret_cast<const wchar_t*>(&link->flags) : link->names;
  const size_t begin = link->print_offset / sizeof(wchar_t);
  const size_t length = link->print_bytes / sizeof(wchar_t);
  if (begin + length > std::size(link->names)) return -EINVAL;
  try {
    std::string text = utf8_text({names + begin, length});
    std::replace(text.begin(), text.end(), '\\', '/');
    const size_t size = std::min<size_t>(text.size(), size_bytes);
    std::memcpy(target, text.data(), size);
    return static_cast<int64_t>(size);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

int WindowsSystem::remove(const char* path) noexcept {
  return static_cast<int>(
      with_path(path, [](const wchar_t* wide) { return ::DeleteFileW(wide) ? 0 : last_error(); }));
}

void* WindowsSystem::map_file(int fd, uint64_t offset, uint64_t size_bytes, int& error) noexcept {
  const HANDLE mapping = ::CreateFileMappingW(handle_of(fd), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) {
    error = last_error();
    return nullptr;
  }
  void* const pages = ::MapViewOfFile(mapping, FILE_MAP_READ, static_cast<DWORD>(offset >> 32),
                                      static_cast<DWORD>(offset), size_bytes);
  error = pages == nullptr ? last_error() : 0;
  ::CloseHandle(mapping);  // the view keeps it
  return pages;
}

void WindowsSystem::unmap_file(void* pages, uint64_t) noexcept { ::UnmapViewOfFile(pages); }

int WindowsSystem::list_directory(const char* path, void (*visit)(void* user, const char* name),
                                  void* user) {
  std::wstring pattern = wide_path(path);
  if (pattern.empty()) return -EINVAL;
  pattern += L"\\*";
  if (pattern.starts_with(L"\\\\?\\")) pattern = wide_path(utf8_text(pattern));
  WIN32_FIND_DATAW found;
  const HANDLE search = ::FindFirstFileW(pattern.c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) return last_error();
  const std::unique_ptr<void, BOOL(WINAPI*)(HANDLE)> closed(search, ::FindClose);
  do {
    visit(user, utf8_text(found.cFileName).c_str());
  } while (::FindNextFileW(search, &found));
  return ::GetLastError() == ERROR_NO_MORE_FILES ? 0 : last_error();
}

void* WindowsSystem::load_library(const char* path, const char*& error) noexcept {
  HMODULE library = nullptr;
  const int64_t result = with_path(path, [&](const wchar_t* wide) {
    // No message box for a missing DLL; dependencies beside the library and in the system only.
    DWORD mode = 0;
    ::SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &mode);
    std::wstring backward = wide;
    std::replace(backward.begin(), backward.end(), L'/', L'\\');
    library = ::LoadLibraryExW(backward.c_str(), nullptr,
                               LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    const DWORD failure = ::GetLastError();
    ::SetThreadErrorMode(mode, nullptr);
    if (library == nullptr) error = loader_text(failure);
    return 0;
  });
  if (result != 0) error = "its path is no UTF-8";
  if (library != nullptr) error = nullptr;
  return library;
}

void WindowsSystem::unload_library(void* library) noexcept {
  ::FreeLibrary(static_cast<HMODULE>(library));
}

void* WindowsSystem::find_symbol(void* library, const char* name) noexcept {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

void WindowsSystem::keep_library(const char* path) noexcept {
  (void)with_path(path, [](const wchar_t* wide) {
    std::wstring backward = wide;
    std::replace(backward.begin(), backward.end(), L'/', L'\\');
    HMODULE module = nullptr;
    ::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN, backward.c_str(), &module);
    return 0;
  });
}

int WindowsSystem::start_thread(ThreadHandle& out, uint64_t stack_bytes, void* (*entry)(void*),
                                void* arg) noexcept {
  // A model's threads outlive a host's FreeLibrary.
  (void)own_module(GET_MODULE_HANDLE_EX_FLAG_PIN);
  std::unique_ptr<ThreadStart> start(new (std::nothrow) ThreadStart{entry, arg});
  if (start == nullptr) return -ENOMEM;
  const HANDLE thread = ::CreateThread(nullptr, stack_bytes, run_thread, start.get(),
                                       STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (thread == nullptr) return last_error();
  (void)start.release();  // the thread's own
  out = reinterpret_cast<ThreadHandle>(thread);
  return 0;
}

void WindowsSystem::join_thread(ThreadHandle thread) noexcept {
  const auto handle = reinterpret_cast<HANDLE>(thread);
  ::WaitForSingleObject(handle, INFINITE);
  ::CloseHandle(handle);
}

uint32_t WindowsSystem::num_usable_cpus() noexcept {
  DWORD_PTR process = 0;
  DWORD_PTR system = 0;
  // Both masks are 0 for a process in several groups of processors.
  if (::GetProcessAffinityMask(::GetCurrentProcess(), &process, &system) && process != 0) {
    return static_cast<uint32_t>(std::popcount(static_cast<uint64_t>(process)));
  }
  return std::max<uint32_t>(1, ::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
}

uint64_t WindowsSystem::now_ns() noexcept {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  LARGE_INTEGER count{};
  LARGE_INTEGER frequency{};
  ::QueryPerformanceCounter(&count);
  ::QueryPerformanceFrequency(&frequency);
  const auto ticks = static_cast<uint64_t>(count.QuadPart);
  const auto per_second = static_cast<uint64_t>(frequency.QuadPart);
  return ticks / per_second * kSecondNs + ticks % per_second * kSecondNs / per_second;
}

int WindowsSystem::random_bytes(void* out, uint64_t size_bytes) noexcept {
  const auto size = static_cast<ULONG>(std::min<uint64_t>(size_bytes, kMostTransferBytes));
  if (size != size_bytes) return -EINVAL;
  const NTSTATUS status =
      ::BCryptGenRandom(nullptr, static_cast<PUCHAR>(out), size, BCRYPT_USE_SYSTEM_PREFERRED_RNG);
  return status == 0 ? 0 : -EIO;
}

uint64_t WindowsSystem::thread_time_ns() noexcept {
  FILETIME begun;
  FILETIME ended;
  FILETIME kernel;
  FILETIME user;
  if (!::GetThreadTimes(::GetCurrentThread(), &begun, &ended, &kernel, &user)) return now_ns();
  return nanoseconds(kernel) + nanoseconds(user);
}

namespace {

/// Blocks without memory; a page gets memory when it is touched.
class ReservingSystem final : public WindowsSystem {
 public:
  void* map_pages(uint64_t size_bytes) noexcept override {
    void* const pages = map_aligned(size_bytes, false);
    if (pages != nullptr && !touched_.add(pages, size_bytes)) {
      WindowsSystem::unmap_pages(pages, size_bytes);
      return nullptr;
    }
    return pages;
  }
  void unmap_pages(void* pages, uint64_t size_bytes) noexcept override {
    touched_.remove(pages);
    WindowsSystem::unmap_pages(pages, size_bytes);
  }

 private:
  CommitOnTouch touched_;
};

}  // namespace

std::shared_ptr<System> reserving_system() { return std::make_shared<ReservingSystem>(); }

uint64_t resident_memory() noexcept {
  PROCESS_MEMORY_COUNTERS counters{};
  return ::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters)
             ? counters.WorkingSetSize
             : 0;
}

std::shared_ptr<System> System::real() { return std::make_shared<WindowsSystem>(); }

std::shared_ptr<System> System::with_allocator(const HostAllocator& allocator) {
  return std::make_shared<HostMemory<WindowsSystem>>(allocator);
}

int process_id() noexcept { return static_cast<int>(::GetCurrentProcessId()); }

uint32_t effective_user() noexcept { return 0; }

/// Only code: constants may hold addresses that the loader moves.
Hash128 code_fingerprint(const void* address) noexcept {
  constexpr DWORD kFlags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  HMODULE module = nullptr;
  if (!::GetModuleHandleExW(kFlags, static_cast<LPCWSTR>(address), &module)) return {};
  const auto* base = reinterpret_cast<const std::byte*>(module);
  const auto& dos = *reinterpret_cast<const IMAGE_DOS_HEADER*>(base);
  const auto& headers = *reinterpret_cast<const IMAGE_NT_HEADERS*>(base + dos.e_lfanew);
  Hash128 found{headers.FileHeader.TimeDateStamp, headers.OptionalHeader.SizeOfImage};
  const IMAGE_SECTION_HEADER* const sections = IMAGE_FIRST_SECTION(&headers);
  for (WORD i = 0; i < headers.FileHeader.NumberOfSections; ++i) {
    if ((sections[i].Characteristics & IMAGE_SCN_MEM_EXECUTE) == 0) continue;
    const Hash128 sum =
        hash_bytes({base + sections[i].VirtualAddress, sections[i].Misc.VirtualSize}, found.low);
    found = {sum.low, sum.high ^ found.high};
  }
  return found;
}

OwnCode own_code() noexcept {
  // The loader's name of a module does not change.
  static char file[4096];
  static const HMODULE module = [] {
    const HMODULE own = own_module(GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT);
    static wchar_t wide[2048];
    const DWORD length = ::GetModuleFileNameW(own, wide, static_cast<DWORD>(std::size(wide)));
    if (length == 0 || length == std::size(wide)) return HMODULE{};
    const int size = ::WideCharToMultiByte(CP_UTF8, 0, wide, static_cast<int>(length), file,
                                           static_cast<int>(sizeof file - 1), nullptr, nullptr);
    return size > 0 ? own : HMODULE{};
  }();
  OwnCode code;
  if (module == nullptr) return code;
  code.file = file;
  // Code that is linked into a program or another library does not export the interface.
  code.is_shared = ::GetProcAddress(module, "tenon_version") != nullptr;
  return code;
}

}  // namespace tenon
