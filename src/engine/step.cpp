// Step: turns slices into logits and tokens.
#include "engine/step.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/thread_team.h"
#include "engine/model_drafter.h"
#include "model/placed_executable.h"

namespace tenon {
namespace {

/// Source rows are in a pool of the decoder; the rest of an encoder's cache is private.
std::unique_ptr<ProgramRunner> make_encoder(const Model& model,
                                            std::span<const std::shared_ptr<BlockPool>> pools) {
  const ModelProgram* encoder = model.find(ProgramRole::Encoder);
  if (encoder == nullptr) return nullptr;
  const auto source = std::ranges::find_if(
      pools, [](const auto& pool) { return pool->options().kind == TENON_CACHE_CROSS; });
  if (source == pools.end()) fail(Code::Internal, "a decoder without a cache group for a source");
  std::vector<std::shared_ptr<BlockPool>> own;
  for (const tenon_cache_group& group : encoder->program.groups()) {
    own.push_back(group.kind == TENON_CACHE_CROSS ? *source : nullptr);
  }
  return std::make_unique<ProgramRunner>(*encoder, own, model.options().system);
}

}  // namespace

Step::Step(const Model& model, std::span<const std::shared_ptr<BlockPool>> pools, bool is_alone)
    : model_(model),
      system_(*model.options().system),
      vocab_(model.spec().vocab),
      is_alone_(is_alone),
      runner_(model.trunk(), pools, model.options().system),
      encoder_(make_encoder(model, pools)) {
  if (model.find(ProgramRole::Prediction) != nullptr) {
    for (const uint32_t slot : model.program().results()) {
      if (slot != model.program().view().logits) hidden_slot_ = slot;
    }
  }
  const uint32_t most = runner_.max_tokens();
  computing.reserve(2 * most);
  slices_.reserve(most);
  tables_.reserve(
      std::max(pools.size(), encoder_ ? encoder_->program().program.groups().size() : 0));
  if (!model.executable().draws()) return;
  draws_.reserve(2 * most);
  drawn_.reserve(3 * most);
}

void Step::clear() noexcept {
  slices_.clear();
  computing.clear();
  runner_.clear();
  draws_.clear();
  drawn_.clear();
  biases_.clear();
  listed_tokens_.clear();
  listed_logits_.clear();
  num_rows_ = 0;
  rows_ = nullptr;
  hidden_ = {};
  has_logits_ = false;
  ticket_ = TENON_NO_TICKET;
  draw_ticket_ = TENON_NO_TICKET;
  has_started_draws_ = false;
  has_failed_ = false;
  has_failed_draws_ = false;
  was_stopped_ = false;
  was_dropped_ = false;
  stop_.clear();
}

void Step::add(Request& request, uint32_t num_tokens, std::span<const Token> guesses) {
  const uint64_t past = request.sequence->begun();
  const uint32_t num_outputs =
      request.num_outputs(num_tokens) + static_cast<uint32_t>(guesses.size());
  Slice slice;
  slice.request = &request;
  slice.past = past;
  slice.text_size = std::max(request.sequence->size(), past + num_tokens);
  slice.num_tokens = num_tokens;
  slice.guesses = guesses;
  slice.is_decode = num_tokens <= request.decode_tokens;
  slice.num_outputs = num_outputs;
  slice.first_output = runner_.num_outputs();
  slice.completes = past + num_tokens == request.end;
  StepSlice text = request.sequence->next_slice(num_tokens, num_outputs, tables_, guesses);
  text.drawn_row = request.drawn_row;
  runner_.add(text);
  slices_.push_back(slice);
}

/// Fails the slices with the current exception.
void Step::fail() noexcept {
  for (Slice& slice : slices_) slice.failure = std::current_exception();
}

void Step::note_end_of(const Step& before) noexcept {
  was_dropped_ = runner_.names_drawn() && (before.has_failed_ || before.has_failed_draws_);
  if (!was_dropped_) return;
  for (Slice& slice : slices_) slice.failure = nullptr;
}

/// Notes the device's current exception. A stopped or dropped step did not fail.
void Step::note_failure() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    was_stopped_ = error.code() == Code::Cancelled && stop_.is_set();
  } catch (...) {
  }
  has_failed_ = true;
  if (!was_stopped_ && !was_dropped_) fail();
}

uint32_t Step::num_prompt_tokens() const {
  uint32_t count = 0;
  for (const Slice& slice : slices_) count += slice.is_decode ? 0 : slice.num_tokens;
  return count;
}

uint32_t Step::num_decodes() const {
  uint32_t count = 0;
  for (const Slice& slice : slices_) count += slice.is_decode ? slice.num_tokens : 0;
  return count;
}

uint32_t Step::num_guesses() const {
  uint32_t count = 0;
  for (const Slice& slice : slices_) count += static_cast<uint32_t>(slice.guesses.size());
  return count;
}

// ---- Running a step -----------------------------------------------------------------------------

/// A device that draws keeps logits that no request needs.
bool Step::binds_logits() const {
  if (!model_.executable().draws()) return true;
  return std::ranges::any_of(slices_, [](const Slice& slice) {
    return slice.num_outputs != 0 && slice.request->logits != nullptr;
  });
}

/// True if a request is guessed by prediction blocks.
bool Step::wants_hidden() const {
  if (hidden_slot_ == TENON_NO_SLOT) return false;
  return std::ranges::any_of(slices_, [](const Slice& slice) {
    if (slice.num_outputs == 0 || slice.request->generation == nullptr) return false;
    const Speculator* const speculator = slice.request->generation->speculator.get();
    return speculator != nullptr && speculator->draft != nullptr;
  });
}

/// Without memory for them, requests are not guessed from this step.
void Step::bind_hidden() noexcept {
  try {
    hidden_ = runner_.bind_own(hidden_slot_, "hidden states of a step");
  } catch (...) {
    hidden_ = {};
  }
}

/// Tells the request's drafter from which row its latest token was drawn.
void Step::note_row(const Slice& slice, uint32_t row) const {
  Generation& generation = *slice.request->generation;
  if (hidden_.empty() || generation.speculator->draft == nullptr) return;
  const size_t width = hidden_.size() / runner_.num_outputs();
  const Sequence& sequence = *generation.sequence;
  try {
    generation.speculator->draft->note_row(
        sequence.size(), sequence.tokens().back(),
        hidden_.subspan((slice.first_output + row) * width, width));
  } catch (...) {
    // Guesses begin anew behind the missing row.
  }
}

float* Step::rows_for(uint32_t num_rows) {
  // A single request's logits go straight to their destination: the request cannot end before the
  // step.
  if (is_alone_ && slices_.size() == 1 && slices_[0].request->logits != nullptr &&
      slices_[0].guesses.empty()) {
    return slices_[0].request->logits_at(slices_[0].past, vocab_);
  }
  grow_rows(num_rows);
  return reinterpret_cast<float*>(logits_.data());
}

void Step::grow_rows(uint32_t num_rows) {
  const uint64_t needed = num_rows * vocab_ * sizeof(float);
  if (logits_.size() >= needed) return;
  logits_ = Buffer(model_.options().system, needed, "logits of a batch");
}

bool Step::make_rows(uint32_t num_rows) noexcept {
  try {
    grow_rows(num_rows);
    return true;
  } catch (...) {
    return false;
  }
}

/// Fills blocks of new or lost sources before the step reads them.
void Step::encode_sources() {
  if (encoder_ == nullptr) return;
  const Program& program = encoder_->program().program;
  for (const Slice& slice : slices_) {
    const Sequence& sequence = *slice.request->sequence;
    CrossTable& table = *sequence.cross_table();
    if (!table.wants_rows()) continue;
    tables_.clear();
    for (const tenon_cache_group& group : program.groups()) {
      tables_.push_back(group.kind == TENON_CACHE_CROSS ? table.entries().data() : nullptr);
    }
    const auto count = static_cast<uint32_t>(sequence.source().size());
    encoder_->clear();
    encoder_->add({.text = sequence.source(), .num_tokens = count, .tables = tables_});
    (void)encoder_->bind_own(program.results()[0], "row of a source");  // unread
    encoder_->run(stop_.word());
    table.note_filled();
  }
}

void Step::start(uint64_t after) noexcept {
  started_ns_ = system_.now_ns();
  if (has_failed_) return;
  try {
    encode_sources();
    has_logits_ = binds_logits();
    if (has_logits_) {
      rows_ = rows_for(runner_.num_outputs());
      num_rows_ = runner_.num_outputs();
      if (rows_ != nullptr) runner_.bind(model_.program().view().logits, rows_);
    }
    if (wants_hidden()) bind_hidden();
    ticket_ = runner_.submit(stop_.word(), after);
  } catch (...) {
    note_failure();
  }
}

void Step::wait_for_device() {
  if (ticket_ != TENON_NO_TICKET) model_.executable().wait(ticket_);
  if (draw_ticket_ == TENON_NO_TICKET) return;
  try {
    model_.executable().wait(std::exchange(draw_ticket_, TENON_NO_TICKET));
  } catch (...) {
    has_failed_draws_ = true;
    for (Slice& slice : slices_) {
      if (slice.draws()) slice.draw_failure = std::current_exception();
    }
  }
}

void Step::finish(size_t first_draw, bool is_latest) noexcept {
  try {
    wait_for_device();
  } catch (...) {
    note_failure();
  }
  if (draw_ticket_ != TENON_NO_TICKET) {
    try {
      model_.executable().wait(draw_ticket_);  // fails with the step
    } catch (...) {
    }
  }
  if (has_failed_ || was_dropped_) return;
  hand_out_logits();
  draw_tokens(first_draw);
  fetch_rows_lacking(is_latest);
}

void Step::hand_out_logits() {
  if (rows_ == nullptr) return;
  for (const Slice& slice : slices_) {
    if (slice.request == nullptr || slice.num_outputs == 0) continue;
    if (slice.request->logits == nullptr) continue;
    float* to = slice.request->logits_at(slice.past, vocab_);
    const float* from = rows_ + slice.first_output * vocab_;
    const size_t num_guesses = slice.guesses.size();
    const size_t num_rows = slice.num_outputs - num_guesses;
    if (to != from) std::memcpy(to, from, num_rows * vocab_ * sizeof(float));
    if (num_guesses == 0) continue;
    std::memcpy(slice.request->guess_logits, from + num_rows * vocab_,
                num_guesses * vocab_ * sizeof(float));
  }
}

std::span<const float> Step::row_of(const Slice& slice, uint32_t row) const {
  return {rows_ + (slice.first_output + row) * vocab_, vocab_};
}

bool Step::has_ended() const {
  try {
    return ticket_ == TENON_NO_TICKET || model_.executable().has_ended(ticket_);
  } catch (...) {
    return true;
  }
}

// ---- Drawing ------------------------------------------------------------------------------------

void Step::start_draws() noexcept {
  if (std::exchange(has_started_draws_, true)) return;
  if (has_failed_ || was_dropped_ || !model_.executable().draws()) return;
  try {
    plan_draws();
    if (!draws_.empty()) draw_ticket_ = model_.executable().draw(ticket_, draws_);
  } catch (...) {
    for (Slice& slice : slices_) {
      if (slice.draws()) slice.draw_failure = std::current_exception();
    }
  }
}

void Step::plan_draws() {
  for (Slice& slice : slices_) {
    if (slice.draws()) plan_draw(slice);
  }
  fix_places();
}

/// Fixes pointers once the lists of biases and candidates stop growing.
void Step::fix_places() {
  const tenon_draw_bias* biases = biases_.data();
  size_t num_listed = 0;
  for (tenon_draw& draw : draws_) {
    draw.biases = biases;
    biases += draw.num_biases;
    if (draw.kind != TENON_DRAW_CANDIDATES) continue;
    draw.candidates = listed_tokens_.data() + num_listed;
    draw.logits = listed_logits_.data() + num_listed;
    num_listed += draw.num_candidates;
  }
}

/// Plans the device's draw. If the device cannot draw, or a grammar may refuse the token, the host
/// draws from the largest logits, or from the whole row if those do not suffice.
void Step::plan_draw(Slice& slice) {
  Request& request = *slice.request;
  if (!slice.guesses.empty()) {
    // The host draws row after row, since each draw decides whether the next row is used.
    if (!has_logits_) plan_row(slice);
    return;
  }
  tenon_draw draw{};
  const size_t num_biases = biases_.size();
  const bool on_device = request.loop->describe_draw(*request.sequence, vocab_, draw, biases_);
  if (!on_device) biases_.resize(num_biases);
  if (on_device) {
    draw.row = slice.first_output;
    draw.drawn = &drawn_.emplace_back();
    slice.drawn = draw.drawn;
    draws_.push_back(draw);
  }
  if (has_logits_) return;
  if (request.wants_row()) {
    plan_row(slice);
  } else if (!on_device || request.loop->has_grammar()) {
    if (!plan_candidates(slice)) plan_row(slice);
  }
}

bool Step::plan_candidates(Slice& slice) {
  const Request& request = *slice.request;
  tenon_draw draw{};
  const size_t num_biases = biases_.size();
  if (!request.loop->describe_candidates(*request.sequence, vocab_, draw, biases_)) {
    biases_.resize(num_biases);
    return false;
  }
  draw.row = slice.first_output;
  draw.drawn = &drawn_.emplace_back();
  slice.listed = draw.drawn;
  slice.first_listed = listed_tokens_.size();
  listed_tokens_.resize(slice.first_listed + draw.num_candidates);
  listed_logits_.resize(slice.first_listed + draw.num_candidates);
  draws_.push_back(draw);
  return true;
}

void Step::plan_row(Slice& slice) {
  if (rows_ == nullptr) rows_ = rows_for(runner_.num_outputs());
  for (uint32_t i = slice.first_output; i < slice.first_output + slice.num_outputs; ++i) {
    tenon_draw row{};
    row.kind = TENON_DRAW_ROW;
    row.row = i;
    row.drawn = &drawn_.emplace_back();
    row.logits = rows_ + i * vocab_;
    draws_.push_back(row);
    ++num_rows_;
  }
  slice.has_row = true;
}

void Step::prepare_masks() noexcept {
  for (Slice& slice : slices_) {
    if (!slice.draws() || slice.request->is_drawn_by_device) continue;
    try {
      DrawWatch watch(*slice.request, long_draws_, system_, stop_.word());
      slice.request->loop->prepare_mask(&watch);
    } catch (...) {
      // draw() meets the error again.
    }
  }
}

void Step::check_drawn(const tenon_drawn& drawn) const {
  if ((drawn.flags & TENON_DRAWN_NOT_FINITE) != 0) fail_not_finite();
  if ((drawn.flags & TENON_DRAWN_NONE_ALLOWED) != 0) {
    tenon::fail(Code::State, "sampler: all tokens masked");
  }
}

bool Step::take_drawn(Slice& slice, WorkWatch& watch) {
  if (slice.drawn == nullptr) return false;
  check_drawn(*slice.drawn);
  return slice.request->loop->take_drawn(slice.drawn->token, &watch);
}

bool Step::draw_listed(Slice& slice, WorkWatch& watch) {
  if (slice.listed == nullptr) return false;
  check_drawn(*slice.listed);
  const size_t first = slice.first_listed;
  const size_t count = slice.listed->num_candidates;
  const ListedLogits listed{std::span(listed_tokens_).subspan(first, count),
                            std::span(listed_logits_).subspan(first, count), vocab_};
  return slice.request->loop->draw_listed(listed, *slice.request->sequence, &watch);
}

/// Draws from one row of a slice. Returns false if the row is missing.
bool Step::draw_round(Slice& slice, uint32_t row, WorkWatch& watch) {
  Request& request = *slice.request;
  if (!take_drawn(slice, watch)) {
    if (has_logits_ || slice.has_row) {
      request.loop->draw(row_of(slice, row), *request.sequence, &watch);
    } else if (!draw_listed(slice, watch)) {
      slice.lacks_row = true;
      return false;
    }
  }
  if (slice.guesses.empty()) request.note_drawn(slice.is_as_drawn());
  if (request.generation != nullptr && request.generation->logprobs.are_wanted() &&
      request.loop->has_token()) {
    request.generation->logprobs.note(row_of(slice, row), request.loop->token());
  }
  return true;
}

/// Draws row after row while the draws are the guesses: each draw has the text, the penalties and
/// the grammar of the tokens before it, as without guesses.
void Step::draw(Slice& slice) noexcept {
  Request& request = *slice.request;
  Generation* generation = request.generation;
  try {
    DrawWatch watch(request, long_draws_, system_, stop_.word());
    if (generation == nullptr || generation->speculator == nullptr) {
      (void)draw_round(slice, 0, watch);
      return;
    }
    for (uint32_t row = 0;; ++row) {
      if (!draw_round(slice, row, watch)) return;
      if (!request.loop->has_token()) return;  // a banned text: the engine cuts the text back
      const Token drawn = request.loop->token();
      if (!generation->settle_drawn()) return;
      note_row(slice, row);
      if (row == slice.guesses.size() || drawn != slice.guesses[row]) break;
      slice.num_right = row + 1;
      ++slice.right_by[static_cast<size_t>(generation->speculator->sources()[row])];
    }
    generation->propose(&watch);
  } catch (const DrawWatch::PutOff&) {
    slice.is_put_off = true;
  } catch (...) {
    slice.draw_failure = std::current_exception();
  }
}

void Step::draw_tokens(size_t first_draw) noexcept {
  long_draws_.num_left = LongDraws::kInAStep;
  const auto is_drawn = [](const Slice& slice) { return slice.draws() && !slice.draw_failure; };
  const auto num_draws = std::ranges::count_if(slices_, is_drawn);
  if (num_draws == 0) return;
  if (num_draws == 1) return draw(*std::ranges::find_if(slices_, is_drawn));
  struct Draws {
    Step* step;
    size_t first;
  } draws{this, first_draw};
  Phases job;
  job.num_phases = 1;
  job.arg = &draws;
  job.phase = [](void* arg, uint32_t, uint32_t thread, uint32_t num_threads) noexcept {
    const auto& [step, first] = *static_cast<const Draws*>(arg);
    for (size_t i = thread; i < step->slices_.size(); i += num_threads) {
      Slice& slice = step->slices_[(first + i) % step->slices_.size()];
      if (slice.draws() && !slice.draw_failure) step->draw(slice);
    }
  };
  try {
    model_.team().run(job);
  } catch (...) {
    for (Slice& slice : slices_) {
      if (slice.draws()) slice.draw_failure = std::current_exception();
    }
  }
}

/// Fetches missing rows. The latest step's logits are still on the device. An earlier step's are
/// computed again: the request goes back by a token.
void Step::fetch_rows_lacking(bool is_latest) noexcept {
  const auto lacks = [](const Slice& slice) { return slice.lacks_row && !slice.draw_failure; };
  if (std::ranges::none_of(slices_, lacks)) return;
  try {
    draws_.clear();
    for (Slice& slice : slices_) {
      if (!lacks(slice)) continue;
      slice.request->num_row_draws = Request::kRowDraws;
      if (is_latest) {
        plan_row(slice);
      } else {
        slice.is_put_off = true;
      }
    }
    if (draws_.empty()) return;
    model_.executable().wait(model_.executable().draw(ticket_, draws_));
  } catch (...) {
    for (Slice& slice : slices_) {
      if (lacks(slice)) slice.draw_failure = std::current_exception();
    }
    return;
  }
  for (Slice& slice : slices_) {
    if (lacks(slice)) draw(slice);
  }
}

}  // namespace tenon
