"""Tests of the Trends page."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest
from tests.core.analysis.test_monitoring import steady
from tests.core.traffic import Day, add_traffic
from tests.dashboard.views.conftest import Draw

from ragboard import Store
from ragboard.analysis import set_threshold, traffic_trend
from ragboard_dashboard.views.trend.chart import chart_data

CHAT = "chat (production)"
HOSTILE = "<b>b</b> & more"


def html(page: AppTest) -> str:
    return "\n".join(one.proto.body for one in page.get("html"))


def test_without_traffic_it_says_how_to_get_it(draw: Draw, fresh: Store) -> None:
    del fresh
    page = draw("trend")
    assert not page.exception
    assert page.header[0].value == "No traffic yet"
    assert all(command in page.markdown[0].value for command in ("ragboard collect", "ragboard.log(", "ragboard watch"))


def test_the_worst_series_comes_first(draw: Draw, fresh: Store) -> None:
    add_traffic(fresh, [*steady(0, 30), *steady(30, 40, 0.5)])
    add_traffic(fresh, steady(0, 10), name="context", metric="ragas.context_relevance")
    page = draw("trend")
    assert not page.exception
    shown = html(page)
    assert "Faithfulness of chat (production) fell by 0." in shown
    assert shown.index("▼ got worse") < shown.index("✓ ok")
    assert "dataset=chat+%28production%29&amp;metric=ragas.context_relevance&amp;judge=plain" in shown
    assert page.subheader[0].value == "Faithfulness over time"
    other = draw("trend", dataset=CHAT, metric="ragas.context_relevance")
    assert other.subheader[0].value == "Context relevance over time"


def test_groups_and_new_statements_are_text(draw: Draw, fresh: Store) -> None:
    texts = [["It is old."], [HOSTILE]]
    add_traffic(
        fresh,
        [
            Day([1.0] * 10, day, metadata=[{"topic": HOSTILE}, {"topic": "b"}] * 5, statements=[texts[day > 8]] * 10)
            for day in (0, 3, 8, 10)
        ],
    )
    page = draw("trend", by="topic")
    assert not page.exception
    shown = html(page)
    assert HOSTILE not in shown
    assert shown.count("&lt;b&gt;b&lt;/b&gt; &amp; more") >= 2
    assert "sample?run=chat+1.0+%28production%29&amp;sample=d10-9&amp;statement=1" in shown
    assert "1 of 2 unsupported statements since 2026-09-10 are new" in shown


def test_an_unknown_dataset_is_reported(draw: Draw, fresh: Store) -> None:
    add_traffic(fresh, steady(0, 3))
    page = draw("trend", dataset="nothing", days="never", by="x", metric="y")
    assert not page.exception
    assert page.warning[0].value == "No traffic of this dataset is evaluated."


def test_the_chart_marks_configurations_changes_and_the_threshold(fresh: Store) -> None:
    add_traffic(fresh, steady(0, 30))
    add_traffic(fresh, steady(30, 40, 0.5), name="chat 1.1 (production)", version="1.1")
    set_threshold(fresh, "ragas.faithfulness", 0.7)
    data = chart_data(traffic_trend(fresh, CHAT), 90)
    labels = {label["class"]: label for label in data["labels"]}
    assert labels["threshold"]["text"] == "at least 0.7"
    assert labels["config"]["text"] == "◆ chat 1.1 (production)"
    assert labels["config"]["left"] == "75.00%"
    assert labels["change worse"]["text"].startswith("▼ -0.")
    assert sum(shape["class"] == "hover" for shape in data["shapes"]) == 40
    assert data["name"] == "Faithfulness by day, 2026-09-07 to 2026-10-17"
    newest = chart_data(traffic_trend(fresh, CHAT), 7)
    assert sum(shape["class"] == "hover" for shape in newest["shapes"]) == 7


def test_a_long_time_is_drawn_by_week(fresh: Store) -> None:
    add_traffic(fresh, [Day([0.0, 1.0, 1.0], day) for day in range(0, 200, 2)])
    data = chart_data(traffic_trend(fresh, CHAT), 0)
    assert data["name"].startswith("Faithfulness by week")
    assert len(data["dates"]) == 5


def test_without_a_score_there_is_no_chart(fresh: Store) -> None:
    add_traffic(fresh, [Day([None, None], 0)])
    assert chart_data(traffic_trend(fresh, CHAT), 90) == {}
