"""List the methods that the paper compares and cites, ready to fit.

>>> from nsse.methods import catalogue
>>> methods = catalogue()
>>> list(methods)
['NSSE', 'SUPLAP', 'SVM', 'NN', 'LFDA', 'LDA', 'LDE', 'NYS', 'SPE', 'IsoKRR', 'MReg', 'KDA', 'LPP', \
'SLPP', 'NPE', 'NPPE', 'MFA', 'SemiRBF']

The catalogue is a plain dictionary of entries, which you can change, extend or shorten.

>>> {name: entry.estimator for name, entry in methods.items() if entry.functions == "kernel"}["KDA"]
KDA()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC


@dataclass(frozen=True)
class Entry:
    """A method of the catalogue.

    Attributes
    ----------
    name : str
        The name in the paper, or in the paper that proposed the method.
    in_tables : bool
        Whether the paper's tables have a column of the method. Other methods are cited.
    estimator : estimator
        The unfitted estimator with default parameters. Features are not scaled.
    functions : {"linear", "kernel", "polynomial", "free", "none"}
        The space of its coordinates. "free" means that the training samples are embedded first, and the
        embedding is extended. "none" means that it has no embedding.
    new_samples : str
        How new samples are embedded.
    supervised : {"yes", "no", "partly"}
        Whether labels shape the embedding. "partly" means that some samples have labels and others have
        none.
    cost : str
        Leading terms of the time of a fit, for N samples, n features, M classes, k neighbors, d
        coordinates and r = min(n, N − 1) principal axes.
    reference : str
        The paper that proposed the method.
    """

    name: str
    in_tables: bool
    estimator: Any
    functions: str
    new_samples: str
    supervised: str
    cost: str
    reference: str


def _estimators() -> dict[str, Any]:
    """Return a new, unfitted estimator for every name."""
    from nsse import methods  # imported at use, because the package imports this file
    from nsse.published import NSSE  # imported at use, because it is no part of this package

    own = {name: getattr(methods, name)() for name in methods.__all__ if name != "catalogue"}
    # As in the paper, LDA embeds and the nearest neighbor classifies. The principal components leave out
    # directions in which samples do not vary, because LDA cannot distinguish them from perfect ones.
    embedded = PCA(0.95, svd_solver="full"), LinearDiscriminantAnalysis()
    return own | {
        "NSSE": NSSE(),
        "SVM": SVC(C=10.0),
        "NN": KNeighborsClassifier(n_neighbors=1),
        "LDA": make_pipeline(*embedded, KNeighborsClassifier(n_neighbors=1)),
        "SLPP": methods.LPP(supervised=True),
    }


LINEAR = "linear map"
GAUSSIAN = "sum of Gaussians"
EXTENDED = "Gaussian RBF of the embedding"
TWO_SCATTERS = "N²n + Nr² + r³"
# The columns of the paper's tables, in its order.
COLUMNS: dict[str, tuple[str, str, str, str, str]] = {
    "NSSE": ("kernel", GAUSSIAN, "yes", "N²n + N³ for every σ", "Örnek & Vural 2019"),
    "SUPLAP": ("free", EXTENDED, "yes", "N²n + N³", "Raducanu & Dornaika 2012"),
    "SVM": ("none", "–", "yes", "N²n", "scikit-learn"),
    "NN": ("none", "–", "yes", "–", "scikit-learn"),
    "LFDA": ("linear", LINEAR, "yes", "N²n/M + Nr² + r³", "Sugiyama 2007"),
    "LDA": ("linear", LINEAR, "yes", "Nr² + r³", "scikit-learn"),
    "LDE": ("linear", LINEAR, "yes", TWO_SCATTERS, "Chen, Chang & Liu 2005"),
    "NYS": ("free", "Nyström formula", "no", "N²n + N³", "Bengio et al. 2004"),
    "SPE": ("free", "sparse code, N² each", "no", "N²n + N³", "Dornaika & Raducanu 2013"),
    "IsoKRR": ("free", EXTENDED, "yes", "N²n + N³", "Orsenigo & Vercellis 2012"),
    "MReg": ("kernel", GAUSSIAN, "partly", "N²n + N³", "Belkin, Niyogi & Sindhwani 2006"),
}
# Other methods that the paper builds on or cites.
CITED: dict[str, tuple[str, str, str, str, str]] = {
    "KDA": ("kernel", GAUSSIAN, "yes", "N²n + N³", "Baudat & Anouar 2000"),
    "LPP": ("linear", LINEAR, "no", TWO_SCATTERS, "He & Niyogi 2004"),
    "SLPP": ("linear", LINEAR, "yes", TWO_SCATTERS, "He & Niyogi 2004"),
    "NPE": ("linear", LINEAR, "no", f"{TWO_SCATTERS} + Nk³", "He, Cai, Yan & Zhang 2005"),
    "NPPE": ("polynomial", "polynomial", "no", "N²n + N³ + Nk³", "Qiao, Zhang, Wang & Zhang 2013"),
    "MFA": ("linear", LINEAR, "yes", TWO_SCATTERS, "Yan et al. 2007"),
    "SemiRBF": ("free", EXTENDED, "partly", "N²n + N³", "Vural & Guillemot 2016"),
}


def catalogue() -> dict[str, Entry]:
    """Return the methods by name: the columns of the paper's tables, then those that it cites.

    Returns
    -------
    dict of str to Entry
        Each with ``name``, ``in_tables``, an unfitted ``estimator``, new at every call, ``functions``
        (whether its coordinates are linear), ``new_samples`` (how they are embedded), ``supervised``,
        ``cost`` and ``reference``.

    See Also
    --------
    nsse.NSSE : The method of the paper.

    Examples
    --------
    >>> from nsse.methods import catalogue
    >>> entry = catalogue()["LFDA"]
    >>> entry.estimator, entry.functions, entry.new_samples
    (LFDA(), 'linear', 'linear map')
    """
    made = _estimators()
    return {
        name: Entry(name, name in COLUMNS, made[name], *facts)
        for name, facts in (COLUMNS | CITED).items()
    }
