// tenon_chat_begin and tenon_chat_answer: one turn of a conversation in a session.
#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_handle.h"
#include "fence.h"
#include "sampler_handle.h"
#include "session_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

/// Rendered conversation and its tokens.
struct Prompt {
  tenon::ChatPrompt chat;
  std::vector<tenon::Token> tokens;
};

Prompt prompt_of(const tenon::Chat& chat, std::string_view conversation, size_t dropped_turns) {
  Prompt prompt{chat.render(conversation, dropped_turns), {}};
  prompt.tokens = chat.encode(prompt.chat);
  return prompt;
}

/// Maximum prompt tokens that leave room for max_tokens.
uint64_t room_for_prompt(const tenon::Session& session, uint64_t max_tokens) {
  const uint64_t context = session.context();
  return context - std::min(max_tokens != 0 ? max_tokens : context / 4, context / 2);
}

/// Prompt without the oldest turns, if all do not fit. Drops the turns that the latest answer
/// dropped, if that suffices, so that the text's prefix stays computed.
Prompt fitting_prompt(const tenon::Chat& chat, std::string_view conversation,
                      tenon_session& session, uint64_t room) {
  Prompt whole = prompt_of(chat, conversation, 0);
  const size_t latest = std::exchange(session.dropped_turns, 0);
  if (whole.tokens.size() <= room) return whole;
  const size_t most = whole.chat.num_turns > 0 ? whole.chat.num_turns - 1 : 0;
  if (latest > 0 && latest <= most) {
    Prompt again = prompt_of(chat, conversation, latest);
    if (again.tokens.size() <= room) {
      session.dropped_turns = latest;
      return again;
    }
  }
  // Drop the fewest turns that leave a quarter of the room free for later turns.
  size_t least = 1;
  size_t enough = most;
  while (least < enough) {
    const size_t middle = least + (enough - least) / 2;
    if (prompt_of(chat, conversation, middle).tokens.size() <= room - room / 4) {
      enough = middle;
    } else {
      least = middle + 1;
    }
  }
  Prompt fitting = prompt_of(chat, conversation, most == 0 ? 0 : enough);
  if (fitting.tokens.size() > room) {
    tenon::fail(
        tenon::Code::Limit,
        "the last turn of the conversation has {} tokens > {}, what the context of {} holds "
        "beside an answer",
        fitting.tokens.size(), room, session.session->context());
  }
  session.dropped_turns = enough;
  return fitting;
}

/// Replaces the session's text by these tokens; keeps the common prefix computed.
void set_text(tenon::Session& session, std::span<const tenon::Token> tokens) {
  const std::span<const tenon::Token> held = session.tokens();
  if (tokens.size() >= session.context()) {
    tenon::fail(tenon::Code::Limit, "the conversation has {} tokens >= context {}", tokens.size(),
                session.context());
  }
  size_t same = 0;
  // Tokens do not tell pictures apart.
  const auto rows = session.picture_rows();
  const size_t most = rows.empty() ? held.size() : rows.front().first;
  while (same < most && same + 1 < tokens.size() && held[same] == tokens[same]) ++same;
  if (same < held.size()) session.rewind(same);
  session.append(tokens.subspan(same));
}

/// Implements tenon_chat_begin.
std::unique_ptr<tenon_chat_reply> begin(const tenon_chat& chat, tenon_session& session,
                                        std::string_view conversation, tenon::Sampler& sampler,
                                        uint64_t max_tokens, uint32_t flags) {
  check_flags(flags, TENON_DROP_OLDEST);
  if (chat.masks == nullptr) {
    tenon::fail(tenon::Code::State, "the chat was made without a model: no tokens");
  }
  if (chat.model->tokenizer() != session.session->model().tokenizer()) {
    tenon::fail(tenon::Code::State, "the chat and the session are of two models");
  }
  const Prompt prompt = (flags & TENON_DROP_OLDEST) != 0
                            ? fitting_prompt(*chat.chat, conversation, session,
                                             room_for_prompt(*session.session, max_tokens))
                            : prompt_of(*chat.chat, conversation, 0);
  const auto grammar = chat.chat->answer_grammar(prompt.chat);
  auto reply = std::make_unique<tenon_chat_reply>(chat, prompt.chat);
  set_text(*session.session, prompt.tokens);
  sampler.set_grammar(grammar == nullptr
                          ? nullptr
                          : std::make_unique<tenon::GrammarMatcher>(chat.masks->of(grammar)));
  return reply;
}

}  // namespace

tenon_status tenon_chat_begin(const tenon_chat* chat, tenon_session* session,
                              const char* conversation, size_t length, tenon_sampler* sampler,
                              uint64_t max_tokens, uint32_t flags, tenon_chat_reply** reply) {
  return fence([&] {
    const SessionCall call(session);
    tenon_chat_reply*& out = checked_out(reply, "reply");
    out = begin(checked(chat), *call, text_in(conversation, length, "conversation"),
                checked(sampler).sampler, max_tokens, flags)
              .release();
  });
}

tenon_status tenon_chat_answer(const tenon_chat* chat, tenon_session* session,
                               const char* conversation, size_t length, tenon_sampler* sampler,
                               uint64_t max_tokens, uint32_t flags, tenon_chat_callback on_delta,
                               void* user, const char** message, size_t* message_length,
                               int32_t* finish) {
  return fence([&] {
    const SessionCall call(session);
    const char*& data = checked_out(message, "message");
    size_t& size = checked_out(message_length, "message_length");
    tenon::Sampler draws(sampler == nullptr ? call->default_sampler() : checked(sampler).sampler);
    tenon::EndRules ends = sampler == nullptr ? tenon::EndRules() : sampler->ends;
    const auto reply = begin(checked(chat), *call, text_in(conversation, length, "conversation"),
                             draws, max_tokens, flags);
    const tenon::ReplySink sink = reply_sink(on_delta, user);
    tenon::Session& text = *call->session;
    ends.min_tokens = static_cast<uint64_t>(draws.values().integer("min_tokens"));
    const uint64_t room = text.context() - text.position();
    ends.tokens_left = max_tokens != 0 ? max_tokens : room;
    draws.set_token_limit(std::min(ends.tokens_left, room));
    tenon::Finish how = tenon::Finish::None;
    while (how == tenon::Finish::None) {
      const tenon::AnswerPiece piece = text.next_piece(draws, ends);
      push_piece(*reply, piece.token, piece.text, sink);
      how = piece.finish;
    }
    finish_reply(*reply, sink);
    call->message = tenon::message_json(reply->parser.message());
    data = call->message.c_str();
    size = call->message.size();
    if (finish != nullptr) *finish = static_cast<int32_t>(how);
  });
}
