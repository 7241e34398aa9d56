// Computes rows of texts: embeddings and reranker scores. Decides which texts share a step;
// text_batch.h runs the step.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/embedder_options.h"
#include "engine/text_batch.h"
#include "model/model.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Purpose of a text, which selects its prefix. Values match TENON_TEXT_*.
enum class TextRole : int32_t { Plain = 0, Query = 1, Document = 2 };

struct EmbedderInfo {
  Pooling pooling = Pooling::Mean;
  bool normalizes = true;
  uint32_t dimensions = 0;          ///< columns of a row; with Rank, labels
  uint32_t max_tokens = 0;          ///< most tokens per text
  std::vector<std::string> labels;  ///< labels of the classifier, [dimensions] or empty
};

/// Any thread; concurrent calls take turns, step by step. The row of a text has the same bits in
/// any batch. Reads from the model's file only rows of tables that stay there.
class Embedder {
 public:
  /// Throws State if the model gives no rows, Argument if its rows do not have these dimensions,
  /// Unsupported if the model cannot use the pooling.
  Embedder(std::shared_ptr<const Model> model, const EmbedderOptions& options);
  ~Embedder();
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

  [[nodiscard]] const EmbedderInfo& info() const { return info_; }
  [[nodiscard]] const Model& model() const { return *model_; }

  /// Tokenizes a text with the prefix of its role and the vocabulary's special tokens.
  [[nodiscard]] EmbedderText read(std::string_view text, TextRole role) const;
  /// Tokenizes a pair for the classifier: with the file's template "rerank", else joined by the
  /// vocabulary's separators. With truncate, the document is cut at its end.
  [[nodiscard]] EmbedderText read_pair(std::string_view query, std::string_view document) const;
  /// Throws Argument for an empty text or a token outside the vocabulary, Limit for too many tokens
  /// unless truncation is on. number: index of the text in the message.
  void check(EmbedderText& text, size_t number) const;

  /// Rows per text: one per token without pooling, else 1.
  [[nodiscard]] uint64_t num_rows(const EmbedderText& text) const {
    return info_.pooling == Pooling::None ? text.tokens.size() : 1;
  }
  /// Computes the rows of texts that passed check(). Throws Cancelled, Deadline, NoMemory, State
  /// for non-finite values, and the backend's errors.
  ///   rows         [sum of num_rows(), dimensions] f32
  ///   deadline_ns  on the clock of the model's System; UINT64_MAX means none
  void embed(std::span<const EmbedderText> texts, float* rows, uint64_t deadline_ns);

  /// Scores per text: one per label with Rank, else 1, the cosine.
  [[nodiscard]] uint64_t num_scores() const {
    return info_.pooling == Pooling::Rank ? info_.dimensions : 1;
  }
  /// Scores documents against a query. Throws Unsupported without pooling, and as embed().
  ///   texts   with Rank the pairs; else the documents, then the query
  ///   scores  [documents, num_scores()] f32
  void rank(std::span<const EmbedderText> texts, float* scores, uint64_t deadline_ns);

  /// Ends running calls of embed() and rank() with Cancelled. Any thread.
  void cancel() noexcept;

 private:
  struct Call;

  void choose_pooling(const EmbedderOptions& options);
  [[nodiscard]] Pooling own_pooling() const;
  void run(TextBatch& batch, Call& call);
  void take(const TextBatch& batch, size_t part, const EmbedderText& text, size_t begin,
            std::vector<double>& sum, float* rows) const;
  void finish_row(std::span<const float> row, float* out) const;
  std::unique_ptr<TextBatch> take_batch();
  std::unique_ptr<TextBatch> take_free_batch(size_t num_kept) noexcept;
  void give_batch(std::unique_ptr<TextBatch> batch, const Call& call) noexcept;
  void free_batches(const DeviceTurn::Held& turn) noexcept;

  static constexpr size_t kBatchesKept = 1;

  std::shared_ptr<const Model> model_;
  EmbedderInfo info_;
  bool truncates_;
  bool from_text_row_ = false;  // the program pools or classifies
  std::string query_prefix_;
  std::string document_prefix_;
  std::mutex mutex_;
  Call* calls_ = nullptr;                            // running calls
  std::vector<std::unique_ptr<TextBatch>> batches_;  // free batches; capacity for all
  size_t num_batches_ = 0;                           // free or in a call
};

/// Cosine similarity of two rows; 0 if a row is all zeros.
double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace tenon
