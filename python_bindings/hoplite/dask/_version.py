"""Which Dask this is, and which one the package was tested with."""

from __future__ import annotations

import warnings

TESTED = "2026.8.0"


def require_distributed() -> None:
    """ImportError that says what to install where Dask is missing."""
    try:
        import distributed  # noqa: F401, PLC0415 - whether it can be imported is the question
    except ImportError as missing:
        wanted = f"pip install 'distributed=={TESTED}'"
        raise ImportError(f"hoplite.dask needs Dask: {wanted}") from missing


def warn_if_other() -> None:
    """One warning where this is another Dask."""
    import distributed  # noqa: PLC0415 - after require_distributed

    if distributed.__version__ != TESTED:
        warnings.warn(
            f"hoplite.dask was tested with distributed {TESTED}; this is {distributed.__version__}",
            RuntimeWarning,
            stacklevel=3,
        )
