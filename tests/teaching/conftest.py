"""Sessions of a small detector."""

import pytest

from ocboost._teaching.session import TeachingSession
from ocboost.cascade import read_cascade
from tests.support.cascades import as_xml
from tests.support.face_pictures import picture_cascade


@pytest.fixture
def file(tmp_path):
    """A small detector."""
    path = tmp_path / "detector.xml"
    path.write_bytes(as_xml(picture_cascade()))
    return read_cascade(path)


@pytest.fixture
def begin(file):
    """A function that begins a session with it."""
    sessions = []

    def begun(**settings):
        sessions.append(TeachingSession(file, **settings))
        return sessions[-1]

    yield begun
    for session in sessions:
        session.close()
