"""
Class map of handwritten digits
===============================

Train on 30 images of each handwritten digit and draw 1,497 new images.
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from nsse import SmoothEmbedding

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, train_size=300, stratify=y, random_state=0)

model = SmoothEmbedding().fit(X_train, y_train)
baselines = {"logistic regression": LogisticRegression(max_iter=1000), "SVM": SVC(C=10)}
print(f"SmoothEmbedding: {model.score(X_new, y_new):.1%} of the new digits are correct")
for name, baseline in baselines.items():
    print(f"{name}: {baseline.fit(X_train, y_train).score(X_new, y_new):.1%}")

# %%
# The class map shows class probabilities. Each class is a corner, and a sample is close to a corner
# if the class is probable. Training samples are outlined, and each of them is placed by the model
# without it. Misclassified new samples are circled.

model.plot(X_new, y_new)
