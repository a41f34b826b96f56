"""The layers of three well-known networks for pictures: shapes of their weights and biases."""

from __future__ import annotations

import itertools
import math

Shape = tuple[int, ...]

# Channels from one convolution to the next, each 3 x 3; and the fully connected layers behind them.
VGG16_CHANNELS = (3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)
VGG16_LINEAR = (512 * 7 * 7, 4096, 4096, 1000)
# Blocks of a stage, channels inside of a block, channels behind it.
RESNET50_STAGES = ((3, 64, 256), (4, 128, 512), (6, 256, 1024), (3, 512, 2048))

ALEXNET: list[Shape] = [
    *((64, 3, 11, 11), (64,)),
    *((192, 64, 5, 5), (192,)),
    *((384, 192, 3, 3), (384,)),
    *((256, 384, 3, 3), (256,)),
    *((256, 256, 3, 3), (256,)),
    *((4096, 256 * 6 * 6), (4096,)),
    *((4096, 4096), (4096,)),
    *((1000, 4096), (1000,)),
]


def vgg16() -> list[Shape]:
    shapes: list[Shape] = []
    for before, after in itertools.pairwise(VGG16_CHANNELS):
        shapes += [(after, before, 3, 3), (after,)]
    for before, after in itertools.pairwise(VGG16_LINEAR):
        shapes += [(after, before), (after,)]
    return shapes


def resnet50() -> list[Shape]:
    shapes = convolution(64, 3, 7)
    channels = 64
    for blocks, inside, behind in RESNET50_STAGES:
        for block in range(blocks):
            shapes += convolution(inside, channels, 1)
            shapes += convolution(inside, inside, 3)
            shapes += convolution(behind, inside, 1)
            if block == 0:
                shapes += convolution(behind, channels, 1)  # around the block
            channels = behind
    return [*shapes, (1000, channels), (1000,)]


def convolution(after: int, before: int, width: int) -> list[Shape]:
    """Without a bias, and the scale and offset of the normalisation that follows."""
    return [(after, before, width, width), (after,), (after,)]


NETWORKS = {"alexnet": ALEXNET, "vgg16": vgg16(), "resnet50": resnet50()}


def counts(network: str, divided_by: int = 1) -> list[int]:
    """The numbers of each layer; at least one."""
    return [max(1, math.prod(shape) // divided_by) for shape in NETWORKS[network]]
