"""The images of the paper's experiments: handwritten digits, and faces against other windows.

`load_mnist` and `load_faces` read the files of a data folder. Without one they take the best available: a
download, a small set inside an installed package, or drawings. ``Images.source`` says which, and a report
must repeat it, since figures from a smaller set are not comparable with the paper's.
"""

from ocboost.datasets.faces import load_faces
from ocboost.datasets.images import Images
from ocboost.datasets.mnist import load_mnist

__all__ = ["Images", "load_faces", "load_mnist"]
