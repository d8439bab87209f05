/* exitcode.h - what the command's exit status means.  The list in `holdfast --help` is
 * printed from EXIT_HELP, so that the two cannot differ. */
#ifndef CLI_EXITCODE_H
#define CLI_EXITCODE_H

enum exit_code {
    EXIT_FINE = 0,      /* done */
    EXIT_PROBLEM = 1,   /* a problem was found; refused, busy, or not found */
    EXIT_USAGE = 2,     /* the command line or the configuration is wrong */
    EXIT_UNCHECKED = 3, /* doctor: something could not be looked at */
    EXIT_GO_ON = -1     /* no status: the command line is fine, carry on */
};

#define EXIT_HELP                                                                  \
    "Exit status:\n"                                                               \
    "  0  fine\n"                                                                  \
    "  1  a problem was found (doctor: a warning or a failure), or the thing was\n" \
    "     refused, busy or not found\n"                                            \
    "  2  the command line or the configuration is wrong\n"                        \
    "  3  it could not be checked\n"

#endif
