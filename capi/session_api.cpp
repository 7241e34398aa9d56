// tenon_session_*.
#include <algorithm>

#include "fence.h"
#include "model_handle.h"
#include "option_set.h"
#include "sampler_handle.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

/// What a call draws with: the caller's sampler, or the defaults.
struct Draws {
  tenon::Sampler* sampler;
  const tenon_sampler* rules;  ///< stops; null: none
};

Draws draws_of(tenon_session& session, tenon_sampler* given) {
  if (given == nullptr) return {&session.default_sampler(), nullptr};
  tenon_sampler& live = checked(given);
  return {&live.sampler, &live};
}

void set_text(tenon_piece& piece, std::string_view text) {
  piece.text = text.data() != nullptr ? text.data() : "";
  piece.length = text.size();
}

/// One step of generation.
tenon_piece draw(tenon_session& session, const Draws& draws) {
  const tenon::Tokenizer& tokenizer = *session.session->model().tokenizer();
  const auto min_tokens = static_cast<uint64_t>(draws.sampler->values().integer("min_tokens"));
  const bool may_end = session.num_generated >= min_tokens;
  session.forbidden.clear();
  if (!may_end) {
    const auto ends = tokenizer.end_tokens();
    session.forbidden.assign(ends.begin(), ends.end());
    if (draws.rules != nullptr) {
      session.forbidden.insert(session.forbidden.end(), draws.rules->stop_tokens.begin(),
                               draws.rules->stop_tokens.end());
    }
  }
  tenon_piece piece{};
  piece.struct_size = sizeof piece;
  session.follow_text();
  piece.token = session.session->next(*draws.sampler, session.forbidden);
  ++session.num_generated;
  std::string_view text = session.decoder.push(piece.token);
  session.decoded = session.session->position();
  if (draws.rules != nullptr && std::binary_search(draws.rules->stop_tokens.begin(),
                                                   draws.rules->stop_tokens.end(), piece.token)) {
    piece.finish = TENON_FINISH_STOP;
    text = {};
  } else if (tokenizer.is_end(piece.token)) {
    piece.finish = TENON_FINISH_END;
    // An end token has no text of its own; what is left is a character that will never be whole.
    if (text.empty()) text = session.decoder.finish();
  }
  const auto stops = draws.rules != nullptr && may_end ? draws.rules->stops : nullptr;
  if (session.stops.stops() != stops) session.stops.restart(stops);
  const tenon::StopStream::Shown shown = session.stops.push(text);
  text = shown.text;
  if (shown.stopped) {
    piece.finish = TENON_FINISH_STOP;
    session.decoder = tenon::StreamDecoder(tokenizer);
  } else if (piece.finish != TENON_FINISH_NONE && stops != nullptr) {
    session.tail.assign(text).append(session.stops.finish());
    text = session.tail;
  }
  set_text(piece, text);
  return piece;
}

}  // namespace

tenon::SessionOptions tenon::capi::session_options(const OptionSet& set) {
  tenon::SessionOptions options;
  options.context = static_cast<uint32_t>(set.integer("context"));
  options.salt = set.string("salt");
  options.priority = static_cast<int32_t>(set.integer("priority"));
  options.client = set.string("client");
  options.weight = set.real("weight");
  return options;
}

tenon_status tenon_session_create(const tenon_model* model, const tenon_options* options,
                                  tenon_session** session) {
  return fence([&] {
    tenon_session*& out = checked_out(session, "session");
    const tenon_model& of_handle = checked(model);
    const OptionSet set = options_or_default(options);
    auto created = std::make_unique<tenon::Session>(
        of_handle.engine(),
        session_options(set));
    out = new tenon_session(of_handle.host, std::move(created));
  });
}

void tenon_session_destroy(tenon_session* session) {
  if (live_or_null(session) != nullptr) destroy_session(session);
}

tenon_status tenon_session_append_text(tenon_session* session, const char* text, size_t length,
                                       uint32_t flags) {
  return fence([&] {
    const SessionCall call(session);
    check_flags(flags, TENON_ADD_SPECIAL | TENON_PARSE_SPECIAL);
    call->session->append(text_in(text, length, "text"),
                          {.add_special = (flags & TENON_ADD_SPECIAL) != 0,
                           .parse_special = (flags & TENON_PARSE_SPECIAL) != 0});
    call->restart_text();
  });
}

tenon_status tenon_session_append_tokens(tenon_session* session, const tenon_token* tokens,
                                         size_t num_tokens) {
  return fence([&] {
    const SessionCall call(session);
    call->session->append(array_in(tokens, num_tokens, "tokens"));
    call->restart_text();
  });
}

tenon_status tenon_session_prefill(tenon_session* session,
                                   int32_t (*progress)(void* user, double fraction), void* user) {
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
    // Checked before anything is drawn.
    (void)checked_struct_size(piece, "tenon_piece");
    struct_out(draw(*call, draws_of(*call, sampler)), piece, "tenon_piece");
  });
}

tenon_status tenon_session_generate(tenon_session* session, tenon_sampler* sampler,
                                    uint64_t max_tokens, tenon_piece_callback on_piece,
                                    void* user) {
  return fence([&] {
    const SessionCall call(session);
    const Draws draws = draws_of(*call, sampler);
    const uint64_t room = call->session->context() - call->session->position();
    // With no room at all the first draw tells both numbers of the limit.
    const uint64_t limit = max_tokens != 0 ? max_tokens : std::max<uint64_t>(room, 1);
    if (tenon::GrammarMatcher* grammar = draws.sampler->grammar(); grammar != nullptr) {
      grammar->set_token_limit(std::min(limit, room));
    }
    for (uint64_t i = 1; i <= limit; ++i) {
      tenon_piece piece = draw(*call, draws);
      if (i == limit && piece.finish == TENON_FINISH_NONE) {
        piece.finish = TENON_FINISH_MAX_TOKENS;
        call->tail.assign(piece.text, piece.length).append(call->stops.finish());
        set_text(piece, call->tail);
      }
      const bool stop =
          on_piece != nullptr && call_host("on_piece", [&] { return on_piece(user, &piece); }) != 0;
      if (stop || piece.finish != TENON_FINISH_NONE) return;
    }
  });
}

tenon_status tenon_session_take_held(tenon_session* session, const char** text, size_t* length) {
  return fence([&] {
    const SessionCall call(session);
    const char*& data = checked_out(text, "text");
    size_t& size = checked_out(length, "length");
    const std::string_view held = call->stops.finish();
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
    call->restart_text();
  });
}

tenon_status tenon_session_fork(tenon_session* session, tenon_session** fork) {
  return fence([&] {
    const SessionCall call(session);
    tenon_session*& out = checked_out(fork, "fork");
    auto copy = std::make_unique<tenon_session>(call->host, call->session->fork());
    copy->decoder = call->decoder;
    copy->decoded = call->decoded;
    copy->stops = call->stops;
    copy->num_generated = call->num_generated;
    out = copy.release();
  });
}

tenon_status tenon_session_rewind(tenon_session* session, uint64_t position) {
  return fence([&] {
    const SessionCall call(session);
    call->session->rewind(position);
    call->restart_text();
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
    const std::span<const tenon::Token> all = call->session->tokens();
    data = all.data();
    size = all.size();
  });
}

tenon_status tenon_session_cancel(tenon_session* session) {
  return fence([&] { checked(session).session->cancel(); });
}

tenon_status tenon_session_stats(tenon_session* session, tenon_session_figures* figures) {
  return fence([&] {
    const SessionCall call(session);
    const tenon::SessionStats& stats = call->session->stats();
    tenon_session_figures out{};
    out.prefill_tokens = stats.prefill_tokens;
    out.decode_tokens = stats.decode_tokens;
    out.prefill_seconds = static_cast<double>(stats.prefill_ns) * 1e-9;
    out.decode_seconds = static_cast<double>(stats.decode_ns) * 1e-9;
    struct_out(out, figures, "tenon_session_figures");
  });
}
