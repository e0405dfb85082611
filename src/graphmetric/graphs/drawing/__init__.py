"""Graphs as pictures: positions, colours, and SVG that needs no other library."""

from graphmetric.graphs.drawing.colors import label_color, label_colors
from graphmetric.graphs.drawing.layout import layout
from graphmetric.graphs.drawing.svg import Canvas, NodeStyle, draw_graph

__all__ = ["Canvas", "NodeStyle", "draw_graph", "label_color", "label_colors", "layout"]
