#include "interruption.h"

#include <signal.h>

#include <csignal>
#include <cstdlib>
#include <iterator>

namespace tenon_program {
namespace {

volatile std::sig_atomic_t noted = 0;

void note(int signal) { noted = signal; }

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

struct Interruption::Before {
  struct sigaction actions[std::size(kSignals)];
};

Interruption::Interruption() : before_(std::make_unique<Before>()) {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;  // restarts system calls, so that none fails
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before_->actions[i]);
    // A signal that the parent had us ignore (nohup, a background job) stays ignored.
    if (before_->actions[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (size_t i = 0; i < std::size(kSignals); ++i)
    sigaction(kSignals[i], &before_->actions[i], nullptr);
}

void Interruption::check() {
  if (noted != 0) throw Interrupted(noted);
}

void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(128 + signal);  // reached if the signal is blocked
}

}  // namespace tenon_program
