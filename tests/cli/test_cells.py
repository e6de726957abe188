"""Columns count what a terminal draws: wide letters take two cells, marks and joiners none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_listing import NOW, OUTPUT, view

from loopx_git.cli.render.cells import cut, pad, width
from loopx_git.cli.render.listing import BUDGET, TITLE_MAX, as_lines

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
THUMB, FLAG, HEART = "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f"


@pytest.mark.parametrize(
    ("text", "cells"),
    [("", 0), ("plain", 5), ("日本語", 6), ("한글", 4), ("ｗｉｄｅ", 8), ("e\u0301", 1), ("a\u200bb", 2),
     (FAMILY, 2), (THUMB, 2), (FLAG, 2), (HEART, 2), ("é", 1), ("\u05e9\u05c1", 1), ("\U0010fffd", 1)],
)  # fmt: skip
def test_the_width(text: str, cells: int) -> None:
    assert width(text) == cells
    assert width(pad(text, 10)) == 10


@pytest.mark.parametrize("drawn", ["x", "日", "e\u0301", FAMILY, THUMB, FLAG, HEART, "a\u0300\u0316"])
def test_what_is_cut_fits_and_nothing_that_is_drawn_as_one_is_torn(drawn: str) -> None:
    text = drawn * 40
    for cells in range(3, 30):
        short = cut(text, cells)
        assert cells - width(drawn) < width(short) <= cells
        assert short.endswith("...")
        kept = short.removesuffix("...")
        assert kept == drawn * (len(kept) // len(drawn))
    assert cut(text, width(text)) == text


def test_the_columns_of_a_list_are_aligned_whatever_the_letters_are() -> None:
    texts = ["plain", "日本語" * 20, FAMILY * 30, "e\u0301" * 10, THUMB, f"{FLAG} flag", "x" * 90]
    views = [replace(view(1), todo=replace(view(1).todo, title=text)) for text in texts]
    lines, _ = as_lines(OUTPUT, views, ("title", "status"), NOW, 4, BUDGET)
    assert len({width(line.rpartition(" ")[0]) for line in lines}) == 1
    assert width(lines[0].rpartition(" ")[0]) <= TITLE_MAX
