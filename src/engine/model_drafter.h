// Guesses by a program: a smaller model (draft_model.h) or the model's own prediction blocks
// (block_drafter.h). Plans which texts are worth it, draws as the texts' samplers will, and hands
// the guesses to their speculators.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "engine/draft_pricer.h"
#include "engine/drafter.h"
#include "model/model.h"
#include "sampler/sampler.h"

namespace tenon {

class ModelDrafter;
class Speculator;

/// One text as a drafter reads it. Belongs to the text's speculator. One thread at a time.
class DraftText {
 public:
  explicit DraftText(std::shared_ptr<ModelDrafter> by);
  virtual ~DraftText() = default;
  DraftText(const DraftText&) = delete;
  DraftText& operator=(const DraftText&) = delete;

  [[nodiscard]] DraftSource source() const;
  /// Worth of the drafter's claims in all texts.
  [[nodiscard]] float trust() const;
  /// Notes whether a guess was right.
  void note(float claim, bool is_right);
  /// Notes the row from which the model drew the last of `size` tokens.
  ///   hidden  [width], for prediction blocks
  void note_row(uint64_t size, Token token, std::span<const float> hidden) {
    if (!has_given_up_) take_row(size, token, hidden);
  }

 protected:
  virtual void take_row(uint64_t, Token, std::span<const float>) {}
  [[nodiscard]] std::span<float> logits() {
    return {reinterpret_cast<float*>(logits_.data()), logits_.size() / sizeof(float)};
  }
  [[nodiscard]] ModelDrafter& by() const { return *by_; }

 private:
  friend class ModelDrafter;

  std::shared_ptr<ModelDrafter> by_;
  std::optional<Sampler> sampler_;  // a copy of the text's own, which stays untouched
  uint64_t version_ = 0;            // of the copied sampler
  Buffer logits_;                   // [larger vocabulary] f32
  std::vector<Token> history_;      // the text with its guesses
  bool has_given_up_ = false;
};

/// Asks for guesses of one text.
struct DraftAsk {
  Speculator* speculator = nullptr;  ///< has a DraftText
  std::span<const Token> text{};
  const Sampler* sampler = nullptr;  ///< stands after the text; is copied
  uint32_t room = 0;                 ///< most guesses
  const uint32_t* cancel = nullptr;
  uint64_t deadline_ns = UINT64_MAX;
};

/// Work of a drafter since its engine was made.
struct DraftStats {
  uint64_t guessed_tokens = 0;
  uint64_t right_tokens = 0;  ///< guesses that came true, computed by the model or not
  uint64_t read_tokens = 0;   ///< tokens computed, guesses included
  uint64_t given_up = 0;      ///< texts that it stopped to guess for
  double seconds = 0;
  uint64_t kv_limit_bytes = 0;
  uint64_t kv_held_bytes = 0;
};

/// Any thread.
class ModelDrafter {
 public:
  ///   model        model that is guessed for
  ///   draft_vocab  tokens that the drafter knows: the first ones of the model
  ModelDrafter(DraftSource source, std::shared_ptr<const Model> model, uint64_t draft_vocab);
  virtual ~ModelDrafter() = default;
  ModelDrafter(const ModelDrafter&) = delete;
  ModelDrafter& operator=(const ModelDrafter&) = delete;

  /// Guesses for the texts that are worth it, all in the same steps, and gives the guesses to their
  /// speculators. Failures leave texts without guesses. Requires that no other thread uses the
  /// texts, their speculators or samplers.
  ///   steps  times of the model that is guessed for
  void propose(std::span<const DraftAsk> asks, const GuessPricer& steps,
               const DraftPricer::Beside& beside) noexcept;

  [[nodiscard]] DraftSource source() const { return source_; }
  [[nodiscard]] DraftStats stats() const;
  /// A sentence about its use, or why it is not used.
  [[nodiscard]] std::string describe() const;

 protected:
  /// A text further behind reads before it is guessed.
  static constexpr uint64_t kNear = 32;

  /// Guesses of a text in the making.
  struct Draft {
    const DraftAsk* ask = nullptr;
    DraftText* text = nullptr;
    DraftPricer::Text worth{};
    uint32_t depth = 0;      ///< guesses to make
    double least_value = 0;  ///< as in DraftPricer::Plan
    bool is_open = true;     ///< goes on
    uint32_t count = 0;      ///< guesses made
    float value = 1;         ///< chance of all of them to become tokens
    std::array<Token, Drafter::kMostGuesses> tokens{};
    std::array<float, Drafter::kMostGuesses> claims{};
  };

  /// Brings the drafter's text in step and tells how many tokens are to be read before the first
  /// guess, and for how many guesses there is room. Returns false if it cannot be guessed now.
  virtual bool follow(DraftText& text, std::span<const Token> tokens, DraftPricer::Text& worth) = 0;
  /// Reads tokens of texts that are far behind, at most `most` each, and closes those that are
  /// still behind. Returns the number of tokens read.
  virtual uint64_t read(std::span<Draft> drafts, uint64_t most) = 0;
  /// Computes the logits after each open draft, into its text's row; closes those that fail.
  /// Returns the number of tokens computed.
  virtual uint64_t compute(std::span<Draft> drafts) = 0;
  /// Appends a guess, after which another one follows.
  virtual void go_on(Draft& draft, Token token) = 0;
  /// Forgets the guesses.
  virtual void leave(Draft& draft) = 0;
  /// Frees the memory of a text that is given up.
  virtual void release(DraftText& text) = 0;
  virtual void count_memory(DraftStats& stats) const = 0;
  [[nodiscard]] virtual std::string name() const = 0;

  void give_up(DraftText& text, const char* why) noexcept;
  [[nodiscard]] static std::span<float> logits_of(const Draft& draft) {
    return draft.text->logits();
  }
  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const std::shared_ptr<const Model>& shared_model() const { return model_; }
  [[nodiscard]] uint64_t draft_vocab() const { return draft_vocab_; }

 private:
  friend class DraftText;

  void begin(std::span<const DraftAsk> asks, std::vector<Draft>& drafts);
  void plan(std::vector<Draft>& drafts, const GuessPricer& steps,
            const DraftPricer::Beside& beside);
  void copy_sampler(const Draft& draft);
  void catch_up(std::span<Draft> drafts, double most_ns);
  [[nodiscard]] bool guess_round(std::span<Draft> drafts);
  void draw(Draft& draft);
  void end(std::span<Draft> drafts) noexcept;

  DraftSource source_;
  std::shared_ptr<const Model> model_;
  uint64_t vocab_;
  uint64_t draft_vocab_;
  mutable std::mutex mutex_;  // guards all below
  DraftPricer pricer_;
  DraftStats stats_;
  const char* why_given_up_ = "";
  bool is_priced_out_ = false;
};

}  // namespace tenon
