"""Graphs as pictures: positions, and SVG that needs no other library."""

from graphmetric.graphs.drawing.layout import layout
from graphmetric.graphs.drawing.svg import Canvas, NodeStyle, draw_graph, label_color

__all__ = ["Canvas", "NodeStyle", "draw_graph", "label_color", "layout"]
