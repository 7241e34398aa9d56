// tenon_session_*.
#include <algorithm>

#include "base/atomic_file.h"
#include "base/byte_source.h"
#include "fence.h"
#include "model_handle.h"
#include "option_readers.h"
#include "option_set.h"
#include "sampler_handle.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

/// Sampler of a call: the caller's, or the default one.
class Draws {
 public:
  Draws(tenon_session& session, tenon_sampler* given)
      : session_(*session.session),
        sampler_(given == nullptr ? session.default_sampler() : checked(given).sampler),
        ends_(given == nullptr ? no_rules_ : given->ends) {
    ends_.min_tokens = static_cast<uint64_t>(sampler_.values().integer("min_tokens"));
  }
  ~Draws() {
    if (is_limited_) ends_.tokens_left = UINT64_MAX;
  }
  Draws(const Draws&) = delete;
  Draws& operator=(const Draws&) = delete;

  /// Limits generation to this many more tokens.
  void limit(uint64_t tokens, uint64_t room) {
    sampler_.set_token_limit(std::min(tokens, room));
    ends_.tokens_left = tokens;
    is_limited_ = true;
  }

  /// Generates one token.
  tenon_piece next() {
    const tenon::AnswerPiece drawn = session_.next_piece(sampler_, ends_);
    tenon_piece piece{};
    piece.struct_size = sizeof piece;
    piece.token = drawn.token;
    piece.finish = static_cast<int32_t>(drawn.finish);
    piece.text = drawn.text.data() != nullptr ? drawn.text.data() : "";
    piece.length = drawn.text.size();
    return piece;
  }

 private:
  tenon::Session& session_;
  tenon::Sampler& sampler_;
  tenon::EndRules no_rules_;
  tenon::EndRules& ends_;
  bool is_limited_ = false;
};

static_assert(static_cast<int32_t>(tenon::Finish::End) == TENON_FINISH_END);
static_assert(static_cast<int32_t>(tenon::Finish::MaxTokens) == TENON_FINISH_MAX_TOKENS);
static_assert(static_cast<int32_t>(tenon::Finish::Stop) == TENON_FINISH_STOP);
static_assert(static_cast<int32_t>(tenon::Finish::Banned) == TENON_FINISH_BANNED);

std::string path_in(const char* path) { return std::string(name_in(path, "path")); }

void restore(tenon_session& session, const tenon::ByteSource& source, uint32_t flags) {
  check_flags(flags, TENON_RESTORE_TEXT);
  session.session->restore(source, (flags & TENON_RESTORE_TEXT) != 0);
}

}  // namespace

tenon_status tenon_session_create(const tenon_model* model, const tenon_options* options,
                                  tenon_session** session) {
  return fence([&] {
    tenon_session*& out = checked_out(session, "session");
    const tenon_model& of_handle = checked(model);
    const OptionSet set = options_or_default(options);
    auto created = std::make_unique<tenon::Session>(of_handle.engine(), session_options(set));
    of_handle.host->note_context(created->context(), created->model().spec().trained_context);
    out = new tenon_session(of_handle.host, std::move(created));
  });
}

void tenon_session_destroy(tenon_session* session) { destroy(session); }

tenon_status tenon_session_append_text(tenon_session* session, const char* text, size_t length,
                                       uint32_t flags) {
  return fence([&] {
    const SessionCall call(session);
    check_flags(flags, TENON_ADD_SPECIAL | TENON_PARSE_SPECIAL);
    const std::string_view appended = text_in(text, length, "text");
    const bool parse_special = (flags & TENON_PARSE_SPECIAL) != 0;
    call->session->append(appended, {.add_special = (flags & TENON_ADD_SPECIAL) != 0,
                                     .parse_special = parse_special});
    if (!parse_special) call->host->note_text(call->session->model(), appended);
  });
}

tenon_status tenon_session_append_tokens(tenon_session* session, const tenon_token* tokens,
                                         size_t num_tokens) {
  return fence([&] {
    const SessionCall call(session);
    call->session->append(array_in(tokens, num_tokens, "tokens"));
  });
}

tenon_status tenon_session_set_source_text(tenon_session* session, const char* text, size_t length,
                                           uint32_t flags) {
  return fence([&] {
    const SessionCall call(session);
    check_flags(flags, TENON_ADD_SPECIAL | TENON_PARSE_SPECIAL);
    const auto& tokenizer = *call->session->model().tokenizer();
    call->session->set_source(tokenizer.encode(
        text_in(text, length, "text"), {.add_special = (flags & TENON_ADD_SPECIAL) != 0,
                                        .parse_special = (flags & TENON_PARSE_SPECIAL) != 0}));
  });
}

tenon_status tenon_session_set_source_tokens(tenon_session* session, const tenon_token* tokens,
                                             size_t num_tokens) {
  return fence([&] {
    const SessionCall call(session);
    call->session->set_source(array_in(tokens, num_tokens, "tokens"));
  });
}

tenon_status tenon_session_prefill(tenon_session* session, tenon_progress_callback progress,
                                   void* user) {
  return fence([&] {
    const SessionCall call(session);
    if (progress == nullptr) return call->session->prefill();
    call->session->prefill([&](double fraction) {
      return call_host("progress", [&] { return progress(user, fraction); }) == 0;
    });
  });
}

tenon_status tenon_session_next(tenon_session* session, tenon_sampler* sampler,
                                tenon_piece* piece) {
  return fence([&] {
    const SessionCall call(session);
    // Check before drawing.
    (void)checked_struct_size(piece, "tenon_piece");
    struct_out(Draws(*call, sampler).next(), piece, "tenon_piece");
  });
}

tenon_status tenon_session_generate(tenon_session* session, tenon_sampler* sampler,
                                    uint64_t max_tokens, tenon_piece_callback on_piece,
                                    void* user) {
  return fence([&] {
    const SessionCall call(session);
    Draws draws(*call, sampler);
    const uint64_t room = call->session->context() - call->session->position();
    // Without any room, the first draw fails and reports both numbers of the limit.
    const uint64_t limit = max_tokens != 0 ? max_tokens : std::max<uint64_t>(room, 1);
    draws.limit(limit, room);
    for (bool ended = false; !ended;) {
      const tenon_piece piece = draws.next();
      const bool stop =
          on_piece != nullptr && call_host("on_piece", [&] { return on_piece(user, &piece); }) != 0;
      ended = stop || piece.finish != TENON_FINISH_NONE;
    }
  });
}

tenon_status tenon_session_take_held(tenon_session* session, const char** text, size_t* length) {
  return fence([&] {
    const SessionCall call(session);
    const char*& data = checked_out(text, "text");
    size_t& size = checked_out(length, "length");
    const std::string_view held = call->session->take_held();
    data = held.empty() ? "" : held.data();
    size = held.size();
  });
}

tenon_status tenon_session_drawn_logits(tenon_session* session, const float** logits,
                                        size_t* count) {
  return fence([&] {
    const SessionCall call(session);
    const float*& data = checked_out(logits, "logits");
    size_t& size = checked_out(count, "count");
    const std::span<const float> values = call->session->drawn_logits();
    data = values.data();
    size = values.size();
  });
}

tenon_status tenon_session_logits(tenon_session* session, const float** logits, size_t* count) {
  return fence([&] {
    const SessionCall call(session);
    const float*& data = checked_out(logits, "logits");
    size_t& size = checked_out(count, "count");
    const std::span<const float> values = call->session->logits();
    data = values.data();
    size = values.size();
  });
}

tenon_status tenon_session_evaluate(tenon_session* session, const tenon_token* tokens,
                                    size_t num_tokens, tenon_logits_callback on_logits,
                                    void* user) {
  return fence([&] {
    const SessionCall call(session);
    if (on_logits == nullptr) tenon::fail(tenon::Code::Argument, "on_logits is NULL");
    call->session->evaluate(
        array_in(tokens, num_tokens, "tokens"), [&](uint64_t row, std::span<const float> logits) {
          return call_host("on_logits",
                           [&] { return on_logits(user, row, logits.data(), logits.size()); }) == 0;
        });
  });
}

tenon_status tenon_session_fork(tenon_session* session, tenon_session** fork) {
  return fence([&] {
    const SessionCall call(session);
    tenon_session*& out = checked_out(fork, "fork");
    out = std::make_unique<tenon_session>(call->host, call->session->fork()).release();
  });
}

tenon_status tenon_session_rewind(tenon_session* session, uint64_t position) {
  return fence([&] {
    const SessionCall call(session);
    call->session->rewind(position);
  });
}

tenon_status tenon_session_save(tenon_session* session, const char* path) {
  return fence([&] {
    const SessionCall call(session);
    tenon::AtomicFile file(call->session->model().options().system, path_in(path));
    call->session->save([&file](std::span<const std::byte> bytes) { file.write(bytes); });
    file.commit();
  });
}

tenon_status tenon_session_save_buffer(tenon_session* session, void* buffer, size_t capacity,
                                       size_t* size) {
  return fence([&] {
    const SessionCall call(session);
    size_t& out = checked_out(size, "size");
    if (buffer == nullptr && capacity != 0) {
      tenon::fail(tenon::Code::Argument, "the buffer is NULL but its capacity is {}", capacity);
    }
    const uint64_t needed = call->session->snapshot_bytes();
    if (needed > capacity) {
      out = needed;
      return;
    }
    auto* bytes = static_cast<std::byte*>(buffer);
    size_t written = 0;
    call->session->save([&](std::span<const std::byte> part) {
      std::copy(part.begin(), part.end(), bytes + written);
      written += part.size();
    });
    out = written;
  });
}

tenon_status tenon_session_restore(tenon_session* session, const char* path, uint32_t flags) {
  return fence([&] {
    const SessionCall call(session);
    const auto source =
        tenon::ByteSource::from_path(path_in(path), call->session->model().options().system);
    restore(*call, *source, flags);
  });
}

tenon_status tenon_session_restore_buffer(tenon_session* session, const void* data, size_t size,
                                          uint32_t flags) {
  return fence([&] {
    const SessionCall call(session);
    const auto bytes = array_in(static_cast<const std::byte*>(data), size, "data");
    restore(*call, *tenon::ByteSource::from_memory(bytes, "snapshot"), flags);
  });
}

tenon_status tenon_session_position(tenon_session* session, uint64_t* position) {
  return fence([&] {
    const SessionCall call(session);
    checked_out(position, "position") = call->session->position();
  });
}

tenon_status tenon_session_context(tenon_session* session, uint64_t* context) {
  return fence([&] {
    const SessionCall call(session);
    checked_out(context, "context") = call->session->context();
  });
}

tenon_status tenon_session_tokens(tenon_session* session, const tenon_token** tokens,
                                  size_t* num_tokens) {
  return fence([&] {
    const SessionCall call(session);
    const tenon_token*& data = checked_out(tokens, "tokens");
    size_t& size = checked_out(num_tokens, "num_tokens");
    std::span<const tenon::Token> all = call->session->tokens();
    if (const auto rows = call->session->picture_rows(); !rows.empty()) {
      std::vector<tenon::Token>& shown = call->shown_tokens;
      shown.assign(all.begin(), all.end());
      for (const tenon::RowsInText& run : rows) {
        std::fill_n(shown.begin() + static_cast<ptrdiff_t>(run.first), run.count,
                    TENON_PICTURE_TOKEN);
      }
      all = shown;
    }
    data = all.data();
    size = all.size();
  });
}

tenon_status tenon_session_seed(tenon_session* session, int64_t* seed) {
  return fence([&] {
    const SessionCall call(session);
    int64_t& out = checked_out(seed, "seed");
    const std::optional<uint64_t> latest = call->session->seed();
    if (!latest) tenon::fail(tenon::Code::State, "session: nothing was drawn yet, with any seed");
    out = static_cast<int64_t>(*latest);
  });
}

tenon_status tenon_session_cancel(tenon_session* session) {
  // Avoid the fence, whose thread-local memory a signal handler may not use.
  const bool is_good = session != nullptr && session->is(tenon::capi::Magic::Session) &&
                       session->is_of_this_process() && session->begin_use();
  if (!is_good) return fence([&] { (void)checked(session); });
  session->session->cancel();
  session->end_use();
  return TENON_OK;
}

tenon_status tenon_session_get_stats(tenon_session* session, tenon_session_stats* stats) {
  return fence([&] {
    const SessionCall call(session);
    const tenon::SessionStats& counted = call->session->stats();
    tenon_session_stats out{};
    out.prefill_tokens = counted.prefill_tokens;
    out.decode_tokens = counted.decode_tokens;
    out.prefill_seconds = static_cast<double>(counted.prefill_ns) * 1e-9;
    out.decode_seconds = static_cast<double>(counted.decode_ns) * 1e-9;
    struct_out(out, stats, "tenon_session_stats");
  });
}
