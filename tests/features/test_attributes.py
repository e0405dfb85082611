"""The four kinds of attributes."""

from __future__ import annotations

import numpy as np
import pytest

from graphmetric.errors import InvalidGraph
from graphmetric.features import GraphFeaturizer
from graphmetric.features.attributes import FeatureScaler, ImageScale, LabelVocabulary, TextVocabulary, split_words
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn


def test_tags_by_frequency_and_zero_for_unseen() -> None:
    column = LabelColumn.from_values(["a", "b", "b", None])
    tags = LabelVocabulary.fit(column)
    assert tags.encode(LabelColumn.from_values(["b", None, "a", "new"])).tolist() == [1, 2, 3, 0]
    assert tags.num_codes == 4


def test_equal_numbers_are_one_tag_whatever_their_type() -> None:
    tags = LabelVocabulary.fit(LabelColumn.from_values([1, 1.0, True, 2]))
    assert tags.encode(LabelColumn.from_values([1.0, 1, 2.0])).tolist() == [1, 1, 2]


def test_tags_of_graphs_without_any_do_not_count() -> None:
    graphs = [Graph(1, node_labels=["a"]), Graph(1)]
    assert GraphFeaturizer().fit(graphs).schema.num_tags == 2


def test_vectors_are_standardised_from_the_training_set() -> None:
    scale = FeatureScaler.fit(np.array([[1.0, 5.0, 1e200], [3.0, 5.0, -1e200]]))
    assert scale.scale(np.array([[1.0, 5.0, 1e200], [2.0, 6.0, 0.0]])).tolist() == [[-1, 0, 1], [0, 1, 0]]
    assert scale.scale(np.array([[1e308, -1e308, 1e308]])).tolist() == [[100, -100, 100]]


def test_vectors_of_another_width_are_refused() -> None:
    featurizer = GraphFeaturizer().fit([Graph(1, node_features=[[1.0, 2.0]])])
    with pytest.raises(InvalidGraph, match="have 3 features; the model was trained with 2"):
        featurizer.transform([Graph(1, node_features=[[1.0, 2.0, 3.0]])])


def test_words_are_lower_cased_runs_of_letters() -> None:
    assert split_words("Read_file(PATH), größer 3.5!") == ["read_file", "path", "größer", "3", "5"]


def test_texts_by_frequency_with_an_unknown_word_and_a_length() -> None:
    column = LabelColumn.from_values(["open the File", "close the file", ""])
    texts = TextVocabulary.fit(column, max_words=3, length=2)
    tokens, row = texts.encode(LabelColumn.from_values(["The door", "", "file file file"]))
    assert tokens[row].tolist() == [[3, 1], [0, 0], [2, 2]]
    assert texts.num_codes == 5


def test_images_in_bytes_and_floats_come_out_between_0_and_1() -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(1, 2, 3, 2)
    scaled = ImageScale.fit(pixels).scale(pixels)
    assert scaled.shape == (1, 2, 2, 3)
    assert scaled[0, 1, 1, 2] == np.float32(11 / 255)
    floats = np.array([-2.0, 2.0], dtype=np.float32).reshape(1, 1, 2, 1)
    assert ImageScale.fit(floats).scale(floats * 2).ravel().tolist() == [0, 1]


def test_images_of_another_shape_or_type_are_refused() -> None:
    featurizer = GraphFeaturizer().fit([Graph(1, node_images=np.zeros((1, 4, 4, 3), dtype=np.uint8))])
    with pytest.raises(InvalidGraph, match=r"shape \(2, 2, 3\).*trained with \(4, 4, 3\)"):
        featurizer.transform([Graph(1, node_images=np.zeros((1, 2, 2, 3), dtype=np.uint8))])
    with pytest.raises(InvalidGraph, match="float32"):
        featurizer.transform([Graph(1, node_images=np.zeros((1, 4, 4, 3), dtype=np.float32))])
