"""Plan: everything needed to make the same release again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from typing import Any, Unpack

from shoal.display import card
from shoal.plan.fields import Column, PlanFields
from shoal.plan.keywords import explicit, take_loose
from shoal.plan.options import ABOUT_COLUMNS, FOR_ALL
from shoal.plan.rules import KINDS, Rule, read_rule
from shoal.plan.values import check_words, plain_value, spread_roles, value_of


@dataclass(frozen=True, init=False, repr=False)
class Plan:
    """What is asked for: everything needed to make the same release again.

    A plan never changes; `dataclasses.replace` gives another one. Plans that ask for the same are equal.
    Its lists are tuples, and its `roles` have those that other fields give.

    Parameters
    ----------
    k : int
        How many records must share each published combination of values, at least.
    columns : column or list of columns, optional
        The columns to protect. None means every numeric column that has no other role.
    method : str
        How to group: a key of `shoal.methods()`.
    parameters : mapping of str to value, optional
        The method's own parameters.
    seed : int
        The same seed gives the same release.
    time_limit : float, optional
        Seconds after which the method returns the best it has found.
    per_column : bool
        Group each column on its own; k then holds for each column, not for the record.
    blocks : list of lists of columns, optional
        Group each of these blocks of columns on its own.
    roles : mapping of column to str, optional
        What columns are: identifier (dropped), quasi (protected), stratum, weight, unit, confidential or
        other.
    types : mapping of column to str, optional
        What columns hold, where the stored type misleads: continuous, integer, date, ordinal, nominal or
        boolean.
    levels : mapping of column to list, optional
        The levels of ordinal columns, lowest first.
    scaling : str or mapping of column to str
        How columns are scaled for grouping: standard, robust, range, rank or none.
    log : column or list of columns
        Columns to group by their logarithm.
    column_weights : mapping of column to float, optional
        The share of columns in distances.
    centroids : str or mapping of column to str, optional
        What a group publishes: mean, median, trimmed or mode.
    preserve : str, optional
        "totals": whole numbers add up to what they did.
    missing : str
        What to do with gaps: group (a gap is a value of its own), impute, error or drop.
    strata : column or list of columns
        No group crosses the border of a stratum.
    merge_small_strata : bool
        Merge strata of fewer than k records with the most similar, instead of refusing them.
    weight : column, optional
        Survey weights, which enter centroids and loss.
    unit : column or list of columns
        Whom k protects, where one has several records: a household, a firm, a person over years. k then
        counts distinct units. These columns are dropped.
    by_record : column or list of columns
        Protected columns to group over records, not over units, though each unit has one value of them.
    keep : column or list of columns
        Columns to publish as they are, though they look like identifiers or give others away: role "other".
    known : column or list of columns, optional
        Kept columns that an intruder may know, for measures of risk. None means those with few values.
    missing_codes : list, or mapping of column to list
        Values that stand for a gap, such as -9 or 999999.
    zeros : str
        "value", or "group": zeros are grouped apart, as gaps are.
    contributors : int
        How many units a published cell must be made of, at least; never more than k.
    thin : str
        What becomes of a cell with fewer: "widen" its group, or publish a "gap".
    contributor_share : float
        The largest share of the weight in a published mean that one unit may hold.
    diversity : mapping of column to number or str
        How many different values of a confidential column each group has, at least; or "entropy:2",
        "recursive:3,2" (c, l), "share:0.6" (the largest share of one value).
    closeness : mapping of column to number or str
        How far a confidential column may be distributed in each group from the whole table: t, "beta:1.5",
        "enhanced_beta:1.5" or "delta:1".
    dominance : mapping of column to str
        Of a column of numbers, "1:80": the largest one makes up at most 80 % of a group's sum; or "p:10",
        "pq:10,50".
    spread : mapping of column to number or str
        How many standard deviations the values of each group span, at least; or "rel:0.1" of their mean.
    order : str
        Of rows in written files: "shuffle", or "keep".
    top, bottom : mapping of column to value, optional
        Values above (below) are published as their mean if they belong to k units or more, none of which
        dominates, else as this value: a number, a date, or a share of the values such as "q0.99".
    regroup : mapping of column to mapping, optional
        Levels that are joined before grouping: new level to list of levels; "rare" to the count below which
        levels become "other".
    round : mapping of column to int or str, optional
        How what is published is rounded: decimals (2), significant digits ("sig:3") or a base ("base:5").
    decimals : bool
        Round protected columns to as many decimals as the original shows.
    pseudonyms : path, optional
        Publish units as new numbers, made under the key in this private file; it is made if there is none.
    version, sha256 : str, optional
        The version of shoal that wrote the plan; the fingerprint of the data that it was written for.

    Raises
    ------
    InputError
        If a value or a keyword is not one that a plan may have.

    Examples
    --------
    >>> import shoal
    >>> plan = shoal.Plan(5, columns=["turnover", "wages"], strata="region")
    >>> plan
    Plan(5, columns=('turnover', 'wages'), strata=('region',))
    >>> plan.roles
    {'region': 'stratum', 'turnover': 'quasi', 'wages': 'quasi'}
    >>> shoal.Plan(5, seeds=7)
    Traceback (most recent call last):
    ...
    shoal.errors.InputError: unknown keyword 'seeds': did you mean 'seed' or 'closeness' or 'spread'?
    """

    k: int
    columns: tuple[Column, ...] | None = None
    method: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit: float | None = None
    per_column: bool = False
    blocks: tuple[tuple[Column, ...], ...] | None = None
    roles: Mapping[Column, str] = field(default_factory=dict)
    types: Mapping[Column, str] = field(default_factory=dict)
    levels: Mapping[Column, Sequence[Any]] = field(default_factory=dict)
    scaling: str | Mapping[Column, str] = "standard"
    log: tuple[Column, ...] = ()
    column_weights: Mapping[Column, float] = field(default_factory=dict)
    centroids: str | Mapping[Column, str] = field(default_factory=dict)
    preserve: str | None = None
    missing: str = "group"
    strata: tuple[Column, ...] = ()
    merge_small_strata: bool = False
    weight: Column = None
    unit: tuple[Column, ...] = ()
    by_record: tuple[Column, ...] = ()
    keep: tuple[Column, ...] = ()
    known: tuple[Column, ...] | None = None
    missing_codes: tuple[Any, ...] | Mapping[Column, tuple[Any, ...]] = ()
    zeros: str = "value"
    contributors: int = 2
    thin: str = "widen"
    contributor_share: float = 0.9
    diversity: Mapping[Column, float | str] = field(default_factory=dict)
    closeness: Mapping[Column, float | str] = field(default_factory=dict)
    dominance: Mapping[Column, str] = field(default_factory=dict)
    spread: Mapping[Column, float | str] = field(default_factory=dict)
    order: str = "shuffle"
    top: Mapping[Column, Any] = field(default_factory=dict)
    bottom: Mapping[Column, Any] = field(default_factory=dict)
    regroup: Mapping[Column, Mapping[Any, Any]] = field(default_factory=dict)
    round: Mapping[Column, int | str] = field(default_factory=dict)
    decimals: bool = False
    pseudonyms: str | None = None
    version: str | None = None
    sha256: str | None = None

    def __init__(self, k: int, **given: Unpack[PlanFields]) -> None:
        put = partial(object.__setattr__, self)  # the plan is frozen
        asked = {"k": k, **given}
        for f in fields(self):
            put(f.name, value_of(f.name, asked.get(f.name, None if f.default is MISSING else f.default)))
        check_words(self)
        for name, value in spread_roles(self).items():
            put(name, value)

    @property
    def rules(self) -> list[Rule]:
        """What each group must hold of single columns."""
        return [read_rule(name, column, x) for name in KINDS for column, x in getattr(self, name).items()]

    @property
    def apart(self) -> bool:
        """Whether columns are grouped in several parts, so that k holds for each part only."""
        return self.per_column or (self.blocks is not None and len(self.blocks) > 1)

    def __repr__(self) -> str:
        """As Python would ask for it again: what is at its default is left out."""
        return f"Plan({', '.join([str(self.k), *(f'{n}={v!r}' for n, v in self._given().items())])})"

    def differs(self, **instead: Any) -> dict[str, Any]:
        """The fields that are not at their default; some with another value instead."""
        plain = type(self)(self.k)
        found = {f.name: getattr(self, f.name) for f in fields(self)} | instead
        return {name: value for name, value in found.items() if value != getattr(plain, name)}

    def _given(self) -> dict[str, Any]:
        implied = {*(self.columns or ()), *self.strata, *self.unit, *self.keep, self.weight}
        implied |= {*self.diversity, *self.closeness}
        roles = {name: role for name, role in self.roles.items() if name not in implied}
        return self.differs(roles=roles, columns=self.columns if self.blocks is None else None)

    def _repr_html_(self) -> str:
        return card("Plan", [("k", self.k), *self._given().items()])

    def parts(self, names: Sequence[Column]) -> list[list[Column]]:
        """The columns that are grouped together."""
        if self.blocks is not None:
            return [list(block) for block in self.blocks]
        return [[name] for name in names] if self.per_column else [list(names)]

    @property
    def stepped(self) -> tuple[Column, ...]:
        """The columns that recoding or rounding changes, whatever their role."""
        numbered = self.unit[:1] if self.pseudonyms is not None else ()
        return tuple(dict.fromkeys([*self.top, *self.bottom, *self.regroup, *self.round, *numbered]))

    @property
    def unnumbered(self) -> tuple[Column, ...]:
        """The columns of units that are not published: all, or all but the one that gets new numbers."""
        return self.unit if self.pseudonyms is None else self.unit[1:]

    def named(self, role: str) -> list[Column]:
        """The columns that have this role."""
        return [name for name, given in self.roles.items() if given == role]

    def scaling_of(self, name: Column) -> str:
        return self.scaling if isinstance(self.scaling, str) else self.scaling.get(name, "standard")

    def centroid_of(self, name: Column) -> str | None:
        return self.centroids if isinstance(self.centroids, str) else self.centroids.get(name)

    def codes_of(self, name: Column) -> tuple[Any, ...]:
        """The values of a column that stand for a gap."""
        codes = self.missing_codes
        return codes.get(name, ()) if isinstance(codes, Mapping) else codes

    def called(self, names: Sequence[Column]) -> Plan:
        """The plan with columns called as the table calls them: a file of a plan knows only texts."""
        known = {str(name): name for name in names if not isinstance(name, str)}
        if not known:
            return self

        def spell(given: Any) -> Any:
            if isinstance(given, Mapping):
                return {known.get(name, name): value for name, value in given.items()}
            if isinstance(given, tuple):
                return tuple(spell(name) for name in given)
            return known.get(given, given)

        asked = {n: getattr(self, n) for n in ABOUT_COLUMNS}
        asked = {n: x for n, x in asked.items() if n not in FOR_ALL or isinstance(x, Mapping)}
        return replace(self, **{n: spell(x) for n, x in asked.items()})

    def canonical(self, columns: Sequence[Column] | None = None) -> str:
        """The plan as one text: the same for plans that ask for the same, whoever wrote them.

        `columns` are those that are protected, where the plan leaves them open. What is at its default is
        left out, so that a field that is added later changes no text.
        """
        roles = {n: role for n, role in self.roles.items() if role in ("identifier", "confidential")}
        key = None if self.pseudonyms is None else True  # a key file may be moved
        asked = self.differs(roles=roles, pseudonyms=key, version=None, sha256=None)
        for name in {"log", "keep", "known", "by_record"} & asked.keys():
            asked[name] = sorted(map(str, asked[name]))
        asked |= {"k": self.k, "columns": columns or self.columns}
        return json.dumps(plain_value(asked), sort_keys=True)

    @classmethod
    def of(cls, k: int, **options: Any) -> Plan:
        """A plan from keywords, as `Plan(k, ...)` makes it.

        Parameters
        ----------
        k : int
            As for `Plan`.
        **options
            The fields of `Plan`. Parameters of the method, as keywords of their own, are deprecated.

        Returns
        -------
        Plan

        Raises
        ------
        InputError
            If a value or a keyword is not one that a plan may have.

        Examples
        --------
        >>> import shoal
        >>> shoal.Plan.of(5, method="vmdav", parameters={"gamma": 0.5})
        Plan(5, method='vmdav', parameters={'gamma': 0.5})
        """
        known = [f.name for f in fields(cls)]
        if any(name not in known for name in options):
            options = take_loose(options, known)
        return cls(k, **options)

    @classmethod
    def read(cls, path: str | os.PathLike[str], k: int | None = None) -> Plan:
        """The plan in a TOML file.

        Parameters
        ----------
        path : str or path
            The file, as `shoal plan` or `Plan.toml` wrote it.
        k : int, optional
            Needed only where the file has none.

        Returns
        -------
        Plan
            With the version of shoal that wrote it. Where that is not this one, the outcome notes it.

        Raises
        ------
        InputError
            If there is no such file, it is not a plan, or it has another k.

        Examples
        --------
        >>> import shoal
        >>> with open("plan.toml", "w") as file:
        ...     _ = file.write(shoal.Plan(5, columns=["wages"]).toml())
        >>> shoal.Plan.read("plan.toml").columns
        ('wages',)
        """
        from shoal.plan.toml import read_plan

        return read_plan(path, k)

    @classmethod
    def parse(cls, text: str) -> Plan:
        """The plan in the text of a TOML file.

        Parameters
        ----------
        text : str
            What `Plan.toml` gave.

        Returns
        -------
        Plan

        Raises
        ------
        InputError
            If the text is not a plan.

        Examples
        --------
        >>> import shoal
        >>> shoal.Plan.parse("[release]\\nk = 5")
        Plan(5)
        """
        from shoal.plan.toml import parse_plan

        return parse_plan(text)

    def toml(self, reasons: Mapping[Column, str] | None = None) -> str:
        """The plan as a TOML file that reads back as itself.

        Parameters
        ----------
        reasons : mapping of column to str, optional
            Comments on columns.

        Returns
        -------
        str

        Examples
        --------
        >>> import shoal
        >>> plan = shoal.Plan(5, columns=["wages"], version=shoal.__version__)
        >>> shoal.Plan.parse(plan.toml({"wages": "as the office asked"})) == plan
        True
        """
        from shoal.plan.toml import as_toml

        return as_toml(self, reasons or {})


Plan.__init__ = explicit(Plan, positional=20)(Plan.__init__)  # type: ignore[method-assign]  # as 0.1 allowed
