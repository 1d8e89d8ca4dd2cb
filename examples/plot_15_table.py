"""
A table, with its names
=======================

A DataFrame goes in and a DataFrame comes out; columns of different units are scaled first. The
confusion matrix says which kinds are predicted as which.
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nsse
from nsse import SmoothEmbedding

wines = load_wine(as_frame=True)
kinds = wines.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
X_train, X_new, y_train, y_new = train_test_split(
    wines.data, kinds, train_size=30, stratify=kinds, random_state=0
)
model = make_pipeline(StandardScaler(), SmoothEmbedding()).set_output(transform="pandas")
model.fit(X_train, y_train)
model.transform(X_new).head(3)

# %%
# Three kinds need two dimensions:

nsse.plot.embedding(model, X_new, y_new)

# %%

nsse.plot.confusion(model, X_new, y_new)
