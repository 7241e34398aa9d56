// tenon_interface_description: the C interface as data. How it is made: docs/bindings.md.
#include <interface_json.h>

#include "tenon/tenon.h"

const char* tenon_interface_description(void) { return tenon::kInterfaceJson; }
