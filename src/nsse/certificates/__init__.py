"""Certificates."""
from nsse.certificates.radii import certified_radius
from nsse.certificates.conformal import novelty, ConformalClassifier
