from __future__ import annotations

from tests.rules.moving import becomes, stays


def test_repeats_are_multiplied() -> None:
    becomes(
        """g (float[N,2] x) => (float[A,B] y) <int64[2] r = {2, 3}, int64[2] s = {1, 0}> {
            p = Tile(x, r) q = Tile(p, r) y = Tile(q, s) }""",
        {"Tile": 1},
        "tile_of_tile",
    )


def test_unknown_repeats_stay() -> None:
    stays(
        """g (float[N,2] x, int64[2] s) => (float[A,B] y) <int64[2] r = {2, 3}> { p = Tile(x, r) y = Tile(p, s) }""",
        "tile_of_tile",
    )
