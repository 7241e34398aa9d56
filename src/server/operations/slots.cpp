// GET /slots: running requests, in the form that monitors read.
#include "server/json/json.h"
#include "server/operations/api_keys.h"
#include "server/operations/request_journal.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

Json slot_of(const RequestRecord& record) {
  const auto now = RequestRecord::Clock::now();
  const char* phase = record.first_token ? "generating" : "waiting";
  Json slot{{"id", record.id},
            {"path", record.path},
            {"model", record.model_name()},
            {"phase", phase},
            {"seconds", record.seconds_until(now)},
            {"prompt_tokens", record.prompt_tokens},
            {"cached_tokens", record.cached_tokens},
            {"generated_tokens", record.generated_tokens}};
  if (record.client != nullptr) slot["client"] = record.client->name;
  return slot;
}

}  // namespace

Start handle_slots(const HttpRequest&, ServerState& state) {
  Json slots = Json::array();
  for (const auto& record : state.journal->under_way()) {
    if (record->is_counted) slots.push_back(slot_of(*record));
  }
  return answer_with({.body = to_text({{"object", "list"}, {"data", std::move(slots)}})});
}

}  // namespace tenon_http
