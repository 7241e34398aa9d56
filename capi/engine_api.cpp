// tenon_engine_*: engines that many sessions share.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "engine_handle.h"
#include "fence.h"
#include "model_handle.h"
#include "option_readers.h"
#include "option_set.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

void fill(const tenon::Histogram& from, uint64_t (&counts)[TENON_HISTOGRAM_COUNTS],
          double& seconds) {
  static_assert(std::tuple_size_v<decltype(from.counts)> == TENON_HISTOGRAM_COUNTS);
  std::copy(from.counts.begin(), from.counts.end(), counts);
  seconds = from.sum;
}

tenon_engine_stats stats_of(const tenon::EngineMetrics& metrics) {
  tenon_engine_stats out{};
  out.waiting = metrics.waiting;
  out.waiting_tokens = metrics.waiting_tokens;
  out.running = metrics.running;
  out.queue_room = metrics.queue_room;
  out.submitted = metrics.submitted_total;
  out.finished = metrics.finished_total;
  out.cancelled = metrics.cancelled_total;
  out.expired = metrics.expired_total;
  out.failed = metrics.failed_total;
  out.busy = metrics.busy_total;
  out.preempted = metrics.preempted_total;
  out.kv_limit_bytes = metrics.kv_limit_bytes;
  out.kv_held_bytes = metrics.kv_held_bytes;
  out.kv_used_bytes = metrics.kv_used_bytes;
  out.kv_shared_bytes = metrics.kv_shared_bytes;
  out.steps = metrics.steps_total;
  out.steps_stopped = metrics.steps_stopped_total;
  out.prompt_tokens = metrics.prompt_tokens_total;
  out.decode_tokens = metrics.decode_tokens_total;
  out.reused_tokens = metrics.reused_tokens_total;
  out.generated_tokens = metrics.generated_tokens_total;
  out.drafts = metrics.drafts_total;
  out.drafted_tokens = metrics.drafted_tokens_total;
  out.accepted_tokens = metrics.accepted_tokens_total;
  out.store_hits = metrics.store_hits_total;
  out.store_read_bytes = metrics.store_read_bytes_total;
  out.store_written_bytes = metrics.store_written_bytes_total;
  out.store_dropped = metrics.store_dropped_total;
  out.draft_model_guesses = metrics.draft_model_guesses_total;
  out.draft_model_right = metrics.draft_model_right_total;
  out.draft_model_tokens = metrics.draft_model_tokens_total;
  out.draft_model_seconds = metrics.draft_model_seconds_total;
  out.draft_kv_limit_bytes = metrics.draft_kv_limit_bytes;
  out.draft_kv_held_bytes = metrics.draft_kv_held_bytes;
  out.answer_bytes = metrics.answer_bytes;
  out.step_seconds = metrics.step_seconds_total;
  out.schedule_seconds = metrics.schedule_seconds_total;
  out.idle_blocks_taken = metrics.idle_blocks_taken_total;
  out.prefix_evicted = metrics.prefix_evicted_total;
  fill(metrics.first_token, out.first_token_counts, out.first_token_seconds);
  fill(metrics.token_gap, out.token_gap_counts, out.token_gap_seconds);
  fill(metrics.whole_request, out.request_counts, out.request_seconds);
  return out;
}

/// A host's functions as a store.
class HostStore final : public tenon::BlockStore {
 public:
  HostStore(std::shared_ptr<Host> host, const tenon_block_store& functions)
      : host_(std::move(host)), functions_(functions) {}
  ~HostStore() override {
    if (!is_used_ || functions_.release == nullptr) return;
    host_->call_host_logged("release", [&] { functions_.release(functions_.user); });
  }
  /// The engine took it.
  void note_used() noexcept { is_used_ = true; }

  [[nodiscard]] tenon::Hash128 secret() const override {
    return {functions_.secret[0], functions_.secret[1]};
  }
  std::optional<uint64_t> find(tenon::Hash128 key) noexcept override {
    int64_t size = -1;
    host_->call_host_logged("find",
                            [&] { size = functions_.find(functions_.user, Key(key).bytes); });
    if (size < 0) return std::nullopt;
    return static_cast<uint64_t>(size);
  }
  bool read(tenon::Hash128 key, std::span<std::byte> out) noexcept override {
    int32_t status = -1;
    host_->call_host_logged("read", [&] {
      status = functions_.read(functions_.user, Key(key).bytes, out.data(), out.size());
    });
    return status == 0;
  }
  bool write(tenon::Hash128 key, tenon::Hash128 before,
             std::span<const std::byte> record) noexcept override {
    int32_t status = -1;
    const Key needed(before);
    host_->call_host_logged("write", [&] {
      status = functions_.write(functions_.user, Key(key).bytes,
                                before == tenon::Hash128{} ? nullptr : needed.bytes, record.data(),
                                record.size());
    });
    return status == 0;
  }
  void remove(tenon::Hash128 key) noexcept override {
    host_->call_host_logged("remove", [&] { functions_.remove(functions_.user, Key(key).bytes); });
  }

 private:
  struct Key {
    explicit Key(tenon::Hash128 key) {
      std::memcpy(bytes, &key.low, sizeof key.low);
      std::memcpy(bytes + sizeof key.low, &key.high, sizeof key.high);
    }
    uint8_t bytes[16];
  };

  std::shared_ptr<Host> host_;
  tenon_block_store functions_;
  bool is_used_ = false;
};

/// Adapts a host's executor for the engine.
struct HostExecutor {
  /// Provides the engine's memory and log, even after all handles are gone.
  std::shared_ptr<Host> host;
  tenon_post_callback post;
  void* user;
};

bool post_task(void* user, tenon_task task, void* arg) noexcept {
  const auto& executor = *static_cast<const HostExecutor*>(user);
  return executor.host->call_host_logged("post", [&] { executor.post(executor.user, task, arg); });
}

}  // namespace

tenon_status tenon_engine_create(const tenon_model* model, const tenon_options* options,
                                 tenon_engine** engine) {
  return fence([&] {
    tenon_engine*& out = checked_out(engine, "engine");
    const tenon_model& of_handle = checked(model);
    const auto made =
        engine_options(options_or_default(options), *of_handle.model->options().system);
    out = new tenon_engine(of_handle.host, tenon::Engine::create(of_handle.model, made));
  });
}

void tenon_engine_destroy(tenon_engine* engine) { destroy(engine); }

tenon_status tenon_engine_open_session(tenon_engine* engine, const tenon_options* options,
                                       tenon_session** session) {
  return fence([&] {
    tenon_session*& out = checked_out(session, "session");
    const tenon_engine& of_handle = checked(engine);
    auto opened = std::make_unique<tenon::Session>(of_handle.engine,
                                                   session_options(options_or_default(options)));
    of_handle.host->note_context(opened->context(), opened->model().spec().trained_context);
    out = new tenon_session(of_handle.host, std::move(opened));
  });
}

tenon_status tenon_engine_step(tenon_engine* engine, int32_t* worked) {
  return fence([&] {
    int32_t& out = checked_out(worked, "worked");
    // Keep the host alive: another thread may destroy the handle during the call.
    const std::shared_ptr<Host> host = checked(engine).host;
    const std::shared_ptr<tenon::Engine> used = checked(engine).engine;
    out = used->step() ? 1 : 0;
  });
}

tenon_status tenon_engine_run(tenon_engine* engine) {
  return fence([&] {
    const std::shared_ptr<Host> host = checked(engine).host;
    const std::shared_ptr<tenon::Engine> used = checked(engine).engine;
    used->serve();
  });
}

tenon_status tenon_engine_stop(tenon_engine* engine) {
  return fence([&] { checked(engine).engine->stop(); });
}

tenon_status tenon_engine_set_executor(tenon_engine* engine, tenon_post_callback post, void* user) {
  return fence([&] {
    const std::shared_ptr<Host> host = checked(engine).host;
    const std::shared_ptr<tenon::Engine> used = checked(engine).engine;
    if (post == nullptr) return used->set_executor({});
    const auto executor = std::make_shared<HostExecutor>(HostExecutor{host, post, user});
    used->set_executor({&post_task, executor.get(), executor});
  });
}

tenon_status tenon_engine_get_stats(tenon_engine* engine, tenon_engine_stats* stats) {
  return fence([&] {
    struct_out(stats_of(checked(engine).engine->metrics()), stats, "tenon_engine_stats");
  });
}

tenon_status tenon_engine_stats_text(tenon_engine* engine, char* text, size_t capacity,
                                     size_t* length) {
  return fence([&] {
    const std::string all = tenon::prometheus_text(checked(engine).engine->metrics());
    fill_buffer(std::span<const char>(all), text, capacity, length);
  });
}

tenon_status tenon_engine_set_store(tenon_engine* engine, const tenon_block_store* store) {
  return fence([&] {
    const std::shared_ptr<Host> host = checked(engine).host;
    const std::shared_ptr<tenon::Engine> used = checked(engine).engine;
    const tenon_block_store given = struct_in(store, "tenon_block_store");
    if (given.find == nullptr || given.read == nullptr || given.write == nullptr ||
        given.remove == nullptr) {
      tenon::fail(tenon::Code::Argument, "tenon_block_store lacks a function");
    }
    const auto made = std::make_shared<HostStore>(host, given);
    used->set_store(made);
    made->note_used();
  });
}

tenon_status tenon_engine_drafters_text(tenon_engine* engine, char* text, size_t capacity,
                                        size_t* length) {
  return fence([&] {
    const std::string all = checked(engine).engine->describe_drafters();
    fill_buffer(std::span<const char>(all), text, capacity, length);
  });
}
