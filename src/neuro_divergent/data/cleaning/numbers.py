"""Numbers as people write them: decimal commas, marks between thousands, and texts that mean a missing value.

No text is taken for a number that could be another one. ``1,234`` may be a thousand or a little more than one: it is
refused until somebody says which.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from neuro_divergent.data.cleaning.remedy import Remedy
from neuro_divergent.data.schema import Schema

_WHOLE = r"^[+-]?\d+$"
_COMMA = r"^[+-]?\d*,\d+$"
_LIKE_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_LIKE_POINTED_THOUSANDS = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"
_WITH_POINT = r"^[+-]?\d*\.\d+$"
_BELOW_THOUSAND = r"^[+-]?\d{1,3}$"
_SPACES = "[ \u00a0\u202f]"  # with the no-break spaces that programs write between thousands
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:([.,' _\u00a0\u202f])\d{3})(?:\1\d{3})*(?:([.,])\d+)?")
_UNIT = re.compile(r"[+-]?[\d.,]+\s*[^\W\d_]+[\w²³/]*")


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written.

    Attributes:
        decimal: The decimal mark.
        thousands: What stands between thousands; a space is any kind of it.
        null_values: Texts that mean a missing value, besides an empty one; of numbers, also those that are equal.
        has_points: Whether numbers with a decimal point may be there whatever the decimal mark is: those that a program
            turned into text because others in the column are text.
    """

    decimal: str = "."
    thousands: str | None = None
    null_values: tuple[str, ...] = ()
    has_points: bool = False

    @classmethod
    def of(cls, schema: Schema | None, *, has_points: bool = False) -> NumberStyle:
        """Return what a schema says."""
        if schema is None:
            return cls(has_points=has_points)
        decimal = schema.decimal or ("," if schema.thousands == "." else ".")
        return cls(decimal, schema.thousands, schema.null_values, has_points)

    @staticmethod
    def is_open(schema: Schema) -> bool:
        """Whether a schema leaves the decimal mark to be found."""
        return schema.decimal is None and schema.thousands != "."

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as programs write them, with nothing but nothing for a missing one."""
        return self == NumberStyle(has_points=self.has_points)

    @property
    def null_numbers(self) -> pl.Series:
        """Numbers that mean a missing value however they are written: ``-999`` is ``-999.0``, too."""
        return (
            NumberStyle(self.decimal, self.thousands).parse(pl.Series(self.null_values, dtype=pl.String)).drop_nulls()
        )

    def parse(self, column: pl.Series) -> pl.Series:
        """Return the numbers of texts; a text that is none, or stands for nothing, becomes missing."""
        texts = self.clear(column)
        if self.has_points and not self.is_plain:
            plain = texts.cast(pl.Float64, strict=False)
            if self.thousands == ".":  # 1.234 may be two numbers.
                either = texts.str.contains(_LIKE_POINTED_THOUSANDS).fill_null(value=False)
                texts, plain = texts.set(either, None), plain.set(either, None)
            styled = NumberStyle(self.decimal, self.thousands).parse(texts)
            return plain.zip_with(plain.is_not_null(), styled).alias(column.name)
        if self.thousands is not None:
            mark = _SPACES if self.thousands == " " else re.escape(self.thousands)
            decimal = re.escape(self.decimal)
            grouped = texts.str.contains(rf"^[+-]?\d{{1,3}}(?:{mark}\d{{3}})+(?:{decimal}\d+)?$")
            bare = texts.str.replace_all(mark, "")
            texts = texts.zip_with(~grouped.fill_null(value=False), bare)
        if self.decimal == ",":
            has_point = texts.str.contains(".", literal=True).fill_null(value=False)
            texts = texts.str.replace(",", ".", literal=True).set(has_point, None)
        return texts.cast(pl.Float64, strict=False).alias(column.name)

    def clear(self, column: pl.Series) -> pl.Series:
        """Return texts without surrounding spaces, and none where they stand for nothing."""
        texts = column.str.strip_chars()
        texts = texts.set(texts.is_in(["", *self.null_values]), None)
        if not self.null_values or not len(numbers := self.null_numbers):
            return texts
        found = replace(self, null_values=()).parse(texts)
        return texts.set(found.is_in(numbers.implode()).fill_null(value=False), None)

    def find_wrong(self, column: pl.Series) -> pl.Series:
        """Return which texts are neither a number nor stand for nothing."""
        return self.parse(column).is_null() & self.clear(column).is_not_null()


PLAIN = NumberStyle()


def floats(column: pl.Series, style: NumberStyle = PLAIN) -> pl.Series:
    """Turn text into numbers where every value is one; errors are reported later, where the roles are known.

    Nothing between two quotation marks is a missing value: some programs quote every field.
    """
    numbers = style.parse(column)
    return numbers if numbers.null_count() == style.clear(column).null_count() else column


def exact_numbers(column: pl.Series, *, fractions: bool) -> pl.Series:
    """Turn text into integers, or fractions, where nothing is lost by it: ``"007"`` stays text."""
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count() and (whole.cast(pl.String) == column).all():
        return whole
    return column if not fractions or column.str.contains(r"^[+-]?0\d").any() else floats(column)


class DecimalCommas(NamedTuple):
    """What columns of text tell about their decimal mark.

    Attributes:
        column: The first column with commas.
        row: The row of the first comma, counted from 0.
        text: What is written there.
        is_certain: Whether commas can be nothing but decimal marks.
        point: A number with a decimal point in another column, where there is one.
    """

    column: str
    row: int
    text: str
    is_certain: bool
    point: str | None


def find_decimal_commas(columns: Iterable[pl.Series], style: NumberStyle) -> DecimalCommas | None:
    """Look for columns in which every value is a number, some with a comma; ``None`` where there are none."""
    first: tuple[str, int, str] | None = None
    is_certain, point = False, None
    for column in columns:
        texts = style.clear(column)
        comma = texts.str.contains(_COMMA).fill_null(value=False)
        if comma.any() and (comma | texts.str.contains(_WHOLE).fill_null(value=True)).all():
            found = texts.filter(comma)
            sure = found.filter(~found.str.contains(_LIKE_THOUSANDS))
            if first is None or (len(sure) and not is_certain):
                shown = sure[0] if len(sure) else found[0]
                first = (column.name, int((texts == shown).arg_true()[0]), str(shown))
            is_certain = is_certain or bool(len(sure))
        elif not comma.any():
            # A program that turns numbers into text writes points; only one that may stand between thousands tells.
            pattern = _LIKE_POINTED_THOUSANDS if style.has_points else r"\."
            points = texts.filter(texts.str.contains(pattern).fill_null(value=False))
            if len(points) and points.cast(pl.Float64, strict=False).null_count() < len(points):
                point = point or str(points[0])
    return None if first is None else DecimalCommas(*first, is_certain, point)


def may_have_thousands(column: pl.Series) -> bool:
    """Whether numbers with fractions may all be thousands whose point was taken for a decimal mark."""
    values = column.drop_nulls().abs()
    fractions = values.filter(values != values.floor())
    thousandths = fractions * 1000
    is_like = (fractions >= 1).all() and ((thousandths - thousandths.round()).abs() < 1e-6 * thousandths).all()
    return bool(len(fractions)) and is_like and bool((values < 1000).all())


def find_pointed_thousands(columns: Iterable[pl.Series], style: NumberStyle) -> tuple[str, int, str] | None:
    """Return the column, the row counted from 0 and the text of a number whose point may stand between thousands.

    There is none where one number of the columns has a point that can be nothing but a decimal mark.
    """
    first = None
    for column in columns:
        texts = style.clear(column)
        point = texts.str.contains(_WITH_POINT).fill_null(value=False)
        like = texts.str.contains(_LIKE_POINTED_THOUSANDS).fill_null(value=False)
        if (point & ~like).any():
            return None
        if first is None and like.any() and texts.filter(~like).str.contains(_BELOW_THOUSAND).all():
            row = int(like.arg_true()[0])
            first = column.name, row, str(texts[row])
    return first


def explain_number(text: str, style: NumberStyle = PLAIN) -> Remedy:
    """Return what to do about a text that is not a number, as a sentence with a full stop and a space before it."""
    text = text.strip()
    signs = [character for character in text if unicodedata.category(character) == "Sc"]
    if signs:
        return Remedy(f". Write the number without the currency sign {signs[0]!r}")
    if "%" in text:
        return Remedy(". Write the number without the percent sign")
    if style.decimal == "," and text.count(".") == 1 and "," not in text and _is_number(text):
        if style.thousands == ".":
            if not re.search(_LIKE_POINTED_THOUSANDS, text):
                return Remedy(", since the point stands between thousands")
            both = f"either that or {text.replace('.', '')}"
            return Remedy(f": it is {both}, since the column holds texts and perhaps numbers. Save the table as CSV")
        cure = 'Pass thousands="." (--thousands .) if the point stands between thousands'
        return Remedy(f", since the decimal mark is a comma. {cure}", {"thousands": "."})
    if style.decimal == "." and re.search(_COMMA, text):
        cure = 'Pass decimal="," (--decimal ,) if the comma is the decimal mark'
        if re.search(_LIKE_THOUSANDS, text):
            return Remedy(f'. {cure}, or thousands="," (--thousands ,)')
        return Remedy(f". {cure}", {"decimal": ","})
    if match := _GROUPED.fullmatch(text):
        mark, decimal = match.groups()
        mark = " " if re.fullmatch(_SPACES, mark) else mark
        flags, changes = [f'--thousands "{mark}"'], {"thousands": mark}
        if (decimal or ("," if mark == "." else ".")) == ",":
            flags, changes = ["--decimal ,", *flags], {"decimal": ",", **changes}
        shown = ", ".join(f'{name}="{value}"' for name, value in changes.items())
        return Remedy(f". Pass {shown} ({' '.join(flags)}) if {mark!r} stands between thousands", changes)
    if _UNIT.fullmatch(text):
        return Remedy(". Write the number without its unit")
    if len(text) <= 20 and text.isprintable() and '"' not in text:
        offer = f'. Pass null_values="{text}" (--null-values "{text}") if it means a missing value'
        return Remedy(offer, {"null_values": (*style.null_values, text)})
    return Remedy("")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
