"""How tests compile a caller of a kernel's piece."""

import numba

from ocboost._kernels.compile import FAST_MATH

# Pieces of kernels are made to be compiled into their callers, and inherit flags that they do not set. So the
# callers in tests set what kernels do; they are few, as each takes a second or so to compile.
as_in_kernels = numba.njit(fastmath=FAST_MATH, error_model="numpy")
