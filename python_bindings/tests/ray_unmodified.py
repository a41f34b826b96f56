# mypy: ignore-errors
"""A program of Ray, as users write it: it knows nothing of Hoplite."""

import numpy as np
import ray

SIZE = 50_000


@ray.remote
def scaled(array, by):
    return array * by


@ray.remote
def total(arrays):
    return sum(float(ray.get(one).sum()) for one in arrays)


@ray.remote
def pieces(count):
    for piece in range(count):
        yield {"piece": piece, "array": np.full(SIZE, piece, np.float32)}


@ray.remote
def fails(array):
    raise ValueError("it fails", array[:3], array)


@ray.remote
class Model:
    def __init__(self, weights):
        self.weights = weights

    def learn(self, gradient):
        self.weights = self.weights - gradient
        return self.weights

    def both(self):
        return {"weights": self.weights, "name": "model"}


def main():
    ray.init()
    array = np.arange(SIZE, dtype=np.float64)
    kept = ray.put(array)
    array[:] = -1.0
    found = ray.get([scaled.remote(kept, by) for by in range(4)])
    print("scaled", [float(one.sum()) for one in found])
    print("nested", ray.get(total.remote([kept, scaled.remote(kept, 2.0)])))
    model = Model.remote(ray.get(kept))
    waiting = [model.learn.remote(np.full(SIZE, 0.5)) for _ in range(3)]
    while waiting:
        (ready,), waiting = ray.wait(waiting)
        print("learned", float(ray.get(ready).mean()))
    print("both", float(ray.get(model.both.remote())["weights"].sum()))
    for ref in pieces.remote(3):
        piece = ray.get(ref)
        print("piece", piece["piece"], float(piece["array"].sum()))
    try:
        ray.get(fails.remote(found[1]))
    except ValueError as error:
        print("failed", *error.cause.args[:2], error.cause.args[2].shape)
    got = ray.get(kept)
    print("read-only", not got.flags.writeable, got.dtype, got.shape)


if __name__ == "__main__":
    main()
