#include <holdfast/sqlite.h>
