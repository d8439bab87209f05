/* input.h - reading a file or standard input whole. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stddef.h>

#include "print.h"

/* Appends the bytes of PATH ("-": standard input) to RET.  EXIT_GO_ON, or an exit status
 * after saying why not; more than MAX bytes are refused with HF_TOO_BIG. */
int input_read(const struct cli *cli, const char *path, size_t max, struct hf__buf *ret);

#endif
