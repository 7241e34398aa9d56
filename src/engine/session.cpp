// Session: append, compute, draw, fork, rewind.
#include "engine/session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/session_use.h"

namespace tenon {
namespace {

// Positions are int32 in a step.
constexpr uint32_t kMaxContext = std::numeric_limits<int32_t>::max();

// Bytes of logits computed at once by evaluate().
constexpr uint64_t kEvaluateBytes = uint64_t{8} << 20;

uint32_t checked_context(const Model& model, const SessionOptions& options) {
  const uint32_t context = options.context == 0 ? model.default_context() : options.context;
  if (context > kMaxContext) {
    fail(Code::Argument, "session: context is {}, not in 1..{}", context, kMaxContext);
  }
  const ModelSpec& spec = model.spec();
  if (spec.learned_positions && context > spec.trained_context) {
    fail(Code::Limit, "session: context is {}, but \"{}\" has a table of {} positions", context,
         spec.architecture, spec.trained_context);
  }
  const uint32_t most = spec.short_context();
  if (most > 0 && model.default_context() <= most && context > most) {
    fail(Code::Limit,
         "session: context is {}, but \"{}\" was opened for texts of {}, up to the {} that its "
         "other table of rope is for: open it with default_context {}",
         context, spec.architecture, model.default_context(), most, context);
  }
  return context;
}

/// Ends a draw when the session's call is cancelled.
class CancelWatch : public WorkWatch {
 public:
  CancelWatch(CancelFlag& cancel, const Sequence& sequence)
      : cancel_(cancel), sequence_(sequence) {}
  void look() override {
    if (!cancel_.take()) return;
    fail(Code::Cancelled, "session: cancelled at position {}", sequence_.size());
  }

 private:
  CancelFlag& cancel_;
  const Sequence& sequence_;
};

}  // namespace

Session::Session(std::shared_ptr<Engine> engine, const SessionOptions& options)
    : engine_(std::move(engine)),
      sequence_(engine_->pools(), checked_context(model(), options),
                engine_->root_of(options.salt)),
      logits_(model().options().system, vocab() * sizeof(float), "logits of a session"),
      answer_(*model().tokenizer()),
      loop_(answer_),
      options_(options),
      control_(std::make_shared<CallControl>()) {
  control_->idle.sequence = &sequence_;
}

Session::~Session() {
  if (generation_ != nullptr) engine_->withdraw(*generation_);
  engine_->with_sequence(*control_, [this] {
    sequence_.lose(0);
    control_->idle.sequence = nullptr;
  });
  engine_->release_unused();
}

uint64_t Session::num_pending() {
  return engine_->with_sequence(*control_, [this] {
    sequence_.claim_ahead();
    return sequence_.num_pending();
  });
}

void Session::check_tokens(std::span<const Token> tokens) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || static_cast<uint64_t>(tokens[i]) >= vocab()) {
      fail(Code::Argument, "session: token {} at index {} is outside 0..{}", tokens[i], i,
           vocab() - 1);
    }
  }
}

void Session::set_source(std::span<const Token> tokens) {
  const Use use(*this);
  const ModelProgram* encoder = model().find(ProgramRole::Encoder);
  if (encoder == nullptr) {
    fail(Code::State, "session: \"{}\" has no encoder, and reads no source",
         model().architecture());
  }
  if (sequence_.size() > 0) {
    fail(Code::State, "session: a source comes before the text, which has {} tokens",
         sequence_.size());
  }
  if (tokens.empty()) fail(Code::Argument, "session: a source without tokens");
  check_tokens(tokens);
  const uint32_t most = encoder->program.view().max_tokens;
  if (tokens.size() > most) {
    fail(Code::Limit, "session: a source of {} tokens > {}, the most that the encoder reads",
         tokens.size(), most);
  }
  engine_->with_sequence(*control_, [&] { sequence_.set_source(tokens); });
  if (const std::optional<Token> start = model().decoder_start()) {
    append_checked(std::span(&*start, 1));
  }
}

void Session::append_checked(std::span<const Token> tokens) {
  if (model().find(ProgramRole::Encoder) != nullptr && sequence_.source().empty()) {
    fail(Code::State, "session: \"{}\" answers to a source, and there is none yet",
         model().architecture());
  }
  check_tokens(tokens);
  sequence_.append(tokens);
  if (tokens.empty()) return;
  last_is_generated_ = false;
  answer_.restart(sequence_.size());
}

void Session::check_cancelled() {
  if (!control_->cancel.take()) return;
  fail(Code::Cancelled, "session: cancelled at position {}", sequence_.size() - num_pending());
}

void Session::append(std::span<const Token> tokens) {
  const Use use(*this);
  append_checked(tokens);
}

void Session::append(std::string_view text, EncodeOptions options) {
  const Use use(*this);
  append_checked(model().tokenizer()->encode(text, options));
}

std::shared_ptr<const EncodedPicture> Session::encode_picture(const SessionPicture& picture,
                                                              const media::PicturePlan& plan) {
  check_cancelled();
  std::optional<media::RgbView> view;
  if (picture.orientation == 1) view = media::as_rgb(picture.pixels);
  media::RgbPicture upright;
  if (!view) {
    upright = media::to_upright_rgb(model().options().system, picture.pixels, picture.orientation,
                                    picture.background);
    view = upright.view();
  }
  try {
    return tower_of(model()).encode(*view, plan, model().turn(), control_->cancel.word());
  } catch (const Error& error) {
    if (error.code() == Code::Cancelled) check_cancelled();
    throw;
  }
}

void Session::append_picture(const SessionPicture& picture) {
  const Use use(*this);
  const Tower& tower = tower_of(model());
  (void)media::check_pixels(picture.pixels);
  media::Size size = picture.pixels.size;
  if (picture.orientation >= 5) std::swap(size.width, size.height);
  const media::PicturePlan plan = tower.plan(size);
  const PictureText text = tower.text_of(plan);
  if (text.tokens.size() > sequence_.context() - sequence_.size()) {
    fail(Code::Limit, "tokens {} > context {}: the picture takes {} (option image_max_tokens)",
         sequence_.size() + text.tokens.size(), sequence_.context(), text.tokens.size());
  }
  sequence_.append(text, encode_picture(picture, plan));
  last_is_generated_ = false;
  answer_.restart(sequence_.size());
}

/// Snapshots hold tokens, which do not tell pictures apart.
void Session::refuse_pictures(std::string_view what) const {
  if (!sequence_.has_pictures()) return;
  fail(Code::Unsupported, "session: a text with pictures cannot be {} yet", what);
}

void Session::prefill(const std::function<bool(double)>& progress) {
  const Use use(*this);
  check_cancelled();
  if (num_pending() > 0) compute_pending(progress);
}

void Session::compute_pending(const std::function<bool(double)>& progress, AnswerLoop* loop) {
  const uint64_t size = sequence_.size();
  const uint64_t total = num_pending();
  // Slices only for progress reports; the engine splits anything larger than a step.
  const uint64_t slice = progress ? model().program().view().max_tokens : total;
  for (uint64_t end = size - total; end < size;) {
    end += std::min(slice, size - end);
    compute(end, end, end == size ? Outputs::Last : Outputs::None, logits_row(), loop);
    const uint64_t done = total - (size - end);
    if (progress && !progress(static_cast<double>(done) / static_cast<double>(total))) {
      fail(Code::Cancelled, "session: cancelled after {} of {} tokens", done, total);
    }
  }
  if (loop == nullptr) check_finite({logits_row(), vocab()});
  logits_position_ = size;
}

void Session::compute(uint64_t begin, uint64_t end, Outputs outputs, float* logits,
                      AnswerLoop* loop) {
  System& system = *model().options().system;
  const uint64_t start = system.now_ns();
  const bool generated = last_is_generated_ && num_pending() == 1;
  uint64_t num_computed = 0;
  logits_position_ = kNoLogits;
  forget_ahead();
  try {
    BatchItem item{&sequence_,      begin,           end,
                   outputs,         logits,          control_->cancel.word(),
                   control_.get(),  nullptr,         options_.priority,
                   options_.client, options_.weight, loop,
                   deadline_ns_};
    uint32_t num_guessed = 0;
    if (generated && loop != nullptr) item.guesses = propose(*loop);
    if (!item.guesses.empty()) {
      item.guessed_by = speculator_.get();
      item.guess_logits = reinterpret_cast<float*>(ahead_logits_.data());
      item.num_guessed = &num_guessed;
    }
    num_computed = engine_->run(item);
    ahead_.assign(item.guesses.begin(), item.guesses.begin() + num_guessed);
    ahead_from_ = end;
    stats_.drafted_tokens += num_guessed;
  } catch (const Error& error) {
    if (error.code() == Code::Cancelled) check_cancelled();
    throw;
  }
  const uint64_t elapsed = system.now_ns() - start;
  (generated ? stats_.decode_tokens : stats_.prefill_tokens) += num_computed;
  (generated ? stats_.decode_ns : stats_.prefill_ns) += elapsed;
}

/// Guesses the tokens after the text, as many as the block of its last token holds: an idle session
/// holds no block for guesses. A session that cannot have what guesses need goes on without them.
std::span<const Token> Session::propose(const AnswerLoop& loop) {
  if (has_given_up_guesses_) return {};
  try {
    // A recurrent state that has read a guess cannot go back while the session waits.
    if (speculator_ == nullptr && sequence_.can_go_back()) {
      speculator_ = engine_->make_speculator({.context = context(),
                                              .salt = options_.salt,
                                              .mode = speculation_of(options_.speculate)});
    }
  } catch (...) {
  }
  has_given_up_guesses_ = speculator_ == nullptr;
  if (has_given_up_guesses_) return {};
  const uint64_t block_tokens = sequence_.block_tokens();
  const uint64_t in_block = block_tokens - 1 - (sequence_.size() - 1) % block_tokens;
  const uint64_t room = context() - sequence_.size();
  try {
    const uint64_t most = std::min(in_block, room - std::min<uint64_t>(room, 1));
    speculator_->propose(sequence_.tokens(), {}, most);
    DraftAsk ask;
    ask.speculator = speculator_.get();
    ask.text = sequence_.tokens();
    ask.sampler = &loop.sampler();
    ask.room = static_cast<uint32_t>(most);
    ask.cancel = control_->cancel.word();
    ask.deadline_ns = deadline_ns_;
    engine_->draft_for_call(ask);
  } catch (...) {
    speculator_->forget();
  }
  const std::span<const Token> guesses = speculator_->guesses(sequence_.size());
  if (guesses.empty() || ahead_logits_.size() > 0) return guesses;
  try {
    std::vector<Token> ahead;
    ahead.reserve(Drafter::kMostGuesses);
    Buffer rows(model().options().system, Drafter::kMostGuesses * vocab() * sizeof(float),
                "logits of guesses");
    ahead_ = std::move(ahead);
    ahead_logits_ = std::move(rows);
    return guesses;
  } catch (...) {
    has_given_up_guesses_ = true;
    speculator_.reset();
    return {};
  }
}

/// Takes the logits after the text from those of the latest guesses, if these became the text.
void Session::take_ahead() {
  if (ahead_.empty()) return;
  const std::span<const Token> text = sequence_.tokens();
  const uint64_t count = text.size() - std::min<uint64_t>(text.size(), ahead_from_);
  if (count == 0 || count > ahead_.size()) return;
  if (!std::ranges::equal(text.subspan(ahead_from_), std::span(ahead_).first(count))) {
    return forget_ahead();
  }
  const auto* rows = reinterpret_cast<const float*>(ahead_logits_.data());
  std::memcpy(logits_row(), rows + (count - 1) * vocab(), vocab() * sizeof(float));
  logits_position_ = text.size();
  ++stats_.accepted_tokens;
  ++stats_.decode_tokens;
}

void Session::require_logits(AnswerLoop* loop) {
  check_cancelled();
  if (sequence_.size() == 0) fail(Code::State, "session: there are no tokens yet");
  if (has_logits()) return;
  // After a rewind all tokens may be cached without logits: the last token is computed again.
  engine_->with_sequence(*control_, [this] {
    sequence_.claim_ahead();
    if (sequence_.num_pending() == 0) sequence_.forget_cached(sequence_.size() - 1);
  });
  compute_pending({}, loop);
}

Token Session::next(Sampler& sampler) {
  EndRules none;
  return next_piece(sampler, none).token;
}

void Session::settle_seed(Sampler& sampler) {
  if (const std::optional<uint64_t> seed = answer_.seed()) {
    sampler.take_seed(*seed);
  } else {
    sampler.renew_seed();
  }
  latest_seed_ = sampler.seed();
  answer_.set_seed(latest_seed_);
}

Session::Piece Session::next_piece(Sampler& sampler, EndRules& rules) {
  const Use use(*this, Use::Held::Keep);
  settle_seed(sampler);
  if (!loop_.goes_on_with(sampler, rules)) drop_held();
  last_is_drawn_ = false;
  // Moves the sampler to the last drawn token for the duration of the call.
  loop_.resume(sampler, rules, sequence_);
  const auto cut_to = [this](uint64_t size) { cut(size); };
  try {
    while (!loop_.has_piece()) {
      draw();
      loop_.settle(sequence_, cut_to);
      if (loop_.has_token()) last_is_generated_ = true;
    }
  } catch (...) {
    loop_.undo(cut_to);
    loop_.pause();
    throw;
  }
  try {
    const Piece piece = loop_.take_piece();
    last_is_drawn_ = piece.was_drawn;
    loop_.pause();
    return piece;
  } catch (...) {
    loop_.pause();
    throw;
  }
}

void Session::draw() {
  check_room();
  check_cancelled();
  CancelWatch watch(control_->cancel, sequence_);
  // Tokens forced by a grammar gather and are computed in one slice before a draw.
  if (sequence_.size() > 0 && loop_.force(sequence_, &watch)) return;
  if (!has_logits()) take_ahead();
  if (!has_logits()) return require_logits(&loop_);
  loop_.draw({logits_row(), vocab()}, sequence_, &watch);
}

void Session::cut(uint64_t size) {
  if (logits_position_ != kNoLogits && size < logits_position_) logits_position_ = kNoLogits;
  if (size < ahead_from_) forget_ahead();
  engine_->with_sequence(*control_, [&] { sequence_.truncate(size); });
}

void Session::drop_held() {
  last_is_drawn_ = false;
  if (loop_.is_fresh()) return;
  cut(position());
  loop_.drop_held();
}

std::string_view Session::take_held() {
  const Use use(*this);
  return answer_.take_held();
}

void Session::check_room() const {
  if (sequence_.size() < sequence_.context()) return;
  fail(Code::Limit, "tokens {} > context {}", sequence_.size() + 1, sequence_.context());
}

std::span<const float> Session::drawn_logits() {
  const Use use(*this, Use::Held::Keep);
  if (!has_drawn_logits()) {
    fail(Code::State, "session: the last token was not drawn, or its logits are gone");
  }
  if (!has_logits_of(position())) {
    // Tokens drawn ahead have overwritten the logits: computes them again.
    const uint64_t end = position() - 1;
    engine_->with_sequence(*control_, [&] {
      sequence_.claim_ahead();
      if (sequence_.cached() >= end) sequence_.forget_cached(end - 1);
    });
    compute(end, end, Outputs::Last, logits_row());
    check_finite({logits_row(), vocab()});
    logits_position_ = end;
  }
  return {logits_row(), vocab()};
}

std::span<const float> Session::logits() {
  const Use use(*this);
  require_logits();
  return {logits_row(), vocab()};
}

void Session::evaluate(
    std::span<const Token> tokens,
    const std::function<bool(uint64_t row, std::span<const float> logits)>& on_logits) {
  const Use use(*this);
  check_cancelled();
  if (num_pending() > 0) compute_pending({});
  append_checked(tokens);
  const uint64_t begin = sequence_.size() - tokens.size();
  uint64_t kept = begin;
  const uint64_t row_bytes = vocab() * sizeof(float);
  const uint64_t chunk =
      std::clamp<uint64_t>(kEvaluateBytes / row_bytes, 1, model().program().view().max_tokens);
  try {
    Buffer rows(model().options().system, std::min<uint64_t>(chunk, tokens.size()) * row_bytes,
                "logits of many positions");
    const auto* values = reinterpret_cast<const float*>(rows.data());
    for (uint64_t done = 0; done < tokens.size();) {
      const auto count = static_cast<uint32_t>(std::min<uint64_t>(chunk, tokens.size() - done));
      compute(begin + done, begin + done + count, Outputs::All,
              reinterpret_cast<float*>(rows.data()));
      check_finite({values, count * vocab()});
      std::memcpy(logits_row(), values + (count - 1) * vocab(), row_bytes);
      logits_position_ = kept = begin + done + count;
      for (uint32_t i = 0; i < count; ++i) {
        if (on_logits(done + i, {values + i * vocab(), vocab()})) continue;
        fail(Code::Cancelled, "session: cancelled after {} of {} rows", done + i + 1,
             tokens.size());
      }
      done += count;
    }
  } catch (...) {
    // Computed tokens of a chunk stay.
    engine_->with_sequence(*control_,
                           [&] { sequence_.truncate(std::max(kept, sequence_.cached())); });
    answer_.restart(sequence_.size());
    throw;
  }
}

std::shared_ptr<Generation> Session::submit(const Sampler& sampler,
                                            const GenerationOptions& options) {
  Use use(*this);
  check_cancelled();
  if (sequence_.size() == 0) fail(Code::State, "session: there are no tokens yet");
  if (sequence_.size() >= sequence_.context()) {
    fail(Code::Limit, "tokens {} > context {}", sequence_.size() + 1, sequence_.context());
  }
  answer_.follow(sequence_.tokens());
  last_is_drawn_ = false;
  auto generation =
      std::make_shared<Generation>(sequence_, answer_, control_, sampler, options, vocab());
  settle_seed(generation->sampler);
  generation->seed = *latest_seed_;
  try {
    // An answer holds no more than that.
    const size_t most =
        std::min<uint64_t>(options.prediction.size(), generation->options.ends.tokens_left);
    generation->speculate(engine_->make_speculator(
        {.context = context(),
         .salt = options_.salt,
         .mode = speculation_of(options.speculate == Guessing::Engine ? options_.speculate
                                                                      : options.speculate),
         .most = options.draft_max,
         .prediction = options.prediction.first(most),
         .prompt_size = sequence_.size()}));
  } catch (...) {
    // Answers without guesses.
  }
  logits_position_ = kNoLogits;
  forget_ahead();
  last_is_generated_ = true;
  // Stored before it is queued, so that no request outlives its session.
  const auto before = std::exchange(generation_, generation);
  try {
    engine_->submit(generation);
  } catch (...) {
    generation_ = before;
    throw;
  }
  use.keep();
  return generation;
}

void Session::set_adapters(std::span<const ScaledAdapter> adapters) {
  const Use use(*this);
  put_adapters({adapters.begin(), adapters.end()});
}

void Session::add_adapters(std::span<const ScaledAdapter> adapters) {
  const Use use(*this);
  std::vector<ScaledAdapter> sum = adapters_;
  sum.insert(sum.end(), adapters.begin(), adapters.end());
  put_adapters(std::move(sum));
}

void Session::put_adapters(std::vector<ScaledAdapter> adapters) {
  AdapterBank* bank = model().adapter_bank();
  if (bank == nullptr) {
    fail(Code::State, "session: the model was opened without adapter_slots");
  }
  if (sequence_.size() > 0) {
    fail(Code::State, "session: adapters are set before the first token; there are {}",
         sequence_.size());
  }
  std::shared_ptr<const AdapterLease> lease = bank->take(adapters);
  const Hash128 root = root_with(lease.get());
  engine_->with_sequence(*control_, [&] {
    sequence_.forget_cached(0);
    sequence_.set_adapter(std::move(lease), root);
  });
  adapters_ = std::move(adapters);
  forget_ahead();
  logits_position_ = kNoLogits;
}

/// Snapshots are of a model with its adapters.
Hash128 Session::adapted_model(const Hash128& model) const {
  if (sequence_.adapter() == nullptr) return model;
  const Hash128 both[] = {model, sequence_.adapter()->key};
  return hash_bytes(std::as_bytes(std::span(both)));
}

/// Texts under other adapters are others.
Hash128 Session::root_with(const AdapterLease* adapter) const {
  const Hash128 root = engine_->root_of(options_.salt);
  if (adapter == nullptr) return root;
  const Hash128 both[] = {root, adapter->key};
  return hash_bytes(std::as_bytes(std::span(both)));
}

std::unique_ptr<Session> Session::empty_like() const {
  SessionOptions same = options_;
  same.context = sequence_.context();
  auto copy = std::make_unique<Session>(engine_, same);
  copy->sequence_.set_adapter(sequence_.adapter(), sequence_.root());
  copy->adapters_ = adapters_;
  return copy;
}

std::unique_ptr<Session> Session::fork() {
  const Use use(*this);
  std::unique_ptr<Session> copy = empty_like();
  copy->answer_ = answer_;
  copy->latest_seed_ = latest_seed_;
  engine_->with_sequences(*control_, *copy->control_, [&] {
    sequence_.claim_ahead();
    Sequence text = sequence_.fork();
    copy->sequence_.swap(text);
  });
  std::memcpy(copy->logits_.data(), logits_.data(), logits_.size());
  copy->logits_position_ = logits_position_;
  return copy;
}

void Session::rewind(uint64_t position) {
  const Use use(*this);
  if (position > sequence_.size()) {
    fail(Code::Argument, "session: cannot rewind to {}, there are {} tokens", position,
         sequence_.size());
  }
  if (position < sequence_.size()) last_is_generated_ = false;
  cut(position);
  answer_.restart(position);
}

void Session::cancel() noexcept {
  control_->cancel.set();
  if (control_->in_step.load() != 0) engine_->stop_steps();
  control_->wake.post();
}

}  // namespace tenon
