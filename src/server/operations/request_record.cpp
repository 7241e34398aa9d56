#include "server/operations/request_record.h"

#include <algorithm>
#include <cctype>

#include "server/json/random_id.h"
#include "server/registry/served_model.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxIdLength = 128;

bool is_plain_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdLength && std::all_of(id.begin(), id.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

RequestRecord::RequestRecord(std::string_view request_id, std::string_view traceparent)
    : id(is_plain_id(request_id) ? std::string(request_id) : random_id("req_")),
      trace(continue_trace(traceparent)) {}

void RequestRecord::use(std::shared_ptr<const ServedModel> model) {
  const std::lock_guard lock(mutex_);
  model_.swap(model);
}

std::string RequestRecord::model_name() const {
  const std::lock_guard lock(mutex_);
  return model_ == nullptr ? "" : model_->name();
}

}  // namespace tenon_http
