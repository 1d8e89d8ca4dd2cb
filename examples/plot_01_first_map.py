"""
A first map
===========

Thirty of each handwritten digit to learn from, and 1497 that the map has never seen.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nsse import SmoothEmbedding

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=300, stratify=y, random_state=0)

model = SmoothEmbedding().fit(X_train, y_train)
print(f"{model.transform(X_new).shape[1]} dimensions, accuracy {model.score(X_new, y_new):.1%}")

# %%
# The class map shows the class probabilities: each class is a corner, and a sample is the nearer to a
# corner the more probable the class is. Training samples are outlined. Each of them is placed by the
# model without it. Misclassified new samples are circled.

model.plot(X_new, y_new)
