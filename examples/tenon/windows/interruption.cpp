#include "interruption.h"

#include <atomic>

#include "host.h"
#include "windows_api.h"

namespace tenon_program {
namespace {

std::atomic<bool> noted{false};

void note() { noted = true; }

}  // namespace

struct Interruption::Before {
  OnInterrupt noting{note};
};

Interruption::Interruption() : before_(std::make_unique<Before>()) {}
Interruption::~Interruption() = default;

void Interruption::check() {
  if (noted) throw Interrupted(CTRL_C_EVENT);
}

void end_by_signal(int) { ::ExitProcess(static_cast<UINT>(STATUS_CONTROL_C_EXIT)); }

}  // namespace tenon_program
