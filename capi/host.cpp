#include "host.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "fence.h"
#include "host_clock.h"
#include "model/model.h"
#include "values.h"

namespace tenon::capi {
namespace {

void write_log(void* user, int32_t level, const char* text, size_t length) {
  const auto& host = *static_cast<const tenon_callbacks*>(user);
  // The engine's levels ascend from debug, the interface's from error.
  const uint32_t host_level = TENON_LOG_DEBUG - static_cast<uint32_t>(level);
  // Ignore exceptions: a message is not worth a failure.
  (void)call_host_quietly([&] { host.log(host.user, host_level, text, length); });
}

void* allocate(void* user, size_t size, size_t alignment) {
  const auto& host = *static_cast<const tenon_callbacks*>(user);
  void* memory = nullptr;
  (void)call_host_quietly([&] { memory = host.allocate(host.user, size, alignment); });
  return memory;
}

void release(void* user, void* memory, size_t size, size_t alignment) {
  const auto& host = *static_cast<const tenon_callbacks*>(user);
  // Ignore exceptions: destructors call this and cannot report them.
  (void)call_host_quietly([&] { host.release(host.user, memory, size, alignment); });
}

void run_tasks(void* user, uint32_t num_tasks, tenon_indexed_task task, void* arg) {
  const auto& host = *static_cast<const tenon_callbacks*>(user);
  call_host("run_tasks", [&] { host.run_tasks(host.user, num_tasks, task, arg); });
}

int64_t read(void* user, uint64_t offset, void* buffer, uint64_t size) {
  const auto& source = *static_cast<const tenon_source*>(user);
  int64_t count = -1;
  (void)call_host_quietly([&] { count = source.read(source.user, offset, buffer, size); });
  return count;
}

std::string name_of(const tenon_source& source, const char* otherwise) {
  if (source.name == nullptr) return otherwise;
  return std::string(text_in(source.name, source.name_length, "tenon_source.name"));
}

/// Control tokens that the model's chat template spells.
std::vector<std::string> marks_of(const Model& model) {
  std::vector<std::string> marks;
  const std::string_view chat = model.chat_template();
  if (chat.empty()) return marks;
  const auto& tokenizer = *model.tokenizer();
  for (Token token = 0; static_cast<size_t>(token) < tokenizer.size(); ++token) {
    if (!tokenizer.is_control(token)) continue;
    const std::string_view spelled = tokenizer.spelling(token);
    if (!spelled.empty() && chat.find(spelled) != chat.npos) marks.emplace_back(spelled);
  }
  return marks;
}

}  // namespace

Host::Host(const tenon_callbacks& callbacks) : callbacks_(callbacks) {
  if ((callbacks.allocate == nullptr) != (callbacks.release == nullptr)) {
    fail(Code::Argument, "tenon_callbacks: allocate and release go together; one is NULL");
  }
  if (callbacks.run_tasks != nullptr &&
      (callbacks.concurrency < 1 || callbacks.concurrency > ThreadTeam::kMaxThreads)) {
    fail(Code::Argument, "tenon_callbacks.concurrency is {}, not in 1..{}", callbacks.concurrency,
         ThreadTeam::kMaxThreads);
  }
  if (callbacks.log_level > TENON_LOG_DEBUG) {
    fail(Code::Argument, "tenon_callbacks.log_level is {}, not in 0..{}", callbacks.log_level,
         TENON_LOG_DEBUG);
  }
}

std::shared_ptr<System> Host::system() {
  if (system_ != nullptr) return system_;
  system_ = callbacks_.allocate == nullptr
                ? System::real()
                : System::with_allocator({&callbacks_, &allocate, &release});
  if (callbacks_.now_ns != nullptr) {
    system_ = std::make_shared<HostClock>(system_, callbacks_);
  }
  return system_;
}

void Host::note_context(uint64_t context, uint64_t trained) {
  if (trained == 0 || context <= trained) return;
  uint64_t noted = noted_context_.load(std::memory_order_relaxed);
  while (context > noted) {
    if (!noted_context_.compare_exchange_weak(noted, context)) continue;
    log()(LogLevel::Warning,
          "a context of {} tokens, and the model was trained for {}: answers to longer texts may "
          "make "
          "no sense",
          context, trained);
    return;
  }
}

void Host::note_text(const Model& model, std::string_view text) noexcept {
  if (callbacks_.log == nullptr || callbacks_.log_level < TENON_LOG_WARNING) return;
  if (noted_text_.load(std::memory_order_relaxed)) return;
  try {
    std::call_once(reads_marks_, [&] { marks_ = marks_of(model); });
    const auto found = std::find_if(marks_.begin(), marks_.end(), [&](const std::string& mark) {
      return text.find(mark) != std::string_view::npos;
    });
    if (found == marks_.end() || noted_text_.exchange(true)) return;
    log()(LogLevel::Warning,
          "a text to be continued spells \"{}\" of the model's chat template, which is text in it: "
          "tenon_chat_answer makes prompts of conversations, TENON_PARSE_SPECIAL takes spelled "
          "control tokens for what they name",
          *found);
  } catch (...) {  // the message is lost if memory is short
  }
}

Log Host::log() {
  if (callbacks_.log == nullptr) return {};
  return {&write_log, &callbacks_, static_cast<LogLevel>(TENON_LOG_DEBUG - callbacks_.log_level)};
}

std::optional<Executor> Host::executor() {
  if (callbacks_.run_tasks == nullptr) return std::nullopt;
  return Executor{&callbacks_, callbacks_.concurrency, &run_tasks};
}

std::shared_ptr<const ByteSource> Host::open(const tenon_source& source) {
  switch (source.kind) {
    case TENON_SOURCE_PATH:
      return ByteSource::from_path(name_of(source, ""), system());
    case TENON_SOURCE_FD:
      return ByteSource::from_fd(source.fd, source.offset, source.size,
                                 name_of(source, "descriptor"), system());
    case TENON_SOURCE_MEMORY:
      return ByteSource::from_memory(
          std::as_bytes(array_in(static_cast<const unsigned char*>(source.data), source.size,
                                 "tenon_source.data")),
          name_of(source, "memory"));
    case TENON_SOURCE_READER:
      if (source.read == nullptr) fail(Code::Argument, "tenon_source.read is NULL");
      readers_.push_back(source);
      return ByteSource::from_reader({&readers_.back(), source.size, &read, source.concurrent != 0},
                                     name_of(source, "reader"));
    default:
      fail(Code::Argument, "tenon_source.kind is {}, not one of TENON_SOURCE_*", source.kind);
  }
}

bool Host::progress(double fraction) {
  if (callbacks_.progress == nullptr) return true;
  shown_ = std::max(shown_, std::min(fraction, 1.0));
  return call_host("progress", [&] { return callbacks_.progress(callbacks_.user, shown_); }) == 0;
}

void Host::log_thrown(const char* callback) noexcept {
  try {
    log()(LogLevel::Error, "callback {} threw an exception; callbacks must return", callback);
  } catch (...) {  // the message is lost if memory is short
  }
}

}  // namespace tenon::capi
