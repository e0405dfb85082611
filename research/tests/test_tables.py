"""Tables of runs: means, spreads, published numbers beside, and nothing mixed that should not be."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from graphmetric.errors import InvalidArgument
from graphmetric_research.run_record import PUBLISHED, find_published, make_tables, write_tables
from research.tests.run_records import make_record, make_seeded


def test_mean_and_spread_over_seeds() -> None:
    runs = [make_seeded(k, scores={"rho": rho, "mse": 0.001}) for k, rho in enumerate([0.8, 0.9, 1.0])]
    (table,) = make_tables(runs, with_published=False)
    assert table.to_markdown() == (
        "## Protocol A\n"
        "\n"
        "| method | AIDS700nef rho | AIDS700nef MSE e-3 | runs | source |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| small | 0.900 ± 0.100 | 1.000 ± 0.000 | 3 |  |\n"
    )


def test_protocols_are_never_mixed() -> None:
    tables = make_tables([make_seeded(0), make_seeded(0, protocol="leak-free"), make_seeded(1)])
    assert [table.protocol for table in tables] == ["A", "leak-free"]
    assert [row.runs for table in tables for row in table.rows if row.source is None] == ["2", "1"]
    assert [row.method for row in tables[1].rows] == ["small"], "nothing is published without leaks"


def test_published_numbers_stand_beside() -> None:
    (table,) = make_tables([make_seeded(0)])
    lines = table.to_markdown().splitlines()
    assert any(line.startswith("| GREED | 0.907 | 1.334 |  | Ranjan et al., GREED, NeurIPS 2022") for line in lines)
    assert lines[-1].startswith("| small | 0.900 | 1.000 | 1 |")
    assert "LINUX" not in table.to_markdown()


def test_several_data_sets_and_methods() -> None:
    runs = [
        make_seeded(0),
        make_seeded(0, dataset="LINUX", scores={"rho": 0.5}),
        make_seeded(1, dataset="LINUX", scores={"rho": 0.7}),
        make_seeded(0, method="a | b", dataset="LINUX", scores={"tau": 0.25}),
    ]
    (table,) = make_tables(runs, with_published=False)
    assert [tuple(column) for column in table.columns] == [
        ("AIDS700nef", "rho"),
        ("AIDS700nef", "mse"),
        ("LINUX", "rho"),
        ("LINUX", "tau"),
    ]
    assert "| small | 0.900 | 1.000 | 0.600 ± 0.141 |  | 1-2 |" in table.to_markdown()
    assert "| a \\| b |  |  |  | 0.250 | 1 |" in table.to_markdown()


def test_csv_is_exact() -> None:
    (table,) = make_tables([make_seeded(0, scores={"mse": 1 / 3000}), make_seeded(1, scores={"mse": 1 / 7000})])
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    ours = rows[-1]
    assert (ours["protocol"], ours["method"], ours["source"]) == ("A", "small", "")
    assert float(ours["AIDS700nef mse mean"]) == pytest.approx((1 / 3000 + 1 / 7000) / 2, rel=1e-15)
    assert ours["AIDS700nef mse runs"] == "2"
    greed = next(row for row in rows if row["method"] == "GREED")
    assert (float(greed["AIDS700nef mse mean"]), greed["AIDS700nef mse spread"]) == (1.334e-3, "")


def test_runs_that_are_not_comparable_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="different method names"):
        make_tables([make_seeded(0), make_record(seeds={"random_state": 1}, configuration={"preset": "base"})])
    with pytest.raises(InvalidArgument, match="same seeds"):
        make_tables([make_seeded(0), make_seeded(0, scores={"rho": 0.1})])
    with pytest.raises(InvalidArgument, match="unknown score"):
        make_tables([make_seeded(0)], metrics=["accuracy"])


def test_files_of_a_report(tmp_path: Path) -> None:
    tables = make_tables([make_seeded(0), make_seeded(0, protocol="leak-free")])
    write_tables(tmp_path / "report", tables)
    found = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "report").iterdir()}
    assert sorted(found) == ["report-A.csv", "report-leak-free.csv", "report.md"]
    assert found["report.md"].count("## Protocol") == 2
    assert found["report-A.csv"] == tables[0].to_csv()


def test_the_papers_table_is_as_printed(shared_data: Path) -> None:
    source = shared_data.parent / "paper" / "gb-distance.tex"
    if not source.exists():
        pytest.skip("no test data: the source of the paper is not here")
    table = source.read_text(encoding="utf-8").split(r"\label{tab:main_result}")[1].split(r"\end{tabular}")[0]
    printed = []
    for line in table.splitlines():
        values = re.findall(r"&\s*(?:\\textbf\{)?(\d\.\d{3}|-|NA)", line)
        if len(values) == 9:
            printed.append([None if value in ("-", "NA") else float(value) for value in values])
    ours = {}
    for result in find_published("paper", ["AIDS700nef", "LINUX", "IMDBMulti"]):
        ours.setdefault(result.method, {})[result.dataset] = result.scores
    columns = [(dataset, name) for dataset in ("AIDS700nef", "LINUX", "IMDBMulti") for name in ("rho", "tau", "p@10")]
    assert [[row.get(d, {}).get(name) for d, name in columns] for row in ours.values()] == printed


def test_published_numbers_are_plain() -> None:
    keys = [(result.method, result.dataset, result.protocol) for result in PUBLISHED]
    assert len(set(keys)) == len(keys)
    for result in PUBLISHED:
        assert result.protocol in ("paper", "A")
        assert all(0 <= value <= 1 for name, value in result.scores.items() if name != "mae")
        assert result.scores.get("mse", 0) < 0.01, "squared errors are not in thousandths"
        assert "not published" in result.source or re.search(r"\b20\d\d\b", result.source), "a citation has a year"
