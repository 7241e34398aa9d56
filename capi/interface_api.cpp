// tenon_interface_description: the C interface as data. docs/bindings.md tells how it is generated.
#include <interface_json.h>

#include "tenon/tenon.h"

const char* tenon_interface_description(void) { return tenon::kInterfaceJson; }
