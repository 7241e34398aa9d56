// Forwards to random_model/random_model.h; for tests/arch, which still names the old place.
#pragma once

#include "random_model/random_model.h"
