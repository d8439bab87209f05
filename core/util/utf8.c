#include "utf8.h"
