// Embedder: preparation of texts before their steps, and their rows after.
#include "engine/embedder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "abi/cancel_flag.h"
#include "backend/host_services.h"
#include "base/error.h"
#include "engine/text_prefixes.h"

namespace tenon {
namespace {

constexpr std::string_view kPairTemplate = "tokenizer.chat_template.rerank";

const char* name_of(Pooling pooling) {
  constexpr const char* kNames[] = {"none", "mean", "cls", "last", "rank"};
  return kNames[static_cast<size_t>(pooling)];
}

Pooling pooling_of(uint32_t kind) {
  return kind == TENON_POOL_MEAN    ? Pooling::Mean
         : kind == TENON_POOL_FIRST ? Pooling::First
                                    : Pooling::Last;
}

/// Names of a classifier's labels; empty if the file has another number of names.
std::vector<std::string> labels_of(const Model& model) {
  const std::string key = std::string(model.architecture()) + ".classifier.output_labels";
  const auto names = model.metadata().find<StringArray>(key);
  if (!names || names->size() != model.spec().classifier.labels) return {};
  std::vector<std::string> labels;
  for (uint64_t i = 0; i < names->size(); ++i) labels.emplace_back((*names)[i]);
  return labels;
}

/// Several scores of a decoder are logits of words (Qwen3-Reranker: yes, no).
void softmax(std::span<float> scores) {
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - most);
  for (float& score : scores) score = static_cast<float>(std::exp(score - most) / sum);
}

}  // namespace

/// A running call of embed().
struct Embedder::Call {
  CancelFlag stop;  // read by the backend
  uint64_t deadline_ns = UINT64_MAX;
  bool is_late = false;
  System* system = nullptr;
  size_t done = 0;  // finished texts
  size_t count = 0;
  Call* next = nullptr;

  static void look_at_clock(void* arg) noexcept {
    auto& call = *static_cast<Call*>(arg);
    if (call.system->now_ns() < call.deadline_ns) return;
    call.is_late = true;
    call.stop.set();
  }
  void check() {
    if (deadline_ns != UINT64_MAX) look_at_clock(this);
    if (stop.is_set()) fail_stopped();
  }
  /// Fails after a wait for the turn in vain. The deadline had passed unless the call is cancelled,
  /// whatever a host's clock says by now.
  [[noreturn]] void fail_without_turn() {
    is_late = is_late || !stop.is_set();
    fail_stopped();
  }
  [[nodiscard]] DeviceTurn::Patience patience() const {
    return {*system, deadline_ns, stop.word()};
  }
  [[noreturn]] void fail_stopped() const {
    fail(is_late ? Code::Deadline : Code::Cancelled, "embedder: {} after {} of {} texts",
         is_late ? "the deadline passed" : "cancelled", done, count);
  }
};

Embedder::Embedder(std::shared_ptr<const Model> model, const EmbedderOptions& options)
    : model_(std::move(model)), truncates_(options.truncate) {
  (void)model_->row_executable();  // throws if the model gives no rows
  info_.pooling = options.pooling.value_or(own_pooling());
  batches_.push_back(take_batch());
  choose_pooling(options);
  const ModelSpec& spec = model_->spec();
  info_.max_tokens = spec.sees_ahead()
                         ? std::min(spec.trained_context, model_->program().view().max_tokens)
                         : spec.trained_context;
  if (const uint64_t most = model_->trunk().private_positions; most > 0) {
    info_.max_tokens = static_cast<uint32_t>(std::min<uint64_t>(info_.max_tokens, most));
  }
  const TextPrefixes known = find_text_prefixes(model_->architecture(), model_->name());
  query_prefix_ = options.query_prefix.value_or(std::string(known.query));
  document_prefix_ = options.document_prefix.value_or(std::string(known.document));
}

Embedder::~Embedder() = default;

Pooling Embedder::own_pooling() const {
  const ModelSpec& spec = model_->spec();
  return spec.classifier.labels > 0 ? Pooling::Rank : pooling_of(*model_->row_pooling());
}

void Embedder::choose_pooling(const EmbedderOptions& options) {
  const TextBatch& batch = *batches_.front();
  const Pooling own = own_pooling();
  const bool ranks = info_.pooling == Pooling::Rank;
  if (ranks && own != Pooling::Rank) {
    fail(Code::Unsupported, "{}: pooling is rank, but the model has no classifier",
         model_->file().name());
  }
  from_text_row_ = info_.pooling == own && batch.text_columns() > 0;
  const bool more_layers = own != Pooling::Rank && model_->spec().pooled_widths[0] != 0;
  if (more_layers && !from_text_row_ && info_.pooling != Pooling::None) {
    fail(Code::Unsupported, "{}: pooling is {}, but the model has layers after its own, {}",
         model_->file().name(), name_of(info_.pooling), name_of(own));
  }
  const uint32_t columns = from_text_row_ ? batch.text_columns() : batch.width();
  if (options.dimensions > columns || (ranks && options.dimensions != 0)) {
    fail(Code::Argument, "{}: dimensions is {}, but {} has {}", model_->file().name(),
         options.dimensions, ranks ? "a text's scores" : "a row", columns);
  }
  info_.dimensions = options.dimensions == 0 ? columns : options.dimensions;
  info_.normalizes = !ranks && options.normalize.value_or(info_.pooling != Pooling::None);
  if (ranks) info_.labels = labels_of(*model_);
}

// ---- Before the steps ---------------------------------------------------------------------------

EmbedderText Embedder::read(std::string_view text, TextRole role) const {
  const std::string_view prefix = role == TextRole::Query      ? query_prefix_
                                  : role == TextRole::Document ? document_prefix_
                                                               : std::string_view();
  const TextPart parts[] = {{prefix, false}, {text, false}};
  const Tokenizer& tokenizer = *model_->tokenizer();
  EmbedderText out{tokenizer.encode(parts, true)};
  if (!truncates_ || out.tokens.size() <= info_.max_tokens) return out;
  // Tokens that the vocabulary appends stay at the end.
  const std::vector<Token> plain = tokenizer.encode(parts, false);
  const size_t added = out.tokens.size() - plain.size();
  const auto begin = std::search(out.tokens.begin(), out.tokens.end(), plain.begin(), plain.end());
  const auto before = static_cast<size_t>(begin - out.tokens.begin());
  const size_t after = begin == out.tokens.end() ? 0 : added - before;
  const size_t kept = std::min<size_t>(after, info_.max_tokens - 1);
  out.tokens.erase(out.tokens.begin() + static_cast<ptrdiff_t>(info_.max_tokens - kept),
                   out.tokens.end() - static_cast<ptrdiff_t>(kept));
  return out;
}

EmbedderText Embedder::read_pair(std::string_view query, std::string_view document) const {
  const Tokenizer& tokenizer = *model_->tokenizer();
  const auto layout = model_->metadata().get_or<std::string_view>(kPairTemplate, "");
  if (!layout.empty()) {
    std::vector<TextPart> parts;
    std::string_view rest = layout;
    for (size_t open = rest.find('{'); open != rest.npos; open = rest.find('{', open)) {
      constexpr std::string_view kQuery = "{query}";
      constexpr std::string_view kDocument = "{document}";
      const std::string_view here = rest.substr(open);
      const bool is_query = here.starts_with(kQuery);
      if (!is_query && !here.starts_with(kDocument)) {
        ++open;
        continue;
      }
      parts.push_back({rest.substr(0, open), true});
      parts.push_back({is_query ? query : document, false});
      rest = here.substr(is_query ? kQuery.size() : kDocument.size());
      open = 0;
    }
    parts.push_back({rest, true});
    return {tokenizer.encode(parts, false)};
  }
  EmbedderText pair{tokenizer.encode(query, {.add_special = true})};
  std::vector<Token> second = tokenizer.encode(document, {.add_special = true});
  const std::vector<Token> nothing = tokenizer.encode("", {.add_special = true});
  const bool begins = tokenizer.adds_bos() && !nothing.empty();
  if (begins && !second.empty() && second.front() == nothing.front()) second.erase(second.begin());
  // RoBERTa and its relatives put two separators between texts: <s> A </s></s> B </s>.
  const std::optional<Token> end = tokenizer.eos();
  const bool doubled = end && tokenizer.adds_eos() && tokenizer.spelling(*end) == "</s>";
  if (doubled) pair.tokens.push_back(*end);
  pair.second_begin = pair.tokens.size();
  const size_t size = pair.tokens.size() + second.size();
  if (truncates_ && size > info_.max_tokens && pair.tokens.size() < info_.max_tokens) {
    const size_t kept = tokenizer.adds_eos() && !second.empty() ? 1 : 0;
    const size_t cut = std::min(size - info_.max_tokens, second.size() - kept);
    second.erase(second.end() - static_cast<ptrdiff_t>(cut + kept),
                 second.end() - static_cast<ptrdiff_t>(kept));
  }
  pair.tokens.insert(pair.tokens.end(), second.begin(), second.end());
  return pair;
}

void Embedder::check(EmbedderText& text, size_t number) const {
  if (text.tokens.empty()) fail(Code::Argument, "embedder: text {} has no tokens", number);
  if (truncates_ && text.tokens.size() > info_.max_tokens) text.tokens.resize(info_.max_tokens);
  if (text.tokens.size() > info_.max_tokens) {
    // Omits the model's path, which a server must not reveal.
    fail(Code::Limit, "embedder: text {} has {} tokens > {}, the most that the model reads", number,
         text.tokens.size(), info_.max_tokens);
  }
  const uint32_t vocab = model_->spec().vocab;
  for (const Token token : text.tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocab) {
      fail(Code::Argument, "embedder: text {}: token {} is not in the vocabulary of {}", number,
           token, vocab);
    }
  }
}

// ---- Steps --------------------------------------------------------------------------------------

std::unique_ptr<TextBatch> Embedder::take_batch() {
  if (std::unique_ptr<TextBatch> batch = take_free_batch(0)) return batch;
  auto batch = std::make_unique<TextBatch>(model_, info_.pooling == Pooling::Last);
  const std::scoped_lock lock(mutex_);
  batches_.reserve(num_batches_ + 1);  // for give_batch()
  ++num_batches_;
  return batch;
}

/// A free batch beyond the first `num_kept`, or null.
std::unique_ptr<TextBatch> Embedder::take_free_batch(size_t num_kept) noexcept {
  const std::scoped_lock lock(mutex_);
  if (batches_.size() <= num_kept) return nullptr;
  std::unique_ptr<TextBatch> batch = std::move(batches_.back());
  batches_.pop_back();
  return batch;
}

/// Keeps the batch, and frees it if another is free: batches of concurrent calls are as large.
void Embedder::give_batch(std::unique_ptr<TextBatch> batch, const Call& call) noexcept {
  size_t num_free = 0;
  {
    const std::scoped_lock lock(mutex_);
    batches_.push_back(std::move(batch));
    num_free = batches_.size();
  }
  // If the call may not wait for the turn, a later call frees the batch.
  if (num_free <= kBatchesKept) return;
  const DeviceTurn::Access turn(model_->turn(), call.patience());
  if (turn.has_turn()) free_batches(turn.held());
}

/// Frees the batches that need not be kept.
void Embedder::free_batches(const DeviceTurn::Held& turn) noexcept {
  while (const std::unique_ptr<TextBatch> batch = take_free_batch(kBatchesKept)) {
    batch->release_memory(turn);
    const std::scoped_lock lock(mutex_);
    --num_batches_;
  }
}

void Embedder::cancel() noexcept {
  const std::scoped_lock lock(mutex_);
  for (Call* call = calls_; call != nullptr; call = call->next) {
    call->stop.set();
  }
}

void Embedder::run(TextBatch& batch, Call& call) {
  const DeviceTurn::Use turn(model_->turn(), call.patience());
  if (!turn.has_turn()) call.fail_without_turn();
  call.check();
  free_batches(turn.held());
  ThreadTeam& team = model_->team();
  struct Watch {
    explicit Watch(ThreadTeam& of, Call& call) : team(of) {
      if (call.deadline_ns != UINT64_MAX) team.set_watch({&Call::look_at_clock, &call});
    }
    ~Watch() { team.set_watch({}); }
    ThreadTeam& team;
  };
  const Watch watch(team, call);
  try {
    batch.run(turn.held(), call.stop.word());
  } catch (const Error& error) {
    if (error.code() == Code::Cancelled) call.fail_stopped();
    throw;
  }
}

void Embedder::embed(std::span<const EmbedderText> texts, float* rows, uint64_t deadline_ns) {
  Call call;
  call.deadline_ns = deadline_ns;
  call.system = model_->options().system.get();
  call.count = texts.size();
  struct Listed {
    Listed(Embedder& of, Call& one) : embedder(of), call(one) {
      const std::scoped_lock lock(embedder.mutex_);
      call.next = std::exchange(embedder.calls_, &call);
    }
    ~Listed() {
      const std::scoped_lock lock(embedder.mutex_);
      Call** at = &embedder.calls_;
      while (*at != &call) at = &(*at)->next;
      *at = call.next;
    }
    Embedder& embedder;
    Call& call;
  };
  const Listed listed(*this, call);
  // Returns the batch after an error, too.
  struct Taken {
    Taken(Embedder& of, const Call& one) : embedder(of), call(one), batch(of.take_batch()) {}
    ~Taken() { embedder.give_batch(std::move(batch), call); }
    Embedder& embedder;
    const Call& call;
    std::unique_ptr<TextBatch> batch;
  };
  const Taken taken(*this, call);
  TextBatch& batch = *taken.batch;
  std::vector<double> sum;
  while (call.done < texts.size()) {
    const size_t first = call.done;
    size_t end = first;
    batch.clear();
    while (end < texts.size() && batch.add(texts[end])) ++end;
    if (end > first) run(batch, call);
    for (size_t i = first; i < end; ++i) {
      take(batch, i - first, texts[i], 0, sum, rows);
      rows += num_rows(texts[i]) * info_.dimensions;
      ++call.done;
    }
    if (end > first) continue;
    // Longer than a step: runs alone, slice by slice.
    const EmbedderText& text = texts[first];
    for (size_t begin = 0; begin < text.tokens.size();) {
      const size_t count = batch.set_slice(text, begin);
      run(batch, call);
      take(batch, 0, text, begin, sum, rows);
      begin += count;
    }
    rows += num_rows(text) * info_.dimensions;
    ++call.done;
  }
}

void Embedder::rank(std::span<const EmbedderText> texts, float* scores, uint64_t deadline_ns) {
  if (info_.pooling == Pooling::Rank) return embed(texts, scores, deadline_ns);
  if (info_.pooling == Pooling::None) {
    fail(Code::Unsupported, "embedder: without pooling a text has no row to compare");
  }
  const size_t width = info_.dimensions;
  std::vector<float> rows(texts.size() * width);
  embed(texts, rows.data(), deadline_ns);
  const std::span<const float> all(rows);
  const std::span<const float> query = all.last(width);
  for (size_t i = 0; i + 1 < texts.size(); ++i) {
    scores[i] = static_cast<float>(cosine(query, all.subspan(i * width, width)));
  }
}

// ---- After the steps ----------------------------------------------------------------------------

void Embedder::take(const TextBatch& batch, size_t part, const EmbedderText& text, size_t begin,
                    std::vector<double>& sum, float* rows) const {
  if (from_text_row_) {
    const std::span<const float> row = batch.text_row(part);
    if (!row.empty()) finish_row(row, rows);
    return;
  }
  const std::span<const float> tokens = batch.token_rows(part);
  const uint32_t width = batch.width();
  const size_t count = tokens.size() / width;
  const size_t end = begin + batch.num_tokens(part);
  switch (info_.pooling) {
    case Pooling::None:
      for (size_t i = 0; i < count; ++i) {
        finish_row(tokens.subspan(i * width, width), rows + (begin + i) * info_.dimensions);
      }
      return;
    case Pooling::First:
      if (begin == 0) finish_row(tokens.first(width), rows);
      return;
    case Pooling::Mean: {
      if (begin == 0) sum.assign(width, 0.0);
      for (size_t i = 0; i < count; ++i) {
        for (uint32_t j = 0; j < width; ++j) sum[j] += tokens[i * width + j];
      }
      if (end < text.tokens.size()) return;
      std::vector<float> mean(width);
      for (uint32_t j = 0; j < width; ++j) {
        mean[j] = static_cast<float>(sum[j] / static_cast<double>(end));
      }
      return finish_row(mean, rows);
    }
    case Pooling::Last:
    case Pooling::Rank:
      if (end == text.tokens.size()) finish_row(tokens.last(width), rows);
      return;
  }
}

void Embedder::finish_row(std::span<const float> row, float* out) const {
  double squares = 0;
  for (uint32_t i = 0; i < info_.dimensions; ++i) {
    if (!std::isfinite(row[i])) fail(Code::State, "embedder: non-finite values; broken weights?");
    squares += double{row[i]} * row[i];
  }
  const bool scales = info_.normalizes && squares > 0;
  const double factor = scales ? 1.0 / std::sqrt(squares) : 1.0;
  for (uint32_t i = 0; i < info_.dimensions; ++i) {
    out[i] = scales ? static_cast<float>(row[i] * factor) : row[i];
  }
  const bool ranks = info_.pooling == Pooling::Rank;
  if (ranks && info_.dimensions > 1 && !model_->spec().sees_ahead()) {
    softmax({out, info_.dimensions});
  }
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0;
  double squares_of_a = 0;
  double squares_of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    squares_of_a += double{a[i]} * a[i];
    squares_of_b += double{b[i]} * b[i];
  }
  const double scale = std::sqrt(squares_of_a * squares_of_b);
  return scale > 0 ? product / scale : 0;
}

}  // namespace tenon
