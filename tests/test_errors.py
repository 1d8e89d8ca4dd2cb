"""Messages of errors quote values, do not quote descriptions, and contain no control characters."""

import numpy as np
import pytest

from nsse import SmoothEmbedding
from nsse.datasets import load_inputs


def test_values_are_quoted_and_descriptions_are_not():
    with pytest.raises(ValueError, match=r"`decision` must be one of .*\. Got 'neares'\."):
        SmoothEmbedding(decision="neares").fit(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"`y` must have one label .*\. Got 3 labels\."):
        SmoothEmbedding().fit(np.eye(4), [0, 0, 1])


def test_descriptions_contain_no_control_characters(tmp_path):
    path = tmp_path / "é \x1b[31m\u202e.csv"
    path.write_text("")
    with pytest.raises(ValueError, match=r"é \\x1b\[31m\\u202e\.csv, empty\. ") as caught:
        load_inputs(path, "kind")
    assert str(caught.value).isprintable()
