"""Questions about a cluster that people ask first, in SQL that DuckDB and Athena both take.

Each counts a node once, by its newest index. A node without an index is in none of the answers.
"""

from dataclasses import dataclass
from typing import Final

from affidavit.fleet.sql_with_values import FleetScope, Inquiry

# `newest` and `newest_findings` are the tables with only the newest index of each node.
_NEWEST: Final = """WITH ranked AS (
    SELECT n.*, row_number() OVER (PARTITION BY instance_id ORDER BY indexed_at DESC, index_id DESC) AS place
    FROM nodes n{of_nodes}
), newest AS (SELECT * FROM ranked WHERE place = 1),
newest_findings AS (
    SELECT f.* FROM findings f JOIN newest n ON f.index_id = n.index_id AND f.instance_id = n.instance_id{of_findings}
)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    name: str
    about: str
    body: str

    def asked(self, scope: FleetScope | None = None) -> Inquiry:
        scope = scope or FleetScope()
        newest = _NEWEST.format(of_nodes=scope.where("n"), of_findings=scope.where("f"))
        return Inquiry(sql=f"{newest}{self.body}", values=scope.values * 2, scope=scope)


QUESTIONS: Final = (
    Question(
        name="worst-nodes",
        about="Nodes by the severity of their findings, worst first.",
        body="""SELECT cluster, instance_id, critical, high, medium, coverage_pct, gaps, indexed_at
FROM newest ORDER BY critical DESC, high DESC, medium DESC, instance_id LIMIT 50""",
    ),
    Question(
        name="common-faults",
        about="Faults by the number of nodes that show them: one node is a node's problem, many are the cluster's.",
        body="""SELECT cluster, pattern, severity, count(DISTINCT instance_id) AS affected_nodes,
    sum(occurrences) AS occurrences, min(first_seen) AS first_seen, max(last_seen) AS last_seen,
    min(concat(instance_id, '#', finding_id)) AS example_finding
FROM newest_findings WHERE severity IN ('critical', 'high')
GROUP BY cluster, pattern, severity ORDER BY affected_nodes DESC, occurrences DESC, pattern LIMIT 50""",
    ),
    Question(
        name="spreading",
        about="Severe faults by the day they began on a node: does it spread?",
        body="""SELECT cluster, pattern, CAST(date_trunc('day', first_seen) AS DATE) AS began,
    count(DISTINCT instance_id) AS nodes_that_day, min(concat(instance_id, '#', finding_id)) AS example_finding
FROM newest_findings WHERE severity IN ('critical', 'high') AND first_seen IS NOT NULL
GROUP BY cluster, pattern, CAST(date_trunc('day', first_seen) AS DATE) ORDER BY pattern, began, cluster LIMIT 200""",
    ),
    Question(
        name="unread",
        about="Nodes whose bundle could not be read completely: finding nothing there means little.",
        # By gaps, not by coverage_pct: configuration and binaries are not scanned on purpose. Each lost file is a gap.
        body="""SELECT cluster, instance_id, coverage_pct, files_scanned, total_files, gaps, indexed_at
FROM newest WHERE gaps > 0 ORDER BY gaps DESC, coverage_pct, instance_id LIMIT 200""",
    ),
    Question(
        name="clusters",
        about="How many nodes of each cluster have an index, and how severe it is.",
        body="""SELECT cluster, count(*) AS indexed_nodes,
    sum(CASE WHEN critical > 0 THEN 1 ELSE 0 END) AS critical_nodes,
    min(indexed_at) AS oldest_index, max(indexed_at) AS newest_index
FROM newest GROUP BY cluster ORDER BY critical_nodes DESC, cluster""",
    ),
)


def question(name: str) -> Question | None:
    return next((each for each in QUESTIONS if each.name == name), None)
