"""Decision trees with splits by category."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.tree_values import answer_leaves
from ocboost.errors import InputError
from ocboost.foreign.trees.nodes import TreeNodes
from ocboost.hypotheses.base import Hypotheses


class CategoryTrees(Hypotheses):
    """Trees of other libraries that `Trees` cannot hold, with one answer each.

    Some of their splits are by category, or count zero or another number as missing. A column of texts holds
    their places in the vocabulary of the column; a place or a number that is no category of the column is
    missing. `from_sklearn` makes them.

    Parameters
    ----------
    nodes : TreeNodes
        The splits.
    answer : array of ±1
        The answer of each leaf, in the order of the nodes.

    Examples
    --------
    >>> from ocboost.foreign.trees.nodes import TreeNodes
    >>> nodes = TreeNodes([0], [0, -1, -1], [0, 0, 0], [1, -1, -1], [2, -1, -1], n_columns=1,
    ...     category=[0, -1, -1], sets=[np.array([0b101], np.uint32)])  # categories 0 and 2 go left
    >>> CategoryTrees(nodes, [1, -1]).answers([[0.0], [1.0], [2.0], [np.nan]]).ravel()
    array([ 1, -1,  1, -1], dtype=int8)
    """

    kind = "CategoryTrees"
    accepts_missing = True

    def __init__(self, nodes: TreeNodes, answer: ArrayLike) -> None:
        self.nodes = nodes
        given = np.array(answer)
        if given.shape != (nodes.n_leaves,) or not np.isin(given, (-1, 1)).all():
            raise InputError(
                f"answer must be -1 or +1 for each of the {nodes.n_leaves} leaves; got {answer!r:.80}."
            )
        self.answer: NDArray[np.int8] = given.astype(np.int8)
        self.n_hypotheses, self.n_features = int(nodes.root.size), nodes.n_columns

    def __repr__(self) -> str:
        nodes = self.nodes
        return (
            f"<{nodes.root.size} trees of {nodes.feature.size} nodes with splits by category, over "
            f"{len(nodes.reads)} of {nodes.n_columns} features>"
        )

    def _fill(self, X: Any, block: NDArray[np.int8]) -> None:
        nodes = self.nodes
        answer_leaves(nodes.prepared(X), nodes.node, nodes.words, nodes.root, self.answer, block)

    def __getitem__(self, members: Any) -> Self:
        at = self._indices(members)
        if at.size == 0:
            raise InputError("members must name at least one hypothesis; got none.")
        nodes, leaves = self.nodes.taken(at)
        return type(self)(nodes, self.answer[leaves])

    def tree(self) -> Tree:
        """What a file holds.

        Returns
        -------
        dict
            Plain values and arrays, by name.
        """
        return {"nodes": self.nodes.tree(), "answer": self.answer}

    @classmethod
    def from_tree(cls, fields: Fields) -> Self:
        """Build hypotheses from what `tree` returned; invalid contents raise `ModelFileError`.

        Parameters
        ----------
        fields : mapping
            What `tree` gave.

        Returns
        -------
        Hypotheses
            They answer the same.
        """
        nodes = fields.read("nodes", TreeNodes.from_tree)
        return fields.make(cls, nodes, fields.array("answer", np.int8, (None,)))
