#include "json_write.h"
