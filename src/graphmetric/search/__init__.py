"""Nearest graphs: an index by the learned distance, and certified answers by edit distance."""

from graphmetric.search.graph_index import GraphIndex
from graphmetric.search.hits import SearchHit, SearchReport, SearchResult

__all__ = ["GraphIndex", "SearchHit", "SearchReport", "SearchResult"]
