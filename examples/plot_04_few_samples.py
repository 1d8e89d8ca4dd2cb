"""
Few samples per class
=====================

How the error falls with the number of training samples, on the same splits for all methods and with
nothing tuned: twenty rendered solids, 625 grey levels each. Linear discriminant analysis has fewer
samples than features nearly everywhere here.
"""

import matplotlib.pyplot as plt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from nsse import NSSE
from nsse.datasets import load_dataset
from nsse.evaluation import compare, summarize

data = load_dataset("objects", size=(25, 25), unit_norm=True)
methods = {
    "NSSE()": NSSE(),
    "SVC(C=10)": SVC(C=10),
    "LDA, shrunk": LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    "1-NN": KNeighborsClassifier(1),
}
sizes = 3, 5, 8, 12, 20
summaries = summarize(compare(methods, data.X, data.y, sizes, seeds=range(3)))

# %%
# Means over three random splits. NSSE and an SVM with the usual parameters are close, and either
# may be ahead; what NSSE has beside the label is the map. Where you know what may be done to a
# picture, :ref:`copies <sphx_glr_gallery_plot_07_invariances.py>` do more than any choice between
# the two.

figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name in methods:
    errors = [100 * s.mean for s in summaries if s.method == name]
    axis.plot(sizes, errors, marker="o", ms=4, lw=2.6 if name == "NSSE()" else 1.5, label=name)
axis.set(xlabel="training samples per class", ylabel="error, %", ylim=(0, None))
axis.legend()
axis.set_xticks(sizes)
axis.grid(axis="y")
plt.show()
