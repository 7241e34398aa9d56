#include "server/registry/model_registry.h"

#include <algorithm>

namespace tenon_http {
namespace {

/// Longest wait of a load or an unload for a model in use. An answer already received by its client
/// may hold the model for a moment.
constexpr auto kPatience = std::chrono::milliseconds(500);

ApiError no_such_model(const std::string& name) {
  return ApiError(404, "invalid_request_error",
                  "the model \"" + name + "\" is not served here; GET /v1/models lists what is")
      .with_code("model_not_found")
      .with_param("model");
}

/// A choice per adapter: that of this id.
const ServedAdapter& adapter_of(const std::vector<ServedAdapter>& adapters, uint32_t id,
                                const std::string& path) {
  const auto found = std::find_if(adapters.begin(), adapters.end(),
                                  [&](const ServedAdapter& one) { return one.id == id; });
  if (found != adapters.end()) return *found;
  throw invalid_request(
      path + ": the model has no adapter " + std::to_string(id) + "; GET /lora-adapters lists them",
      path);
}

/// Throws ApiError for an unknown or repeated id.
void check_choices(const std::vector<ServedAdapter>& adapters,
                   const std::vector<AdapterChoice>& choices) {
  for (size_t i = 0; i < choices.size(); ++i) {
    const std::string path = "lora[" + std::to_string(i) + "].id";
    (void)adapter_of(adapters, choices[i].id, path);
    for (size_t j = 0; j < i; ++j) {
      if (choices[j].id != choices[i].id) continue;
      throw invalid_request(path + ": adapter " + std::to_string(choices[i].id) + " comes twice",
                            path);
    }
  }
}

int64_t unix_seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

ModelRegistry::Entry& ModelRegistry::find(const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry->name == name; });
  if (found == entries_.end()) throw no_such_model(name);
  return **found;
}

ModelRegistry::Entry& ModelRegistry::find(const std::string* name) const {
  if (name != nullptr) return find(*name);
  if (entries_.size() != 1) throw invalid_request("model: is missing", "model");
  return *entries_.front();
}

std::pair<ModelRegistry::Entry*, const ServedAdapter*> ModelRegistry::find_adapter(
    const std::string& name) const {
  for (const auto& entry : entries_) {
    for (const ServedAdapter& adapter : entry->adapters) {
      if (adapter.name == name) return {entry.get(), &adapter};
    }
  }
  return {nullptr, nullptr};
}

void ModelRegistry::check_name(const std::string& name) const {
  for (const auto& entry : entries_) {
    if (entry->name == name) {
      throw invalid_request("there is a model with the name \"" + name + "\" already", "name");
    }
  }
  if (find_adapter(name).first != nullptr) {
    throw invalid_request("there is an adapter with the name \"" + name + "\" already", "name");
  }
}

void ModelRegistry::add(std::unique_ptr<ServedModel> model) {
  check_name(model->name());
  auto entry = std::make_unique<Entry>();
  entry->name = model->name();
  entry->created = model->created();
  entry->context = model->context();
  entry->served = std::move(model);
  entries_.push_back(std::move(entry));
}

void ModelRegistry::add(std::string name, ModelFile file) {
  check_name(name);
  if (budget_bytes_ != 0 && file.memory_bytes > budget_bytes_) {
    throw invalid_request("model \"" + name + "\" takes " + std::to_string(file.memory_bytes) +
                              " bytes, more than the budget of all models, " +
                              std::to_string(budget_bytes_),
                          "name");
  }
  auto entry = std::make_unique<Entry>();
  entry->name = std::move(name);
  entry->created = unix_seconds_now();
  entry->context = file.context;
  entry->file = std::make_unique<ModelFile>(std::move(file));
  entry->state = State::Unloaded;
  entry->load = std::make_shared<Task>([this, loaded = entry.get()] { load(*loaded); });
  entries_.push_back(std::move(entry));
}

std::shared_ptr<const ServedModel> ModelRegistry::use(const std::string* name) {
  const std::lock_guard lock(mutex_);
  return use(find(name));
}

std::shared_ptr<const ServedModel> ModelRegistry::use(Entry& entry) {
  entry.last_use = Clock::now();
  if (entry.state == State::Loaded) return entry.served;
  throw ModelNotReady{entry.name};
}

std::shared_ptr<const ServedModel> ModelRegistry::use(const ModelChoice& choice) {
  struct Wanted {
    ServedAdapter adapter;
    double scale;
  };
  std::vector<Wanted> wanted;
  std::unique_lock lock(mutex_);
  const auto [of_adapter, named] = choice.name == nullptr
                                       ? std::pair<Entry*, const ServedAdapter*>()
                                       : find_adapter(*choice.name);
  Entry& entry = named == nullptr ? find(choice.name) : *of_adapter;
  if (named != nullptr && choice.adapters) {
    throw invalid_request("lora: cannot stand beside a model that is an adapter", "lora");
  }
  if (named != nullptr) {
    wanted.push_back({*named, named->scale});
  } else if (choice.adapters) {
    check_choices(entry.adapters, *choice.adapters);
    for (const AdapterChoice& one : *choice.adapters) {
      wanted.push_back({adapter_of(entry.adapters, one.id, "lora"), one.scale});
    }
  } else {
    for (const ServedAdapter& one : entry.adapters) wanted.push_back({one, one.base_scale});
  }
  std::erase_if(wanted, [](const Wanted& one) { return one.scale == 0; });
  std::shared_ptr<const ServedModel> base = use(entry);
  const std::string name = named == nullptr ? entry.name : *choice.name;
  lock.unlock();
  if (wanted.empty() && named == nullptr) return base;
  std::vector<ServedModel::Scaled> scaled;
  for (const Wanted& one : wanted) {
    scaled.push_back({one.adapter.id, base->adapter(one.adapter), one.scale});
  }
  return std::make_shared<const ServedModel>(name, std::move(base), scaled, choice.share);
}

void ModelRegistry::add_adapter(const std::string* model, ServedAdapter adapter) {
  std::unique_lock lock(mutex_);
  check_name(adapter.name);
  Entry& entry = find(model);
  if (entry.file != nullptr && !takes_adapters(*entry.file)) {
    throw tenon::Error(tenon::Code::State,
                       "model \"" + entry.name + "\" is opened without adapter_slots");
  }
  adapter.id = entry.next_adapter++;
  adapter.created = unix_seconds_now();
  const std::shared_ptr<const ServedModel> loaded = entry.served;
  lock.unlock();
  if (loaded != nullptr) (void)loaded->adapter(adapter);
  lock.lock();
  check_name(adapter.name);
  entry.adapters.push_back(std::move(adapter));
}

void ModelRegistry::remove_adapter(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto [entry, found] = find_adapter(name);
  if (found == nullptr) throw no_such_model(name);
  const uint32_t id = found->id;
  std::erase_if(entry->adapters, [&](const ServedAdapter& one) { return one.id == id; });
  if (entry->served != nullptr) entry->served->forget_adapter(id);
}

void ModelRegistry::set_scales(const std::string* model, const std::vector<AdapterChoice>& scales) {
  const std::lock_guard lock(mutex_);
  std::vector<ServedAdapter>& adapters = find(model).adapters;
  check_choices(adapters, scales);
  for (ServedAdapter& adapter : adapters) {
    const auto chosen = std::find_if(scales.begin(), scales.end(), [&](const AdapterChoice& one) {
      return one.id == adapter.id;
    });
    adapter.base_scale = chosen == scales.end() ? 0 : chosen->scale;
  }
}

void ModelRegistry::when_ready(const std::string& name,
                               std::function<void(std::exception_ptr)> then) {
  std::unique_lock lock(mutex_);
  Entry& entry = find(name);
  if (entry.state == State::Loaded) {
    lock.unlock();
    return then(nullptr);
  }
  entry.waiting.push_back(std::move(then));
  // The unloading thread reloads a model that is being unloaded.
  if (entry.state != State::Unloaded) return;
  entry.state = State::Loading;
  lock.unlock();
  workers_.post(entry.load);
}

void ModelRegistry::load(Entry& entry) {
  std::exception_ptr failure;
  std::shared_ptr<const LoadedModel> loaded;
  const auto start = Clock::now();
  try {
    std::unique_lock lock(mutex_);
    make_room(entry, lock);
    lock.unlock();
    loaded = std::make_shared<const LoadedModel>(entry.name, *entry.file,
                                                 [this](double) { return !is_stopped_; });
  } catch (...) {
    failure = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  entry.state = failure == nullptr ? State::Loaded : State::Unloaded;
  if (loaded != nullptr) entry.served = {loaded, &loaded->served()};
  loaded = nullptr;
  entry.last_use = Clock::now();
  const auto waiting = std::move(entry.waiting);
  entry.waiting.clear();
  changed_.notify_all();
  lock.unlock();
  const std::chrono::duration<double, std::milli> took = Clock::now() - start;
  (void)fenced([&] {
    if (failure == nullptr) {
      log_.write(TENON_LOG_INFO, "model loaded",
                 {{"model", entry.name}, {"duration_ms", took.count()}});
    } else {
      log_.write(TENON_LOG_WARNING, "model not loaded", {{"model", entry.name}});
    }
  });
  for (const auto& then : waiting) then(failure);
}

uint64_t ModelRegistry::used_bytes() const {
  uint64_t used = 0;
  for (const auto& entry : entries_) {
    if (entry->file != nullptr && entry->state != State::Unloaded)
      used += entry->file->memory_bytes;
  }
  return used;
}

bool ModelRegistry::is_idle(const Entry& entry) {
  // Copies are made under the lock only, so a count of 1 means that no request holds the model.
  return entry.file != nullptr && entry.state == State::Loaded && entry.served.use_count() == 1;
}

void ModelRegistry::make_room(Entry& entry, std::unique_lock<std::mutex>& lock) {
  const auto patience = Clock::now() + kPatience;
  // used_bytes() already includes `entry`.
  while (budget_bytes_ != 0 && used_bytes() > budget_bytes_) {
    Entry* oldest = nullptr;
    for (const auto& other : entries_) {
      if (other.get() == &entry || !is_idle(*other)) continue;
      if (oldest == nullptr || other->last_use < oldest->last_use) oldest = other.get();
    }
    if (oldest == nullptr && !is_stopped_ && Clock::now() < patience) {
      changed_.wait_for(lock, std::chrono::milliseconds(5));
      continue;
    }
    if (oldest == nullptr) {
      throw ApiError(503, "server_overloaded",
                     "model \"" + entry.name + "\" has no room while others answer")
          .with_retry_after(2);
    }
    unload(*oldest, lock);
  }
}

void ModelRegistry::unload(Entry& entry, std::unique_lock<std::mutex>& lock) {
  entry.state = State::Leaving;
  std::shared_ptr<const ServedModel> leaving = std::move(entry.served);
  entry.served = nullptr;
  if (leaving->owns_engine()) (void)tenon_engine_stop(leaving->engine());
  changed_.wait(lock, [&] { return !entry.has_thread; });
  lock.unlock();
  leaving = nullptr;
  (void)fenced([&] { log_.write(TENON_LOG_INFO, "model unloaded", {{"model", entry.name}}); });
  lock.lock();
  entry.state = State::Unloaded;
  if (entry.waiting.empty() || is_stopped_) return;
  entry.state = State::Loading;
  workers_.post(entry.load);
}

void ModelRegistry::unload(const std::string& name) {
  std::unique_lock lock(mutex_);
  Entry& entry = find(name);
  if (entry.file == nullptr) {
    throw invalid_request("model \"" + name + "\" is the program's own and stays loaded", "model");
  }
  const auto patience = Clock::now() + kPatience;
  while (entry.state == State::Loaded && !is_idle(entry) && !is_stopped_ &&
         Clock::now() < patience) {
    changed_.wait_for(lock, std::chrono::milliseconds(5));
  }
  if (entry.state == State::Unloaded) return;
  if (!is_idle(entry)) {
    throw ApiError(409, "invalid_request_error", "model \"" + name + "\" is in use")
        .with_param("model")
        .with_retry_after(1);
  }
  unload(entry, lock);
}

ModelView ModelRegistry::view_of(const Entry& entry) {
  const bool is_loaded = entry.state == State::Loaded;
  return {.name = entry.name,
          .created = entry.created,
          .context = is_loaded ? entry.served->context() : entry.context,
          .is_of_file = entry.file != nullptr,
          .state = is_loaded                       ? "loaded"
                   : entry.state == State::Loading ? "loading"
                                                   : "unloaded",
          .memory_bytes = entry.file == nullptr ? 0 : entry.file->memory_bytes,
          .served = entry.served,
          .adapters = entry.adapters};
}

std::vector<ModelView> ModelRegistry::views() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelView> views;
  for (const auto& entry : entries_) views.push_back(view_of(*entry));
  return views;
}

ModelView ModelRegistry::view(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return view_of(find(name));
}

ModelView ModelRegistry::view(const std::string* name) const {
  const std::lock_guard lock(mutex_);
  return view_of(find(name));
}

std::shared_ptr<const ServedModel> ModelRegistry::wait_for_engine(size_t index) {
  std::unique_lock lock(mutex_);
  Entry& entry = *entries_[index];
  changed_.wait(lock, [&] {
    return is_stopped_ || (entry.state == State::Loaded && entry.served->owns_engine());
  });
  if (is_stopped_) return nullptr;
  entry.has_thread = true;
  // Non-owning, so it does not count as a use: unload() waits for has_thread.
  return {std::shared_ptr<void>(), entry.served.get()};
}

void ModelRegistry::leave_engine(size_t index) {
  const std::lock_guard lock(mutex_);
  entries_[index]->has_thread = false;
  changed_.notify_all();
}

bool ModelRegistry::computes(size_t index) const {
  const std::lock_guard lock(mutex_);
  const Entry& entry = *entries_[index];
  return entry.file != nullptr || entry.served->owns_engine();
}

void ModelRegistry::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  for (const auto& entry : entries_) {
    if (entry->served != nullptr && entry->served->owns_engine()) {
      (void)tenon_engine_stop(entry->served->engine());
    }
  }
  changed_.notify_all();
}

}  // namespace tenon_http
