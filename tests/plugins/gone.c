/* gone.c - the library that bad_library.c is linked with and that is not found. */
__attribute__((visibility("default"))) int hf_test_gone(void);

int
hf_test_gone(void)
{
    return 1;
}
