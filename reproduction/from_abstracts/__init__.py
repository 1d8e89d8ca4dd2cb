"""Four cited methods that were implemented from abstracts, because the papers were not available.

Read their errors as errors of these implementations, not of the published methods.

- `NPDE` follows the abstract of a conference paper by the same authors.
- `ESLLE` uses the dissimilarity of Geng et al. (2005), whose words its abstract repeats.
- `SubclassMFA` (SMFA) keeps neighbors of a subclass together and its nearest pairs with other classes
  apart.
- `SOLDE` uses the graphs and the objective that a later paper on trace ratios states for it.
"""

from __future__ import annotations

from typing import Any

from reproduction.from_abstracts.eslle import ESLLE
from reproduction.from_abstracts.npde import NPDE
from reproduction.from_abstracts.solde import SOLDE
from reproduction.from_abstracts.subclass_mfa import SubclassMFA

__all__ = ["ESLLE", "NPDE", "SOLDE", "SubclassMFA", "from_abstracts"]


def from_abstracts() -> dict[str, Any]:
    """Return the estimators, new and unfitted, by their names in the tables."""
    return {"NPDE": NPDE(), "ESLLE": ESLLE(), "SMFA": SubclassMFA(), "SOLDE": SOLDE()}
