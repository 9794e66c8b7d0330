from __future__ import annotations

import itertools

from needful.planning.engines.search_space import splitmix64


def test_published_sequence() -> None:
    assert list(itertools.islice(splitmix64(1234567), 5)) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_seed_counts_modulo_two_to_the_64() -> None:
    assert next(splitmix64(-1)) == next(splitmix64(2**64 - 1))
