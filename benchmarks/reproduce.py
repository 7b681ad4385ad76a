"""Every method on every dataset and k that the papers print a figure for: printed beside measured.

python -m benchmarks.reproduce [--data FOLDER] [--only METHOD ...] [--quick] [--processes 2]

Writes docs/results.md (not with --only or --quick) and benchmarks/out/reproduce.json. What was measured
before with the same code is taken from benchmarks/out: an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks._common import DATA, header, save, table
from benchmarks._explanations import explain
from benchmarks._published import BOUNDS, KEYS, Printed, beside, count_partitions, printed_losses, verdict
from benchmarks._reproduce_jobs import Job, perform_all
from benchmarks.integer_table import ORDERS, printed
from shoal.grouping.registry import methods

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"
TABLES = Path(__file__).with_name("_tables.md")  # where the data come from: a section of the page
REAL = ("tarragona", "census", "eia")
K = (3, 4, 5, 10)
SIMULATED = (*range(1, 9), *range(21, 30))
Outcomes = dict[Job, dict[str, Any]]

#: Rounds and milliseconds for each of the 200 starts: RepOrdMic paper (000), Table 3.
REPORDMIC_TABLE_3 = {
    "tarragona": {3: (12.63, 2.14), 5: (13.78, 1.67), 10: (14.94, 1.67)},
    "census": {3: (11.84, 3.08), 5: (12.52, 2.64), 10: (12.64, 2.26)},
    "eia": {3: (8.22, 31.22), 5: (9.06, 20.32), 10: (9.61, 13.48)},
}
#: Share of oversized groups in percent and their mean size, k = 3, 4, 5, 10: MST paper (001), Table 6.
TABLE_6 = {
    "tarragona": ((10.23, 6.27), (8.75, 8.57), (8.13, 11.10), (9.84, 21.50)),
    "census": ((9.42, 6.46), (6.22, 8.38), (10.19, 12.00), (6.02, 20.60)),
    "sim_1": ((13.31, 6.66), (15.12, 9.19), (15.24, 11.42), (15.40, 23.13)),
}
#: Number of [k, 2k-1]-partitions of n records: MST paper (001), Table 11.
TABLE_11 = {
    10: ("2226", "336", "126", "1"),
    15: ("10461451", "981981", "137566", "1"),
    20: ("182285304201", "13519012221", "790940436", "92378"),
    50: ("1.425e43", "4.529e41", "3.429e39", "4.245e29"),
    100: ("7.697e108", "4.425e107", "2.900e104", "2.066e87"),
    200: ("1.163e263", "8.639e263", "3.621e259", "1.094e230"),
}


class Plan:
    """Which runs to make, given the options and what is at hand."""

    def __init__(self, options: argparse.Namespace):
        self.data = str(options.data.resolve())
        self.only = {word.lower() for word in options.only or ()}
        self.present = [name for name in REAL if (options.data / f"{name}.csv").exists()]
        forest = ["forest"] if (options.data / "forest.parquet").exists() else []
        self.integer = self.present + forest  # the tables of the integer SSE
        self.figures = printed_losses(options.published) if options.published.exists() else []
        self.seeds = 1 if options.quick else options.seeds
        self.starts = 30 if options.quick else 200
        self.simulated = (1, 2, 8, 22, 25) if options.quick else SIMULATED

    def wants(self, *names: str) -> bool:
        return not self.only or bool(self.only & {name.lower() for name in names})

    def cell(self, figure: Printed) -> Job:
        ten = figure.dataset == "eia" and figure.method.startswith("TFRP")
        return ("cell", self.data, KEYS[figure.method], "eia10" if ten else figure.dataset, figure.k)

    def cells(self) -> list[Printed]:
        """The printed figures of the real datasets that are at hand (RepOrdMic has runs of its own)."""
        return [
            figure
            for figure in self.figures
            if figure.dataset in self.present
            and self.wants(figure.method, KEYS[figure.method])
            and KEYS[figure.method] in methods()
        ]

    def repordmic(self, dataset: str) -> list[Job]:
        """One run for each k-means seed; fewer on EIA, where one takes as long as seven on Tarragona."""
        seeds = max(1, self.seeds // 2) if dataset == "eia" else 2 * self.seeds
        return [("repordmic", self.data, dataset, seed, self.starts) for seed in range(seeds)]

    def sim(self, number: int) -> list[Job]:
        return [("sim", number, seed, K if number == 1 else (4,)) for seed in range(self.seeds)]

    def jobs(self) -> list[Job]:
        """The longest first, so that no core waits at the end."""
        jobs: list[Job] = []
        if self.wants("repordmic") and "repordmic" in methods():
            jobs += [job for dataset in self.present[::-1] for job in self.repordmic(dataset)]
        if self.wants("sim", "M", "M-d", "M-c", "D", "C", "UB"):
            jobs += [job for number in self.simulated for job in self.sim(number)]
        if self.wants("integer"):
            jobs += [("integer", self.data, dataset, order) for dataset in self.integer for order in ORDERS]
        if self.wants("M"):
            jobs += [("oversized", self.data, name) for name in self.present if name in TABLE_6]
        cells = [self.cell(figure) for figure in self.cells() if figure.method != "RepOrdMic"]
        return jobs + sorted(set(cells), key=lambda job: (job[3], job[2], job[4]))


def losses(plan: Plan, outcomes: Outcomes) -> list[dict[str, Any]]:
    """One row for each printed information loss of a real dataset."""
    rows = []
    for figure in plan.cells():
        if figure.method == "RepOrdMic":
            runs = [outcomes[job] for job in plan.repordmic(figure.dataset)]
            measured = min(
                run[f"{rule} {figure.k}"]["loss"] for run in runs for rule in ("nearest", "cheapest")
            )
        else:
            measured = outcomes[plan.cell(figure)]["loss"]
        rows.append(
            {
                "method": figure.method,
                "dataset": figure.dataset,
                "k": figure.k,
                "printed": f"{figure.loss:.{figure.decimals}f}",
                "measured": f"{measured:.{figure.decimals}f}",
                "difference": f"{100 * (measured / figure.loss - 1):+.2f} %",
                "verdict": verdict(figure, measured),
                "source": figure.table,
            }
        )
    return rows


def loss_section(rows: list[dict[str, Any]]) -> str:
    tally = Counter(row["verdict"] for row in rows)
    lines = [
        "## Information loss",
        "",
        "100 SSE / SST in percent. *same*: to every printed digit; *close*: within 2 %; *lower*, *higher*:",
        "beyond; *impossible*: the printed figure lies below a proven lower bound, no partition can have it.",
        "",
        f"{len(rows)} printed figures: "
        + ", ".join(f"{count} {word}" for word, count in tally.most_common())
        + ".",
        "",
        table(rows),
        "",
        "### Why some differ by more than 2 %",
        "",
    ]
    reasons: dict[str, dict[str, dict[int, None]]] = {}  # reason -> method and dataset -> k
    for row in rows:
        if row["verdict"] in ("lower", "higher", "impossible"):
            reason = explain(row["method"], row["dataset"], row["verdict"])
            where = f"{row['method']} on {row['dataset']}"
            reasons.setdefault(reason, {}).setdefault(where, {})[row["k"]] = None
    for reason, cells in reasons.items():
        named = "; ".join(f"{where}, k = {', '.join(map(str, ks))}" for where, ks in cells.items())
        lines.append(f"- {named}: {reason}")
    impossible = [row for row in rows if row["verdict"] == "impossible"]
    if impossible:
        bounds = [
            {
                "method": row["method"], "dataset": row["dataset"], "k": row["k"], "printed": row["printed"],
                "proven bound": BOUNDS[row["dataset"], row["k"]], "measured": row["measured"],
            }
            for row in impossible
        ]  # fmt: skip
        lines += ["", "### Printed below the proven bound", "", table(bounds)]
    return "\n".join(lines)


def repordmic_section(plan: Plan, outcomes: Outcomes) -> str:
    figures = {(f.dataset, f.k): f for f in plan.figures if f.method == "RepOrdMic"}
    rows = []
    monotone = True
    for dataset in plan.present:
        runs = [outcomes[job] for job in plan.repordmic(dataset)]
        for k, (rounds, milliseconds) in REPORDMIC_TABLE_3[dataset].items():
            row: dict[str, Any] = {"dataset": dataset, "k": k, "printed": figures[dataset, k].loss}
            for rule in ("nearest", "cheapest"):
                parts = [run[f"{rule} {k}"] for run in runs]
                monotone &= all(part["monotone"] for part in parts)
                row[f"{rule}: best"] = f"{min(p['loss'] for p in parts):.3f}"
                row[f"{rule}: by seed"] = " ".join(f"{p['loss']:.3f}" for p in parts)
                row[f"{rule}: rounds"] = (
                    f"{sum(p['rounds'] for p in parts) / sum(p['starts'] for p in parts):.2f}"
                )
                row[f"{rule}: ms"] = (
                    f"{1000 * sum(p['seconds'] for p in parts) / sum(p['rounds'] for p in parts):.2f}"
                )
            row["Table 3: rounds"] = rounds
            row["Table 3: ms"] = milliseconds
            rows.append(row)
    return "\n".join(
        [
            "## RepOrdMic: best of both insertion rules and of several k-means seeds",
            "",
            f"{plan.starts} starts (k-means into 1, 2, .. clusters) for each seed; rounds per start and time",
            "per round (one core) beside the paper's Table 3. Which start is the best is luck of the seed.",
            f"SSE never rose from the second round on, in any start: {'yes' if monotone else 'NO'}.",
            "",
            table(rows),
        ]
    )


def integer_section(plan: Plan, outcomes: Outcomes) -> str:
    rows = []
    same = cells = 0
    for (dataset, k, order), (imhm, imhmi) in printed().items():
        if dataset not in plan.integer:
            continue
        ours = outcomes[("integer", plan.data, dataset, order)][str(k)]
        both = (imhm, imhmi) == tuple(ours)
        if order != "TSP":
            cells += 2
            same += (ours[0] == imhm) + (ours[1] == imhmi)
        rows.append(
            {
                "dataset": dataset, "k": k, "order": order, "IMHM printed": imhm, "IMHM measured": ours[0],
                "IMHMI printed": imhmi, "IMHMI measured": ours[1],
                "difference": f"{100 * (ours[1] / imhmi - 1):+.{5 if dataset == 'forest' else 2}f} %",
                "verdict": "same" if both else beside(imhmi, ours[1]),
            }
        )  # fmt: skip
    return "\n".join(
        [
            "## Integer SSE (IMHMI paper, Table 3)",
            "",
            f"NPN, PCA and Z-score: {same} of {cells} cells are the same integer. The TSP rows depend on",
            "the tour, and ours is another one than the paper's solver found: on the forest a path of",
            "nearest points, shortened by exchanges of edges at most 25,000 steps apart and by fewer kicks",
            "than it has records. The forest's values are whole numbers: nearest point next meets many",
            "records at the same distance, takes the lowest row of them, and goes another way from there",
            "on than the paper's. Its Z-score sums differ by as little as 3e-12: which of two neighbours",
            "comes first hangs on the last digits of the standardised values, and a few that change places",
            "are seen in small groups (k = 10 is the same).",
            "",
            table(rows),
        ]
    )


def spread(values: list[float], digits: int = 3) -> str:
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def sim_section(plan: Plan, outcomes: Outcomes) -> str:
    """Tables 5 (SIM_1), 7 and 8: mean and spread over seeds; Fig. 3 and the last row of Table 8."""
    figures = {(f.method, f.dataset, f.k): f.loss for f in plan.figures}
    rows, ratios = [], []
    for number in plan.simulated:
        for k in K if number == 1 else (4,):
            runs = [outcomes[job][str(k)] for job in plan.sim(number)]
            name = f"sim_{number}"
            row: dict[str, Any] = {"dataset": name, "k": k}
            for method in ("D", "C", "M", "M-d", "M-c", "UB"):
                loss = figures.get((method, name, k))
                row[method] = f"{'-' if loss is None else loss} / {spread([run[method] for run in runs])}"
            rows.append(row)
            if k == 4:
                trees = ("M", "M-d", "M-c")
                ours = [min(r["D"], r["C"]) / min(r[t] for t in trees) for r in runs]
                theirs = min(figures[m, name, 4] for m in "DC") / min(figures[m, name, 4] for m in trees)
                ratios.append({"dataset": name, "printed": f"{theirs:.3f}", "measured": spread(ours)})
    return "\n".join(
        [
            "## Simulated data (MST paper, Tables 5, 7, 8)",
            "",
            f"Printed / mean ± standard deviation over {plan.seeds} draws. The paper names no seed, so its",
            "own tables cannot be made again: one draw of theirs stands beside ours. UB: the better of C and",
            "D inside each known cluster.",
            "",
            table(rows),
            "",
            "Best fixed-size loss / best MST loss (Fig. 3 and the last row of Table 8; the printed ratio is",
            "that of the printed, rounded losses):",
            "",
            table(ratios),
        ]
    )


def structure_section(plan: Plan, outcomes: Outcomes) -> str:
    rows = []
    for name, printed6 in TABLE_6.items():
        for k, (share, size) in zip(K, printed6):
            if name.startswith("sim"):
                runs = [outcomes[job][str(k)]["oversized"] for job in plan.sim(1) if job in outcomes]
            else:
                job = ("oversized", plan.data, name)
                runs = [outcomes[job][str(k)]] if job in outcomes else []
            if runs:
                measured = [spread([run[i] for run in runs], 2) for i in (0, 1)]
                rows.append(
                    {
                        "dataset": name, "k": k,
                        "share printed %": f"{share:.2f}", "share measured %": measured[0],
                        "mean size printed": f"{size:.2f}", "mean size measured": measured[1],
                    }
                )  # fmt: skip
    counts = []
    for n, figures in TABLE_11.items():
        ours = [count_partitions(n, k) for k in K]
        written = [
            f"{x:.3e}".replace("e+", "e") if "e" in figure else str(x) for x, figure in zip(ours, figures)
        ]
        counts.append(
            {"n": n, **dict(zip(map("k = {}".format, K), written)), "as printed": written == [*figures]}
        )
    return "\n".join(
        [
            "## Oversized groups of the spanning tree (MST paper, Table 6)",
            "",
            table(rows) if rows else "skipped",
            "",
            "## Number of [k, 2k-1]-partitions (MST paper, Table 11)",
            "",
            table(counts),
        ]
    )


def skipped_section(plan: Plan) -> str:
    absent = {f.dataset for f in plan.figures if not f.dataset.startswith("sim")} | {"vlcensus", "forest"}
    lines = [f"- {name}: its data is not at hand" for name in sorted(absent - set(plan.integer))]
    unknown = sorted(
        {f.method for f in plan.figures if KEYS.get(f.method, f.method) not in methods()} - {"UB"}
    )
    lines += [f"- {name}: no such method is registered yet" for name in unknown]
    if not plan.figures:
        lines.append("- the folder of printed figures is absent: nothing to compare with")
    return "\n".join(["## Skipped", "", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the benchmark data")
    parser.add_argument(
        "--published", type=Path, default=DATA.parent / "published", help="the printed figures"
    )
    parser.add_argument(
        "--only", nargs="*", metavar="METHOD", help="keys or printed names; also sim, integer"
    )
    parser.add_argument("--quick", action="store_true", help="fewer seeds, starts and simulated datasets")
    parser.add_argument(
        "--seeds", type=int, default=4, help="draws of each SIM dataset; k-means seeds in step"
    )
    parser.add_argument("--processes", type=int, default=2, help="1: one run after the other")
    options = parser.parse_args()
    plan = Plan(options)
    begin = time.perf_counter()
    outcomes = perform_all(plan.jobs(), options.processes)
    kinds = {job[0] for job in outcomes}
    rows = losses(plan, outcomes)
    sections = [loss_section(rows)] if rows else []
    if "repordmic" in kinds:
        sections.append(repordmic_section(plan, outcomes))
    if "integer" in kinds:
        sections.append(integer_section(plan, outcomes))
    if "sim" in kinds:
        sections.append(sim_section(plan, outcomes))
    if plan.wants("M"):
        sections.append(structure_section(plan, outcomes))
    sections.append(skipped_section(plan))
    title = "# What the papers print, and what shoal measures"
    origin = f"Made by `python -m benchmarks.reproduce` on {header()}."
    page = "\n\n".join([title, origin, TABLES.read_text().rstrip(), *sections]) + "\n"
    print("\n" + page)
    print(f"{time.perf_counter() - begin:.0f} s; written to", save("reproduce", {"losses": rows, "runs": [
        {"run": job, "outcome": outcome} for job, outcome in outcomes.items()]}))  # fmt: skip
    if not options.only and not options.quick:
        RESULTS.write_text(page)
        print("and to", RESULTS)


if __name__ == "__main__":
    main()
