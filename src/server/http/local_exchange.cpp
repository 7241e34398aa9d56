#include "server/http/local_exchange.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/http/http_head.h"
#include "server/operations/request_journal.h"

namespace tenon_http {
namespace {

/// Bytes not taken by the host below which an exchange may produce more.
constexpr size_t kLocalDrainedBytes = size_t{64} << 10;
/// Longest finite wait; longer ones never end.
constexpr double kLongestWaitSeconds = 1e8;

LocalExchange::Part part_of(const HttpAnswer& answer, const std::string& id) {
  LocalExchange::Part part{.status = answer.status,
                           .is_last = true,
                           .content_type = answer.content_type,
                           .headers = "X-Request-Id: " + id + "\n",
                           .bytes = answer.body};
  for (const auto& [name, value] : answer.headers) part.headers += name + ": " + value + "\n";
  return part;
}

}  // namespace

void LocalExchanges::add(std::shared_ptr<LocalExchange> exchange) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) throw tenon::Error(tenon::Code::State, "the server was stopped");
  exchanges_.insert(std::move(exchange));
}

void LocalExchanges::remove(const std::shared_ptr<LocalExchange>& exchange) noexcept {
  const std::lock_guard lock(mutex_);
  exchanges_.erase(exchange);
  if (exchanges_.empty() && done_) loop_.post(std::exchange(done_, nullptr));
}

void LocalExchanges::drain(std::shared_ptr<Task> done) noexcept {
  const std::lock_guard lock(mutex_);
  if (exchanges_.empty()) return loop_.post(std::move(done));
  done_ = std::move(done);
}

void LocalExchanges::drop_all() noexcept {
  std::set<std::shared_ptr<LocalExchange>> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(exchanges_);
  }
  for (const auto& exchange : dropped) {
    exchange->cancel();
    exchange->request().interest->lose();
  }
  const std::lock_guard lock(mutex_);
  if (exchanges_.empty() && done_) loop_.post(std::exchange(done_, nullptr));
}

void LocalExchanges::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  drop_all();
}

LocalExchange::LocalExchange(HttpRequest request, std::function<void()> notify,
                             LocalExchanges& owner)
    : request_(std::move(request)),
      owner_(owner),
      forget_([this] {
        owner_.remove(shared_from_this());
        request_.interest->lose();
      }),
      out_of_memory_(
          part_of(error_answer(error_of(Failure::Memory), request_.shape), request_.record->id)),
      defect_(
          part_of(error_answer(error_of(Failure::Defect), request_.shape), request_.record->id)),
      notify_(std::move(notify)) {}

LocalExchange::~LocalExchange() {
  RequestRecord& record = *request_.record;
  if (record.journal != nullptr) record.journal->end(record);
}

std::string LocalExchange::headers_of(const HttpAnswer& answer) const {
  std::string lines = "X-Request-Id: " + request_.record->id + "\n";
  const std::vector<std::string>& notes = request_.record->notes;
  if (!notes.empty()) lines += "Tenon-Notes: " + notes_header(notes) + "\n";
  for (const auto& [name, value] : answer.headers) lines += name + ": " + value + "\n";
  return lines;
}

template <typename Change>
void LocalExchange::change(Change&& change) {
  {
    const std::lock_guard lock(mutex_);
    if (is_cancelled_ || pending_.is_last) return;
    change();
    if (std::exchange(has_news_, true)) return;
    changed_.notify_all();
  }
  const std::lock_guard lock(notify_mutex_);
  if (notify_) notify_();
}

void LocalExchange::note_end() noexcept {
  request_.record->is_complete = true;
  request_.record->end = RequestRecord::Clock::now();
  owner_.remove(shared_from_this());
}

void LocalExchange::answer(HttpAnswer answer) {
  const auto self = shared_from_this();
  request_.record->status = answer.status;
  std::string headers = headers_of(answer);
  change([&] {
    if (pending_.status != 0) return;
    pending_ = {.status = answer.status,
                .is_last = true,
                .content_type = std::move(answer.content_type),
                .headers = std::move(headers),
                .bytes = std::move(answer.body)};
  });
  note_end();
}

void LocalExchange::begin_stream(const std::string& content_type) {
  const HttpAnswer answer{.content_type = content_type};
  request_.record->status = answer.status;
  std::string headers = headers_of(answer);
  change([&] {
    pending_.content_type = content_type;
    pending_.headers = std::move(headers);
    pending_.status = answer.status;
  });
}

void LocalExchange::send(std::string bytes) {
  if (!bytes.empty()) change([&] { pending_.bytes += bytes; });
}

void LocalExchange::end_stream() {
  const auto self = shared_from_this();
  change([&] { pending_.is_last = true; });
  note_end();
}

void LocalExchange::fail(Failure why) noexcept {
  const auto self = shared_from_this();
  change([&] {
    if (pending_.status != 0) {
      is_cut_ = pending_.is_last = true;
      return;
    }
    Part& made = why == Failure::Memory ? out_of_memory_ : defect_;
    request_.record->status = made.status;
    std::swap(pending_, made);
  });
  note_end();
}

size_t LocalExchange::unsent() const {
  const std::lock_guard lock(mutex_);
  return pending_.bytes.size();
}

void LocalExchange::on_drained(std::shared_ptr<Task> resume) noexcept {
  {
    const std::lock_guard lock(mutex_);
    // The host may have taken everything since the route checked.
    if (pending_.bytes.size() >= kLocalDrainedBytes) {
      resume_ = std::move(resume);
      return;
    }
  }
  owner_.loop().post(std::move(resume));
}

LocalExchange::Part LocalExchange::take(double seconds) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [&] { return has_news_ || pending_.is_last || is_cancelled_; };
  if (seconds < 0 || seconds > kLongestWaitSeconds) {
    changed_.wait(lock, is_ready);
  } else if (seconds > 0) {
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_ready);
  }
  if (is_cancelled_) {
    throw tenon::Error(tenon::Code::Cancelled, "the server was stopped before its answer");
  }
  if (is_cut_) {
    throw tenon::Error(tenon::Code::NoMemory, "the answer could not be completed and was cut");
  }
  Part part{.status = pending_.status,
            .is_last = pending_.is_last,
            .content_type = pending_.content_type,
            .headers = pending_.headers};
  part.bytes.swap(pending_.bytes);
  has_news_ = false;
  std::shared_ptr<Task> resume = std::exchange(resume_, nullptr);
  lock.unlock();
  if (resume) owner_.loop().post(std::move(resume));
  return part;
}

void LocalExchange::leave() noexcept {
  {
    const std::lock_guard lock(notify_mutex_);
    notify_ = nullptr;
  }
  // The route's reaction to lost interest belongs on the loop.
  owner_.loop().post(std::shared_ptr<Task>(shared_from_this(), &forget_));
}

void LocalExchange::cancel() noexcept {
  change([&] { is_cancelled_ = true; });
}

}  // namespace tenon_http
