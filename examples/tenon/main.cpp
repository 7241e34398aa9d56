// Program `tenon`: a thin layer of commands over the public interface of the library.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <tenon/tenon.hpp>
#include <utility>

#include "command_line.h"
#include "failure.h"
#include "host.h"
#include "interruption.h"
#include "terminal.h"

namespace {

using namespace tenon_program;

/// Advice for a failure of the library, by its code; empty if the message suffices.
const char* advice(tenon::Code code) {
  using tenon::Code;
  constexpr std::array kAdvice = {
      std::pair{Code::Limit, "where a text is too long, shorten it or raise --context"},
      std::pair{Code::Io, "check the path and the permissions"},
      std::pair{Code::NoMemory, "choose a smaller model or a smaller --context"},
      std::pair{Code::Argument, "see --help of the command"},
      std::pair{Code::Plugin, "`tenon backends` lists what can be used"},
      std::pair{Code::Internal, "this is a defect: please report it"},
  };
  for (const auto& [known, text] : kAdvice) {
    if (known == code) return text;
  }
  return "";
}

/// Prints one line on standard error, whatever the message contains.
int fail_with(std::string message, int exit_code) {
  while (!message.empty() && message.back() == '\n') message.pop_back();
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  say(Style::Error, message);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run_command_line(begin_program(argc, argv));
    return 0;
  } catch (const Interrupted& interrupted) {
    end_by_signal(interrupted.signal());
  } catch (const OutputClosed&) {
    return 0;
  } catch (const Ending& ending) {
    return fail_with(ending.what(), ending.exit_code());
  } catch (const Failure& failure) {
    return fail_with(failure.what(), 1);
  } catch (const tenon::Error& error) {
    const std::string what = advice(error.code());
    return fail_with(error.what() + (what.empty() ? "" : "; " + what), 1);
  } catch (const std::bad_alloc&) {
    return fail_with("out of memory; choose a smaller model or a smaller --context", 1);
  } catch (const std::exception& error) {
    return fail_with(error.what(), 1);
  }
}
