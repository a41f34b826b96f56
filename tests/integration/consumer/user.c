/* A user's program in C. */
#include <hoplite/c.h>

int main(void) { return hoplite_c_version() >= HOPLITE_C_VERSION ? 0 : 1; }
