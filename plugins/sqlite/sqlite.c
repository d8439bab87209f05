#include "private.h"
