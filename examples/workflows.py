"""The most similar workflow that was done before: directed graphs whose nodes are named steps.

Run it: python examples/workflows.py
"""

# ruff: noqa: T201
from __future__ import annotations

from typing import Any

import numpy as np

import graphmetric as gm

FAMILIES = {
    "order": "receive>check stock, check stock>pack, check stock>reorder, reorder>pack, pack>ship, ship>invoice",
    "refund": "receive>check invoice, check invoice>pay, check invoice>reject, pay>notify, reject>notify",
    "hiring": "advertise>screen, screen>interview, screen>reject, interview>offer, interview>reject, offer>sign",
    "report": "extract>clean, clean>join, extract>join, join>summarise, summarise>review, review>publish",
    "model": "extract>clean, clean>split, split>train, split>evaluate, train>evaluate, evaluate>review, review>deploy",
}
NEW = "receive>check stock, check stock>pack, check stock>reorder, reorder>approve, approve>pack, pack>ship"


def main(variants: int = 12, max_steps: int = 300, **options: Any) -> float:
    """Learn from made-up workflows; returns how many unseen ones have one of their own family as the nearest."""
    known, unseen = make_workflows(variants, seed=0), make_workflows(2, seed=1)
    model = gm.GraphDistance("small", max_steps=max_steps, **options).fit(known)
    index = gm.GraphIndex.build(model, known)

    new = read_workflow(NEW, "the new order")
    print(f"nearest to {new.id} of {len(known)} workflows, by the learned distance:")
    for hit in index.search(new, k=5):
        print(f"  {hit.distance:5.2f}  {hit.id}")
    nearest = index.search(new, k=1, certified=True)[0]
    print(f"proven to be nearest: {nearest.id}, by {nearest.exact:g} edits")
    for edit in nearest.edit_path or ():
        print(f"  {edit}")

    right = [family(result[0].graph) == family(result.query) for result in index.search(unseen, k=1)]
    print(f"nearest is of the same family for {np.mean(right):.0%} of {len(unseen)} unseen workflows")
    return float(np.mean(right))


def make_workflows(variants: int, seed: int) -> list[gm.Graph]:
    """Every family with some random edits: steps renamed, left out or added, and their order changed."""
    rng = np.random.default_rng(seed)
    workflows = []
    for name, arrows in FAMILIES.items():
        original = read_workflow(arrows, name)
        for k in range(variants):
            changed = gm.mutate(original, int(rng.integers(1, 6)), random_state=rng, connected=True).graph
            workflows.append(changed.replace(id=f"{name} {seed}.{k}"))
    return workflows


def read_workflow(arrows: str, name: str) -> gm.Graph:
    """A graph from ``a>b, b>c``: a node for each step, an edge to each step that comes next."""
    pairs = [tuple(arrow.strip().split(">")) for arrow in arrows.split(",")]
    steps = list(dict.fromkeys(step for pair in pairs for step in pair))
    edges = [(steps.index(before), steps.index(after)) for before, after in pairs]
    return gm.Graph(len(steps), edges, node_labels=steps, directed=True, id=name)


def family(workflow: gm.Graph) -> str:
    """The first word of the name."""
    return str(workflow.id).split()[0]


if __name__ == "__main__":
    main()
