"""Messages of errors quote values, do not quote descriptions, and contain no control characters."""

from nsse._support.errors import Described, rule_message


def test_values_are_quoted_and_descriptions_are_not():
    assert rule_message("a", "be b", "c", "Do d.") == "`a` must be b. Got 'c'. Do d."
    assert rule_message("a", "be b", Described("2 rows"), "Do d.") == "`a` must be b. Got 2 rows. Do d."


def test_descriptions_contain_no_control_characters():
    message = rule_message("a", "be b", Described("x\x1b[31m\u202e\ny é 山"), "Do d.")
    assert message == r"`a` must be b. Got x\x1b[31m\u202e y é 山. Do d."
