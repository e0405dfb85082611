"""Graphs, alignments and rows of graphs as pictures: positions, colors, and SVG that needs no other library."""

from graphmetric.drawing.layout import lay_out
from graphmetric.drawing.svg import Canvas, NodeStyle, draw_graph, label_color, label_colors

__all__ = ["Canvas", "NodeStyle", "draw_graph", "label_color", "label_colors", "lay_out"]
