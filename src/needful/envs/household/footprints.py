"""The plan view of geoms, for a robot that drives on the floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# A cylinder whose axis is this upright counts as round in plan.
UPRIGHT = 0.999


@dataclass(frozen=True)
class Footprints:
    """Turned rectangles with rounded corners, each over a span of heights; one a row.

    Attributes:
        centre: their middles.
        along: the direction of their first side.
        half: half their sizes, without the rounding.
        rounding: by how much they are grown in all directions.
        low: how high their lowest points are.
        high: how high their highest points are.
    """

    centre: np.ndarray
    along: np.ndarray
    half: np.ndarray
    rounding: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(
        cls, centres: np.ndarray, axes: np.ndarray, halves: np.ndarray, round_: np.ndarray
    ) -> Footprints:
        """Return rectangles around boxes and cylinders; exact where one of their axes is upright."""
        reach = axes * halves[:, None, :]
        # The side that is longest in plan sets the direction; then nothing sticks out at the corners.
        lengths = np.hypot(reach[:, 0, :], reach[:, 1, :])
        longest = np.take_along_axis(reach[:, :2, :], lengths.argmax(axis=1)[:, None, None], axis=2)[
            :, :, 0
        ]
        along = longest / np.maximum(lengths.max(axis=1), 1e-12)[:, None]
        across = np.stack([-along[:, 1], along[:, 0]], axis=1)
        half = np.stack(
            [
                np.abs(np.einsum("ni,nij->nj", side, reach[:, :2, :])).sum(axis=1)
                for side in (along, across)
            ],
            axis=1,
        )
        standing = round_ & (np.abs(axes[:, 2, 2]) > UPRIGHT)
        rounding = np.where(standing, halves[:, 0], 0.0)
        half[standing] = 0.0
        height = np.abs(reach[:, 2, :]).sum(axis=1)
        z = centres[:, 2]
        return cls(centres[:, :2].copy(), along, half, rounding, z - height, z + height)

    def __len__(self) -> int:
        return len(self.centre)

    def __getitem__(self, chosen: np.ndarray) -> Footprints:
        """Return some of them."""
        return Footprints(
            self.centre[chosen],
            self.along[chosen],
            self.half[chosen],
            self.rounding[chosen],
            self.low[chosen],
            self.high[chosen],
        )

    def joined(self, others: Footprints) -> Footprints:
        """Return these and others."""
        pairs = ((getattr(self, name), getattr(others, name)) for name in self.__dataclass_fields__)
        return Footprints(*(np.concatenate(pair) for pair in pairs))

    def between(self, low: float, high: float) -> Footprints:
        """Return those that are somewhere between two heights."""
        return self[(self.low < high) & (self.high > low)]

    def gaps(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return how far points are from each footprint, which is the last axis; 0 or less inside."""
        dx, dy = x[..., None] - self.centre[:, 0], y[..., None] - self.centre[:, 1]
        u, v = self.along[:, 0], self.along[:, 1]
        along = np.maximum(np.abs(dx * u + dy * v) - self.half[:, 0], 0.0)
        across = np.maximum(np.abs(dy * u - dx * v) - self.half[:, 1], 0.0)
        gaps: np.ndarray = np.sqrt(along * along + across * across) - self.rounding
        return gaps
