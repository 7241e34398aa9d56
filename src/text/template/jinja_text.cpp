#include "text/template/jinja_text.h"

#include <algorithm>

#include "text/template/jinja_budget.h"

namespace tenon::jinja {

bool Text::has_foreign() const {
  if (runs_.empty()) return foreign_ && !bytes_.empty();
  return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.foreign; });
}

void Text::append(std::string_view bytes, bool foreign) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    runs_.clear();
    foreign_ = foreign;
  } else if (runs_.empty() && foreign != foreign_) {
    runs_.push_back({bytes_.size(), foreign_});
  }
  bytes_ += bytes;
  if (runs_.empty()) return;
  if (runs_.back().foreign == foreign) {
    runs_.back().end = bytes_.size();
  } else {
    if (runs_.size() >= kMaxRuns) raise("a text of more than {} pieces", kMaxRuns);
    runs_.push_back({bytes_.size(), foreign});
  }
}

void Text::append(const Text& other, size_t begin, size_t end) {
  if (begin >= end) return;
  if (other.runs_.empty()) return append(other.view().substr(begin, end - begin), other.foreign_);
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                              [](size_t at, const Run& r) { return at < r.end; });
  while (begin < end) {
    const size_t stop = std::min(run->end, end);
    append(other.view().substr(begin, stop - begin), run->foreign);
    begin = stop;
    ++run;
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text part;
  part.append(*this, begin, end);
  return part;
}

std::vector<Text::Span> Text::spans() const {
  if (bytes_.empty()) return {};
  if (runs_.empty()) return {{0, bytes_.size(), foreign_}};
  std::vector<Span> spans;
  size_t begin = 0;
  for (const Run& run : runs_) {
    spans.push_back({begin, run.end, run.foreign});
    begin = run.end;
  }
  return spans;
}

Text repeated_text(const Text& text, size_t count, Budget& budget) {
  // Append blocks: a call per byte would take many times as long.
  constexpr size_t kBlockBytes = 4096;
  Text block;
  size_t in_block = 0;
  while (in_block < count && block.size() < kBlockBytes) {
    budget.spend_character();
    block.append(text);
    ++in_block;
  }
  if (in_block == 0) return block;
  Text out;
  for (size_t done = 0; done < count; done += in_block) {
    const size_t now = std::min(in_block, count - done);
    budget.spend_bytes(now * text.size());
    out.append(block, 0, now * text.size());
  }
  return out;
}

}  // namespace tenon::jinja
