// Loads one plugin file: checks before loading, handshake, and the reason of a refusal.
#pragma once

#include <memory>
#include <string>

#include "backend/device.h"
#include "base/system.h"

namespace tenon {

/// Why a plugin is not used. Values are part of the C ABI.
enum class PluginReason : int32_t {
  None = 0,              ///< used
  NotAbsolute = 1,       ///< the path is relative
  NotFound = 2,          ///< no such file, or it cannot be read
  NotRegular = 3,        ///< a directory, a device, a FIFO
  UnsafeOwner = 4,       ///< owned by neither root nor the user of this process
  Writable = 5,          ///< the file, or its directory, can be written by others
  NotALibrary = 6,       ///< not a library of this system, or the dynamic loader refused it
  NoEntry = 7,           ///< no symbol tenon_backend_entry
  EntryThrew = 8,        ///< the entry threw an exception
  Declined = 9,          ///< the entry returned NULL: it cannot run on this machine
  WrongMagic = 10,       ///< the table is not ours
  OtherMajor = 11,       ///< written for another major version of the plugin ABI
  TooSmall = 12,         ///< the table is smaller than version 2.0's
  MissingFunction = 13,  ///< a function of the table is NULL
  BadName = 14,          ///< its name is not 1 to 63 letters, digits, '-' and '_'
  NameTaken = 15         ///< an earlier backend has its name, or the name is reserved
};

/// A plugin file after the attempt to load it.
struct Plugin {
  std::string path;
  PluginReason reason = PluginReason::None;
  std::string text;  ///< the reason as a sentence; empty if it is used
  Backend backend;   ///< api is null if it was refused
};

/// Loads one plugin. Throws std::bad_alloc only, whatever the file is. Unloads a refused plugin;
/// any other stays loaded until the process ends, so a file that replaces it is not seen before.
Plugin load_plugin(const std::string& path, const std::shared_ptr<System>& system = System::real());

/// Checks a table returned by an entry; None if it is usable.
PluginReason check_table(const tenon_backend_api* api);
/// The reason as a sentence.
const char* reason_text(PluginReason reason) noexcept;

}  // namespace tenon
