"""Which Ray this is, and which one the package was tested with."""

from __future__ import annotations

import warnings

TESTED = "2.60.0"


def require_ray() -> None:
    """ImportError that says what to install where Ray is missing."""
    try:
        import ray  # noqa: F401, PLC0415 - whether it can be imported is the question
    except ImportError as missing:
        raise ImportError(f"hoplite.ray needs Ray: pip install 'ray=={TESTED}'") from missing


def warn_if_other(missing: str) -> None:
    """One warning where this is another Ray, which says what it lacks."""
    import ray  # noqa: PLC0415 - after require_ray

    if ray.__version__ != TESTED:
        warnings.warn(
            f"hoplite.ray was tested with Ray {TESTED}; this is Ray {ray.__version__}{missing}",
            RuntimeWarning,
            stacklevel=3,
        )
