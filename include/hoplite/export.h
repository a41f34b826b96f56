// Marks what the installed shared library shows; everything else in it is hidden.
#pragma once

#define HOPLITE_EXPORT __attribute__((visibility("default")))
