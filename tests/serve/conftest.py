"""A model behind the service, for its tests."""

from __future__ import annotations

import pytest

from ocboost.live import Adapter
from ocboost.serve.service import ServeSettings, build_app
from tests.support.asgi_client import Client, small_model


@pytest.fixture(scope="session")
def model():
    return small_model()


@pytest.fixture
def adapter(model, tmp_path):
    with Adapter(model, tmp_path / "state") as adapter:
        yield adapter


@pytest.fixture
def client_with(adapter):
    """A function that makes a client of a service with these settings."""
    apps = []

    def make(token=None, **settings):
        given = token if token is None else token.encode()
        app = build_app(adapter, ServeSettings(token=given, **settings))
        apps.append(app)
        return Client(app, token)

    yield make
    for app in apps:
        app.state.service.close()


@pytest.fixture
def client(client_with):
    return client_with()
